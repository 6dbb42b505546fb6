//! The timeline of one access: each step with its start, its end, and the cause of a wait before the step.
//!
//! Preparatory accesses first produce the requested condition of the machine: which metadata is on the chip, and the
//! state of the DRAM row. Then the scheme reads or writes one line in the explained mode ([`Explained`]), with the same
//! code and the same resources as in any run.
//!
//! The latency depends on the line: if the line and its metadata are in different rows of the same bank, one fetch waits
//! for the other. So this module measures many lines, each on a separate machine. It returns the timeline of a line with
//! the median latency ([`sample`]).

mod access;
mod condition;
mod dependent;
mod rows;
mod sample;
mod scenario;
mod store;
mod value;
mod witness;

pub use self::condition::{OnChipMetadata, memory_lines};
pub use self::dependent::{DependentReads, between_fetches, frequent_values};
pub use self::rows::RowState;
pub use self::sample::{Lines, Spread};
pub use self::scenario::{Of, Scenario, TimelineStart};
pub use self::store::Meets;
pub use self::value::LineValue;

use self::access::{fetched_lines, read_from_l2, walk};
use self::condition::{at_rest, lines_per_group, prepare};
use self::sample::{LineLatency, LineToExplain};
use self::store::{Arrival, StorePath};
use self::witness::Witness;
use catalogue::{AesBandwidth, Design, Machine};
use chip::memory;
use machine::dram::Wanted;
use machine::memory::MemorySystem;
use protection::design::DataLines;
use protection::execution::{Explained, Timed};
use protection::slot::Kind;
use serde::Serialize;
use sim::Executor;
use sim::span::{Span, Verb};
use std::cell::RefCell;
use std::rc::Rc;
use strum::VariantArray;
use units::{Duration, LineAddr, Time, Word};

/// End of the latency of an explained access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// A read: the checker has released the line.
    Released,
    /// A read from an L2 ([`TimelineStart::L2`]): the L2 can use the line.
    InL2,
    /// A write: the queue of the memory controller has accepted all lines of the write, so its write-back buffer is
    /// free. The write may not be durable yet.
    Taken,
    /// A write of a design with persistence: its tuple is complete and survives a loss of power.
    Durable,
    /// A TLB miss: the record of the page is on the chip and verified.
    OnChip,
    /// A permutation: the queue of the memory controller has accepted all lines, the record and the path of the tree
    /// above the record.
    Permuted,
    /// A store: it is in the persist buffer, its early steps are done, and it survives a loss of power.
    Accepted,
}

/// The timeline of one access under one design.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explanation {
    /// Name of the design.
    pub design: String,
    /// Name of the machine.
    pub machine: String,
    /// The access and the condition of the machine.
    pub scenario: Scenario,
    /// Address of the first byte of the line.
    pub address: u64,
    /// Bytes in a line of this memory.
    pub line_bytes: usize,
    /// Percentiles of the latencies of all measured lines, if there were several.
    pub spread: Option<Spread>,
    /// Latency from the start to the moment `until`, in femtoseconds. If the requested words of a read are released
    /// before the whole line, the latency ends with the release of these words.
    pub latency_fs: u64,
    /// Latency until the whole line is released, in femtoseconds, if some words were released earlier.
    pub rest_fs: Option<u64>,
    /// The moment at which the latency ends.
    pub until: Until,
    /// Peak AES blocks per second of the units that the design uses.
    pub aes: AesBandwidth,
    /// Steps of the access; their times are in femtoseconds from its start.
    pub spans: Vec<Span>,
}

/// Time after which a bank is at rest, so that the preparatory accesses affect only the open row. The read then begins
/// at the next clock of the memory bus.
const REST: Duration = Duration::from_ns(200);

/// Reads or writes lines of a protected memory in the stated condition, each on a separate machine.
///
/// # Errors
/// The errors of [`explain_together`].
pub fn explain(machine: &Machine, design: &Design, scenario: Scenario, lines: Lines) -> Result<Explanation, String> {
    let explained = explain_together(machine, std::slice::from_ref(design), scenario, lines)?;
    explained.into_iter().next().ok_or_else(|| "no design was given".to_owned())
}

/// Carries out the same access under several designs, on the same lines. The timelines, in the order of the designs, show
/// the access to the same line.
///
/// # Errors
/// An error in words if a design breaks a rule of composition, or the machine lacks units for the design. An
/// inconsistent scenario is an error too: a prediction without an L2, a write from an L2, an address outside the
/// memory, or a sample of no lines.
pub fn explain_together(
    machine: &Machine,
    designs: &[Design],
    scenario: Scenario,
    lines: Lines,
) -> Result<Vec<Explanation>, String> {
    let mut undecoding = machine.clone();
    undecoding.engines.counter_decode_ns = None;
    let machine = if scenario.decoded { &undecoding } else { machine };
    let setups = designs
        .iter()
        .map(|design| MeasurementSetup::new(machine, design, scenario.under(machine, design)?))
        .collect::<Result<Vec<_>, _>>()?;
    // Groups of counters differ between designs, and each line must be in a complete group of every design.
    let count = setups.iter().map(|setup| setup.whole_lines).min().unwrap_or_default();
    let targets = lines.targets(DataLines { count, length: machine.line_length() })?;
    let mut readings = Vec::with_capacity(setups.len());
    for setup in &setups {
        let word = lines.word(machine.line_length());
        readings.push(targets.iter().map(|target| setup.measure(*target, word)).collect::<Result<Vec<_>, _>>()?);
    }
    let measured: Vec<Vec<LineLatency>> =
        readings.iter().map(|design| design.iter().map(|reading| reading.measured).collect()).collect();
    let LineToExplain { line, spreads } = lines.select(&measured);
    let shown = readings.into_iter().map(|mut design| design.swap_remove(line));
    Ok(setups.iter().zip(shown).zip(spreads).map(|((setup, shown), spread)| setup.explanation(shown, spread)).collect())
}

/// Measurement of the access to one line.
struct Reading {
    target: LineAddr,
    measured: LineLatency,
    /// Latency until the whole line was released, if some words were released earlier.
    rest: Option<Duration>,
    until: Until,
    spans: Vec<Span>,
}

/// Setup of the measurements: a machine under a design, and the condition.
struct MeasurementSetup<'a> {
    machine: &'a Machine,
    design: &'a Design,
    scenario: Scenario,
    memory: DataLines,
    /// Number of lines, from the first, with complete groups: a read of a neighbour can load the metadata of these
    /// lines into the caches.
    whole_lines: u64,
    /// Arrival of stores at the persist buffer, if the access is a store.
    stores: Option<Rc<StorePath>>,
}

impl MeasurementSetup<'_> {
    fn new<'a>(machine: &'a Machine, design: &'a Design, scenario: Scenario) -> Result<MeasurementSetup<'a>, String> {
        let memory = machine.data_lines();
        let family = 2 * lines_per_group(&design.parts.build(memory, 1)?);
        let whole_lines = memory.count - memory.count % family;
        let content = scenario.value.line();
        let stores = |meets| StorePath::new(machine, design, (meets, content), whole_lines).map(Rc::new);
        let stores = scenario.meets.map(stores).transpose()?;
        Ok(MeasurementSetup { machine, design, scenario, memory, whole_lines, stores })
    }

    /// Reads or writes one line on a new machine.
    fn measure(&self, target: LineAddr, word: Word) -> Result<Reading, String> {
        let MeasurementSetup { machine, design, scenario, .. } = *self;
        let mut executor = Executor::new();
        let clock = executor.clock().clone();
        let scheme = Rc::new(design.parts.build(self.memory, 1)?);
        if let Some(speculation) = scheme.speculation() {
            speculation.begin_with(&value::table_of(&design.parts.speculation));
        }
        let config = machine.memory_config();
        let stores = self.stores.clone();
        let channels = MemorySystem::start(&clock, config.clone());
        let witness = Rc::new(Witness::new(&clock, machine, scenario.value.line()));
        let memory = memory::build(&clock, channels.clone(), machine, &design.parts, &scheme, true, witness.clone());
        let result = Rc::new(RefCell::new(None));

        let (outcome, seen) = (result.clone(), memory.clone());
        clock.clone().spawn(async move {
            if scenario.of == Of::Read && scheme.layout().region(Kind::Bitmaps).is_some() {
                // Only a write re-orders a line.
                scheme.write(&Timed::new(&seen), target, &scenario.value.line()).await;
                scheme.flush(&Timed::new(&seen)).await;
            }
            let store = stores.map(|stores| stores.arrange(&scheme, &seen, target));
            for line in store.as_ref().map_or(vec![target], Arrival::lines) {
                prepare(&scheme, &seen, line, scenario.on_chip).await;
            }
            clock.sleep_until(at_rest(&config.device, clock.now())).await;
            channels.close_rows();
            let lines = fetched_lines(&scheme, target, !matches!(scenario.of, Of::Write | Of::Store));
            for opening in lines.iter().filter_map(|line| scenario.row.opening(&config, *line)) {
                channels.read(opening, Wanted::LINE).await;
            }
            let bus = config.device.clock();
            clock.sleep_until(bus.start_of(bus.cycle_at_or_after(clock.now() + REST))).await;
            let start = clock.now();
            witness.forget();
            let (explained, records) = Explained::recording(Timed::new(&seen));
            let (ended, other_spans) = match (store, scenario.of, scenario.start) {
                (Some(store), ..) => {
                    let (accepted, spans) = store.carry_out(&scheme, (&clock, &seen), &explained).await;
                    (Some((accepted, Until::Accepted)), spans)
                }
                (None, Of::Read, TimelineStart::Controller) => {
                    scheme.read_at_controller(&explained, target, word).await;
                    (witness.released().map(|end| (end, Until::Released)), Vec::new())
                }
                (None, Of::Read, TimelineStart::L2) => {
                    read_from_l2(&scheme, &explained, (target, word), scenario.predicted).await;
                    (witness.in_l2(&records, target).map(|end| (end, Until::InL2)), Vec::new())
                }
                (None, Of::Page | Of::Permutation, _) => {
                    let permutes = scenario.of == Of::Permutation;
                    walk(&scheme, &explained, target, permutes).await;
                    (Some((clock.now(), if permutes { Until::Permuted } else { Until::OnChip })), Vec::new())
                }
                (None, Of::Write | Of::Store, _) => {
                    scheme.write(&explained, target, &scenario.value.line()).await;
                    (Some((clock.now(), Until::Taken)), Vec::new())
                }
            };
            let spans = [other_spans, records.take_spans()].concat();
            let rest = witness.whole().filter(|whole| Some(*whole) > witness.released());
            let clashes = rows::clashes(&config, &lines);
            *outcome.borrow_mut() = ended.map(|ended| (start, ended, rest, spans, clashes));
        });
        executor.run_until(|| result.borrow().is_some());

        let Some((start, ended, rest, mut spans, clashes)) = result.take() else {
            unreachable!("a read without an attacker is released")
        };
        let durable = spans.iter().find(|span| span.verb == Verb::Complete && scenario.of == Of::Write);
        let (end, until) = durable.map_or(ended, |tuple| (tuple.end, Until::Durable));
        for span in &mut spans {
            (span.start, span.end) = (since(start, span.start), since(start, span.end));
        }
        spans.sort_by_key(|span| (span.start, span.end));
        let rest = rest.map(|rest| rest.since(start));
        Ok(Reading { target, measured: LineLatency { latency: end.since(start), clashes }, rest, until, spans })
    }

    /// The timeline of a measured access.
    fn explanation(&self, reading: Reading, spread: Option<Spread>) -> Explanation {
        let Reading { target, measured, rest, until, spans } = reading;
        Explanation {
            design: self.design.name.clone(),
            machine: self.machine.name.clone(),
            scenario: self.scenario,
            address: self.machine.line_length().start_of(target).0,
            line_bytes: self.machine.line_length().bytes(),
            spread,
            aes: self.machine.aes_bandwidth(&self.design.parts),
            latency_fs: measured.latency.as_fs(),
            rest_fs: rest.map(Duration::as_fs),
            until,
            spans,
        }
    }
}

fn since(start: Time, time: Time) -> Time {
    Time::ZERO + time.since(start)
}
