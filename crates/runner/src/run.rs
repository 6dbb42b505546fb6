//! One run: assembles the machine, runs the simulation, and creates the record.

mod bench;
mod checks;
mod counting;
mod error;
mod intervals;
mod options;
pub mod power_loss;
mod programs;
mod untimed;
mod warm_up;

pub use error::{RunError, Unfinished};
pub use intervals::check_interval;
pub use options::RunOptions;
pub use programs::{check_fits, check_persistent, check_requests};
pub use untimed::check_untimed;
pub use warm_up::check_warm_up;

use crate::bus::BusRecorder;
use crate::check_latency::check_latency;
use crate::excerpt::ExcerptFile;
use crate::footprint::Footprint;
use crate::record::{CoreTime, HostFigures, ReadTimes, Record, SCHEMA, UnverifiedWindow, ipc, read_latency_ns};
use crate::sampling::Sampling;
use bench::{AssembledMachine, PowerScenario};
use chip::counts::{Counts, Meters};
use chip::feed::FeedCounts;
use counting::IntervalCounter;
use machine::node::FenceCounts;
use programs::check_mapped;
use protection::planted::PlantedBug;
use protection::scheme::{FixedScheme, Permutations};
use std::time::Instant;
use units::Time;
use warm_up::BaselineCounts;
use workload::{Origin, Source};

/// Number of simulated events between two progress reports.
const EVENTS_BETWEEN_LOOKS: u64 = 1 << 14;
/// Number of simulated events between two progress reports of a sampled run, in which one event may warm many
/// instructions.
const SAMPLED_EVENTS_BETWEEN_LOOKS: u64 = 1 << 6;

/// Decision of the observer of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunControl {
    /// Let the run continue.
    GoOn,
    /// Stop now, without a result.
    Stop,
}

/// Runs a program on a machine under a design. `watch` is called repeatedly with the number of instructions so far.
///
/// # Errors
/// See [`RunError`]. Tampering and wrong lines are results, in [`Record::checks`].
pub fn run<S: Source + 'static>(
    options: &RunOptions,
    source: S,
    watch: impl FnMut(u64) -> RunControl,
) -> Result<Record, RunError> {
    run_together(options, vec![source], watch)
}

/// Like [`run`], on a machine with a planted bug.
///
/// # Errors
/// Returns the errors of [`run`].
pub fn run_planted<S: Source + 'static>(
    options: &RunOptions,
    source: S,
    planted: PlantedBug,
) -> Result<Record, RunError> {
    run_on(options, vec![source], planted, |_| RunControl::GoOn)
}

/// Runs several programs at once, each in separate address spaces. The function assigns the cores to the programs in
/// turn, and the strands of a program to its cores. The run ends when all programs have ended; the cores of a program
/// that has ended are idle from then on.
///
/// # Errors
/// Like [`run`]; also if there are more programs than cores.
pub fn run_together<S: Source + 'static>(
    options: &RunOptions,
    sources: Vec<S>,
    watch: impl FnMut(u64) -> RunControl,
) -> Result<Record, RunError> {
    run_on(options, sources, PlantedBug::NONE, watch)
}

fn run_on<S: Source + 'static>(
    options: &RunOptions,
    sources: Vec<S>,
    planted: PlantedBug,
    mut watch: impl FnMut(u64) -> RunControl,
) -> Result<Record, RunError> {
    let started = Instant::now();
    check_fits(&sources, &options.machine)?;
    check_persistent(&sources, options)?;
    check_requests(&sources, options)?;
    check_untimed(options, sources.len())?;
    let mut counting = IntervalCounter::new(options, sources.len())?;
    let excerpt = ExcerptFile::begin(options.excerpt.as_ref(), options.detail)?;
    let mut bench = AssembledMachine::assemble(options, sources, &excerpt, PowerScenario::Lasts, planted)?;
    let bus = bench.listen(options)?;
    let untimed = options.start.untimed;
    counting.follow(bench.execute_untimed(untimed, &mut watch)?, untimed, &bench.meters);
    let mut looked_at = 0;
    let mut stop = false;
    let between_looks = if bench.sampler.is_some() { SAMPLED_EVENTS_BETWEEN_LOOKS } else { EVENTS_BETWEEN_LOOKS };
    let programs = bench.programs.clone();
    let (clock, meters, ends) = (bench.executor.clock().clone(), bench.meters.clone(), bench.ends.clone());
    let ended = bench.executor.run_until(|| {
        if clock.event_count() >= looked_at {
            looked_at = clock.event_count() + between_looks;
            let instructions = programs.iter().map(|program| program.borrow().counts().instructions).sum();
            stop = watch(instructions) == RunControl::Stop || bus.has_failed() || counting.error().is_some();
        }
        counting.look(&meters);
        stop || meters.chip.scheme.fault_reported().is_some() || ends.is_over()
    });
    if stop {
        return Err(bus.take_error().map(RunError::Bus).or_else(|| counting.error()).unwrap_or(RunError::Stopped));
    }
    if !ended {
        return Err(RunError::NoProgress(clock.now()));
    }
    if let Some(error) = bench.ends.take_error() {
        return Err(error.into());
    }
    // An error may have occurred since the last progress report.
    if let Some(error) = counting.error() {
        return Err(error);
    }
    let record = bench.record(options, counting, started)?;
    let shape = bench.meters.scheme.layout().shape();
    let excerpt =
        excerpt.finish(clock.now(), (shape, &bench.meters.channels), || options.configuration(bench.origins()));
    let bus = bus.finish(&bench.meters.memory);
    if bus.is_err() || excerpt.is_err() {
        return Err(RunError::Unfinished(Box::new(Unfinished { record, bus, excerpt })));
    }
    Ok(record)
}

/// The results that are computed differently for a full run and for a sampled run.
struct Figures {
    counts: Counts,
    cycles: u64,
    time_fs: u64,
    read_latency_ns: f64,
    dram_bytes: u64,
    sampling: Option<Sampling>,
}

impl<S: Source + 'static> AssembledMachine<S> {
    /// Begins to record the lines that cross the pins of memory, if the options request it.
    fn listen(&self, options: &RunOptions) -> Result<BusRecorder, RunError> {
        let Meters { memory, scheme, .. } = &self.meters;
        let configuration = || options.configuration(self.origins());
        Ok(BusRecorder::begin(options.bus.as_ref(), configuration, memory, scheme.layout().shape())?)
    }

    fn record(&self, options: &RunOptions, counting: IntervalCounter, started: Instant) -> Result<Record, RunError> {
        let before = counting.before();
        let feed = self.fed().reduce(FeedCounts::of_programs).unwrap_or_default();
        let configuration = options.configuration(self.origins());
        if feed.instructions == 0 {
            return Err(RunError::nothing_of(&configuration.workload));
        }
        check_mapped(self.origins().iter().zip(self.fed()), &options.design)?;
        let instructions = self.counted(options, &counting, feed.instructions)?;
        let Meters { chip, memory, scheme, .. } = &self.meters;
        let Figures { counts, cycles, time_fs, read_latency_ns, dram_bytes, sampling } =
            self.figures(&feed, before, &configuration.workload)?;
        let seconds = started.elapsed().as_secs_f64();
        let parts = &options.design.parts;
        Ok(Record {
            schema: SCHEMA,
            configuration_hash: configuration.hash(),
            instructions,
            cycles,
            time_fs,
            ipc: ipc(instructions, cycles),
            core_time: CoreTime::of(&counts.waits, options.machine.node.clock_mhz.clock()),
            read_latency_ns,
            reads: ReadTimes::of(&counts.protection.reads),
            dram_bytes,
            feed,
            node: counts.node,
            cores: if sampling.is_some() { vec![counts.node] } else { before.until(self.meters.cores()) },
            llc: counts.llc,
            protection: counts.protection,
            counters_found: scheme
                .fixed()
                .and_then(FixedScheme::lines_per_counter_line)
                .map(|_| counts.scheme.counters_found),
            renewals: counts.scheme.renewals,
            counters_in_llc: parts.caches.counters_in_llc.then_some(counts.last_level_counters),
            nodes_in_llc: parts.caches.nodes_in_llc.then_some(counts.last_level_nodes),
            unverified_window: UnverifiedWindow::of(parts.release, &counts.protection.ahead, memory.longest_window()),
            counters_in_l2: parts.caches.counters_in_l2.map(|_| counts.copies),
            metadata_caches: counts.metadata_caches(),
            persist_buffer: parts.persistence.hands_stores_on().then_some(counts.persist),
            epochs: Some(counts.epochs).filter(|epochs| *epochs != FenceCounts::default()),
            speculation: scheme.speculation().map(|_| counts.scheme.speculation),
            moving: Permutations::of(scheme).map(|_| counts.scheme.moving),
            dram: counts.dram,
            footprint: Footprint { at_start: before.content, ..self.footprint(options, self.pages.borrow().used().0) },
            check_ns: check_latency(&options.machine, &options.design).map(|latency| latency.as_fs() as f64 / 1e6),
            checks: self.checks(),
            sampling,
            predicted: (self.meters.predicted() - before.predicted).tables().copied().collect(),
            frequent_words: self.meters.most_frequent(),
            intervals: counting.intervals(&self.meters),
            events: self.executor.clock().event_count(),
            event_hash: format!("{:016x}", self.executor.clock().event_hash()),
            weaknesses: parts.weaknesses(),
            host: HostFigures {
                built_as: units::BUILT_AS,
                seconds,
                instructions_per_second: feed.instructions as f64 / seconds,
                simulated_memory_bytes: memory.media().borrow().footprint_bytes()
                    + chip.shadow.footprint_bytes()
                    + chip.cores.footprint_bytes(),
                computed: scheme.computed(),
            },
            configuration,
        })
    }

    /// Returns the number of instructions after the warm-up. If a run ended in an alarm before counting began, all its
    /// instructions with time count.
    ///
    /// # Errors
    /// [`RunError::NothingCounted`] if no instruction of a program is left to count.
    fn counted(&self, options: &RunOptions, counting: &IntervalCounter, executed: u64) -> Result<u64, RunError> {
        let before = counting.untimed() + counting.before().counts.node.instructions;
        if options.start.untimed + options.warm_up > 0 && self.meters.chip.scheme.fault_reported().is_none() {
            let fed = self.fed().map(|fed| fed.instructions);
            let is_over = executed == before;
            warm_up::check_left(&self.origins().into_iter().zip(fed).collect::<Vec<_>>(), options, is_over)?;
        }
        Ok(executed - before)
    }

    /// Returns the figures, from the counts or as estimates of the sample.
    fn figures(&self, feed: &FeedCounts, before: &BaselineCounts, workload: &Origin) -> Result<Figures, RunError> {
        let Some(sampler) = &self.sampler else {
            let nodes = self.meters.chip.cores.nodes();
            let retired = nodes.iter().map(|node| node.borrow().retired_at()).max().unwrap_or(Time::ZERO);
            let begun = nodes[0].borrow().start_of(before.counts.node.cycles);
            let counts = self.meters.read() - before.counts;
            // For a trace of requests, no core reports the completion of the last request, so the end of the simulation
            // is the end of the run.
            let (now, cycle) = (self.executor.clock().now(), nodes[0].borrow().start_of(1));
            let (time, cycles) = match workload.requests {
                Some(_) => (now.since(Time::ZERO), now.as_fs().div_ceil(cycle.as_fs())),
                None => (retired.since(begun), counts.node.cycles),
            };
            return Ok(Figures {
                cycles,
                time_fs: time.as_fs(),
                read_latency_ns: read_latency_ns(&counts.llc),
                dram_bytes: counts.dram_bytes(),
                counts,
                sampling: None,
            });
        };
        let sampler = sampler.borrow();
        let (sampling, counts) = sampler.report(feed.instructions).ok_or_else(|| RunError::TooShort {
            program: workload.program.join(" "),
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
        let layout = self.meters.scheme.layout();
        Footprint {
            program_bytes,
            metadata_percent: layout.overhead_percent(),
            metadata_cache_bytes: options.design.parts.metadata_cache_bytes(layout, options.machine.translations()),
            at_start: None,
        }
    }
}
