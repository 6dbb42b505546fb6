//! Stores of a workload into caches that are durable, and what their battery makes of the chip when power fails.
//!
//! Of the caches only the lines matter that memory does not have: a store makes its line dirty, and is durable in that
//! instant. As many of them stay as there is room for; then the one that was stored to longest ago makes room, and is written as any.
//! When power fails the core stops, the controller ends what it has begun, and the battery takes every dirty line to memory,
//! then all metadata. Several cores are not told apart: their caches are coherent, so their stores are one order.

use super::bench::{Bench, BenchVerbs, Crowds};
use super::holder::Holder;
use super::workload::Workload;
use protection::scheme::{DurableCaches, Scheme};
use sim::Clock;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use units::random::Random;
use units::{Duration, Line, LineAddr};

/// From one store to the next, so that stores meet lines that are leaving.
const BETWEEN_STORES: Duration = Duration::from_ns(40);
/// The core looks again after so long whether all lines have left.
const A_MOMENT: Duration = Duration::from_ns(1);

/// A core that stores, and its caches.
pub(super) struct CachedCore {
    clock: Clock,
    scheme: Rc<Scheme>,
    verbs: Rc<BenchVerbs>,
    /// Lines that may be dirty.
    room: usize,
    /// Those that are; first the one that was stored to longest ago.
    dirty: RefCell<Vec<(LineAddr, Line)>>,
    /// Lines on their way to memory.
    leaving: Cell<usize>,
    stopped: Cell<bool>,
    /// How much had been done when each store was there.
    stored: RefCell<Vec<usize>>,
    crowds: Rc<Crowds>,
}

impl CachedCore {
    fn new(bench: &Bench, room: usize) -> Rc<CachedCore> {
        Rc::new(CachedCore {
            clock: bench.executor.clock().clone(),
            scheme: bench.scheme.clone(),
            verbs: bench.verbs.clone(),
            room,
            dirty: RefCell::default(),
            leaving: Cell::new(0),
            stopped: Cell::new(false),
            stored: RefCell::default(),
            crowds: Rc::default(),
        })
    }

    /// The core's stores, until power fails. Stores in turn wait until the line that made room has left.
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
        self.stored.borrow_mut().push(self.verbs.operations());
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

    /// A store is there at once.
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

    /// The battery ends what is begun, of lines and of metadata on their way out, and takes what is there to memory.
    fn die(&self, bench: &mut Bench) {
        self.stop(bench);
        let (scheme, verbs, dirty) = (self.scheme.clone(), self.verbs.clone(), self.dirty.borrow().clone());
        bench.run(async move { DurableCaches::of(&scheme).drain_on_battery(&*verbs, dirty).await });
    }
}

/// Begins to carry stores out. In turn, one line may be dirty, and has left when the second store after it comes; at once, all but
/// one may be, so that one leaves while others stay.
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

/// Begins to carry the stores of one core's program out, into caches of which so many lines may be dirty.
pub(super) fn feed_into(bench: &Bench, room: usize, contents: Vec<(LineAddr, Line)>) -> Rc<CachedCore> {
    let caches = CachedCore::new(bench, room);
    bench.executor.clock().spawn(caches.clone().feed(contents, true));
    caches
}
