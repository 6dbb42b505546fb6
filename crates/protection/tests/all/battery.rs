//! A battery that finds an entry which it cannot drain: it goes on with the others.

use crate::buffered::Powered;
use crate::durable::durable;
use casemate_protection::design::{Order, Persistence};
use casemate_protection::execution::run_now;
use casemate_protection::scheme::PersistBuffer;
use casemate_protection::verbs::Fault;
use units::LineAddr;

/// Lines of two pages: each has a line of counters of its own.
const TAMPERED: u64 = 5;
const OTHER: u64 = 900;

#[test]
fn an_entry_whose_counter_was_tampered_with_keeps_no_later_entry_from_memory() {
    for order in [Order::Strict, Order::Pipelined] {
        let machine = Powered::on(&durable(Persistence::in_buffer(order, 0)));
        for line in [TAMPERED, OTHER] {
            machine.accept(line, 1);
            machine.drain(line);
        }
        run_now(machine.scheme.flush(&machine.verbs));
        let counters = machine.scheme.counter_slot(LineAddr(TAMPERED)).unwrap();
        let honest = machine.memory().media.borrow().read(counters);
        machine.memory().media.borrow_mut().write(counters, &[0x5a; 64]);
        [TAMPERED, OTHER].iter().for_each(|line| machine.accept(*line, 2));
        run_now(PersistBuffer::of(&machine.scheme).drain_on_battery(&machine.verbs));
        assert!(matches!(machine.memory().take_fault(), Some(Fault::Tree(_))));
        // Apart from the line that was tampered with, memory comes back as if that had never been.
        machine.memory().media.borrow_mut().store(counters, honest);
        let (after, fault) = machine.revived(&machine.image(), &machine.memory().registers());
        assert_eq!((fault, after.read(OTHER), after.read(TAMPERED)), (None, Ok([2; 64]), Ok([1; 64])), "{order:?}");
    }
}
