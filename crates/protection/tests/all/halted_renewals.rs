//! Re-encryptions that tampering has stopped, and lines with lost stores, over losses of power. The chip drains its
//! persist buffer on battery, and recovery finishes the re-encryption.

use crate::buffered::{OVERFLOWS, Powered, schemes};
use casemate_protection::design::Parts;
use casemate_protection::execution::run_now;
use casemate_protection::planted::PlantedBug;
use casemate_protection::scheme::PersistBufferHandle;
use casemate_protection::verbs::{Fault, Slot, Untrusted};
use units::{Line, LineAddr};

/// Line with the counter that overflows.
const OVERFLOWING: u64 = 5;
/// Line that the attacker garbles.
const GARBLED: u64 = 4;
/// Lines with stores in the buffer when the renewal stops.
const BUFFERED: [u64; 2] = [3, 20];
/// Line of another group.
const OTHER: u64 = 900;

/// Stored slots with their contents.
type Stored = Vec<(Slot, Untrusted)>;

fn handle(machine: &Powered) -> PersistBufferHandle<'_> {
    PersistBufferHandle::of(&machine.scheme)
}

fn stored(machine: &Powered, slots: impl IntoIterator<Item = Slot>) -> Stored {
    let media = machine.memory().media.borrow();
    slots.into_iter().map(|slot| (slot, media.read(slot))).collect()
}

fn put(machine: &Powered, stored: &Stored) {
    stored.iter().for_each(|(slot, content)| machine.memory().media.borrow_mut().store(*slot, *content));
}

/// Bytes of a tag in its tag line.
const TAG_BYTES: usize = 8;

/// Returns the ciphertext and the tag line of a line, as memory holds them.
fn data_and_tags(machine: &Powered, line: u64) -> Stored {
    stored(machine, [Slot(line)].into_iter().chain(machine.fixed().tag_slot(LineAddr(line))))
}

/// Puts an earlier ciphertext of a line back with its tag. The tags of other lines stay.
fn replay(machine: &Powered, line: u64, earlier: &Stored) {
    let (data, tags) = (earlier[0], earlier[1]);
    put(machine, &vec![data]);
    let tag = line as usize % TAG_BYTES * TAG_BYTES..(line as usize % TAG_BYTES + 1) * TAG_BYTES;
    let mut now = stored(machine, [tags.0])[0].1.examine();
    now[tag.clone()].copy_from_slice(&tags.1.examine()[tag]);
    machine.memory().media.borrow_mut().write(tags.0, &now);
}

/// Accepts a store under attack, and returns the fault that the store reports.
fn accept_under_attack(machine: &Powered, line: u64, content: u8) -> Option<Fault> {
    run_now(handle(machine).accept(&machine.recorded.verbs(), LineAddr(line), &[content; 64]));
    machine.memory().take_fault()
}

fn drain_on_battery(machine: &Powered) -> Option<Fault> {
    run_now(handle(machine).drain_on_battery(&machine.recorded.verbs()));
    machine.memory().take_fault()
}

/// Writes each line durably, and then [`OVERFLOWING`] until its next write overflows its counter.
fn before_the_overflow(parts: &Parts, planted: PlantedBug) -> Powered {
    let machine = Powered::with(parts, planted);
    for line in [GARBLED, OTHER].into_iter().chain(BUFFERED) {
        machine.accept(line, 1);
        machine.drain(line);
    }
    for content in 0..OVERFLOWS - 2 {
        machine.accept(OVERFLOWING, content);
        machine.drain(OVERFLOWING);
    }
    run_now(machine.scheme.flush(&machine.recorded.verbs()));
    machine
}

/// Stops a renewal while stores to [`BUFFERED`] are in the buffer without counters. A forged counter line lets these stores
/// enter without their early steps. Returns the machine, and the earlier data and tags of the buffered lines.
fn halted_in_a_renewal(parts: &Parts, planted: PlantedBug) -> (Powered, [Stored; 2]) {
    let machine = before_the_overflow(parts, planted);
    let old = BUFFERED.map(|line| data_and_tags(&machine, line));
    let counters = stored(&machine, machine.fixed().counter_slot(LineAddr(OVERFLOWING)));
    put(&machine, &vec![(counters[0].0, [0x5a; 64].into())]);
    for line in BUFFERED {
        accept_under_attack(&machine, line, 2);
    }
    put(&machine, &counters);
    let honest = stored(&machine, [Slot(GARBLED)]);
    put(&machine, &vec![(Slot(GARBLED), [7; 64].into())]);
    let at_once = accept_under_attack(&machine, OVERFLOWING, 200);
    run_now(handle(&machine).drain(&machine.recorded.verbs(), LineAddr(OVERFLOWING)));
    let fault = at_once.or(machine.memory().take_fault());
    machine.memory().take_fault();
    assert_eq!(fault, Some(Fault::Tag(LineAddr(GARBLED))), "{:?}", parts.persistence);
    assert!(machine.fixed().on_chip(|chip| chip.power.halted), "the scene is not set, {:?}", parts.persistence);
    put(&machine, &honest);
    assert_eq!(handle(&machine).lines(), BUFFERED.map(LineAddr), "the scene is not set, {:?}", parts.persistence);
    (machine, old)
}

#[test]
fn a_line_drained_in_a_stopped_renewal_keeps_its_store_when_recovery_finishes_the_renewal() {
    for parts in schemes() {
        let (machine, _) = halted_in_a_renewal(&parts, PlantedBug::NONE);
        assert_eq!(drain_on_battery(&machine), None, "{:?}", parts.persistence);
        let (after, fault) = machine.revived(&machine.image(), &machine.memory().registers());
        assert_eq!(fault, None, "{:?}", parts.persistence);
        for (line, content) in [(BUFFERED[0], 2), (BUFFERED[1], 2), (GARBLED, 1), (OVERFLOWING, 200), (OTHER, 1)] {
            assert_eq!(after.read(line), Ok([content; 64]), "line {line}, {:?}", parts.persistence);
        }
        assert_eq!(after.memory().ledger().reuse(), None, "{:?}", parts.persistence);
    }
}

/// Puts the earlier content of a drained line back while power is off. Returns the read after recovery, and whether one pad
/// has hidden two texts.
fn replayed(parts: &Parts, planted: PlantedBug) -> (Result<Line, Fault>, bool) {
    let (machine, old) = halted_in_a_renewal(parts, planted);
    assert_eq!(drain_on_battery(&machine), None, "{:?}", parts.persistence);
    replay(&machine, BUFFERED[0], &old[0]);
    let (after, _) = machine.revived(&machine.image(), &machine.memory().registers());
    let read = after.read(BUFFERED[0]);
    for (line, content) in [(OVERFLOWING, 200), (GARBLED, 1), (BUFFERED[1], 2)] {
        assert_eq!(after.read(line), Ok([content; 64]), "line {line}, {:?}", parts.persistence);
    }
    (read, after.memory().ledger().reuse().is_some())
}

#[test]
fn a_replay_of_a_line_drained_in_a_stopped_renewal_is_refused_and_reuses_no_pad() {
    let refused = Err(Fault::Tag(LineAddr(BUFFERED[0])));
    for parts in schemes() {
        assert_eq!(replayed(&parts, PlantedBug::NONE), (refused, false), "{:?}", parts.persistence);
    }
}

#[cfg(feature = "planted-bugs")]
#[test]
fn recovery_accepts_a_replayed_line_if_the_battery_does_not_register_it_in_the_renewal() {
    use casemate_protection::planted::SessionBug;
    for parts in schemes() {
        let found = replayed(&parts, PlantedBug::new(SessionBug::DrainedInRenewalUnregistered.into()));
        assert_eq!(found, (Ok([1; 64]), true), "{:?}", parts.persistence);
    }
}

/// The renewal begins and stops on battery. Returns the read of the replayed line, and whether one pad has hidden two texts;
/// `None` if the scheme renews a group as soon as a store overflows its counter.
fn stopped_on_battery(parts: &Parts, planted: PlantedBug) -> Option<(Result<Line, Fault>, bool)> {
    let machine = before_the_overflow(parts, planted);
    let line = BUFFERED[1];
    let old = data_and_tags(&machine, line);
    for stored in [OVERFLOWING, line] {
        machine.accept(stored, 2);
    }
    if machine.scheme.counted().renewals.groups > 0 {
        return None;
    }
    let honest = stored(&machine, [Slot(GARBLED)]);
    put(&machine, &vec![(Slot(GARBLED), [7; 64].into())]);
    drain_on_battery(&machine);
    put(&machine, &honest);
    replay(&machine, line, &old);
    let (after, _) = machine.revived(&machine.image(), &machine.memory().registers());
    let read = after.read(line);
    Some((read, after.memory().ledger().reuse().is_some()))
}

#[test]
fn a_replay_of_a_line_drained_after_a_renewal_stopped_on_battery_is_refused() {
    let refused = (Err(Fault::Tag(LineAddr(BUFFERED[1]))), false);
    let found: Vec<_> = schemes().iter().filter_map(|parts| stopped_on_battery(parts, PlantedBug::NONE)).collect();
    assert!(!found.is_empty() && found.iter().all(|found| *found == refused), "{found:?}");
}

#[cfg(feature = "planted-bugs")]
#[test]
fn a_renewal_that_is_not_noted_on_battery_or_keeps_one_written_line_admits_a_replay() {
    use casemate_protection::planted::SessionBug;
    for bug in [SessionBug::DrainedInRenewalUnregistered, SessionBug::RenewalOnBatteryUnnoted] {
        let planted = PlantedBug::new(bug.into());
        let found = schemes().into_iter().find_map(|parts| stopped_on_battery(&parts, planted));
        assert_eq!(found, Some((Ok([1; 64]), true)), "{bug:?}");
    }
}

/// The line that stopped the renewal also stops the first recovery, and power fails once more.
#[test]
fn replays_in_the_third_session_of_a_stopped_renewal_are_refused_and_reuse_no_pad() {
    for parts in schemes() {
        let (machine, old) = halted_in_a_renewal(&parts, PlantedBug::NONE);
        let honest = stored(&machine, [Slot(GARBLED)]);
        put(&machine, &vec![(Slot(GARBLED), [9; 64].into())]);
        drain_on_battery(&machine);
        let (second, fault) = machine.revived(&machine.image(), &machine.memory().registers());
        assert_eq!(fault, Some(Fault::Tag(LineAddr(GARBLED))), "{:?}", parts.persistence);
        assert_eq!(drain_on_battery(&second), None);
        put(&second, &honest);
        BUFFERED.iter().zip(&old).for_each(|(line, earlier)| replay(&second, *line, earlier));
        let (third, _) = second.revived(&second.image(), &second.memory().registers());
        for line in BUFFERED {
            assert_eq!(third.read(line), Err(Fault::Tag(LineAddr(line))), "line {line}, {:?}", parts.persistence);
        }
        assert_eq!(third.memory().ledger().reuse(), None, "{:?}", parts.persistence);
    }
}

/// Line with a store that the battery loses.
const LOST: u64 = BUFFERED[0];

/// The refusal of a read of the lost line.
fn refusal() -> Result<Line, Fault> {
    Err(Fault::Lost(LineAddr(LOST)))
}

/// Flips bits of the counters and the tag of [`LOST`] while the battery works, so that its store is lost, and flips them
/// back. Returns the next session, or `None` if the scheme drains this line without reading memory.
fn with_a_lost_line(parts: &Parts, planted: PlantedBug) -> Option<Powered> {
    let machine = before_the_overflow(parts, planted);
    machine.accept(LOST, 2);
    run_now(machine.scheme.flush(&machine.recorded.verbs()));
    let metadata = [machine.fixed().counter_slot(LineAddr(LOST)), machine.fixed().tag_slot(LineAddr(LOST))];
    let honest = stored(&machine, metadata.into_iter().flatten());
    for (slot, content) in &honest {
        let mut flipped = content.examine();
        flipped[63] ^= 1;
        machine.memory().media.borrow_mut().write(*slot, &flipped);
    }
    drain_on_battery(&machine);
    put(&machine, &honest);
    let next = machine.revived(&machine.image(), &machine.memory().registers()).0;
    (next.read(LOST) == refusal()).then_some(next)
}

/// Returns the reads of the lost line after a neighbour's overflow: at once, and in the next session.
fn after_an_overflow(machine: &Powered) -> [Result<Line, Fault>; 2] {
    machine.accept(OVERFLOWING, 200);
    machine.drain(OVERFLOWING);
    assert!(machine.scheme.counted().renewals.groups > 0, "the scene is not set");
    let at_once = machine.read(LOST);
    drain_on_battery(machine);
    let (next, _) = machine.revived(&machine.image(), &machine.memory().registers());
    let later = next.read(LOST);
    next.accept(LOST, 9);
    next.drain(LOST);
    for (line, content) in [(LOST, 9), (OVERFLOWING, 200), (GARBLED, 1), (BUFFERED[1], 1), (OTHER, 1)] {
        assert_eq!(next.read(line), Ok([content; 64]), "line {line}");
    }
    assert_eq!(next.memory().ledger().reuse(), None);
    [at_once, later]
}

#[test]
fn a_line_with_a_lost_store_stays_lost_when_its_group_is_renewed() {
    let machines = schemes().into_iter().filter_map(|parts| with_a_lost_line(&parts, PlantedBug::NONE));
    let reads: Vec<_> = machines.map(|machine| after_an_overflow(&machine)).collect();
    assert!(!reads.is_empty(), "the scene is not set");
    assert!(reads.iter().all(|reads| *reads == [refusal(); 2]), "{reads:?}");
}

/// The renewal stops, and recovery in the third session finishes it. Returns the read of the lost line.
fn after_a_finished_renewal(machine: &Powered) -> Result<Line, Fault> {
    let honest = stored(machine, [Slot(GARBLED)]);
    put(machine, &vec![(Slot(GARBLED), [7; 64].into())]);
    accept_under_attack(machine, OVERFLOWING, 200);
    run_now(handle(machine).drain(&machine.recorded.verbs(), LineAddr(OVERFLOWING)));
    assert!(machine.fixed().on_chip(|chip| chip.power.halted), "the scene is not set");
    machine.memory().take_fault();
    drain_on_battery(machine);
    put(machine, &honest);
    let (next, _) = machine.revived(&machine.image(), &machine.memory().registers());
    assert_eq!(next.memory().registers().renewal, None);
    assert_eq!([next.read(OVERFLOWING), next.read(GARBLED)], [Ok([200; 64]), Ok([1; 64])]);
    next.read(LOST)
}

#[test]
fn a_line_with_a_lost_store_stays_lost_when_recovery_finishes_the_renewal_of_its_group() {
    let machines = schemes().into_iter().filter_map(|parts| with_a_lost_line(&parts, PlantedBug::NONE));
    let reads: Vec<_> = machines.map(|machine| after_a_finished_renewal(&machine)).collect();
    assert!(!reads.is_empty(), "the scene is not set");
    assert!(reads.iter().all(|read| *read == refusal()), "{reads:?}");
}

#[cfg(feature = "planted-bugs")]
#[test]
fn a_renewal_that_encrypts_lost_lines_again_returns_their_old_text_without_a_report() {
    use casemate_protection::planted::SessionBug;
    let planted = PlantedBug::new(SessionBug::RenewalFindsLost.into());
    let old = Ok([1; 64]);
    let machines = || schemes().into_iter().filter_map(move |parts| with_a_lost_line(&parts, planted));
    assert!(machines().any(|machine| after_an_overflow(&machine) == [old; 2]));
    assert!(machines().any(|machine| after_a_finished_renewal(&machine) == old));
}
