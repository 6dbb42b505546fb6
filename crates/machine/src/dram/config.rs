//! What a DRAM channel is made of, how fast it is and how its controller decides, with the rules these values must
//! keep.
//!
//! A configuration is checked once, as a whole, before a channel is made of it; afterwards everything may rely on it.

use super::burst::BurstLength;
use super::timing::Timing;
use crate::rule::rule;
use serde::{Deserialize, Serialize};
use units::{Frequency, LineLength, WORDS_PER_LINE};

/// The most banks one channel may have: eight ranks of sixteen, as DDR4 allows.
const BANKS_MAX: u64 = 128;
/// The most requests one queue may hold.
const QUEUE_MAX: usize = 4096;

/// One DRAM channel and its controller.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DramConfig {
    /// The memory clock in megahertz: half of the transfers per second; its cycle is a whole number of femtoseconds.
    pub clock_mhz: Frequency,
    /// Ranks, banks and rows.
    pub organisation: Organisation,
    /// Timing constraints, in clocks.
    pub timing: Timing,
    /// Reads that may wait for a row.
    pub read_queue: usize,
    /// Writes that may wait for a row.
    pub write_queue: usize,
    /// Writes are served before reads once this many wait.
    pub drain_start: usize,
    /// Reads are served again once no more than this many writes wait.
    pub drain_stop: usize,
    /// What a change between reads and writes does to what has been begun.
    #[serde(default)]
    pub turns: Turns,
    /// When a row is closed again.
    pub page_policy: PagePolicy,
    /// Which bits of a line's number name its rank, bank group, bank, row and column.
    pub address_map: AddressMap,
    /// Which of the waiting requests goes first.
    pub scheduler: Scheduler,
    /// How long bursts can be.
    #[serde(default)]
    pub bursts: BurstLength,
}

/// How the channel's storage is divided. Every count is a power of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Organisation {
    /// Ranks on the channel; they share the buses and nothing else.
    pub ranks: u64,
    /// Bank groups in a rank.
    pub bank_groups: u64,
    /// Banks in a bank group.
    pub banks_per_group: u64,
    /// Rows in a bank.
    pub rows: u64,
    /// Memory lines in a row.
    pub lines_per_row: u64,
}

/// What a change between reads and writes does to requests whose rows are being opened.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turns {
    /// They are served, whosever turn it is then: they have left their queue.
    #[default]
    Finish,
    /// They wait again, as in ChampSim (`swap_write_mode` of its DRAM controller): a request keeps its entry in the queue,
    /// and counts there, until its column command; the turn passes on when the lines of its kind have moved; rows that are
    /// open by then for nothing are closed at no cost.
    Cancel,
}

/// When an open row is closed although no request is for another row of its bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PagePolicy {
    /// Never: rows stay open until another row or a refresh needs the bank.
    Open,
    /// Once no request has used or wants the row for this long.
    OpenWithTimeout {
        /// Clocks since the row's last use.
        idle_clocks: u64,
    },
}

/// The order of the fields in a line's number, most significant first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AddressMap {
    /// row | rank | bank | group | column: a whole row is one run of addresses.
    RowBankGroupColumn,
    /// row | rank | bank | column | group: neighbouring lines are in different bank groups, so streams keep to tCCD_S.
    BankGroupLow,
    /// row | rank | bank | group | column, with rank, bank and group XOR-ed with the row's low bits: strides of whole
    /// rows spread over the banks.
    XorBanks,
}

/// Which waiting request is served first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Scheduler {
    /// The oldest request whose next command may issue; a row that waiting requests want stays open for them.
    FrFcfs,
    /// The same, but no more than `cap` requests of an open row overtake an older one that needs another row.
    FrFcfsCapped {
        /// How many may overtake.
        cap: u32,
    },
    /// Strictly the oldest request.
    Fcfs,
}

impl DramConfig {
    /// One channel of DDR4-3200 (22-22-22) with one rank of 8 Gb x8 devices: 8 GB, 25.6 GB/s.
    pub fn ddr4_3200() -> DramConfig {
        DramConfig {
            clock_mhz: Frequency::from_mhz(1600),
            organisation: Organisation {
                ranks: 1,
                bank_groups: 4,
                banks_per_group: 4,
                rows: 1 << 16,
                lines_per_row: 128,
            },
            timing: Timing::DDR4_3200,
            read_queue: 32,
            write_queue: 32,
            drain_start: 26,
            drain_stop: 6,
            turns: Turns::Finish,
            page_policy: PagePolicy::Open,
            address_map: AddressMap::RowBankGroupColumn,
            scheduler: Scheduler::FrFcfs,
            bursts: BurstLength::Fixed,
        }
    }

    /// One of the two 32-bit subchannels of DDR5-4800B (40-39-39) with one rank of 16 Gb x8 devices: 8 GB, 19.2 GB/s.
    ///
    /// Bursts of 16 bring a 64-byte line over 32 bits. Eight bank groups of four banks; a row is 1 KB on each of four
    /// devices (JEDEC JESD79-5; Micron MT60B2G8).
    pub fn ddr5_4800_subchannel() -> DramConfig {
        DramConfig {
            // A tCK of 0.416 ns.
            clock_mhz: Frequency::from_ratio(31_250, 13),
            organisation: Organisation {
                ranks: 1,
                bank_groups: 8,
                banks_per_group: 4,
                rows: 1 << 16,
                lines_per_row: 64,
            },
            timing: Timing::DDR5_4800,
            ..DramConfig::ddr4_3200()
        }
    }

    /// Bytes on the channel, where its lines are so long.
    pub fn capacity(&self, line: LineLength) -> u64 {
        self.organisation.lines() * line.bytes() as u64
    }

    /// Checks that the values can describe a machine.
    ///
    /// # Errors
    /// The first rule that is broken, with the values that break it.
    pub fn check(&self) -> Result<(), String> {
        self.organisation.check()?;
        self.timing.check()?;
        let (start, stop) = (self.drain_start, self.drain_stop);
        self.clock_mhz.check().map_err(|rule| format!("clock_mhz {rule}"))?;
        for (name, length) in [("read_queue", self.read_queue), ("write_queue", self.write_queue)] {
            rule((1..=QUEUE_MAX).contains(&length), || {
                format!("{name} must be between 1 and {QUEUE_MAX}, but is {length}")
            })?;
        }
        rule(start <= self.write_queue, || {
            format!("drain_start must not exceed write_queue, but {start} > {}", self.write_queue)
        })?;
        rule(stop < start, || format!("drain_stop must be below drain_start, but {stop} >= {start}"))?;
        self.check_bursts()?;
        rule(self.page_policy != PagePolicy::OpenWithTimeout { idle_clocks: 0 }, || {
            "idle_clocks must be positive, but is 0".to_owned()
        })?;
        rule(self.scheduler != Scheduler::FrFcfsCapped { cap: 0 }, || "cap must be positive, but is 0".to_owned())
    }
}

impl DramConfig {
    fn check_bursts(&self) -> Result<(), String> {
        let (clocks, words) = (self.timing.burst_clocks, WORDS_PER_LINE as u64);
        rule(self.bursts == BurstLength::Fixed || clocks.is_multiple_of(words), || {
            format!(
                "burst_clocks must be a multiple of {words} with bursts = \"any\", so much for each word, but is {clocks}"
            )
        })
    }
}

impl Organisation {
    /// Banks on the channel.
    pub fn banks(&self) -> u64 {
        self.ranks * self.bank_groups * self.banks_per_group
    }

    /// Lines on the channel.
    pub(super) fn lines(&self) -> u64 {
        self.banks() * self.rows * self.lines_per_row
    }

    fn check(&self) -> Result<(), String> {
        let Organisation { ranks, bank_groups, banks_per_group, rows, lines_per_row } = *self;
        let counts = [
            ("ranks", ranks, BANKS_MAX),
            ("bank_groups", bank_groups, BANKS_MAX),
            ("banks_per_group", banks_per_group, BANKS_MAX),
            ("rows", rows, 1 << 31),
            ("lines_per_row", lines_per_row, 1 << 16),
        ];
        for (name, count, most) in counts {
            rule(count.is_power_of_two() && count <= most, || {
                format!("{name} must be a power of two of at most {most}, but is {count}")
            })?;
        }
        let banks = self.banks();
        rule(banks <= BANKS_MAX, || {
            format!(
                "ranks x bank_groups x banks_per_group must be at most {BANKS_MAX}, \
                 but {ranks} x {bank_groups} x {banks_per_group} = {banks}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut DramConfig)) -> String {
        let mut config = DramConfig::ddr4_3200();
        change(&mut config);
        config.check().expect_err("an impossible configuration was accepted")
    }

    #[test]
    fn the_shipped_configuration_keeps_its_own_rules() {
        assert_eq!(DramConfig::ddr4_3200().check(), Ok(()));
        assert_eq!(DramConfig::ddr4_3200().capacity(LineLength::WHOLE), 8 << 30);
    }

    #[test]
    fn a_refusal_names_the_rule_and_the_values() {
        assert_eq!(refused(|c| c.timing.trc = 73), "trc must be at least tras + trp, but 73 < 74");
        assert_eq!(
            refused(|c| c.organisation.banks_per_group = 3),
            "banks_per_group must be a power of two of at most 128, but is 3"
        );
        assert_eq!(refused(|c| c.read_queue = 0), "read_queue must be between 1 and 4096, but is 0");
    }

    #[test]
    fn impossible_values_are_refused() {
        type Change = fn(&mut DramConfig);
        let changes: [Change; 17] = [
            |c| c.bursts = BurstLength::Any,
            |c| c.clock_mhz = Frequency::from_mhz(0),
            |c| c.organisation.ranks = 0,
            |c| c.organisation.ranks = 16,
            |c| c.organisation.rows = 1 << 32,
            |c| c.timing.burst_clocks = 0,
            |c| c.timing.tccd_s = 3,
            |c| c.timing.tccd_l = 3,
            |c| c.timing.cwl = 29,
            |c| c.timing.trefi = 600,
            |c| c.timing.trefi = 0,
            |c| c.timing.trfc = 0,
            |c| c.write_queue = 0,
            |c| c.drain_start = 33,
            |c| c.drain_stop = 26,
            |c| c.scheduler = Scheduler::FrFcfsCapped { cap: 0 },
            |c| c.page_policy = PagePolicy::OpenWithTimeout { idle_clocks: 0 },
        ];
        for (number, change) in changes.into_iter().enumerate() {
            assert!(!refused(change).is_empty(), "change {number}");
        }
    }

    #[test]
    fn a_configuration_reads_back_and_an_unknown_key_is_refused() {
        let config = DramConfig { scheduler: Scheduler::FrFcfsCapped { cap: 4 }, ..DramConfig::ddr4_3200() };
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<DramConfig>(&text).unwrap(), config);
        let misspelt = text.replace("trcd", "tRCD");
        assert!(serde_json::from_str::<DramConfig>(&misspelt).unwrap_err().to_string().contains("tRCD"));
    }
}
