//! Configuration of a DRAM channel: its organisation, timing and controller policies, with the rules for these values.
//!
//! A configuration is checked once, as a whole, before a channel is built from it; all modules may afterwards assume
//! that the configuration is valid.

use super::burst::BurstLength;
use super::timing::Timing;
use crate::rule::rule;
use serde::{Deserialize, Serialize};
use units::{Frequency, LineLength, WORDS_PER_LINE};

/// Maximum number of banks of a channel: eight ranks of sixteen, as DDR4 allows.
const BANKS_MAX: u64 = 128;
/// Maximum length of a queue.
const QUEUE_MAX: usize = 4096;

/// One DRAM channel and its controller.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DramConfig {
    /// The memory clock in megahertz: half of the data rate in megatransfers per second. Its cycle is a whole number of
    /// femtoseconds.
    pub clock_mhz: Frequency,
    /// Ranks, banks and rows.
    pub organisation: Organisation,
    /// Timing constraints, in clocks.
    pub timing: Timing,
    /// Capacity of the queue of reads that wait for a row.
    pub read_queue: usize,
    /// Capacity of the queue of writes that wait for a row.
    pub write_queue: usize,
    /// Number of waiting writes at which writes are served before reads.
    pub drain_start: usize,
    /// Number of waiting writes at which reads are served again.
    pub drain_stop: usize,
    /// Effect of a change of the bus direction on requests with rows that are being opened.
    #[serde(default)]
    pub turns: BusTurnaround,
    /// Policy for closing rows.
    pub page_policy: PagePolicy,
    /// Map from the bits of a line's number to its rank, bank group, bank, row and column.
    pub address_map: AddressMap,
    /// Policy for the order of waiting requests.
    pub scheduler: Scheduler,
    /// Possible lengths of bursts.
    #[serde(default)]
    pub bursts: BurstLength,
}

/// Organisation of the channel's storage. Every count is a power of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Organisation {
    /// Ranks on the channel; they share only the buses.
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

/// Effect of a change of the bus direction on requests with rows that are being opened.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BusTurnaround {
    /// The controller serves these requests whichever direction has its turn, since they have left their queue.
    #[default]
    Finish,
    /// These requests wait again, as in ChampSim (`swap_write_mode` of its DRAM controller). A request keeps its entry
    /// in the queue, and counts as queued, until its column command. The turn changes when all lines of the old
    /// direction have been transferred. Rows that were opened for cancelled requests are closed at no cost.
    Cancel,
}

/// Policy for closing an open row when no request needs another row of its bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PagePolicy {
    /// Rows stay open until another row or a refresh needs the bank.
    Open,
    /// A row is closed when no request has used or needed it for this long.
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
    /// row | rank | bank | column | group: neighbouring lines are in different bank groups, so the column commands of a
    /// sequential stream are only tCCD_S apart.
    BankGroupLow,
    /// row | rank | bank | group | column, with rank, bank and group XOR-ed with the row's low bits: accesses with a
    /// stride of whole rows are distributed over the banks.
    XorBanks,
}

/// Policy that selects the waiting request to serve first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Scheduler {
    /// The oldest request with a next command that may issue now. A row that waiting requests need stays open for them.
    FrFcfs,
    /// Like `FrFcfs`, but at most `cap` requests of an open row overtake an older one that needs another row.
    FrFcfsCapped {
        /// Maximum number of overtaking requests.
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
            turns: BusTurnaround::Finish,
            page_policy: PagePolicy::Open,
            address_map: AddressMap::RowBankGroupColumn,
            scheduler: Scheduler::FrFcfs,
            bursts: BurstLength::Fixed,
        }
    }

    /// One of the two 32-bit subchannels of DDR5-4800B (40-39-39) with one rank of 16 Gb x8 devices: 8 GB, 19.2 GB/s.
    ///
    /// Bursts of 16 transfer a 64-byte line over 32 bits. Eight bank groups of four banks; a row is 1 KB on each of
    /// four devices (JEDEC JESD79-5; Micron MT60B2G8).
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

    /// Returns the bytes on the channel, for lines of this length.
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
                "burst_clocks must be a multiple of {words} with bursts = \"any\", the same time for each word, but is \
                 {clocks}"
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
    fn the_shipped_configuration_of_ddr4_passes_the_checks() {
        assert_eq!(DramConfig::ddr4_3200().check(), Ok(()));
        assert_eq!(DramConfig::ddr4_3200().capacity(LineLength::WHOLE), 8 << 30);
    }

    #[test]
    fn an_invalid_dram_configuration_is_refused_with_the_rule_and_the_values() {
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
    fn a_dram_configuration_survives_json_and_an_unknown_key_is_refused() {
        let config = DramConfig { scheduler: Scheduler::FrFcfsCapped { cap: 4 }, ..DramConfig::ddr4_3200() };
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<DramConfig>(&text).unwrap(), config);
        let misspelt = text.replace("trcd", "tRCD");
        assert!(serde_json::from_str::<DramConfig>(&misspelt).unwrap_err().to_string().contains("tRCD"));
    }
}
