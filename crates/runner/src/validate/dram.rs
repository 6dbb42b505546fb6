//! Compares one DRAM channel with two public DRAM simulators, which differ from each other: each result is compared
//! with the nearer of the two.
//!
//! Near saturation, mean latency depends on the scheduling policy, so the mean and the 99th percentile of the latency
//! are checked only up to half of the saturated bandwidth.

use super::{ComparisonRow, ValidationError, ValidationExtent};
use machine::dram::stream::{Pattern, Stream, measure};
use machine::dram::{Dram, DramConfig, Kind};
use serde::Deserialize;
use units::{Cycles, LineAddr};

const FILE: &str = "reference/dram.json";
const TEXT: &str = include_str!("../../../../reference/dram.json");
/// Number of requests to simulate. The reference has a million requests; further requests change the mean latencies by
/// less than 1 %.
const REQUESTS: usize = 300_000;
/// Number of reads whose latency is measured on an idle channel.
const IDLE_READS: usize = 3;

#[derive(Deserialize)]
struct DramReference {
    idle_latency_clocks: IdleLatency,
    rows: Vec<ReferencePoint>,
}

#[derive(Deserialize)]
struct IdleLatency {
    hit: u64,
    closed: u64,
    conflict: u64,
}

#[derive(Deserialize)]
struct ReferencePoint {
    pattern: Pattern,
    mean_gap_clocks: u64,
    ramulator: DramFigures,
    dramsim3: DramFigures,
}

#[derive(Deserialize)]
struct DramFigures {
    mean_clocks: f64,
    p99_clocks: f64,
    bandwidth_gbps: f64,
    row_hit_rate: f64,
}

fn reference() -> Result<DramReference, ValidationError> {
    serde_json::from_str(TEXT).map_err(|error| ValidationError::Reference { file: FILE, error })
}

fn requests(extent: ValidationExtent) -> usize {
    if extent == ValidationExtent::Full { REQUESTS } else { 20_000 }
}

/// Number of requests of each stream, in order.
pub(super) fn work(extent: ValidationExtent) -> Result<Vec<u64>, ValidationError> {
    let streams = vec![requests(extent) as u64; reference()?.rows.len()];
    Ok([vec![1; IDLE_READS], streams].concat())
}

pub(super) fn compare(extent: ValidationExtent, found: &mut impl FnMut(ComparisonRow)) -> Result<(), ValidationError> {
    let reference = reference()?;
    compare_idle(&reference.idle_latency_clocks, found);
    let requests = requests(extent);
    let points = &reference.rows;
    for point in points {
        let saturated = points.iter().find(|other| other.pattern == point.pattern && other.mean_gap_clocks == 0);
        let half = saturated.map_or(0.0, |point| point.ramulator.bandwidth_gbps / 2.0);
        point.compare(requests, point.ramulator.bandwidth_gbps <= half, found);
    }
    Ok(())
}

/// Single reads of a closed bank, of the row that the first read opened, and of another row of the bank.
fn compare_idle(theirs: &IdleLatency, found: &mut impl FnMut(ComparisonRow)) {
    let config = DramConfig::ddr4_3200();
    let same_bank =
        config.organisation.lines_per_row * config.organisation.bank_groups * config.organisation.banks_per_group;
    let clock = config.clock_mhz.clock();
    let mut dram = Dram::new(config);
    let reads: [_; IDLE_READS] = [
        (0, 0, "a closed bank", theirs.closed),
        (1_000, 1, "an open row", theirs.hit),
        (2_000, same_bank, "a bank with another row open", theirs.conflict),
    ];
    for (start, line, outcome, theirs) in reads {
        let mut completions = Vec::new();
        let mut next = Some(clock.start_of(Cycles(start)));
        dram.submit(clock.start_of(Cycles(start)), LineAddr(line), Kind::Read, 0);
        while let Some(now) = next {
            next = dram.advance(now, &mut completions);
        }
        let latency: u64 = completions.iter().map(|read| clock.cycle_at_or_after(read.at).0 - start).sum();
        let both = [latency as f64, theirs as f64];
        found(ComparisonRow::new(
            "Ramulator 2.1",
            &format!("a lone read of {outcome}"),
            "latency in clocks",
            both,
            Some(0.0),
        ));
    }
}

impl ReferencePoint {
    fn compare(&self, requests: usize, is_calm: bool, found: &mut impl FnMut(ComparisonRow)) {
        let ours = measure(&DramConfig::ddr4_3200(), Stream::new(self.pattern, self.mean_gap_clocks), requests);
        let latency = if self.pattern == Pattern::RandomReadsAndWrites { 20.0 } else { 5.0 };
        let calm = |tolerance| is_calm.then_some(tolerance);
        found(self.row("bandwidth in GB/s", ours.bandwidth, |figures| figures.bandwidth_gbps, Some(5.0)));
        found(self.row("mean read latency in clocks", ours.mean, |figures| figures.mean_clocks, calm(latency)));
        // The 99th percentile can be compared only if all requests of a full validation were simulated.
        let tail = if requests == REQUESTS { calm(10.0) } else { None };
        found(self.row("99th percentile of it", ours.p99 as f64, |figures| figures.p99_clocks, tail));
        let hits = |figures: &DramFigures| 100.0 * figures.row_hit_rate;
        found(self.nearer(|name, figures| {
            ComparisonRow::in_points(
                name,
                &self.subject(),
                "row hits in percent",
                [100.0 * ours.row_hit_rate, hits(figures)],
                0.5,
            )
        }));
    }

    fn subject(&self) -> String {
        format!("{}, gap {} clocks", self.pattern, self.mean_gap_clocks)
    }

    fn row(
        &self,
        quantity: &str,
        ours: f64,
        theirs: impl Fn(&DramFigures) -> f64,
        tolerance: Option<f64>,
    ) -> ComparisonRow {
        self.nearer(|name, figures| {
            ComparisonRow::new(name, &self.subject(), quantity, [ours, theirs(figures)], tolerance)
        })
    }

    /// The row of the reference simulator that is nearer.
    fn nearer(&self, row: impl Fn(&str, &DramFigures) -> ComparisonRow) -> ComparisonRow {
        let [first, second] = [row("Ramulator 2.1", &self.ramulator), row("DRAMsim3", &self.dramsim3)];
        if first.difference_percent.abs() <= second.difference_percent.abs() { first } else { second }
    }
}
