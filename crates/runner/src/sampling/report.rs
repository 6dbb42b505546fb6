//! What the record of a sampled run says about the sample.

use super::{Aim, Estimate, ratio};
use chip::counts::Counts;
use serde::Serialize;

/// A measured unit.
#[derive(Clone, Debug)]
pub struct Unit {
    /// After how many instructions it started.
    pub start: u64,
    /// What was counted in it.
    pub counts: Counts,
    /// How long it took, in femtoseconds.
    pub time_fs: u64,
}

/// The sample that a run's figures come from.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Sampling {
    /// Units that the figures come from.
    pub units: u64,
    /// From one unit to the next, in instructions.
    pub distance: u64,
    /// Instructions in detail, with lead-ins and with units that were given up later.
    pub detailed: u64,
    /// Instructions that were only warmed.
    pub warmed: u64,
    /// Instructions per cycle.
    pub ipc: Estimate,
    /// Whether the interval of the figure that was aimed at is as narrow as was asked for.
    pub accurate: bool,
    /// All reads and writes of memory of the whole run, in bytes.
    pub dram_bytes: Estimate,
    /// Mean time from the last-level cache's miss to the released line, in nanoseconds; nothing if there was no miss.
    pub read_latency_ns: Option<Estimate>,
    /// Misses of the first-level data cache in 1000 instructions, without those merged into others.
    pub l1d_mpki: Estimate,
    /// Misses of the second-level cache in 1000 instructions.
    pub l2_mpki: Estimate,
    /// Misses of the last-level cache in 1000 instructions.
    pub llc_mpki: Estimate,
    /// Mispredicted branches in 1000 instructions.
    pub mispredicts_mpki: Estimate,
    /// The units themselves, to compare two designs unit by unit.
    pub series: Series,
}

/// One value for each unit, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Series {
    /// After how many instructions it started.
    pub start: Vec<u64>,
    /// How long it took, in femtoseconds.
    pub time_fs: Vec<u64>,
    /// Reads and writes of memory, in bytes.
    pub dram_bytes: Vec<u64>,
}

/// How much was done in which way.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Instructions of the program, all of them.
    pub instructions: u64,
    /// Of these, in detail.
    pub detailed: u64,
    /// From one unit to the next.
    pub distance: u64,
    /// The figure to aim at.
    pub aim: Aim,
    /// The relative error to aim at.
    pub error: f64,
}

impl Aim {
    /// The figure, per unit of what it is counted in, by some of the units. Nothing if they say nothing about it, as units
    /// without a miss do not about its latency.
    pub fn estimate<'a>(self, units: impl Iterator<Item = &'a Unit>) -> Option<Estimate> {
        let of = |Unit { counts, .. }: &Unit| match self {
            Aim::Ipc => (counts.node.instructions, counts.node.cycles),
            Aim::Traffic => (counts.dram_bytes(), counts.node.instructions),
            Aim::Latency => (counts.llc.miss_latency_fs, counts.llc.misses),
        };
        let (above, below): (Vec<f64>, Vec<f64>) =
            units.map(of).map(|(above, below)| (above as f64, below as f64)).unzip();
        ratio(&above, &below)
    }

    /// Whether the interval of the figure, by some of the units, is at most so wide; also if it is nothing at all.
    pub fn is_met<'a>(self, units: impl Iterator<Item = &'a Unit>, error: f64) -> bool {
        self.estimate(units).is_some_and(|found| found.high == 0.0 || found.relative_error() <= error)
    }
}

impl Sampling {
    /// What the units say, if there are enough to say anything.
    pub fn of(units: &[Unit], extent: Extent) -> Option<Sampling> {
        let by = |figure: &dyn Fn(&Unit) -> u64| units.iter().map(|unit| figure(unit) as f64).collect::<Vec<_>>();
        let instructions = by(&|unit| unit.counts.node.instructions);
        let each = |figure: &dyn Fn(&Counts) -> u64| ratio(&by(&|unit| figure(&unit.counts)), &instructions);
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
