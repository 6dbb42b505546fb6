//! Programs that outlive losses of power, if the machine lets them: their own recovery is the judge.
//!
//! * [`script`]: what a kernel stores, flushes and fences, in its order, and its recovery.
//! * [`core`]: how these reach memory, which depends on where a design's persist point is and on its order.
//! * [`life`]: one program over one memory, whose power fails again and again.
//!
//! The campaigns of short workloads compare memory with what was written. Here nothing is compared but what the program finds:
//! every committed operation must be there, whole, in order, and none besides. So a program that errs is caught, too, and a
//! scheme that errs is caught by a program; but for pads that hide two texts, which no program sees: a ledger does.

mod core;
mod life;
pub mod script;

use crate::report::Histogram;
use catalogue::{Design, End, Loss, Verdict};
use life::Life;
use protection::planted::Planted;
use script::{Choice, Script};
use serde::Serialize;

/// How a program's losses are tried.
#[derive(Clone, Debug)]
pub struct ProgramOptions {
    /// The program.
    pub program: Choice,
    /// Losses of power in all, over many lives.
    pub losses: u64,
    /// Of the first life; each that follows has the next one.
    pub seed: u64,
    /// A deliberate weakness, or none.
    pub planted: Planted,
}

/// What a program's losses of power came to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ProgramReport {
    /// The design's name.
    pub design: String,
    /// What it is, in a sentence.
    pub summary: String,
    /// The program.
    pub program: String,
    /// How often power failed.
    pub losses: u64,
    /// How often the program crashed besides, and its recovery read memory while the machine went on.
    pub crashes: u64,
    /// Programs that were begun, each over a memory of its own.
    pub lives: u64,
    /// Operations that the programs found again, each counted once.
    pub operations: u64,
    /// How often a loss or a crash ended how.
    pub histogram: Histogram,
    /// The worst end.
    pub worst: End,
    /// What the design claims of losses of power.
    pub claim: Option<End>,
    /// Whether the program outlived all if the design claims that it does, and not if it does not.
    pub agrees: bool,
    /// The first life that ended badly.
    pub example: Option<ProgramExample>,
}

/// A life that ended badly, with all that is needed to see it again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ProgramExample {
    /// How it ended.
    pub end: End,
    /// What happened, in words.
    pub story: String,
    /// The command that shows it again.
    pub replay: String,
}

impl ProgramReport {
    /// What is wrong, if the report does not agree with the claim.
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

/// Lets a program live under a design until power has failed so often. `progress` gets how often it has, and of how many.
///
/// # Errors
/// If there is no such program, or it does not fit.
///
/// # Panics
/// If the design's parts make no sense together, which [`Design::parse`] rules out.
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

/// The command that shows a life again.
fn replay(design: &Design, options: &ProgramOptions, seed: u64, losses: u64) -> String {
    let set: String = options.program.settings.iter().map(|(name, value)| format!(" --set {name}={value}")).collect();
    format!(
        "casemate crash {} --program {}{set} --losses {losses} --seed {seed}",
        design.called(),
        options.program.name
    )
}
