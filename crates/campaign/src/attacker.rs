//! Attacks on memory at rest, called *strikes*, each a short function over [`Bus`]. They model an attacker with a probe
//! on the memory bus, a malicious module, or a hypervisor's mapping, who changes stored bytes. Attacks in which the
//! victim also acts are in [`crate::scenes`].
//!
//! If a design lacks a structure that an attack also copies (a tag, for example), the attacker copies the other
//! structures. If a design lacks the structure under attack, the attack does not apply.

use crate::bus::{Bus, Recording, Structure, cell};
use crate::oracle::Wish;
use crate::own_bits;
use catalogue::Attack;
use protection::verbs::Slot;
use std::collections::BTreeSet;
use std::ops::Range;
use units::LineAddr;
use units::random::Random;

/// Record of an attacker's strike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strike {
    /// Line that is under attack.
    pub target: LineAddr,
    /// The bit that was flipped, counted from the start of its slot.
    pub bit: Option<usize>,
    /// Content that the attacker wants the target to release.
    pub wish: Wish,
}

/// A slot, and the bytes in it under attack.
type SlotBytes = (Slot, Range<usize>);

/// The data line and the structures that verify it in memory, from the bottom up.
const TUPLE: [Structure; 3] = [Structure::Data, Structure::Tag, Structure::Counter];

/// Carries out a strike at `level`, if the attack has levels; `None` if the design has no structure to attack.
///
/// # Panics
/// If the attack is a scene.
pub fn strike(attack: Attack, level: usize, bus: &mut Bus<'_>, random: &mut Random) -> Option<Strike> {
    let target = random.pick(bus.lines())?;
    strike_at(target, attack, level, bus, random)
}

/// Like [`strike`], at this line.
///
/// # Panics
/// The same as for [`strike`].
pub fn strike_at(
    target: LineAddr,
    attack: Attack,
    level: usize,
    bus: &mut Bus<'_>,
    random: &mut Random,
) -> Option<Strike> {
    let node = Structure::Node(random.below(bus.map().levels().max(1) as u64) as usize);
    match attack {
        Attack::SpoofData => spoof(bus, random, target, Structure::Data),
        Attack::SpoofTag => spoof(bus, random, target, Structure::Tag),
        Attack::SpoofCounter => spoof(bus, random, target, Structure::Counter),
        Attack::SpoofNode => spoof(bus, random, target, node),
        Attack::FlipData => flip(bus, random, target, Structure::Data),
        Attack::FlipTag => flip(bus, random, target, Structure::Tag),
        Attack::FlipCounter => flip_counter(bus, random, target),
        Attack::FlipNode => flip(bus, random, target, node),
        Attack::FlipOwner => flip(bus, random, target, Structure::Owner),
        Attack::SpliceData => splice(bus, random, target, &TUPLE[..1]),
        Attack::SpliceDataTag => splice(bus, random, target, &TUPLE[..2]),
        Attack::SpliceDataTagCounter => splice(bus, random, target, &TUPLE),
        Attack::ReplayData => replay(bus, random, target, &TUPLE[..1]),
        Attack::ReplayDataTag => replay(bus, random, target, &TUPLE[..2]),
        Attack::ReplayDataTagCounter => replay(bus, random, target, &TUPLE),
        Attack::ReplayBelowLevel => replay_below(bus, random, target, level),
        Attack::SwapSiblings => swap_siblings(bus, random, target),
        Attack::NodeOfOtherLevel => node_of_other_level(bus, random, target),
        Attack::CounterAsData => counter_as_data(bus, target),
        Attack::Rowhammer => rowhammer(bus, random, target),
        _ => unreachable!("{attack} is a scene"),
    }
}

/// Levels at which an attack must be tried; for replay, from "no node" to "every node in memory".
pub fn levels(attack: Attack, stored_levels: usize) -> Range<usize> {
    match attack {
        Attack::ReplayBelowLevel => 0..stored_levels + 1,
        _ => 0..1,
    }
}

fn spoof(bus: &mut Bus<'_>, random: &mut Random, target: LineAddr, structure: Structure) -> Option<Strike> {
    let (slot, bytes) = bus.map().slot_bytes(structure, target)?;
    let forgery = random.line();
    bus.write_bytes(slot, bytes.clone(), &forgery[..bytes.len()]);
    let wish = if structure == Structure::Data { Wish::Bytes(bus.map().cut(forgery)) } else { Wish::None };
    Some(Strike { target, bit: None, wish })
}

fn flip(bus: &mut Bus<'_>, random: &mut Random, target: LineAddr, structure: Structure) -> Option<Strike> {
    let (slot, bytes) = bus.map().slot_bytes(structure, target)?;
    let bit = bytes.start * 8 + random.below(bytes.len() as u64 * 8) as usize;
    bus.flip(slot, bit);
    let wish = if structure == Structure::Data { Wish::Flipped(bit) } else { Wish::None };
    Some(Strike { target, bit: Some(bit), wish })
}

/// Flips a bit of the counters. If a tree verifies counters, the design must refuse any changed bit of their line.
/// Otherwise the attacker changes the version of the target, or of another line if memory does not contain the target
/// yet.
fn flip_counter(bus: &mut Bus<'_>, random: &mut Random, target: LineAddr) -> Option<Strike> {
    let map = bus.map();
    if map.counters_are_fresh() {
        return flip(bus, random, target, Structure::Counter);
    }
    let present: Vec<LineAddr> = bus.lines().iter().copied().filter(|line| bus.has(*line)).collect();
    let target = if bus.has(target) { target } else { random.pick(&present)? };
    let (slot, _) = map.slot_bytes(Structure::Counter, target)?;
    let bit = random.pick(&own_bits::of(map.counters(), &bus.read(slot), map.position(target) as usize))?;
    bus.flip(slot, bit);
    Some(Strike { target, bit: Some(bit), wish: Wish::None })
}

/// Copies the structures of another line. Counters move by the line, so a splice with counters needs a donor at the target's
/// position in another group.
fn splice(bus: &mut Bus<'_>, random: &mut Random, target: LineAddr, parts: &[Structure]) -> Option<Strike> {
    let map = bus.map();
    let counters_of = |line| map.moved(Structure::Counter, line);
    let with_counters = parts.contains(&Structure::Counter) && !counters_of(target).is_empty();
    let fits = |donor: &LineAddr| {
        let apart = counters_of(*donor) != counters_of(target) && map.position(*donor) == map.position(target);
        *donor != target && (!with_counters || apart)
    };
    let donors: Vec<LineAddr> = bus.lines().iter().copied().filter(fits).collect();
    let donor = random.pick(&donors)?;
    for part in parts {
        for ((from, source), (to, bytes)) in map.moved(*part, donor).into_iter().zip(map.moved(*part, target)) {
            let content = bus.read_cell(from);
            bus.write_bytes(to, bytes, &content[source]);
        }
    }
    Some(Strike { target, bit: None, wish: Wish::ContentOf(donor) })
}

fn replay(bus: &mut Bus<'_>, random: &mut Random, target: LineAddr, parts: &[Structure]) -> Option<Strike> {
    let recording = any_recording(bus, random)?;
    for part in parts {
        bring_back(bus, recording, *part, target);
    }
    Some(Strike { target, bit: None, wish: Wish::None })
}

fn replay_below(bus: &mut Bus<'_>, random: &mut Random, target: LineAddr, level: usize) -> Option<Strike> {
    let recording = any_recording(bus, random)?;
    for (slot, content) in recording.slots() {
        if !matches!(bus.map().structure(slot), Structure::Node(stored) if stored >= level) {
            bus.put(slot, content);
        }
    }
    Some(Strike { target, bit: None, wish: Wish::None })
}

/// Exchanges a metadata line with its sibling, or with the line of the same kind on the path of another line in use. The two
/// paths can part at any level.
fn swap_siblings(bus: &mut Bus<'_>, random: &mut Random, target: LineAddr) -> Option<Strike> {
    let map = bus.map();
    let nodes = (0..map.levels()).map(Structure::Node);
    let kinds: Vec<Structure> = nodes.clone().take(1).map(|_| Structure::Counter).chain(nodes).collect();
    let kind = random.pick(&kinds)?;
    let (own, sibling) = (map.moved(kind, target), LineAddr(target.0 ^ map.lines_each(kind)));
    let others = bus.lines().iter().chain([&sibling]).map(|line| map.moved(kind, *line));
    let others: Vec<Vec<SlotBytes>> = others.filter(|other| !other.is_empty() && *other != own).collect();
    let other = random.pick(&others.iter().collect::<Vec<_>>()).filter(|_| !own.is_empty())?;
    own.into_iter().zip(other).for_each(|((one, _), (other, _))| exchange(bus, one, *other));
    Some(Strike { target, bit: None, wish: Wish::None })
}

fn exchange(bus: &mut Bus<'_>, one: Slot, other: Slot) {
    let (first, second) = (bus.read(one), bus.read(other));
    bus.write(one, &second);
    bus.write(other, &first);
}

/// Copies a node over a node of another level, both on the target's path.
fn node_of_other_level(bus: &mut Bus<'_>, random: &mut Random, target: LineAddr) -> Option<Strike> {
    let mut levels: Vec<usize> = (0..bus.map().levels()).collect();
    random.shuffle(&mut levels);
    let [from, to, ..] = levels[..] else { return None };
    let content = bus.read_structure(Structure::Node(from), target)?;
    let (slot, _) = bus.map().slot_bytes(Structure::Node(to), target)?;
    bus.write(slot, &content);
    Some(Strike { target, bit: None, wish: Wish::None })
}

fn counter_as_data(bus: &mut Bus<'_>, target: LineAddr) -> Option<Strike> {
    let counters = bus.read_structure(Structure::Counter, target)?;
    let (slot, _) = bus.map().slot_bytes(Structure::Data, target)?;
    let counters = bus.map().cut(counters);
    bus.write(slot, &counters);
    Some(Strike { target, bit: None, wish: Wish::Bytes(counters) })
}

/// Flips one to eight bits within 16 bytes of a line on the target's path. Flips the same bits in the next row if that row holds
/// the same kind of structure.
fn rowhammer(bus: &mut Bus<'_>, random: &mut Random, target: LineAddr) -> Option<Strike> {
    const CLUSTER_BITS: u64 = 128;
    let map = bus.map();
    let slots: Vec<Slot> = map.path().filter_map(|kind| map.slot_bytes(kind, target).map(|(slot, _)| slot)).collect();
    let slot = random.pick(&slots)?;
    let first = random.below(4) * CLUSTER_BITS;
    let flips = 2 + random.below(7);
    let bits: BTreeSet<u64> = (0..flips).map(|_| first + random.below(CLUSTER_BITS)).collect();
    let next = Some(Slot(slot.0 + 1)).filter(|next| map.holds(*next) && map.structure(*next) == map.structure(slot));
    for row in std::iter::once(slot).chain(next) {
        bits.iter().for_each(|bit| bus.flip(row, *bit as usize));
    }
    Some(Strike { target, bit: None, wish: Wish::None })
}

fn any_recording<'a>(bus: &Bus<'a>, random: &mut Random) -> Option<&'a Recording> {
    let recordings: Vec<&Recording> = bus.recordings().iter().collect();
    random.pick(&recordings)
}

/// Puts a part of a line back from a recording, in the slot where the line is now, if the recording has it.
pub(crate) fn bring_back(bus: &mut Bus<'_>, recording: &Recording, part: Structure, line: LineAddr) {
    let (then, now) = (bus.map().then(recording).moved(part, line), bus.map().moved(part, line));
    for ((from, source), (to, bytes)) in then.into_iter().zip(now) {
        if let Some(content) = recording.get(from) {
            bus.write_bytes(to, bytes, &cell(content)[source]);
        }
    }
}
