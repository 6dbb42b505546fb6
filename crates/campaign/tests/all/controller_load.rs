//! Load of the controller that an L2 sees when it accepts a read: the recent waits of reads of data for memory.

use crate::common::{DATA_LINES, Machine};
use protection::execution::{CipherEngine, Patience, Receiver, Timed};
use protection::slot::{Role, Slot};
use protection::verbs::{EngineVerbs, Fault, MemoryVerbs, Plaintext, Wanted};
use std::cell::Cell;
use std::rc::Rc;
use units::{Duration, Line, LineAddr, ZERO_LINE};

/// A core that expects no answers.
struct Core;

impl Receiver for Core {
    fn released(&self, _: LineAddr, _: &Plaintext) {}

    fn fault(&self, fault: Fault) {
        panic!("{fault:?}");
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        ZERO_LINE
    }
}

/// Reads at once, so that most of them wait for memory.
const READS: u64 = 64;

/// Returns true if an L2 accepts a second read after many reads of this role waited for memory.
fn accepts_after_reads_of(role: Role) -> bool {
    let parts = catalogue::design("emcc").unwrap().parts;
    let machine = Machine::in_beats(parts.build(DATA_LINES, 1).unwrap(), Core);
    let Machine { memory, executor, .. } = machine;
    // A read of five blocks occupies the L2's unit for 75 ns. An L2 without load accepts a second read.
    let engine = CipherEngine { units: 1, latency_ns: 14.0, decrypt_latency_ns: None, interval_ns: 15.0 };
    let limit = Duration::from_ns(80);
    let patience = Patience { unpredicted: limit, predicted: limit, sees_controller: true };
    let memory = Rc::new(Rc::into_inner(memory).unwrap().with_private_aes(&engine, 1, patience));
    let done = Rc::new(Cell::new(0));
    for number in 0..READS {
        let (verbs, done) = (Timed::new(&memory), done.clone());
        executor.clock().spawn(async move {
            verbs.fetch(Slot(number), role, Wanted::LINE).await;
            done.set(done.get() + 1);
        });
    }
    let mut executor = executor;
    assert!(executor.run_until(|| done.get() == READS));
    let verbs = Timed::new(&memory);
    let take_on = || verbs.take_on(0, LineAddr(1), 5, false);
    assert!(take_on(), "the unit is idle");
    take_on()
}

#[test]
fn only_waits_of_reads_of_data_shorten_the_wait_that_an_l2_accepts() {
    assert!(!accepts_after_reads_of(Role::Data));
    for role in [Role::Counter, Role::Tag, Role::Node(1)] {
        assert!(accepts_after_reads_of(role), "{role:?}");
    }
}
