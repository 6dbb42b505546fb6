//! One part of a trace, measured as trace-driven simulators do: after a warm-up, and with that subtracted.
//!
//! A window's figures are the difference of two runs: one to the end of the warm-up, one to the end of the window. A run is
//! the same up to there, since nothing depends on how long it will be.

use crate::record::Record;
use crate::run::{Control, RunError, RunOptions, run};
use catalogue::{ConfigError, Machine};
use serde::Serialize;
use thiserror::Error;
use workload::{Source, WorkloadError};

/// What to measure: so many instructions after so many others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Instructions before the window.
    pub warmup: u64,
    /// Instructions of the window.
    pub instructions: u64,
}

/// Accesses to a cache or a TLB.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Accesses {
    /// All of them, but what a level above wrote back.
    pub accesses: u64,
    /// Those that found nothing. As ChampSim counts them: those that joined a miss under way are among them.
    pub misses: u64,
}

/// The figures of a window, in ChampSim's terms.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Window {
    /// Instructions before it.
    pub warmup_instructions: u64,
    /// Its instructions.
    pub instructions: u64,
    /// How often the trace started again at its end before the window's end, since it is shorter.
    pub restarts: u64,
    /// Its core cycles.
    pub cycles: u64,
    /// Instructions per cycle.
    pub ipc: f64,
    /// Branches predicted wrongly, per thousand instructions.
    pub branch_mpki: f64,
    /// The first-level instruction cache; one access per change of line.
    pub l1i: Accesses,
    /// The first-level data cache.
    pub l1d: Accesses,
    /// The second-level cache.
    pub l2: Accesses,
    /// The last-level cache.
    pub llc: Accesses,
    /// First-level translations of data.
    pub dtlb: Accesses,
    /// Second-level translations.
    pub stlb: Accesses,
    /// From a miss of the last-level cache to the line's arrival there, in core cycles; nothing without a miss.
    pub llc_miss_latency_cycles: Option<f64>,
    /// Reads of DRAM rows that were open, of those that moved a line.
    pub row_hit_rate: Option<f64>,
}

/// Why a window has no figures.
#[derive(Debug, Error)]
pub enum WindowError {
    /// The unprotected design is missing.
    #[error(transparent)]
    Configuration(#[from] ConfigError),
    /// The trace cannot be had.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// One of the two runs has no result.
    #[error(transparent)]
    Run(#[from] RunError),
    /// There is nothing to measure.
    #[error("the window has {found} instructions: expected at least 1")]
    Empty {
        /// How many it has.
        found: u64,
    },
    /// The trace ended before the window did.
    #[error("the trace ended after {found} instructions: expected {expected}, warm-up and window")]
    Short {
        /// How many there were.
        found: u64,
        /// How many there should have been.
        expected: u64,
    },
}

/// Measures a window of an unprotected machine. `open` gives the trace from its beginning, for so many instructions;
/// `watch` gets how many instructions have been run, of both runs, now and then.
///
/// # Errors
/// See [`WindowError`].
pub fn measure_window(
    machine: &Machine,
    seed: u64,
    extent: Extent,
    open: impl Fn(u64) -> Result<Box<dyn Source>, WorkloadError>,
    mut watch: impl FnMut(u64) -> Control,
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
        // The record's clock starts when memory is asked; ours when the cache is, which is half of the path earlier.
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
