//! Permutations in the background, which use the bus only while no other request waits.

use super::Checked;
use super::moving_in_time::{Conditions, Handling, MovingMachine};
use crate::execution::{AtOnce, OverflowLimits, Timed, Untimed, run_now};
use crate::moving::PermutationTime::IdleBus;
use crate::moving::SmallCache;
use crate::planted::PlantedBug;
use crate::record::SLOTS;
use crate::scheme::Release;
use crate::slot::{Role, Slot, Untrusted};
use crate::verbs::{Fault, MemoryVerbs, Wanted};
use std::cell::Cell;
use std::rc::Rc;
use units::{LineAddr, ZERO_LINE};

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

const HANDLING: Handling = (Release::Verified, IdleBus, 1);

/// Begins the permutation of a page chunk in the background. Returns whether it has ended, or did not begin.
fn permute_in_background(machine: &MovingMachine, chunk: u64) -> Rc<Cell<bool>> {
    let ended = Rc::new(Cell::new(false));
    let (memory, lines, ends) = (machine.memory.clone(), machine.lines.clone(), ended.clone());
    machine.executor.clock().spawn(async move {
        let requests = lines.permutation_requests();
        assert_eq!(requests.permute_in_background(&Timed::new(&memory), chunk).await, Ok(()));
        ends.set(true);
    });
    ended
}

/// A machine with endless demand, on which the permutation of page chunk 0 waits in the background. Returns whether it
/// has ended.
fn permuting_in_background() -> (MovingMachine, Rc<Cell<u64>>, Rc<Cell<bool>>) {
    let mut machine = MovingMachine::new(SmallCache::new(64, 8), HANDLING);
    run_now(machine.lines.acquire_record(&AtOnce::new(&machine.memory).verbs(), LineAddr(0)));
    let (reads, ended) = (demand_without_end(&machine), permute_in_background(&machine, 0));
    machine.executor.run_until(|| reads.get() == 5_000);
    assert!(!ended.get(), "all slots were read and written although other requests waited");
    (machine, reads, ended)
}

/// A way in which an access, or the chip, waits for the permutation of page chunk 0.
#[derive(Clone, Copy, Debug)]
enum Waits {
    Read,
    TlbMiss,
    Flush,
    FlushedLine,
}

#[test]
fn what_waits_for_a_permutation_in_the_background_ends_although_demand_never_ends() {
    for waits in [Waits::Read, Waits::TlbMiss, Waits::Flush, Waits::FlushedLine] {
        let (mut machine, reads, ended) = permuting_in_background();
        let (memory, lines, over) = (machine.memory.clone(), machine.lines.clone(), Rc::new(Cell::new(false)));
        if matches!(waits, Waits::Flush) {
            // A flush permutes page chunks with locked lines.
            run_now(lines.write(&AtOnce::new(&memory).verbs(), LineAddr(7), &ZERO_LINE));
        }
        let ends = over.clone();
        machine.executor.clock().spawn(async move {
            let verbs = Timed::new(&memory);
            match waits {
                Waits::Read => lines.read(&verbs, LineAddr(7)).await,
                Waits::TlbMiss => assert!(lines.acquire_record(&verbs, LineAddr(7)).await),
                Waits::Flush => lines.flush(&verbs).await,
                Waits::FlushedLine => lines.permute_chunk_of(&verbs, LineAddr(7)).await,
            }
            ends.set(true);
        });
        machine.executor.run_until(|| over.get() && ended.get() || reads.get() > 50_000);
        assert!(over.get() && ended.get(), "{waits:?}, the permutation: {} {}", over.get(), ended.get());
        let counted = machine.lines.counted();
        assert_eq!(counted.permutations_awaited, 1, "{waits:?}");
        assert_eq!((counted.twice, counted.incomplete, machine.seen.refused.get()), (0, 0, None), "{waits:?}");
    }
}

#[test]
fn a_machine_that_comes_to_rest_ends_permutations_in_the_background_although_demand_never_ends() {
    let (mut machine, reads, ended) = permuting_in_background();
    machine.lines.permutation_requests().hurry();
    machine.executor.run_until(|| ended.get() || reads.get() > 50_000);
    let counted = machine.lines.counted();
    assert_eq!((ended.get(), counted.permutations, counted.permutations_awaited), (true, 1, 0));
}

#[test]
fn no_permutation_begins_in_the_background_while_as_many_are_under_way_as_the_chip_has_buffers() {
    for at_once in [1, 3] {
        let conditions = Conditions { at_once, ..Conditions::default() };
        let mut machine = MovingMachine::under(SmallCache::new(64, 8), HANDLING, conditions);
        let reads = demand_without_end(&machine);
        let ended: Vec<_> = (0..4).map(|chunk| permute_in_background(&machine, chunk)).collect();
        machine.executor.run_until(|| reads.get() == 5_000);
        let begun = ended.iter().filter(|ended| !ended.get()).count();
        assert_eq!((begun, machine.lines.permutation_requests().under_way()), (at_once, at_once));
    }
}

/// Two permutations in the background have all permits, and an access waits for a third.
#[test]
fn a_permutation_that_waits_for_a_permit_ends_those_in_the_background_although_demand_never_ends() {
    let limits = Some(OverflowLimits { outstanding: 2, slots: 8 });
    let conditions = Conditions { at_once: 2, limits, ..Conditions::default() };
    let mut machine = MovingMachine::under(SmallCache::new(64, 8), HANDLING, conditions);
    let reads = demand_without_end(&machine);
    let ended = [0, 1].map(|chunk| permute_in_background(&machine, chunk));
    machine.executor.run_until(|| reads.get() == 5_000);
    assert!(!ended.iter().any(|ended| ended.get()));
    let (memory, lines, over) = (machine.memory.clone(), machine.lines.clone(), Rc::new(Cell::new(false)));
    let ends = over.clone();
    machine.executor.clock().spawn(async move {
        lines.permute_chunk_of(&Timed::new(&memory), LineAddr(2 * SLOTS as u64)).await;
        ends.set(true);
    });
    machine.executor.run_until(|| over.get() || reads.get() > 100_000);
    assert!(over.get(), "the third permutation waits for ever");
    let (renewals, entries) = machine.memory.most_overflows().unwrap();
    assert_eq!((renewals, machine.lines.counted().permutations >= 2), (2, true));
    assert!((1..=8).contains(&entries), "transfers with a raised priority took {entries} entries of the queue");
}

/// Checks that a permutation in the background of a page chunk with a forged slot reports tampering and writes no slot.
pub fn check(planted: PlantedBug) -> Checked {
    let MovingMachine { mut executor, memory, lines, .. } =
        MovingMachine::under(SmallCache::new(64, 8), HANDLING, Conditions { planted, ..Conditions::default() });
    let at_once = AtOnce::new(&memory);
    let forged = run_now(lines.slot_of(&at_once.verbs(), LineAddr(200))).map_err(|fault| fault.to_string())?;
    at_once.verbs().boot(forged, Role::Data, |_| Untrusted::from([7; 64]));
    let content = || (0..SLOTS as u64).map(|slot| memory.after_power_loss().0.read(Slot(slot))).collect::<Vec<_>>();
    let (before, outcome) = (content(), Rc::new(Cell::new(None)));
    let (permuting, ends) = (memory.clone(), outcome.clone());
    executor.clock().spawn(async move {
        ends.set(Some(lines.permutation_requests().permute_in_background(&Timed::new(&permuting), 0).await));
    });
    executor.run_until(|| outcome.get().is_some());
    match outcome.get() {
        Some(Err(Fault::Tag(_))) if content() == before => Ok(()),
        Some(Err(Fault::Tag(_))) => {
            Err("a permutation in the background writes before it has checked all slots".into())
        }
        other => Err(format!("a permutation in the background of a forged slot ends with {other:?}")),
    }
}

#[test]
fn a_permutation_in_the_background_writes_no_slot_before_it_has_checked_the_last() {
    assert_eq!(check(PlantedBug::NONE), Ok(()));
}
