//! The whole machine against ChampSim, on the same traces, with the same warm-up.

use super::{Extent, Row, ValidationError};
use crate::run::Control;
use crate::window::{self, measure_window};
use serde::Deserialize;
use workload::champsim::synthetic;

const FILE: &str = "reference/champsim.json";
const TEXT: &str = include_str!("../../../../reference/champsim.json");
const NAME: &str = "ChampSim";
/// Instructions of each trace, which then starts again, and the seed that made it.
const TRACE: (u64, u32) = (4_000_000, 1);
/// Places pages.
const SEED: u64 = 1;

#[derive(Deserialize)]
struct Reference {
    results: Vec<Figures>,
}

#[derive(Deserialize)]
struct Figures {
    machine: String,
    trace: String,
    warmup_instructions: u64,
    instructions: u64,
    ipc: f64,
    branch_mpki: f64,
    l1d_misses: f64,
    l2_misses: f64,
    llc_misses: f64,
    llc_miss_latency_cycles: f64,
    dtlb_misses: f64,
    stlb_misses: f64,
}

pub(super) fn compare(extent: Extent, found: &mut impl FnMut(Row)) -> Result<(), ValidationError> {
    let reference: Reference =
        serde_json::from_str(TEXT).map_err(|error| ValidationError::Reference { file: FILE, error })?;
    for theirs in &reference.results {
        if extent == Extent::Full || theirs.trace == "hot" {
            compare_window(theirs, extent, found)?;
        }
    }
    Ok(())
}

fn compare_window(theirs: &Figures, extent: Extent, found: &mut impl FnMut(Row)) -> Result<(), ValidationError> {
    let machine = systems::machine(&theirs.machine)?;
    let part = if extent == Extent::Full { 1 } else { 10 };
    let window = window::Extent { warmup: theirs.warmup_instructions / part, instructions: theirs.instructions / part };
    let open = |instructions| synthetic(&theirs.trace, TRACE.0, TRACE.1, instructions);
    let ours = measure_window(&machine, SEED, window, open, |_| Control::GoOn)?;
    let subject = format!("{} on {}", theirs.trace, theirs.machine);
    let mut row =
        |quantity, ours, theirs, tolerance| found(Row::new(NAME, &subject, quantity, [ours, theirs], tolerance));

    row("instructions per cycle", ours.ipc, theirs.ipc, Some(10.0));
    if extent == Extent::Brief {
        return Ok(());
    }
    row("branches mispredicted per 1000 instructions", ours.branch_mpki, theirs.branch_mpki, Some(5.0));
    for (quantity, ours, theirs) in [
        ("L1D misses, merged ones included", ours.l1d, theirs.l1d_misses),
        ("L2 misses", ours.l2, theirs.l2_misses),
        ("LLC misses", ours.llc, theirs.llc_misses),
        ("DTLB misses, merged ones included", ours.dtlb, theirs.dtlb_misses),
        ("STLB misses", ours.stlb, theirs.stlb_misses),
    ] {
        row(quantity, ours.misses as f64, theirs, Some(5.0));
    }
    let latency = ours.llc_miss_latency_cycles.unwrap_or(0.0);
    row("mean LLC miss latency in cycles", latency, theirs.llc_miss_latency_cycles, Some(10.0));
    Ok(())
}
