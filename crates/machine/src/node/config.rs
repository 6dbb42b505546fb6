//! What a core and its private caches are made of, as a machine file says it.

use crate::cache::Replacement;
use crate::lookups::LookUpLimit;
use crate::node::caches::prefetch::PrefetcherConfig;
use crate::persist::PersistBufferConfig;
use serde::{Deserialize, Serialize};
use units::{Bytes, Frequency, LINE_BYTES, LineLength};

/// A number of alike functional units.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionalUnit {
    /// How many there are.
    pub count: u8,
    /// Cycles from the start of the work to its result.
    pub latency_cycles: u64,
    /// Whether a unit starts something new in every cycle, or only when it is done.
    pub pipelined: bool,
}

/// The functional units by the class of work (`isa::Class`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionalUnits {
    /// Integer additions, logic, moves between registers.
    pub int_alu: FunctionalUnit,
    /// Integer multiplication.
    pub int_mul: FunctionalUnit,
    /// Integer division.
    pub int_div: FunctionalUnit,
    /// Light floating-point and vector work.
    pub fp_add: FunctionalUnit,
    /// Floating-point and vector multiplication.
    pub fp_mul: FunctionalUnit,
    /// Floating-point division and square root.
    pub fp_div: FunctionalUnit,
    /// Resolution of branches.
    pub branch: FunctionalUnit,
}

/// How the direction of conditional branches is predicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DirectionPredictor {
    /// One two-bit counter per branch.
    Bimodal,
    /// Tagged tables over geometrically longer histories; also predicts indirect targets by the path that led there.
    Tage,
}

/// The branch predictor.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictorConfig {
    /// How directions are predicted.
    pub direction: DirectionPredictor,
    /// Counters in the (base) direction table; each tagged table of TAGE has a quarter as many entries.
    pub direction_entries: usize,
    /// Entries of the branch target buffer.
    pub target_entries: usize,
    /// Its associativity.
    pub target_ways: usize,
    /// Entries of the return address stack.
    pub return_stack_entries: usize,
    /// Cycles without new instructions after a branch was found to have gone elsewhere than predicted.
    pub refill_penalty_cycles: u64,
    /// Cycles without new instructions when only the target of a direct branch was unknown, which decoding corrects.
    pub misfetch_penalty_cycles: u64,
}

/// One private cache.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheConfig {
    /// Its capacity.
    pub size: Bytes,
    /// Its associativity.
    pub ways: usize,
    /// Cycles that a look-up adds to an access that comes here, hit or miss.
    pub latency_cycles: u64,
    /// Lines that may be under way into it at once (for the L1I, whose fetch is in order, one is all it uses).
    pub mshrs: usize,
    /// Bytes of its lines: 32 or 64, in L1 no more than in L2, and in L2 no more than in memory.
    #[serde(default = "memory_line")]
    pub line: Bytes,
    /// Which line has to leave.
    #[serde(default)]
    pub replacement: Replacement,
    /// What it fetches in advance of its use; nothing if it only fetches what it is asked for. L1I cannot have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefetcher: Option<PrefetcherConfig>,
}

fn memory_line() -> Bytes {
    Bytes(LINE_BYTES as u64)
}

impl CacheConfig {
    /// A cache of 64-byte lines that replaces the least recently used and has no more than it must.
    pub fn new(size: Bytes, ways: usize, latency_cycles: u64, mshrs: usize) -> CacheConfig {
        let replacement = Replacement::Lru;
        CacheConfig { size, ways, latency_cycles, mshrs, line: memory_line(), replacement, prefetcher: None }
    }

    /// How many lines it has room for.
    pub fn lines(&self) -> usize {
        (self.size.0 / self.line.0.max(1)) as usize
    }

    /// How many sets it has.
    pub fn sets(&self) -> usize {
        self.lines() / self.ways.max(1)
    }
}

/// One translation look-aside buffer. Pages of both sizes share its entries.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlbConfig {
    /// How many translations it holds.
    pub entries: usize,
    /// Its associativity.
    pub ways: usize,
    /// Cycles that a look-up adds to an access; zero at the first level, where it overlaps the cache's own.
    pub latency_cycles: u64,
}

/// How page tables lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableLayout {
    /// As in hardware: a table is a page of 512 entries of eight bytes.
    Radix,
    /// As in ChampSim: each entry has a page of its own, so neighbouring pages share no line of the last level, and a hit
    /// in a structure cache reads its level once more.
    PagePerEntry,
}

/// What walks page tables, through the first-level data cache.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkerConfig {
    /// Levels of page tables for pages of 4 KB, at most [`WALK_LEVELS_MAX`](super::WALK_LEVELS_MAX); pages of 2 MB are found one level higher.
    pub levels: usize,
    /// How the tables lie in memory.
    pub layout: TableLayout,
    /// Entries of the page-structure caches, from the one that spares only the first level down.
    pub structure_caches: Vec<usize>,
    /// Walks under way at once.
    pub outstanding: usize,
    /// Accesses that may wait for walks at once: while so many do, no other enters L1D or is looked up in the TLB. Nothing if
    /// there is no limit.
    #[serde(default)]
    pub waiting_accesses: Option<usize>,
    /// Cycles of a walk besides its accesses.
    pub latency_cycles: u64,
    /// Cycles of each access besides the data cache's own.
    pub step_cycles: u64,
    /// Cycles that the first walk to a page, and the first to each of its tables, takes longer.
    pub first_touch_cycles: u64,
}

/// Which stores hold the store queue until what protects memory has answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// None: an entry needs nothing but the data (SecPB's COBCM; BBB).
    Never,
    /// Those that allocate an entry: what does not depend on the data is made once (OBCM, BCM, CM).
    NewEntries,
    /// All: what depends on the data is made anew by each (M, NoGap).
    EveryStore,
}

impl Waits {
    /// Whether a store waits that allocates an entry or does not.
    pub fn hold(self, allocates: bool) -> bool {
        match self {
            Waits::Never => false,
            Waits::NewEntries => allocates,
            Waits::EveryStore => true,
        }
    }
}

/// A buffer on a battery next to the first-level data cache, which stores enter in program order when that has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PersistConfig {
    /// Its entries, and when it drains.
    pub buffer: PersistBufferConfig,
    /// Cycles that a store takes to enter it (SecPB, Table I: 2).
    pub latency_cycles: u64,
    /// Which stores wait for an answer.
    pub waits: Waits,
}

/// A core with its private caches.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NodeConfig {
    /// The clock of the core, its caches and its TLBs, in megahertz; its cycle is a whole number of femtoseconds.
    pub clock_mhz: Frequency,
    /// Instructions that are fetched and enter the window per cycle.
    pub dispatch_width: u8,
    /// Instructions that retire per cycle.
    pub retire_width: u8,
    /// Cycles that an instruction holds its entries in the queues beyond its completion.
    pub retire_latency_cycles: u64,
    /// Instructions in the window (reorder buffer).
    pub rob: u32,
    /// Loads between dispatch and retirement.
    pub load_queue: u32,
    /// Stores between dispatch and the completion of their write into L1D.
    pub store_queue: u32,
    /// Retired stores that wait to be accepted by L1D, and then need no entry of the store queue; nothing if stores
    /// keep their entry until they are written.
    pub write_buffer: Option<u32>,
    /// Where stores survive a loss of power, and what they leave the store queue for; nothing if they leave it for L1D. No key of
    /// a machine: it belongs to a design.
    #[serde(skip)]
    pub persist_buffer: Option<PersistConfig>,
    /// Whether the program's flushes and persist fences do anything, which they need not where stores are durable beside the core.
    /// No key of a machine: it belongs to a design.
    #[serde(skip)]
    pub flushes: bool,
    /// Whether the owner asks which stores L1D has had, as one does that cuts the power. No key of a machine.
    #[serde(skip)]
    pub reports_stores: bool,
    /// How long memory lines are, beyond L2. No key here: memory says it.
    #[serde(skip)]
    pub memory_line: LineLength,
    /// The functional units.
    pub units: FunctionalUnits,
    /// Instructions of all classes that start per cycle; nothing if only their units limit them.
    pub issue_width: Option<u8>,
    /// Instructions of all classes that complete per cycle; nothing if there is no such limit.
    pub complete_width: Option<u8>,
    /// Places for accesses of all kinds that the first-level data cache looks up, and for how long each is taken; nothing
    /// if only the ports limit them.
    pub l1d_lookups: Option<FunctionalUnit>,
    /// Look-ups of the data TLB with it, as the same; an access whose translation comes late is looked up in L1D again.
    pub dtlb_lookups: Option<FunctionalUnit>,
    /// Look-ups of L2, by misses of the first-level caches and by what L1D writes back; nothing if there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l2_lookups: Option<LookUpLimit>,
    /// Whether an access that finds no miss register of L1D keeps all later ones waiting. Loads of one line that wait there
    /// share one look-up.
    pub l1d_in_order: bool,
    /// Loads that come to L1D's read queue per cycle: those of one line that meet there become one access. Nothing if no loads
    /// are merged before their look-up.
    pub read_queue_ports: Option<u8>,
    /// Registers behind those of the architecture: an instruction enters when there is one for each of its results, and
    /// frees those that it replaces when it retires. Nothing if they never run out.
    pub physical_registers: Option<u32>,
    /// Whether no instruction behind a taken branch is delivered in its cycle.
    pub taken_branch_ends_fetch: bool,
    /// Loads that start per cycle.
    pub load_ports: u8,
    /// Cycles from a load's start to its look-up.
    pub load_start_cycles: u64,
    /// Cycles from a load's data to the first use of it.
    pub load_return_cycles: u64,
    /// Stores whose address is generated, and stores that are written into L1D, per cycle.
    pub store_ports: u8,
    /// Cycles that a serialising instruction takes once everything before it is done.
    pub serial_latency_cycles: u64,
    /// Cycles from a store's data to a load that takes all its bytes from it.
    pub forward_latency_cycles: u64,
    /// Cycles more if the load needs bytes that the store does not have.
    pub partial_forward_penalty_cycles: u64,
    /// The branch predictor.
    pub predictor: PredictorConfig,
    /// The first-level instruction cache.
    pub l1i: CacheConfig,
    /// The first-level data cache.
    pub l1d: CacheConfig,
    /// The private second-level cache of both.
    pub l2: CacheConfig,
    /// First-level translations of instruction addresses.
    pub itlb: TlbConfig,
    /// First-level translations of data addresses.
    pub dtlb: TlbConfig,
    /// Second-level translations of both.
    pub stlb: TlbConfig,
    /// Cycles of a page-table walk, if there is no walker.
    pub walk_latency_cycles: u64,
    /// What reads page tables from memory; nothing if walks have a fixed length.
    pub walker: Option<WalkerConfig>,
}

impl Default for NodeConfig {
    fn default() -> NodeConfig {
        NodeConfig::modern()
    }
}

impl NodeConfig {
    /// A present-day server core, after Intel's Sunny Cove (Ice Lake).
    ///
    /// Widths, window, queues, caches and TLBs as WikiChip and Intel's optimization manual (248966) give them; latencies
    /// of units as measured by uops.info and Agner Fog. The L2 is the 512 KB of the client part, ten cycles behind L1D.
    pub fn modern() -> NodeConfig {
        let pipelined = |count, latency_cycles| FunctionalUnit { count, latency_cycles, pipelined: true };
        let unpipelined = |latency_cycles| FunctionalUnit { count: 1, latency_cycles, pipelined: false };
        let cache = |kilobytes: u64, ways, latency_cycles, mshrs| {
            CacheConfig::new(Bytes(kilobytes << 10), ways, latency_cycles, mshrs)
        };
        let tlb = |entries, ways, latency_cycles| TlbConfig { entries, ways, latency_cycles };
        NodeConfig {
            clock_mhz: Frequency::from_mhz(4_000),
            dispatch_width: 6,
            retire_width: 6,
            retire_latency_cycles: 0,
            rob: 352,
            load_queue: 128,
            store_queue: 72,
            write_buffer: None,
            persist_buffer: None,
            flushes: false,
            reports_stores: false,
            memory_line: LineLength::WHOLE,
            units: FunctionalUnits {
                int_alu: pipelined(4, 1),
                int_mul: pipelined(1, 3),
                int_div: unpipelined(15),
                fp_add: pipelined(2, 4),
                fp_mul: pipelined(2, 4),
                fp_div: unpipelined(13),
                branch: pipelined(2, 1),
            },
            issue_width: None,
            complete_width: None,
            l1d_lookups: None,
            dtlb_lookups: None,
            l2_lookups: None,
            l1d_in_order: false,
            read_queue_ports: None,
            physical_registers: None,
            taken_branch_ends_fetch: false,
            load_ports: 2,
            load_start_cycles: 0,
            load_return_cycles: 0,
            store_ports: 2,
            serial_latency_cycles: 20,
            forward_latency_cycles: 5,
            partial_forward_penalty_cycles: 12,
            predictor: PredictorConfig {
                direction: DirectionPredictor::Tage,
                direction_entries: 16_384,
                target_entries: 4_096,
                target_ways: 8,
                return_stack_entries: 32,
                refill_penalty_cycles: 17,
                misfetch_penalty_cycles: 8,
            },
            l1i: cache(32, 8, 4, 8),
            l1d: cache(48, 12, 5, 12),
            l2: cache(512, 8, 10, 48),
            itlb: tlb(128, 8, 0),
            dtlb: tlb(64, 4, 0),
            stlb: tlb(2_048, 16, 7),
            walk_latency_cycles: 30,
            walker: None,
        }
    }
}
