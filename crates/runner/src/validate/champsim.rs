//! Compares the whole machine with ChampSim, on the same traces, with the same warm-up.
//!
//! ChampSim and this simulator draw the placement of pages from different random generators, and the placement changes
//! the misses of physically indexed caches. The reference has one placement. We measure several placements, and their
//! spread gives the expected distance of a single placement from their mean.

use super::{ComparisonRow, ValidationError, ValidationExtent};
use crate::run::RunControl;
use crate::window::{self, Window, WindowError, measure_window};
use serde::Deserialize;
use std::sync::atomic::{AtomicU64, Ordering};
use workload::champsim::synthetic;

const FILE: &str = "reference/champsim.json";
const TEXT: &str = include_str!("../../../../reference/champsim.json");
const NAME: &str = "ChampSim";
/// Seed of the traces.
const TRACE_SEED: u32 = 1;
/// Default number of page placements for a window.
const PLACEMENTS: u64 = 5;
/// Limit of simulated instructions for a brief window.
const BRIEF_MAX: u64 = 3_000_000;

#[derive(Deserialize)]
struct ChampsimReference {
    results: Vec<ChampsimFigures>,
}

#[derive(Deserialize)]
struct ChampsimFigures {
    machine: String,
    trace: String,
    /// Length of the trace in instructions; the trace restarts at its end.
    trace_instructions: u64,
    warmup_instructions: u64,
    instructions: u64,
    /// Number of page placements, if the default number does not show the spread of the results.
    placements: Option<u64>,
    ipc: f64,
    // An absent figure is not compared.
    branch_mpki: Option<f64>,
    l1d_misses: Option<f64>,
    l2_misses: Option<f64>,
    llc_misses: Option<f64>,
    llc_miss_latency_cycles: Option<f64>,
    dtlb_misses: Option<f64>,
    stlb_misses: Option<f64>,
}

impl ChampsimFigures {
    fn placements(&self) -> u64 {
        self.placements.unwrap_or(PLACEMENTS)
    }

    /// Instructions to simulate for the window: the instructions before the window run twice, and all run under each
    /// page placement.
    fn work(&self) -> u64 {
        self.placements() * (2 * self.warmup_instructions + self.instructions)
    }
}

/// The windows of the reference, each as a whole, because a part of a window has different figures. The brief
/// validation uses only windows with few instructions.
fn windows(extent: ValidationExtent) -> Result<Vec<ChampsimFigures>, ValidationError> {
    let reference: ChampsimReference =
        serde_json::from_str(TEXT).map_err(|error| ValidationError::Reference { file: FILE, error })?;
    let is_wanted = |window: &ChampsimFigures| extent == ValidationExtent::Full || window.work() <= BRIEF_MAX;
    Ok(reference.results.into_iter().filter(is_wanted).collect())
}

/// Instructions of each window, in order.
pub(super) fn work(extent: ValidationExtent) -> Result<Vec<u64>, ValidationError> {
    Ok(windows(extent)?.iter().map(ChampsimFigures::work).collect())
}

pub(super) fn compare(extent: ValidationExtent, found: &mut impl FnMut(ComparisonRow)) -> Result<(), ValidationError> {
    windows(extent)?.iter().try_for_each(|theirs| compare_window(theirs, found))
}

fn compare_window(theirs: &ChampsimFigures, found: &mut impl FnMut(ComparisonRow)) -> Result<(), ValidationError> {
    let machine = catalogue::machine(&theirs.machine)?;
    let window = window::WindowExtent { warmup: theirs.warmup_instructions, instructions: theirs.instructions };
    let ours = under_placements(theirs.placements(), |seed| {
        let open = |instructions| synthetic(&theirs.trace, theirs.trace_instructions, TRACE_SEED, instructions);
        measure_window(&machine, seed, window, open, |_| RunControl::GoOn)
    })?;
    let thousands = |instructions: u64| instructions / 1000;
    let (warmup, length) = (thousands(theirs.warmup_instructions), thousands(theirs.instructions));
    let subject = format!("{} on {}, {length} k after {warmup} k", theirs.trace, theirs.machine);
    for (quantity, of, theirs, tolerance) in quantities(theirs) {
        if let Some(theirs) = theirs {
            let ours: Vec<f64> = ours.iter().map(of).collect();
            found(ComparisonRow::of_placements(NAME, &subject, quantity, (&ours, theirs), tolerance));
        }
    }
    Ok(())
}

/// Measures a window under several placements of pages, in parallel.
fn under_placements(
    placements: u64,
    measure: impl Fn(u64) -> Result<Window, WindowError> + Sync,
) -> Result<Vec<Window>, ValidationError> {
    let next = AtomicU64::new(1);
    let work = || {
        let seeds = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        seeds.take_while(|seed| *seed <= placements).map(|seed| (seed, measure(seed))).collect::<Vec<_>>()
    };
    let mut measured: Vec<_> = std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    measured.sort_by_key(|(seed, _)| *seed);
    measured.into_iter().map(|(_, window)| window.map_err(ValidationError::from)).collect()
}

/// A compared quantity: its name, our value, the reference's value if the reference contains one, and its tolerance in
/// percent.
type Quantity = (&'static str, fn(&Window) -> f64, Option<f64>, f64);

fn quantities(theirs: &ChampsimFigures) -> [Quantity; 8] {
    [
        ("instructions per cycle", |ours| ours.ipc, Some(theirs.ipc), 10.0),
        ("branches mispredicted per 1000 instructions", |ours| ours.branch_mpki, theirs.branch_mpki, 5.0),
        ("L1D misses, merged ones included", |ours| ours.l1d.misses as f64, theirs.l1d_misses, 5.0),
        ("L2 misses", |ours| ours.l2.misses as f64, theirs.l2_misses, 5.0),
        ("LLC misses", |ours| ours.llc.misses as f64, theirs.llc_misses, 5.0),
        ("DTLB misses, merged ones included", |ours| ours.dtlb.misses as f64, theirs.dtlb_misses, 5.0),
        ("STLB misses", |ours| ours.stlb.misses as f64, theirs.stlb_misses, 5.0),
        (
            "mean LLC miss latency in cycles",
            |ours| ours.llc_miss_latency_cycles.unwrap_or(0.0),
            theirs.llc_miss_latency_cycles,
            10.0,
        ),
    ]
}
