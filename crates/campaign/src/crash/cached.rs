//! Stores of a workload into durable caches, and the drain by the battery when power fails.
//!
//! The model keeps only the dirty lines of the caches: a store makes its line dirty, and is durable in that instant.
//! The caches hold a fixed number of dirty lines. Beyond this number, the least recently stored line is written back.
//! When power fails the core stops, the controller completes the work in progress, and the battery writes every dirty
//! line to memory, then all metadata. The model does not distinguish several cores: their caches are coherent, so their
//! stores form one order.

use super::bench::{Bench, BenchVerbs, Crowds};
use super::holder::Holder;
use super::workload::Workload;
use protection::execution::Everything;
use protection::scheme::{DurableCaches, Scheme};
use sim::Clock;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use units::random::Random;
use units::{Duration, Line, LineAddr};

/// Time from one store to the next, so that stores meet lines that are leaving.
const BETWEEN_STORES: Duration = Duration::from_ns(40);
/// Interval at which the core checks whether all lines have left.
const A_MOMENT: Duration = Duration::from_ns(1);

/// A core that stores, with its caches.
pub(super) struct CachedCore {
    clock: Clock,
    scheme: Rc<Scheme>,
    verbs: Rc<BenchVerbs>,
    records: Rc<Everything>,
    /// Maximum number of dirty lines.
    room: usize,
    /// Dirty lines, the least recently stored one first.
    dirty: RefCell<Vec<(LineAddr, Line)>>,
    /// Number of lines on their way to memory.
    leaving: Cell<usize>,
    stopped: Cell<bool>,
    /// Operations issued to memory before each store was durable.
    stored: RefCell<Vec<usize>>,
    crowds: Rc<Crowds>,
}

impl CachedCore {
    fn new(bench: &Bench, room: usize) -> Rc<CachedCore> {
        Rc::new(CachedCore {
            clock: bench.executor.clock().clone(),
            scheme: bench.scheme.clone(),
            verbs: bench.verbs.clone(),
            records: bench.records.clone(),
            room,
            dirty: RefCell::default(),
            leaving: Cell::new(0),
            stopped: Cell::new(false),
            stored: RefCell::default(),
            crowds: Rc::default(),
        })
    }

    /// Issues the core's stores until power fails. With `at_once` unset, each store waits until the evicted line has left.
    async fn feed(self: Rc<Self>, stores: Vec<(LineAddr, Line)>, at_once: bool) {
        for (line, content) in stores {
            if self.stopped.get() {
                return;
            }
            self.store(line, content);
            self.clock.sleep(BETWEEN_STORES).await;
            while !at_once && self.leaving.get() > 0 {
                self.clock.sleep(A_MOMENT).await;
            }
        }
    }

    fn store(self: &Rc<Self>, line: LineAddr, content: Line) {
        let mut dirty = self.dirty.borrow_mut();
        dirty.retain(|(other, _)| *other != line);
        dirty.push((line, content));
        self.stored.borrow_mut().push(self.records.operations());
        if dirty.len() > self.room {
            let (line, content) = dirty.remove(0);
            self.write_back(line, content);
        }
    }

    fn write_back(self: &Rc<Self>, line: LineAddr, content: Line) {
        self.leaving.set(self.leaving.get() + 1);
        let this = self.clone();
        self.clock.spawn(async move {
            this.scheme.write(&*this.verbs, line, &content).await;
            this.leaving.set(this.leaving.get() - 1);
        });
    }
}

impl Holder for CachedCore {
    fn went_on(&self) -> usize {
        self.stored.borrow().len()
    }

    fn taken(&self) -> Vec<usize> {
        (0..self.went_on()).collect()
    }

    /// A store is durable at once.
    fn span(&self, number: usize) -> (usize, usize) {
        let done = self.stored.borrow()[number];
        (done, done)
    }

    fn is_idle_after(&self, stores: usize) -> bool {
        self.went_on() == stores && self.leaving.get() == 0
    }

    fn resident(&self) -> Vec<LineAddr> {
        self.dirty.borrow().iter().map(|(line, _)| *line).collect()
    }

    fn stop(&self, bench: &mut Bench) {
        self.stopped.set(true);
        self.crowds.lose_power();
        bench.run_until(|| self.leaving.get() == 0 && self.crowds.are_over());
    }

    /// The battery completes the writes of lines and metadata in progress, then writes the dirty lines to memory.
    fn die(&self, bench: &mut Bench) {
        self.stop(bench);
        let (scheme, verbs, dirty) = (self.scheme.clone(), self.verbs.clone(), self.dirty.borrow().clone());
        bench.run(async move { DurableCaches::of(&scheme).drain_on_battery(&*verbs, dirty).await });
    }
}

/// Starts the stores of a workload. In turn, one line may be dirty, and has left before the second store after it. At once, all lines
/// but one may be dirty, so that one leaves while other lines stay.
pub(super) fn begin(
    bench: &Bench,
    workload: &Workload,
    contents: &[(LineAddr, Line)],
    crowding: Option<&mut Random>,
) -> Rc<CachedCore> {
    let lines = contents.iter().map(|(line, _)| line).collect::<BTreeSet<_>>().len();
    let caches = CachedCore::new(bench, if workload.at_once && lines > 1 { lines - 1 } else { 1 });
    bench.executor.clock().spawn(caches.clone().feed(contents.to_vec(), workload.at_once));
    if let Some(random) = crowding {
        bench.crowd(&caches.crowds, random);
    }
    caches
}

/// Starts the stores of one core's program, into caches with at most `room` dirty lines.
pub(super) fn feed_into(bench: &Bench, room: usize, contents: Vec<(LineAddr, Line)>) -> Rc<CachedCore> {
    let caches = CachedCore::new(bench, room);
    bench.executor.clock().spawn(caches.clone().feed(contents, true));
    caches
}
