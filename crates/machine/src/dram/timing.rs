//! The timing constraints of the DDR4 standard, in whole clocks of the memory clock.
//!
//! The fields have the standard's names, so values can be copied from a data sheet without changes. Read-to-write and
//! write-to-read times follow from other fields. The model derives them where it uses them, so they are always
//! consistent with these fields.

use crate::rule::rule;
use serde::{Deserialize, Serialize};
use units::WORDS_PER_LINE;

/// Timing constraints in clocks, under the names of the DDR4 standard.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Time from a read command to its first data (CL).
    pub cl: u64,
    /// Time from a write command to its first data (CWL).
    pub cwl: u64,
    /// Activate to a read or write of the row.
    pub trcd: u64,
    /// Precharge to activate of a bank.
    pub trp: u64,
    /// Activate to precharge of a bank.
    pub tras: u64,
    /// Activate to activate of the same bank.
    pub trc: u64,
    /// Last written data to precharge.
    pub twr: u64,
    /// Read command to precharge.
    pub trtp: u64,
    /// Column command to column command, other bank group.
    pub tccd_s: u64,
    /// Column command to column command, same bank group.
    pub tccd_l: u64,
    /// Activate to activate, other bank group.
    pub trrd_s: u64,
    /// Activate to activate, same bank group.
    pub trrd_l: u64,
    /// Last written data to read command, other bank group.
    pub twtr_s: u64,
    /// Last written data to read command, same bank group.
    pub twtr_l: u64,
    /// The window in which a rank accepts at most four activates.
    pub tfaw: u64,
    /// Refresh to the next command of the rank; zero if there are no refreshes.
    pub trfc: u64,
    /// Mean time between two refreshes of a rank; zero for a device that is never refreshed.
    pub trefi: u64,
    /// Idle time of the data bus when it changes rank, or when it changes from reading to writing.
    pub trtrs: u64,
    /// Clocks for which a line of 64 bytes occupies the data bus.
    pub burst_clocks: u64,
}

impl Timing {
    /// DDR4-3200, speed bin 22-22-22, 8 Gb x8 devices with one-kilobyte pages.
    pub const DDR4_3200: Timing = Timing {
        cl: 22,
        cwl: 16,
        trcd: 22,
        trp: 22,
        tras: 52,
        trc: 74,
        twr: 24,
        trtp: 12,
        tccd_s: 4,
        tccd_l: 8,
        trrd_s: 4,
        trrd_l: 8,
        twtr_s: 4,
        twtr_l: 12,
        tfaw: 34,
        trfc: 560,
        trefi: 12_480,
        trtrs: 2,
        burst_clocks: 4,
    };

    /// DDR5-4800B, speed bin 40-39-39, 16 Gb x8 devices (JEDEC JESD79-5). Writes of one bank group follow each other as
    /// reads do (tCCD_L); the longer tCCD_L_WR of DDR5 has no counterpart here.
    pub const DDR5_4800: Timing = Timing {
        cl: 40,
        cwl: 38,
        trcd: 39,
        trp: 39,
        tras: 77,
        trc: 116,
        twr: 72,
        trtp: 18,
        tccd_s: 8,
        tccd_l: 12,
        trrd_s: 8,
        trrd_l: 12,
        twtr_s: 6,
        twtr_l: 24,
        tfaw: 32,
        trfc: 708,
        trefi: 9_360,
        trtrs: 2,
        burst_clocks: 8,
    };

    /// Returns the time from the last beat of the first eight bytes to the end of the burst, in eighths of a clock: words
    /// arrive evenly over their burst.
    pub(super) fn eighths_after_first_word(&self, words: u8) -> u64 {
        (u64::from(words) - 1) * self.burst_clocks
    }

    /// Returns the clocks for which a burst of `words` words occupies the data bus.
    pub(super) fn clocks_of(&self, words: u8) -> u64 {
        (self.burst_clocks * u64::from(words)).div_ceil(WORDS_PER_LINE as u64)
    }

    /// Returns the clocks from a read command to the last of its data.
    pub(super) fn read_latency(&self, words: u8) -> u64 {
        self.cl + self.clocks_of(words)
    }

    /// Checks that the times are consistent.
    ///
    /// # Errors
    /// The first rule that is broken, with the values that break it.
    pub(super) fn check(&self) -> Result<(), String> {
        let t = self;
        for (name, clocks) in [
            ("cl", t.cl),
            ("cwl", t.cwl),
            ("trcd", t.trcd),
            ("trp", t.trp),
            ("trtp", t.trtp),
            ("trrd_s", t.trrd_s),
            ("burst_clocks", t.burst_clocks),
        ] {
            rule(clocks > 0, || format!("{name} must be positive, but is 0"))?;
        }
        for (long, value, short, bound) in [
            ("tras", t.tras, "trcd", t.trcd),
            ("trc", t.trc, "tras + trp", t.tras + t.trp),
            ("tccd_s", t.tccd_s, "burst_clocks", t.burst_clocks),
            ("tccd_l", t.tccd_l, "tccd_s", t.tccd_s),
            ("trrd_l", t.trrd_l, "trrd_s", t.trrd_s),
            ("twtr_l", t.twtr_l, "twtr_s", t.twtr_s),
            ("cl + burst_clocks + trtrs", t.cl + t.burst_clocks + t.trtrs, "cwl", t.cwl),
        ] {
            rule(value >= bound, || format!("{long} must be at least {short}, but {value} < {bound}"))?;
        }
        self.check_refresh()
    }

    fn check_refresh(&self) -> Result<(), String> {
        let (trefi, trfc) = (self.trefi, self.trfc);
        if trefi == 0 {
            return rule(trfc == 0, || format!("trfc must be 0 if trefi is, but is {trfc}"));
        }
        let least = 2 * (trfc + self.trc);
        rule(trfc > 0, || "trfc must be positive, but is 0".to_owned())?;
        rule(trefi >= least, || format!("trefi must be at least 2 x (trfc + trc), but {trefi} < {least}"))
    }
}
