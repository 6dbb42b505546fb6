//! The timeline of one access: each step with its start, its end, and the cause of a wait before the step.
//!
//! Preparatory accesses first produce the requested condition of the machine: which metadata is on the chip, and the
//! state of the DRAM row. Then the scheme reads or writes one line in the explained mode ([`Explained`]), with the same
//! code and the same resources as in any run.
//!
//! The latency depends on the line: if the line and its metadata are in different rows of the same bank, one fetch waits
//! for the other. So this module measures many lines, each on a separate machine. It returns the timeline of the line
//! with the median latency among those that have no two such rows, or the fewest ([`sample`]).

mod access;
mod condition;
mod dependent;
mod rows;
mod sample;
mod store;
mod value;
mod witness;

pub use self::condition::{OnChipMetadata, memory_lines};
pub use self::dependent::{DependentReads, between_fetches, frequent_values};
pub use self::rows::RowState;
pub use self::sample::{Lines, Spread};
pub use self::store::Meets;
pub use self::value::LineValue;

use self::access::{fetched_lines, read_from_l2, walk};
use self::condition::{at_rest, lines_per_group, prepare};
use self::store::{Arrival, StorePath};
use self::witness::Witness;
use catalogue::{AesBandwidth, Design, Machine};
use chip::memory;
use machine::dram::Wanted;
use machine::memory::MemorySystem;
use protection::design::DataLines;
use protection::execution::{Explained, Timed};
use protection::slot::Kind;
use serde::{Deserialize, Serialize};
use sim::Executor;
use sim::span::{Span, Verb};
use std::cell::RefCell;
use std::rc::Rc;
use strum::VariantArray;
use units::{Duration, LineAddr, Time, Word};

/// Kind of access to explain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// A read of a line: from the arrival of the request to the release of the line.
    #[default]
    Read,
    /// A write of a line that the last-level cache has evicted: from the moment at which the memory controller accepts
    /// the line until all steps of the write are done.
    Write,
    /// A store into a persist buffer: from its arrival in L1D until the store queue continues; followed by the drain of
    /// its entry.
    Store,
    /// A TLB miss under a design that permutes lines: from the start of the tree walk that fetches the page's record
    /// until the record is on the chip.
    Page,
    /// A permutation of a chunk without reads since the last permutation: from its beginning until the new record and
    /// its path in the tree are stored.
    Permutation,
}

impl Of {
    /// Checks that a design has this kind of access.
    ///
    /// # Errors
    /// A sentence that explains why the design does not have this kind, and names a kind that it has.
    fn check(self, design: &Design) -> Result<(), String> {
        let (name, has_buffer) = (&design.name, design.parts.persistence.has_buffer());
        let moves = design.parts.permutation.is_some();
        match self {
            Of::Page | Of::Permutation if !moves => Err(format!(
                "'{name}' does not move lines, and has no records of their slots: explain a read (--of read), or \
                 take 'cryptopage'"
            )),
            Of::Write | Of::Store if moves => Err(format!(
                "'{name}' does not write lines back one by one: explain the permutation that writes stores to memory \
                 (--of permutation)"
            )),
            Of::Page | Of::Permutation => Ok(()),
            Of::Write if has_buffer => Err(format!(
                "'{name}' writes no lines back, since every store passes a persist buffer: explain a store (--of \
                 store)"
            )),
            Of::Store if !has_buffer => Err(format!(
                "'{name}' has no persist buffer, so no store waits for the protection of memory: explain a write \
                 (--of write), or take 'secpb-cm'"
            )),
            Of::Read | Of::Write | Of::Store => Ok(()),
        }
    }
}

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

/// Component at which the timeline begins and ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum TimelineStart {
    /// At the memory controller: from the arrival of the request to the release of the line.
    #[default]
    Controller,
    /// At an L2: from the look-up in the L2, which misses, until the L2 can use the line. The last-level cache misses
    /// as well.
    L2,
}

/// The access to explain, and the condition of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Kind of the access.
    #[serde(default)]
    pub of: Of,
    /// Metadata on the chip when the access begins.
    pub on_chip: OnChipMetadata,
    /// State of the DRAM rows of all lines that the access fetches.
    pub row: RowState,
    /// Component at which the timeline begins.
    #[serde(default)]
    pub start: TimelineStart,
    /// True if the L2 predicts a miss: at its look-up, it notifies the controller that it expects the line in memory,
    /// like Intel's XPT. The controller then fetches the line at once, and performs all other steps when the request
    /// arrives.
    #[serde(default)]
    pub predicted: bool,
    /// True if the decoding of counters takes no time on this machine, as in the timelines of the EMCC paper.
    #[serde(default)]
    pub decoded: bool,
    /// State of the persist buffer for a store; absent for other accesses, which do not use the buffer.
    #[serde(default)]
    pub meets: Option<Meets>,
    /// Content of the line: the plaintext that a read finds encrypted in memory, or the plaintext that a write stores.
    #[serde(default)]
    pub value: LineValue,
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
    /// Percentiles of the latencies of all measured lines, if there were several; the timeline is that of a line with
    /// the median latency.
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
/// An error in words if the design breaks a rule of composition, or the machine lacks units for the design. An
/// inconsistent scenario is an error too: a prediction without an L2, a write from an L2, an address outside the
/// memory, or a sample of no lines.
pub fn explain(machine: &Machine, design: &Design, scenario: Scenario, lines: Lines) -> Result<Explanation, String> {
    scenario.of.check(design)?;
    if scenario.of != Of::Read && scenario.start == TimelineStart::L2 {
        return Err(
            "a write begins at the memory controller, when the last-level cache evicts its line: no L2 waits for it, \
             so leave out --from l2"
                .to_owned(),
        );
    }
    if scenario.predicted && scenario.start != TimelineStart::L2 {
        return Err("only an L2 predicts misses of the last-level cache: give --from l2".to_owned());
    }
    if scenario.start == TimelineStart::L2 || scenario.of == Of::Store || design.parts.permutation.is_some() {
        machine.admits(&design.parts)?;
    }
    machine.has_engine_for(&design.parts)?;
    let mut undecoding = machine.clone();
    undecoding.engines.counter_decode_ns = None;
    let machine = if scenario.decoded { &undecoding } else { machine };
    let table = value::table_of(&design.parts.speculation);
    let meets = Meets::of(scenario.of == Of::Store, scenario.meets)?;
    scenario.value.fits(machine.line_length())?;
    let scenario = Scenario { value: scenario.value.under(&table), meets, ..scenario };
    let bench = MeasurementSetup::new(machine, design, scenario)?;
    let whole = DataLines { count: bench.whole_lines, ..bench.memory };
    let targets = lines.targets(whole)?;
    let mut readings = Vec::with_capacity(targets.len());
    for target in targets {
        readings.push(bench.measure(target, lines.word(machine.line_length()))?);
    }
    let (Reading { target, latency, rest, until, spans, .. }, spread) =
        lines.median(readings, |reading| (reading.clashes, reading.latency));
    Ok(Explanation {
        design: design.name.clone(),
        machine: machine.name.clone(),
        scenario,
        address: machine.line_length().start_of(target).0,
        line_bytes: machine.line_length().bytes(),
        spread,
        aes: machine.aes_bandwidth(&design.parts),
        latency_fs: latency.as_fs(),
        rest_fs: rest.map(Duration::as_fs),
        until,
        spans,
    })
}

/// Measurement of the access to one line.
struct Reading {
    target: LineAddr,
    latency: Duration,
    /// Latency until the whole line was released, if some words were released earlier.
    rest: Option<Duration>,
    until: Until,
    spans: Vec<Span>,
    /// Number of fetched lines that find another row in their bank, which the access has opened for another line.
    clashes: usize,
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
        if let Some(speculation) = scheme.cryptography().speculation() {
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
            let explained = Explained::new(Timed::new(&seen));
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
                    (witness.in_l2(&explained, target).map(|end| (end, Until::InL2)), Vec::new())
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
            let spans = [other_spans, explained.take_spans()].concat();
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
        Ok(Reading { target, latency: end.since(start), rest, until, spans, clashes })
    }
}

fn since(start: Time, time: Time) -> Time {
    Time::ZERO + time.since(start)
}
