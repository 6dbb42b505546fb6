//! The machine on which workloads are carried out: phase-change memory behind a write-pending queue, as the SecPB paper has it.

use super::states::DeadMemory;
use super::workload::{BYSTANDER, DATA_LINES, LINES, Workload};
use crate::victim::memory_of;
use machine::channel::Channel;
use machine::pcm::PcmConfig;
use protection::counter::{Age, WRITES_LEFT};
use protection::design::Parts;
use protection::execution::{
    CounterTags, Engine, Engines, Explained, Functional, Receiver, Timed, TimedMemory, run_now,
};
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

/// What is on the other side, behind a pointer: so the text is compiled once for this and for all tests.
pub(super) type OtherSide = Rc<dyn Receiver>;

/// How the text runs on it.
pub(super) type BenchVerbs = Explained<Timed>;

/// Only writes: nothing is released, and nothing alarms but on a machine that is attacked.
struct Unread {
    attacked: bool,
}

impl Receiver for Unread {
    fn released(&self, _: LineAddr, _: &Plaintext) {}

    fn fault(&self, fault: Fault) {
        assert!(self.attacked, "without tampering: {fault}");
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        ZERO_LINE
    }
}

/// Other programs that need the metadata caches.
#[derive(Default)]
pub(super) struct Crowds {
    begun: Cell<usize>,
    ended: Cell<usize>,
    power_failed: Cell<bool>,
}

impl Crowds {
    /// Whether all that began have had them.
    pub fn are_over(&self) -> bool {
        self.ended.get() == self.begun.get()
    }

    /// Power fails: what is leaving the caches still leaves, and nothing more.
    pub fn lose_power(&self) {
        self.power_failed.set(true);
    }
}

/// What happens to memory at an event while something runs.
pub(super) type Meddling = Box<dyn FnMut(&TimedMemory)>;

/// What switches a machine on, of these parts, with this seed of keys, and with a deliberate weakness or none.
pub(super) type Power = fn(&Parts, u64, Planted) -> Bench;

/// A timed machine with one kind of request.
pub(super) struct Bench {
    pub executor: Executor,
    pub scheme: Rc<Scheme>,
    pub memory: Rc<TimedMemory>,
    pub verbs: Rc<BenchVerbs>,
    /// Called before each event.
    pub meddling: Option<Meddling>,
}

impl Bench {
    /// One whose memory may be tampered with: what is reported then is no error.
    pub fn under_attack(parts: &Parts, seed: u64, planted: Planted) -> Bench {
        Bench::facing(Rc::new(Unread { attacked: true }), parts, (DATA_LINES, false), seed, planted)
    }

    pub fn new(parts: &Parts, seed: u64, planted: Planted) -> Bench {
        Bench::facing(Rc::new(Unread { attacked: false }), parts, (DATA_LINES, false), seed, planted)
    }

    /// With so many lines of data, this on the other side, and a ledger of keystream or none.
    pub fn facing(other: OtherSide, parts: &Parts, (lines, ledger): (u64, bool), seed: u64, planted: Planted) -> Bench {
        let scheme = parts
            .build_with(memory_of(parts, lines), seed, planted)
            .unwrap_or_else(|rule| panic!("these parts were never checked: {rule}"));
        let executor = Executor::new();
        let channel = Channel::start(executor.clock(), PcmConfig::secpb());
        let shape = scheme.layout().shape();
        let memory = Rc::new(TimedMemory::new(executor.clock(), channel, shape, &engines(), ledger, other));
        let verbs = Rc::new(Explained::new(Timed::new(&memory)));
        Bench { executor, scheme: Rc::new(scheme), memory, verbs, meddling: None }
    }

    /// Gives every line a content, and the first group the age that the workload wants.
    pub fn prepare(&mut self, workload: &Workload, random: &mut Random) -> BTreeMap<LineAddr, Line> {
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

    /// A fresh chip goes on with what a loss of power has left; the keystream that memory has shown when it has recovered.
    pub fn recover(&self, left: &DeadMemory) -> Ledger {
        let slots = self.scheme.layout().total_lines();
        let memory = Functional::new(slots);
        memory.media.replace(left.image.media(slots));
        memory.go_on_with(left.registers.clone());
        memory.carry(left.shown.as_ref().clone());
        run_now(self.scheme.recover(&memory, &left.registers));
        self.memory.media().swap(&memory.media);
        self.memory.go_on_with(memory.registers());
        memory.ledger().clone()
    }

    /// Carries writes out. If crowded, all metadata has to leave the chip as soon as each of them has begun, or the last
    /// if they come at once, and again after pauses that are drawn.
    pub fn write(
        &mut self,
        contents: &[(LineAddr, Line)],
        at_once: bool,
        mut crowded: Option<&mut Random>,
    ) -> Vec<Write> {
        let (ended, crowds) = (Rc::new(Cell::new(0)), Rc::default());
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
                self.crowd(&crowds, random);
            }
            if !at_once {
                self.run_until(|| ended.get() == number + 1);
            }
        }
        self.run_until(|| ended.get() == contents.len() && crowds.are_over());
        writes.into_iter().map(|(write, returned)| Write { returned: returned.get(), ..write }).collect()
    }

    /// Begins to let all metadata leave the chip several times.
    pub fn crowd(&self, crowds: &Rc<Crowds>, random: &mut Random) {
        let (scheme, verbs, crowds) = (self.scheme.clone(), self.verbs.clone(), crowds.clone());
        let clock = self.executor.clock().clone();
        let pauses: [Duration; CROWDS - 1] = std::array::from_fn(|_| Duration::from_ns(random.below(PAUSE_MAX_NS)));
        crowds.begun.set(crowds.begun.get() + 1);
        self.executor.clock().spawn(async move {
            scheme.flush(&*verbs).await;
            for pause in pauses {
                clock.sleep(pause).await;
                if crowds.power_failed.get() {
                    break;
                }
                scheme.flush(&*verbs).await;
            }
            crowds.ended.set(crowds.ended.get() + 1);
        });
    }

    pub fn run(&mut self, text: impl Future<Output = ()> + 'static) {
        let ended = Rc::new(Cell::new(false));
        let told = ended.clone();
        self.executor.clock().spawn(async move {
            text.await;
            told.set(true);
        });
        self.run_until(|| ended.get());
    }

    pub fn run_until(&mut self, done: impl Fn() -> bool) {
        let clock = self.executor.clock().clone();
        let end = clock.now() + Duration::from_ns(100_000_000);
        let (mut meddling, memory) = (self.meddling.take(), self.memory.clone());
        let in_time = self.executor.run_until(|| {
            meddling.iter_mut().for_each(|meddle| meddle(&memory));
            done() || clock.now() > end
        }) && done();
        self.meddling = meddling;
        assert!(in_time, "a write never returns");
    }
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
        xor_ns: None,
    }
}
