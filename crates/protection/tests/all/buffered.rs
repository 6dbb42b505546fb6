//! Stores in a persist buffer: they are durable as soon as the buffer accepts them, whichever steps of their tuples the
//! drain executes.

use crate::durable::durable;
use casemate_protection::design::{CipherChoice, Order, Parts, Persistence, Step, TreeKind};
use casemate_protection::domain::Registers;
use casemate_protection::execution::{Functional, Operation, RecordedMemory, Untimed, run_now};
use casemate_protection::planted::PlantedBug;
use casemate_protection::scheme::{FixedScheme, PersistBufferHandle, Scheme};
use casemate_protection::verbs::{Fault, Role, Slot, Untrusted};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use units::{Bytes, Line, LineAddr};

const LINES: u64 = 1 << 10;
/// One more write than a 7-bit counter has versions.
pub const OVERFLOWS: u8 = 129;

/// The six schemes of SecPB, from no early step to all steps early, each with two orders of tuples.
pub fn schemes() -> Vec<Parts> {
    let orders = [Order::Strict, Order::Pipelined];
    (0..=Step::CHAIN.len())
        .flat_map(|early| orders.map(|order| durable(Persistence::in_buffer(order, early))))
        .collect()
}

/// A machine that is switched on.
pub struct Powered {
    parts: Parts,
    planted: PlantedBug,
    pub scheme: Scheme,
    pub recorded: RecordedMemory,
}

impl Powered {
    pub fn on(parts: &Parts) -> Powered {
        Powered::with(parts, PlantedBug::NONE)
    }

    /// A machine with a planted bug.
    pub fn with(parts: &Parts, planted: PlantedBug) -> Powered {
        let scheme = parts.build_with(LINES, 1, planted).unwrap();
        let recorded = RecordedMemory::new(Functional::new(scheme.layout().total_lines()));
        Powered { parts: parts.clone(), planted, scheme, recorded }
    }

    /// The scheme, whose lines have fixed slots.
    pub fn fixed(&self) -> &FixedScheme {
        self.scheme.fixed().unwrap()
    }

    pub fn memory(&self) -> &Functional {
        self.recorded.memory()
    }

    fn fault(&self) -> Option<Fault> {
        self.memory().take_fault()
    }

    pub fn accept(&self, line: u64, content: u8) {
        run_now(PersistBufferHandle::of(&self.scheme).accept(&self.recorded.verbs(), LineAddr(line), &[content; 64]));
        assert_eq!(self.fault(), None, "{:?}", self.parts.persistence);
    }

    pub fn drain(&self, line: u64) {
        run_now(PersistBufferHandle::of(&self.scheme).drain(&self.recorded.verbs(), LineAddr(line)));
        assert_eq!(self.fault(), None, "{:?}", self.parts.persistence);
    }

    pub fn read(&self, line: u64) -> Result<Line, Fault> {
        run_now(self.scheme.read(&self.recorded.verbs(), LineAddr(line)));
        self.fault().map_or_else(|| Ok(self.memory().take_released().unwrap().1.bytes), Err)
    }

    pub fn image(&self) -> Vec<(Slot, Untrusted)> {
        let media = self.memory().media.borrow();
        media.written_slots().map(|(slot, _)| (slot, media.read(slot))).collect()
    }

    /// Drains on battery, and returns a new chip over the memory that is left, with the fault that recovery reports.
    pub fn after_a_loss(&self) -> (Powered, Option<Fault>) {
        run_now(PersistBufferHandle::of(&self.scheme).drain_on_battery(&self.recorded.verbs()));
        assert_eq!(self.fault(), None, "{:?}", self.parts.persistence);
        self.revived(&self.image(), &self.memory().registers())
    }

    pub fn revived(&self, image: &[(Slot, Untrusted)], registers: &Registers) -> (Powered, Option<Fault>) {
        let again = Powered::with(&self.parts, self.planted);
        image.iter().for_each(|(slot, content)| again.memory().media.borrow_mut().store(*slot, *content));
        again.memory().carry(self.memory().ledger().clone());
        again.memory().go_on_with(registers.clone());
        run_now(again.scheme.recover(&again.recorded.verbs(), registers));
        let fault = again.fault();
        (again, fault)
    }

    fn count(&self, is: impl Fn(&Operation) -> bool) -> usize {
        self.recorded.take_operations().iter().filter(|operation| is(operation)).count()
    }
}

#[test]
fn accepted_stores_are_read_from_the_persist_buffer_and_survive_a_loss() {
    for parts in schemes() {
        let before = Powered::on(&parts);
        for line in [3, 4, 900, 3] {
            before.accept(line, line as u8 ^ 1);
            before.accept(line, line as u8);
            assert_eq!(before.read(line), Ok([line as u8; 64]), "{:?}", parts.persistence);
        }
        assert_eq!(
            (PersistBufferHandle::of(&before.scheme).lines().len(), PersistBufferHandle::of(&before.scheme).accepted()),
            (3, 8)
        );
        let (after, fault) = before.after_a_loss();
        assert_eq!(fault, None, "{:?}", parts.persistence);
        for line in [3, 4, 900] {
            assert_eq!(after.read(line), Ok([line as u8; 64]), "{:?}", parts.persistence);
            after.accept(line, 77);
            after.drain(line);
            assert_eq!(after.read(line), Ok([77; 64]), "{:?}", parts.persistence);
        }
        assert_eq!(after.memory().ledger().reuse(), None, "{:?}", parts.persistence);
    }
}

#[test]
fn a_counter_advances_once_per_persist_buffer_residency_for_any_number_of_stores() {
    for parts in schemes() {
        let machine = Powered::on(&parts);
        let versions = |machine: &Powered| {
            machine.drain(5);
            let slot = machine.fixed().counter_slot(LineAddr(5)).unwrap();
            machine.memory().media.borrow().read(slot).examine()
        };
        let counted: Vec<Line> = [1, 7, 2]
            .map(|stores| {
                (0..stores).for_each(|store| machine.accept(5, store));
                versions(&machine)
            })
            .into();
        let often = Powered::on(&parts);
        let once: Vec<Line> = [1, 1, 1]
            .map(|store| {
                often.accept(5, store);
                versions(&often)
            })
            .into();
        assert_eq!(counted, once, "{:?}", parts.persistence);
        assert_eq!(machine.memory().ledger().reuse(), None);
    }
}

#[test]
fn early_steps_are_performed_by_the_store_and_late_steps_by_the_drain() {
    for parts in schemes() {
        let (machine, early) = (Powered::on(&parts), parts.persistence.early);
        machine.accept(3, 1);
        machine.drain(3);
        let of = |line: u64, drains: bool| {
            machine.recorded.take_operations();
            if drains {
                machine.drain(line)
            } else {
                machine.accept(line, 9)
            }
            let operations = machine.recorded.take_operations();
            let count = |is: &dyn Fn(&Operation) -> bool| operations.iter().filter(|done| is(done)).count();
            let pads = count(&|done| matches!(done, Operation::Pad(..)));
            let (hashes, macs) = (count(&|done| *done == Operation::Hash), count(&|done| *done == Operation::Mac));
            (pads > 0, hashes > 0, macs > 0)
        };
        let has = |step| early.has(step);
        assert_eq!(of(3, false), (has(Step::Pad), has(Step::Root), has(Step::Tag)), "first store, {early:?}");
        assert_eq!(of(3, false), (false, false, has(Step::Tag)), "second store, {early:?}");
        assert_eq!(of(3, true), (!has(Step::Pad), !has(Step::Root), !has(Step::Tag)), "drain, {early:?}");
        assert_eq!(machine.count(|_| true), 0);
    }
}

#[test]
fn an_overflow_re_encrypts_its_group_including_lines_in_the_persist_buffer() {
    for parts in schemes() {
        let machine = Powered::on(&parts);
        for line in [3, 4, 20, 900] {
            machine.accept(line, 1);
            machine.drain(line);
        }
        for turn in 0..2 {
            // Lines 3 and 20 are resident while the group of line 5 is re-encrypted.
            [3, 20].iter().for_each(|line| machine.accept(*line, 100 + turn));
            for content in 0..OVERFLOWS {
                machine.accept(5, content);
                machine.drain(5);
            }
            assert!(machine.scheme.counted().renewals.groups > 0, "the scene is not set");
            let expected = [(3, 100 + turn), (4, 1), (20, 100 + turn), (5, OVERFLOWS - 1), (900, 1)];
            expected
                .iter()
                .for_each(|(line, text)| assert_eq!(machine.read(*line), Ok([*text; 64]), "{:?}", parts.persistence));
        }
        let (after, fault) = machine.after_a_loss();
        assert_eq!(fault, None, "{:?}", parts.persistence);
        let expected = [(3, 101), (4, 1), (20, 101), (5, OVERFLOWS - 1), (900, 1)];
        expected
            .iter()
            .for_each(|(line, text)| assert_eq!(after.read(*line), Ok([*text; 64]), "{:?}", parts.persistence));
        assert_eq!(after.memory().ledger().reuse(), None, "{:?}", parts.persistence);
    }
}

#[test]
fn without_its_battery_an_early_root_update_makes_memory_unrecoverable() {
    for parts in schemes() {
        let machine = Powered::on(&parts);
        machine.accept(3, 1);
        machine.drain(3);
        machine.accept(3, 2);
        let (after, fault) = machine.revived(&machine.image(), &machine.memory().registers());
        if parts.persistence.early.has(Step::Root) {
            assert_eq!(fault, Some(Fault::Root), "{:?}", parts.persistence);
        } else {
            assert_eq!((fault, after.read(3)), (None, Ok([1; 64])), "{:?}", parts.persistence);
        }
    }
}

#[test]
fn a_store_in_the_persist_buffer_writes_no_data_line_to_memory_before_its_drain() {
    for parts in schemes() {
        let machine = Powered::on(&parts);
        (0..9).for_each(|line| machine.accept(line * 3, 1));
        let stored =
            |done: &Operation| matches!(done, Operation::Store(Role::Data, ..) | Operation::Persist(Role::Data, ..));
        assert_eq!(machine.count(stored), 0, "{:?}", parts.persistence);
        run_now(PersistBufferHandle::of(&machine.scheme).drain_on_battery(&machine.recorded.verbs()));
        assert_eq!(machine.count(stored), 9, "{:?}", parts.persistence);
    }
}

/// A change that makes a persist buffer impossible in a design.
type Change = fn(&mut Parts);

#[test]
fn a_persist_buffer_with_incompatible_parts_is_refused_with_a_remedy() {
    let changes: [(Change, &str); 8] = [
        (|parts| parts.tree = TreeKind::None.into(), "tree.kind = \"bonsai\""),
        (|parts| parts.persistence.order = Order::Coalesced, "order = \"strict\""),
        (|parts| parts.persistence.order = Order::None, "order = \"strict\""),
        (|parts| parts.cipher = CipherChoice::Aes128Xts, "cipher = \"aes128-counter\""),
        (|parts| parts.persistence.entries = 0, "expected 1 to 65536"),
        (|parts| parts.persistence.drain_to = parts.persistence.drain_from, "is not below drain_from"),
        (
            |parts| (parts.caches.counters_in_llc, parts.caches.counters_in_l2) = (true, Some(Bytes(256))),
            "leave it out",
        ),
        (
            |parts| parts.persistence = Persistence { entries: 8, ..Persistence::at_controller(Order::Strict, 8) },
            "persistence.point = \"buffer\"",
        ),
    ];
    for (change, remedy) in changes {
        let mut parts = durable(Persistence::in_buffer(Order::Strict, 2));
        assert_eq!(parts.check(), Ok(()));
        change(&mut parts);
        let refusal = parts.check().unwrap_err();
        assert!(refusal.contains(remedy), "{refusal}");
    }
}

/// A store that the chip accepted could never leave the buffer.
#[test]
fn a_persist_buffer_accepts_no_store_after_a_failed_recovery() {
    for parts in schemes() {
        let machine = Powered::on(&parts);
        machine.accept(5, 1);
        let (after, refused) = {
            run_now(PersistBufferHandle::of(&machine.scheme).drain_on_battery(&machine.recorded.verbs()));
            machine.revived(&[], &machine.memory().registers())
        };
        assert_eq!(refused, Some(Fault::Root), "{:?}", parts.persistence);
        run_now(PersistBufferHandle::of(&after.scheme).accept(&after.recorded.verbs(), LineAddr(5), &[2; 64]));
        assert_eq!(after.fault(), Some(Fault::Root), "{:?}", parts.persistence);
        assert!(PersistBufferHandle::of(&after.scheme).lines().is_empty(), "{:?}", parts.persistence);
        let registers = after.memory().registers();
        run_now(PersistBufferHandle::of(&after.scheme).drain_on_battery(&after.recorded.verbs()));
        assert_eq!((after.fault(), after.memory().registers()), (None, registers), "{:?}", parts.persistence);
    }
}

#[test]
fn a_twin_has_the_same_persist_buffer_and_drains_it_alone() {
    let state = |scheme: &Scheme| BuildHasherDefault::<DefaultHasher>::default().hash_one(scheme);
    let machine = Powered::on(&durable(Persistence::in_buffer(Order::Strict, 0)));
    let before = state(&machine.scheme);
    let buffer = PersistBufferHandle::of(&machine.scheme);
    run_now(buffer.accept(&machine.memory().verbs(), LineAddr(5), &[1; 64]));
    assert_ne!(state(&machine.scheme), before);
    let twin = machine.scheme.twin();
    assert_eq!((PersistBufferHandle::of(&twin).lines(), state(&twin)), (vec![LineAddr(5)], state(&machine.scheme)));
    run_now(PersistBufferHandle::of(&twin).drain(&machine.memory().verbs(), LineAddr(5)));
    assert_eq!((PersistBufferHandle::of(&twin).lines(), buffer.lines()), (vec![], vec![LineAddr(5)]));
}
