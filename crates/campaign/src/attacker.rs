//! The strikes, each a short text over [`Bus`]: what an attacker with a probe on the memory bus, a malicious module or
//! a hypervisor's mapping can do to bytes at rest. Attacks in which the victim acts too are in [`crate::scenes`].
//!
//! Where a design lacks what an attack also moves (a tag, say), the attacker moves the rest. Where a design lacks what an
//! attack is about, the attack does not apply.

use crate::bus::{Bus, Recording, Structure, cell};
use crate::oracle::Wish;
use crate::own_bits;
use catalogue::Attack;
use protection::verbs::Slot;
use std::collections::BTreeSet;
use std::ops::Range;
use units::LineAddr;
use units::random::Random;

/// What an attacker did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strike {
    /// The line that it was about.
    pub target: LineAddr,
    /// The bit that was flipped, counted from the start of its slot.
    pub bit: Option<usize>,
    /// What was meant to come out of the target.
    pub wish: Wish,
}

/// A slot, and the bytes in it that an attack is about.
type Place = (Slot, Range<usize>);

/// The data line itself and what vouches for it in memory, from the bottom up.
const TUPLE: [Structure; 3] = [Structure::Data, Structure::Tag, Structure::Counter];

/// Carries out a strike, with `level` for those that have one; nothing if the design has nothing of the kind.
///
/// # Panics
/// If the attack is a scene.
pub fn strike(attack: Attack, level: usize, bus: &mut Bus<'_>, random: &mut Random) -> Option<Strike> {
    let target = random.pick(bus.lines())?;
    strike_at(target, attack, level, bus, random)
}

/// As [`strike`], at this line.
///
/// # Panics
/// As [`strike`].
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

/// The levels that an attack has to be tried at: for replay, from "no node" to "every node in memory".
pub fn levels(attack: Attack, stored_levels: usize) -> Range<usize> {
    match attack {
        Attack::ReplayBelowLevel => 0..stored_levels + 1,
        _ => 0..1,
    }
}

fn spoof(bus: &mut Bus<'_>, random: &mut Random, target: LineAddr, structure: Structure) -> Option<Strike> {
    let (slot, bytes) = bus.map().place(structure, target)?;
    let forgery = random.line();
    bus.write_bytes(slot, bytes.clone(), &forgery[..bytes.len()]);
    let wish = if structure == Structure::Data { Wish::Bytes(bus.map().cut(forgery)) } else { Wish::None };
    Some(Strike { target, bit: None, wish })
}

fn flip(bus: &mut Bus<'_>, random: &mut Random, target: LineAddr, structure: Structure) -> Option<Strike> {
    let (slot, bytes) = bus.map().place(structure, target)?;
    let bit = bytes.start * 8 + random.below(bytes.len() as u64 * 8) as usize;
    bus.flip(slot, bit);
    let wish = if structure == Structure::Data { Wish::Flipped(bit) } else { Wish::None };
    Some(Strike { target, bit: Some(bit), wish })
}

/// Where a tree vouches for counters, any bit of their line has to be refused. Elsewhere the attacker aims at the version of the
/// target; of another line, if memory has nothing of the target yet that this version could open.
fn flip_counter(bus: &mut Bus<'_>, random: &mut Random, target: LineAddr) -> Option<Strike> {
    let map = bus.map();
    if map.counters_are_fresh() {
        return flip(bus, random, target, Structure::Counter);
    }
    let present: Vec<LineAddr> = bus.lines().iter().copied().filter(|line| bus.has(*line)).collect();
    let target = if bus.has(target) { target } else { random.pick(&present)? };
    let (slot, _) = map.place(Structure::Counter, target)?;
    let bit = random.pick(&own_bits::of(map.counters(), &bus.read(slot), map.position(target) as usize))?;
    bus.flip(slot, bit);
    Some(Strike { target, bit: Some(bit), wish: Wish::None })
}

/// Copies what belongs to another line. Counters come by the line, so with them the donor must have the target's position
/// in another group.
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

/// Exchanges a line of metadata with its sibling, or with the one of the same kind that another line in use depends on: they
/// part at any level.
fn swap_siblings(bus: &mut Bus<'_>, random: &mut Random, target: LineAddr) -> Option<Strike> {
    let map = bus.map();
    let nodes = (0..map.levels()).map(Structure::Node);
    let kinds: Vec<Structure> = nodes.clone().take(1).map(|_| Structure::Counter).chain(nodes).collect();
    let kind = random.pick(&kinds)?;
    let (own, sibling) = (map.moved(kind, target), LineAddr(target.0 ^ map.lines_each(kind)));
    let others = bus.lines().iter().chain([&sibling]).map(|line| map.moved(kind, *line));
    let others: Vec<Vec<Place>> = others.filter(|other| !other.is_empty() && *other != own).collect();
    let other = random.pick(&others.iter().collect::<Vec<_>>()).filter(|_| !own.is_empty())?;
    own.into_iter().zip(other).for_each(|((one, _), (other, _))| exchange(bus, one, *other));
    Some(Strike { target, bit: None, wish: Wish::None })
}

fn exchange(bus: &mut Bus<'_>, one: Slot, other: Slot) {
    let (first, second) = (bus.read(one), bus.read(other));
    bus.write(one, &second);
    bus.write(other, &first);
}

/// Either node takes the other's place, both on the target's path.
fn node_of_other_level(bus: &mut Bus<'_>, random: &mut Random, target: LineAddr) -> Option<Strike> {
    let mut levels: Vec<usize> = (0..bus.map().levels()).collect();
    random.shuffle(&mut levels);
    let [from, to, ..] = levels[..] else { return None };
    let content = bus.read_place(Structure::Node(from), target)?;
    let (slot, _) = bus.map().place(Structure::Node(to), target)?;
    bus.write(slot, &content);
    Some(Strike { target, bit: None, wish: Wish::None })
}

fn counter_as_data(bus: &mut Bus<'_>, target: LineAddr) -> Option<Strike> {
    let counters = bus.read_place(Structure::Counter, target)?;
    let (slot, _) = bus.map().place(Structure::Data, target)?;
    let counters = bus.map().cut(counters);
    bus.write(slot, &counters);
    Some(Strike { target, bit: None, wish: Wish::Bytes(counters) })
}

/// Two to eight flips within 16 bytes of whatever the target depends on, and as many at the same place of the next row, if
/// that holds something of the same kind.
fn rowhammer(bus: &mut Bus<'_>, random: &mut Random, target: LineAddr) -> Option<Strike> {
    const CLUSTER_BITS: u64 = 128;
    let map = bus.map();
    let slots: Vec<Slot> = map.path().filter_map(|kind| map.place(kind, target).map(|(slot, _)| slot)).collect();
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

/// Puts what a recording has of a part of a line where that part lies now, if it has anything.
pub(crate) fn bring_back(bus: &mut Bus<'_>, recording: &Recording, part: Structure, line: LineAddr) {
    let (then, now) = (bus.map().then(recording).moved(part, line), bus.map().moved(part, line));
    for ((from, source), (to, bytes)) in then.into_iter().zip(now) {
        if let Some(content) = recording.get(from) {
            bus.write_bytes(to, bytes, &cell(content)[source]);
        }
    }
}
