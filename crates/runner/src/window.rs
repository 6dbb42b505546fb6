//! Measures a part of a trace (a window) as trace-driven simulators do: after a warm-up, and without the statistics of
//! the warm-up.
//!
//! The results of a window are the difference of two runs: one to the end of the warm-up, one to the end of the window.
//! Both runs are identical up to the end of the warm-up, because no event depends on the length of a run.

use crate::record::Record;
use crate::run::{RunControl, RunError, RunOptions, run};
use catalogue::{ConfigError, Machine};
use serde::Serialize;
use thiserror::Error;
use workload::{Source, WorkloadError};

/// Position and length of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowExtent {
    /// Instructions before the window.
    pub warmup: u64,
    /// Instructions of the window.
    pub instructions: u64,
}

/// Accesses to a cache or a TLB.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Accesses {
    /// Number of accesses, without write-backs from the cache level above.
    pub accesses: u64,
    /// Number of misses. Like ChampSim, this includes accesses merged into a miss under way.
    pub misses: u64,
}

/// The results of a window, defined as in ChampSim.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Window {
    /// Instructions before the window.
    pub warmup_instructions: u64,
    /// Instructions of the window.
    pub instructions: u64,
    /// Number of restarts of the trace before the window's end, if the trace is shorter.
    pub restarts: u64,
    /// Core cycles of the window.
    pub cycles: u64,
    /// The instructions per cycle.
    pub ipc: f64,
    /// Branches predicted wrongly, per thousand instructions.
    pub branch_mpki: f64,
    /// The first-level instruction cache; one access per change of line.
    pub l1i: Accesses,
    /// The first-level data cache.
    pub l1d: Accesses,
    /// Accesses to the second-level cache.
    pub l2: Accesses,
    /// Accesses to the last-level cache.
    pub llc: Accesses,
    /// Accesses to the first-level data TLB.
    pub dtlb: Accesses,
    /// Accesses to the second-level TLB.
    pub stlb: Accesses,
    /// Mean time from a miss of the last-level cache until the cache has the line, in core cycles; absent if there was
    /// no miss.
    pub llc_miss_latency_cycles: Option<f64>,
    /// Share of DRAM reads and writes with a burst whose row was open.
    pub row_hit_rate: Option<f64>,
}

/// A reason why a window has no results.
#[derive(Debug, Error)]
pub enum WindowError {
    /// The catalogue lacks the unprotected design.
    #[error(transparent)]
    Configuration(#[from] ConfigError),
    /// The trace cannot be opened or read.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// One of the two runs has no result.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The window is empty.
    #[error("the window has {found} instructions: expected at least 1")]
    Empty {
        /// Instructions of the window.
        found: u64,
    },
    /// The trace ended before the window did.
    #[error("the trace ended after {found} instructions: expected {expected}, warm-up and window")]
    Short {
        /// Instructions of the trace.
        found: u64,
        /// Instructions of warm-up and window.
        expected: u64,
    },
}

/// Measures a window of an unprotected machine. `open` returns the trace from its beginning, with the given number of
/// instructions. `watch` is called repeatedly with the number of instructions of both runs so far.
///
/// # Errors
/// [`WindowError`] if a run fails or the trace is too short.
pub fn measure_window(
    machine: &Machine,
    seed: u64,
    extent: WindowExtent,
    open: impl Fn(u64) -> Result<Box<dyn Source>, WorkloadError>,
    mut watch: impl FnMut(u64) -> RunControl,
) -> Result<Window, WindowError> {
    if extent.instructions == 0 {
        return Err(WindowError::Empty { found: 0 });
    }
    let mut passed = 0;
    let mut run_to = |end: u64| {
        let design = catalogue::design("none")?;
        let options = RunOptions { seed, ..RunOptions::new(machine.clone(), design, end) };
        let record = run(&options, open(end)?, |done| watch(passed + done))?;
        passed += record.instructions;
        if record.instructions < end {
            return Err(WindowError::Short { found: record.instructions, expected: end });
        }
        Ok(record)
    };
    let before = if extent.warmup > 0 { Some(run_to(extent.warmup)?) } else { None };
    let after = run_to(extent.warmup + extent.instructions)?;
    Ok(Window::between(machine, before.as_ref(), &after))
}

impl Window {
    fn between(machine: &Machine, before: Option<&Record>, after: &Record) -> Window {
        let of = |count: fn(&Record) -> u64| count(after) - before.map_or(0, count);
        let accesses = |hits, misses, merged| Accesses {
            accesses: of(hits) + of(misses) + of(merged),
            misses: of(misses) + of(merged),
        };
        let ratio = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let instructions = of(|record| record.instructions);
        let cycles = of(|record| record.cycles);
        let llc_misses = of(|record| record.llc.misses);
        // The latency in the record starts at the memory controller. The latency of a window starts at the last-level
        // cache, which is half of `path_ns` earlier.
        let way_ns = machine.memory.path_ns / 2.0;
        let latency = |latency_fs: f64| (latency_fs / 1e6 + way_ns) * machine.node.clock_mhz.as_mhz_f64() / 1e3;
        let row_hits = of(|record| record.dram.row_hits);
        let rows = row_hits + of(|record| record.dram.row_closed) + of(|record| record.dram.row_conflicts);
        Window {
            warmup_instructions: before.map_or(0, |before| before.instructions),
            instructions,
            restarts: after.configuration.workload.restarts,
            cycles,
            ipc: instructions as f64 / cycles.max(1) as f64,
            branch_mpki: 1e3 * of(|record| record.node.mispredicts) as f64 / instructions as f64,
            l1i: accesses(|r| r.node.l1i.hits, |r| r.node.l1i.misses, |r| r.node.l1i.merged),
            l1d: accesses(|r| r.node.l1d.hits, |r| r.node.l1d.misses, |r| r.node.l1d.merged),
            l2: accesses(|r| r.node.l2.hits, |r| r.node.l2.misses, |r| r.node.l2.merged),
            llc: accesses(|r| r.llc.hits, |r| r.llc.misses, |_| 0),
            dtlb: accesses(|r| r.node.dtlb.hits, |r| r.node.dtlb.misses, |_| 0),
            stlb: accesses(|r| r.node.stlb.hits, |r| r.node.stlb.misses, |_| 0),
            llc_miss_latency_cycles: ratio(of(|record| record.llc.miss_latency_fs), llc_misses).map(latency),
            row_hit_rate: ratio(row_hits, rows),
        }
    }
}
