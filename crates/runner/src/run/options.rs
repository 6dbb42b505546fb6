//! Options of a run: program limits, machine, design and output files.

use crate::bus::BusOptions;
use crate::excerpt::ExcerptOptions;
use crate::record::Configuration;
use crate::run::RunError;
use crate::run::untimed::check_scheme;
use crate::sampling::Detail;
use crate::start::StartState;
use catalogue::{Design, Machine};
use protection::planted::PlantedBug;
use protection::scheme::Scheme;
use protection::speculation::COMPUTED_ONE_IN;
use units::LineLength;
use workload::Origin;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The machine to simulate.
    pub machine: Machine,
    /// The design that protects the machine's memory.
    pub design: Design,
    /// Seed of the keys, of the page placement, and of the encryption counters of an aged machine.
    pub seed: u64,
    /// State of the chip and of memory at the start of the run.
    pub start: StartState,
    /// Maximum number of instructions of each program, on all its cores together.
    pub budget: u64,
    /// Instructions of each program before the statistics begin (warm-up). They are part of the budget.
    pub warm_up: u64,
    /// True if the ledger records and compares every pad: the check for reused pads is then exact, but needs much host
    /// memory.
    pub ledger: bool,
    /// Part of the run to simulate in detail.
    pub detail: Detail,
    /// Length of an interval in instructions of all programs together, if the results are requested per interval.
    pub interval: Option<u64>,
    /// Sizes, in values, of the tables of frequent values that only observe the run.
    pub tables: Vec<usize>,
    /// File for the lines that cross the pins of memory, if requested.
    pub bus: Option<BusOptions>,
    /// Window of the run to write to a file, with the work of each unit, if requested.
    pub excerpt: Option<ExcerptOptions>,
}

impl RunOptions {
    /// Options for a run of `budget` instructions of each program, all in detail and without a warm-up: with new
    /// encryption counters, without a ledger, and with seed 1.
    pub fn new(machine: Machine, design: Design, budget: u64) -> RunOptions {
        let (start, detail) = (StartState::default(), Detail::All);
        let (seed, warm_up, ledger, tables) = (1, 0, false, Vec::new());
        let (interval, bus, excerpt) = (None, None, None);
        RunOptions { machine, design, seed, start, budget, warm_up, ledger, detail, interval, tables, bus, excerpt }
    }

    /// Checks that the design is consistent, and that the machine has the units for it, before the run.
    ///
    /// # Errors
    /// [`RunError::Design`] with the rule that the design breaks.
    pub fn check_design(&self) -> Result<(), RunError> {
        self.compose(PlantedBug::NONE).map(drop)
    }

    /// Checks that the requested outputs support the machine's line length.
    fn check_lines(&self) -> Result<(), RunError> {
        let requested = [
            (self.bus.is_some(), "the file of lines at the pins"),
            (self.excerpt.is_some(), "the trace of a window"),
            (!self.tables.is_empty(), "the table of frequent values"),
        ];
        let what = requested.into_iter().find(|(is_there, _)| *is_there).map(|(_, what)| what);
        match (what, self.machine.line_length()) {
            (None, _) | (_, LineLength::WHOLE) => Ok(()),
            (Some(what), length) => Err(RunError::ShortLines { what, bytes: length.bytes() }),
        }
    }

    /// Builds the design over the machine's memory, with a planted bug.
    pub(super) fn compose(&self, planted: PlantedBug) -> Result<Scheme, RunError> {
        self.check_lines()?;
        let RunOptions { machine, design, seed, start, .. } = self;
        let built = machine
            .admits(&design.parts)
            .and_then(|()| design.parts.build_aged(machine.data_lines(), *seed, start.age, planted));
        let mut scheme = built.map_err(|rule| RunError::Design { design: design.name.clone(), rule })?;
        check_scheme(&scheme, self)?;
        let values: Vec<(u64, u64)> = start.values.iter().map(|found| (found.word.0, found.count)).collect();
        if !values.is_empty()
            && let Some(scheme) = scheme.fixed_mut()
        {
            scheme.begin_ordered(&values);
        }
        if let Some(speculation) = scheme.speculation() {
            speculation.compute_one_in(COMPUTED_ONE_IN);
        }
        Ok(scheme)
    }

    /// All inputs that determine a run of these programs.
    pub(crate) fn configuration(&self, mut programs: Vec<Origin>) -> Configuration {
        let workload = programs.remove(0);
        Configuration {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            machine: self.machine.clone(),
            design: self.design.clone(),
            seed: self.seed,
            start: self.start.clone(),
            budget: self.budget,
            warm_up: self.warm_up,
            detail: self.detail,
            workload,
            other_programs: programs,
        }
    }
}
