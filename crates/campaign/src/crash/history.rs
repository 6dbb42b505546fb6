//! A workload carried out, with everything that it asked of memory, in order.
//!
//! It runs on the timed machine, so that writes overlap as they do there: phase-change memory behind a write-pending queue,
//! as the SecPB paper has it. In every second history metadata caches are tiny and another program needs them again and
//! again, so that lines of counters, of tags and nodes leave the chip while tuples are under way, at times that the seed draws:
//! stores that belong to no tuple and that nothing waits for.

use super::shown::Changes;
use super::shown::changes_memory;
use super::states::{DeadMemory, Start};
use super::workload::{BYSTANDER, DATA_LINES, LINES, Workload};
use crate::bus::Recording;
use crate::victim::with_tiny_caches;
use catalogue::Design;
use machine::channel::Channel;
use machine::pcm::PcmConfig;
use protection::counter::{Age, WRITES_LEFT};
use protection::design::Parts;
use protection::domain::{Queue, Registers};
use protection::execution::{CounterTags, Engine, Engines, Explained, Operation, Receiver, Timed, TimedMemory};
use protection::layout::Layout;
use protection::ledger::Ledger;
use protection::planted::Planted;
use protection::scheme::Scheme;
use protection::verbs::{Fault, Plaintext};
use sim::Executor;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use units::random::Random;
use units::{Duration, Line, LineAddr, ZERO_LINE};

/// How many times the metadata caches are emptied behind a write.
const CROWDS: usize = 4;
/// The longest that passes before they are emptied again: the first changes of a tuple are asked of memory by then.
const PAUSE_MAX_NS: u64 = 200;

/// One write of a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Write {
    /// Where.
    pub line: LineAddr,
    /// What.
    pub content: Line,
    /// How many changes had been asked of memory when it began.
    pub issued: usize,
    /// How many had when it returned.
    pub returned: usize,
}

/// What a workload did.
pub struct History {
    /// The design's parts, with the caches that were used.
    pub parts: Parts,
    /// Where things lie.
    pub layout: Layout,
    /// Of keys and contents.
    pub seed: u64,
    /// A deliberate weakness, or none.
    pub planted: Planted,
    /// What the lines held before.
    pub before: BTreeMap<LineAddr, Line>,
    /// The memory before.
    pub memory: Recording,
    /// The registers before.
    pub registers: Registers,
    /// The keystream that the memory had shown before.
    pub shown: Rc<Ledger>,
    /// What was asked of memory and changes it, in order.
    pub changes: Changes,
    /// The writes, in order.
    pub writes: Vec<Write>,
}

/// What is on the other side, behind a pointer: so the text is compiled once for this and for all tests.
type OtherSide = Rc<dyn Receiver>;

/// Only writes: nothing is released, and nothing alarms.
struct Unread;

impl Receiver for Unread {
    fn released(&self, _: LineAddr, _: &Plaintext) {}

    fn fault(&self, fault: Fault) {
        panic!("without tampering: {fault}");
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        ZERO_LINE
    }
}

/// A timed machine with one kind of request.
struct Bench {
    executor: Executor,
    scheme: Rc<Scheme>,
    memory: Rc<TimedMemory<OtherSide>>,
    verbs: Rc<Explained<Timed<OtherSide>>>,
}

impl History {
    /// Carries a workload out.
    ///
    /// # Panics
    /// If the design's parts make no sense together; if a write alarms or never returns.
    pub fn of(design: &Design, workload: &Workload, seed: u64, planted: Planted) -> History {
        let tiny = workload.writes.len() % 2 == 1;
        let parts = if tiny { with_tiny_caches(&design.parts) } else { design.parts.clone() };
        let mut bench = Bench::new(&parts, seed, planted);
        let mut random = Random::new(seed);
        let before = bench.prepare(workload, &mut random);
        let memory = Recording::of(&bench.memory.media().borrow());
        let registers = bench.memory.registers();
        let shown = everything_shown(bench.verbs.take_operations());
        let contents: Vec<(LineAddr, Line)> = workload.writes.iter().map(|line| (*line, random.line())).collect();
        let mut writes = bench.write(&contents, workload.at_once, tiny.then_some(&mut random));
        let asked = bench.verbs.take_operations();
        let changes = |so_far: usize| asked[..so_far].iter().filter(|asked| changes_memory(asked)).count();
        for write in &mut writes {
            (write.issued, write.returned) = (changes(write.issued), changes(write.returned));
        }
        let (layout, changes) = (bench.scheme.layout().clone(), Changes::among(asked));
        History { parts, layout, seed, planted, before, memory, registers, shown, changes, writes }
    }

    /// The memory before.
    pub fn start(&self) -> Start {
        let (image, registers, shown) = (self.memory.clone(), self.registers.clone(), self.shown.clone());
        Start { image, registers, shown, slots: self.layout.total_lines() }
    }

    /// What a dead memory goes on from.
    pub fn start_from(&self, dead: &DeadMemory) -> Start {
        let (image, registers, shown) = (dead.image.clone(), dead.registers.clone(), dead.shown.clone());
        Start { image, registers, shown, slots: self.layout.total_lines() }
    }

    /// Points at which power can fail: before the first change that is asked of memory, and after each.
    pub fn points(&self) -> usize {
        self.changes.operations.len() + 1
    }

    /// How many writes had returned, and how many had begun, when so many changes had been asked of memory.
    pub fn progress(&self, point: usize) -> (usize, usize) {
        let returned = self.writes.iter().rposition(|write| write.returned <= point).map_or(0, |last| last + 1);
        let begun = self.writes.iter().filter(|write| write.issued <= point).count();
        (returned, begun.max(returned))
    }

    /// What the lines hold after so many whole writes.
    pub fn content_after(&self, writes: usize) -> BTreeMap<LineAddr, Line> {
        let mut content = self.before.clone();
        content.extend(self.writes[..writes].iter().map(|write| (write.line, write.content)));
        content
    }
}

impl Bench {
    fn new(parts: &Parts, seed: u64, planted: Planted) -> Bench {
        let scheme = parts
            .build_with(DATA_LINES, seed, planted)
            .unwrap_or_else(|rule| panic!("these parts were never checked: {rule}"));
        let executor = Executor::new();
        let channel = Channel::start(executor.clock(), PcmConfig::secpb());
        let slots = scheme.layout().total_lines();
        let other: OtherSide = Rc::new(Unread);
        let memory = Rc::new(TimedMemory::new(executor.clock(), channel, slots, &engines(), false, other));
        let verbs = Rc::new(Explained::new(Timed::new(&memory)));
        Bench { executor, scheme: Rc::new(scheme), memory, verbs }
    }

    /// Gives every line a content, and the first group the age that the workload wants.
    fn prepare(&mut self, workload: &Workload, random: &mut Random) -> BTreeMap<LineAddr, Line> {
        let mut contents: Vec<(LineAddr, Line)> = Vec::new();
        if workload.old {
            let (scheme, verbs) = (self.scheme.clone(), self.verbs.clone());
            self.run(async move { scheme.age(&*verbs, LINES[0], Age::BeforeRenewal).await });
            // The last of these takes the last version that is left before the overflow.
            contents.extend((1..WRITES_LEFT).map(|_| (LINES[0], random.line())));
        }
        contents.extend(LINES.into_iter().chain([BYSTANDER]).map(|line| (line, random.line())));
        self.write(&contents, false, None);
        contents.into_iter().collect()
    }

    /// Carries writes out. If crowded, all metadata has to leave the chip as soon as each of them has begun, or the last
    /// if they come at once, and again after pauses that are drawn.
    fn write(&mut self, contents: &[(LineAddr, Line)], at_once: bool, mut crowded: Option<&mut Random>) -> Vec<Write> {
        let (ended, left) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let mut writes = Vec::new();
        for (number, (line, content)) in contents.iter().copied().enumerate() {
            let returned = Rc::new(Cell::new(0));
            let (scheme, verbs) = (self.scheme.clone(), self.verbs.clone());
            let (told, count) = (returned.clone(), ended.clone());
            let issued = verbs.operations();
            self.executor.clock().spawn(async move {
                scheme.write(&*verbs, line, &content).await;
                told.set(verbs.operations());
                count.set(count.get() + 1);
            });
            writes.push((Write { line, content, issued, returned: 0 }, returned));
            let is_last = number + 1 == contents.len();
            if let Some(random) = crowded.as_mut().filter(|_| !at_once || is_last) {
                self.crowd(&left, random);
            }
            if !at_once {
                self.run_until(|| ended.get() == number + 1);
            }
        }
        let crowds = match (crowded, at_once) {
            (None, _) => 0,
            (Some(_), true) => 1,
            (Some(_), false) => contents.len(),
        };
        self.run_until(|| ended.get() == contents.len() && left.get() == crowds);
        writes.into_iter().map(|(write, returned)| Write { returned: returned.get(), ..write }).collect()
    }

    /// Begins to let all metadata leave the chip several times, and counts when it has.
    fn crowd(&self, left: &Rc<Cell<usize>>, random: &mut Random) {
        let (scheme, verbs, left) = (self.scheme.clone(), self.verbs.clone(), left.clone());
        let clock = self.executor.clock().clone();
        let pauses: [Duration; CROWDS - 1] = std::array::from_fn(|_| Duration::from_ns(random.below(PAUSE_MAX_NS)));
        self.executor.clock().spawn(async move {
            scheme.flush(&*verbs).await;
            for pause in pauses {
                clock.sleep(pause).await;
                scheme.flush(&*verbs).await;
            }
            left.set(left.get() + 1);
        });
    }

    fn run(&mut self, text: impl Future<Output = ()> + 'static) {
        let ended = Rc::new(Cell::new(false));
        let told = ended.clone();
        self.executor.clock().spawn(async move {
            text.await;
            told.set(true);
        });
        self.run_until(|| ended.get());
    }

    fn run_until(&mut self, done: impl Fn() -> bool) {
        let clock = self.executor.clock().clone();
        let end = clock.now() + Duration::from_ns(100_000_000);
        let in_time = self.executor.run_until(|| done() || clock.now() > end) && done();
        assert!(in_time, "a write never returns");
    }
}

/// The keystream that a memory has shown once everything asked of it is done.
fn everything_shown(asked: Vec<Operation>) -> Rc<Ledger> {
    Changes::among(asked).shown(&Rc::default(), Queue::Inside).pop().unwrap_or_default()
}

/// Units of the SecPB paper's latencies (Table I): 40 cycles at 4 GHz for a tag or a hash, and for AES as for these.
fn engines() -> Engines {
    let engine = |latency_ns| Engine { units: 1, latency_ns, interval_ns: 1.0 };
    Engines {
        aes: engine(10.0).into(),
        // Of which the paper says nothing; what a loss leaves follows from the order.
        tdes: Some(engine(10.0).into()),
        mac: engine(10.0),
        hash: engine(10.0),
        metadata_cache: engine(0.5),
        counter_tags: CounterTags::Hash,
        counter_decode_ns: None,
        candidates_ns: None,
    }
}
