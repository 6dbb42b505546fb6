//! Durable caches: while the machine has power, their only additional operation is one change of a register. Their
//! battery preserves all stores.

use crate::durable::durable;
use casemate_protection::design::{
    BatteryAction, CounterChoice, Order, Parts, Persistence, Point, TagLocation, TreeKind,
};
use casemate_protection::domain::Registers;
use casemate_protection::execution::{Functional, Operation, RecordedMemory, run_now};
use casemate_protection::planted::PlantedBug;
use casemate_protection::scheme::{DurableCaches, Scheme};
use casemate_protection::tree::{ForestDesign, Update};
use casemate_protection::verbs::{Fault, Role, Slot, Untrusted};
use units::{Line, LineAddr};

const LINES: u64 = 1 << 10;
/// One more write than a 7-bit counter has versions.
const OVERFLOWS: u8 = 129;

fn in_caches() -> Parts {
    durable(Persistence { point: Point::Caches, ..Persistence::default() })
}

struct Powered {
    scheme: Scheme,
    recorded: RecordedMemory,
}

impl Powered {
    fn on(parts: &Parts) -> Powered {
        Powered::with(parts, PlantedBug::NONE)
    }

    fn with(parts: &Parts, planted: PlantedBug) -> Powered {
        let scheme = parts.build_with(LINES, 1, planted).unwrap();
        let recorded = RecordedMemory::new(Functional::new(scheme.layout().total_lines()));
        Powered { scheme, recorded }
    }

    /// Returns a new chip over the memory that is left, and the fault that its recovery reports.
    fn again(parts: &Parts, image: &[(Slot, Untrusted)], registers: &Registers) -> (Powered, Option<Fault>) {
        let after = Powered::on(parts);
        image.iter().for_each(|(slot, content)| after.memory().media.borrow_mut().store(*slot, *content));
        after.memory().go_on_with(registers.clone());
        run_now(after.scheme.recover(&after.recorded.verbs(), registers));
        let fault = after.memory().take_fault();
        (after, fault)
    }

    fn memory(&self) -> &Functional {
        self.recorded.memory()
    }

    fn write(&self, line: u64, content: u8) {
        run_now(self.scheme.write(&self.recorded.verbs(), LineAddr(line), &[content; 64]));
        assert_eq!(self.memory().take_fault(), None);
    }

    fn read(&self, line: u64) -> Result<Line, Fault> {
        run_now(self.scheme.read(&self.recorded.verbs(), LineAddr(line)));
        let fault = self.memory().take_fault();
        fault.map_or_else(|| Ok(self.memory().take_released().unwrap().1.bytes), Err)
    }

    /// Drains on battery: power fails while these lines are dirty in caches.
    fn loses_power(&self, dirty: &[(u64, u8)]) {
        let dirty = dirty.iter().map(|(line, content)| (LineAddr(*line), [*content; 64])).collect();
        run_now(DurableCaches::of(&self.scheme).drain_on_battery(&self.recorded.verbs(), dirty));
        assert_eq!(self.memory().take_fault(), None);
    }

    fn image(&self) -> Vec<(Slot, Untrusted)> {
        let media = self.memory().media.borrow();
        media.written_slots().map(|(slot, _)| (slot, media.read(slot))).collect()
    }
}

/// A change of a design's parts.
type Change = fn(&mut Parts);

/// Designs that differ in the possible places of metadata at a loss of power, and in the time of updates of nodes.
const KINDS: [Change; 7] = [
    |_| {},
    |parts| parts.tree.update = Update::Eager,
    |parts| parts.tree.arity = 2,
    |parts| parts.counters = CounterChoice::Morphable,
    |parts| parts.counters = CounterChoice::Mono56,
    |parts| parts.mac.place = TagLocation::Ecc,
    |parts| parts.caches.counters_in_llc = true,
];

#[test]
fn dirty_cached_lines_survive_repeated_losses_of_power_on_battery() {
    for change in KINDS {
        let mut parts = in_caches();
        change(&mut parts);
        let mut machine = Powered::on(&parts);
        for loss in 0..4 {
            // The first group overflows, by these writes or on battery.
            (0..OVERFLOWS / 3).for_each(|content| machine.write(5, content));
            [3, 70, 300, 900].into_iter().for_each(|line| machine.write(line, loss));
            machine.loses_power(&[(70, loss + 10), (5, loss + 20), (1000, loss + 30)]);
            let fault;
            (machine, fault) = Powered::again(&parts, &machine.image(), &machine.memory().registers());
            assert_eq!(fault, None, "{parts:?}");
            for (line, content) in [(3, 0), (70, 10), (5, 20), (300, 0), (900, 0), (1000, 30)] {
                assert_eq!(machine.read(line), Ok([loss + content; 64]), "line {line} after loss {loss}, {parts:?}");
            }
        }
    }
}

/// Sessions lose power before their first store. Recovery accepts memory then, and after a later session with a store.
#[test]
fn recovery_succeeds_after_sessions_without_stores() {
    let parts = in_caches();
    let again = |before: &Powered, dirty: &[(u64, u8)]| {
        before.loses_power(dirty);
        let (after, fault) = Powered::again(&parts, &before.image(), &before.memory().registers());
        assert_eq!(fault, None);
        after
    };
    let later = (0..3).fold(Powered::on(&parts), |before, _| again(&before, &[]));
    assert_eq!(again(&later, &[(3, 7)]).read(3), Ok([7; 64]));
}

/// The battery fails in a session, and an attacker restores the memory of an earlier one. Without a refusal, the machine
/// would use the pads of the session again.
#[test]
fn the_memory_image_of_an_earlier_session_is_refused_after_the_first_write() {
    let parts = in_caches();
    let mut machine = Powered::on(&parts);
    let mut left = vec![(machine.image(), "the blank memory")];
    for session in 0..3 {
        machine.write(3, session);
        run_now(machine.scheme.flush(&machine.recorded.verbs()));
        for (image, which) in &left {
            let (after, fault) = Powered::again(&parts, image, &machine.memory().registers());
            assert_eq!(fault, Some(Fault::Root), "{which}, in session {session}");
            assert!(after.read(3).is_err(), "{which}, in session {session}");
        }
        machine.loses_power(&[]);
        left.push((machine.image(), "a memory that a battery has left"));
        let fault;
        (machine, fault) = Powered::again(&parts, &machine.image(), &machine.memory().registers());
        assert_eq!((fault, machine.read(3)), (None, Ok([session; 64])));
    }
}

/// A session writes no line to memory, though caches may have stores. Its battery dies at once, so recovery must refuse
/// memory.
#[test]
fn recovery_refuses_memory_if_the_battery_dies_with_unwritten_cached_stores() {
    let parts = in_caches();
    let machine = Powered::on(&parts);
    machine.write(3, 1);
    machine.loses_power(&[]);
    let (machine, fault) = Powered::again(&parts, &machine.image(), &machine.memory().registers());
    assert_eq!((fault, machine.read(3)), (None, Ok([1; 64])));
    let (after, fault) = Powered::again(&parts, &machine.image(), &machine.memory().registers());
    assert_eq!(fault, Some(Fault::Root));
    assert!(after.read(3).is_err());
    machine.loses_power(&[]);
    let (after, fault) = Powered::again(&parts, &machine.image(), &machine.memory().registers());
    assert_eq!((fault, after.read(3)), (None, Ok([1; 64])), "the session only read, and its battery has lasted");
}

/// Flips one bit of a metadata line while the battery works, and flips it back before recovery.
#[test]
fn a_metadata_bit_flipped_only_during_a_battery_drain_makes_recovery_refuse_memory() {
    let parts = in_caches();
    let scheme = parts.build(LINES, 1).unwrap();
    let metadata = |slot: Slot| slot.0 >= LINES;
    let machine = Powered::on(&parts);
    [3, 70, 300, 900].into_iter().for_each(|line| machine.write(line, 1));
    machine.loses_power(&[]);
    let slots: Vec<Slot> = machine.image().into_iter().map(|(slot, _)| slot).filter(|slot| metadata(*slot)).collect();
    assert!(slots.len() > 6 && !scheme.layout().levels().is_empty(), "the scene is not set");
    let mut met = 0;
    for slot in slots {
        let (machine, fault) = Powered::again(&parts, &machine.image(), &machine.memory().registers());
        assert_eq!(fault, None);
        let honest = machine.memory().media.borrow().read(slot);
        let mut flipped = honest.examine();
        flipped[9] ^= 1;
        machine.memory().media.borrow_mut().write(slot, &flipped);
        let dirty = [3, 70, 300, 900].map(|line| (LineAddr(line), [2; 64])).to_vec();
        run_now(DurableCaches::of(&machine.scheme).drain_on_battery(&machine.recorded.verbs(), dirty));
        let was_met = machine.memory().take_fault().is_some();
        met += u32::from(was_met);
        if machine.memory().media.borrow().read(slot).examine() == flipped {
            machine.memory().media.borrow_mut().store(slot, honest);
        }
        let (after, fault) = Powered::again(&parts, &machine.image(), &machine.memory().registers());
        if was_met {
            assert_eq!(fault, Some(Fault::Root), "{slot}");
        } else {
            assert_eq!((fault, after.read(3), after.read(900)), (None, Ok([2; 64]), Ok([2; 64])), "{slot}");
        }
    }
    assert!(met > 3, "the scene is not set: {met}");
}

#[test]
fn recovery_refuses_memory_if_durable_caches_lose_power_without_a_battery() {
    for lasted_once in [false, true] {
        let parts = in_caches();
        let machine = Powered::on(&parts);
        machine.write(3, 1);
        if lasted_once {
            machine.loses_power(&[]);
        }
        machine.write(3, 2);
        run_now(machine.scheme.flush(&machine.recorded.verbs()));
        let (after, fault) = Powered::again(&parts, &machine.image(), &machine.memory().registers());
        assert_eq!(fault, Some(Fault::Root), "lasted once: {lasted_once}");
        assert!(after.read(3).is_err(), "lasted once: {lasted_once}");
    }
}

/// A chip has a root only after a recovery without fault. On battery, it saves no other root.
#[test]
fn a_loss_of_power_without_a_successful_recovery_keeps_the_saved_root() {
    let parts = in_caches();
    let machine = Powered::on(&parts);
    machine.write(5, 1);
    machine.loses_power(&[(5, 2)]);
    let (image, registers) = (machine.image(), machine.memory().registers());
    let fresh = Powered::on(&parts);
    fresh.memory().go_on_with(registers.clone());
    fresh.loses_power(&[]);
    assert_eq!(fresh.memory().registers(), registers, "before recovery");
    let (refused, fault) = Powered::again(&parts, &[], &registers);
    assert_eq!(fault, Some(Fault::Root), "a wiped memory");
    refused.loses_power(&[]);
    assert_eq!(refused.memory().registers(), registers, "after a refusal");
    let (again, fault) = Powered::again(&parts, &image, &registers);
    assert_eq!((fault, again.read(5)), (None, Ok([2; 64])), "the right memory is put back");
    again.loses_power(&[]);
    assert_eq!(again.memory().registers(), registers, "nothing was stored");
}

/// The chip continues without a reset after its battery has saved the root, as after a short dip of the supply. Returns the
/// fault of a recovery from the drained memory, with the registers from after the next write.
fn drained_memory_after_another_write(planted: PlantedBug) -> Option<Fault> {
    let machine = Powered::with(&in_caches(), planted);
    machine.write(5, 1);
    machine.loses_power(&[(5, 2)]);
    let drained = machine.image();
    assert!(!machine.memory().registers().outdated, "the scene is not set");
    machine.write(5, 3);
    Powered::again(&in_caches(), &drained, &machine.memory().registers()).1
}

#[test]
fn a_chip_that_continues_after_its_battery_has_saved_the_root_outdates_the_root_again() {
    assert_eq!(drained_memory_after_another_write(PlantedBug::NONE), Some(Fault::Root));
}

#[cfg(feature = "planted-bugs")]
#[test]
fn recovery_accepts_the_drained_memory_of_a_chip_that_left_the_saved_root_valid() {
    use casemate_protection::planted::SessionBug;
    assert_eq!(drained_memory_after_another_write(PlantedBug::new(SessionBug::SavedRootStaysOutdated.into())), None);
}

/// A chip refuses a wiped memory, and programs try to write. Returns true if the next chip accepts the right memory, with
/// its last store.
fn accepts_the_right_memory_after_a_refusal(planted: PlantedBug) -> bool {
    let (parts, machine) = (in_caches(), Powered::with(&in_caches(), planted));
    machine.write(5, 1);
    machine.loses_power(&[(5, 2)]);
    let (image, registers) = (machine.image(), machine.memory().registers());
    let refused = Powered::with(&parts, planted);
    refused.memory().go_on_with(registers.clone());
    run_now(refused.scheme.recover(&refused.recorded.verbs(), &registers));
    assert_eq!(refused.memory().take_fault(), Some(Fault::Root));
    for line in [5, 900] {
        run_now(refused.scheme.write(&refused.recorded.verbs(), LineAddr(line), &[7; 64]));
        assert!(refused.memory().take_fault().is_some(), "line {line}");
    }
    let (again, fault) = Powered::again(&parts, &image, &refused.memory().registers());
    assert_eq!(refused.memory().registers().outdated, fault.is_some());
    fault.is_none() && again.read(5) == Ok([2; 64])
}

#[test]
fn a_chip_that_refused_a_memory_keeps_the_saved_root_when_programs_write() {
    assert!(accepts_the_right_memory_after_a_refusal(PlantedBug::NONE));
}

#[cfg(feature = "planted-bugs")]
#[test]
fn a_chip_that_outdates_the_root_after_a_refusal_refuses_the_right_memory() {
    use casemate_protection::planted::SessionBug;
    let planted = PlantedBug::new(SessionBug::RefusalOutdatesRoot.into());
    assert!(!accepts_the_right_memory_after_a_refusal(planted));
}

#[test]
fn durable_caches_add_no_memory_operation_before_a_loss_of_power() {
    let operations = |parts: &Parts| {
        let machine = Powered::on(parts);
        (0..OVERFLOWS).for_each(|content| machine.write(5 + 100 * u64::from(content % 9), content));
        machine.recorded.take_operations()
    };
    let volatile = durable(Persistence::default());
    let durable = operations(&in_caches());
    // The first write notifies the register, which is on the chip.
    assert!(matches!(&durable[0], Operation::Complete(outdated) if outdated.outdates_root));
    assert_eq!(durable[1..], operations(&volatile));
}

#[test]
fn a_battery_drain_writes_data_then_metadata_and_saves_the_root_last() {
    let machine = Powered::on(&in_caches());
    machine.write(3, 1);
    machine.recorded.take_operations();
    machine.loses_power(&[(3, 2), (900, 2)]);
    let done = machine.recorded.take_operations();
    let position = |is_it: fn(&Operation) -> bool| done.iter().rposition(is_it).unwrap();
    let data = position(|done| matches!(done, Operation::Store(Role::Data, ..)));
    let counters = position(|done| matches!(done, Operation::Store(Role::Counter, ..)));
    let nodes = position(|done| matches!(done, Operation::Store(Role::Node(_), ..)));
    let fence = position(|done| matches!(done, Operation::Fence));
    let root = position(|done| matches!(done, Operation::Complete(_)));
    assert!([data, counters, nodes, fence, root].is_sorted(), "{done:?}");
    assert_eq!(root + 1, done.len());
}

#[test]
fn parts_that_are_incompatible_with_durable_caches_are_refused_with_a_remedy() {
    let changes: [(Change, &str); 10] = [
        (|parts| parts.tree = TreeKind::None.into(), "tree.kind = \"bonsai\""),
        (|parts| parts.counters = CounterChoice::PageRecord, "counters = \"sc64\""),
        (
            |parts| {
                parts.tree.update = Update::Eager;
                parts.tree.forest = Some(ForestDesign::Static { level: 0, entries: 64 });
            },
            "leave tree.forest out",
        ),
        (|parts| parts.persistence.order = Order::Strict, "persistence.point = \"controller\""),
        (|parts| parts.persistence.lines = 4, "leave them out"),
        (|parts| parts.persistence.entries = 8, "persistence.point = \"buffer\""),
        (|parts| parts.persistence.drain_from = parts.persistence.drain_to, "persistence.point = \"buffer\""),
        (|parts| parts.persistence.early = Persistence::in_buffer(Order::Strict, 1).early, "leave them out"),
        (|parts| parts.persistence.battery = BatteryAction::Data, "leave them out"),
        (|parts| parts.persistence.latency_cycles = 3, "leave them out"),
    ];
    for (change, remedy) in changes {
        let mut parts = in_caches();
        assert_eq!(parts.check(), Ok(()));
        change(&mut parts);
        let refusal = parts.check().unwrap_err();
        assert!(refusal.contains(remedy) && refusal.lines().count() == 1, "{refusal}");
    }
}

#[test]
fn a_number_of_lines_per_tuple_without_a_tuple_order_is_refused_with_a_remedy() {
    let parts = durable(Persistence::at_controller(Order::None, 4));
    assert!(parts.check().unwrap_err().contains("set persistence.order = \"coalesced\""));
}
