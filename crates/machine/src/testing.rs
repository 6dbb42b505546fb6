//! Helpers for tests of channels and of whole memories.

use sim::Executor;
use std::cell::RefCell;
use std::rc::Rc;
use units::LineAddr;

/// Returns the answer times of concurrent reads of these lines, in memory clocks of DDR4-3200.
pub fn clocks_of_reads<F: Future + 'static>(
    executor: &mut Executor,
    lines: Vec<u64>,
    read: impl Fn(LineAddr) -> F,
) -> Vec<u64> {
    let done = Rc::new(RefCell::new(vec![0; lines.len()]));
    for (index, line) in lines.into_iter().enumerate() {
        let (reading, done, clock) = (read(LineAddr(line)), done.clone(), executor.clock().clone());
        executor.clock().spawn(async move {
            reading.await;
            done.borrow_mut()[index] = clock.now().as_fs() / 625_000;
        });
    }
    executor.run();
    done.take()
}
