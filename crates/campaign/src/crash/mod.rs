//! Losses of power: for every point of every short workload, the content that memory then holds, and its recovery by
//! the machine.
//!
//! * [`workload`]: all sequences of up to three writes over three lines, in turn and at once.
//! * [`history`]: a workload that ran on a timed machine, with all its requests to memory in order.
//! * [`shown`]: the keystream in use on the bus until the loss, which an attacker knows.
//! * [`storing`]: the point at which stores become durable: the controller, or a component with a battery ([`holder`]),
//!   [`buffered`] or [`cached`].
//! * [`dying`]: the state of the chip after the battery has done its work.
//! * [`on_battery`]: attacks while the battery works, and memories that a dying battery leaves.
//! * [`states`]: all memories that a loss at some point can leave: every legal subset of the writes in flight.
//! * [`durable`]: the writes that memory must hold then, by the program and by the bus.
//! * [`strikes`]: tampering before power returns.
//! * [`revival`]: a fresh chip recovers from the memory and continues. It yields the content of the lines and any reuse of a pad.
//! * [`sessions`]: the state in which a session begins after earlier ones under the same keys; `resuming` runs the next session.
//! * [`trials`]: the verdict on a machine that is switched on over a memory that a loss left.
//! * [`over_sessions`]: histories over several sessions, with an attacker at all times.
//! * [`rows`]: the rows of the table, each computed from these parts.
//! * [`locked`]: a log that two cores append to under a lock, where the order of all stores is known.
//! * [`programs`]: programs with their recovery code, under repeated losses of power.
//!
//! # Fairness
//! Fenced writes have arrived. Every other write that was sent may have arrived in full, in part or not at all; memory writes
//! eight bytes at once. Registers outlive power and change in one instant. So do the keys of designs with persistence; other
//! designs draw new keys. Memory may hold the state after any number of whole writes from the first on, if these include all that
//! had returned. A tuple counts as one write here, and order is strict.
//!
//! An attacker that tampers remembers all traffic on the bus. The keys survive the loss, so its knowledge of keystream
//! survives too. The campaign judges each history for content, freshness and keystream, and counts each kind of harm as
//! a separate case.

mod bench;
mod buffered;
mod cached;
pub mod durable;
pub mod dying;
pub mod history;
mod holder;
pub mod locked;
mod on_battery;
pub mod over_sessions;
pub mod programs;
mod resuming;
pub mod revival;
pub mod rows;
pub mod sessions;
pub mod shown;
pub mod states;
mod storing;
pub mod strikes;
mod trials;
pub mod workload;

use crate::report::Histogram;
use catalogue::{Design, End, Loss};
use history::History;
use on_battery::Tries;
use protection::planted::PlantedBug;
use rows::Aftermath;
use serde::Serialize;
use states::Arrivals;
use strikes::Strikes;
use trials::Case;
use workload::Workload;

/// Events of a longer history at which power fails, for a design with a battery.
const EVENTS: usize = 40;

/// Options of a crash campaign.
#[derive(Clone, Debug)]
pub struct CrashOptions {
    /// Rows of the table to run.
    pub rows: Vec<Loss>,
    /// The one workload to run, or all.
    pub workload: Option<usize>,
    /// Seed of the contents, and of the drawn subsets where there are too many to try all.
    pub seed: u64,
    /// True if the campaign tries every strike and more subsets on all workloads, as it does on short ones.
    pub thorough: bool,
    /// True if all writes in flight arrive whole and in order. Failures found so do not depend on torn memory.
    pub in_order: bool,
    /// A deliberate weakness, if any.
    pub planted: PlantedBug,
}

/// Number of cases that the campaign tries on one history.
#[derive(Clone, Copy, Debug)]
pub struct CaseBudget {
    /// Arrivals that are tried for the writes in flight.
    arrivals: Arrivals,
    /// Events at which power fails, for a design with a battery.
    events: usize,
    /// Torn states at a point that are tampered with or lose power in recovery, in addition to those where all writes arrive.
    torn_at_a_point: usize,
    /// Strikes that are tried on each state.
    strikes: Strikes,
    /// Losses during the recovery from an attack, for each attack.
    between_strikes: usize,
    /// Attempts while the battery works.
    on_battery: Tries,
    /// Histories over several sessions.
    over_sessions: usize,
}

impl CrashOptions {
    /// Returns the number of cases for a history: all for short ones; for longer ones a part, drawn with the seed.
    fn extent(&self, history: &History) -> CaseBudget {
        let writes = history.writes.len();
        let subsets = match writes {
            // No write survives in these designs, so a small number of subsets suffices.
            _ if !history.parts.persistence.exists() => 1 << 3,
            1 => 1 << 10,
            _ if self.thorough => 1 << 8,
            _ => 1 << 6,
        };
        let arrivals = if self.in_order { Arrivals::InOrder } else { Arrivals::Any(subsets) };
        let events = if writes == 1 || self.thorough { usize::MAX } else { EVENTS };
        let on_battery = Tries::of(self.thorough);
        let over_sessions = if self.thorough { 48 } else { 4 };
        if writes <= 2 || self.thorough {
            let torn_at_a_point = if writes == 1 { usize::MAX } else { 2 };
            return CaseBudget {
                arrivals,
                events,
                torn_at_a_point,
                strikes: Strikes::All,
                between_strikes: 2,
                on_battery,
                over_sessions,
            };
        }
        CaseBudget {
            arrivals,
            events,
            torn_at_a_point: 1,
            strikes: Strikes::EachKind,
            between_strikes: 1,
            on_battery,
            over_sessions,
        }
    }
}

impl Default for CrashOptions {
    fn default() -> CrashOptions {
        CrashOptions {
            rows: Loss::ALL.to_vec(),
            workload: None,
            seed: 1,
            thorough: false,
            in_order: false,
            planted: PlantedBug::NONE,
        }
    }
}

/// One row: the ends of all losses of one kind.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CrashRow {
    /// Kind of loss of the row.
    pub loss: Loss,
    /// Number of cases by end.
    pub histogram: Histogram,
    /// Worst end, over content and leakage; not-applicable if the design keeps no data by intent.
    pub worst: End,
    /// Claim of the design; `None` if it makes no claim.
    pub claim: Option<End>,
    /// True if the worst end is exactly the claim, or, for a single workload, no worse.
    pub agrees: bool,
    /// The first case of the worst end.
    pub example: Option<CrashExample>,
}

/// A case, with all data needed to reproduce it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CrashExample {
    /// Description of the workload.
    pub workload: String,
    /// Point at which power failed: changes issued to memory until then, or events of a machine with a battery. In histories
    /// over several sessions, the number of steps.
    pub point: usize,
    /// Description of the events.
    pub story: String,
    /// Command that reproduces the case.
    pub replay: String,
}

/// All losses of one design.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CrashReport {
    /// Name of the design.
    pub design: String,
    /// Summary of the design in one sentence.
    pub summary: String,
    /// Workloads that were carried out.
    pub workloads: usize,
    /// Points at which power failed, over all workloads; none if only histories over several sessions were
    /// carried out.
    pub points: usize,
    /// Different memories that losses left, counted per workload, including those of dying batteries, if a row needed
    /// any.
    pub memories: usize,
    /// Memories among these that need a write to arrive torn, out of order or not at all.
    pub torn: usize,
    /// Different memories that an attacker made from each of these, and the attacks in histories over several sessions.
    pub tampered: usize,
    /// Histories over several sessions.
    pub histories: usize,
    /// Rows that were run.
    pub rows: Vec<CrashRow>,
    /// True if all rows agree with their claims.
    pub agrees: bool,
}

impl CrashReport {
    /// Returns one complaint for each row that does not agree with its claim.
    pub fn complaints(&self) -> Vec<String> {
        let complaint = |row: &CrashRow| {
            let claim = row.claim.map_or("nothing", End::name);
            let replay = row.example.as_ref().map_or_else(String::new, |example| format!(": {}", example.replay));
            format!("{}: {} claims {claim}, ended {}{replay}", self.design, row.loss, row.worst)
        };
        self.rows.iter().filter(|row| !row.agrees).map(complaint).collect()
    }
}

/// Tries losses of power under a design. `progress` receives the number of finished workloads and their total.
///
/// # Panics
/// If the design's parts do not fit together, which [`Design::parse`] rules out.
pub fn crash(design: &Design, options: &CrashOptions, progress: &mut dyn FnMut(usize, usize)) -> CrashReport {
    let all = workload::all_for(design.parts.persistence.has_buffer());
    let chosen: Vec<(usize, &Workload)> =
        all.iter().enumerate().filter(|(index, _)| options.workload.is_none_or(|only| only == *index)).collect();
    let mut rows: Vec<CrashRow> = options.rows.iter().map(|loss| blank_row(design, *loss)).collect();
    let (mut points, mut memories, mut torn, mut tampered, mut histories) = (0, 0, 0, 0, 0);
    for (done, (index, workload)) in chosen.iter().enumerate() {
        progress(done, chosen.len());
        let history = History::of(design, workload, options.seed, options.planted);
        let aftermath = Aftermath::of(&history, options);
        for row in &mut rows {
            for case in aftermath.cases(row.loss) {
                note(row, design, *index, workload, options, case);
            }
        }
        points += aftermath.points();
        let distinct = aftermath.memories();
        (memories, torn) = (memories + distinct.0, torn + distinct.1);
        tampered += aftermath.tampered_with();
        histories += aftermath.histories();
    }
    progress(chosen.len(), chosen.len());
    for row in &mut rows {
        row.worst = End::worst_of(row.histogram.keys().copied()).unwrap_or(End::NONE);
        let claim = row.claim.unwrap_or(End::NONE);
        // The claim covers all workloads, so a single one may end better.
        row.agrees = if options.workload.is_some() { !row.worst.is_worse_than(claim) } else { row.worst == claim };
    }
    CrashReport {
        design: design.name.clone(),
        summary: design.summary.clone(),
        workloads: chosen.len(),
        points,
        memories,
        torn,
        tampered,
        histories,
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

fn note(row: &mut CrashRow, design: &Design, index: usize, workload: &Workload, options: &CrashOptions, case: Case) {
    let end = End::from(case.verdict);
    let is_worst = row.histogram.keys().next_back().is_none_or(|worst| end > *worst);
    if is_worst {
        row.example = Some(CrashExample {
            workload: workload.to_string(),
            point: case.point,
            story: case.story,
            replay: replay(design, row.loss, index, options),
        });
    }
    *row.histogram.entry(end).or_default() += 1;
}

/// Returns the command that reproduces a case.
fn replay(design: &Design, loss: Loss, index: usize, options: &CrashOptions) -> String {
    let thorough = if options.thorough { " --thorough" } else { "" };
    format!("casemate crash {} --row {loss} --workload {index} --seed {}{thorough}", design.called(), options.seed)
}
