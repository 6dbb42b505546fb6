//! Simulated time: whole femtoseconds.
//!
//! 3.2 GHz (312 500 fs), 4 GHz (250 000 fs), DDR4-3200 (625 000 fs) and nanoseconds are all exact, so no rounding ever
//! accumulates between clock domains. A `u64` of femtoseconds lasts five hours of simulated time.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

const FS_PER_NS: u64 = 1_000_000;

/// An instant, counted from power-on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Time(u64);

/// A span of simulated time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Duration(u64);

/// A number of cycles of some clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Cycles(pub u64);

/// A clock domain: the length of its cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Clock {
    period: Duration,
}

impl Time {
    /// Instant of the power-on.
    pub const ZERO: Time = Time(0);
    /// Instant later than all events.
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant this many femtoseconds after power-on.
    pub const fn from_fs(fs: u64) -> Time {
        Time(fs)
    }

    /// Returns femtoseconds since power-on.
    pub const fn as_fs(self) -> u64 {
        self.0
    }

    /// Returns nanoseconds since power-on, for output.
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / FS_PER_NS as f64
    }

    /// Returns the time since `earlier`, or zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// Duration of zero length.
    pub const ZERO: Duration = Duration(0);

    /// Duration of this many femtoseconds.
    pub const fn from_fs(fs: u64) -> Duration {
        Duration(fs)
    }

    /// Duration of this many picoseconds.
    pub const fn from_ps(ps: u64) -> Duration {
        Duration(ps * 1_000)
    }

    /// Duration of this many nanoseconds.
    pub const fn from_ns(ns: u64) -> Duration {
        Duration(ns * FS_PER_NS)
    }

    /// Converts nanoseconds as written in a machine file (`7.5`), rounded to the nearest femtosecond.
    pub fn from_ns_f64(ns: f64) -> Duration {
        Duration((ns * FS_PER_NS as f64).round() as u64)
    }

    /// Returns the femtoseconds of the duration.
    pub const fn as_fs(self) -> u64 {
        self.0
    }

    /// Returns nanoseconds, for output.
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / FS_PER_NS as f64
    }

    /// Returns the rest of the duration after `other`; zero if `other` is longer.
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}

impl Clock {
    /// A clock with this period.
    pub const fn from_period(period: Duration) -> Clock {
        Clock { period }
    }

    /// The length of one cycle.
    pub const fn period(self) -> Duration {
        self.period
    }

    /// Returns the duration of `cycles` of this clock.
    pub const fn span(self, cycles: Cycles) -> Duration {
        Duration(cycles.0 * self.period.0)
    }

    /// Returns the start of cycle number `cycles` of this clock.
    pub const fn start_of(self, cycles: Cycles) -> Time {
        Time(cycles.0 * self.period.0)
    }

    /// The first cycle of this clock that begins at or after `time`: when a signal raised at `time` is seen.
    pub const fn cycle_at_or_after(self, time: Time) -> Cycles {
        Cycles(time.0.div_ceil(self.period.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, span: Duration) -> Time {
        Time(self.0 + span.0)
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        self.0 += span.0;
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0 + other.0)
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        self.0 += other.0;
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0 - other.0)
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, times: u64) -> Duration {
        Duration(self.0 * times)
    }
}

impl Add for Cycles {
    type Output = Cycles;
    fn add(self, other: Cycles) -> Cycles {
        Cycles(self.0 + other.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.as_ns_f64())
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.as_ns_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Frequency;

    #[test]
    fn the_clocks_of_the_papers_are_exact() {
        for (mhz, fs) in [(3_200, 312_500), (4_000, 250_000), (1_600, 625_000), (1_000, 1_000_000), (200, 5_000_000)] {
            assert_eq!(Frequency::from_mhz(mhz).clock().period().as_fs(), fs);
        }
    }

    #[test]
    fn an_instant_maps_to_the_clock_cycle_at_or_after_it() {
        let clock = Frequency::from_mhz(4_000).clock();
        let edge = clock.start_of(Cycles(7));
        assert_eq!(clock.cycle_at_or_after(edge), Cycles(7));
        assert_eq!(clock.cycle_at_or_after(edge + Duration::from_fs(1)), Cycles(8));
    }
}
