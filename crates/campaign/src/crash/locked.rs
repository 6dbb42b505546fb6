//! Two cores append to one log under a lock, and power fails. The order of all stores is known, also between the cores.
//!
//! ```text
//! take the lock ─ store the record's lines ─ store the word that commits it ─ let the lock go ─┐ another core sees that
//!                                                             take the lock ─ store ... ◄──────┘
//! ```
//! Taking and releasing the lock are stores to its line. A core finds the lock free when the other core's cache holds
//! the releasing store, whether or not the persist buffer has accepted it. So the last store of one core and the first
//! store of the other core may both wait for a persist buffer. Only the order of stores to the lock's line separates
//! them. The durable stores must be a prefix of all stores. If a core has read a store of the other core, its later
//! stores must not survive a loss of power without that store.

use super::bench::Bench;
use super::buffered::{Feeding, NumberedStore};
use super::holder::Holder;
use super::workload::{BYSTANDER, CORES, DATA_LINES, LINES};
use crate::victim::memory_of;
use machine::persist::PersistBufferConfig;
use protection::design::{Parts, Seeds};
use protection::execution::{Functional, Untimed, run_now};
use protection::planted::PlantedBug;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use units::random::Random;
use units::{Line, LineAddr};

/// Maximum number of lines of a record.
const RECORD_MAX: u64 = 4;
const LOCK: LineAddr = BYSTANDER;
/// This line is in the lock's page, so that both drain through one counter line.
const COMMIT: LineAddr = LineAddr(41);
/// Lines of the log in addition to the three of every workload.
const LOG: std::ops::Range<u64> = 64..80;

/// A log of a few records, with the machine that keeps it.
pub struct LockedLog {
    parts: Parts,
    seed: u64,
    planted: PlantedBug,
    stores: Vec<NumberedStore>,
    buffer: PersistBufferConfig,
}

/// State of a log after a loss of power.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// Number of accepted stores of both cores.
    pub accepted: usize,
    /// True if the accepted stores are a prefix of all stores.
    pub in_order: bool,
    /// True if a fresh chip recovers exactly the content that these stores have given every line.
    pub recovered: bool,
}

impl LockedLog {
    /// Creates a log of this many records, by cores that are drawn, through buffers of two to eight entries.
    pub fn new(parts: &Parts, records: usize, seed: u64, planted: PlantedBug) -> LockedLog {
        let mut random = Random::new(seed);
        let mut stores = Vec::new();
        let lines: Vec<LineAddr> = LINES.into_iter().chain(LOG.map(LineAddr)).collect();
        for _ in 0..records {
            let core = random.below(CORES as u64) as usize;
            let record: Vec<LineAddr> = (0..=random.below(RECORD_MAX)).filter_map(|_| random.pick(&lines)).collect();
            for line in [LOCK].into_iter().chain(record).chain([COMMIT, LOCK]) {
                stores.push(NumberedStore { number: stores.len(), core, line, content: random.line() });
            }
        }
        let entries = 2 << random.below(3);
        let buffer = PersistBufferConfig { entries, drain_from: entries.div_ceil(2), drain_to: 0 };
        LockedLog { parts: parts.clone(), seed, planted, stores, buffer }
    }

    /// Number of events until all stores are accepted and have drained.
    ///
    /// # Panics
    /// If the log never completes.
    pub fn events(&self) -> u64 {
        self.run(u64::MAX).1
    }

    /// Cuts the power after this many events.
    ///
    /// # Panics
    /// If a store is accepted twice, or never completes.
    pub fn cut(&self, events: u64) -> Cut {
        let (mut bench, _, feeding) = self.run(events);
        feeding.die(&mut bench);
        let taken = feeding.taken();
        let in_order = taken.iter().copied().eq(0..taken.len());
        let mut expected: BTreeMap<LineAddr, Line> = BTreeMap::new();
        for store in taken.iter().map(|number| self.stores[*number]) {
            expected.insert(store.line, store.content);
        }
        Cut { accepted: taken.len(), in_order, recovered: self.recovers(&bench, &expected) }
    }

    fn run(&self, events: u64) -> (Bench, u64, Rc<Feeding>) {
        let mut bench = Bench::new(&self.parts, self.seed, self.planted);
        let feeding = Feeding::of_locked(&bench, self.buffer, &self.stores);
        let happened = Cell::new(0);
        let all = self.stores.len();
        bench.run_until(|| {
            let over = happened.get() == events || feeding.is_idle_after(all);
            happened.set(happened.get() + u64::from(!over));
            over
        });
        (bench, happened.get(), feeding)
    }

    fn recovers(&self, bench: &Bench, expected: &BTreeMap<LineAddr, Line>) -> bool {
        let scheme = self
            .parts
            .build_with(memory_of(&self.parts, DATA_LINES), Seeds::started_again(self.seed, 1), self.planted)
            .unwrap_or_else(|rule| panic!("these parts were never checked: {rule}"));
        let memory = Functional::new(scheme.layout().total_lines());
        let registers = bench.memory.registers();
        memory.media.replace(bench.memory.media().borrow().clone());
        memory.go_on_with(registers.clone());
        run_now(scheme.recover(&memory.verbs(), &registers));
        let is_back = |(line, content): (&LineAddr, &Line)| {
            run_now(scheme.read(&memory.verbs(), *line));
            memory.take_fault().is_none() && memory.take_released().is_some_and(|(_, found)| found.bytes == *content)
        };
        memory.take_fault().is_none() && expected.iter().all(is_back)
    }
}
