//! Programs that are written to survive losses of power. Their recovery code is the judge of the design.
//!
//! * [`script`]: the stores, flushes and fences of a kernel, in program order, and its recovery.
//! * [`core`]: how these steps reach memory, which depends on a design's persist point and order.
//! * [`life`]: one program over one memory, under repeated losses of power.
//!
//! The campaigns of short workloads compare memory with the writes. Here the judge compares only the operations that
//! the program's recovery finds: exactly the committed operations, whole and in order. So the campaign also detects an
//! error of the program, and a program detects an error of the scheme. Programs cannot detect a pad that hides two
//! texts; the ledger detects it.

mod core;
mod life;
pub mod script;

use crate::report::Histogram;
use catalogue::{Design, End, Loss, Verdict};
use life::Life;
use protection::planted::PlantedBug;
use script::{Choice, Script};
use serde::Serialize;

/// Options of a program's losses.
#[derive(Clone, Debug)]
pub struct ProgramOptions {
    /// Program to run, with its settings.
    pub program: Choice,
    /// Total losses of power, over many lives.
    pub losses: u64,
    /// Seed of the first life; each later life has the next seed.
    pub seed: u64,
    /// A deliberate weakness, if any.
    pub planted: PlantedBug,
}

/// Results of a program's losses of power.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ProgramReport {
    /// Name of the design.
    pub design: String,
    /// Summary of the design in one sentence.
    pub summary: String,
    /// Name of the program.
    pub program: String,
    /// Number of losses of power.
    pub losses: u64,
    /// Number of crashes in which only the program stopped, and its recovery read memory on the running machine.
    pub crashes: u64,
    /// Number of programs begun, each over a separate memory.
    pub lives: u64,
    /// Operations that the programs found again, each counted once.
    pub operations: u64,
    /// Number of losses and crashes by end.
    pub histogram: Histogram,
    /// The worst end of all.
    pub worst: End,
    /// Claim of the design about losses of power.
    pub claim: Option<End>,
    /// True if the program survived all losses exactly when the design claims that it does.
    pub agrees: bool,
    /// First life with the worst end, if one ended badly.
    pub example: Option<ProgramExample>,
}

/// A life that ended badly, with all data needed to reproduce it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ProgramExample {
    /// End of the life.
    pub end: End,
    /// Description of the events.
    pub story: String,
    /// Command that reproduces the life.
    pub replay: String,
}

impl ProgramReport {
    /// Describes the disagreement of the report with the claim, if any.
    pub fn complaint(&self) -> Option<String> {
        let claim = self.claim.map_or("nothing", End::name);
        let replay = self.example.as_ref().map_or_else(String::new, |example| format!(": {}", example.replay));
        let said = format!("{}: claims {claim}, but {} ended {}{replay}", self.design, self.program, self.worst);
        (!self.agrees).then_some(said)
    }

    fn note(&mut self, design: &Design, options: &ProgramOptions, seed: u64, lived: life::Lived) {
        let survived = lived.losses + lived.crashes - u64::from(lived.fall.is_some());
        self.lives += 1;
        self.losses += lived.losses;
        self.crashes += lived.crashes;
        self.operations += lived.operations;
        if survived > 0 {
            *self.histogram.entry(End::from(Verdict::Harmless)).or_default() += survived;
        }
        let losses = lived.losses_to_its_end();
        let Some((verdict, story)) = lived.fall else { return };
        let end = End::from(verdict);
        *self.histogram.entry(end).or_default() += 1;
        if self.example.as_ref().is_none_or(|example| end.is_worse_than(example.end)) {
            let replay = replay(design, options, seed, losses);
            self.example = Some(ProgramExample { end, story, replay });
        }
    }
}

/// Runs a program under a design until power has failed `losses` times. `progress` receives the losses so far and their total.
///
/// # Errors
/// If no program has this name, or the program does not fit in memory.
///
/// # Panics
/// If the design's parts do not fit together, which [`Design::parse`] rules out.
pub fn survive(
    design: &Design,
    options: &ProgramOptions,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<ProgramReport, String> {
    let mut report = ProgramReport {
        design: design.name.clone(),
        summary: design.summary.clone(),
        program: options.program.name.clone(),
        losses: 0,
        crashes: 0,
        lives: 0,
        operations: 0,
        histogram: Histogram::new(),
        worst: End::NONE,
        claim: design.crash.about(Loss::PowerLoss),
        agrees: false,
        example: None,
    };
    for seed in options.seed.. {
        progress(report.losses, options.losses);
        if report.losses >= options.losses {
            break;
        }
        let script = Script::of(&options.program, seed)?;
        let life = Life::new(design, &script, seed, options.planted);
        let lived = life.live(options.losses - report.losses);
        report.note(design, options, seed, lived);
    }
    report.worst = End::worst_of(report.histogram.keys().copied()).unwrap_or(End::NONE);
    let survives = |end: End| end == Verdict::Harmless;
    report.agrees = report.claim.is_some_and(survives) == survives(report.worst);
    Ok(report)
}

/// Returns the command that reproduces a life.
fn replay(design: &Design, options: &ProgramOptions, seed: u64, losses: u64) -> String {
    let set: String = options.program.settings.iter().map(|(name, value)| format!(" --set {name}={value}")).collect();
    format!(
        "casemate crash {} --program {}{set} --losses {losses} --seed {seed}",
        design.called(),
        options.program.name
    )
}
