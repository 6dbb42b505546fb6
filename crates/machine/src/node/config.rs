//! Configuration of a core and its private caches, as written in a machine file.

use crate::cache::Replacement;
use crate::lookups::LookUpLimit;
use crate::node::caches::prefetch::PrefetcherConfig;
use crate::persist::PersistBufferConfig;
use serde::{Deserialize, Serialize};
use units::{Bytes, Frequency, LINE_BYTES, LineLength};

/// A group of identical functional units.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionalUnit {
    /// Number of identical units.
    pub count: u8,
    /// Cycles from the start of the work to its result.
    pub latency_cycles: u64,
    /// True if a unit starts an operation in every cycle, false if only after the previous one is done.
    pub pipelined: bool,
}

/// The functional units by the class of work (`isa::Class`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionalUnits {
    /// Units for integer additions, logic, and moves between registers.
    pub int_alu: FunctionalUnit,
    /// Units for integer multiplication.
    pub int_mul: FunctionalUnit,
    /// Units for integer division.
    pub int_div: FunctionalUnit,
    /// Units for simple floating-point and vector operations, such as additions.
    pub fp_add: FunctionalUnit,
    /// Units for floating-point and vector multiplication.
    pub fp_mul: FunctionalUnit,
    /// Units for floating-point division and square root.
    pub fp_div: FunctionalUnit,
    /// Units that resolve branches.
    pub branch: FunctionalUnit,
}

/// Predictor of the direction of conditional branches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DirectionPredictor {
    /// One two-bit counter per branch.
    Bimodal,
    /// Tagged tables over geometrically longer histories. With TAGE, the targets of indirect branches are also
    /// predicted by the path that led to the branch.
    Tage,
}

/// Configuration of the branch predictor.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictorConfig {
    /// Predictor of branch directions.
    pub direction: DirectionPredictor,
    /// Two-bit counters in the table of the bimodal predictor, which is also the base table of TAGE. Each tagged table
    /// of TAGE has a quarter as many entries.
    pub direction_entries: usize,
    /// Entries of the branch target buffer.
    pub target_entries: usize,
    /// Associativity of the branch target buffer.
    pub target_ways: usize,
    /// Entries of the return address stack.
    pub return_stack_entries: usize,
    /// Cycles without new instructions after a mispredicted branch.
    pub refill_penalty_cycles: u64,
    /// Cycles without new instructions if only the target of a direct branch was unknown; the decoder corrects it.
    pub misfetch_penalty_cycles: u64,
}

/// Configuration of a private cache.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheConfig {
    /// Capacity of the cache.
    pub size: Bytes,
    /// Number of ways per set.
    pub ways: usize,
    /// Cycles that a look-up adds to an access to this cache, hit or miss.
    pub latency_cycles: u64,
    /// Maximum number of outstanding lines. L1I uses at most one, since fetch is in order.
    pub mshrs: usize,
    /// Bytes per line: 32 or 64. Lines of L1 must not be longer than those of L2, nor those of L2 longer than memory's.
    #[serde(default = "memory_line")]
    pub line: Bytes,
    /// Replacement policy of the cache.
    #[serde(default)]
    pub replacement: Replacement,
    /// True if a write-back of L1D to a line that L2 holds counts as a use of the line for replacement; true by
    /// default. A key of L2 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writeback_is_use: Option<bool>,
    /// Prefetcher of the cache; without one it fetches on demand only. L1I cannot have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefetcher: Option<PrefetcherConfig>,
}

fn memory_line() -> Bytes {
    Bytes(LINE_BYTES as u64)
}

impl CacheConfig {
    /// Creates the configuration of a cache of 64-byte lines with LRU replacement and without a prefetcher.
    pub fn new(size: Bytes, ways: usize, latency_cycles: u64, mshrs: usize) -> CacheConfig {
        let (replacement, writeback_is_use, prefetcher) = (Replacement::Lru, None, None);
        CacheConfig {
            size,
            ways,
            latency_cycles,
            mshrs,
            line: memory_line(),
            replacement,
            writeback_is_use,
            prefetcher,
        }
    }

    /// Returns the number of lines in the cache.
    pub fn lines(&self) -> usize {
        (self.size.0 / self.line.0.max(1)) as usize
    }

    /// Returns the number of sets.
    pub fn sets(&self) -> usize {
        self.lines() / self.ways.max(1)
    }
}

/// One translation look-aside buffer. Pages of both sizes share its entries.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlbConfig {
    /// Number of translations that it holds.
    pub entries: usize,
    /// Associativity of the TLB.
    pub ways: usize,
    /// Cycles that a look-up adds to an access. Zero at the first level, where the TLB look-up overlaps the look-up of
    /// the cache.
    pub latency_cycles: u64,
}

/// Layout of page tables in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableLayout {
    /// Hardware layout: a table is a page of 512 entries of eight bytes.
    Radix,
    /// Layout of ChampSim: each entry has a separate page. So the last-level entries of neighbouring pages are in
    /// different lines. A walk that hits in a structure cache reads the entry of this level again.
    PagePerEntry,
}

/// Configuration of the walker, which reads page tables through the first-level data cache.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkerConfig {
    /// Levels of page tables for pages of 4 KB, at most [`WALK_LEVELS_MAX`](super::WALK_LEVELS_MAX); pages of 2 MB are found one level higher.
    pub levels: usize,
    /// Layout of the page tables.
    pub layout: TableLayout,
    /// Entries of the page-structure caches. The first of these caches saves a walk only the topmost level.
    pub structure_caches: Vec<usize>,
    /// Maximum number of concurrent walks.
    pub outstanding: usize,
    /// Maximum number of accesses that wait for walks. At the limit, no other access enters L1D or is looked up in the TLB.
    /// Left out, the number is not limited.
    #[serde(default)]
    pub waiting_accesses: Option<usize>,
    /// Cycles of a walk in addition to its reads of page tables.
    pub latency_cycles: u64,
    /// Cycles of each read of a page table in addition to the latency of the data cache.
    pub step_cycles: u64,
    /// Additional cycles of the first walk that reaches a page, and of the first walk that reaches each page table.
    pub first_touch_cycles: u64,
}

/// Selects the stores that hold the store queue until the protection engine has answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreHold {
    /// No store waits: an entry contains only data, and all security steps are late (SecPB's COBCM; BBB).
    Never,
    /// Stores that allocate an entry wait: the early steps do not depend on the data, so they are computed once per
    /// entry (SecPB's OBCM, BCM, CM).
    NewEntries,
    /// All stores wait: some early steps depend on the data, so each store repeats these steps (SecPB's M, NoGap).
    EveryStore,
}

impl StoreHold {
    /// Returns true if a store waits, depending on whether it allocates an entry.
    pub fn hold(self, allocates: bool) -> bool {
        match self {
            StoreHold::Never => false,
            StoreHold::NewEntries => allocates,
            StoreHold::EveryStore => true,
        }
    }
}

/// A battery-backed buffer next to the first-level data cache. Stores enter the buffer in program order, after L1D has
/// received them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PersistConfig {
    /// Number of entries and drain thresholds.
    pub buffer: PersistBufferConfig,
    /// Cycles that a store takes to enter the buffer (SecPB, Table I: 2).
    pub latency_cycles: u64,
    /// Stores that wait for an answer.
    pub waits: StoreHold,
}

/// A core with its private caches.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NodeConfig {
    /// The clock of the core, its caches and its TLBs, in megahertz; its cycle is a whole number of femtoseconds.
    pub clock_mhz: Frequency,
    /// Maximum number of instructions that are fetched and enter the window per cycle.
    pub dispatch_width: u8,
    /// Maximum number of instructions that retire per cycle.
    pub retire_width: u8,
    /// Cycles after completion for which an instruction still holds its queue entries.
    pub retire_latency_cycles: u64,
    /// Capacity of the window (reorder buffer), in instructions.
    pub rob: u32,
    /// Capacity of the load queue: loads between dispatch and retirement.
    pub load_queue: u32,
    /// Capacity of the store queue: stores between dispatch and the completion of their write into L1D.
    pub store_queue: u32,
    /// Capacity of the write buffer, in stores. The write buffer holds retired stores until L1D accepts them, so they
    /// free their entries of the store queue early. Left out, stores keep their entries until they are written.
    pub write_buffer: Option<u32>,
    /// Buffer in which stores survive a loss of power; stores leave the store queue when they have entered this buffer.
    /// `None` if stores leave the store queue for L1D only. Not a key of a machine: it belongs to a design.
    #[serde(skip)]
    pub persist_buffer: Option<PersistConfig>,
    /// True if flushes and persist fences of the program take effect. Not needed if stores are durable in a persist
    /// buffer or in caches. Not a key of a machine: it belongs to a design.
    #[serde(skip)]
    pub flushes: bool,
    /// True if the node reports the stores that L1D received, for an owner that simulates a loss of power. Not a key of
    /// a machine.
    #[serde(skip)]
    pub reports_stores: bool,
    /// Length of memory lines, beyond L2. Not a key of this table: the memory configuration contains it.
    #[serde(skip)]
    pub memory_line: LineLength,
    /// The functional units by class of work.
    pub units: FunctionalUnits,
    /// Maximum number of instructions that start per cycle. Left out, only the functional units limit the number.
    pub issue_width: Option<u8>,
    /// Maximum number of instructions that complete per cycle. Left out, the number is not limited.
    pub complete_width: Option<u8>,
    /// Maximum number of concurrent look-ups of L1D by accesses of all kinds (`count`), and the cycles of each look-up.
    /// Left out, only the ports limit look-ups.
    pub l1d_lookups: Option<FunctionalUnit>,
    /// Maximum number of concurrent look-ups of the data TLB (`count`), and the cycles of each look-up. An access with
    /// a late translation is looked up in L1D again.
    pub dtlb_lookups: Option<FunctionalUnit>,
    /// Limit on look-ups of L2, by misses of the first-level caches and write-backs of L1D. Left out, they are not limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l2_lookups: Option<LookUpLimit>,
    /// True if an access that finds all miss registers of L1D busy blocks all later ones. With this setting, loads of
    /// one line that wait together share one look-up.
    pub l1d_in_order: bool,
    /// Maximum number of loads that enter the read queue of L1D per cycle. Loads of one line that meet in the queue
    /// become one access. Left out, loads are not merged before their look-up.
    pub read_queue_ports: Option<u8>,
    /// Number of physical registers; each architectural register in use occupies one. An instruction enters the window
    /// when a physical register is free for each of its results. At retirement it frees the registers that it replaces.
    /// Left out, they never run out.
    pub physical_registers: Option<u32>,
    /// True if a fetch cycle ends at a taken branch.
    pub taken_branch_ends_fetch: bool,
    /// Maximum number of loads that start per cycle.
    pub load_ports: u8,
    /// Cycles from a load's start to its look-up.
    pub load_start_cycles: u64,
    /// Cycles from the arrival of a load's data to the first instruction that can use them.
    pub load_return_cycles: u64,
    /// Maximum number of store addresses that are generated per cycle, and of stores that are written into L1D per
    /// cycle.
    pub store_ports: u8,
    /// Cycles of a serialising instruction after all earlier instructions are done.
    pub serial_latency_cycles: u64,
    /// Cycles from the availability of a store's data to a load that reads all its bytes from this store.
    pub forward_latency_cycles: u64,
    /// Additional cycles if the load needs bytes that the store does not have.
    pub partial_forward_penalty_cycles: u64,
    /// Configuration of the branch predictor.
    pub predictor: PredictorConfig,
    /// The first-level instruction cache.
    pub l1i: CacheConfig,
    /// The first-level data cache.
    pub l1d: CacheConfig,
    /// The private second-level cache of code and data.
    pub l2: CacheConfig,
    /// First-level translations of instruction addresses.
    pub itlb: TlbConfig,
    /// First-level translations of data addresses.
    pub dtlb: TlbConfig,
    /// Second-level translations of code and data.
    pub stlb: TlbConfig,
    /// Cycles of a page-table walk without a walker.
    pub walk_latency_cycles: u64,
    /// Walker that reads page tables from memory. Left out, walks have a fixed length.
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
    /// Widths, window, queues, caches and TLBs are from WikiChip and Intel's optimization manual (248966). Latencies of
    /// functional units are measurements of uops.info and Agner Fog. The L2 has the 512 KB of the client processors,
    /// and adds ten cycles to the latency of L1D.
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
