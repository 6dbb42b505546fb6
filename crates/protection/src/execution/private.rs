//! The AES units of one L2, and their reserved time.
//!
//! An L2 accepts or refuses a read at its miss, before it knows the counter and before the computation of a pad may
//! begin. So it records the time at which its units will have finished all accepted blocks.

use crate::execution::CipherEngine;
use crate::execution::engines::CipherUnits;
use std::cell::Cell;
use units::{Duration, Time};

/// Longest time that a read may wait for the AES units of its L2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// Limit for a read that the L2 has not predicted to go to memory.
    pub unpredicted: Duration,
    /// Limit for a read that the L2 has predicted to go to memory.
    pub predicted: Duration,
    /// True if L2s see the load of the controller: the limit falls by the wait for memory, during which the controller
    /// computes pads as well, and rises by the wait for the controller's AES units.
    pub sees_controller: bool,
}

/// Recent waits of reads at the controller.
#[derive(Default)]
pub(super) struct ControllerLoad {
    /// Mean wait of reads of data for memory, over the last eight or so.
    memory: Cell<Duration>,
}

impl ControllerLoad {
    /// Notes that a read waited this long for other requests to memory.
    pub fn waited_for_memory(&self, waited: Duration) {
        self.memory.set(Duration::from_fs((self.memory.get().as_fs() * 7 + waited.as_fs()) / 8));
    }

    /// Returns the limit under this load, given the limit without load and the wait for the controller's AES units.
    fn limit(&self, idle: Duration, for_aes: Duration) -> Duration {
        Duration::from_fs(idle.as_fs().saturating_sub(self.memory.get().as_fs())) + for_aes
    }
}

/// The AES units of one L2.
pub(super) struct PrivateAes {
    pub units: CipherUnits,
    /// Interval between two blocks, over all units together.
    share: Duration,
    patience: Patience,
    promised: Cell<Time>,
}

impl PrivateAes {
    pub fn new(engine: &CipherEngine, patience: Patience) -> PrivateAes {
        let share = Duration::from_ns_f64(engine.interval_ns / engine.units as f64);
        PrivateAes { units: engine.build(), share, patience, promised: Cell::new(Time::ZERO) }
    }

    /// Accepts blocks that may begin at `wanted`, unless they would wait too long for previously accepted blocks.
    /// Returns whether the L2 accepts them. `for_aes` returns the present wait for the controller's AES units.
    pub fn take_on(
        &self,
        wanted: Time,
        (blocks, predicted): (u32, bool),
        load: &ControllerLoad,
        for_aes: impl FnOnce() -> Duration,
    ) -> bool {
        let start = self.promised.get().max(wanted);
        let Patience { unpredicted, predicted: of_predicted, sees_controller } = self.patience;
        let idle = if predicted { of_predicted } else { unpredicted };
        let accepted = start.since(wanted) <= if sees_controller { load.limit(idle, for_aes()) } else { idle };
        if accepted {
            self.promised.set(start + self.share * u64::from(blocks));
        }
        accepted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_l2_leaves_a_read_to_the_controller_if_its_aes_units_are_busy_too_long() {
        // Five units, one block each in 15 ns: five blocks take all of them for 15 ns.
        let engine = CipherEngine { units: 5, latency_ns: 14.0, decrypt_latency_ns: None, interval_ns: 15.0 };
        let patience =
            Patience { unpredicted: Duration::from_ns(6), predicted: Duration::from_ns(22), sees_controller: false };
        let aes = PrivateAes::new(&engine, patience);
        let wanted = |ns| Time::ZERO + Duration::from_ns(ns);
        let load = ControllerLoad::default();
        load.waited_for_memory(Duration::from_ns(800));
        let take_on = |wanted, predicted| aes.take_on(wanted, (5, predicted), &load, || Duration::from_ns(100));
        assert!(take_on(wanted(20), false));
        assert!(!take_on(wanted(28), false), "free at 35, 7 ns later");
        assert!(take_on(wanted(29), false), "6 ns later; what was refused is not counted");
        assert!(!take_on(wanted(43), false), "free at 50");
        assert!(!take_on(wanted(27), true), "23 ns later");
        assert!(take_on(wanted(28), true), "a predicted read saves more, and waits longer");
        assert!(!take_on(wanted(58), false), "free at 65");
    }

    #[test]
    fn an_l2_that_sees_the_controller_waits_longer_for_busy_units_there_and_less_if_memory_is_late() {
        let engine = CipherEngine { units: 5, latency_ns: 14.0, decrypt_latency_ns: None, interval_ns: 15.0 };
        let ns = Duration::from_ns;
        let patience = Patience { unpredicted: ns(6), predicted: ns(6), sees_controller: true };
        // The units are busy for 15 ns, and the read of memory waited `memory` ns on average.
        let accepts = |memory: u64, for_aes: u64| {
            let (aes, load) = (PrivateAes::new(&engine, patience), ControllerLoad::default());
            load.waited_for_memory(ns(8 * memory));
            assert!(aes.take_on(Time::ZERO, (5, false), &load, || ns(0)));
            aes.take_on(Time::ZERO, (5, false), &load, || ns(for_aes))
        };
        assert!(!accepts(0, 8), "15 ns at the L2, 6 ns slower at the idle controller and 8 ns for its units");
        assert!(accepts(0, 9));
        assert!(!accepts(2, 10), "2 ns of the pad at the controller are hidden behind memory");
        assert!(accepts(2, 11));
        assert!(!accepts(50, 14) && accepts(50, 15), "the whole pad is hidden");
    }
}
