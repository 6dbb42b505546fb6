//! The whole machine against ChampSim, on the same traces, with the same warm-up.
//!
//! A window's figures are the difference of two runs: one to the end of the warm-up, one to the end of the window. A run is
//! the same up to there, since nothing depends on how long it will be.

use super::{Extent, Row, ValidationError};
use crate::record::Record;
use crate::run::{Control, RunOptions, run};
use serde::Deserialize;
use systems::Machine;
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
    let (warmup, window) = (theirs.warmup_instructions / part, theirs.instructions / part);
    let before = measure(&machine, &theirs.trace, warmup)?;
    let after = measure(&machine, &theirs.trace, warmup + window)?;
    let of = |count: fn(&Record) -> u64| (count(&after) - count(&before)) as f64;
    let subject = format!("{} on {}", theirs.trace, theirs.machine);
    let mut row =
        |quantity, ours, theirs, tolerance| found(Row::new(NAME, &subject, quantity, [ours, theirs], tolerance));

    let instructions = of(|record| record.instructions);
    row("instructions per cycle", instructions / of(|record| record.cycles), theirs.ipc, Some(10.0));
    if extent == Extent::Brief {
        return Ok(());
    }
    let mispredicts = 1e3 * of(|record| record.node.mispredicts) / instructions;
    row("branches mispredicted per 1000 instructions", mispredicts, theirs.branch_mpki, Some(5.0));
    let l1d = of(|record| record.node.l1d.misses + record.node.l1d.merged);
    row("L1D misses, merged ones included", l1d, theirs.l1d_misses, Some(5.0));
    row("L2 misses", of(|record| record.node.l2.misses), theirs.l2_misses, Some(5.0));
    row("LLC misses", of(|record| record.llc.misses), theirs.llc_misses, Some(5.0));
    row("DTLB misses, merged ones included", of(|record| record.node.dtlb.misses), theirs.dtlb_misses, Some(5.0));
    row("STLB misses", of(|record| record.node.stlb.misses), theirs.stlb_misses, Some(5.0));
    let beyond_fs = of(|record| record.llc.miss_latency_fs) / of(|record| record.llc.misses);
    let latency = (beyond_fs / 1e6 + machine.memory.path_ns / 2.0) * machine.node.clock_mhz as f64 / 1e3;
    row("mean LLC miss latency in cycles", latency, theirs.llc_miss_latency_cycles, Some(10.0));
    Ok(())
}

fn measure(machine: &Machine, trace: &str, instructions: u64) -> Result<Record, ValidationError> {
    let options = RunOptions {
        machine: machine.clone(),
        design: systems::design("none")?,
        seed: SEED,
        budget: instructions,
        ledger: false,
    };
    let source = synthetic(trace, TRACE.0, TRACE.1, instructions)?;
    Ok(run(&options, source, |_| Control::GoOn)?)
}
