//! Contract of permuted lines: a read returns the last stored text, each line crosses the bus once between two
//! permutations, and the chip refuses forged content.

use super::moving_boots::{booted_late, forged_before_first, never_stored, refused_to_tlbs, unused};
use super::moving_memory::{CHUNKS, LINES, Moving, text};
use super::{Checked, hold};
use crate::execution::{Operation, RecordedMemory, run_now};
use crate::moving::{MovingCounts, SmallCache};
use crate::planted::PlantedBug;
use crate::record::SLOTS;
use crate::scheme::Release;
use crate::slot::{Kind, Role, Slot, Untrusted};
use crate::verbs::Fault;
use crypto::PAGE_CHUNK_LINE_BYTES;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use units::random::Random;
use units::{LineAddr, ZERO_LINE};

/// Checks lines that move against their contract.
pub fn check(planted: PlantedBug) -> Checked {
    for slots_per_tag in [1, 2, 4] {
        let memory = || Moving::new(slots_per_tag, planted);
        crossed(memory())?;
        unused(&memory())?;
        for release in [Release::Verified, Release::Speculative] {
            read_right(&Moving::behind(Rc::new(SmallCache::new(64, 3)), release, slots_per_tag, planted))?;
        }
        with_translations(&memory())?;
        stored_again(&memory())?;
        forged(&memory())?;
        forged_for_a_permutation(&memory())?;
        given_up(&memory())?;
        booted_late(&Moving::behind(Rc::new(SmallCache::new(64, 8)), Release::Verified, slots_per_tag, planted))?;
        refused_to_tlbs(&memory())?;
        never_stored(slots_per_tag, planted)?;
        forged_before_first(&memory())?;
    }
    Ok(())
}

/// Every line reads as it was last stored, or as the machine started with it, and no pad hides two texts.
fn read_right(memory: &Moving) -> Checked {
    let (mut expected, mut random) = (BTreeMap::new(), Random::new(3));
    for _ in 0..3_000 {
        let line = random.below(LINES);
        if random.below(3) == 0 {
            let stored = text(&mut random);
            let fault = memory.write(line, &stored);
            hold(fault.is_none(), || format!("line {line} is not stored: {fault:?}"))?;
            expected.insert(line, stored);
            continue;
        }
        let found = memory.read(line);
        let known = expected.get(&line).copied().or_else(|| {
            let mut content = memory.functional.start_up_content(LineAddr(line))?;
            content[PAGE_CHUNK_LINE_BYTES..].fill(0);
            Some(content)
        });
        hold(found.ok() == known, || format!("line {line} does not read as it was stored: {found:?}"))?;
    }
    let MovingCounts { fills, permutations, twice, incomplete, .. } = memory.lines.counted();
    hold(permutations > 50 && fills > 500, || format!("{permutations} permutations and {fills} fills"))?;
    hold((twice, incomplete) == (0, 0), || format!("{twice} slots crossed twice, {incomplete} epochs are not whole"))?;
    hold(memory.functional.ledger().reuse().is_none(), || "keystream hid two things".into())
}

/// Lines read right while pages enter and leave a TLB, with their records.
fn with_translations(memory: &Moving) -> Checked {
    let mut random = Random::new(8);
    let (mut expected, mut translated) = (BTreeMap::new(), Vec::new());
    for _ in 0..2_000 {
        let line = random.below(LINES);
        match random.below(4) {
            0 if translated.len() < 2 => {
                let fault = memory.translate(line);
                hold(fault.is_none(), || format!("the record of line {line} is refused: {fault:?}"))?;
                translated.push(line);
            }
            1 if !translated.is_empty() => memory.give_up(translated.swap_remove(0)),
            2 => {
                let stored = text(&mut random);
                memory.write(line, &stored);
                expected.insert(line, stored);
            }
            _ => {
                let found = memory.read(line);
                let is_right = found.as_ref().is_ok_and(|text| expected.get(&line).is_none_or(|stored| stored == text));
                hold(is_right, || format!("line {line} is not read right by TLBs: {found:?}"))?;
            }
        }
    }
    Ok(())
}

/// A line that stayed in the cache over a permutation is locked again by the next store to it.
fn stored_again(memory: &Moving) -> Checked {
    let stored = text(&mut Random::new(6));
    memory.write(0, &ZERO_LINE);
    memory.flush();
    memory.write(0, &stored);
    for other in 1..CHUNKS {
        // A different check covers refused reads.
        let _ = memory.read(other * SLOTS as u64);
    }
    let found = memory.read(0);
    hold(found == Ok(stored), || format!("line 0 does not read as it was stored: {found:?}"))
}

/// An observer of the bus sees reads of all slots of a page chunk. A slot is read at most N times, with N slots under a
/// tag. Writes of all slots follow, in order, and then the next reads (rule 5).
fn crossed(Moving { lines, functional, slots_per_tag, .. }: Moving) -> Checked {
    let mut random = Random::new(4);
    let recorded = RecordedMemory::new(functional);
    for _ in 0..400 {
        let line = LineAddr(random.below(LINES));
        match random.below(2) {
            0 => run_now(lines.write(&recorded.verbs(), line, &text(&mut random))),
            _ => run_now(lines.read(&recorded.verbs(), line)),
        }
    }
    let mut epochs: BTreeMap<u64, (Vec<u64>, Vec<u64>)> = BTreeMap::new();
    for operation in recorded.take_operations() {
        let (slot, is_read) = match operation {
            Operation::Fetch(Role::Data, slot) => (slot, true),
            Operation::Store(Role::Data, slot, _) => (slot, false),
            _ => continue,
        };
        let (read, written) = epochs.entry(slot.0 / SLOTS as u64).or_default();
        if is_read {
            let before = read.iter().filter(|other| **other == slot.0).count();
            hold(written.is_empty() && before < slots_per_tag, || format!("slot {slot} crosses the bus twice"))?;
            read.push(slot.0);
            continue;
        }
        let is_whole = read.iter().collect::<BTreeSet<_>>().len() == SLOTS;
        hold(is_whole, || format!("slot {slot} is written before the last read"))?;
        hold(slot.0 % SLOTS as u64 == written.len() as u64, || format!("slot {slot} is written out of order"))?;
        written.push(slot.0);
        if written.len() == SLOTS {
            read.clear();
            written.clear();
        }
    }
    Ok(())
}

/// The chip refuses lines and records of an earlier permutation, content of other slots, blank slots and flipped bits.
fn forged(memory: &Moving) -> Checked {
    let mut random = Random::new(2);
    for line in 0..LINES {
        memory.write(line, &text(&mut random));
    }
    memory.push_out(0);
    let [lines, record] = [Kind::Data, Kind::Records].map(|kind| memory.content(&memory.slots(kind, 0)));
    memory.write(7, &ZERO_LINE);
    memory.push_out(0);
    let target = 9;
    memory.refuses(target, &lines, || "a line of an earlier permutation is accepted".into())?;
    memory.refuses(target, &record, || "a record of an earlier permutation is accepted".into())?;
    memory.refuses(target, &[lines, record].concat(), || "an earlier image of a page chunk is accepted".into())?;
    let at = memory.slot_of(target)?;
    for distance in [1, 2, 128, 256] {
        // Copies the content of all slots under the tag, in the same order.
        let other = Slot(at.0 ^ distance);
        let moved =
            memory.under_tag(at).into_iter().map(|slot| (slot, memory.content(&[Slot(slot.0 ^ distance)])[0].1));
        let moved: Vec<_> = moved.collect();
        memory.refuses(target, &moved, || format!("what is in slot {other} is accepted for line {target}"))?;
    }
    for slot in memory.under_tag(at) {
        let honest = memory.content(&[slot])[0].1;
        let (line, tag) = (honest.examine(), honest.spare_bits());
        for bit in 0..8 * PAGE_CHUNK_LINE_BYTES {
            let mut flipped = line;
            flipped[bit / 8] ^= 1 << (bit % 8);
            memory.refuses(target, &[(slot, Untrusted::with(flipped, tag))], || {
                format!("bit {bit} of a line is not covered")
            })?;
        }
        memory.refuses(target, &[(slot, Untrusted::BLANK)], || "a blank slot is accepted".into())?;
    }
    let blank: Vec<_> = memory.under_tag(at).into_iter().map(|slot| (slot, Untrusted::BLANK)).collect();
    memory.refuses(target, &blank, || "blank slots are accepted under a tag".into())?;
    let tagged = memory.tag_slot(at);
    let honest = memory.content(&[tagged])[0].1;
    for bit in 0..u128::BITS {
        let flipped = Untrusted::with(honest.examine(), honest.spare_bits() ^ 1 << bit);
        memory.refuses(target, &[(tagged, flipped)], || format!("bit {bit} of a tag is not compared"))?;
    }
    hold(memory.read(target).is_ok(), || format!("line {target} is refused though nothing is forged"))
}

/// A permutation verifies all lines that it reads before it writes a line.
fn forged_for_a_permutation(memory: &Moving) -> Checked {
    memory.push_out(0);
    let (data, at) = (memory.slots(Kind::Data, 0), memory.slot_of(30)?);
    memory.put(&[(at, Untrusted::from(ZERO_LINE))]);
    let before = memory.content(&data);
    let fault = memory.write(31, &ZERO_LINE).or(memory.flush());
    let is_named = matches!(fault, Some(Fault::Tag(line)) if memory.slots_per_tag > 1 || line == LineAddr(30));
    hold(is_named, || format!("a permutation takes a forged line: {fault:?}"))?;
    hold(memory.content(&data) == before, || "a permutation writes before it has checked what it read".into())?;
    let blank: Vec<_> = memory.under_tag(at).into_iter().map(|slot| (slot, Untrusted::BLANK)).collect();
    memory.put(&blank);
    let fault = memory.flush();
    hold(matches!(fault, Some(Fault::Tag(_))), || {
        format!("a permutation takes blank slots for stored lines: {fault:?}")
    })
}

/// A chip serves no further access if a permutation fails after it has written its lines.
fn given_up(memory: &Moving) -> Checked {
    memory.push_out(1);
    memory.slot_of(0)?;
    // The record of the page chunk is on the chip. Its sibling is not, and is forged, so that the path up does not
    // verify.
    let sibling = memory.slots(Kind::Records, 1);
    let honest = memory.content(&sibling);
    memory.put(&[(sibling[0], Untrusted::from([1; 64]))]);
    let fault = memory.write(0, &ZERO_LINE).or(memory.flush());
    hold(matches!(fault, Some(Fault::Tree(_))), || format!("a permutation writes over a forged path: {fault:?}"))?;
    memory.put(&honest);
    let target = SLOTS as u64 / 2;
    let is_halted = memory.read(target) == Err(Fault::Halted(LineAddr(target)));
    hold(is_halted, || "a chip that has given a permutation up goes on".into())
}

#[test]
fn permuted_lines_pass_their_conformance_check() {
    assert_eq!(check(PlantedBug::NONE), Ok(()));
}
