//! Permutations in the background, which use the bus only while no other request waits.

use super::moving_in_time::MovingMachine;
use crate::execution::{AtOnce, Timed, Untimed, run_now};
use crate::moving::PermutationTime::IdleBus;
use crate::moving::SmallCache;
#[cfg(feature = "planted-bugs")]
use crate::planted::PageChunkBug;
use crate::planted::PlantedBug;
use crate::record::SLOTS;
use crate::scheme::Release;
use crate::slot::{Role, Slot, Untrusted};
use crate::verbs::{Fault, MemoryVerbs, Wanted};
use std::cell::Cell;
use std::rc::Rc;
use units::LineAddr;

/// Starts tasks that read from memory without end, so that some read always waits; returns the number of their reads.
fn demand_without_end(machine: &MovingMachine) -> Rc<Cell<u64>> {
    let reads = Rc::new(Cell::new(0));
    for reader in 0..8 {
        let (channels, reads) = (machine.channels.clone(), reads.clone());
        machine.executor.clock().spawn(async move {
            for line in 0.. {
                channels.read(LineAddr((8 * line + reader) * 4099), Wanted::LINE).await;
                reads.set(reads.get() + 1);
            }
        });
    }
    reads
}

/// A machine with endless demand, on which the permutation of page chunk 0 begins in the background. Returns whether it
/// has ended.
fn permuting_in_background() -> (MovingMachine, Rc<Cell<u64>>, Rc<Cell<bool>>) {
    let machine = MovingMachine::new(SmallCache::new(64, 8), (Release::Verified, IdleBus, 1));
    run_now(machine.lines.acquire_record(&AtOnce::new(&machine.memory).verbs(), LineAddr(0)));
    let (reads, ended) = (demand_without_end(&machine), Rc::new(Cell::new(false)));
    let (memory, lines, ends) = (machine.memory.clone(), machine.lines.clone(), ended.clone());
    machine.executor.clock().spawn(async move {
        assert_eq!(lines.permutation_requests().permute_in_background(&Timed::new(&memory), 0).await, Ok(()));
        ends.set(true);
    });
    (machine, reads, ended)
}

#[test]
fn an_access_to_a_page_chunk_ends_while_the_chunk_is_permuted_in_the_background_and_demand_never_ends() {
    let (mut machine, reads, ended) = permuting_in_background();
    machine.executor.run_until(|| reads.get() == 5_000);
    assert!(!ended.get(), "all slots were read and written although other requests waited");
    let (memory, lines, over) = (machine.memory.clone(), machine.lines.clone(), Rc::new(Cell::new(false)));
    let ends = over.clone();
    machine.executor.clock().spawn(async move {
        lines.read(&Timed::new(&memory), LineAddr(7)).await;
        ends.set(true);
    });
    machine.executor.run_until(|| over.get() && ended.get() || reads.get() > 50_000);
    assert!(over.get() && ended.get(), "the access, the permutation: {} {}", over.get(), ended.get());
    let counted = machine.lines.counted();
    assert_eq!((counted.permutations, counted.permutations_awaited, counted.written), (1, 1, SLOTS as u64));
    assert_eq!((counted.twice, counted.incomplete, machine.seen.refused.get()), (0, 0, None));
}

#[test]
fn a_machine_that_comes_to_rest_ends_permutations_in_the_background_although_demand_never_ends() {
    let (mut machine, reads, ended) = permuting_in_background();
    machine.executor.run_until(|| reads.get() == 5_000);
    assert!(!ended.get());
    machine.lines.permutation_requests().hurry();
    machine.executor.run_until(|| ended.get() || reads.get() > 50_000);
    let counted = machine.lines.counted();
    assert_eq!((ended.get(), counted.permutations, counted.permutations_awaited), (true, 1, 0));
}

/// Returns whether a permutation in the background of a page chunk with a forged slot reports tampering and writes no
/// slot.
fn leaves_a_forged_chunk_alone(planted: PlantedBug) -> bool {
    let handling = (Release::Verified, IdleBus, 1);
    let MovingMachine { mut executor, memory, lines, .. } =
        MovingMachine::planted(SmallCache::new(64, 8), handling, planted);
    let at_once = AtOnce::new(&memory);
    let forged = run_now(lines.slot_of(&at_once.verbs(), LineAddr(200))).unwrap();
    at_once.verbs().boot(forged, Role::Data, |_| Untrusted::from([7; 64]));
    let content = || (0..SLOTS as u64).map(|slot| memory.after_power_loss().0.read(Slot(slot))).collect::<Vec<_>>();
    let (before, outcome) = (content(), Rc::new(Cell::new(None)));
    let (permuting, ends) = (memory.clone(), outcome.clone());
    executor.clock().spawn(async move {
        ends.set(Some(lines.permutation_requests().permute_in_background(&Timed::new(&permuting), 0).await));
    });
    executor.run_until(|| outcome.get().is_some());
    matches!(outcome.get(), Some(Err(Fault::Tag(_)))) && content() == before
}

#[test]
fn a_permutation_in_the_background_writes_no_slot_before_it_has_checked_the_last() {
    assert!(leaves_a_forged_chunk_alone(PlantedBug::NONE));
}

#[cfg(feature = "planted-bugs")]
#[test]
fn a_background_write_before_the_last_read_is_checked_is_found() {
    let planted = PlantedBug::new(PageChunkBug::BackgroundWritesUnchecked.into());
    assert!(!leaves_a_forged_chunk_alone(planted));
}
