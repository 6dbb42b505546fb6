//! Is the machine believable? Its figures next to those of public simulators of the same configuration.
//!
//! DRAM is compared with two DRAM simulators on the same streams of requests, the whole machine with ChampSim on the same
//! traces. The reference figures are in `reference/`, with where they come from. What differs, and why, is explained in
//! `docs/VALIDATION.md`; here it is only measured.

mod champsim;
mod dram;

use crate::sampling::{Estimate, ratio};
use crate::window::WindowError;
use catalogue::ConfigError;
use serde::Serialize;
use thiserror::Error;

/// How much of the reference's work is repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// All of it: minutes.
    Full,
    /// Shorter streams, and the short ones of the traces' windows: seconds.
    Brief,
}

/// One figure.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// The simulator of the reference.
    pub reference: String,
    /// What was simulated: a machine and a trace, or a stream of requests.
    pub subject: String,
    /// What was measured, with its unit.
    pub quantity: String,
    /// Our figure; where pages were placed several times, the mean.
    pub ours: f64,
    /// Its 95 % interval over the placements of pages, if there were several.
    pub interval: Option<[f64; 2]>,
    /// The reference's.
    pub theirs: f64,
    /// Whether both are percentages, of which the difference and the tolerance are percentage points.
    pub in_points: bool,
    /// By how much ours is higher, in percent of theirs; of two percentages, in percentage points.
    pub difference_percent: f64,
    /// How far it may be off, in percent or points as the difference; nothing if it is only reported.
    pub tolerance_percent: Option<f64>,
    /// How far it may be off beyond that, in percent of theirs, because theirs is of one placement of pages and ours is the
    /// mean of a few: 95 % of single placements are no further from such a mean.
    pub placement_percent: f64,
    /// Whether it is within both together.
    pub ok: bool,
}

impl Row {
    fn new(reference: &str, subject: &str, quantity: &str, [ours, theirs]: [f64; 2], tolerance: Option<f64>) -> Row {
        let difference = match (ours, theirs) {
            (0.0, 0.0) => 0.0,
            (_, 0.0) => 100.0,
            _ => 100.0 * (ours - theirs) / theirs,
        };
        Row::of(reference, subject, quantity, [ours, theirs], (difference, tolerance))
    }

    /// A row of a figure that was measured under several placements of pages, once under each.
    fn of_placements(
        reference: &str,
        subject: &str,
        quantity: &str,
        (ours, theirs): (&[f64], f64),
        tolerance: f64,
    ) -> Row {
        let mean = ours.iter().sum::<f64>() / ours.len() as f64;
        let mut row = Row::new(reference, subject, quantity, [mean, theirs], Some(tolerance));
        if let Some(Estimate { value, low, high }) = ratio(ours, &vec![1.0; ours.len()]) {
            row.interval = Some([low, high]);
            // The interval is that of a mean; a single one has a variance that is larger by the count plus one.
            let single = (high - value) * (ours.len() as f64 + 1.0).sqrt();
            // Of nothing there is no share: then it is a share of ours, as the difference is.
            let whole = if theirs == 0.0 { mean.max(f64::MIN_POSITIVE) } else { theirs };
            row.placement_percent = 100.0 * single / whole;
            row.ok = row.difference_percent.abs() <= tolerance + row.placement_percent;
        }
        row
    }

    /// A row of two figures in percent: what is reported and held is the difference of them, not its share.
    fn in_points(reference: &str, subject: &str, quantity: &str, [ours, theirs]: [f64; 2], tolerance: f64) -> Row {
        let row = Row::of(reference, subject, quantity, [ours, theirs], (ours - theirs, Some(tolerance)));
        Row { in_points: true, ..row }
    }

    fn of(
        reference: &str,
        subject: &str,
        quantity: &str,
        [ours, theirs]: [f64; 2],
        (difference, tolerance): (f64, Option<f64>),
    ) -> Row {
        Row {
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
            ok: tolerance.is_none_or(|tolerance| difference.abs() <= tolerance),
        }
    }
}

/// All figures.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ValidationReport {
    /// In the order in which they were measured.
    pub rows: Vec<Row>,
    /// Whether all are within their tolerances.
    pub ok: bool,
}

/// Why there is no report.
#[derive(Debug, Error)]
pub enum ValidationError {
    /// A reference file of this build cannot be read.
    #[error("{file}: {error}")]
    Reference {
        /// The file.
        file: &'static str,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// A machine is missing.
    #[error(transparent)]
    Configuration(#[from] ConfigError),
    /// A trace could not be measured.
    #[error(transparent)]
    Window(#[from] WindowError),
}

/// How far a validation is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// What was simulated last.
    pub subject: &'a str,
    /// How much has been simulated: instructions of windows, requests of streams.
    pub done: u64,
    /// How much there is.
    pub of: u64,
}

/// Measures everything. `progress` gets each subject when it has been simulated.
///
/// # Errors
/// See [`ValidationError`]; a figure out of its tolerance is a result.
pub fn validate(extent: Extent, mut progress: impl FnMut(Progress<'_>)) -> Result<ValidationReport, ValidationError> {
    let work = [dram::work(extent)?, champsim::work(extent)?].concat();
    let of = work.iter().sum();
    let (mut ahead, mut done, mut last) = (work.into_iter(), 0, String::new());
    let mut tell = |row: &Row| {
        if last != row.subject {
            last.clone_from(&row.subject);
            done += ahead.next().unwrap_or(0);
            progress(Progress { subject: &last, done, of });
        }
    };
    let mut rows = validate_dram(extent, &mut tell)?.rows;
    champsim::compare(extent, &mut |row: Row| {
        tell(&row);
        rows.push(row);
    })?;
    Ok(ValidationReport::of(rows))
}

/// Measures the DRAM channel alone.
///
/// # Errors
/// As [`validate`].
pub fn validate_dram(extent: Extent, mut progress: impl FnMut(&Row)) -> Result<ValidationReport, ValidationError> {
    let mut rows = Vec::new();
    dram::compare(extent, &mut |row: Row| {
        progress(&row);
        rows.push(row);
    })?;
    Ok(ValidationReport::of(rows))
}

impl ValidationReport {
    fn of(rows: Vec<Row>) -> ValidationReport {
        let ok = rows.iter().all(|row| row.ok);
        ValidationReport { rows, ok }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: &[f64], theirs: f64) -> Row {
        Row::of_placements("", "", "", (ours, theirs), 5.0)
    }

    #[test]
    fn a_figure_that_placements_do_not_move_is_held_to_its_tolerance_alone() {
        let found = row(&[104.0; 5], 100.0);
        assert_eq!((found.interval, found.placement_percent, found.ok), (Some([104.0; 2]), 0.0, true));
        assert!(!row(&[106.0; 5], 100.0).ok);
    }

    #[test]
    fn one_placement_may_be_as_far_off_as_students_distribution_says_of_a_single_one() {
        // Mean 100, deviation 10, quantile for four degrees of freedom 2.776, root of 1 + 1/5.
        let placements = [85.858, 100.0, 114.142, 100.0, 100.0];
        let found = row(&placements, 100.0);
        assert!((found.placement_percent - 27.76 * 1.2f64.sqrt()).abs() < 0.05, "{}", found.placement_percent);
        let [low, high] = found.interval.unwrap();
        assert!((high - low - 2.0 * 27.76 / 5f64.sqrt()).abs() < 0.05);
        // 23 % off with 5 + 23 allowed, and 33 % off with 5 + 20.
        assert!(row(&placements, 130.0).ok && !row(&placements, 150.0).ok);
    }

    #[test]
    fn two_percentages_differ_by_points_and_say_so() {
        let found = Row::in_points("", "", "row hits in percent", [1.0, 0.4], 0.5);
        assert!(found.in_points && (found.difference_percent - 0.6).abs() < 1e-9 && !found.ok, "{found:?}");
        assert!(!row(&[1.0], 0.4).in_points);
    }

    #[test]
    fn something_where_the_reference_has_nothing_is_off() {
        assert!(row(&[0.0; 5], 0.0).ok && !row(&[1.0; 5], 0.0).ok);
        assert!(row(&[0.0, 0.0, 9.0, 0.0, 0.0], 0.0).ok, "unless most placements have nothing either");
    }
}
