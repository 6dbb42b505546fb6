//! Losses of power: at every point of every short workload, what does the memory hold, and does the machine get it back?
//!
//! * [`workload`]: all sequences of up to three writes over three lines, one after the other and all at once.
//! * [`history`]: a workload carried out on a timed machine, with everything that it sent to memory, in order.
//! * [`shown`]: the keystream that an attacker on the bus has seen in use until then.
//! * [`storing`]: how its stores become durable: at the controller, or in what has a battery ([`holder`]), [`buffered`] or
//!   [`cached`].
//! * [`dying`]: what that battery makes of the chip when power fails.
//! * [`on_battery`]: what an attacker does while it works, and what is left if it dies.
//! * [`states`]: what a loss of power at some point can leave behind: every legal subset of what was on its way.
//! * [`durable`]: which writes memory has to hold then, as the program and the bus say it.
//! * [`strikes`]: what an attacker makes of that before power is back.
//! * [`revival`]: a fresh chip recovers from what was left and goes on; what do the lines read as, and is a pad used twice?
//! * [`sessions`]: what a session begins with after others, under the same keys; `resuming` carries the next one out.
//! * [`trials`]: how a machine ends that is switched on over a memory that was left.
//! * [`rows`]: the rows of the table, each a text over these.
//! * [`locked`]: a log that two cores append to under a lock, where the order of all stores is known.
//! * [`programs`]: programs with a recovery of their own, whose power fails again and again.
//!
//! # Fairness
//! What was fenced has arrived. Everything else that was sent may have arrived, or not, or in part: eight bytes are written as
//! one. Registers outlive power, and change in one instant. Of designs with persistence, so do keys; others draw new ones.
//! Memory may hold the state after any number of whole writes from the first on, as long as it holds all that had
//! returned: a tuple counts as one write here, and order is strict.
//!
//! An attacker that tampers remembers what went over the bus. What it has seen of keystream goes on after the loss, for the
//! keys do. Each history is judged for content, freshness and keystream, and every evil is a case of its own.

mod bench;
mod buffered;
mod cached;
pub mod durable;
pub mod dying;
pub mod history;
mod holder;
pub mod locked;
mod on_battery;
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
use protection::planted::Planted;
use rows::Aftermath;
use serde::Serialize;
use states::Arrivals;
use strikes::Strikes;
use trials::Case;
use workload::Workload;

/// Events of a longer history at which power fails, of a design with a battery.
const EVENTS: usize = 40;

/// How losses are tried.
#[derive(Clone, Debug)]
pub struct CrashOptions {
    /// Rows to run.
    pub rows: Vec<Loss>,
    /// The one workload to run, or all.
    pub workload: Option<usize>,
    /// Of the contents, and of subsets where there are too many.
    pub seed: u64,
    /// Whether all workloads are attacked with every strike as the short ones are, with more subsets.
    pub thorough: bool,
    /// Whether what is on its way always arrives, whole and in order: what then is found needs no torn memory.
    pub in_order: bool,
    /// A deliberate weakness, or none.
    pub planted: Planted,
}

/// How much is tried of one history.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Of what is on its way.
    arrivals: Arrivals,
    /// Events at which power fails, of a design with a battery.
    events: usize,
    /// States at a point that go on to tampering and to losses in recovery, beyond the one in which everything arrives.
    torn_at_a_point: usize,
    /// How they are attacked.
    strikes: Strikes,
    /// Losses during the recovery from an attack that are tried of each.
    between_strikes: usize,
    /// While the battery works.
    on_battery: Tries,
}

impl CrashOptions {
    /// How much is tried of a history: of short ones everything, of longer ones a part, drawn with the seed.
    fn extent(&self, history: &History) -> Extent {
        let writes = history.writes.len();
        let subsets = match writes {
            // Nothing survives anyway.
            _ if !history.parts.persistence.exists() => 1 << 3,
            1 => 1 << 10,
            _ if self.thorough => 1 << 8,
            _ => 1 << 6,
        };
        let arrivals = if self.in_order { Arrivals::InOrder } else { Arrivals::Any(subsets) };
        let events = if writes == 1 || self.thorough { usize::MAX } else { EVENTS };
        let on_battery = Tries::of(self.thorough);
        if writes <= 2 || self.thorough {
            let torn_at_a_point = if writes == 1 { usize::MAX } else { 2 };
            return Extent { arrivals, events, torn_at_a_point, strikes: Strikes::All, between_strikes: 2, on_battery };
        }
        Extent { arrivals, events, torn_at_a_point: 1, strikes: Strikes::EachKind, between_strikes: 1, on_battery }
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
            planted: Planted::NONE,
        }
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
    /// Different memories that were left behind, of each workload by itself; those that batteries left which died, if a row needed
    /// any.
    pub memories: usize,
    /// Those of them that are left only if something on its way arrives torn, out of order or not at all.
    pub torn: usize,
    /// Memories that an attacker made of them, different ones of each.
    pub tampered: usize,
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

/// Tries losses of power under a design. `progress` gets how many workloads are done, and of how many.
///
/// # Panics
/// If the design's parts make no sense together, which [`Design::parse`] rules out.
pub fn crash(design: &Design, options: &CrashOptions, progress: &mut dyn FnMut(usize, usize)) -> CrashReport {
    let all = workload::all_for(design.parts.persistence.has_buffer());
    let chosen: Vec<(usize, &Workload)> =
        all.iter().enumerate().filter(|(index, _)| options.workload.is_none_or(|only| only == *index)).collect();
    let mut rows: Vec<CrashRow> = options.rows.iter().map(|loss| blank_row(design, *loss)).collect();
    let (mut points, mut memories, mut torn, mut tampered) = (0, 0, 0, 0);
    for (done, (index, workload)) in chosen.iter().enumerate() {
        progress(done, chosen.len());
        let history = History::of(design, workload, options.seed, options.planted);
        let aftermath = Aftermath::of(&history, options);
        points += aftermath.points();
        for row in &mut rows {
            for case in aftermath.cases(row.loss) {
                note(row, design, *index, workload, options, case);
            }
        }
        let distinct = states::distinct(aftermath.left().iter().chain(aftermath.left_by_dead_batteries()));
        (memories, torn) = (memories + distinct.0, torn + distinct.1);
        tampered += aftermath.tampered_with();
    }
    progress(chosen.len(), chosen.len());
    for row in &mut rows {
        row.worst = End::worst_of(row.histogram.keys().copied()).unwrap_or(End::NONE);
        let claim = row.claim.unwrap_or(End::NONE);
        // The claim is of all workloads: one of them alone need not come to the worst.
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

/// The command that shows a case again.
fn replay(design: &Design, loss: Loss, index: usize, options: &CrashOptions) -> String {
    let thorough = if options.thorough { " --thorough" } else { "" };
    format!("casemate crash {} --row {loss} --workload {index} --seed {}{thorough}", design.called(), options.seed)
}
