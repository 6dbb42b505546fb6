//! Contract of every design on a booted machine. A line that was never written reads as the machine started with it,
//! before and after writes of other lines under the same counters and tags.

use super::design::{LINES, SchemeMemory};
use super::paused::{Booted, start_up_content};
use super::{Checked, hold, pairs};
use crate::design::Parts;
use crate::execution::{Untimed, run_now};
use crate::planted::PlantedBug;
use crate::scheme::Release;
use crate::slot::Kind;
use units::LineAddr;

/// Checks a new memory of this composition against the contract of booted machines.
pub fn check(parts: &Parts, planted: PlantedBug) -> Checked {
    holds(&SchemeMemory::new(parts, planted)?)
}

/// Like [`check`], for a machine that begins as if it had written all of memory while four words of its lines were
/// frequent.
fn check_ordered(parts: &Parts) -> Checked {
    let mut memory = SchemeMemory::new(parts, PlantedBug::NONE)?;
    let frequent = [(LINES[0], 1), (LINES[1], 7), (LINES[2], 3), (LINES[2], 6)];
    let word = |(line, word): (LineAddr, usize)| u64::from_le_bytes(start_up_content(line).as_chunks().0[word]);
    let values = frequent.map(|at| (word(at), 1_000));
    memory.scheme.fixed_mut().unwrap().begin_ordered(&values);
    holds(&memory)?;
    let bitmaps = memory.scheme.layout().region(Kind::Bitmaps);
    let blank = bitmaps.is_some_and(|region| memory.functional.media.borrow().is_blank(region.slot(0)));
    hold(!blank, || "the lines that were re-ordered have no bitmaps".into())
}

/// Checks a memory that has had no access yet against the contract of booted machines.
pub fn holds(memory: &SchemeMemory) -> Checked {
    let booted = Booted { memory: &memory.functional, pauses: false };
    let reads = |line: LineAddr, what: &str| {
        run_now(memory.scheme.read(&booted.verbs(), line));
        let released = memory.functional.take_released().map(|(_, plaintext)| plaintext.bytes);
        let fault = memory.functional.take_fault();
        hold(fault.is_none() && released == Some(start_up_content(line)), || {
            format!("what the machine started with does not read right {what}: {fault:?}")
        })
    };
    for line in LINES {
        reads(line, "at first")?;
        // Writes a line between those in use. It has the same counters, and often the same tag line.
        let written = LineAddr(line.0 ^ 2);
        run_now(memory.scheme.write(&booted.verbs(), written, &[7; 64]));
        hold(memory.functional.take_fault().is_none(), || "a false alarm at a write".into())?;
        reads(line, "after a write beside it")?;
        reads(LineAddr(line.0 ^ 16), "if it is first read after a write beside it")?;
        run_now(memory.scheme.flush(&booted.verbs()));
        reads(line, "when its metadata comes from memory")?;
    }
    let reuse = memory.functional.ledger().reuse();
    hold(reuse.is_none(), || format!("keystream hid two things: {reuse:?}"))
}

#[test]
fn initial_content_reads_right_under_every_pair_of_design_parts() {
    for parts in pairs() {
        assert_eq!(check(parts, PlantedBug::NONE), Ok(()), "{parts:?}");
    }
}

#[test]
fn initial_content_reads_right_under_every_pair_of_design_parts_if_memory_begins_ordered() {
    let speculating = || pairs().iter().filter(|parts| parts.speculation.exists());
    for parts in speculating() {
        assert_eq!(check_ordered(parts), Ok(()), "{parts:?}");
    }
    for release in [Release::Verified, Release::Speculative] {
        let reordered = speculating().filter(|parts| parts.speculation.reorder && parts.release == release).count();
        assert!(reordered > 5, "{reordered} pairs re-order lines, {release:?}");
    }
}
