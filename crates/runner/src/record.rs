//! The result record: one for each run, complete enough to do the run again.

use crate::not_compared::NotCompared;
use crate::sampling::{Detail, Sampling};
use catalogue::{Design, Machine};
use chip::LlcCounters;
use chip::feed::FeedCounters;
use chip::load_values::LoadValues;
use chip::predictability::Predicted;
use chip::waits::Waits;
use enum_map::EnumMap;
use machine::dram::DramCounters;
use machine::node::{EpochCounters, NodeCounters, PersistCounters};
use machine::observer::ObserverCounters;
use protection::counter::StartingAge;
use protection::execution::{Histogram, ReadCounters, ReadPart, TimedCounters, WindowCounters};
use protection::moving::MovingCounters;
use protection::on_chip::{CacheCounters, CopyCounters};
use protection::scheme::{Computed, CountersFound, Release, Renewals};
use protection::slot::Kind;
use protection::speculation::SpeculationCounters;
use protection::verbs::Fault;
use serde::Serialize;
use sha2::{Digest, Sha256};
use units::{Clock, Duration};
use workload::Origin;

/// The version of this record's form.
pub const SCHEMA: u32 = 1;

/// Everything that decides a run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Configuration {
    /// Casemate's version.
    pub version: String,
    /// The machine, with every value.
    pub machine: Machine,
    /// The design, with every value.
    pub design: Design,
    /// Seeds keys, page placement and the counters of an aged machine.
    pub seed: u64,
    /// How old the counters of data were when it began.
    pub age: StartingAge,
    /// The most instructions of each program to run.
    pub budget: u64,
    /// How many of these, of each program, went before counting began.
    pub warm_up: u64,
    /// How much of it is in detail.
    pub detail: Detail,
    /// The program.
    pub workload: Origin,
    /// The programs that ran with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Origin>,
}

impl Configuration {
    /// SHA-256 of the configuration as JSON, in hexadecimal: equal configurations, equal hash. How the program finished
    /// and how often a trace started again is not part of it.
    pub fn hash(&self) -> String {
        let mut frozen = self.clone();
        let programs = std::iter::once(&mut frozen.workload).chain(&mut frozen.beside);
        programs.for_each(|program| (program.finish, program.restarts) = (workload::Finish::Running, 0));
        let text = serde_json::to_vec(&frozen).unwrap_or_default();
        Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Where metadata lies and what it costs in memory.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Footprint {
    /// Physical memory in use by the program, in bytes.
    pub program_bytes: u64,
    /// Metadata in percent of protected memory, by the layout.
    pub metadata_percent: f64,
    /// Metadata caches on the chip, in bytes.
    pub metadata_cache_bytes: u64,
}

/// What reads took from the memory controller's door to the release of the line, or of the words that were asked for.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ReadTimes {
    /// Lines.
    pub lines: u64,
    /// In the mean, in nanoseconds.
    pub mean_ns: f64,
    /// What half of them did not exceed, to within a thirty-second part, in nanoseconds.
    pub median_ns: f64,
    /// What 99 in 100 did not exceed, likewise.
    pub p99_ns: f64,
    /// What the mean is made of, in nanoseconds.
    pub parts_ns: EnumMap<ReadPart, f64>,
    /// How many ended in each bucket, by its end in femtoseconds; an interval has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Box<Histogram>>,
}

impl ReadTimes {
    /// From what was counted; nothing if no line was read.
    pub fn of(counted: &ReadCounters) -> Option<ReadTimes> {
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

    /// The same with less to keep.
    pub(crate) fn without_histogram(self) -> ReadTimes {
        ReadTimes { histogram: None, ..self }
    }
}

/// Instructions per cycle.
pub(crate) fn ipc(instructions: u64, cycles: u64) -> f64 {
    instructions as f64 / cycles.max(1) as f64
}

/// The mean time from a miss of the last-level cache to the released line, in nanoseconds.
pub(crate) fn read_latency_ns(llc: &LlcCounters) -> f64 {
    llc.miss_latency_fs as f64 / 1e6 / llc.misses.max(1) as f64
}

/// What the cores' cycles were for, all cores together: at work, idle, or waiting for lines.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CoreTime {
    /// All of them.
    pub cycles: u64,
    /// Those in which instructions retired, or would have with whatever speed of memory.
    pub at_work_cycles: f64,
    /// Those without anything to execute, because other cores' part of the program had to come first.
    pub idle_cycles: f64,
    /// Those in which a core was switched from one process to another.
    pub switching_cycles: f64,
    /// Those in which nothing retired because a line was awaited, by what its trip from memory was taken up with.
    pub waiting_cycles: EnumMap<ReadPart, f64>,
}

impl CoreTime {
    /// From what was counted, of cores with this clock.
    pub fn of(counted: &Waits, clock: Clock) -> CoreTime {
        let in_cycles = |fs: u64| fs as f64 / clock.period().as_fs() as f64;
        let Waits { cycles, idle_fs, switching_fs, parts } = *counted;
        let (idle_cycles, switching_cycles) = (in_cycles(idle_fs), in_cycles(switching_fs));
        let at_work_cycles = cycles as f64 - idle_cycles - switching_cycles - in_cycles(parts.total());
        let waiting_cycles = EnumMap::from_fn(|part| in_cycles(parts.of(part)));
        CoreTime { cycles, at_work_cycles, idle_cycles, switching_cycles, waiting_cycles }
    }
}

/// The time from the release of lines to their verdicts.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct UnverifiedWindow {
    /// Lines.
    pub lines: u64,
    /// In the mean, in nanoseconds.
    pub mean_ns: f64,
    /// The longest of the whole run, in nanoseconds.
    pub longest_ns: f64,
    /// Writes that waited for verdicts.
    pub writes_held: u64,
    /// How long these waited in the mean, in nanoseconds.
    pub mean_hold_ns: f64,
}

impl UnverifiedWindow {
    /// From what was counted; nothing if lines are released when they are verified.
    pub fn of(release: Release, counted: &WindowCounters, longest: Duration) -> Option<UnverifiedWindow> {
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

/// A part of a run between two of its moments. The figures are the record's of the same name, of this part alone, so that what is
/// a sum there is the sum over all intervals.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Interval {
    /// After how many instructions it began, of all programs together, those of the warm-up included.
    pub start: u64,
    /// When that was, from power-on, in femtoseconds: at the latest retirement that was known.
    pub start_fs: u64,
    /// Simulated instructions.
    pub instructions: u64,
    /// Core cycles from the latest retirement known at its beginning to that at its end.
    pub cycles: u64,
    /// The same in femtoseconds.
    pub time_fs: u64,
    /// Instructions per cycle, of all cores together.
    pub ipc: f64,
    /// Mean time from the last-level cache's miss to the released line, in nanoseconds.
    pub read_latency_ns: f64,
    /// What reads took at the memory controller, and what for; nothing without a read.
    pub reads: Option<ReadTimes>,
    /// All DRAM reads and writes, in bytes.
    pub dram_bytes: u64,
    /// What the cores' cycles were for.
    pub core_time: CoreTime,
    /// All cores and their private caches together.
    pub node: NodeCounters,
    /// The cores' persist buffers, if the design has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persist_buffer: Option<PersistCounters>,
    /// The last-level cache.
    pub llc: LlcCounters,
    /// What protection did.
    pub protection: TimedCounters,
    /// The counter, tag, node and bitmap caches.
    pub metadata_caches: [CacheCounters; Kind::CACHES],
    /// What followed overflows of counters, of data and in the tree.
    pub renewals: Renewals,
    /// How predictable lines were to the design's speculation and what came of it, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speculation: Option<SpeculationCounters>,
    /// What permutations moved, where lines move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moving: Option<MovingCounters>,
    /// All memory channels together.
    pub dram: DramCounters,
}

/// The built-in check of a run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Checks {
    /// Every line that came up from memory against what had gone down.
    pub lines: ObserverCounters,
    /// Lines whose latest content was at the end neither in memory nor in a cache.
    pub lines_lost: u64,
    /// Lines of which the chip had nothing but ciphertext, since the L2 that had decrypted them had lost its copy.
    pub lines_stranded: u64,
    /// Tampering that was reported, though there was no attacker.
    pub false_alarm: Option<Fault>,
    /// Whether any pad hid two texts; absent if the ledger was off.
    pub pad_reused: Option<bool>,
    /// Candidates of a speculation that were really encrypted; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<CandidateCheck>,
    /// The values that the program loaded, if they were recorded.
    pub load_values: Option<LoadValues>,
    /// Loads whose value was compared, of each program.
    #[serde(skip)]
    pub compared: Vec<u64>,
    /// The programs of which no load value was compared, if their comparison was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<NotCompared>,
    /// Whether everything above is as it must be, and something was compared at all.
    pub passed: bool,
}

impl Record {
    /// Requires that load values of every program were compared: the check has not passed where they were not.
    pub fn require_values(&mut self) {
        let Configuration { workload, beside, .. } = &self.configuration;
        let programs = std::iter::once(workload).chain(beside).zip(&self.checks.compared);
        let without = programs.filter(|(_, compared)| **compared == 0);
        self.checks.not_compared = without.map(|(origin, _)| NotCompared::of(origin)).collect();
        self.checks.passed &= self.checks.not_compared.is_empty();
    }
}

/// Candidates of a speculation against what a permutation says of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct CandidateCheck {
    /// Lines of which all were really encrypted.
    pub lines: u64,
    /// Chunks of these of which that gave another outcome.
    pub disagreeing: u64,
}

/// What depends on the computer that simulated, and so is not part of the result.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Host {
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Simulated instructions per wall-clock second.
    pub instructions_per_second: f64,
    /// Bytes that memory, shadow and observer took.
    pub simulated_memory_bytes: u64,
    /// Cryptography computed. In pairs is what this computer has instructions for.
    pub computed: Computed,
}

/// One run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Everything that decided the run.
    pub configuration: Configuration,
    /// [`Configuration::hash`].
    pub configuration_hash: String,
    /// Simulated instructions, after the warm-up: cycles, time and all counts but those of the feed and the check are of
    /// these.
    pub instructions: u64,
    /// Core cycles until the last core had retired everything, from the latest retirement known when counting began; of a
    /// sampled run, as the sample says.
    pub cycles: u64,
    /// Simulated time in femtoseconds; of a sampled run, as the sample says.
    pub time_fs: u64,
    /// Instructions per cycle, of all cores together.
    pub ipc: f64,
    /// What the cores' cycles were for.
    pub core_time: CoreTime,
    /// Mean time from the last-level cache's miss to the released line, in nanoseconds.
    pub read_latency_ns: f64,
    /// What reads took at the memory controller, and what for; nothing without a read.
    pub reads: Option<ReadTimes>,
    /// All DRAM reads and writes, in bytes.
    pub dram_bytes: u64,
    /// The program's events, those of the warm-up included.
    pub feed: FeedCounters,
    /// All cores and their private caches together. Of a sampled run this and all further counts, up to the memory's, are
    /// about the measured units alone.
    pub node: NodeCounters,
    /// Each core and its private caches.
    pub cores: Vec<NodeCounters>,
    /// The last-level cache.
    pub llc: LlcCounters,
    /// What protection did.
    pub protection: TimedCounters,
    /// The counter, tag, node and bitmap caches.
    pub metadata_caches: [CacheCounters; Kind::CACHES],
    /// Where the counters of data that came from memory were found, where there are counters.
    pub counters_found: Option<CountersFound>,
    /// What followed overflows of counters, of data and in the tree.
    pub renewals: Renewals,
    /// Lines of counters looked for in the last-level cache, where the design keeps them there too.
    pub counters_in_llc: Option<CacheCounters>,
    /// Nodes of the tree looked for there, where they go on as well.
    pub nodes_in_llc: Option<CacheCounters>,
    /// Copies of counters in L2s, where those begin reads.
    pub counters_in_l2: Option<CopyCounters>,
    /// How long lines were used before their verdicts, where the design lets them be.
    pub unverified_window: Option<UnverifiedWindow>,
    /// Stores into the cores' persist buffers, where the design has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persist_buffer: Option<PersistCounters>,
    /// What programs flushed and fenced, if they did and that does anything under the design.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<EpochCounters>,
    /// How predictable lines were to the design's speculation and what came of it, if it has one. Of a sampled run, also of those
    /// that came while it was warmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speculation: Option<SpeculationCounters>,
    /// What permutations moved, where lines move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moving: Option<MovingCounters>,
    /// All memory channels together.
    pub dram: DramCounters,
    /// What it takes in memory.
    pub footprint: Footprint,
    /// The built-in check.
    pub checks: Checks,
    /// The sample that the figures come from; nothing if everything was in detail.
    pub sampling: Option<Sampling>,
    /// The run by interval, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Vec<Interval>>,
    /// What each table of frequent values would have predicted of the lines that came from memory, if any watched; of a sampled
    /// run, also of those that came while it was warmed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub predicted: Vec<Predicted>,
    /// Events on the simulated clock.
    pub events: u64,
    /// Condenses all events: two runs are the same if it is the same. In hexadecimal.
    pub event_hash: String,
    /// Weak choices of the design.
    pub weaknesses: Vec<&'static str>,
    /// How long the simulation itself took.
    pub host: Host,
}
