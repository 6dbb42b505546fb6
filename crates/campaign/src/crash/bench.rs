//! The machine that runs workloads: phase-change memory behind a write-pending queue, as in the SecPB paper.

use super::states::DeadMemory;
use super::workload::{BYSTANDER, DATA_LINES, LINES, Workload};
use crate::victim::memory_of;
use machine::channel::Channel;
use machine::pcm::PcmConfig;
use protection::counter::{Age, WRITES_LEFT};
use protection::design::{Parts, Seeds};
use protection::execution::{
    CounterTags, Engine, Engines, Everything, Explained, Functional, Receiver, Timed, TimedMemory, Untimed, run_now,
};
use protection::ledger::Ledger;
use protection::planted::PlantedBug;
use protection::scheme::Scheme;
use protection::verbs::{Fault, Plaintext};
use sim::Executor;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use units::random::Random;
use units::{Duration, Line, LineAddr, ZERO_LINE};

/// Number of flushes of the metadata caches behind a write.
const CROWDS: usize = 4;
/// Longest pause between two flushes: a tuple issues its first changes to memory within this time.
const PAUSE_MAX_NS: u64 = 200;

/// One write of a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkloadWrite {
    /// Line that the write changes.
    pub line: LineAddr,
    /// Content of the line afterwards.
    pub content: Line,
    /// Number of changes issued to memory before the write began.
    pub issued: usize,
    /// Number of changes issued to memory before the write returned.
    pub returned: usize,
}

/// Receiver of released lines and faults, behind a pointer: the scheme is compiled once for this receiver and for those of all
/// tests.
pub(super) type OtherSide = Rc<dyn Receiver>;

/// Interface through which schemes run on the bench.
pub(super) type BenchVerbs = Explained<Timed>;

/// Receiver for machines that only write. A fault is an error, except on a machine under attack.
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

/// Other programs that evict lines from the metadata caches.
#[derive(Default)]
pub(super) struct Crowds {
    begun: Cell<usize>,
    ended: Cell<usize>,
    power_failed: Cell<bool>,
}

impl Crowds {
    /// Returns true if all flushes that began have ended.
    pub fn are_over(&self) -> bool {
        self.ended.get() == self.begun.get()
    }

    /// Cuts the power: lines that are leaving the caches still leave, and no more follow.
    pub fn lose_power(&self) {
        self.power_failed.set(true);
    }
}

/// Manipulation of memory at an event while the machine runs.
pub(super) type Meddling = Box<dyn FnMut(&TimedMemory)>;

/// Constructor of a machine from its parts, the seed of its keys, and a deliberate weakness if any.
pub(super) type Power = fn(&Parts, u64, PlantedBug) -> Bench;

/// A timed machine with one kind of request.
pub(super) struct Bench {
    pub executor: Executor,
    pub scheme: Rc<Scheme>,
    pub memory: Rc<TimedMemory>,
    pub verbs: Rc<BenchVerbs>,
    /// The operations of `verbs`.
    pub records: Rc<Everything>,
    /// Manipulation that is called before each event.
    pub meddling: Option<Meddling>,
}

impl Bench {
    /// Creates a bench with memory that may be tampered with: its faults are no errors.
    pub fn under_attack(parts: &Parts, seed: u64, planted: PlantedBug) -> Bench {
        Bench::facing(Rc::new(Unread { attacked: true }), parts, DATA_LINES, false, seed, planted)
    }

    pub fn new(parts: &Parts, seed: u64, planted: PlantedBug) -> Bench {
        Bench::facing(Rc::new(Unread { attacked: false }), parts, DATA_LINES, false, seed, planted)
    }

    /// Creates a bench with this many lines of data and this receiver, with or without a ledger of keystream.
    pub fn facing(
        other: OtherSide,
        parts: &Parts,
        lines: u64,
        ledger: bool,
        seeds: impl Into<Seeds>,
        planted: PlantedBug,
    ) -> Bench {
        let scheme = parts
            .build_with(memory_of(parts, lines), seeds, planted)
            .unwrap_or_else(|rule| panic!("these parts were never checked: {rule}"));
        let executor = Executor::new();
        let channel = Channel::start(executor.clock(), PcmConfig::secpb());
        let shape = scheme.layout().shape();
        let memory = Rc::new(TimedMemory::new(executor.clock(), channel, shape, &engines(), ledger, other));
        let (verbs, records) = Explained::recording(Timed::new(&memory));
        let (scheme, verbs) = (Rc::new(scheme), Rc::new(verbs));
        Bench { executor, scheme, memory, verbs, records, meddling: None }
    }

    /// Gives every line a content, and the first group the age that the workload needs.
    pub fn prepare(&mut self, workload: &Workload, random: &mut Random) -> BTreeMap<LineAddr, Line> {
        let mut contents: Vec<(LineAddr, Line)> = Vec::new();
        if workload.old {
            let (scheme, verbs) = (self.scheme.clone(), self.verbs.clone());
            self.run(async move { scheme.age(&*verbs, LINES[0], Age::BeforeRenewal).await });
            // The last of these writes uses the last version before the overflow.
            contents.extend((1..WRITES_LEFT).map(|_| (LINES[0], random.line())));
        }
        contents.extend(LINES.into_iter().chain([BYSTANDER]).map(|line| (line, random.line())));
        self.write(&contents, false, None);
        contents.into_iter().collect()
    }

    /// Recovers on this fresh chip from the state that a loss of power left. Returns the keystream that memory has shown by
    /// then.
    pub fn recover(&self, left: &DeadMemory) -> Ledger {
        let slots = self.scheme.layout().total_lines();
        let memory = Functional::new(slots);
        memory.media.replace(left.image.media(slots));
        memory.go_on_with(left.registers.clone());
        memory.carry(left.shown.as_ref().clone());
        run_now(self.scheme.recover(&memory.verbs(), &left.registers));
        self.memory.media().swap(&memory.media);
        self.memory.go_on_with(memory.registers());
        memory.ledger().clone()
    }

    /// Carries out writes. If crowded, the metadata caches are flushed as soon as each write has begun (or only the last, if
    /// all run at once), and again after random pauses.
    pub fn write(
        &mut self,
        contents: &[(LineAddr, Line)],
        at_once: bool,
        mut crowded: Option<&mut Random>,
    ) -> Vec<WorkloadWrite> {
        let (ended, crowds) = (Rc::new(Cell::new(0)), Rc::default());
        let mut writes = Vec::new();
        for (number, (line, content)) in contents.iter().copied().enumerate() {
            let returned = Rc::new(Cell::new(0));
            let (scheme, verbs, records) = (self.scheme.clone(), self.verbs.clone(), self.records.clone());
            let (note, count) = (returned.clone(), ended.clone());
            let issued = records.operations();
            self.executor.clock().spawn(async move {
                scheme.write(&*verbs, line, &content).await;
                note.set(records.operations());
                count.set(count.get() + 1);
            });
            writes.push((WorkloadWrite { line, content, issued, returned: 0 }, returned));
            let is_last = number + 1 == contents.len();
            if let Some(random) = crowded.as_mut().filter(|_| !at_once || is_last) {
                self.crowd(&crowds, random);
            }
            if !at_once {
                self.run_until(|| ended.get() == number + 1);
            }
        }
        self.run_until(|| ended.get() == contents.len() && crowds.are_over());
        writes.into_iter().map(|(write, returned)| WorkloadWrite { returned: returned.get(), ..write }).collect()
    }

    /// Starts a series of flushes that evict all metadata from the chip.
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
        let note = ended.clone();
        self.executor.clock().spawn(async move {
            text.await;
            note.set(true);
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

/// Latencies of the SecPB paper (Table I): 40 cycles at 4 GHz for a tag or a hash, and the same for AES.
fn engines() -> Engines {
    let engine = |latency_ns| Engine { units: 1, latency_ns, interval_ns: 1.0 };
    Engines {
        aes: engine(10.0).into(),
        // The paper gives no latency for triple DES; the memory that a loss leaves depends on the order only.
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
