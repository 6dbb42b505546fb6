//! Contract of every design with a persist buffer. A read of a resident line returns the buffer's content, whatever
//! memory holds. On battery, the chip writes all accepted stores to memory.

use super::design::{DATA_LINES, LINES, SchemeMemory};
use super::{Checked, hold};
use crate::design::Parts;
use crate::execution::{Untimed, run_now};
use crate::planted::PlantedBug;
use crate::scheme::PersistBufferHandle;
use units::{Line, LineAddr};

/// Text of a line, different in each round.
fn text(line: LineAddr, round: u8) -> Line {
    [line.0 as u8 ^ round; 64]
}

/// Checks a composition against the contract of persist buffers.
pub fn check(parts: &Parts, planted: PlantedBug) -> Checked {
    let memory = SchemeMemory::new(parts, planted)?;
    let (scheme, functional) = (&memory.scheme, &memory.functional);
    for round in 1..4 {
        for line in LINES {
            run_now(PersistBufferHandle::of(scheme).accept(&functional.verbs(), line, &text(line, round)));
            let fault = functional.take_fault();
            hold(fault.is_none(), || format!("a false alarm at a store: {fault:?}"))?;
            hold(memory.read(line) == Some(text(line, round)), || {
                format!("line {line} is not read from the buffer as it was stored")
            })?;
        }
        // Empties the caches, as other accesses on the chip would.
        run_now(scheme.flush(&functional.verbs()));
        if round == 2 {
            LINES
                .iter()
                .step_by(2)
                .for_each(|line| run_now(PersistBufferHandle::of(scheme).drain(&functional.verbs(), *line)));
        }
    }
    hold(PersistBufferHandle::of(scheme).lines().len() == LINES.len(), || "a line has no entry, or two".into())?;
    run_now(PersistBufferHandle::of(scheme).drain_on_battery(&functional.verbs()));
    hold(PersistBufferHandle::of(scheme).lines().is_empty(), || "the battery leaves an entry".into())?;
    let again = SchemeMemory { scheme: parts.build_with(DATA_LINES, 1, planted)?, functional: functional.clone() };
    run_now(again.scheme.recover(&again.functional.verbs(), &functional.registers()));
    let fault = again.functional.take_fault();
    hold(fault.is_none(), || format!("recovery refuses what a battery has left: {fault:?}"))?;
    for line in LINES {
        hold(again.read(line) == Some(text(line, 3)), || format!("line {line} does not come back as it was stored"))?;
    }
    let reuse = again.functional.ledger().reuse();
    hold(reuse.is_none(), || format!("keystream hid two things: {reuse:?}"))
}

#[test]
fn a_line_in_the_persist_buffer_is_read_from_it_and_survives_a_loss() {
    for parts in super::buffered() {
        assert_eq!(check(&parts, PlantedBug::NONE), Ok(()), "{parts:?}");
    }
}
