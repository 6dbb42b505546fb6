//! Permuted lines that enter memory one by one, as at boot, under a tag that covers several lines. A line that was
//! never stored must not get content.

use super::moving_memory::{LINES, Moving};
use super::{Checked, hold};
use crate::execution::{Functional, run_now};
use crate::planted::PlantedBug;
use crate::record::SLOTS;
use crate::slot::{Kind, Untrusted};
use crate::verbs::Fault;
use units::{LineAddr, ZERO_LINE};

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

/// On a machine without start-up content, a line that was never stored has no text under the tag of a stored line.
pub fn never_stored(slots_per_tag: usize, planted: PlantedBug) -> Checked {
    let mut memory = Moving::new(slots_per_tag, planted);
    memory.verbs = Functional::new(memory.layout.total_lines());
    let first = LINES - SLOTS as u64;
    memory.write(first, &ZERO_LINE);
    memory.flush();
    let under = memory.under_tag(memory.slot_of(first)?);
    let others = (first + 1..LINES).filter(|line| memory.slot_of(*line).is_ok_and(|at| under.contains(&at)));
    for line in others.collect::<Vec<_>>() {
        hold(memory.read(line).is_err(), || format!("line {line} was never stored, and has a text"))?;
    }
    Ok(())
}

/// A TLB does not get a page with a refused record, and gets the page when the record is restored.
pub fn refused_to_tlbs(memory: &Moving) -> Checked {
    memory.push_out(0);
    let record = memory.slots(Kind::Records, 0);
    let honest = memory.content(&record);
    memory.put(&[(record[0], Untrusted::from([1; 64]))]);
    let is_there = run_now(memory.lines.acquire_record(&memory.verbs, LineAddr(0)));
    let fault = memory.verbs.take_fault();
    memory.put(&honest);
    hold(!is_there && fault.is_some(), || format!("a TLB gets a forged record: {fault:?}"))?;
    let is_there = run_now(memory.lines.acquire_record(&memory.verbs, LineAddr(0)));
    hold(is_there, || "a TLB does not get a record after a forged one".into())
}
