//! The whole machine against ChampSim, on the same traces, with the same warm-up.

use super::{Extent, Row, ValidationError};
use crate::run::Control;
use crate::window::{self, Accesses, measure_window};
use serde::Deserialize;
use workload::champsim::synthetic;

const FILE: &str = "reference/champsim.json";
const TEXT: &str = include_str!("../../../../reference/champsim.json");
const NAME: &str = "ChampSim";
/// Makes the traces.
const TRACE_SEED: u32 = 1;
/// Places pages.
const SEED: u64 = 1;
/// Instructions, warm-up included, of the longest window that is among the brief ones.
const BRIEF_MAX: u64 = 1_000_000;

#[derive(Deserialize)]
struct Reference {
    results: Vec<Figures>,
}

#[derive(Deserialize)]
struct Figures {
    machine: String,
    trace: String,
    /// After so many instructions it starts again.
    trace_instructions: u64,
    warmup_instructions: u64,
    instructions: u64,
    ipc: f64,
    // What was not noted of a window is not compared.
    branch_mpki: Option<f64>,
    l1d_misses: Option<f64>,
    l2_misses: Option<f64>,
    llc_misses: Option<f64>,
    llc_miss_latency_cycles: Option<f64>,
    dtlb_misses: Option<f64>,
    stlb_misses: Option<f64>,
}

/// The reference's windows, whole: a part of one has figures of its own. Brief are those of few instructions.
fn windows(extent: Extent) -> Result<Vec<Figures>, ValidationError> {
    let reference: Reference =
        serde_json::from_str(TEXT).map_err(|error| ValidationError::Reference { file: FILE, error })?;
    let is_wanted =
        |window: &Figures| extent == Extent::Full || window.warmup_instructions + window.instructions <= BRIEF_MAX;
    Ok(reference.results.into_iter().filter(is_wanted).collect())
}

/// The instructions that each window takes, in their order: those before it are simulated twice.
pub(super) fn work(extent: Extent) -> Result<Vec<u64>, ValidationError> {
    Ok(windows(extent)?.iter().map(|window| 2 * window.warmup_instructions + window.instructions).collect())
}

pub(super) fn compare(extent: Extent, found: &mut impl FnMut(Row)) -> Result<(), ValidationError> {
    windows(extent)?.iter().try_for_each(|theirs| compare_window(theirs, found))
}

fn compare_window(theirs: &Figures, found: &mut impl FnMut(Row)) -> Result<(), ValidationError> {
    let machine = systems::machine(&theirs.machine)?;
    let window = window::Extent { warmup: theirs.warmup_instructions, instructions: theirs.instructions };
    let open = |instructions| synthetic(&theirs.trace, theirs.trace_instructions, TRACE_SEED, instructions);
    let ours = measure_window(&machine, SEED, window, open, |_| Control::GoOn)?;
    let thousands = |instructions: u64| instructions / 1000;
    let (warmup, length) = (thousands(theirs.warmup_instructions), thousands(theirs.instructions));
    let subject = format!("{} on {}, {length} k after {warmup} k", theirs.trace, theirs.machine);
    let mut row =
        |quantity, ours, theirs, tolerance| found(Row::new(NAME, &subject, quantity, [ours, theirs], tolerance));

    row("instructions per cycle", ours.ipc, theirs.ipc, Some(10.0));
    let misses = |accesses: Accesses| accesses.misses as f64;
    for (quantity, ours, theirs, tolerance) in [
        ("branches mispredicted per 1000 instructions", ours.branch_mpki, theirs.branch_mpki, 5.0),
        ("L1D misses, merged ones included", misses(ours.l1d), theirs.l1d_misses, 5.0),
        ("L2 misses", misses(ours.l2), theirs.l2_misses, 5.0),
        ("LLC misses", misses(ours.llc), theirs.llc_misses, 5.0),
        ("DTLB misses, merged ones included", misses(ours.dtlb), theirs.dtlb_misses, 5.0),
        ("STLB misses", misses(ours.stlb), theirs.stlb_misses, 5.0),
        (
            "mean LLC miss latency in cycles",
            ours.llc_miss_latency_cycles.unwrap_or(0.0),
            theirs.llc_miss_latency_cycles,
            10.0,
        ),
    ] {
        if let Some(theirs) = theirs {
            row(quantity, ours, theirs, Some(tolerance));
        }
    }
    Ok(())
}
