//! Assembles one machine with its programs. The caller decides how long the machine runs.

use super::programs::{logged, pages, shadow};
use super::{RunError, RunOptions};
use crate::core_task::{CoreTask, Ends, Team};
use crate::excerpt::ExcerptFile;
use crate::process_switch::ClockInterrupts;
use crate::request_task::RequestTask;
use crate::sampling::{Detail, Sampler};
use catalogue::Machine;
use chip::Chip;
use chip::counts::Meters;
use chip::feed::{FeedCounts, Pages, ProgramFeed, Spaces};
use chip::last_level;
use chip::memory;
use chip::persisting::Persisting;
use chip::shadow::Shadow;
use chip::uncore::Uncore;
use chip::written;
use machine::llc::Inclusion;
use machine::memory::MemorySystem;
use protection::moving::ProcessPort;
use protection::planted::PlantedBug;
use sim::Executor;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use workload::deal::{Hand, deal};
use workload::{Origin, Source};

/// Power supply of the machine. If it may fail, the machine keeps the state that the simulation of a loss of power
/// needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PowerScenario {
    /// Power does not fail.
    Lasts,
    /// Power may fail at any time.
    Fails,
}

/// The feed of one core.
type CoreProgram<S> = Rc<RefCell<ProgramFeed<Hand<S>>>>;

/// One assembled machine with its programs.
pub(super) struct AssembledMachine<S> {
    pub executor: Executor,
    pub meters: Meters,
    pub sampler: Option<Rc<RefCell<Sampler>>>,
    pub pages: Pages,
    pub teams: Vec<Rc<Team<S>>>,
    /// Feeds of the cores, in their order.
    pub programs: Vec<CoreProgram<S>>,
    pub ends: Rc<Ends>,
}

impl<S: Source + 'static> AssembledMachine<S> {
    /// Assembles a machine for these programs, with a planted bug.
    ///
    /// # Errors
    /// The errors of [`run`](super::run).
    pub fn assemble(
        options: &RunOptions,
        sources: Vec<S>,
        excerpt: &ExcerptFile,
        supply: PowerScenario,
        planted: PlantedBug,
    ) -> Result<AssembledMachine<S>, RunError> {
        let RunOptions { machine, design, seed, budget, ledger, .. } = options;
        let rule = |rule| RunError::Design { design: design.name.clone(), rule };
        let mut machine = machine.with_persistence_of(&design.parts).map_err(rule)?;
        let fails = supply == PowerScenario::Fails;
        machine.node.reports_stores = fails && machine.node.persist_buffer.is_none();
        let machine = &machine;
        let cores = machine.cores;
        let executor = Executor::new();
        let clock = executor.clock();
        let scheme = Rc::new(options.compose(planted)?);
        let shadow = shadow(scheme.layout().data_lines(), machine, options, &sources);
        let shadow = if fails { logged(shadow, machine, &design.parts, planted) } else { shadow };
        let shadow = Rc::new(RefCell::new(shadow));
        let requests = sources.iter().find_map(|source| source.origin().requests);
        let pages = Rc::new(RefCell::new(pages(machine, *seed, requests)));
        let chip = Chip::new(clock, machine, shadow.clone());
        last_level::share(&chip, &scheme);
        let channels = MemorySystem::start(clock, machine.memory_config());
        excerpt.attach(&chip, &channels);
        let memory = memory::build(clock, channels.clone(), machine, &design.parts, &scheme, *ledger, chip.clone());
        let uncore = Uncore::start(clock, machine, chip.clone(), scheme.clone(), memory.clone());
        Persisting::start(clock, machine, &chip, &scheme, &memory);
        if fails {
            written::start(clock, &chip);
            memory.expect_power_loss();
        }
        let meters = Meters { chip: chip.clone(), scheme, memory, channels, shadow: shadow.clone() };
        let cores = if requests.is_some() { 1 } else { cores };
        let ends = Rc::new(Ends::new(cores));
        let (teams, programs) = enlist(sources, cores, *budget, &pages, &shadow);
        let sampler = sampler(options, &meters, &uncore)?;
        if sampler.is_some() {
            // The sampler decides when the core gets its first instruction.
            programs.iter().for_each(|program| program.borrow_mut().pause_at(0));
        }
        if let Some(pace) = requests {
            let program = programs[0].clone();
            let task = RequestTask::new(clock, machine, (&chip, &uncore), program, (&ends, pace));
            clock.spawn(task.run());
            return Ok(AssembledMachine { executor, meters, sampler, pages, teams, programs, ends });
        }
        if ProcessPort::of(&meters.scheme).is_some() {
            programs.iter().for_each(|program| program.borrow_mut().watch_processes());
        }
        for (core, program) in programs.iter().enumerate() {
            let task = CoreTask {
                clock: clock.clone(),
                core,
                chip: chip.clone(),
                uncore: uncore.clone(),
                program: program.clone(),
                team: teams[core % teams.len()].clone(),
                sampler: sampler.clone(),
                interrupts: machine.clock_interrupt.map(|interrupt| ClockInterrupts::of(interrupt, machine)),
                ends: ends.clone(),
            };
            clock.spawn(task.run());
        }
        Ok(AssembledMachine { executor, meters, sampler, pages, teams, programs, ends })
    }

    /// Statistics of the feeds: for each program, the sum over its cores.
    pub fn fed(&self) -> impl Iterator<Item = FeedCounts> + '_ {
        let of = |team: usize| self.programs.iter().skip(team).step_by(self.teams.len());
        (0..self.teams.len()).filter_map(move |team| {
            let fed = of(team).map(|program| program.borrow().counts()).reduce(FeedCounts::with_core)?;
            let threads = self.teams[team].dealer.borrow().strands() as u64;
            Some(FeedCounts { threads, ..fed })
        })
    }

    /// Descriptions of the programs, in their order.
    pub fn origins(&self) -> Vec<Origin> {
        self.teams.iter().map(|team| team.dealer.borrow().origin().clone()).collect()
    }
}

/// Checks that a run of this machine can be sampled. During warming, no other core and no inclusive last-level cache
/// may remove lines from the core's caches.
fn check_sampled(machine: &Machine) -> Result<(), RunError> {
    let why = match (machine.cores, machine.llc.inclusion) {
        (1, Inclusion::Neither | Inclusion::Victim) => return Ok(()),
        (1, Inclusion::Inclusive) => "has an inclusive last-level cache".to_owned(),
        (cores, _) => format!("has {cores} cores"),
    };
    let machine = &machine.name;
    Err(RunError::Sampling(format!("machine '{machine}' {why}, so its runs cannot be sampled: run it in full detail")))
}

/// The sampler of the run; `None` if every instruction is in detail.
fn sampler(
    options: &RunOptions,
    meters: &Meters,
    uncore: &Rc<Uncore>,
) -> Result<Option<Rc<RefCell<Sampler>>>, RunError> {
    let Detail::Sampled(sampling) = options.detail else { return Ok(None) };
    check_sampled(&options.machine)?;
    sampling.check().map_err(RunError::Sampling)?;
    let cycle = options.machine.node.clock_mhz.clock().period();
    let sampler = Sampler::new(sampling, options.seed, cycle, meters.clone(), uncore.clone());
    Ok(Some(Rc::new(RefCell::new(sampler))))
}

/// Assigns the cores to the programs in turn, and the strands of each program to its cores. Returns the programs' teams
/// and the cores' feeds.
fn enlist<S: Source>(
    sources: Vec<S>,
    cores: usize,
    budget: u64,
    pages: &Pages,
    shadow: &Rc<RefCell<Shadow>>,
) -> (Vec<Rc<Team<S>>>, Vec<CoreProgram<S>>) {
    let programs = sources.len();
    let mut teams = Vec::new();
    let mut hands: Vec<_> = Vec::new();
    for (program, source) in sources.into_iter().enumerate() {
        let own_cores = (program..cores).step_by(programs).count();
        let (dealer, dealt) = deal(source, own_cores);
        teams.push(Rc::new(Team { dealer, idle: RefCell::default(), progress: Cell::new(0) }));
        hands.push((dealt.into_iter(), Rc::new(Cell::new(budget)), own_cores));
    }
    let feeds = (0..cores).filter_map(|core| {
        let program = core % programs;
        let (dealt, left, own_cores) = &mut hands[program];
        let spaces = Spaces { programs: programs as u32, program: program as u32, cores: *own_cores };
        let feed = ProgramFeed::new(dealt.next()?, left.clone(), pages.clone(), spaces, (core, shadow.clone()));
        Some(Rc::new(RefCell::new(feed)))
    });
    (teams, feeds.collect())
}
