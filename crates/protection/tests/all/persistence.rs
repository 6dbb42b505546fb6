//! Recovery from memory and registers restores all writes that returned before the loss of power, and only these.

use crate::durable::durable;
use casemate_protection::counter::StartingAge;
use casemate_protection::design::{
    CounterChoice, MacChoice, MacDesign, Order, Parts, Persistence, TagLocation, TreeKind,
};
use casemate_protection::domain::{PersistenceDomain, Registers, Renewing, WritePendingQueue};
use casemate_protection::execution::{Functional, Operation, RecordedMemory, Untimed, run_now};
use casemate_protection::media::Media;
use casemate_protection::ownership::Ownership;
use casemate_protection::planted::PlantedBug;
use casemate_protection::scheme::{Release, Scheme};
use casemate_protection::verbs::{Fault, Slot, Untrusted};
use units::{Bytes, Line, LineAddr};

const LINES: u64 = 1 << 10;
const ORDERS: [Order; 3] = [Order::Strict, Order::Pipelined, Order::Coalesced];
/// One more write than a 7-bit counter has versions.
const OVERFLOWS: u8 = 129;

/// A change that makes a design impossible to make durable, or adds a feature to a durable design.
type Change = fn(&mut Parts);

fn parts(order: Order) -> Parts {
    durable(Persistence::at_controller(order, 4))
}

/// A memory and the chip that protects it.
struct Powered {
    scheme: Scheme,
    functional: Functional,
}

impl Powered {
    fn on(order: Order) -> Powered {
        Powered::aged(order, StartingAge::New)
    }

    fn aged(order: Order, age: StartingAge) -> Powered {
        Powered::of(&parts(order), age)
    }

    fn of(parts: &Parts, age: StartingAge) -> Powered {
        let scheme = parts.build_aged(LINES, 1, age, PlantedBug::NONE).unwrap();
        let functional = Functional::new(scheme.layout().total_lines());
        Powered { scheme, functional }
    }

    fn write(&self, line: u64, content: u8) {
        run_now(self.scheme.write(&self.functional.verbs(), LineAddr(line), &[content; 64]));
        assert_eq!(self.functional.take_fault(), None);
    }

    fn read(&self, line: u64) -> Result<Line, Fault> {
        run_now(self.scheme.read(&self.functional.verbs(), LineAddr(line)));
        self.functional.take_fault().map_or_else(|| Ok(self.functional.take_released().unwrap().1.bytes), Err)
    }

    fn image(&self) -> Vec<(Slot, Untrusted)> {
        let media = self.functional.media.borrow();
        media.written_slots().map(|(slot, _)| (slot, media.read(slot))).collect()
    }

    /// Returns a new chip with the same keys over this memory, and the fault that recovery with these registers
    /// reports.
    fn again(order: Order, image: &[(Slot, Untrusted)], registers: &Registers) -> (Powered, Option<Fault>) {
        Powered::on(order).over(image, registers)
    }

    /// Recovers this new chip over this memory.
    fn over(self, image: &[(Slot, Untrusted)], registers: &Registers) -> (Powered, Option<Fault>) {
        image.iter().for_each(|(slot, content)| self.functional.media.borrow_mut().store(*slot, *content));
        run_now(self.scheme.recover(&self.functional.verbs(), registers));
        let fault = self.functional.take_fault();
        (self, fault)
    }
}

#[test]
fn every_line_survives_a_loss_of_power_after_a_counter_overflow() {
    for order in ORDERS {
        let before = Powered::on(order);
        let lines = [3, 4, 63, 64, 900];
        lines.iter().for_each(|line| before.write(*line, *line as u8));
        (0..OVERFLOWS).for_each(|content| before.write(5, content));
        let (after, fault) = Powered::again(order, &before.image(), &before.functional.registers());
        assert_eq!(fault, None, "{order:?}");
        assert_eq!(after.read(5), Ok([OVERFLOWS - 1; 64]), "{order:?}");
        lines.iter().for_each(|line| assert_eq!(after.read(*line), Ok([*line as u8; 64]), "{order:?}"));
        after.write(3, 77);
        assert_eq!(after.read(3), Ok([77; 64]), "{order:?}");
    }
}

/// Features that tuples support: tags with their lines, metadata in the last-level cache, reads that L2s begin,
/// speculative release, and all of them.
const ALONG: [Change; 6] = [
    |parts| parts.mac.place = TagLocation::Ecc,
    |parts| parts.mac.place = TagLocation::Inline,
    |parts| (parts.caches.counters_in_llc, parts.caches.nodes_in_llc) = (true, true),
    |parts| (parts.caches.counters_in_llc, parts.caches.counters_in_l2) = (true, Some(Bytes(256))),
    |parts| parts.release = Release::Speculative,
    |parts| {
        (parts.mac.place, parts.release) = (TagLocation::Ecc, Release::Speculative);
        (parts.caches.counters_in_llc, parts.caches.counters_in_l2) = (true, Some(Bytes(256)));
    },
];

#[test]
fn every_tuple_design_survives_a_loss_after_counter_overflows_and_evictions() {
    for (order, along) in ORDERS.into_iter().flat_map(|order| ALONG.map(|along| (order, along))) {
        let mut parts = parts(order);
        along(&mut parts);
        let before = Powered::of(&parts, StartingAge::New);
        let lines: Vec<u64> = (0..14).map(|group| group * 67 + 3).collect();
        for round in 1..3 {
            lines.iter().for_each(|line| before.write(*line, *line as u8 ^ round));
            lines.iter().for_each(|line| assert_eq!(before.read(*line), Ok([*line as u8 ^ round; 64]), "{parts:?}"));
            (0..OVERFLOWS).for_each(|content| before.write(5, content ^ round));
        }
        let registers = before.functional.registers();
        let (after, fault) = Powered::of(&parts, StartingAge::New).over(&before.image(), &registers);
        assert_eq!(fault, None, "{parts:?}");
        assert_eq!(after.read(5), Ok([(OVERFLOWS - 1) ^ 2; 64]), "{parts:?}");
        lines.iter().for_each(|line| assert_eq!(after.read(*line), Ok([*line as u8 ^ 2; 64]), "{parts:?}"));
        lines.iter().for_each(|line| after.write(*line, 77));
        assert_eq!(
            Powered::of(&parts, StartingAge::New).over(&before.image(), &after.functional.registers()).1,
            Some(Fault::Root)
        );
    }
}

#[test]
fn written_and_unwritten_aged_counters_survive_a_loss_of_power() {
    const STARTED_WITH: LineAddr = LineAddr(300);
    for order in ORDERS {
        let fresh = || Powered::aged(order, StartingAge::Steady);
        let mut before = fresh();
        before.functional = Functional::booting(before.scheme.layout().total_lines(), 9);
        let content = before.functional.start_up_content(STARTED_WITH).unwrap();
        // The read puts the line into memory, under counters that no write changes.
        assert_eq!(before.read(STARTED_WITH.0), Ok(content), "{order:?}");
        let lines = [3, 4, 63, 64, 900];
        lines.iter().for_each(|line| before.write(*line, *line as u8));
        (0..OVERFLOWS).for_each(|content| before.write(5, content));
        let (image, registers) = (before.image(), before.functional.registers());
        let (after, fault) = fresh().over(&image, &registers);
        assert_eq!((fault, after.read(STARTED_WITH.0)), (None, Ok(content)), "{order:?}");
        lines.iter().for_each(|line| assert_eq!(after.read(*line), Ok([*line as u8; 64]), "{order:?}"));
        assert_eq!(after.read(5), Ok([OVERFLOWS - 1; 64]), "{order:?}");
        // A chip without the initial counters has other counters for lines that were never written.
        let (new, _) = Powered::again(order, &image, &registers);
        assert_eq!(new.read(STARTED_WITH.0), Err(Fault::Tag(STARTED_WITH)), "{order:?}");
        assert_eq!(fresh().over(&[], &registers).1, Some(Fault::Root), "wiped, {order:?}");
    }
}

#[test]
fn recovery_refuses_memory_wiped_rolled_back_or_filled_while_power_was_off() {
    for order in ORDERS {
        let before = Powered::on(order);
        before.write(5, 1);
        let old = before.image();
        before.write(5, 2);
        let registers = before.functional.registers();
        assert_eq!(Powered::again(order, &before.image(), &registers).1, None);
        assert_eq!(Powered::again(order, &[], &registers).1, Some(Fault::Root), "wiped, {order:?}");
        assert_eq!(Powered::again(order, &old, &registers).1, Some(Fault::Root), "rolled back, {order:?}");
        let never_set = Registers::default();
        assert_eq!(Powered::again(order, &[], &never_set).1, None, "nothing was ever written, {order:?}");
        assert_eq!(Powered::again(order, &old, &never_set).1, Some(Fault::Root), "filled, {order:?}");
    }
}

/// Power fails when the tuple with the new counters is complete. The tuple holds the written line under its new
/// version. So the old line is a replay, though the register knows the old counters.
#[test]
fn after_a_loss_in_a_renewal_the_old_data_of_the_written_line_is_refused() {
    for order in ORDERS {
        let before = Powered::on(order);
        [3, 4].iter().for_each(|line| before.write(*line, *line as u8));
        (0..OVERFLOWS - 2).for_each(|content| before.write(5, content));
        let (old, registers) = (before.image(), before.functional.registers());
        let recorded = RecordedMemory::new(before.functional);
        run_now(before.scheme.write(&recorded.verbs(), LineAddr(5), &[200; 64]));
        let renewing = |operation: &Operation| matches!(operation, Operation::Complete(set) if matches!(set.renewal, Renewing::Begins(_)));
        let operations = recorded.take_operations();
        let first = operations.iter().position(renewing).unwrap();
        let mut domain = PersistenceDomain::new(
            WritePendingQueue::Inside,
            Media::new(before.scheme.layout().total_lines()),
            registers,
        );
        old.iter().for_each(|(slot, content)| domain.store(*slot, *content));
        for operation in &operations[..=first] {
            match operation {
                Operation::Persist(_, slot, content) => domain.persist(*slot, *content),
                Operation::Complete(registers) => domain.complete(registers),
                _ => {}
            }
        }
        let (mut media, registers) = domain.lose_power();
        assert_eq!(registers.renewal.as_ref().map(|renewal| renewal.written.clone()), Some([LineAddr(5)].into()));
        let of_line_5 = [Some(Slot(5)), before.scheme.fixed().unwrap().tag_slot(LineAddr(5))];
        old.iter()
            .filter(|(slot, _)| of_line_5.contains(&Some(*slot)))
            .for_each(|(slot, content)| media.store(*slot, *content));
        let image: Vec<(Slot, Untrusted)> = media.written_slots().map(|(slot, _)| (slot, media.read(slot))).collect();
        let after = Powered::on(order);
        image.iter().for_each(|(slot, content)| after.functional.media.borrow_mut().store(*slot, *content));
        after.functional.carry(recorded.memory().ledger().clone());
        run_now(after.scheme.recover(&after.functional.verbs(), &registers));
        after.functional.take_fault();
        assert_eq!(after.read(5), Err(Fault::Tag(LineAddr(5))), "{order:?}");
        assert_eq!(after.functional.ledger().reuse(), None, "{order:?}");
    }
}

/// A blank root would vouch for a blank memory, in which counters start at zero again.
#[test]
fn a_chip_with_failed_recovery_writes_no_line() {
    for order in ORDERS {
        let before = Powered::on(order);
        before.write(5, 1);
        let (after, fault) = Powered::again(order, &[], &before.functional.registers());
        assert_eq!(fault, Some(Fault::Root), "{order:?}");
        run_now(after.scheme.write(&after.functional.verbs(), LineAddr(5), &[2; 64]));
        assert_eq!(after.functional.take_fault(), Some(Fault::Root), "{order:?}");
        assert_eq!(after.read(5), Err(Fault::Root), "{order:?}");
        assert_eq!(after.functional.ledger().pads(), 0, "{order:?}");
    }
}

#[test]
fn parts_that_are_incompatible_with_persist_tuples_are_refused_with_a_remedy() {
    let changes: [(Change, &str); 8] = [
        (|parts| parts.tree = TreeKind::None.into(), "tree.kind = \"bonsai\""),
        (
            |parts| {
                parts.counters = CounterChoice::Mono56;
                parts.tree = TreeKind::Counters.into();
                parts.tree.levels = vec![CounterChoice::Mono56];
            },
            "tree.kind = \"bonsai\"",
        ),
        (|parts| parts.counters = CounterChoice::PageRecord, "counters = \"sc64\""),
        (|parts| parts.ownership = Ownership::Pages, "leave ownership out"),
        (|parts| parts.mac.lines = 2, "leave mac.lines out"),
        (
            |parts| parts.mac = MacDesign { code: MacChoice::Cmac, ..MacDesign::default() },
            "mac.covers = [\"address\", \"counter\"]",
        ),
        (|parts| parts.persistence.lines = 0, "expected 1 to 10"),
        (|parts| parts.persistence.lines = 11, "expected 1 to 10"),
    ];
    for (change, remedy) in changes {
        let mut parts = parts(Order::Coalesced);
        assert_eq!(parts.check(), Ok(()));
        change(&mut parts);
        let refusal = parts.check().unwrap_err();
        assert!(refusal.contains(remedy), "{refusal}");
    }
}

/// A memory with a group that is about to overflow, several of its lines, and a line of another group.
fn before_an_overflow(order: Order) -> Powered {
    let before = Powered::on(order);
    [3, 4, 20, 40, 900].iter().for_each(|line| before.write(*line, *line as u8));
    (0..OVERFLOWS - 2).for_each(|content| before.write(5, content));
    before
}

/// Checks that all lines except the written one read as before the loss of power.
fn all_come_back(order: Order, image: &[(Slot, Untrusted)], registers: &Registers) {
    let (again, fault) = Powered::again(order, image, registers);
    assert_eq!(fault, None, "{order:?}");
    for line in [3, 4, 20, 40, 900] {
        assert_eq!(again.read(line), Ok([line as u8; 64]), "{order:?}");
    }
}

#[test]
fn an_aborted_counter_renewal_halts_the_chip_and_is_completed_after_a_reboot() {
    for order in ORDERS {
        let Powered { scheme, functional } = before_an_overflow(order);
        let good = functional.media.borrow().read(Slot(4));
        functional.media.borrow_mut().write(Slot(4), &[7; 64]);
        run_now(scheme.write(&functional.verbs(), LineAddr(5), &[200; 64]));
        assert_eq!(functional.take_fault(), Some(Fault::Tag(LineAddr(4))), "{order:?}");
        functional.media.borrow_mut().store(Slot(4), good);
        run_now(scheme.write(&functional.verbs(), LineAddr(900), &[1; 64]));
        assert_eq!(functional.take_fault(), Some(Fault::Halted(LineAddr(900))), "{order:?}");
        let after = Powered { scheme, functional };
        assert_eq!(after.read(900), Ok([900u64 as u8; 64]), "a write that was refused moves no counter, {order:?}");
        all_come_back(order, &after.image(), &after.functional.registers());
    }
}

#[test]
fn a_counter_renewal_that_recovery_cannot_complete_remains_registered() {
    for order in ORDERS {
        let before = before_an_overflow(order);
        let good = before.functional.media.borrow().read(Slot(4));
        before.functional.media.borrow_mut().write(Slot(4), &[7; 64]);
        run_now(before.scheme.write(&before.functional.verbs(), LineAddr(5), &[200; 64]));
        let registers = before.functional.registers();
        assert!(registers.renewal.is_some(), "the scene is not set");
        // Power fails, and recovery finds the tampered line as well. Then the attacker restores the line.
        let (after, fault) = Powered::again(order, &before.image(), &registers);
        assert_eq!(fault, Some(Fault::Tag(LineAddr(4))), "{order:?}");
        run_now(after.scheme.write(&after.functional.verbs(), LineAddr(900), &[1; 64]));
        assert_eq!(after.functional.take_fault(), Some(Fault::Halted(LineAddr(900))), "{order:?}");
        after.functional.media.borrow_mut().store(Slot(4), good);
        all_come_back(order, &after.image(), &registers);
    }
}
