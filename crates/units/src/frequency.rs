//! Clocks as written in machine files: megahertz, whole or as a ratio, with a cycle of a whole number of femtoseconds.
//!
//! Time is counted in femtoseconds, so a clock with a fractional cycle would drift against the other clocks:
//! DDR5-4800's 2400 MHz has cycles of 416,666.67 fs. Standards and simulators with this clock mean a rounded cycle. The
//! machine file must contain the exact one, as 416 ps (`"31250/13 MHz"`). The error for an inexact clock names the
//! nearest exact ones.

use crate::{Clock, Duration};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// Femtoseconds of a cycle at one megahertz.
const FS_PER_US: u64 = 1_000_000_000;
const FS_PER_PS: u64 = 1_000;

/// A frequency in megahertz, in lowest terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frequency {
    mhz: u64,
    per: u64,
}

impl Frequency {
    /// Maximum frequency: the cycles of faster clocks are few femtoseconds.
    pub const MOST_MHZ: u64 = 100_000;

    /// Creates a frequency of whole megahertz.
    pub const fn from_mhz(mhz: u64) -> Frequency {
        Frequency { mhz, per: 1 }
    }

    /// A ratio of megahertz.
    ///
    /// # Panics
    /// If `per` is zero.
    pub const fn from_ratio(mhz: u64, per: u64) -> Frequency {
        assert!(per > 0, "a ratio of nothing");
        let divisor = greatest_common_divisor(mhz, per);
        Frequency { mhz: mhz / divisor, per: per / divisor }
    }

    /// Returns the frequency with a cycle of this length.
    fn of_period(fs: u64) -> Frequency {
        Frequency::from_ratio(FS_PER_US, fs)
    }

    /// Returns the frequency with a cycle of whole picoseconds nearest to this length.
    fn of_whole_ps(fs: u64) -> Frequency {
        Frequency::of_period((fs + FS_PER_PS / 2) / FS_PER_PS * FS_PER_PS)
    }

    /// Returns megahertz, for output and for rates.
    pub fn as_mhz_f64(self) -> f64 {
        self.mhz as f64 / self.per as f64
    }

    /// Returns the femtoseconds of a cycle, as a ratio.
    fn period(self) -> (u128, u128) {
        (u128::from(FS_PER_US) * u128::from(self.per), u128::from(self.mhz))
    }

    /// Returns the clock; for a frequency that does not pass [`Frequency::check`], a nearby one.
    ///
    /// # Panics
    /// If the frequency is zero.
    pub fn clock(self) -> Clock {
        let (dividend, divisor) = self.period();
        Clock::from_period(Duration::from_fs((dividend / divisor) as u64))
    }

    /// Checks that a clock with this frequency is possible.
    ///
    /// # Errors
    /// The rule that is broken, with the frequency and the nearest that keep it.
    pub fn check(self) -> Result<(), String> {
        if self.mhz < self.per || self.mhz > Frequency::MOST_MHZ.saturating_mul(self.per) {
            return Err(format!("must be between 1 and {}, but is {self}", Frequency::MOST_MHZ));
        }
        let (dividend, divisor) = self.period();
        if dividend.is_multiple_of(divisor) {
            return Ok(());
        }
        let fs = ((dividend + divisor / 2) / divisor) as u64;
        let nearest = Frequency::of_period(fs);
        let in_ps = Frequency::of_whole_ps(fs);
        Err(format!(
            "is {self}, of which a cycle is {:.3} femtoseconds: expected a whole number of them, as \"{nearest} MHz\" has, \
             or whole picoseconds, as \"{in_ps} MHz\" has",
            dividend as f64 / divisor as f64
        ))
    }
}

const fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Error of a text that is not a frequency.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseFrequencyError(String);

impl fmt::Display for ParseFrequencyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not a clock: expected {EXPECTED}", self.0)
    }
}

impl std::error::Error for ParseFrequencyError {}

const EXPECTED: &str = "megahertz, whole as in 1600 or as a ratio as in \"500/3 MHz\"";

impl FromStr for Frequency {
    type Err = ParseFrequencyError;

    fn from_str(text: &str) -> Result<Frequency, ParseFrequencyError> {
        let refused = || ParseFrequencyError(text.to_owned());
        let trimmed = text.trim();
        let unit = trimmed.len().saturating_sub(3);
        let number = match trimmed.get(unit..) {
            Some(unit_name) if unit_name.eq_ignore_ascii_case("mhz") => &trimmed[..unit],
            _ => trimmed,
        };
        let (mhz, per) = number.split_once('/').unwrap_or((number, "1"));
        let whole = |digits: &str| digits.trim().parse::<u64>().map_err(|_| refused());
        match (whole(mhz)?, whole(per)?) {
            (_, 0) => Err(refused()),
            (mhz, per) => Ok(Frequency::from_ratio(mhz, per)),
        }
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.per {
            1 => write!(f, "{}", self.mhz),
            per => write!(f, "{}/{per}", self.mhz),
        }
    }
}

impl Serialize for Frequency {
    /// Serializes whole megahertz as a number, as in files from before ratios.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.per {
            1 => serializer.serialize_u64(self.mhz),
            _ => serializer.collect_str(&format_args!("{self} MHz")),
        }
    }
}

impl<'de> Deserialize<'de> for Frequency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Frequency, D::Error> {
        deserializer.deserialize_any(Visitor)
    }
}

struct Visitor;

impl de::Visitor<'_> for Visitor {
    type Value = Frequency;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_u64<E: de::Error>(self, mhz: u64) -> Result<Frequency, E> {
        Ok(Frequency::from_mhz(mhz))
    }

    fn visit_i64<E: de::Error>(self, mhz: i64) -> Result<Frequency, E> {
        u64::try_from(mhz).map(Frequency::from_mhz).map_err(|_| E::invalid_value(de::Unexpected::Signed(mhz), &self))
    }

    /// A decimal fraction is seldom exact: the error names the nearest exact one, to a picosecond.
    fn visit_f64<E: de::Error>(self, mhz: f64) -> Result<Frequency, E> {
        let refused = de::Unexpected::Float(mhz);
        if !(1.0..=Frequency::MOST_MHZ as f64).contains(&mhz) {
            return Err(E::invalid_type(refused, &self));
        }
        let near = Frequency::of_whole_ps((FS_PER_US as f64 / mhz).round() as u64);
        Err(E::custom(format_args!("invalid type: {refused}, expected {EXPECTED}; the nearest is \"{near} MHz\"")))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Frequency, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frequency(text: &str) -> Frequency {
        text.parse().unwrap()
    }

    #[test]
    fn a_frequency_given_as_a_ratio_has_an_exact_period() {
        for (text, fs) in [
            ("500/3 MHz", 6_000_000),
            ("1000/6", 6_000_000),
            ("31250/13MHz", 416_000),
            ("1000000/833 mhz", 833_000),
            ("3200", 312_500),
            (" 250 / 1 MHz ", 4_000_000),
        ] {
            assert_eq!((frequency(text).check(), frequency(text).clock().period().as_fs()), (Ok(()), fs), "{text}");
        }
    }

    #[test]
    fn a_frequency_without_an_exact_period_is_refused_with_the_nearest_exact_ones() {
        let refused = |text| frequency(text).check().unwrap_err();
        let ddr5 = refused("2400");
        assert!(ddr5.contains("is 2400, of which a cycle is 416666.667 femtoseconds"), "{ddr5}");
        assert!(ddr5.contains("\"1000000000/416667 MHz\"") && ddr5.contains("\"1000000/417 MHz\""), "{ddr5}");
        for named in ["1000000000/416667", "1000000/417"] {
            assert_eq!(frequency(named).check(), Ok(()));
        }
        assert!(refused("3000/7").contains("2333333.333"));
        for text in ["0", "1/2", "100001", "200001/2"] {
            assert!(refused(text).starts_with("must be between 1 and 100000, but is "), "{text}");
        }
    }

    #[test]
    fn a_text_that_is_not_a_clock_is_refused() {
        for text in ["", "MHz", "-1", "2.4", "1/0", "1//2", "4 GHz", "99999999999999999999", "é"] {
            assert!(text.parse::<Frequency>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_frequency_reads_back_as_written() {
        assert_eq!(frequency("500/3 MHz").to_string(), "500/3");
        assert_eq!(frequency("1600 MHz"), Frequency::from_mhz(1600));
        assert!((frequency("500/3").as_mhz_f64() - 166.666_666).abs() < 1e-5);
    }
}
