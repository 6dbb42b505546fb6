//! Permuted lines that enter memory: one by one, as at boot, under a tag that covers several lines, or with the first
//! permutation of their page chunk.

use super::moving_memory::{LINES, Moving, text};
use super::{Checked, hold};
use crate::execution::{Functional, Untimed, run_now};
use crate::planted::PlantedBug;
use crate::record::SLOTS;
use crate::slot::{Kind, Untrusted};
use crate::verbs::Fault;
use crypto::PAGE_CHUNK_LINE_BYTES;
use std::collections::BTreeMap;
use units::random::Random;
use units::{Line, LineAddr, ZERO_LINE};

/// Replays a group as it was before one of its lines booted. The permutation refuses it when it reads the group for the
/// lines that the cache does not hold.
pub fn booted_late(memory: &Moving) -> Checked {
    let of_chunk = LINES - SLOTS as u64..LINES;
    let group = memory.under_tag(memory.slot_of(of_chunk.start)?);
    let is_there = |line: &u64| memory.slot_of(*line).is_ok_and(|at| group.contains(&at));
    let there: Vec<u64> = of_chunk.filter(is_there).collect();
    // Needs four lines under a tag: with two, the cache holds both, and the permutation does not read the group.
    let [first, second, _, _] = there[..] else { return Ok(()) };
    hold(memory.read(first).is_ok(), || format!("line {first} does not boot"))?;
    let before = memory.content(&group);
    let at = memory.slot_of(first)?;
    let stored = memory.content(&[at])[0].1;
    let mut flipped = stored.examine();
    flipped[0] ^= 1;
    memory.refuses(second, &[(at, Untrusted::with(flipped, stored.spare_bits()))], || {
        "a forged group gets a tag".into()
    })?;
    hold(memory.read(second).is_ok(), || format!("line {second} does not boot"))?;
    memory.put(&before);
    let fault = memory.flush();
    hold(matches!(fault, Some(Fault::Tag(_))), || {
        format!("a group of before line {second} booted is accepted: {fault:?}")
    })
}

/// On a machine without start-up content, a line that was never stored reads as zeros after a permutation, verified.
pub fn never_stored(slots_per_tag: usize, planted: PlantedBug) -> Checked {
    let mut memory = Moving::new(slots_per_tag, planted);
    memory.functional = Functional::new(memory.layout.total_lines());
    let first = LINES - SLOTS as u64;
    memory.write(first, &ZERO_LINE);
    memory.flush();
    let under = memory.under_tag(memory.slot_of(first)?);
    let others = (first + 1..LINES).filter(|line| memory.slot_of(*line).is_ok_and(|at| under.contains(&at)));
    for line in others.chain([LINES - 1]).collect::<Vec<_>>() {
        let found = memory.read(line);
        hold(found == Ok(ZERO_LINE), || format!("line {line} was never stored, and reads {found:?}"))?;
    }
    memory.flush();
    let at = memory.slot_of(LINES - 1)?;
    let (_, honest) = memory.content(&[at])[0];
    let mut flipped = honest.examine();
    flipped[3] ^= 4;
    memory.refuses(LINES - 1, &[(at, Untrusted::with(flipped, honest.spare_bits()))], || {
        format!("line {} was never stored, and is not verified", LINES - 1)
    })
}

/// Permutations put lines into memory that no program has used. No slot of a permuted page chunk is blank. A line reads
/// its start-up content in the first, in a later or only in the last epoch. A store to a line before its first read
/// stays, and no pad hides two texts.
pub fn unused(memory: &Moving) -> Checked {
    const EPOCHS: u64 = 6;
    let (first, mut random) = (LINES - SLOTS as u64, Random::new(12));
    let mut stored = BTreeMap::new();
    for epoch in 0..EPOCHS {
        // Lines of each residue are used from one epoch on: every second line is first read, every second first stored.
        for line in (first..LINES).filter(|line| epoch > 0 && line % EPOCHS < epoch) {
            let is_due = line % 2 == 0 || line % EPOCHS + 1 < epoch;
            if is_due {
                let known = stored.get(&line).copied().or_else(|| start_up(memory, line));
                let found = memory.read(line);
                hold(memory.functional.ledger().reuse().is_none(), || {
                    format!("the pad of line {line} hid two texts in epoch {epoch}")
                })?;
                hold(found.as_ref().ok() == known.as_ref(), || {
                    format!("line {line} does not read as it was stored, or at start-up, in epoch {epoch}: {found:?}")
                })?;
            } else {
                let new = text(&mut random);
                hold(memory.write(line, &new).is_none(), || format!("line {line} is not stored in epoch {epoch}"))?;
                stored.insert(line, new);
            }
        }
        memory.permute_chunk_of(first);
        hold(memory.flush().is_none(), || format!("the permutation of epoch {epoch} is refused"))?;
        let slots = memory.content(&memory.slots(Kind::Data, first / SLOTS as u64));
        let blank = slots.iter().find(|(_, content)| content.examine() == ZERO_LINE);
        hold(blank.is_none(), || format!("a permutation of epoch {epoch} leaves a blank slot: {blank:?}"))?;
    }
    hold(memory.functional.ledger().reuse().is_none(), || "keystream hid two things".into())
}

/// The content of a line at start-up, in the length of a line that moves.
fn start_up(memory: &Moving, line: u64) -> Option<Line> {
    let mut content = memory.functional.start_up_content(LineAddr(line))?;
    content[PAGE_CHUNK_LINE_BYTES..].fill(0);
    Some(content)
}

/// An attacker writes to the slot of an unused line before the first permutation of its page chunk. The permutation
/// refuses the slot, and puts no line into memory. When the slot is blank again, the line reads its start-up content.
pub fn forged_before_first(memory: &Moving) -> Checked {
    let first = LINES - SLOTS as u64;
    let at = memory.slot_of(first + 7)?;
    let blank = memory.content(&[at]);
    let mut forged = ZERO_LINE;
    forged[..PAGE_CHUNK_LINE_BYTES].fill(9);
    memory.put(&[(at, Untrusted::from(forged))]);
    let fault = memory.write(first, &ZERO_LINE).or(memory.flush());
    hold(matches!(fault, Some(Fault::Tag(_))), || {
        format!("a permutation takes what an attacker wrote to the slot of an unused line: {fault:?}")
    })?;
    hold(!memory.lines.is_in_memory(LineAddr(first + 7)), || "a refused permutation puts lines into memory".into())?;
    memory.put(&blank);
    hold(memory.flush().is_none(), || "a permutation of unused lines is refused though nothing is forged".into())?;
    let found = memory.read(first + 7);
    hold(found.ok() == start_up(memory, first + 7), || format!("an unused line reads {found:?} after a permutation"))
}

/// A TLB does not get a page with a refused record, and gets the page when the record is restored.
pub fn refused_to_tlbs(memory: &Moving) -> Checked {
    memory.push_out(0);
    let record = memory.slots(Kind::Records, 0);
    let honest = memory.content(&record);
    memory.put(&[(record[0], Untrusted::from([1; 64]))]);
    let is_there = run_now(memory.lines.acquire_record(&memory.functional.verbs(), LineAddr(0)));
    let fault = memory.functional.take_fault();
    memory.put(&honest);
    hold(!is_there && fault.is_some(), || format!("a TLB gets a forged record: {fault:?}"))?;
    let is_there = run_now(memory.lines.acquire_record(&memory.functional.verbs(), LineAddr(0)));
    hold(is_there, || "a TLB does not get a record after a forged one".into())
}
