//! Logged campaigns: many trials of every row, on all processors, with a log from which a later run continues.
//!
//! The log is a text file of one JSON object a line. A line is a tally of consecutive trials of one row, written when they
//! are done; runs never change it. Since trial `i` of a row depends on its seed only, the lines of several runs add up to
//! the result of one run, however the trials were divided. A run that was killed while it wrote leaves a line without an
//! end, and the next run cuts this line off.
//!
//! A log entry counts only for a design with the same parts as at its writing, and for the same first seed. The rows
//! with the fewest trials run first, so that all rows have about equally many trials whenever a run ends. Rows of one
//! design with equal numbers of trials run together, since they share their victims' pasts. Several processors may work
//! on consecutive pieces of the same rows. A piece that ends early waits until the log holds the pieces before it.

use crate::campaign::{Options, tallies};
use crate::report::DesignReport;
use crate::tally::Tally;
use catalogue::{Attack, Design};
use protection::planted::PlantedBug;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use units::random::mix;

/// Trials in the first piece of a row, and the maximum in any piece. Each piece doubles the trials of its row, so that
/// logs stay short.
const PIECE_MIN: u64 = 100;
const PIECE_MAX: u64 = 2_000;

/// Task of a long campaign.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Designs that the campaign attacks.
    pub designs: Vec<Design>,
    /// Rows of each design.
    pub attacks: Vec<Attack>,
    /// Seed of the first trial of each row.
    pub seed: u64,
    /// Trials of each row, including those in the log.
    pub trials: u64,
    /// Time limit of this run; `None` if only the trials count.
    pub budget: Option<Duration>,
}

/// Results of a long campaign, or of a part of one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LoggedReport {
    /// Outcomes of all trials so far. Rows may differ in their number of trials; each report states the least.
    pub reports: Vec<DesignReport>,
    /// Trials that the log held at the start.
    pub resumed: u64,
    /// Trials of this run.
    pub added: u64,
    /// True if every row has all its trials.
    pub complete: bool,
}

/// Progress of a long campaign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoggedProgress {
    /// Finished trials, including those in the log.
    pub done: u64,
    /// Trials of the row that is furthest behind.
    pub least: u64,
}

/// An error of a log.
#[derive(Debug)]
pub enum LogError {
    /// The file cannot be read or written.
    File(PathBuf, io::Error),
    /// This line, counted from one, is not a line of a log.
    Line(PathBuf, usize, serde_json::Error),
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::File(path, error) => write!(f, "{}: {error}", path.display()),
            LogError::Line(path, line, error) => write!(
                f,
                "{}:{line}: this is not a line of a campaign's log ({error}): name another file, or remove the line",
                path.display()
            ),
        }
    }
}

impl std::error::Error for LogError {}

/// A line of the log: some trials of a row.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LogEntry {
    design: String,
    /// A digest of the design's parts, in hexadecimal digits.
    parts: String,
    attack: Attack,
    /// The seed of the row's first trial.
    seed: u64,
    /// Trials of the row before these.
    before: u64,
    trials: u64,
    tally: Tally,
}

/// A row while the campaign runs.
struct CampaignRow<'a> {
    design: &'a Design,
    parts: String,
    attack: Attack,
    tally: Tally,
    /// Trials in the log.
    done: u64,
    /// Trials in the log and trials that a thread works on.
    begun: u64,
}

/// Runs a campaign, or continues one from its log. Calls `progress` after each line of the log; if `progress` unwinds, the
/// log keeps all earlier lines.
///
/// # Errors
/// A log that cannot be read or written, or a file that is not a log.
///
/// # Panics
/// If a design's parts do not fit together, which [`Design::parse`] rules out.
pub fn run_logged(plan: &Plan, log: &Path, progress: &mut dyn FnMut(LoggedProgress)) -> Result<LoggedReport, LogError> {
    let failed = |error| LogError::File(log.to_owned(), error);
    let mut rows = rows_of(plan);
    let text = match catalogue::read_regular(log) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(failed)?,
    };
    let complete_bytes = text.rfind('\n').map_or(0, |end| end + 1);
    for (number, line) in text[..complete_bytes].lines().enumerate() {
        let entry = serde_json::from_str(line).map_err(|error| LogError::Line(log.to_owned(), number + 1, error))?;
        take_up(&mut rows, plan, entry);
    }
    let resumed = rows.iter().map(|row| row.done).sum();
    let more_to_do = rows.iter().any(|row| row.done < plan.trials) && plan.budget != Some(Duration::ZERO);
    if more_to_do {
        let mut file = open(log, complete_bytes as u64).map_err(failed)?;
        run(plan, &mut rows, &mut |entry, update| {
            let line = serde_json::to_string(entry).map_err(io::Error::other)? + "\n";
            file.write_all(line.as_bytes())?;
            progress(update);
            Ok(())
        })
        .map_err(failed)?;
    }
    let done: u64 = rows.iter().map(|row| row.done).sum();
    let complete = rows.iter().all(|row| row.done >= plan.trials);
    Ok(LoggedReport { reports: reports(plan, rows), resumed, added: done - resumed, complete })
}

fn rows_of(plan: &Plan) -> Vec<CampaignRow<'_>> {
    let row = |design, attack| CampaignRow {
        design,
        parts: digest(design),
        attack,
        tally: Tally::default(),
        done: 0,
        begun: 0,
    };
    plan.designs.iter().flat_map(|design| plan.attacks.iter().map(move |attack| row(design, *attack))).collect()
}

/// Returns a digest of all inputs of a trial except its seed: the parts of the design, and the alias check of its
/// firmware.
fn digest(design: &Design) -> String {
    let parts = serde_json::to_string(&(&design.parts, design.alias_check)).unwrap_or_default();
    format!("{:016x}", parts.bytes().fold(0, |digest, byte| mix(digest ^ u64::from(byte))))
}

/// Adds a line of the log to its row, if it belongs to one and continues where the row ends.
fn take_up(rows: &mut [CampaignRow<'_>], plan: &Plan, entry: LogEntry) {
    let fits = |row: &&mut CampaignRow<'_>| {
        row.design.name == entry.design
            && row.parts == entry.parts
            && row.attack == entry.attack
            && row.done == entry.before
            && plan.seed == entry.seed
    };
    if let Some(row) = rows.iter_mut().find(fits) {
        row.tally.add(entry.tally);
        row.done += entry.trials;
        row.begun = row.done;
    }
}

/// Opens the log at its end, after its complete lines.
fn open(log: &Path, complete_bytes: u64) -> io::Result<File> {
    let file = File::options().create(true).append(true).open(log)?;
    file.set_len(complete_bytes)?;
    Ok(file)
}

/// Consumer of finished pieces.
type Sink<'a> = dyn FnMut(&LogEntry, LoggedProgress) -> io::Result<()> + 'a;

/// State that the workers share.
struct CampaignState<'a> {
    plan: &'a Plan,
    began: Instant,
    work: Mutex<CampaignQueue<'a>>,
    stop: AtomicBool,
}

struct CampaignQueue<'a> {
    rows: Vec<CampaignRow<'a>>,
    /// Finished pieces that wait for earlier ones.
    early: Vec<Done>,
}

/// A number of trials for rows of one design that have equal numbers of trials.
struct TrialBatch {
    rows: Vec<usize>,
    before: u64,
    trials: u64,
}

/// A finished piece, with a tally for each of its rows.
struct Done {
    piece: TrialBatch,
    tallies: Vec<Tally>,
}

/// Continues the rows on all processors until they have their trials or the time is over.
fn run<'a>(plan: &'a Plan, rows: &mut Vec<CampaignRow<'a>>, sink: &mut Sink<'_>) -> io::Result<()> {
    let work = Mutex::new(CampaignQueue { rows: std::mem::take(rows), early: Vec::new() });
    let shared = CampaignState { plan, began: Instant::now(), work, stop: AtomicBool::new(false) };
    let outcome = std::thread::scope(|scope| {
        // If the sink or one of the threads unwinds, the other threads must end.
        let _stop = StopIfUnwinding(&shared);
        let (logged, entries) = channel();
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let (logged, shared) = (logged.clone(), &shared);
            scope.spawn(move || shared.work(&logged));
        }
        drop(logged);
        let outcome = entries.iter().try_for_each(|(entry, update)| sink(&entry, update));
        shared.stop.store(true, Ordering::Relaxed);
        outcome
    });
    *rows = shared.work.into_inner().unwrap_or_else(PoisonError::into_inner).rows;
    outcome
}

/// Stops all threads when its owner unwinds.
struct StopIfUnwinding<'s, 'a>(&'s CampaignState<'a>);

impl Drop for StopIfUnwinding<'_, '_> {
    fn drop(&mut self) {
        self.0.stop.fetch_or(std::thread::panicking(), Ordering::Relaxed);
    }
}

impl<'a> CampaignState<'a> {
    fn now(&self) -> MutexGuard<'_, CampaignQueue<'a>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the workers begin no more pieces.
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.plan.budget.is_some_and(|budget| self.began.elapsed() >= budget)
    }

    /// Runs one piece after another until no piece is left.
    fn work(&self, logged: &Sender<(LogEntry, LoggedProgress)>) {
        let _stop = StopIfUnwinding(self);
        while let Some((piece, design, attacks)) = self.take() {
            let seed = self.plan.seed.wrapping_add(piece.before);
            let options = Options { trials: piece.trials, seed, planted: PlantedBug::NONE };
            let mut trials = 0;
            let tallies = tallies(design, &attacks, &options, &mut |done| {
                trials = done;
                !self.is_over() || self.now().goes_on_after(&piece)
            });
            let mut work = self.now();
            work.early.push(Done { piece: TrialBatch { trials, ..piece }, tallies });
            // Sent under the lock: the log must contain the pieces of a row in order.
            while let Some(done) = work.next_for_the_log() {
                for (index, tally) in done.piece.rows.into_iter().zip(done.tallies) {
                    let noted = note(self.plan, &mut work.rows, index, done.piece.trials, tally);
                    if logged.send(noted).is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// Returns the next piece of the rows that are furthest behind, unless the time is over or all trials are done or
    /// begun.
    fn take(&self) -> Option<(TrialBatch, &'a Design, Vec<Attack>)> {
        let mut work = self.now();
        let open = work.rows.iter().filter(|row| row.begun < self.plan.trials);
        let CampaignRow { design, begun: before, .. } =
            *open.min_by_key(|row| row.begun).filter(|_| !self.is_over())?;
        let of_design = |row: &CampaignRow<'_>| std::ptr::eq(row.design, design);
        // The piece ends where rows with more trials are, so that all of them continue together.
        let next_begun = work.rows.iter().filter(|row| of_design(row) && row.begun > before).map(|row| row.begun).min();
        let end = before + before.clamp(PIECE_MIN, PIECE_MAX).min(self.plan.trials - before);
        let end = next_begun.map_or(end, |next_begun| end.min(next_begun));
        let (mut rows, mut attacks) = (Vec::new(), Vec::new());
        for (index, row) in work.rows.iter_mut().enumerate() {
            if of_design(row) && row.begun == before {
                row.begun = end;
                rows.push(index);
                attacks.push(row.attack);
            }
        }
        Some((TrialBatch { rows, before, trials: end - before }, design, attacks))
    }
}

impl CampaignQueue<'_> {
    /// Returns true if a thread has begun later trials of these rows, which count only if this piece is complete.
    fn goes_on_after(&self, piece: &TrialBatch) -> bool {
        piece.rows.iter().any(|index| self.rows[*index].begun > piece.before + piece.trials)
    }

    /// Returns a finished piece that is next in the log for each of its rows.
    fn next_for_the_log(&mut self) -> Option<Done> {
        let comes_next = |done: &Done| done.piece.rows.iter().all(|index| self.rows[*index].done == done.piece.before);
        let index = self.early.iter().position(comes_next)?;
        Some(self.early.swap_remove(index))
    }
}

/// Adds a piece to its row and returns its entry for the log.
fn note(
    plan: &Plan,
    rows: &mut [CampaignRow<'_>],
    index: usize,
    trials: u64,
    tally: Tally,
) -> (LogEntry, LoggedProgress) {
    let row = &mut rows[index];
    let entry = LogEntry {
        design: row.design.name.clone(),
        parts: row.parts.clone(),
        attack: row.attack,
        seed: plan.seed,
        before: row.done,
        trials,
        tally: tally.clone(),
    };
    row.tally.add(tally);
    row.done += trials;
    let done = rows.iter().map(|row| row.done).sum();
    (entry, LoggedProgress { done, least: rows.iter().map(|row| row.done).min().unwrap_or(0) })
}

fn reports(plan: &Plan, rows: Vec<CampaignRow<'_>>) -> Vec<DesignReport> {
    let mut rows = rows.into_iter();
    let report = |design: &Design| {
        // A row without a finished trial has no outcome.
        let own: Vec<CampaignRow<'_>> = rows.by_ref().take(plan.attacks.len()).filter(|row| row.done > 0).collect();
        let least = own.iter().map(|row| row.done).min().unwrap_or(0);
        let outcomes = own.into_iter().map(|row| row.tally.outcome(design, row.attack)).collect();
        DesignReport::of(design, plan.seed, least, outcomes)
    };
    plan.designs.iter().map(report).filter(|report| !report.rows.is_empty()).collect()
}
