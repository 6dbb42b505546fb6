//! Clock interrupts of the operating system, and the rules for them.

use super::Machine;
use serde::{Deserialize, Serialize};
use units::{Duration, Time};

/// Clock interrupts of the operating system. At each interrupt, an unrecorded process runs for a while. A design with
/// contexts of processes then empties the same on-chip structures as at any process switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockInterrupt {
    /// Microseconds from one interrupt to the next.
    pub every_us: u64,
    /// Cycles from an interrupt until the interrupted process continues, without the time of the switch: the cycles of
    /// the handler and of the unrecorded process.
    pub away_cycles: u64,
}

impl ClockInterrupt {
    /// One second: the longest accepted interval.
    const EVERY_US_MAX: u64 = 1_000_000;

    pub(super) fn check(self, machine: &Machine) -> Result<(), String> {
        let ClockInterrupt { every_us: every, away_cycles: away } = self;
        let most = ClockInterrupt::EVERY_US_MAX;
        if !(1..=most).contains(&every) {
            return Err(format!(
                "clock_interrupt.every_us is {every}: expected 1 to {most} microseconds, or no [clock_interrupt]"
            ));
        }
        let cycles = machine.node.clock_mhz.clock().cycle_at_or_after(Time::ZERO + Duration::from_ns(1_000 * every)).0;
        if away >= cycles {
            return Err(format!(
                "clock_interrupt.away_cycles is {away}, and an interrupt arrives every {cycles} cycles: expected fewer \
                 cycles, or a higher clock_interrupt.every_us"
            ));
        }
        if machine.cores > 1 {
            return Err(format!("clock_interrupt: expected one core, and cores is {}", machine.cores));
        }
        Ok(())
    }
}
