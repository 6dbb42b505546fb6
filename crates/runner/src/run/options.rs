//! What to run, and how.

use crate::bus::BusOptions;
use crate::excerpt::ExcerptOptions;
use crate::record::Configuration;
use crate::run::RunError;
use crate::sampling::Detail;
use catalogue::{Design, Machine};
use protection::counter::StartingAge;
use protection::scheme::Scheme;
use protection::speculation::COMPUTED_ONE_IN;
use units::LineLength;
use workload::Origin;

/// What to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The machine.
    pub machine: Machine,
    /// What protects its memory.
    pub design: Design,
    /// Seeds keys, page placement and the counters of an aged machine.
    pub seed: u64,
    /// How old the counters of data are when it begins.
    pub age: StartingAge,
    /// The most instructions of each program to run, on all its cores together.
    pub budget: u64,
    /// How many of these, of each program, go before counting begins. They are simulated like the rest.
    pub warm_up: u64,
    /// Whether every pad is written down and compared: exact, and costly in memory.
    pub ledger: bool,
    /// How much of it is in detail.
    pub detail: Detail,
    /// How many instructions of all programs together are counted by themselves each, if that is asked for.
    pub interval: Option<u64>,
    /// How many values each table of frequent values has that watches the run.
    pub tables: Vec<usize>,
    /// Where what crosses the pins of memory is written, if it is.
    pub bus: Option<BusOptions>,
    /// Which window of it is written as what each unit did, and where, if one is.
    pub excerpt: Option<ExcerptOptions>,
}

impl RunOptions {
    /// A run of so many instructions of each program, all in detail and counted from the first: with new counters, without
    /// a ledger, under the first seed.
    pub fn new(machine: Machine, design: Design, budget: u64) -> RunOptions {
        let (age, detail) = (StartingAge::New, Detail::All);
        let (seed, warm_up, ledger, tables) = (1, 0, false, Vec::new());
        let (interval, bus, excerpt) = (None, None, None);
        RunOptions { machine, design, seed, age, budget, warm_up, ledger, detail, interval, tables, bus, excerpt }
    }

    /// Whether the design makes sense, and the machine has the units for it: all of that can be known before it runs.
    ///
    /// # Errors
    /// [`RunError::Design`].
    pub fn check_design(&self) -> Result<(), RunError> {
        self.compose().map(drop)
    }

    /// Whether what is written of the run and watches it can do the machine's lines.
    fn check_lines(&self) -> Result<(), RunError> {
        let asked_for = [
            (self.bus.is_some(), "the file of what crosses the pins"),
            (self.excerpt.is_some(), "the trace of a window"),
            (!self.tables.is_empty(), "the table of frequent values"),
        ];
        let what = asked_for.into_iter().find(|(is_there, _)| *is_there).map(|(_, what)| what);
        match (what, self.machine.line_length()) {
            (None, _) | (_, LineLength::WHOLE) => Ok(()),
            (Some(what), length) => Err(RunError::ShortLines { what, bytes: length.bytes() }),
        }
    }

    /// Builds the design over the machine's memory.
    pub(super) fn compose(&self) -> Result<Scheme, RunError> {
        self.check_lines()?;
        let RunOptions { machine, design, seed, age, .. } = self;
        let built =
            machine.admits(&design.parts).and_then(|()| design.parts.build_aged(machine.data_lines(), *seed, *age));
        let scheme = built.map_err(|rule| RunError::Design { design: design.name.clone(), rule })?;
        if let Some(speculation) = scheme.cryptography().speculation() {
            speculation.compute_one_in(COMPUTED_ONE_IN);
        }
        Ok(scheme)
    }

    /// All that decides a run of these programs.
    pub(crate) fn configuration(&self, mut programs: Vec<Origin>) -> Configuration {
        let workload = programs.remove(0);
        Configuration {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            machine: self.machine.clone(),
            design: self.design.clone(),
            seed: self.seed,
            age: self.age,
            budget: self.budget,
            warm_up: self.warm_up,
            detail: self.detail,
            workload,
            beside: programs,
        }
    }
}
