//! One DRAM channel against two public DRAM simulators, which differ from each other: the nearer one counts.

use super::{Extent, Row, ValidationError};
use machine::dram::DramConfig;
use machine::dram::stream::{Pattern, Stream, measure};
use serde::Deserialize;

const FILE: &str = "reference/dram.json";
const TEXT: &str = include_str!("../../../../reference/dram.json");

#[derive(Deserialize)]
struct Reference {
    rows: Vec<Point>,
}

#[derive(Deserialize)]
struct Point {
    pattern: Pattern,
    mean_gap_clocks: u64,
    ramulator: Figures,
    dramsim3: Figures,
}

#[derive(Deserialize)]
struct Figures {
    mean_clocks: f64,
    bandwidth_gbps: f64,
}

/// Bandwidth everywhere; latency up to half of the saturated bandwidth, beyond which it is a matter of scheduling.
pub(super) fn compare(extent: Extent, found: &mut impl FnMut(Row)) -> Result<(), ValidationError> {
    let reference: Reference =
        serde_json::from_str(TEXT).map_err(|error| ValidationError::Reference { file: FILE, error })?;
    let requests = if extent == Extent::Full { 300_000 } else { 20_000 };
    let points = &reference.rows;
    for point in points {
        let ours = measure(&DramConfig::ddr4_3200(), Stream::new(point.pattern, point.mean_gap_clocks), requests);
        let subject = format!("{}, gap {} clocks", point.pattern, point.mean_gap_clocks);
        let saturated = points.iter().find(|other| other.pattern == point.pattern && other.mean_gap_clocks == 0);
        let half = saturated.map_or(0.0, |point| point.ramulator.bandwidth_gbps / 2.0);
        let bandwidth = |figures: &Figures| figures.bandwidth_gbps;
        found(point.row(&subject, "bandwidth in GB/s", ours.bandwidth, bandwidth, Some(5.0)));
        let tolerance = match point.pattern {
            _ if point.ramulator.bandwidth_gbps > half => None,
            Pattern::RandomReadsAndWrites => Some(20.0),
            _ => Some(5.0),
        };
        found(point.row(&subject, "mean read latency in clocks", ours.mean, |figures| figures.mean_clocks, tolerance));
    }
    Ok(())
}

impl Point {
    fn row(
        &self,
        subject: &str,
        quantity: &str,
        ours: f64,
        theirs: impl Fn(&Figures) -> f64,
        tolerance: Option<f64>,
    ) -> Row {
        let both = [("Ramulator 2.1", &self.ramulator), ("DRAMsim3", &self.dramsim3)];
        let rows = both.map(|(name, figures)| Row::new(name, subject, quantity, [ours, theirs(figures)], tolerance));
        let [first, second] = rows;
        if first.difference_percent.abs() <= second.difference_percent.abs() { first } else { second }
    }
}
