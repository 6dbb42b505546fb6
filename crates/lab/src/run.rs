//! One run: assembles the chip, lets time pass, and writes down the result.

use crate::chip::Chip;
use crate::core_task::{CoreTask, End};
use crate::counts::{Counts, Meters};
use crate::feed::{FeedCounters, FeedError, Program};
use crate::record::{Checks, Configuration, Footprint, Host, Record, SCHEMA};
use crate::sampling::{Detail, Sampler, Sampling};
use crate::shadow::Shadow;
use crate::uncore::Uncore;
use machine::memory::MemorySystem;
use machine::paging::PageTable;
use protection::ways::TimedMemory;
use sim::Executor;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;
use systems::{Design, Machine};
use thiserror::Error;
use units::{Bytes, Clock, LINE_BYTES, Time};
use workload::Source;

/// Events between two looks at the progress.
const EVENTS_BETWEEN_LOOKS: u64 = 1 << 14;
/// The same of a sampled run, in which a single event may be a long stretch of warming.
const SAMPLED_EVENTS_BETWEEN_LOOKS: u64 = 1 << 6;

/// What to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The machine.
    pub machine: Machine,
    /// What protects its memory.
    pub design: Design,
    /// Seeds keys and page placement.
    pub seed: u64,
    /// The most instructions to run.
    pub budget: u64,
    /// Whether every pad is written down and compared: exact, and costly in memory.
    pub ledger: bool,
    /// How much of it is in detail.
    pub detail: Detail,
}

/// What whoever watches a run wants of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// To go on.
    GoOn,
    /// To stop now, without a result.
    Stop,
}

/// Why a run has no result.
#[derive(Debug, Error)]
pub enum RunError {
    /// The program, or its place in memory.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// The program is larger than the machine's memory, which is known before it runs.
    #[error("the program needs more memory than the machine's {size}: it touches {} MB", needed.0.div_ceil(1 << 20))]
    TooLarge {
        /// What the program touches.
        needed: Bytes,
        /// What the machine has for programs.
        size: Bytes,
    },
    /// The composition of the design.
    #[error("design {design}: {rule}")]
    Design {
        /// Its name.
        design: String,
        /// The rule that it breaks.
        rule: String,
    },
    /// Nothing was executed.
    #[error("'{0}' executed no instruction that could be simulated")]
    Nothing(String),
    /// How to sample it.
    #[error("{0}")]
    Sampling(String),
    /// There is no interval to be had.
    #[error(
        "'{program}' executed {instructions} instructions, in which {units} units could be measured: too few to sample; run it with every instruction in detail"
    )]
    TooShort {
        /// The program.
        program: String,
        /// All that it executed.
        instructions: u64,
        /// Units that were measured.
        units: usize,
    },
    /// It was asked to stop.
    #[error("stopped")]
    Stopped,
    /// A bug: all tasks wait for each other.
    #[error("internal error: the simulation stands still at {0}; please report this with the configuration")]
    StandsStill(Time),
}

/// Runs a program on a machine under a design. `watch` is told the number of instructions so far, now and then.
///
/// # Errors
/// See [`RunError`]. Tampering and wrong lines are results, in [`Record::checks`].
pub fn run<S: Source + 'static>(
    options: &RunOptions,
    source: S,
    mut watch: impl FnMut(u64) -> Control,
) -> Result<Record, RunError> {
    let started = Instant::now();
    check_fits(&source, &options.machine)?;
    let mut bench = Bench::assemble(options, source)?;
    let mut looked_at = 0;
    let mut stop = false;
    let between_looks = if bench.sampler.is_some() { SAMPLED_EVENTS_BETWEEN_LOOKS } else { EVENTS_BETWEEN_LOOKS };
    let program = bench.program.clone();
    let (clock, chip, end) = (bench.executor.clock().clone(), bench.meters.chip.clone(), bench.end.clone());
    let ended = bench.executor.run_until(|| {
        if clock.event_count() >= looked_at {
            looked_at = clock.event_count() + between_looks;
            stop = watch(program.borrow().counters().instructions) == Control::Stop;
        }
        stop || chip.fault_reported().is_some() || end.borrow().is_some()
    });
    if stop {
        return Err(RunError::Stopped);
    }
    if !ended {
        return Err(RunError::StandsStill(clock.now()));
    }
    if let Some(End::Failed(error)) = bench.end.take() {
        return Err(error.into());
    }
    bench.record(options, started)
}

/// Whether a program fits the machine's memory, as far as it is known before it runs. A program of which it is not known
/// fails when memory is full.
///
/// # Errors
/// [`RunError::TooLarge`].
pub fn check_fits(source: &impl Source, machine: &Machine) -> Result<(), RunError> {
    let size = machine.memory.size;
    match source.footprint() {
        Some(needed) if needed > size => Err(RunError::TooLarge { needed, size }),
        _ => Ok(()),
    }
}

/// The figures of a run.
struct Figures {
    counts: Counts,
    cycles: u64,
    time_fs: u64,
    read_latency_ns: f64,
    dram_bytes: u64,
    sampling: Option<Sampling>,
}

/// Everything on the bench: one machine with one program.
struct Bench<S> {
    executor: Executor,
    meters: Meters,
    sampler: Option<Rc<RefCell<Sampler>>>,
    program: Rc<RefCell<Program<S>>>,
    end: Rc<RefCell<Option<End>>>,
}

impl<S: Source + 'static> Bench<S> {
    fn assemble(options: &RunOptions, source: S) -> Result<Bench<S>, RunError> {
        let RunOptions { machine, design, seed, budget, ledger, detail } = options;
        let executor = Executor::new();
        let clock = executor.clock();
        let lines = machine.memory.size.0 / LINE_BYTES as u64;
        let refused = |rule| RunError::Design { design: design.name.clone(), rule };
        let scheme = Rc::new(design.parts.build(lines, *seed).map_err(refused)?);
        let shadow = Rc::new(RefCell::new(Shadow::new(lines)));
        let pages = PageTable::new(machine.memory.size, machine.memory.page, *seed)
            .placed(machine.memory.placement, *seed)
            .walked_by(machine.node.walker.as_ref());
        let program = Rc::new(RefCell::new(Program::new(source, *budget, pages, shadow.clone())));
        let chip = Chip::new(clock, machine, shadow);
        let channels = MemorySystem::start(clock, machine.memory_config());
        let slots = scheme.layout().total_lines();
        let memory = Rc::new(TimedMemory::new(clock, channels.clone(), slots, &machine.engines, *ledger, chip.clone()));
        let uncore = Uncore::start(clock, machine, chip.clone(), scheme.clone(), memory.clone());
        let meters = Meters { chip: chip.clone(), scheme, memory: memory.clone(), channels };
        let sampler = match detail {
            Detail::All => None,
            Detail::Sampled(sampling) => {
                sampling.check().map_err(RunError::Sampling)?;
                // The sampler says when the core gets its first instruction.
                program.borrow_mut().pause_at(0);
                let cycle = Clock::from_mhz(machine.node.clock_mhz).period();
                let sampler = Sampler::new(*sampling, *seed, cycle, meters.clone(), uncore.clone());
                Some(Rc::new(RefCell::new(sampler)))
            }
        };
        let end = Rc::new(RefCell::new(None));
        CoreTask::start(clock, chip, uncore, memory, program.clone(), sampler.clone(), end.clone());
        Ok(Bench { executor, meters, sampler, program, end })
    }

    fn record(&self, options: &RunOptions, started: Instant) -> Result<Record, RunError> {
        let program = self.program.borrow();
        let origin = program.origin().clone();
        let feed = program.counters();
        if feed.instructions == 0 {
            return Err(RunError::Nothing(origin.program.join(" ")));
        }
        let Meters { chip, memory, .. } = &self.meters;
        let Figures { counts, cycles, time_fs, read_latency_ns, dram_bytes, sampling } = self.figures(&feed)?;
        let configuration = Configuration {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            machine: options.machine.clone(),
            design: options.design.clone(),
            seed: options.seed,
            budget: options.budget,
            detail: options.detail,
            workload: origin,
        };
        let seconds = started.elapsed().as_secs_f64();
        Ok(Record {
            schema: SCHEMA,
            configuration_hash: configuration.hash(),
            instructions: feed.instructions,
            cycles,
            time_fs,
            ipc: feed.instructions as f64 / cycles.max(1) as f64,
            read_latency_ns,
            dram_bytes,
            feed,
            node: counts.node,
            llc: counts.llc,
            protection: counts.protection,
            metadata_caches: [counts.counter_cache, counts.tag_cache, counts.node_cache],
            dram: counts.dram,
            footprint: self.footprint(options, program.footprint_bytes()),
            checks: self.checks(),
            sampling,
            events: self.executor.clock().event_count(),
            event_hash: format!("{:016x}", self.executor.clock().event_hash()),
            weaknesses: options.design.parts.weaknesses(),
            host: Host {
                seconds,
                instructions_per_second: feed.instructions as f64 / seconds,
                simulated_memory_bytes: memory.media().borrow().footprint_bytes() + chip.footprint_bytes(),
            },
            configuration,
        })
    }

    /// The figures of the whole run: counted, or estimated from the sample.
    fn figures(&self, feed: &FeedCounters) -> Result<Figures, RunError> {
        let Some(sampler) = &self.sampler else {
            let counts = self.meters.read();
            return Ok(Figures {
                cycles: counts.node.cycles,
                time_fs: self.meters.chip.node.borrow().retired_at().as_fs(),
                read_latency_ns: counts.llc.miss_latency_fs as f64 / 1e6 / counts.llc.misses.max(1) as f64,
                dram_bytes: counts.dram_bytes(),
                counts,
                sampling: None,
            });
        };
        let sampler = sampler.borrow();
        let (sampling, counts) = sampler.report(feed.instructions).ok_or_else(|| RunError::TooShort {
            program: self.program.borrow().origin().program.join(" "),
            instructions: feed.instructions,
            units: sampler.units(),
        })?;
        let cycles = (feed.instructions as f64 / sampling.ipc.value).round();
        Ok(Figures {
            cycles: cycles as u64,
            time_fs: (cycles * sampler.cycle().as_fs() as f64).round() as u64,
            read_latency_ns: sampling.read_latency_ns.map_or(0.0, |latency| latency.value),
            dram_bytes: sampling.dram_bytes.value.round() as u64,
            counts,
            sampling: Some(sampling),
        })
    }

    fn footprint(&self, options: &RunOptions, program_bytes: u64) -> Footprint {
        let caches = &options.design.parts.caches;
        let layout = self.meters.scheme.layout();
        let kept = [
            (layout.counters().is_some(), caches.counters),
            (layout.tags().is_some(), caches.tags),
            (!layout.levels().is_empty(), caches.nodes),
        ];
        Footprint {
            program_bytes,
            metadata_percent: layout.overhead_percent(),
            metadata_cache_bytes: kept.iter().filter(|(used, _)| *used).map(|(_, size)| size.0).sum(),
        }
    }

    fn checks(&self) -> Checks {
        let Meters { chip, memory, .. } = &self.meters;
        let lines = chip.observed();
        let false_alarm = chip.fault_reported();
        let pad_reused = memory.ledger_is_on().then(|| memory.pad_reuse().is_some());
        let passed =
            lines.lines_wrong == 0 && lines.lines_checked > 0 && false_alarm.is_none() && pad_reused != Some(true);
        Checks { lines, false_alarm, pad_reused, passed }
    }
}
