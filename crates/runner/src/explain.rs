//! The timeline of one access: what was done, from when to when, and what it waited for.
//!
//! A machine is put into a stated condition (which metadata is on the chip, how the DRAM row stands) by accesses of its
//! own, then one line is read or written through [`Explained`]. It is the same text and the same resources as in any run.
//!
//! How long that takes depends on the line: where it and its metadata meet in a bank, one waits for the other. So many
//! lines are taken, each on a machine of its own, and the timeline is that of the one with the median latency
//! ([`sample`]).

mod access;
mod condition;
mod dependent;
mod sample;
mod store;
mod value;
mod witness;

pub use self::condition::{OnChip, memory_lines};
pub use self::dependent::{Dependent, between_fetches, frequent_values};
pub use self::sample::{Lines, Spread};
pub use self::store::Meets;
pub use self::value::Value;

use self::access::{fetched, read_from_l2, walk};
use self::condition::{at_rest, lines_per_group, prepare};
use self::store::{Arrival, StorePath};
use self::witness::Witness;
use catalogue::{AesBandwidth, Design, Machine};
use chip::memory;
use machine::dram::Wanted;
use machine::memory::{DeviceConfig, MemoryConfig, MemorySystem};
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

/// Which access is explained.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// A read of a line: from the request that comes in to the line that goes out.
    #[default]
    Read,
    /// A write of a line that the last-level cache has evicted: from the moment at which the controller takes it until all
    /// its steps are done.
    Write,
    /// A store into a persist buffer: from the moment at which L1D has it until the store queue goes on; and behind that, the
    /// drain of its entry.
    Store,
    /// A miss of a TLB under a design whose lines move: from the walk to the page's record until that is on the chip.
    Page,
    /// A permutation of a chunk of which nothing has been read since the last: from its beginning until record and path are stored.
    Permutation,
}

impl Of {
    /// Whether a design has such accesses.
    ///
    /// # Errors
    /// Why it has none, and which it has.
    fn check(self, design: &Design) -> Result<(), String> {
        let (name, has_buffer) = (&design.name, design.parts.persistence.has_buffer());
        let moves = design.parts.permutation.is_some();
        match self {
            Of::Page | Of::Permutation if !moves => Err(format!(
                "the lines of '{name}' stay where they are, and no record says where: explain a read, with of = \"read\", or take \
                 'cryptopage'"
            )),
            Of::Write | Of::Store if moves => Err(format!(
                "'{name}' writes no line back alone: explain what brings stores to memory, with of = \"permutation\""
            )),
            Of::Page | Of::Permutation => Ok(()),
            Of::Write if has_buffer => Err(format!(
                "'{name}' writes nothing back, since all that is stored goes through a persist buffer: explain a store, \
                 with of = \"store\""
            )),
            Of::Store if !has_buffer => Err(format!(
                "'{name}' has no persist buffer, so no store waits for what protects memory: explain a write, with of = \
                 \"write\", or take 'secpb-cm'"
            )),
            Of::Read | Of::Write | Of::Store => Ok(()),
        }
    }
}

/// What the latency of an explained access goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// A read: the line has left the checker.
    Released,
    /// A read that an L2 begins: the line is in the L2.
    InL2,
    /// A write: memory's controller has taken all that it stores, so that the controller may answer and its write-back buffer
    /// is free. It need not be durable.
    Taken,
    /// A write of a design with persistence: its tuple is complete, and survives a loss of power.
    Durable,
    /// A miss of a TLB: the record of its page is on the chip, and checked.
    OnChip,
    /// A permutation: memory's controller has taken all lines, the record and the path above it.
    Permuted,
    /// A store: the persist buffer has it, which survives a loss of power, and its early steps are done.
    Accepted,
}

/// How the DRAM rows stand of all that the access fetches: a read's line, and what metadata is not on the chip. Where two of
/// them are in one bank, the line has its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Row {
    /// Open.
    Hit,
    /// Closed, as after a refresh.
    #[default]
    Closed,
    /// Another row of the bank is open.
    Conflict,
}

/// Where the timeline begins and ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// At the memory controller: from the request that comes in to the line that goes out.
    #[default]
    Controller,
    /// At an L2: from its look-up, which misses, to the line that it can use. The last-level cache has not got the line.
    L2,
}

/// What is explained, and in which condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Which access.
    #[serde(default)]
    pub of: Of,
    /// What is on the chip.
    pub on_chip: OnChip,
    /// How the rows stand.
    pub row: Row,
    /// Where the timeline begins.
    #[serde(default)]
    pub start: Start,
    /// Whether the L2, with its own look-up, notifies the controller that it expects the line in memory (as Intel's XPT
    /// does). The controller then fetches the line at once, and does all else when the request comes.
    #[serde(default)]
    pub predicted: bool,
    /// Whether counters need no decoding on this machine, as the EMCC paper draws its timelines.
    #[serde(default)]
    pub decoded: bool,
    /// What a store meets in the persist buffer; nothing of reads and writes, which come to none.
    #[serde(default)]
    pub meets: Option<Meets>,
    /// What the line holds: what a read finds in memory, encrypted there; of a write, what is written.
    #[serde(default)]
    pub value: Value,
}

/// The timeline of one access under one design.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explanation {
    /// The design's name.
    pub design: String,
    /// The machine's name.
    pub machine: String,
    /// The condition.
    pub scenario: Scenario,
    /// The first byte of the line whose access this is.
    pub address: u64,
    /// How many bytes a line of this memory has.
    pub line_bytes: usize,
    /// The latencies of the lines of which this one has the median, if several were read.
    pub spread: Option<Spread>,
    /// From the start to the moment that `until` says, in femtoseconds. If the asked-for words of a read go to the core before
    /// the rest, until those do.
    pub latency_fs: u64,
    /// Until all of the line is released, if some of it was before.
    pub rest_fs: Option<u64>,
    /// What the latency goes to.
    pub until: Until,
    /// AES blocks a second at the peak, as the design has the machine's units.
    pub aes: AesBandwidth,
    /// What was done; times are in femtoseconds from the start of the access.
    pub spans: Vec<Span>,
}

/// The time in which a bank comes to rest, so that nothing of the preparation is left but the row. The read then begins with
/// the next clock of the memory's bus.
const REST: Duration = Duration::from_ns(200);

/// Reads or writes lines of a protected memory in the stated condition, each for itself.
///
/// # Errors
/// The rule that the design's composition breaks; what the machine lacks for it; a prediction without an L2 to make it; a
/// write from an L2; an address outside the memory; a sample of no lines.
pub fn explain(machine: &Machine, design: &Design, scenario: Scenario, lines: Lines) -> Result<Explanation, String> {
    scenario.of.check(design)?;
    if scenario.of != Of::Read && scenario.start == Start::L2 {
        return Err(
            "a write begins at the memory controller, when the last-level cache evicts its line: no L2 waits for it, so \
             begin there, with start = \"controller\""
                .to_owned(),
        );
    }
    if scenario.predicted && scenario.start != Start::L2 {
        return Err(
            "it is an L2 that predicts what the last-level cache has: begin there, with start = \"l2\"".to_owned()
        );
    }
    if scenario.start == Start::L2 || scenario.of == Of::Store || design.parts.permutation.is_some() {
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
    let bench = Bench::new(machine, design, scenario)?;
    let whole = DataLines { count: bench.whole_lines, ..bench.memory };
    let targets = lines.targets(whole)?;
    let mut readings = Vec::with_capacity(targets.len());
    for target in targets {
        readings.push(bench.measure(target, lines.word(machine.line_length()))?);
    }
    let (Reading { target, latency, rest, until, spans }, spread) = lines.median(readings, |reading| reading.latency);
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

/// The access to one line.
struct Reading {
    target: LineAddr,
    latency: Duration,
    /// Until all of the line was released, if some of it was before.
    rest: Option<Duration>,
    until: Until,
    spans: Vec<Span>,
}

/// What lines are read and written on: a machine under a design, and the condition.
struct Bench<'a> {
    machine: &'a Machine,
    design: &'a Design,
    scenario: Scenario,
    memory: DataLines,
    /// Those of its lines, from the first, that all have the neighbours which bring their metadata on the chip.
    whole_lines: u64,
    /// How stores come to the persist buffer, if one is explained.
    stores: Option<Rc<StorePath>>,
}

impl Bench<'_> {
    fn new<'a>(machine: &'a Machine, design: &'a Design, scenario: Scenario) -> Result<Bench<'a>, String> {
        let memory = machine.data_lines();
        let family = 2 * lines_per_group(&design.parts.build(memory, 1)?);
        let whole_lines = memory.count - memory.count % family;
        let content = scenario.value.line();
        let stores = |meets| StorePath::new(machine, design, (meets, content), whole_lines).map(Rc::new);
        let stores = scenario.meets.map(stores).transpose()?;
        Ok(Bench { machine, design, scenario, memory, whole_lines, stores })
    }

    /// Reads or writes one line on a machine that has done nothing else.
    fn measure(&self, target: LineAddr, word: Word) -> Result<Reading, String> {
        let Bench { machine, design, scenario, .. } = *self;
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
        let memory =
            memory::build(&clock, channels.clone(), machine, &design.parts, scheme.layout(), true, witness.clone());
        let result = Rc::new(RefCell::new(None));

        let (outcome, seen) = (result.clone(), memory.clone());
        clock.clone().spawn(async move {
            if scenario.of == Of::Read && scheme.layout().region(Kind::Bitmaps).is_some() {
                // A line is re-ordered when it is written.
                scheme.write(&Timed::new(&seen), target, &scenario.value.line()).await;
                scheme.flush(&Timed::new(&seen)).await;
            }
            let store = stores.map(|stores| stores.arrange(&scheme, &seen, target));
            for line in store.as_ref().map_or(vec![target], Arrival::lines) {
                prepare(&scheme, &seen, line, scenario.on_chip).await;
            }
            clock.sleep_until(at_rest(&config.device, clock.now())).await;
            channels.close_rows();
            for slot in fetched(&scheme, target, !matches!(scenario.of, Of::Write | Of::Store)) {
                let (line, _) = scheme.layout().shape().lines(slot);
                if let Some(opening) = that_opens_a_row(&config, line, scenario.row) {
                    channels.read(opening, Wanted::LINE).await;
                }
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
                (None, Of::Read, Start::Controller) => {
                    scheme.read_at_controller(&explained, target, word).await;
                    (witness.released().map(|end| (end, Until::Released)), Vec::new())
                }
                (None, Of::Read, Start::L2) => {
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
            *outcome.borrow_mut() = ended.map(|ended| (start, ended, rest, spans));
        });
        executor.run_until(|| result.borrow().is_some());

        let Some((start, ended, rest, mut spans)) = result.take() else {
            unreachable!("a read without an attacker is released")
        };
        let durable = spans.iter().find(|span| span.verb == Verb::Complete && scenario.of == Of::Write);
        let (end, until) = durable.map_or(ended, |tuple| (tuple.end, Until::Durable));
        for span in &mut spans {
            (span.start, span.end) = (since(start, span.start), since(start, span.end));
        }
        spans.sort_by_key(|span| (span.start, span.end));
        let rest = rest.map(|rest| rest.since(start));
        Ok(Reading { target, latency: end.since(start), rest, until, spans })
    }
}

fn since(start: Time, time: Time) -> Time {
    Time::ZERO + time.since(start)
}

/// A line whose read, on a memory with closed rows, leaves the row of `target` as it is wanted: found by trying.
fn that_opens_a_row(config: &MemoryConfig, target: LineAddr, wanted: Row) -> Option<LineAddr> {
    let DeviceConfig::Dram(dram) = &config.device else { return None };
    let stride = match wanted {
        Row::Closed => return None,
        Row::Hit => 1,
        Row::Conflict => dram.organisation.lines_per_row,
    };
    let row = config.row(target)?;
    let mut candidates = (1..1 << 12).map(|step| LineAddr(target.0.wrapping_sub(step * stride)));
    candidates.find(|candidate| {
        let its = config.row(*candidate);
        its.is_some_and(|its| if wanted == Row::Hit { its == row } else { its.conflicts_with(&row) })
    })
}
