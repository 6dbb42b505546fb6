//! The content of a machine file.

mod at_l2;
mod clock_interrupt;
mod moving;
mod persistence;

pub use at_l2::{AesBandwidth, AtL2, OffBelow};
pub use clock_interrupt::ClockInterrupt;

use crate::error::ConfigError;
use crate::name;
use machine::cache::Replacement;
use machine::coherence::directory::CORES_MAX;
use machine::dram::DramConfig;
use machine::llc::Inclusion;
use machine::lookups::LookUpLimit;
use machine::memory::{DeviceConfig, Interleave, MemoryConfig, WordOrder};
use machine::miss_prediction::MissPrediction;
use machine::noc::{Network, NocConfig};
use machine::node::NodeConfig;
use machine::paging::PagePlacement;
use machine::pcm::PcmConfig;
use protection::design::{DataLines, MovingChip};
use protection::execution::{Engines, OverflowLimits};
use serde::{Deserialize, Serialize};
use units::{Bytes, Cycles, Duration, LINE_BYTES, LineLength};

/// Maximum size of the last-level cache. In the host's memory, its tag array occupies a quarter of this size.
const LLC_MAX: Bytes = Bytes(1 << 30);
/// Maximum number of MSHRs, and of write-back buffers, of the last-level cache.
const UNDER_WAY_MAX: usize = 4096;

/// The last-level cache and its latencies.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LlcConfig {
    /// Capacity of the cache.
    pub size: Bytes,
    /// Associativity of the cache.
    pub ways: usize,
    /// Replacement policy of the cache.
    #[serde(default)]
    pub replacement: Replacement,
    /// True if a write-back of an L2 to a line that this cache holds counts as a use of the line for replacement.
    #[serde(default = "is_use")]
    pub writeback_is_use: bool,
    /// Inclusion policy: whether lines of private caches must be, may be or are not in the last-level cache. Designs
    /// with counters in L2s need `victim` or `inclusive`.
    #[serde(default)]
    pub inclusion: Inclusion,
    /// Mean latency from an L2's miss to the answer of the last-level cache, in nanoseconds: the network both ways and
    /// the look-up.
    pub latency_ns: f64,
    /// Latency from the memory controller to the last-level cache and back with a line, in nanoseconds; by default
    /// `latency_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller_latency_ns: Option<f64>,
    /// Limit of the rate of look-ups, in core cycles, for misses and write-backs of the L2s; without it, look-ups are
    /// unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookups: Option<LookUpLimit>,
    /// Maximum number of lines that the last-level cache is fetching at once.
    pub mshrs: usize,
    /// Maximum number of lines that the last-level cache is writing back to memory at once.
    pub writeback_buffers: usize,
    /// How L2s predict misses of the last-level cache. They notify the memory controller of a predicted miss at once;
    /// without this key, they do not predict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miss_prediction: Option<MissPrediction>,
}

fn is_use() -> bool {
    true
}

impl LlcConfig {
    /// Number of sets of the cache, for lines of this length.
    pub fn sets(&self, line: LineLength) -> usize {
        self.size.0 as usize / line.bytes() / self.ways.max(1)
    }

    fn check(&self, line: LineLength) -> Result<(), String> {
        let LlcConfig { size, ways, latency_ns, .. } = *self;
        let (sets, bytes) = (self.sets(line), line.bytes());
        let whole = ways > 0 && sets.checked_mul(ways * bytes) == Some(size.0 as usize);
        if !whole || !sets.is_power_of_two() || ways > usize::from(u16::MAX) || size > LLC_MAX {
            return Err(format!(
                "llc: size \"{size}\" in {ways} ways of {bytes} B lines makes {sets} sets: expected a power of two, \
                 without remainder, and at most {LLC_MAX}"
            ));
        }
        self.lookups.map_or(Ok(()), |limit| limit.check("llc.lookups"))?;
        for (name, found) in [("mshrs", self.mshrs), ("writeback_buffers", self.writeback_buffers)] {
            if !(1..=UNDER_WAY_MAX).contains(&found) {
                return Err(format!("llc.{name} is {found}: expected 1 to {UNDER_WAY_MAX}"));
            }
        }
        for (name, found) in [("latency_ns", Some(latency_ns)), ("controller_latency_ns", self.controller_latency_ns)] {
            if let Some(found) = found.filter(|found| !(0.0..1e6).contains(found)) {
                return Err(format!("llc.{name} is {found}: expected 0 to 1000000"));
            }
        }
        Ok(())
    }
}

/// Physical memory as the operating system allocates it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Memory for programs, not including metadata.
    pub size: Bytes,
    /// Size of the pages that programs get: "4 KB", "8 KB" or "2 MB".
    pub page: Bytes,
    /// Line length of DRAM, the last-level cache and protection: "64 B", or "32 B" with a DRAM that has
    /// `bursts = "any"`. A metadata line always has 64 bytes.
    #[serde(default = "whole_line")]
    pub line: Bytes,
    /// Placement of pages in physical memory.
    #[serde(default)]
    pub placement: PagePlacement,
    /// Latency from the last-level cache to the memory controller and back, in nanoseconds.
    pub path_ns: f64,
    /// Number of memory channels, 1 to 8, each as in `[dram]` or `[pcm]`.
    #[serde(default = "one_channel")]
    pub channels: usize,
    /// Map from lines to memory channels.
    #[serde(default)]
    pub interleave: Interleave,
    /// Order in which the words of a line arrive and are passed to the core. True: the requested word arrives first,
    /// and the core may use words before the line is complete, unless a step needs the whole line. False: the core gets
    /// only whole lines. "from-first": words arrive from the first word on, but the core gets the whole line.
    #[serde(default)]
    pub critical_word_first: WordOrder,
    /// Limits on concurrent re-encryption after overflows of encryption counters; by default unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overflows: Option<OverflowLimits>,
}

/// Maximum number of lines under one tag. They are re-encrypted together, so they need entries of the queue at the same
/// time.
const REENCRYPTED_TOGETHER: usize = 4;

impl Memory {
    fn check_overflows(&self) -> Result<(), String> {
        let Some(OverflowLimits { outstanding, slots }) = self.overflows else { return Ok(()) };
        if outstanding == 0 {
            return Err("memory.overflows.outstanding is 0: expected at least 1".to_owned());
        }
        if slots < REENCRYPTED_TOGETHER {
            return Err(format!(
                "memory.overflows.slots is {slots}: expected at least {REENCRYPTED_TOGETHER}, the most lines under one \
                 tag"
            ));
        }
        Ok(())
    }
}

fn whole_line() -> Bytes {
    Bytes(LineLength::WHOLE.bytes() as u64)
}

fn one_channel() -> usize {
    1
}

fn one_core() -> usize {
    1
}

/// A machine with all its parts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name of the machine, which is also the name of its file.
    pub name: String,
    /// Description of the machine, in a sentence.
    pub summary: String,
    /// Number of cores, 1 to 8, each as in `[node]`.
    #[serde(default = "one_core")]
    pub cores: usize,
    /// A core with its private caches; all cores are identical.
    pub node: NodeConfig,
    /// The last-level cache, which all cores share.
    pub llc: LlcConfig,
    /// On-chip network between cores and the last-level cache; without it, all distances are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noc: Option<NocConfig>,
    /// Physical memory of the machine.
    pub memory: Memory,
    /// A memory channel of DRAM; the file must have exactly one of this table and `pcm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dram: Option<DramConfig>,
    /// A memory channel of phase-change memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcm: Option<PcmConfig>,
    /// The cryptographic units of the memory controller.
    pub engines: Engines,
    /// AES units and counter look-up in L2s, for designs in which L2s decrypt and verify lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_l2: Option<AtL2>,
    /// Cycles of the operating system's handler of a TLB miss, without the instructions LoadNode and HashCheck. For
    /// designs in which the operating system loads page chunk records; 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_walk_cycles: Option<u64>,
    /// Clock interrupts of the operating system, one every `every_us` microseconds. Each interrupt costs `away_cycles`
    /// cycles in addition to the process switch. Without this table, a run has no interrupts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_interrupt: Option<ClockInterrupt>,
}

impl Machine {
    /// Reads the text of a machine file.
    ///
    /// # Errors
    /// [`ConfigError`] with the line and the key that are wrong, or with the rule that the values break.
    pub fn parse(file: &str, text: &str) -> Result<Machine, ConfigError> {
        let mut machine: Machine =
            toml::from_str(text).map_err(|error| ConfigError::syntax::<Machine>(file, text, &error))?;
        machine.node.memory_line = machine.line_length();
        machine.check().map_err(|rule| ConfigError::Rule { file: file.to_owned(), rule })?;
        Ok(machine)
    }

    /// Length of the machine's memory lines; 64 bytes for a length that [`Machine::parse`] refuses.
    pub fn line_length(&self) -> LineLength {
        LineLength::of(self.memory.line).unwrap_or_default()
    }

    /// The lines of the machine's memory that programs may use.
    pub fn data_lines(&self) -> DataLines {
        let length = self.line_length();
        DataLines { count: length.lines_in(self.memory.size), length }
    }

    /// Configuration of the machine's memory, with all channels.
    ///
    /// # Panics
    /// If the machine does not have exactly one of `dram` and `pcm`, which [`Machine::parse`] refuses.
    pub fn memory_config(&self) -> MemoryConfig {
        let device = self.device().unwrap_or_else(|rule| panic!("{rule}"));
        let Memory { channels, interleave, critical_word_first: words, .. } = self.memory;
        MemoryConfig { channels, interleave, words, device, line: self.line_length() }
    }

    /// The network between the cores and the last-level cache.
    pub fn network(&self) -> Network {
        let latency = self.llc.latency_ns;
        self.noc.as_ref().map_or_else(|| Network::uniform(latency, self.cores), |noc| Network::mesh(noc, latency))
    }

    /// Latency of the memory controller's look-ups in the last-level cache. The controller is a station of the same network as the cores,
    /// so its mean latency is the same as theirs (EMCC, MICRO 2022, section III).
    pub fn last_level_look_up(&self) -> Duration {
        Duration::from_ns_f64(self.llc.controller_latency_ns.unwrap_or(self.llc.latency_ns))
    }

    /// One-way latency between the last-level cache and the memory controller.
    pub fn path(&self) -> Duration {
        Duration::from_ns_f64(self.memory.path_ns / 2.0)
    }

    /// Number of entries of the TLBs of all cores.
    pub fn translations(&self) -> usize {
        [&self.node.itlb, &self.node.dtlb, &self.node.stlb].iter().map(|tlb| tlb.entries).sum::<usize>() * self.cores
    }

    /// Sizes of the chip that its storage for permuted lines depends on.
    pub fn moving_chip(&self) -> MovingChip {
        MovingChip {
            translations: self.translations(),
            last_level_lines: self.llc.size.0 / self.memory.line.0,
            permutations: self.memory.overflows.map(|limits| limits.outstanding),
        }
    }

    /// Latency of a look-up of a data line in a core's L2.
    pub fn l2_look_up(&self) -> Duration {
        self.node.clock_mhz.clock().span(Cycles(self.node.l2.latency_cycles))
    }

    /// Time of the operating system's handler of a TLB miss, without its instructions that load a record.
    pub fn os_walk(&self) -> Duration {
        self.node.clock_mhz.clock().span(Cycles(self.os_walk_cycles.unwrap_or(0)))
    }

    /// Mean one-way latency between a core and the last-level cache, and the latency of the look-up in the cache.
    pub fn mean_way(&self) -> (Duration, Duration) {
        let look_up = self.noc.as_ref().map_or(0.0, |noc| noc.lookup_ns);
        let latency = Duration::from_ns_f64(self.llc.latency_ns);
        let way = Duration::from_ns_f64((self.llc.latency_ns - look_up) / 2.0);
        (way, Duration::from_fs(latency.as_fs() - 2 * way.as_fs()))
    }

    /// Mean one-way latency between two stations of the network: half of the controller's look-up latency of the
    /// last-level cache, without the time in the cache (EMCC, appendix).
    pub fn mean_hop(&self) -> Duration {
        let (_, look_up) = self.mean_way();
        Duration::from_fs((self.last_level_look_up().as_fs() - look_up.as_fs()) / 2)
    }

    fn device(&self) -> Result<DeviceConfig, String> {
        match (&self.dram, &self.pcm) {
            (Some(dram), None) => Ok(dram.clone().into()),
            (None, Some(pcm)) => Ok(pcm.clone().into()),
            (None, None) => Err("a machine needs a [dram] or a [pcm], and has neither".to_owned()),
            (Some(_), Some(_)) => Err("a machine needs a [dram] or a [pcm], and has both".to_owned()),
        }
    }

    fn check(&self) -> Result<(), String> {
        name::check(&self.name)?;
        if LineLength::of(self.memory.line).is_none() {
            return Err(format!("memory.line is \"{}\": expected \"64 B\" or \"32 B\"", self.memory.line));
        }
        self.node.check().map_err(|rule| format!("node.{rule}"))?;
        crate::times::check(self)?;
        self.device()?;
        let channels = self.memory_config();
        channels.check()?;
        let engines = &self.engines;
        engines.aes.check("aes")?;
        engines.tdes.map_or(Ok(()), |tdes| tdes.check("tdes"))?;
        for (name, engine) in [("mac", engines.mac), ("hash", engines.hash), ("metadata_cache", engines.metadata_cache)]
        {
            engine.check(name)?;
        }
        let times = [
            ("counter_decode_ns", engines.counter_decode_ns),
            ("candidates_ns", engines.candidates_ns),
            ("xor_ns", engines.xor_ns),
        ];
        for (name, found) in times.into_iter().filter_map(|(name, found)| Some((name, found?))) {
            if !(0.0..1e6).contains(&found) {
                return Err(format!("engines.{name} is {found}: expected 0 to 1000000"));
            }
        }
        self.llc.check(self.line_length())?;
        self.memory.check_overflows()?;
        self.clock_interrupt.map_or(Ok(()), |interrupt| interrupt.check(self))?;
        if !(1..=CORES_MAX).contains(&self.cores) {
            return Err(format!("cores is {}: expected 1 to {CORES_MAX}", self.cores));
        }
        self.at_l2.as_ref().map_or(Ok(()), |at_l2| at_l2.check(&engines.aes, self.cores))?;
        self.noc.as_ref().map_or(Ok(()), |noc| noc.check(self.cores, self.llc.latency_ns))?;
        let look_up = self.noc.as_ref().map_or(0.0, |noc| noc.lookup_ns);
        let from_controller = self.llc.controller_latency_ns.unwrap_or(self.llc.latency_ns);
        let rules = [
            (
                from_controller < look_up,
                format!("llc.controller_latency_ns is {from_controller}, less than noc.lookup_ns = {look_up}"),
            ),
            (
                !(0.0..1e6).contains(&self.memory.path_ns),
                format!("memory.path_ns is {}: expected 0 to 1000000", self.memory.path_ns),
            ),
            (
                ![4 << 10, 8 << 10, 2 << 20].contains(&self.memory.page.0),
                format!("memory.page is \"{}\": expected \"4 KB\", \"8 KB\" or \"2 MB\"", self.memory.page),
            ),
            (
                self.memory.page.0 == 8 << 10 && self.node.walker.is_some(),
                "memory.page is \"8 KB\": [node.walker] reads tables of pages of 4 KB or 2 MB".to_owned(),
            ),
            (
                self.memory.size.0 == 0 || !self.memory.size.0.is_multiple_of(2 << 20),
                format!("memory.size is \"{}\": expected a multiple of 2 MB", self.memory.size),
            ),
            (
                self.at_l2.is_some() && self.node.l2.line.0 != LINE_BYTES as u64,
                format!(
                    "node.l2.line is \"{}\": expected \"64 B\" with [at_l2], since its copies are lines of memory",
                    self.node.l2.line
                ),
            ),
            (
                self.memory.size.0 > channels.capacity(),
                format!(
                    "memory.size is \"{}\", more than the {} that its channels have",
                    self.memory.size,
                    Bytes(channels.capacity())
                ),
            ),
        ];
        rules.into_iter().find(|(broken, _)| *broken).map_or(Ok(()), |(_, rule)| Err(rule))
    }
}
