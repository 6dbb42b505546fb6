//! The chip by itself, in states that no run should bring it to.

use super::*;

#[test]
fn a_line_that_no_l2_has_decrypted_any_more_is_asked_of_memory_and_counted() {
    const LINE: LineAddr = LineAddr(3);
    let mut machine = catalogue::machine("emcc-4core").unwrap();
    machine.llc.inclusion = Inclusion::Inclusive;
    let executor = sim::Executor::new();
    let shadow = Rc::new(RefCell::new(Shadow::new(machine.memory.size.0 / units::LINE_BYTES as u64)));
    let chip = Chip::new(executor.clock(), &machine, shadow);
    chip.llc.borrow_mut().fetched_unverified(LINE);
    assert!(!chip.look_up(LINE));
    chip.pass_by(LINE);
    assert!(chip.look_up(LINE), "memory gave it again, and the controller decrypted it");
    let LlcCounters { hits, misses, stranded, .. } = chip.counters();
    assert_eq!((hits, misses, stranded), (1, 1, 1));
}
