//! Losses of power: at every point of every short workload, what does the memory hold, and does the machine get it back?
//!
//! * [`workload`]: all sequences of up to three writes over three lines, one after the other and all at once.
//! * [`history`]: a workload carried out on a timed machine, with everything that it sent to memory, in order.
//! * [`states`]: what a loss of power at some point can leave behind: every legal subset of what was on its way.
//! * [`revival`]: a fresh chip recovers from what was left; what do the lines read as?
//! * [`rows`]: the rows of the table, each a text over these.
//!
//! # Fairness
//! What was fenced has arrived. Everything else that was sent may have arrived, or not, or in part: eight bytes are written as
//! one. Registers outlive power, and change in one instant. Of designs with persistence, so do keys; others draw new ones.
//! Memory may hold the state after any number of whole writes from the first on, as long as it holds all that had
//! returned: a tuple counts as one write here, and order is strict.

pub mod history;
pub mod revival;
pub mod rows;
pub mod states;
pub mod workload;

use crate::report::Histogram;
use history::History;
use protection::planted::Planted;
use rows::Case;
use serde::Serialize;
use systems::{Design, End, Loss};
use workload::Workload;

/// How losses are tried.
#[derive(Clone, Debug)]
pub struct CrashOptions {
    /// Rows to run.
    pub rows: Vec<Loss>,
    /// The one workload to run, or all.
    pub workload: Option<usize>,
    /// Of the contents, and of subsets where there are too many.
    pub seed: u64,
    /// A deliberate weakness, or none.
    pub planted: Planted,
}

impl Default for CrashOptions {
    fn default() -> CrashOptions {
        CrashOptions { rows: Loss::ALL.to_vec(), workload: None, seed: 1, planted: Planted::NONE }
    }
}

/// One row: what losses of one kind came to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CrashRow {
    /// What was done.
    pub loss: Loss,
    /// How often it ended how.
    pub histogram: Histogram,
    /// The worst end, both of what came out and of what leaked; not-applicable if nothing survives by design.
    pub worst: End,
    /// What the design claims; nothing if it says nothing.
    pub claim: Option<End>,
    /// Whether the worst end is exactly what is claimed.
    pub agrees: bool,
    /// The first case of the worst end.
    pub example: Option<CrashExample>,
}

/// A case, with all that is needed to see it again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CrashExample {
    /// The workload, in words.
    pub workload: String,
    /// How many things had been asked of memory when power failed.
    pub point: usize,
    /// What happened, in words.
    pub story: String,
    /// The command that shows it again.
    pub replay: String,
}

/// All losses of one design.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CrashReport {
    /// The design's name.
    pub design: String,
    /// What it is, in a sentence.
    pub summary: String,
    /// Workloads that were carried out.
    pub workloads: usize,
    /// Points at which power failed, over all workloads.
    pub points: usize,
    /// Different memories that were left behind, over all points.
    pub states: usize,
    /// Subsets that were tried to find them.
    pub subsets: u64,
    /// Rows that were run.
    pub rows: Vec<CrashRow>,
    /// Whether all rows agree with their claims.
    pub agrees: bool,
}

impl CrashReport {
    /// What is wrong, a line for each row that does not agree with its claim.
    pub fn complaints(&self) -> Vec<String> {
        let complaint = |row: &CrashRow| {
            let claim = row.claim.map_or("nothing", End::name);
            let replay = row.example.as_ref().map_or_else(String::new, |example| format!(": {}", example.replay));
            format!("{}: {} claims {claim}, ended {}{replay}", self.design, row.loss, row.worst)
        };
        self.rows.iter().filter(|row| !row.agrees).map(complaint).collect()
    }
}

/// Tries losses of power under a design. `progress` is told how many workloads are done, and of how many.
///
/// # Panics
/// If the design's parts make no sense together, which [`Design::parse`] rules out.
pub fn crash(design: &Design, options: &CrashOptions, progress: &mut dyn FnMut(usize, usize)) -> CrashReport {
    let all = workload::all();
    let chosen: Vec<(usize, &Workload)> =
        all.iter().enumerate().filter(|(index, _)| options.workload.is_none_or(|only| only == *index)).collect();
    let mut rows: Vec<CrashRow> = options.rows.iter().map(|loss| blank_row(design, *loss)).collect();
    let (mut points, mut states, mut subsets) = (0, 0, 0);
    for (done, (index, workload)) in chosen.iter().enumerate() {
        progress(done, chosen.len());
        let history = History::of(design, workload, options.seed, options.planted);
        let left = states::all(&history, design.parts.persistence.exists());
        points += history.points();
        states += left.states.len();
        subsets += left.subsets;
        for row in &mut rows {
            for case in rows::cases(row.loss, design, &history, &left.states, options) {
                note(row, design, *index, workload, options.seed, case);
            }
        }
    }
    progress(chosen.len(), chosen.len());
    for row in &mut rows {
        row.worst = End::worst_of(row.histogram.keys().copied()).unwrap_or(End::NONE);
        row.agrees = row.claim.unwrap_or(End::NONE) == row.worst;
    }
    CrashReport {
        design: design.name.clone(),
        summary: design.summary.clone(),
        workloads: chosen.len(),
        points,
        states,
        subsets,
        agrees: rows.iter().all(|row| row.agrees),
        rows,
    }
}

fn blank_row(design: &Design, loss: Loss) -> CrashRow {
    CrashRow {
        loss,
        histogram: Histogram::new(),
        worst: End::NONE,
        claim: design.crash.about(loss),
        agrees: false,
        example: None,
    }
}

fn note(row: &mut CrashRow, design: &Design, index: usize, workload: &Workload, seed: u64, case: Case) {
    let end = End::from(case.verdict);
    let is_worst = row.histogram.keys().next_back().is_none_or(|worst| end > *worst);
    if is_worst {
        row.example = Some(CrashExample {
            workload: workload.to_string(),
            point: case.point,
            story: case.story,
            replay: format!("casemate crash {} --row {} --workload {index} --seed {seed}", design.called(), row.loss),
        });
    }
    *row.histogram.entry(end).or_default() += 1;
}
