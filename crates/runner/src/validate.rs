//! Validation: compares results of the machine with those of public simulators of the same configuration.
//!
//! Two DRAM simulators were run on the same streams of requests as the DRAM model, and ChampSim on the same traces as
//! the whole machine. The files in `reference/` contain the reference figures and their sources. This module only
//! measures; `docs/VALIDATION.md` explains the differences.

mod champsim;
mod dram;

use crate::sampling::{Estimate, ratio};
use crate::window::WindowError;
use catalogue::ConfigError;
use serde::Serialize;
use thiserror::Error;

/// Part of the reference measurements to repeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValidationExtent {
    /// All streams and windows, which takes minutes.
    Full,
    /// Shorter streams, and only the short windows of the traces, which takes seconds.
    Brief,
}

/// Comparison of one figure.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ComparisonRow {
    /// The simulator of the reference.
    pub reference: String,
    /// Subject of the simulation: a machine and a trace, or a stream of requests.
    pub subject: String,
    /// Name of the figure, with its unit.
    pub quantity: String,
    /// Our figure; if it was measured for several page placements, their mean.
    pub ours: f64,
    /// The 95 % confidence interval of our figure over the page placements, if there were several.
    pub interval: Option<[f64; 2]>,
    /// Figure of the reference.
    pub theirs: f64,
    /// True if both figures are percentages; difference and tolerance are then percentage points.
    pub in_points: bool,
    /// Difference of our figure from the reference, in percent of the reference; of two percentages, in percentage
    /// points.
    pub difference_percent: f64,
    /// Tolerance of the difference, in the same unit; absent if the figure is only reported.
    pub tolerance_percent: Option<f64>,
    /// Additional tolerance for page placement, in percent of the reference. The reference has one placement, and our
    /// figure is the mean of a few: With a probability of 95 %, a single placement is within this tolerance of our
    /// mean.
    pub placement_percent: f64,
    /// True if the row is judged: it has a tolerance, and the tolerance for page placement does not exceed it. If one
    /// placement differs from the next by more than the tolerance, the row cannot tell an error from chance.
    pub counted: bool,
    /// True if the difference is within both tolerances together, or the row is not judged.
    pub ok: bool,
}

impl ComparisonRow {
    fn new(
        reference: &str,
        subject: &str,
        quantity: &str,
        [ours, theirs]: [f64; 2],
        tolerance: Option<f64>,
    ) -> ComparisonRow {
        let difference = match (ours, theirs) {
            (0.0, 0.0) => 0.0,
            (_, 0.0) => 100.0,
            _ => 100.0 * (ours - theirs) / theirs,
        };
        ComparisonRow::of(reference, subject, quantity, [ours, theirs], (difference, tolerance))
    }

    /// A row for a figure that was measured once under each of several placements of pages.
    fn of_placements(
        reference: &str,
        subject: &str,
        quantity: &str,
        (ours, theirs): (&[f64], f64),
        tolerance: f64,
    ) -> ComparisonRow {
        let mean = ours.iter().sum::<f64>() / ours.len() as f64;
        let mut row = ComparisonRow::new(reference, subject, quantity, [mean, theirs], Some(tolerance));
        if let Some(Estimate { value, low, high }) = ratio(ours, &vec![1.0; ours.len()]) {
            row.interval = Some([low, high]);
            // The confidence interval is that of a mean of n values. The variance of the difference between a single
            // value and this mean is n + 1 times as large.
            let single = (high - value) * (ours.len() as f64 + 1.0).sqrt();
            // A reference of zero has no percentage: like the difference, the tolerance is then a percentage of our
            // figure.
            let whole = if theirs == 0.0 { mean.max(f64::MIN_POSITIVE) } else { theirs };
            row.placement_percent = 100.0 * single / whole;
            row.counted = row.placement_percent <= tolerance;
            row.ok = !row.counted || row.difference_percent.abs() <= tolerance + row.placement_percent;
        }
        row
    }

    /// A row of two percentages: the row reports and checks their difference in percentage points.
    fn in_points(
        reference: &str,
        subject: &str,
        quantity: &str,
        [ours, theirs]: [f64; 2],
        tolerance: f64,
    ) -> ComparisonRow {
        let row = ComparisonRow::of(reference, subject, quantity, [ours, theirs], (ours - theirs, Some(tolerance)));
        ComparisonRow { in_points: true, ..row }
    }

    fn of(
        reference: &str,
        subject: &str,
        quantity: &str,
        [ours, theirs]: [f64; 2],
        (difference, tolerance): (f64, Option<f64>),
    ) -> ComparisonRow {
        ComparisonRow {
            reference: reference.to_owned(),
            subject: subject.to_owned(),
            quantity: quantity.to_owned(),
            ours,
            interval: None,
            theirs,
            in_points: false,
            difference_percent: difference,
            tolerance_percent: tolerance,
            placement_percent: 0.0,
            counted: tolerance.is_some(),
            ok: tolerance.is_none_or(|tolerance| difference.abs() <= tolerance),
        }
    }
}

/// Comparisons of all figures.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ValidationReport {
    /// Rows in the order of measurement.
    pub rows: Vec<ComparisonRow>,
    /// True if all judged figures are within their tolerances.
    pub ok: bool,
}

/// A reason why there is no report.
#[derive(Debug, Error)]
pub enum ValidationError {
    /// A reference file of this build cannot be read.
    #[error("{file}: {error}")]
    Reference {
        /// Name of the file.
        file: &'static str,
        /// Error of its parser.
        error: serde_json::Error,
    },
    /// The catalogue lacks a machine.
    #[error(transparent)]
    Configuration(#[from] ConfigError),
    /// A trace could not be measured.
    #[error(transparent)]
    Window(#[from] WindowError),
}

/// Progress of a validation.
#[derive(Clone, Copy, Debug)]
pub struct ValidationProgress<'a> {
    /// Subject that was simulated last.
    pub subject: &'a str,
    /// Work done so far: instructions of windows, requests of streams.
    pub done: u64,
    /// Total amount of work.
    pub of: u64,
}

/// Measures all figures. `progress` is called with each subject after its simulation.
///
/// # Errors
/// See [`ValidationError`]; a figure out of its tolerance is a result.
pub fn validate(
    extent: ValidationExtent,
    mut progress: impl FnMut(ValidationProgress<'_>),
) -> Result<ValidationReport, ValidationError> {
    let work = [dram::work(extent)?, champsim::work(extent)?].concat();
    let of = work.iter().sum();
    let (mut weights, mut done, mut last) = (work.into_iter(), 0, String::new());
    let mut report = |row: &ComparisonRow| {
        if last != row.subject {
            last.clone_from(&row.subject);
            done += weights.next().unwrap_or(0);
            progress(ValidationProgress { subject: &last, done, of });
        }
    };
    let mut rows = validate_dram(extent, &mut report)?.rows;
    champsim::compare(extent, &mut |row: ComparisonRow| {
        report(&row);
        rows.push(row);
    })?;
    Ok(ValidationReport::of(rows))
}

/// Measures only the DRAM channel.
///
/// # Errors
/// The errors of [`validate`].
pub fn validate_dram(
    extent: ValidationExtent,
    mut progress: impl FnMut(&ComparisonRow),
) -> Result<ValidationReport, ValidationError> {
    let mut rows = Vec::new();
    dram::compare(extent, &mut |row: ComparisonRow| {
        progress(&row);
        rows.push(row);
    })?;
    Ok(ValidationReport::of(rows))
}

impl ValidationReport {
    fn of(rows: Vec<ComparisonRow>) -> ValidationReport {
        let ok = rows.iter().all(|row| row.ok);
        ValidationReport { rows, ok }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: &[f64], theirs: f64) -> ComparisonRow {
        within(5.0, ours, theirs)
    }

    fn within(tolerance: f64, ours: &[f64], theirs: f64) -> ComparisonRow {
        ComparisonRow::of_placements("", "", "", (ours, theirs), tolerance)
    }

    #[test]
    fn a_validation_figure_equal_in_all_placements_is_judged_only_by_its_tolerance() {
        let found = row(&[104.0; 5], 100.0);
        assert_eq!((found.interval, found.placement_percent, found.ok), (Some([104.0; 2]), 0.0, true));
        assert!(!row(&[106.0; 5], 100.0).ok);
    }

    #[test]
    fn the_validation_tolerance_includes_the_student_interval_of_a_single_placement() {
        // Mean 100, deviation 10, quantile for four degrees of freedom 2.776, root of 1 + 1/5.
        let placements = [85.858, 100.0, 114.142, 100.0, 100.0];
        let found = within(40.0, &placements, 100.0);
        assert!((found.placement_percent - 27.76 * 1.2f64.sqrt()).abs() < 0.05, "{}", found.placement_percent);
        let [low, high] = found.interval.unwrap();
        assert!((high - low - 2.0 * 27.76 / 5f64.sqrt()).abs() < 0.05);
        // 50 % off with 40 + 20 allowed, and 60 % off with 40 + 12.
        assert!(within(40.0, &placements, 200.0).ok && !within(40.0, &placements, 250.0).ok);
    }

    #[test]
    fn a_row_with_a_larger_spread_than_its_tolerance_is_not_counted() {
        let spread = [60.0, 100.0, 140.0, 100.0, 100.0];
        let found = row(&spread, 1_000.0);
        assert!(!found.counted && found.ok, "{found:?}");
        assert!(within(100.0, &spread, 100.0).counted);
        assert!(
            !ComparisonRow::new("", "", "", [1.0, 2.0], None).counted,
            "a figure without a tolerance is only reported"
        );
    }

    /// Each kind of figure in the validation, with twice its tolerance added.
    #[test]
    fn every_counted_row_of_the_validation_can_fail() {
        let report = validate(ValidationExtent::Brief, |_| ()).unwrap();
        let counted: Vec<_> = report.rows.iter().filter(|row| row.counted).collect();
        assert!(counted.len() > 20);
        for row in counted {
            let off = 2.0 * (row.tolerance_percent.unwrap() + row.placement_percent);
            let ours = if row.in_points { row.theirs + off } else { row.theirs * (1.0 + off / 100.0) };
            // Our figures of the same spread around a wrong mean.
            let spread = row.interval.map_or(0.0, |[low, high]| (high - low) / 4.0);
            // A count of zero, and a latency that must be exact, are off by one.
            let ours = if ours == row.theirs { row.theirs + 1.0 } else { ours };
            let tolerance = row.tolerance_percent.unwrap();
            let planted = match row.in_points {
                true => ComparisonRow::in_points("", "", "", [ours, row.theirs], tolerance),
                false => within(tolerance, &[ours - spread, ours, ours + spread], row.theirs),
            };
            assert!(!planted.ok, "{}: {}", row.subject, row.quantity);
        }
    }

    #[test]
    fn validation_reports_differences_of_percentages_in_percentage_points() {
        let found = ComparisonRow::in_points("", "", "row hits in percent", [1.0, 0.4], 0.5);
        assert!(found.in_points && (found.difference_percent - 0.6).abs() < 1e-9 && !found.ok, "{found:?}");
        assert!(!row(&[1.0], 0.4).in_points);
    }

    #[test]
    fn a_zero_reference_is_met_only_if_most_placements_give_zero() {
        assert!(row(&[0.0; 5], 0.0).ok && !row(&[1.0; 5], 0.0).ok);
        assert!(!row(&[0.0, 0.0, 9.0, 0.0, 0.0], 0.0).counted, "one placement says nothing about the next");
    }
}
