//! Stores of a workload through a persist buffer, and what the battery makes of the chip when power fails.
//!
//! The core stores in order, one store after the other is accepted, and the buffer drains as its watermarks say. When power
//! fails the core stops. The battery lets the controller end what it has begun, the store that is entering among it (SecPB,
//! HPCA 2023, section V-B), then drains every entry. Nothing that was sent to memory is lost then: the queue is inside.

use super::bench::{Bench, BenchVerbs, Write};
use machine::persist::{Finds, PersistBufferConfig};
use protection::scheme::{PersistBuffer, Scheme};
use sim::Clock;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use units::random::Random;
use units::{Duration, Line, LineAddr};

/// From one store to the next, so that stores meet drains under way.
const BETWEEN_STORES: Duration = Duration::from_ns(40);
/// The core looks again after so long whether a full buffer has room.
const A_MOMENT: Duration = Duration::from_ns(1);

/// A core that stores, and its buffer.
pub(super) struct Feeding {
    clock: Clock,
    scheme: Rc<Scheme>,
    verbs: Rc<BenchVerbs>,
    buffer: RefCell<machine::persist::PersistBuffer>,
    /// Whether a store is entering.
    entering: Cell<bool>,
    /// Entries on their way out.
    draining: Cell<usize>,
    power_failed: Cell<bool>,
    /// Stores that went on: how much had been done before each entered, and when it went on.
    stored: RefCell<Vec<(usize, usize)>>,
}

impl Feeding {
    /// Stores in turn drain each before the next comes; at once, two entries are full and drain down to one.
    fn new(bench: &Bench, at_once: bool) -> Rc<Feeding> {
        let config = match at_once {
            true => PersistBufferConfig { entries: 2, drain_from: 2, drain_to: 1 },
            false => PersistBufferConfig { entries: 1, drain_from: 1, drain_to: 0 },
        };
        Rc::new(Feeding {
            clock: bench.executor.clock().clone(),
            scheme: bench.scheme.clone(),
            verbs: bench.verbs.clone(),
            buffer: RefCell::new(machine::persist::PersistBuffer::new(config)),
            entering: Cell::new(false),
            draining: Cell::new(0),
            power_failed: Cell::new(false),
            stored: RefCell::default(),
        })
    }

    /// How many stores went on.
    pub fn went_on(&self) -> usize {
        self.stored.borrow().len()
    }

    /// Whether so many stores went on, and nothing is on its way out.
    pub fn is_idle_after(&self, stores: usize) -> bool {
        self.stored.borrow().len() == stores && self.draining.get() == 0
    }

    /// The core's stores, until power fails. Stores in turn wait until everything has drained.
    async fn feed(self: Rc<Self>, stores: Vec<(LineAddr, Line)>, at_once: bool) {
        for (line, content) in stores {
            while !self.power_failed.get() && !self.brings(line) {
                self.clock.sleep(A_MOMENT).await;
            }
            if self.power_failed.get() {
                return;
            }
            self.entering.set(true);
            let before = self.verbs.operations();
            PersistBuffer::of(&self.scheme).accept(&*self.verbs, line, &content).await;
            self.stored.borrow_mut().push((before, self.verbs.operations()));
            self.entering.set(false);
            // Where the line was leaving, it has an entry of its own now.
            self.buffer.borrow_mut().store(line);
            self.begin_drains();
            self.clock.sleep(BETWEEN_STORES).await;
            while !at_once && self.draining.get() > 0 {
                self.clock.sleep(A_MOMENT).await;
            }
        }
    }

    /// Brings a store to the buffer; whether it may enter, and has not to come again. An entry of its line that is just leaving
    /// does not keep it: the text keeps the two apart.
    fn brings(&self, line: LineAddr) -> bool {
        self.buffer.borrow_mut().store(line) != Finds::Full
    }

    fn begin_drains(self: &Rc<Self>) {
        while let Some(line) = self.next_to_drain() {
            self.draining.set(self.draining.get() + 1);
            let this = self.clone();
            self.clock.spawn(async move {
                PersistBuffer::of(&this.scheme).drain(&*this.verbs, line).await;
                this.buffer.borrow_mut().left(line);
                this.draining.set(this.draining.get() - 1);
            });
        }
    }

    fn next_to_drain(&self) -> Option<LineAddr> {
        self.buffer.borrow_mut().next_to_drain().filter(|_| !self.power_failed.get())
    }
}

/// Carries stores out, and drains everything at the end.
pub(super) fn store(
    bench: &mut Bench,
    contents: &[(LineAddr, Line)],
    at_once: bool,
    crowding: Option<&mut Random>,
) -> Vec<Write> {
    let feeding = begin(bench, contents, at_once, crowding);
    bench.run_until(|| feeding.stored.borrow().len() == contents.len());
    die(bench, &feeding);
    let stored = feeding.stored.borrow();
    let write = |(&(line, content), &(issued, returned))| Write { line, content, issued, returned };
    contents.iter().zip(stored.iter()).map(write).collect()
}

/// Begins to carry stores out.
pub(super) fn begin(
    bench: &mut Bench,
    contents: &[(LineAddr, Line)],
    at_once: bool,
    crowding: Option<&mut Random>,
) -> Rc<Feeding> {
    let feeding = Feeding::new(bench, at_once);
    bench.executor.clock().spawn(feeding.clone().feed(contents.to_vec(), at_once));
    if let Some(random) = crowding {
        bench.crowd(&Rc::default(), random);
    }
    feeding
}

/// Power fails, and the battery ends what is begun and drains what is there.
pub(super) fn die(bench: &mut Bench, feeding: &Rc<Feeding>) {
    feeding.power_failed.set(true);
    bench.run_until(|| !feeding.entering.get() && feeding.draining.get() == 0);
    let (scheme, verbs) = (bench.scheme.clone(), bench.verbs.clone());
    bench.run(async move { PersistBuffer::of(&scheme).drain_on_battery(&*verbs).await });
}
