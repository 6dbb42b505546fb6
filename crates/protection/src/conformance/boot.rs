//! Contract of every design on a booted machine. A line that was never written reads as the machine started with it,
//! before and after writes of other lines under the same counters and tags.

use super::design::{LINES, SchemeMemory};
use super::paused::{Booted, start_up_content};
use super::{Checked, hold, pairs};
use crate::design::Parts;
use crate::execution::run_now;
use crate::planted::PlantedBug;
use units::LineAddr;

/// Checks a new memory of this composition against the contract of booted machines.
pub fn check(parts: &Parts, planted: PlantedBug) -> Checked {
    holds(&SchemeMemory::new(parts, planted)?)
}

/// Checks a memory that has had no access yet against the contract of booted machines.
pub fn holds(memory: &SchemeMemory) -> Checked {
    let verbs = Booted { memory: &memory.functional, pauses: false };
    let reads = |line: LineAddr, what: &str| {
        run_now(memory.scheme.read(&verbs, line));
        let released = memory.functional.take_released().map(|(_, plaintext)| plaintext.bytes);
        let fault = memory.functional.take_fault();
        hold(fault.is_none() && released == Some(start_up_content(line)), || {
            format!("what the machine started with does not read right {what}: {fault:?}")
        })
    };
    for line in LINES {
        reads(line, "at first")?;
        // Writes a line between those in use. It has the same counters, and often the same line of tags.
        let written = LineAddr(line.0 ^ 2);
        run_now(memory.scheme.write(&verbs, written, &[7; 64]));
        hold(memory.functional.take_fault().is_none(), || "a false alarm at a write".into())?;
        reads(line, "after a write beside it")?;
        reads(LineAddr(line.0 ^ 16), "if it is first read after a write beside it")?;
        run_now(memory.scheme.flush(&verbs));
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
