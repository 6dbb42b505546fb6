//! Validation of the configuration of a core.

use crate::node::caches::prefetch::{PrefetcherConfig, TABLE_WAYS};
use crate::node::config::NodeConfig;
use crate::node::interface::WALK_LEVELS_MAX;
use crate::node::lines::SHORT_LINE_BYTES;
use isa::Reg;
use units::{Bytes, LINE_BYTES, LineLength};

/// Maximum number of entries of a queue.
const QUEUE_MAX: u64 = 1 << 16;

/// Maximum number of entries of a cache, a TLB or a predictor table: a cache of 1 GB.
const ENTRIES_MAX: u64 = 1 << 24;

/// Reason why a core cannot be built as described.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NodeConfigError {
    /// A value below its minimum.
    #[error("{key} is {found}: expected at least {least}")]
    TooFew {
        /// The key in the machine file.
        key: String,
        /// Value in the machine file.
        found: u64,
        /// Smallest value that is valid.
        least: u64,
    },
    /// An invalid clock frequency.
    #[error("clock_mhz {0}")]
    Clock(String),
    /// A value above its maximum.
    #[error("{key} is {found}: expected at most {most}")]
    TooMany {
        /// The key in the machine file.
        key: String,
        /// Value in the machine file.
        found: u64,
        /// Largest value that is valid.
        most: u64,
    },
    /// A cache, a TLB or a predictor table that does not divide into a power of two of sets.
    #[error("{key}: {entries} entries in {ways} ways make {sets} sets; expected a power of two, without remainder")]
    Sets {
        /// The key in the machine file.
        key: &'static str,
        /// Total number of entries: lines, translations or targets.
        entries: usize,
        /// Associativity in the file.
        ways: usize,
        /// Number of sets, rounded down.
        sets: usize,
    },
    /// A cache that does not consist of whole lines.
    #[error("{key}.size is {found}: expected a multiple of {line}")]
    Lines {
        /// The key in the machine file.
        key: &'static str,
        /// Value in the machine file.
        found: Bytes,
        /// Length of the cache's lines.
        line: Bytes,
    },
    /// A cache with an invalid line size.
    #[error(
        "{key}.line is {found}: expected {SHORT_LINE_BYTES} B or {LINE_BYTES} B, and no more than the {longest} of {of}"
    )]
    LineSize {
        /// The key in the machine file.
        key: &'static str,
        /// Value in the machine file.
        found: Bytes,
        /// Length of the lines at the next level.
        longest: Bytes,
        /// Key of the next level's lines in the machine file.
        of: &'static str,
    },
    /// An invalid limit of look-ups.
    #[error("{0}")]
    LookUps(String),
    /// An invalid persist buffer.
    #[error("persist_buffer: {0}")]
    PersistBuffer(String),
    /// A part that works on lines of 64 bytes, in a machine with shorter lines.
    #[error("{0} needs lines of 64 bytes: leave it out, or set memory.line = \"64 B\"")]
    ShortLines(&'static str),
    /// A rule for write-backs in a cache that receives none.
    #[error("{0}.writeback_is_use: only l2 receives write-backs")]
    NoWriteBacks(&'static str),
    /// A prefetcher of the instruction cache.
    #[error("l1i.prefetcher: only l1d and l2 can have one")]
    CodePrefetcher,
    /// A walker with a wrong number of structure caches for its levels.
    #[error(
        "walker.levels is {levels} with {caches} structure caches: expected 2 to {WALK_LEVELS_MAX} levels and one cache less"
    )]
    Levels {
        /// Levels of page tables.
        levels: usize,
        /// Number of structure caches.
        caches: usize,
    },
    /// A table indexed by the low bits of a hash.
    #[error("{key} is {found}: expected a power of two from {least}")]
    TableSize {
        /// Key of the table's size in the machine file.
        key: &'static str,
        /// Value in the machine file.
        found: usize,
        /// Smallest value that is valid.
        least: usize,
    },
}

impl NodeConfig {
    /// Checks that a core with this configuration can be built.
    ///
    /// # Errors
    /// The first violated rule, with the values that violate it.
    pub fn check(&self) -> Result<(), NodeConfigError> {
        self.check_counts()?;
        self.check_options()?;
        self.check_units()?;
        self.check_writebacks()?;
        self.check_prefetchers()?;
        self.check_memory_line()?;
        for (key, cache) in [("l1i", &self.l1i), ("l1d", &self.l1d), ("l2", &self.l2)] {
            let (line, longest) = (cache.line, self.l2.line);
            if ![SHORT_LINE_BYTES, LINE_BYTES as u64].contains(&line.0) || line > longest {
                return Err(NodeConfigError::LineSize { key, found: line, longest, of: "l2.line" });
            }
            if !cache.size.0.is_multiple_of(line.0) {
                return Err(NodeConfigError::Lines { key, found: cache.size, line });
            }
        }
        let predictor = &self.predictor;
        for (key, entries, ways) in [
            ("l1i", self.l1i.lines(), self.l1i.ways),
            ("l1d", self.l1d.lines(), self.l1d.ways),
            ("l2", self.l2.lines(), self.l2.ways),
            ("itlb", self.itlb.entries, self.itlb.ways),
            ("dtlb", self.dtlb.entries, self.dtlb.ways),
            ("stlb", self.stlb.entries, self.stlb.ways),
            ("predictor.target_entries", predictor.target_entries, predictor.target_ways),
        ] {
            at_most(ENTRIES_MAX, entries as u64, || format!("{key}, in entries,"))?;
            let sets = entries / ways.max(1);
            if !sets.is_power_of_two() || sets * ways != entries || ways > usize::from(u16::MAX) {
                return Err(NodeConfigError::Sets { key, entries, ways, sets });
            }
        }
        let (found, least) = (predictor.direction_entries, 16);
        if !found.is_power_of_two() || found < least {
            return Err(NodeConfigError::TableSize { key: "predictor.direction_entries", found, least });
        }
        at_most(ENTRIES_MAX, found as u64, || "predictor.direction_entries".to_owned())
    }

    fn check_counts(&self) -> Result<(), NodeConfigError> {
        self.clock_mhz.check().map_err(NodeConfigError::Clock)?;
        for (key, found, most) in [
            ("rob", self.rob.into(), QUEUE_MAX),
            ("load_queue", self.load_queue.into(), QUEUE_MAX),
            ("store_queue", self.store_queue.into(), QUEUE_MAX),
            ("l1i.mshrs", self.l1i.mshrs as u64, QUEUE_MAX),
            ("l1d.mshrs", self.l1d.mshrs as u64, QUEUE_MAX),
            ("l2.mshrs", self.l2.mshrs as u64, QUEUE_MAX),
            ("predictor.return_stack_entries", self.predictor.return_stack_entries as u64, QUEUE_MAX),
        ] {
            at_most(most, found, || key.to_owned())?;
        }
        for (key, found) in [
            ("dispatch_width", self.dispatch_width.into()),
            ("retire_width", self.retire_width.into()),
            ("rob", self.rob.into()),
            ("load_queue", self.load_queue.into()),
            ("store_queue", self.store_queue.into()),
            ("load_ports", self.load_ports.into()),
            ("store_ports", self.store_ports.into()),
            ("predictor.return_stack_entries", self.predictor.return_stack_entries as u64),
            ("l1i.mshrs", self.l1i.mshrs as u64),
            ("l1d.mshrs", self.l1d.mshrs as u64),
            ("l2.mshrs", self.l2.mshrs as u64),
        ] {
            at_least_one(found, || key.to_owned())?;
        }
        Ok(())
    }

    /// Checks that the line size of L2, and the parts of the core that require lines of 64 bytes, are valid for
    /// memory's line length.
    fn check_memory_line(&self) -> Result<(), NodeConfigError> {
        let (found, longest) = (self.l2.line, Bytes(self.memory_line.bytes() as u64));
        if found > longest {
            return Err(NodeConfigError::LineSize { key: "l2", found, longest, of: "memory.line" });
        }
        let by_whole_lines = [
            ("l1d.prefetcher", self.l1d.prefetcher.is_some()),
            ("l2.prefetcher", self.l2.prefetcher.is_some()),
            ("walker", self.walker.is_some()),
            ("persist_buffer", self.persist_buffer.is_some()),
        ];
        let named = by_whole_lines.into_iter().find(|(_, is_there)| *is_there && self.memory_line != LineLength::WHOLE);
        named.map_or(Ok(()), |(key, _)| Err(NodeConfigError::ShortLines(key)))
    }

    fn check_writebacks(&self) -> Result<(), NodeConfigError> {
        let stated = [("l1i", &self.l1i), ("l1d", &self.l1d)].into_iter().find(|(_, l1)| l1.writeback_is_use.is_some());
        stated.map_or(Ok(()), |(name, _)| Err(NodeConfigError::NoWriteBacks(name)))
    }

    fn check_prefetchers(&self) -> Result<(), NodeConfigError> {
        if self.l1i.prefetcher.is_some() {
            return Err(NodeConfigError::CodePrefetcher);
        }
        for (name, cache) in [("l1d", &self.l1d), ("l2", &self.l2)] {
            let Some(prefetcher) = cache.prefetcher else { continue };
            at_least_one(prefetcher.degree().into(), || format!("{name}.prefetcher.degree"))?;
            // A prefetch leaves one register free: with fewer than two registers, no prefetch would ever start.
            at_least(2, cache.mshrs as u64, || format!("{name}.mshrs, with a prefetcher,"))?;
            if let PrefetcherConfig::Stream { distance, pages, .. } = prefetcher {
                at_least_one(distance.into(), || format!("{name}.prefetcher.stream.distance"))?;
                at_least_one(pages as u64, || format!("{name}.prefetcher.stream.pages"))?;
            }
            if let PrefetcherConfig::Stride { entries: found, .. } = prefetcher
                && (!found.is_power_of_two() || found < TABLE_WAYS)
            {
                let key = if name == "l1d" { "l1d.prefetcher.stride.entries" } else { "l2.prefetcher.stride.entries" };
                return Err(NodeConfigError::TableSize { key, found, least: TABLE_WAYS });
            }
        }
        Ok(())
    }

    fn check_options(&self) -> Result<(), NodeConfigError> {
        for (key, width) in [
            ("issue_width", self.issue_width),
            ("complete_width", self.complete_width),
            ("read_queue_ports", self.read_queue_ports),
            ("l1d_lookups.count", self.l1d_lookups.map(|lookups| lookups.count)),
            ("dtlb_lookups.count", self.dtlb_lookups.map(|lookups| lookups.count)),
        ] {
            at_least_one(width.unwrap_or(1).into(), || key.to_owned())?;
        }
        self.l2_lookups.map_or(Ok(()), |limit| limit.check("l2_lookups")).map_err(NodeConfigError::LookUps)?;
        at_least_one(self.write_buffer.unwrap_or(1).into(), || "write_buffer".to_owned())?;
        if let Some(buffer) = self.persist_buffer.map(|persist| persist.buffer) {
            buffer.check().map_err(NodeConfigError::PersistBuffer)?;
            at_most(QUEUE_MAX, buffer.entries.into(), || "persist_buffer: entries".to_owned())?;
        }
        if let Some(found) = self.physical_registers.map(u64::from) {
            let least = Reg::COUNT as u64;
            if found < least {
                return Err(NodeConfigError::TooFew { key: "physical_registers".to_owned(), found, least });
            }
        }
        let Some(walker) = &self.walker else { return Ok(()) };
        at_least_one(walker.outstanding as u64, || "walker.outstanding".to_owned())?;
        at_least_one(walker.waiting_accesses.unwrap_or(1) as u64, || "walker.waiting_accesses".to_owned())?;
        for entries in &walker.structure_caches {
            at_least_one(*entries as u64, || "walker.structure_caches".to_owned())?;
        }
        let (levels, caches) = (walker.levels, walker.structure_caches.len());
        if !(2..=WALK_LEVELS_MAX).contains(&levels) || caches != levels - 1 {
            return Err(NodeConfigError::Levels { levels, caches });
        }
        Ok(())
    }

    fn check_units(&self) -> Result<(), NodeConfigError> {
        let units = &self.units;
        for (name, unit) in [
            ("int_alu", &units.int_alu),
            ("int_mul", &units.int_mul),
            ("int_div", &units.int_div),
            ("fp_add", &units.fp_add),
            ("fp_mul", &units.fp_mul),
            ("fp_div", &units.fp_div),
            ("branch", &units.branch),
        ] {
            at_least_one(unit.count.into(), || format!("units.{name}.count"))?;
            at_least_one(unit.latency_cycles, || format!("units.{name}.latency_cycles"))?;
        }
        Ok(())
    }
}

fn at_least_one(found: u64, key: impl FnOnce() -> String) -> Result<(), NodeConfigError> {
    at_least(1, found, key)
}

fn at_least(least: u64, found: u64, key: impl FnOnce() -> String) -> Result<(), NodeConfigError> {
    if found < least { Err(NodeConfigError::TooFew { key: key(), found, least }) } else { Ok(()) }
}

fn at_most(most: u64, found: u64, key: impl FnOnce() -> String) -> Result<(), NodeConfigError> {
    if found > most { Err(NodeConfigError::TooMany { key: key(), found, most }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::config::{PersistConfig, StoreHold};
    use crate::persist::PersistBufferConfig;

    #[test]
    fn the_modern_core_passes_the_checks() {
        assert_eq!(NodeConfig::modern().check(), Ok(()));
    }

    #[test]
    fn an_impossible_core_is_refused_with_the_key_and_the_values() {
        let broken = |change: fn(&mut NodeConfig)| {
            let mut config = NodeConfig::modern();
            change(&mut config);
            config.check().unwrap_err().to_string()
        };
        assert_eq!(broken(|c| c.dispatch_width = 0), "dispatch_width is 0: expected at least 1");
        assert_eq!(broken(|c| c.l2.mshrs = 0), "l2.mshrs is 0: expected at least 1");
        assert_eq!(broken(|c| c.units.fp_div.count = 0), "units.fp_div.count is 0: expected at least 1");
        assert_eq!(broken(|c| c.l2.size = Bytes(1_000)), "l2.size is 1000 B: expected a multiple of 64 B");
        assert_eq!(
            broken(|c| c.l1d.line = Bytes(48)),
            "l1d.line is 48 B: expected 32 B or 64 B, and no more than the 64 B of l2.line"
        );
        assert_eq!(
            broken(|c| c.l2.line = Bytes(32)),
            "l1i.line is 64 B: expected 32 B or 64 B, and no more than the 32 B of l2.line"
        );
        fn next(degree: u32) -> Option<PrefetcherConfig> {
            Some(PrefetcherConfig::NextLine { degree })
        }
        fn buffer(entries: u32, drain_from: u32, drain_to: u32) -> Option<PersistConfig> {
            let buffer = PersistBufferConfig { entries, drain_from, drain_to };
            Some(PersistConfig { buffer, latency_cycles: 2, waits: StoreHold::Never })
        }
        assert_eq!(broken(|c| c.persist_buffer = buffer(0, 1, 0)), "persist_buffer: entries is 0: expected at least 1");
        assert_eq!(
            broken(|c| c.persist_buffer = buffer(8, 4, 4)),
            "persist_buffer: drain_to is 4: expected less than drain_from, which is 4"
        );
        assert_eq!(
            broken(|c| c.persist_buffer = buffer(1 << 17, 4, 3)),
            "persist_buffer: entries is 131072: expected at most 65536"
        );
        assert_eq!(broken(|c| c.l1i.prefetcher = next(1)), "l1i.prefetcher: only l1d and l2 can have one");
        let on_l1d = broken(|c| c.l1d.writeback_is_use = Some(false));
        assert_eq!(on_l1d, "l1d.writeback_is_use: only l2 receives write-backs");
        assert_eq!(broken(|c| c.l2.prefetcher = next(0)), "l2.prefetcher.degree is 0: expected at least 1");
        assert_eq!(
            broken(|c| (c.l1d.prefetcher, c.l1d.mshrs) = (next(1), 1)),
            "l1d.mshrs, with a prefetcher, is 1: expected at least 2"
        );
        assert_eq!(
            broken(|c| c.l2.prefetcher = Some(PrefetcherConfig::Stride { degree: 1, entries: 2 })),
            "l2.prefetcher.stride.entries is 2: expected a power of two from 4"
        );
        assert_eq!(
            broken(|c| c.l2.prefetcher = Some(PrefetcherConfig::Stream { degree: 2, distance: 20, pages: 0 })),
            "l2.prefetcher.stream.pages is 0: expected at least 1"
        );
        assert!(broken(|c| c.l1d.ways = 0).starts_with("l1d: 768 entries in 0 ways"));
        assert!(broken(|c| c.l1d.ways = 10).starts_with("l1d: 768 entries in 10 ways make 76 sets"));
        assert!(broken(|c| c.stlb.entries = 1_536).starts_with("stlb: 1536 entries in 16 ways make 96 sets"));
        assert!(broken(|c| c.predictor.direction_entries = 1_000).starts_with("predictor.direction_entries is 1000"));
    }
}
