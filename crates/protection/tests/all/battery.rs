//! Tampering while the battery works: recovery reports every durable store that is lost.

use crate::buffered::{OVERFLOWS, Powered, schemes};
use crate::durable::durable;
use casemate_protection::design::{Order, Persistence};
use casemate_protection::execution::run_now;
use casemate_protection::planted::PlantedBug;
use casemate_protection::scheme::PersistBufferHandle;
use casemate_protection::verbs::{Fault, Slot};
use units::{Line, LineAddr};

/// Lines of two pages, with separate counter lines.
const TAMPERED: u64 = 5;
const OTHER: u64 = 900;

fn drain_on_battery(machine: &Powered) -> Option<Fault> {
    run_now(PersistBufferHandle::of(&machine.scheme).drain_on_battery(&machine.recorded.verbs()));
    machine.memory().take_fault()
}

/// Forges the counters of a line in memory, and accepts stores to this line and to another one. Returns the machine and
/// a function that restores the counters.
fn with_a_tampered_counter(order: Order, planted: PlantedBug) -> (Powered, impl Fn(&Powered)) {
    let machine = Powered::with(&durable(Persistence::in_buffer(order, 0)), planted);
    for line in [TAMPERED, OTHER] {
        machine.accept(line, 1);
        machine.drain(line);
    }
    run_now(machine.scheme.flush(&machine.recorded.verbs()));
    let counters = machine.fixed().counter_slot(LineAddr(TAMPERED)).unwrap();
    let honest = machine.memory().media.borrow().read(counters);
    machine.memory().media.borrow_mut().write(counters, &[0x5a; 64]);
    [TAMPERED, OTHER].iter().for_each(|line| machine.accept(*line, 2));
    (machine, move |machine| machine.memory().media.borrow_mut().store(counters, honest))
}

#[test]
fn a_tampered_line_blocks_no_other_entry_of_a_battery_drain_and_is_reported_as_lost() {
    for order in [Order::Strict, Order::Pipelined] {
        let (machine, put_back) = with_a_tampered_counter(order, PlantedBug::NONE);
        assert!(matches!(drain_on_battery(&machine), Some(Fault::Tree(_))), "{order:?}");
        put_back(&machine);
        let (after, fault) = machine.revived(&machine.image(), &machine.memory().registers());
        let lost = Fault::Lost(LineAddr(TAMPERED));
        assert_eq!((fault, after.read(TAMPERED), after.read(OTHER)), (Some(lost), Err(lost), Ok([2; 64])), "{order:?}");
    }
}

#[test]
fn a_line_lost_in_a_battery_drain_is_refused_after_further_losses_until_rewritten() {
    for order in [Order::Strict, Order::Pipelined] {
        let (machine, put_back) = with_a_tampered_counter(order, PlantedBug::NONE);
        drain_on_battery(&machine);
        put_back(&machine);
        let lost = Fault::Lost(LineAddr(TAMPERED));
        let (after, _) = machine.revived(&machine.image(), &machine.memory().registers());
        assert_eq!(drain_on_battery(&after), None);
        let (after, fault) = after.revived(&after.image(), &after.memory().registers());
        assert_eq!((fault, after.read(TAMPERED)), (Some(lost), Err(lost)), "another loss changes nothing, {order:?}");
        after.accept(TAMPERED, 3);
        assert_eq!(after.read(TAMPERED), Ok([3; 64]), "it is in the buffer");
        after.drain(TAMPERED);
        assert_eq!(after.read(TAMPERED), Ok([3; 64]));
        let (after, fault) = after.after_a_loss();
        assert_eq!((fault, after.read(TAMPERED), after.read(OTHER)), (None, Ok([3; 64]), Ok([2; 64])), "{order:?}");
        assert_eq!(after.memory().ledger().reuse(), None);
    }
}

/// Two losses with one tampered line each; the two lines have separate counters. Returns the reads of both lines in the
/// third session.
fn read_after_two_tampered_drains(order: Order, planted: PlantedBug) -> [Result<Line, Fault>; 2] {
    let (machine, put_back) = with_a_tampered_counter(order, planted);
    drain_on_battery(&machine);
    put_back(&machine);
    let (second, _) = machine.revived(&machine.image(), &machine.memory().registers());
    let counters = second.fixed().counter_slot(LineAddr(OTHER)).unwrap();
    let honest = second.memory().media.borrow().read(counters);
    second.memory().media.borrow_mut().write(counters, &[0x5a; 64]);
    second.accept(OTHER, 3);
    assert!(matches!(drain_on_battery(&second), Some(Fault::Tree(_))), "{order:?}");
    second.memory().media.borrow_mut().store(counters, honest);
    let (third, fault) = second.revived(&second.image(), &second.memory().registers());
    assert!(matches!(fault, Some(Fault::Lost(_))), "{order:?}");
    [TAMPERED, OTHER].map(|line| third.read(line))
}

#[test]
fn the_lines_of_an_earlier_loss_stay_refused_after_a_second_tampered_drain() {
    for order in [Order::Strict, Order::Pipelined] {
        let lost = [TAMPERED, OTHER].map(|line| Err(Fault::Lost(LineAddr(line))));
        assert_eq!(read_after_two_tampered_drains(order, PlantedBug::NONE), lost, "{order:?}");
    }
}

/// The chip accepts the store from before the first loss, which is stale.
#[cfg(feature = "planted-bugs")]
#[test]
fn a_second_loss_that_forgets_the_first_lets_a_stale_line_pass() {
    use casemate_protection::planted::SessionBug;
    let planted = PlantedBug::new(SessionBug::LossForgetsEarlier.into());
    for order in [Order::Strict, Order::Pipelined] {
        let found = read_after_two_tampered_drains(order, planted);
        assert_eq!(found, [Ok([1; 64]), Err(Fault::Lost(LineAddr(OTHER)))], "{order:?}");
    }
}

/// A garbled line in a group under renewal halts the chip while the buffer holds lines of other groups.
#[test]
fn the_battery_of_a_chip_halted_by_a_fault_drains_the_lines_that_verify() {
    for parts in schemes() {
        let machine = Powered::on(&parts);
        for line in [3, 4, OTHER] {
            machine.accept(line, line as u8);
            machine.drain(line);
        }
        for content in 0..OVERFLOWS - 2 {
            machine.accept(TAMPERED, content);
            machine.drain(TAMPERED);
        }
        let good = machine.memory().media.borrow().read(Slot(4));
        machine.memory().media.borrow_mut().write(Slot(4), &[7; 64]);
        machine.accept(OTHER, 77);
        let buffer = PersistBufferHandle::of(&machine.scheme);
        run_now(buffer.accept(&machine.recorded.verbs(), LineAddr(TAMPERED), &[200; 64]));
        let at_once = machine.memory().take_fault();
        run_now(buffer.drain(&machine.recorded.verbs(), LineAddr(TAMPERED)));
        let fault = at_once.or(machine.memory().take_fault());
        assert_eq!(fault, Some(Fault::Tag(LineAddr(4))), "{:?}", parts.persistence);
        machine.memory().take_fault();
        assert!(machine.fixed().on_chip(|chip| chip.power.halted), "the scene is not set, {:?}", parts.persistence);
        assert_eq!(drain_on_battery(&machine), None, "{:?}", parts.persistence);
        machine.memory().media.borrow_mut().store(Slot(4), good);
        let (after, fault) = machine.revived(&machine.image(), &machine.memory().registers());
        assert_eq!(fault, None, "{:?}", parts.persistence);
        for (line, content) in [(3, 3), (4, 4), (TAMPERED, 200), (OTHER, 77)] {
            assert_eq!(after.read(line), Ok([content; 64]), "line {line}, {:?}", parts.persistence);
        }
        assert_eq!(after.memory().ledger().reuse(), None);
    }
}
