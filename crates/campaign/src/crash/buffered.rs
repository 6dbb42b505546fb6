//! Stores of a workload through persist buffers, and the drain by the battery when power fails.
//!
//! A core issues stores in order, its buffer accepts one after the other, and its watermarks control the drains. If two cores store, at
//! most one buffer has an entry for a line. When power fails the cores stop. The battery lets the controller complete the work in progress,
//! including a store that is entering (SecPB, HPCA 2023, section V-B), then drains every entry. Memory loses no line that was sent, because
//! the queue is inside the persistence domain.

use super::bench::{Bench, BenchVerbs};
use super::holder::Holder;
use super::workload::{CORES, Workload};
use machine::persist::{Finds, PersistBufferConfig};
use protection::execution::Everything;
use protection::planted::Bug;
use protection::scheme::{PersistBufferHandle, Scheme};
use sim::Clock;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use units::random::Random;
use units::{Duration, Line, LineAddr};

/// Time from one store to the next, so that stores meet drains in progress.
const BETWEEN_STORES: Duration = Duration::from_ns(40);
/// Interval at which the core checks whether a full buffer has room.
const A_MOMENT: Duration = Duration::from_ns(1);

/// Two entries fill the buffer, which then drains down to one.
const SMALL: PersistBufferConfig = PersistBufferConfig { entries: 2, drain_from: 2, drain_to: 1 };
/// Each entry drains before the next store arrives.
const SMALLEST: PersistBufferConfig = PersistBufferConfig { entries: 1, drain_from: 1, drain_to: 0 };

/// A store of the workload, with its number.
#[derive(Clone, Copy)]
pub(super) struct NumberedStore {
    pub number: usize,
    pub core: usize,
    pub line: LineAddr,
    pub content: Line,
}

/// Cores that store, with their buffers.
pub(super) struct Feeding {
    clock: Clock,
    scheme: Rc<Scheme>,
    verbs: Rc<BenchVerbs>,
    records: Rc<Everything>,
    /// Buffer of each core, by index.
    buffers: Vec<RefCell<machine::persist::PersistBuffer>>,
    /// Number of stores that are entering.
    entering: Cell<usize>,
    /// Number of entries that are draining.
    draining: Cell<usize>,
    stopped: Cell<bool>,
    /// Stores that caches have received, if a lock orders them: each arrives after all earlier ones.
    seen: Option<Cell<usize>>,
    /// Number of stores that entries had received before these.
    before: u64,
    /// Numbers of the stores in entries, in the order of their arrival.
    taken: RefCell<Vec<usize>>,
    /// Completed stores: number, operations issued before the store entered, and operations issued when its core continued.
    stored: RefCell<Vec<(usize, usize, usize)>>,
}

impl Feeding {
    fn new(bench: &Bench, config: PersistBufferConfig) -> Rc<Feeding> {
        Rc::new(Feeding::with(bench, config))
    }

    /// Carries out stores of several cores in a known order, through buffers of this configuration.
    pub fn of_locked(bench: &Bench, config: PersistBufferConfig, stores: &[NumberedStore]) -> Rc<Feeding> {
        let feeding = Rc::new(Feeding { seen: Some(Cell::new(0)), ..Feeding::with(bench, config) });
        for core in 0..CORES {
            let of_core = stores.iter().copied().filter(|store| store.core == core).collect();
            bench.executor.clock().spawn(feeding.clone().feed(of_core, true));
        }
        feeding
    }

    fn with(bench: &Bench, config: PersistBufferConfig) -> Feeding {
        let buffer = || machine::persist::PersistBuffer::new(config);
        Feeding {
            clock: bench.executor.clock().clone(),
            scheme: bench.scheme.clone(),
            verbs: bench.verbs.clone(),
            records: bench.records.clone(),
            buffers: (0..CORES).map(|_| RefCell::new(buffer())).collect(),
            entering: Cell::new(0),
            draining: Cell::new(0),
            stopped: Cell::new(false),
            seen: None,
            before: PersistBufferHandle::of(&bench.scheme).accepted(),
            taken: RefCell::default(),
            stored: RefCell::default(),
        }
    }

    /// Issues a core's stores until the cores stop. With `at_once` unset, each store waits until all entries have drained.
    async fn feed(self: Rc<Self>, stores: Vec<NumberedStore>, at_once: bool) {
        for store in stores {
            self.read_before(store);
            while !self.stopped.get() && (self.is_held_back(store) || !self.brings(store)) {
                self.clock.sleep(A_MOMENT).await;
            }
            if self.stopped.get() {
                return;
            }
            self.comes(store).await;
            self.clock.sleep(BETWEEN_STORES).await;
            while !at_once && self.draining.get() > 0 {
                self.clock.sleep(A_MOMENT).await;
            }
        }
    }

    /// Puts a store into its core's cache, visible to the other core. The core continues when its buffer has accepted the store.
    async fn comes(self: &Rc<Self>, store: NumberedStore) {
        self.seen.iter().for_each(|seen| seen.set(store.number + 1));
        let this = self.clone();
        let accepted = async move {
            this.accept(store).await;
            this.begin_drains(store.core);
        };
        if PersistBufferHandle::of(&self.scheme).planted().has(Bug::CoreGoesOnUnaccepted) {
            self.clock.spawn(accepted);
        } else {
            accepted.await;
        }
    }

    /// Returns true if a store must wait for an earlier one of any core.
    fn is_held_back(&self, store: NumberedStore) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.get() < store.number)
    }

    /// Models the read of the second core before its store: the other core's buffer flushes its entry for the line.
    fn read_before(self: &Rc<Self>, store: NumberedStore) {
        if store.core == 0 || self.stopped.get() {
            return;
        }
        for other in self.others(store.core) {
            if self.buffers[other].borrow_mut().flush(store.line) {
                self.begin_drain(other, store.line);
            }
        }
    }

    /// Offers a store to its core's buffer; returns false if the buffer is full and the core must retry. If the buffer allocates an entry,
    /// the other buffers drop theirs. An entry of the line that is draining does not stop the store: the scheme keeps the two apart.
    fn brings(&self, store: NumberedStore) -> bool {
        let found = self.buffers[store.core].borrow_mut().store(store.line);
        if found == Finds::Allocated {
            for other in self.others(store.core) {
                self.buffers[other].borrow_mut().give_up(store.line);
            }
        }
        found != Finds::Full
    }

    async fn accept(&self, store: NumberedStore) {
        self.entering.set(self.entering.get() + 1);
        let before = self.records.operations();
        let buffer = PersistBufferHandle::of(&self.scheme);
        let content = || {
            self.taken.borrow_mut().push(store.number);
            store.content
        };
        buffer.accept_when_taken(&*self.verbs, store.line, content).await;
        buffer.write_back(&*self.verbs).await;
        self.stored.borrow_mut().push((store.number, before, self.records.operations()));
        self.entering.set(self.entering.get() - 1);
        // If the old entry was draining, the line has a new entry now, unless another core's buffer has taken it over.
        let went_over = self.others(store.core).any(|other| self.has(other, store.line));
        if !went_over {
            self.buffers[store.core].borrow_mut().store(store.line);
        }
    }

    fn has(&self, core: usize, line: LineAddr) -> bool {
        self.buffers[core].borrow().resident().any(|resident| resident == line)
    }

    fn others(&self, core: usize) -> impl Iterator<Item = usize> + use<> {
        (0..CORES).filter(move |other| *other != core)
    }

    fn begin_drains(self: &Rc<Self>, core: usize) {
        while let Some(line) = self.next_to_drain(core) {
            self.begin_drain(core, line);
        }
    }

    fn begin_drain(self: &Rc<Self>, core: usize, line: LineAddr) {
        self.draining.set(self.draining.get() + 1);
        let this = self.clone();
        self.clock.spawn(async move {
            PersistBufferHandle::of(&this.scheme).drain(&*this.verbs, line).await;
            this.buffers[core].borrow_mut().left(line);
            this.draining.set(this.draining.get() - 1);
        });
    }

    fn next_to_drain(&self, core: usize) -> Option<LineAddr> {
        self.buffers[core].borrow_mut().next_to_drain().filter(|_| !self.stopped.get())
    }
}

impl Holder for Feeding {
    fn went_on(&self) -> usize {
        self.stored.borrow().len()
    }

    fn taken(&self) -> Vec<usize> {
        let taken = self.taken.borrow().clone();
        assert_eq!(PersistBufferHandle::of(&self.scheme).accepted() - self.before, taken.len() as u64);
        taken
    }

    fn span(&self, number: usize) -> (usize, usize) {
        let stored = self.stored.borrow();
        let span = stored.iter().find(|(stored, ..)| *stored == number);
        span.map_or((0, 0), |(_, issued, returned)| (*issued, *returned))
    }

    fn is_idle_after(&self, stores: usize) -> bool {
        self.went_on() == stores && self.draining.get() == 0
    }

    fn resident(&self) -> Vec<LineAddr> {
        PersistBufferHandle::of(&self.scheme).lines()
    }

    fn stop(&self, bench: &mut Bench) {
        self.stopped.set(true);
        bench.run_until(|| self.entering.get() == 0 && self.draining.get() == 0);
    }

    /// The battery completes the work in progress and drains all entries.
    fn die(&self, bench: &mut Bench) {
        self.stop(bench);
        let (scheme, verbs) = (self.scheme.clone(), self.verbs.clone());
        bench.run(async move { PersistBufferHandle::of(&scheme).drain_on_battery(&*verbs).await });
    }
}

/// Starts the stores of a workload.
pub(super) fn begin(
    bench: &Bench,
    workload: &Workload,
    contents: &[(LineAddr, Line)],
    crowding: Option<&mut Random>,
) -> Rc<Feeding> {
    let feeding = Feeding::new(bench, if workload.at_once { SMALL } else { SMALLEST });
    let store = |(number, &(line, content))| NumberedStore { number, core: workload.core(number), line, content };
    for core in 0..CORES {
        let of_core: Vec<NumberedStore> =
            contents.iter().enumerate().map(store).filter(|store| store.core == core).collect();
        if !of_core.is_empty() {
            bench.executor.clock().spawn(feeding.clone().feed(of_core, workload.at_once));
        }
    }
    if let Some(random) = crowding {
        bench.crowd(&Rc::default(), random);
    }
    feeding
}

/// Starts the stores of one core's program, through a buffer of this configuration.
pub(super) fn feed_into(bench: &Bench, config: PersistBufferConfig, contents: Vec<(LineAddr, Line)>) -> Rc<Feeding> {
    let feeding = Feeding::new(bench, config);
    let store = |(number, (line, content))| NumberedStore { number, core: 0, line, content };
    bench.executor.clock().spawn(feeding.clone().feed(contents.into_iter().enumerate().map(store).collect(), true));
    feeding
}

#[cfg(test)]
mod tests {
    use super::super::workload::LINES;
    use super::*;
    use protection::planted::PlantedBug;
    use protection::scheme::{ObservedState, Observers};

    /// Two cores store to a line, the second after the first has continued. Returns which core's buffer then has the entry, and the
    /// greatest number of entries that drained at once.
    fn met(first: usize) -> ([bool; CORES], usize) {
        let mut bench = Bench::new(&catalogue::design("secpb-cobcm").unwrap().parts, 1, PlantedBug::NONE);
        let (feeding, most) = (Feeding::new(&bench, SMALL), Cell::new(0));
        for (number, core) in [first, 1 - first].into_iter().enumerate() {
            let store = NumberedStore { number, core, line: LINES[0], content: [number as u8; 64] };
            bench.executor.clock().spawn(feeding.clone().feed(vec![store], true));
            bench.run_until(|| {
                most.set(most.get().max(feeding.draining.get()));
                feeding.is_idle_after(number + 1)
            });
        }
        ([0, 1].map(|core| feeding.has(core, LINES[0])), most.get())
    }

    #[test]
    fn a_blocked_observer_also_waits_for_stores_that_arrive_while_the_persist_buffer_drains() {
        let mut bench = Bench::new(&catalogue::design("secpb-cobcm").unwrap().parts, 1, PlantedBug::NONE);
        let feeding = Feeding::new(&bench, SMALL);
        let store =
            |number| NumberedStore { number, core: 0, line: LINES[number % LINES.len()], content: [number as u8; 64] };
        bench.executor.clock().spawn(feeding.clone().feed((0..9).map(store).collect(), true));
        bench.run_until(|| feeding.stored.borrow().len() == 2);
        let admitted = Rc::new(Cell::new(None));
        let (observed, note) = (feeding.clone(), admitted.clone());
        bench.executor.clock().spawn(async move {
            let buffer = PersistBufferHandle::of(&observed.scheme);
            let sight = buffer.admit(&*observed.verbs, Observers::Blocked).await;
            note.set(Some((sight, buffer.lines().len(), buffer.accepted())));
        });
        bench.run_until(|| admitted.get().is_some());
        let (sight, entries, accepted) = admitted.get().unwrap();
        assert_eq!((sight, entries), (ObservedState::Consistent, 0));
        assert!(accepted > 3, "{accepted} stores: some came meanwhile");
    }

    #[test]
    fn a_persist_buffer_entry_moves_on_a_remote_write_and_drains_on_a_remote_read() {
        assert_eq!(met(1), ([true, false], 0), "the first core writes, and does not read");
        assert_eq!(met(0), ([false, true], 1), "the second core reads before it writes");
    }
}
