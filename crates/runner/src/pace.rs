//! Limits the difference in progress between designs that run separate executions of the same programs.
//!
//! The simulation of one design is faster than that of another. Without a limit, a user who ends the run would have to
//! wait until the slowest design reaches the position of the fastest. So a design waits if it is too far ahead of the
//! slowest design. The slowest design never waits, so all designs finish.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval at which a waiting design checks whether the run is over.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Progress of each design.
pub struct Pace {
    /// Instructions of each design; a finished design counts as furthest ahead, and does not wait.
    done: Mutex<Vec<u64>>,
    moved: Condvar,
    lead: u64,
}

impl Pace {
    /// A pace for `designs` designs, each at most `lead` instructions ahead of the slowest.
    pub fn new(designs: usize, lead: u64) -> Pace {
        Pace { done: Mutex::new(vec![0; designs]), moved: Condvar::new(), lead }
    }

    fn done(&self) -> MutexGuard<'_, Vec<u64>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a design has run `instructions`, and waits until it may continue, or until `is_over`.
    pub fn arrived(&self, design: usize, instructions: u64, is_over: impl Fn() -> bool) {
        let mut done = self.done();
        done[design] = instructions;
        self.moved.notify_all();
        while exceeds_lead(&done, instructions, self.lead) && !is_over() {
            done = self.moved.wait_timeout(done, BETWEEN_LOOKS).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Notes that a design has finished, with or without a result.
    pub fn finished(&self, design: usize) {
        self.done()[design] = u64::MAX;
        self.moved.notify_all();
    }
}

fn exceeds_lead(done: &[u64], instructions: u64, lead: u64) -> bool {
    done.iter().min().is_some_and(|slowest| instructions.saturating_sub(*slowest) > lead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    #[test]
    fn a_parallel_run_waits_for_the_slowest_unfinished_design() {
        let pace = Pace::new(3, 10);
        pace.arrived(0, 10, || panic!("there is nothing to wait for"));
        pace.finished(2);
        pace.arrived(1, 5, || false);
        pace.arrived(0, 15, || panic!("the slowest is at 5, and 15 is not too far ahead"));
        let looked = AtomicBool::new(false);
        pace.arrived(0, 16, || looked.swap(true, Ordering::Relaxed));
        assert!(looked.into_inner(), "16 is too far ahead");
    }

    #[test]
    fn parallel_runs_of_designs_all_finish_within_the_allowed_distance() {
        let pace = Arc::new(Pace::new(2, 8));
        let slow_at = Arc::new(AtomicU64::new(0));
        let fast = std::thread::spawn({
            let (pace, slow_at) = (pace.clone(), slow_at.clone());
            move || {
                for step in (0..400).step_by(4) {
                    pace.arrived(0, step, || false);
                    assert!(step <= slow_at.load(Ordering::SeqCst) + 8);
                }
                pace.finished(0);
            }
        });
        for step in 0..400 {
            slow_at.store(step, Ordering::SeqCst);
            pace.arrived(1, step, || false);
        }
        pace.finished(1);
        fast.join().unwrap();
    }
}
