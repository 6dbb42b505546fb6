//! The sample of a run, as its record describes it.

use super::{Aim, Estimate, ratio_of_units};
use chip::counts::Counts;
use serde::Serialize;

/// A measured unit of a sample.
#[derive(Clone, Debug)]
pub struct MeasuredUnit {
    /// Instructions before the start of the unit.
    pub start: u64,
    /// Statistics of the unit.
    pub counts: Counts,
    /// Duration of the unit, in femtoseconds.
    pub time_fs: u64,
}

/// The sample from which the results of a run are estimated.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Sampling {
    /// Number of units in the sample.
    pub units: u64,
    /// Distance from one unit to the next, in instructions.
    pub distance: u64,
    /// Instructions simulated in detail, including lead-ins and units that were discarded later.
    pub detailed: u64,
    /// Instructions that were only warmed.
    pub warmed: u64,
    /// The instructions per cycle.
    pub ipc: Estimate,
    /// True if the confidence interval of the target result is as narrow as requested.
    pub accurate: bool,
    /// All reads and writes of memory of the whole run, in bytes.
    pub dram_bytes: Estimate,
    /// Mean time from the last-level cache's miss to the released line, in nanoseconds; absent if the sample has no
    /// miss.
    pub read_latency_ns: Option<Estimate>,
    /// Misses of the first-level data cache in 1000 instructions, without accesses that waited for an earlier miss of
    /// the same line.
    pub l1d_mpki: Estimate,
    /// Misses of the second-level cache in 1000 instructions.
    pub l2_mpki: Estimate,
    /// Misses of the last-level cache in 1000 instructions.
    pub llc_mpki: Estimate,
    /// Mispredicted branches in 1000 instructions.
    pub mispredicts_mpki: Estimate,
    /// Values of each unit, to compare two designs unit by unit.
    pub series: Series,
}

/// One value for each unit, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Series {
    /// Instructions before the start of each unit.
    pub start: Vec<u64>,
    /// Duration of each unit, in femtoseconds.
    pub time_fs: Vec<u64>,
    /// Reads and writes of memory, in bytes.
    pub dram_bytes: Vec<u64>,
}

/// Instructions of a sampled run, and the target of its sample.
#[derive(Clone, Copy, Debug)]
pub struct SampleExtent {
    /// All instructions of the program.
    pub instructions: u64,
    /// Instructions that were simulated in detail.
    pub detailed: u64,
    /// Distance from one unit to the next, in instructions.
    pub distance: u64,
    /// The result that must reach the accuracy.
    pub aim: Aim,
    /// The required relative error.
    pub error: f64,
}

impl Aim {
    /// Estimates the result from some of the units, as a ratio of two totals. Returns `None` if the units do not
    /// determine the result: units without a miss do not determine a latency.
    pub fn estimate<'a>(self, units: impl Iterator<Item = &'a MeasuredUnit>) -> Option<Estimate> {
        let of = |MeasuredUnit { counts, .. }: &MeasuredUnit| match self {
            Aim::Ipc => (counts.node.instructions, counts.node.cycles),
            Aim::Traffic => (counts.dram_bytes(), counts.node.instructions),
            Aim::Latency => (counts.llc.miss_latency_fs, counts.llc.misses),
        };
        let (above, below): (Vec<f64>, Vec<f64>) =
            units.map(of).map(|(above, below)| (above as f64, below as f64)).unzip();
        ratio_of_units(&above, &below)
    }

    /// Returns true if the relative error of the result, estimated from some of the units, is at most `error`. A result
    /// of zero counts as accurate.
    pub fn is_met<'a>(self, units: impl Iterator<Item = &'a MeasuredUnit>, error: f64) -> bool {
        self.estimate(units).is_some_and(|found| found.high == 0.0 || found.relative_error() <= error)
    }
}

impl Sampling {
    /// Computes all estimates from the units; `None` if there are too few units.
    pub fn of(units: &[MeasuredUnit], extent: SampleExtent) -> Option<Sampling> {
        let by =
            |figure: &dyn Fn(&MeasuredUnit) -> u64| units.iter().map(|unit| figure(unit) as f64).collect::<Vec<_>>();
        let instructions = by(&|unit| unit.counts.node.instructions);
        let each = |figure: &dyn Fn(&Counts) -> u64| ratio_of_units(&by(&|unit| figure(&unit.counts)), &instructions);
        let mpki = |figure: &dyn Fn(&Counts) -> u64| each(figure).map(|estimate| estimate.times(1e3));
        let ipc = Aim::Ipc.estimate(units.iter())?;
        let latency = Aim::Latency.estimate(units.iter());
        Some(Sampling {
            units: units.len() as u64,
            distance: extent.distance,
            detailed: extent.detailed,
            warmed: extent.instructions - extent.detailed,
            ipc,
            accurate: extent.aim.is_met(units.iter(), extent.error),
            dram_bytes: each(&Counts::dram_bytes)?.times(extent.instructions as f64),
            read_latency_ns: latency.map(|latency| latency.times(1e-6)),
            l1d_mpki: mpki(&|counts| counts.node.l1d.misses)?,
            l2_mpki: mpki(&|counts| counts.node.l2.misses)?,
            llc_mpki: mpki(&|counts| counts.llc.misses)?,
            mispredicts_mpki: mpki(&|counts| counts.node.mispredicts)?,
            series: Series {
                start: units.iter().map(|unit| unit.start).collect(),
                time_fs: units.iter().map(|unit| unit.time_fs).collect(),
                dram_bytes: units.iter().map(|unit| unit.counts.dram_bytes()).collect(),
            },
        })
    }
}
