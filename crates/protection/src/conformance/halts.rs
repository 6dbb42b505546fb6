//! Contract of a persistent design after tampering has stopped a write half-way. The chip no longer changes memory, and
//! recovery restores the durable content. Otherwise the first use of another line could show a pad that is used again
//! after recovery. Or the chip could write counters to memory for which the root register does not vouch.

use super::design::{DATA_LINES, SchemeMemory};
use super::paused::Booted;
use super::{Checked, hold};
use crate::design::Parts;
use crate::execution::{Untimed, run_now};
use crate::planted::PlantedBug;
use crate::tree::ForestDesign;
use crate::verbs::Fault;
use units::random::Random;
use units::{Line, LineAddr};

/// The line of the write that is given up. It was never used before.
const GIVEN_UP: LineAddr = LineAddr(9);
/// A neighbour of the line, under the same counters.
const DURABLE: LineAddr = LineAddr(1);
/// A line below other nodes.
const FAR: LineAddr = LineAddr(DATA_LINES - 1);

/// Checks a composition against the contract for a write that was given up.
pub fn check(parts: &Parts, planted: PlantedBug) -> Checked {
    let memory = SchemeMemory::new(parts, planted)?;
    let booted = Booted { memory: &memory.functional, pauses: false };
    let texts: [Line; 2] = [[1; 64], [2; 64]];
    memory.write(DURABLE, &texts[0])?;
    run_now(memory.scheme.flush(&booted.verbs()));
    // The reads put the counters of both lines on the chip, and the path of `FAR` evicts the nodes above `DURABLE`.
    [DURABLE, FAR].iter().for_each(|line| run_now(memory.scheme.read(&booted.verbs(), *line)));
    let (media, image) = (memory.functional.media.borrow().clone(), memory.image());
    for level in memory.scheme.layout().levels() {
        level.slots().for_each(|slot| memory.put(slot, &Random::new(slot.0).line()));
    }
    run_now(memory.scheme.write(&booted.verbs(), GIVEN_UP, &texts[1]));
    let fault = memory.functional.take_fault();
    hold(matches!(fault, Some(Fault::Tree(_))), || format!("the scene is not set: a write ended with {fault:?}"))?;
    memory.functional.media.replace(media);
    run_now(memory.scheme.read(&booted.verbs(), GIVEN_UP));
    memory.functional.take_fault();
    // A copy of the chip is halted as well.
    for scheme in [&memory.scheme, &memory.scheme.twin()] {
        run_now(scheme.write(&booted.verbs(), DURABLE, &texts[1]));
        let fault = memory.functional.take_fault();
        hold(fault == Some(Fault::Halted(DURABLE)), || {
            format!("a chip that has given a write up goes on writing: {fault:?}")
        })?;
    }
    run_now(memory.scheme.flush(&booted.verbs()));
    hold(memory.image() == image, || "memory changes after a write was given up".into())?;

    let again = SchemeMemory::new(parts, planted)?;
    again.functional.media.replace(memory.functional.media.borrow().clone());
    again.functional.carry(memory.functional.ledger().clone());
    run_now(again.scheme.recover(&again.functional.verbs(), &memory.functional.registers()));
    let fault = again.functional.take_fault();
    hold(fault.is_none(), || format!("recovery refuses a memory after a write was given up: {fault:?}"))?;
    hold(again.read(DURABLE) == Some(texts[0]), || "what was durable does not come back".into())?;
    run_now(again.scheme.read(&Booted { memory: &again.functional, pauses: false }.verbs(), GIVEN_UP));
    let refused = matches!(again.functional.take_fault(), Some(Fault::Tag(GIVEN_UP)));
    hold(refused && again.functional.take_released().is_none(), || "a blank line boots after recovery".into())?;
    again.write(GIVEN_UP, &texts[1])?;
    hold(again.read(GIVEN_UP) == Some(texts[1]), || "a blank line cannot be written after recovery".into())?;
    let reuse = again.functional.ledger().reuse();
    hold(reuse.is_none(), || format!("keystream hid two things: {reuse:?}"))
}

#[test]
fn a_chip_halted_by_an_aborted_write_writes_no_memory_until_power_returns() {
    // If all nodes above the line are on the chip, forged nodes in memory do not stop the write.
    let meets_memory =
        |parts: &Parts| !parts.caches.nodes_in_llc && !matches!(parts.tree.forest, Some(ForestDesign::Static { .. }));
    for parts in super::durable().into_iter().filter(meets_memory) {
        assert_eq!(check(&parts, PlantedBug::NONE), Ok(()), "{parts:?}");
    }
}
