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
    /// Returns whether the L2 accepts them.
    pub fn take_on(&self, wanted: Time, blocks: u32, predicted: bool) -> bool {
        let start = self.promised.get().max(wanted);
        let Patience { unpredicted, predicted: of_predicted } = self.patience;
        let accepted = start.since(wanted) <= if predicted { of_predicted } else { unpredicted };
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
        let patience = Patience { unpredicted: Duration::from_ns(6), predicted: Duration::from_ns(22) };
        let aes = PrivateAes::new(&engine, patience);
        let wanted = |ns| Time::ZERO + Duration::from_ns(ns);
        assert!(aes.take_on(wanted(20), 5, false));
        assert!(!aes.take_on(wanted(28), 5, false), "free at 35, 7 ns later");
        assert!(aes.take_on(wanted(29), 5, false), "6 ns later; what was refused is not counted");
        assert!(!aes.take_on(wanted(43), 5, false), "free at 50");
        assert!(!aes.take_on(wanted(27), 5, true), "23 ns later");
        assert!(aes.take_on(wanted(28), 5, true), "a predicted read saves more, and waits longer");
        assert!(!aes.take_on(wanted(58), 5, false), "free at 65");
    }
}
