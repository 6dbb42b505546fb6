//! The result record of a run, complete enough to repeat the run.

use crate::footprint::Footprint;
use crate::not_compared::NotCompared;
use crate::sampling::{Detail, Sampling};
use crate::start::StartState;
use catalogue::{Design, Machine};
use chip::LlcCounts;
use chip::feed::FeedCounts;
use chip::load_values::LoadValues;
use chip::predictability::Predicted;
use chip::waits::LostCycleTotals;
use chip::word_counts::FrequentWord;
use enum_map::EnumMap;
use machine::dram::DramCounts;
use machine::node::{FenceCounts, NodeCounts, PersistCounts};
use machine::observer::ObserverCounts;
use protection::execution::{Histogram, ReadCounts, ReadPart, TimedCounts, WindowCounts};
use protection::moving::MovingCounts;
use protection::on_chip::{CopyCounts, MetadataCacheCounts};
use protection::scheme::{Computed, CountersFound, Release, Renewals};
use protection::slot::MetadataCacheKind;
use protection::speculation::SpeculationCounts;
use protection::verbs::Fault;
use serde::Serialize;
use sha2::{Digest, Sha256};
use units::{Clock, Duration};
use workload::Origin;

/// Version of the format of the record.
pub const SCHEMA: u32 = 1;

/// All inputs that determine a run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Configuration {
    /// Version of Casemate that ran.
    pub version: String,
    /// The machine, with the value of every key.
    pub machine: Machine,
    /// The design, with the value of every key.
    pub design: Design,
    /// Seed of the keys, of the page placement, and of the encryption counters of an aged machine.
    pub seed: u64,
    /// State of the chip and of memory at the start of the run.
    #[serde(flatten)]
    pub start: StartState,
    /// Maximum number of instructions of each program.
    pub budget: u64,
    /// Instructions of each program before the statistics begin (warm-up). They are part of the budget.
    pub warm_up: u64,
    /// Part of the run that is simulated in detail.
    pub detail: Detail,
    /// The first or only program.
    pub workload: Origin,
    /// The programs that ran at the same time.
    #[serde(rename = "beside", skip_serializing_if = "Vec::is_empty")]
    pub other_programs: Vec<Origin>,
}

impl Configuration {
    /// SHA-256 of the configuration as JSON, in hexadecimal: equal configurations have equal hashes. The hash excludes
    /// two fields: the way in which the program finished, and the number of restarts of a trace.
    pub fn hash(&self) -> String {
        let mut frozen = self.clone();
        let programs = std::iter::once(&mut frozen.workload).chain(&mut frozen.other_programs);
        programs.for_each(|program| (program.finish, program.restarts) = (workload::Finish::Running, 0));
        let text = serde_json::to_vec(&frozen).unwrap_or_default();
        Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Latency of reads, from their arrival at the memory controller to the release of the line or of the requested words.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ReadTimes {
    /// Number of lines that were read.
    pub lines: u64,
    /// Mean latency, in nanoseconds.
    pub mean_ns: f64,
    /// Median latency, in nanoseconds, exact to one part in 32.
    pub median_ns: f64,
    /// 99th percentile of the latency, in nanoseconds, with the same accuracy.
    pub p99_ns: f64,
    /// The mean latency, split by cause, in nanoseconds.
    pub parts_ns: EnumMap<ReadPart, f64>,
    /// Number of reads in each bucket, with the end of the bucket in femtoseconds; absent for an interval of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Box<Histogram>>,
}

impl ReadTimes {
    /// Computes the figures from the counts; `None` if no line was read.
    pub fn of(counted: &ReadCounts) -> Option<ReadTimes> {
        let mean_ns = |sum_fs: u64| sum_fs as f64 / 1e6 / counted.lines as f64;
        let permille = |permille| counted.histogram.permille(permille).map(|latency| latency.as_fs() as f64 / 1e6);
        Some(ReadTimes {
            lines: counted.lines,
            mean_ns: mean_ns(counted.total_fs),
            median_ns: permille(500)?,
            p99_ns: permille(990)?,
            parts_ns: EnumMap::from_fn(|part| mean_ns(counted.parts_fs.of(part))),
            histogram: Some(Box::new(counted.histogram)),
        })
    }

    /// The same figures without the histogram, to save memory.
    pub(crate) fn without_histogram(self) -> ReadTimes {
        ReadTimes { histogram: None, ..self }
    }
}

/// Computes the instructions per cycle.
pub(crate) fn ipc(instructions: u64, cycles: u64) -> f64 {
    instructions as f64 / cycles.max(1) as f64
}

/// The mean time from a miss of the last-level cache to the released line, in nanoseconds.
pub(crate) fn read_latency_ns(llc: &LlcCounts) -> f64 {
    llc.miss_latency_fs as f64 / 1e6 / llc.misses.max(1) as f64
}

/// The cycles of all cores, summed, by use: at work, idle, switching processes, or waiting for lines.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CoreTime {
    /// Cycles of all cores together.
    pub cycles: u64,
    /// Cycles that would be the same with any memory latency: all cycles except the idle, switching and waiting cycles.
    pub at_work_cycles: f64,
    /// Cycles of cores that had no instruction to execute, because other cores had to execute their part of the program
    /// first.
    pub idle_cycles: f64,
    /// Cycles in which a core switched from one process to another.
    pub switching_cycles: f64,
    /// Cycles without a retirement because the core waited for a line, by the part of the line's trip from memory.
    pub waiting_cycles: EnumMap<ReadPart, f64>,
}

impl CoreTime {
    /// Converts the counted times to cycles of this clock.
    pub fn of(counted: &LostCycleTotals, clock: Clock) -> CoreTime {
        let in_cycles = |fs: u64| fs as f64 / clock.period().as_fs() as f64;
        let LostCycleTotals { cycles, idle_fs, switching_fs, parts } = *counted;
        let (idle_cycles, switching_cycles) = (in_cycles(idle_fs), in_cycles(switching_fs));
        let at_work_cycles = cycles as f64 - idle_cycles - switching_cycles - in_cycles(parts.total());
        let waiting_cycles = EnumMap::from_fn(|part| in_cycles(parts.of(part)));
        CoreTime { cycles, at_work_cycles, idle_cycles, switching_cycles, waiting_cycles }
    }
}

/// The time from the release of lines to their verdicts.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct UnverifiedWindow {
    /// Number of lines that were released before their verdict.
    pub lines: u64,
    /// Mean time from the release of a line to its verdict, in nanoseconds.
    pub mean_ns: f64,
    /// The longest of these times in the whole run, in nanoseconds.
    pub longest_ns: f64,
    /// Writes that waited for verdicts.
    pub writes_held: u64,
    /// Mean time that these writes waited, in nanoseconds.
    pub mean_hold_ns: f64,
}

impl UnverifiedWindow {
    /// Computes the figures from the counts; `None` if the design releases lines only after verification.
    pub fn of(release: Release, counted: &WindowCounts, longest: Duration) -> Option<UnverifiedWindow> {
        let mean_ns = |sum_fs: u64, number: u64| sum_fs as f64 / 1e6 / number.max(1) as f64;
        (release == Release::Speculative).then(|| UnverifiedWindow {
            lines: counted.windows,
            mean_ns: mean_ns(counted.open_fs, counted.windows),
            longest_ns: longest.as_fs() as f64 / 1e6,
            writes_held: counted.writes_held,
            mean_hold_ns: mean_ns(counted.held_fs, counted.writes_held),
        })
    }
}

/// One interval of a run. Each field is defined like the field of the same name in [`Record`], but covers only this
/// interval. A total in the record is therefore the sum over all intervals.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Interval {
    /// Instructions of all programs together before the interval, including the untimed start and the warm-up.
    pub start: u64,
    /// Start of the interval from power-on, in femtoseconds: the latest retirement known at that moment.
    pub start_fs: u64,
    /// Number of simulated instructions.
    pub instructions: u64,
    /// Core cycles from the latest retirement known at the start of the interval to the latest retirement known at its
    /// end.
    pub cycles: u64,
    /// The same duration in femtoseconds.
    pub time_fs: u64,
    /// Instructions per cycle, of all cores together.
    pub ipc: f64,
    /// Mean time from the last-level cache's miss to the released line, in nanoseconds.
    pub read_latency_ns: f64,
    /// Latency of reads at the memory controller by cause; absent if the interval has no read.
    pub reads: Option<ReadTimes>,
    /// All DRAM reads and writes, in bytes.
    pub dram_bytes: u64,
    /// Cycles of the cores by use.
    pub core_time: CoreTime,
    /// Statistics of all cores and their private caches, summed.
    pub node: NodeCounts,
    /// Statistics of the persist buffers, if the design has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persist_buffer: Option<PersistCounts>,
    /// Statistics of the last-level cache.
    pub llc: LlcCounts,
    /// Statistics of the timed protection engine.
    pub protection: TimedCounts,
    /// Statistics of the metadata caches: encryption counters, tags, tree nodes, bitmaps.
    pub metadata_caches: [MetadataCacheCounts; MetadataCacheKind::COUNT],
    /// Work caused by overflows of encryption counters of data and of counters in the tree.
    pub renewals: Renewals,
    /// Predictability of lines and outcome of the design's speculation; absent if the design does not speculate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speculation: Option<SpeculationCounts>,
    /// Statistics of permutations; absent if the design does not permute lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moving: Option<MovingCounts>,
    /// Statistics of all memory channels, summed.
    pub dram: DramCounts,
}

/// Results of the built-in checks of a run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Checks {
    /// Comparison of every line that was read from memory with the line that had been written.
    pub lines: ObserverCounts,
    /// Lines whose latest content was neither in memory nor in a cache at the end of the run.
    pub lines_lost: u64,
    /// Lines that the chip held only as ciphertext, because the L2 that had decrypted them had dropped its copy.
    pub lines_stranded: u64,
    /// Reported tampering, although the run has no attacker.
    pub false_alarm: Option<Fault>,
    /// True if a pad encrypted two texts; absent if the ledger was off.
    pub pad_reused: Option<bool>,
    /// Check of the modelled speculation against candidates that the simulator really encrypted; absent if the design
    /// does not speculate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<CandidateCheck>,
    /// The values that the program loaded, if they were recorded.
    pub load_values: Option<LoadValues>,
    /// Number of compared load values, for each program.
    #[serde(skip)]
    pub compared: Vec<u64>,
    /// Programs without a compared load value, if the user requested the comparison.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<NotCompared>,
    /// True if all checks above passed and at least one line was compared.
    pub passed: bool,
}

impl Record {
    /// Requires that load values of every program were compared; the check fails otherwise.
    pub fn require_values(&mut self) {
        let Configuration { workload, other_programs, .. } = &self.configuration;
        let programs = std::iter::once(workload).chain(other_programs).zip(&self.checks.compared);
        let without = programs.filter(|(_, compared)| **compared == 0);
        self.checks.not_compared = without.map(|(origin, _)| NotCompared::of(origin)).collect();
        self.checks.passed &= self.checks.not_compared.is_empty();
    }
}

/// Check of the speculation: for a sample of lines, the simulator encrypts all candidates and compares the outcome with
/// the modelled outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct CandidateCheck {
    /// Lines for which the simulator encrypted all candidates.
    pub lines: u64,
    /// Chunks of these lines for which the encryption gave another outcome than the model.
    pub disagreeing: u64,
}

/// Cost of the simulation on the computer that executed it; not part of the simulated result.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct HostFigures {
    /// Name of the build of Casemate: [`units::BUILT_AS`]. Results do not depend on it, but the other figures here do.
    pub built_as: &'static str,
    /// Duration of the simulation in wall-clock seconds.
    pub seconds: f64,
    /// Simulated instructions per wall-clock second.
    pub instructions_per_second: f64,
    /// Memory that the simulated media, the shadow and the observer occupied, in bytes.
    pub simulated_memory_bytes: u64,
    /// Cryptographic operations that the simulator computed. The instruction set of the computer determines how many of
    /// them were computed in pairs.
    pub computed: Computed,
}

/// The result of one run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Record {
    /// Version of the format: [`SCHEMA`].
    pub schema: u32,
    /// All inputs that determined the run.
    pub configuration: Configuration,
    /// Hash of the configuration: [`Configuration::hash`].
    pub configuration_hash: String,
    /// Simulated instructions after the untimed start and the warm-up. Cycles, time and all statistics cover these instructions, except the
    /// fields `feed` and `checks`.
    pub instructions: u64,
    /// Core cycles from the latest retirement known when counting began to the last retirement of any core. For a sampled run, the estimate
    /// of the sample.
    pub cycles: u64,
    /// Simulated time in femtoseconds; for a sampled run, the estimate of the sample.
    pub time_fs: u64,
    /// Instructions per cycle, of all cores together.
    pub ipc: f64,
    /// The cores' cycles by use.
    pub core_time: CoreTime,
    /// Mean time from the last-level cache's miss to the released line, in nanoseconds.
    pub read_latency_ns: f64,
    /// Latency of reads at the memory controller by cause; absent if there was no read.
    pub reads: Option<ReadTimes>,
    /// All DRAM reads and writes, in bytes.
    pub dram_bytes: u64,
    /// Events of the program, including those of the warm-up.
    pub feed: FeedCounts,
    /// All cores and their private caches together. For a sampled run, this field and all later counts, up to those of memory, cover only
    /// the measured units.
    pub node: NodeCounts,
    /// Statistics of each core and its private caches.
    pub cores: Vec<NodeCounts>,
    /// Statistics of the last-level cache.
    pub llc: LlcCounts,
    /// Statistics of the timed protection engine.
    pub protection: TimedCounts,
    /// Statistics of the metadata caches: encryption counters, tags, tree nodes, bitmaps.
    pub metadata_caches: [MetadataCacheCounts; MetadataCacheKind::COUNT],
    /// Places where the encryption counters for lines read from memory were found; absent if the design has no
    /// counters.
    pub counters_found: Option<CountersFound>,
    /// Work caused by overflows of encryption counters of data and of counters in the tree.
    pub renewals: Renewals,
    /// Look-ups of counter lines in the last-level cache; absent if this cache does not hold counters under the design.
    pub counters_in_llc: Option<MetadataCacheCounts>,
    /// Look-ups of tree nodes in the last-level cache; absent if this cache does not hold nodes under the design.
    pub nodes_in_llc: Option<MetadataCacheCounts>,
    /// Statistics of the copies of encryption counters in L2s; absent unless L2s decrypt and verify reads with these
    /// copies (EMCC).
    pub counters_in_l2: Option<CopyCounts>,
    /// Time from the release of lines to their verdicts; absent unless the design releases lines before verification.
    pub unverified_window: Option<UnverifiedWindow>,
    /// Statistics of the persist buffers; absent for a design without buffers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persist_buffer: Option<PersistCounts>,
    /// Statistics of the flushes and fences of the programs; absent for programs without them, and if the design
    /// ignores them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<FenceCounts>,
    /// Predictability of lines and outcome of the design's speculation; absent if the design does not speculate. For a sampled run, this
    /// includes lines that arrived during warming.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speculation: Option<SpeculationCounts>,
    /// Statistics of permutations; absent if the design does not permute lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moving: Option<MovingCounts>,
    /// Statistics of all memory channels, summed.
    pub dram: DramCounts,
    /// Size of metadata in memory and on the chip.
    pub footprint: Footprint,
    /// Time from the arrival of a line to the end of its check, on an idle machine with all metadata on the chip, in
    /// nanoseconds; absent for a design without tags of data.
    pub check_ns: Option<f64>,
    /// Results of the built-in checks of the run.
    pub checks: Checks,
    /// The sample from which the results are estimated; absent if every instruction was simulated in detail.
    pub sampling: Option<Sampling>,
    /// The results for each interval of the run; absent unless the user requested intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Vec<Interval>>,
    /// Predictions of each table of frequent values for the lines that arrived from memory; empty if no table watched. For a sampled run,
    /// this includes lines that arrived during warming.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub predicted: Vec<Predicted>,
    /// Words that were most frequent in lines to and from memory, also during the warm-up; empty if no table watched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frequent_words: Vec<FrequentWord>,
    /// Number of events on the simulated clock.
    pub events: u64,
    /// Hash of all events, in hexadecimal: two runs are identical if their hashes are equal.
    pub event_hash: String,
    /// Known weaknesses of the design.
    pub weaknesses: Vec<&'static str>,
    /// Cost of the simulation on the computer that ran it.
    pub host: HostFigures,
}
