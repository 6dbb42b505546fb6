//! From the core's misses to protected memory and back: the tasks that carry lines.
//!
//! A *reader* is one miss of the last-level cache under way, and a *writer* is one line on its way to memory. A *permuter*
//! is one permutation that a reader or a writer has begun in the background. All are tasks that exist as long as the machine
//! and handle one line or page chunk after another, so that an access allocates no host memory.
//! Each task executes the operations of the protection scheme. The reader delivers the line when the scheme releases
//! it, and then continues with the remaining steps.

mod records;
mod requests;
mod switches;

pub use requests::Requests;
pub use switches::{Switch, SwitchOutcome};

use crate::chip::{Chip, Miss};
use crate::intensity::Intensity;
use crate::persisting::write_from_outside;
use catalogue::Machine;
use machine::coherence::directory::CoreSet;
use machine::coherence::{Claim, LineSupplier};
use machine::lookups::LookUps;
use machine::node::{Request, RequestKind};
use protection::execution::{Attended, ExcerptVerbs, ReadPart, Timed, TimedMemory};
use protection::moving::LINES_PER_PAGE_CHUNK;
use protection::scheme::{Demand, Permutations, Scheme};
use protection::verbs::{Leg, TransitVerbs};
use sim::Clock;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use units::{Cycles, Duration, LineAddr, Time};

/// Controller of the last-level cache, with the memory behind it.
pub struct Uncore {
    clock: Clock,
    chip: Rc<Chip>,
    scheme: Rc<Scheme>,
    memory: Rc<TimedMemory>,
    /// Time in which a probed core looks up a line in its private caches.
    probe: Duration,
    path: Duration,
    /// Core clock, which also counts the cycles of look-ups in the last-level cache; and these look-ups, if their rate
    /// is limited.
    core_clock: units::Clock,
    lookups: Option<RefCell<LookUps>>,
    writeback_buffers: usize,
    /// Rate at which memory serves each core, if an L2 with a low rate leaves decryption to the controller.
    intensities: Option<RefCell<Vec<Intensity>>>,
    /// Reader tasks that wait for a write-back buffer.
    held_up: RefCell<VecDeque<sim::TaskId>>,
    /// Number of reads that have not ended.
    reads: Cell<usize>,
    /// Tasks that wait for a line that the last-level cache must lock.
    wait_for_lines: RefCell<Vec<(LineAddr, sim::TaskId)>>,
    /// Tasks that wait until no line is under way.
    wait_for_rest: RefCell<Vec<sim::TaskId>>,
}

/// Component that answers a miss.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Responder {
    /// A cache has delivered the line.
    Chip,
    /// The request has reached the memory controller.
    Memory,
}

impl Uncore {
    /// Starts the readers and writers.
    pub fn start(
        clock: &Clock,
        machine: &Machine,
        chip: Rc<Chip>,
        scheme: Rc<Scheme>,
        memory: Rc<TimedMemory>,
    ) -> Rc<Uncore> {
        let off_below = machine.at_l2.and_then(|at_l2| at_l2.off_below).filter(|_| l2s_begin_reads(&scheme));
        let uncore = Rc::new(Uncore {
            clock: clock.clone(),
            chip,
            scheme,
            memory,
            probe: machine.l2_look_up(),
            path: machine.path(),
            core_clock: machine.node.clock_mhz.clock(),
            lookups: machine.llc.lookups.map(|limit| RefCell::new(LookUps::new(limit))),
            writeback_buffers: machine.llc.writeback_buffers,
            intensities: off_below
                .map(|below| (0..machine.cores).map(|_| Intensity::new(below)).collect::<Vec<_>>().into()),
            held_up: RefCell::default(),
            reads: Cell::new(0),
            wait_for_lines: RefCell::default(),
            wait_for_rest: RefCell::default(),
        });
        let plain = || Timed::new(&uncore.memory);
        match uncore.chip.account.excerpt() {
            None => uncore.employ(machine, plain),
            Some(excerpt) => uncore.employ(machine, || ExcerptVerbs::new(plain(), excerpt)),
        }
        uncore
    }

    /// Starts readers and writers; `attended` returns the verbs of each.
    fn employ<A: Attended + 'static>(self: &Rc<Uncore>, machine: &Machine, attended: impl Fn() -> A) {
        for _ in 0..machine.llc.mshrs {
            self.clock.spawn(self.clone().read_forever(attended()));
        }
        for _ in 0..machine.llc.writeback_buffers {
            self.clock.spawn(self.clone().write_forever(attended()));
        }
        for _ in 0..Permutations::of(&self.scheme).map_or(0, Permutations::at_once) {
            self.clock.spawn(self.clone().permute_forever(attended()));
        }
    }

    /// True if a line of data was written to memory, regardless of copies on the chip.
    pub fn is_in_memory(&self, line: LineAddr) -> bool {
        self.scheme.is_in_memory(line, |at| self.memory.has(at))
    }

    /// Handles all requests that have left a core's private caches.
    pub fn take_up(&self, core: usize, requests: &mut Vec<Request>) {
        for Request { at, line, word, kind } in requests.drain(..) {
            if kind.is_answered() {
                // The core already has the line and requests only the right to write it, so there is no data to read.
                let in_l2 = kind != RequestKind::Upgrade && (l2s_begin_reads(&self.scheme) || self.chip.llc.predicts());
                if let Some(excerpt) = self.chip.account.excerpt() {
                    excerpt.requested(core, line, at);
                }
                let left = at;
                let at = if in_l2 { self.begins(at) } else { at + self.request_takes(core, line, at) };
                self.prefetch_host(line);
                self.reads.set(self.reads.get() + 1);
                self.chip.under_way.push_miss(at, Miss { core, line, word, kind, left, in_l2 });
            } else {
                let takes = self.request_takes(core, line, at);
                match kind {
                    RequestKind::Flush => self.chip.flush(at + takes, core, line, false),
                    RequestKind::FlushAndEvict => self.chip.flush(at + takes, core, line, true),
                    RequestKind::PastCaches => self.chip.store_past_caches(at + takes, core, line),
                    _ => self.chip.take_back(line, kind == RequestKind::WriteBack),
                }
            }
        }
    }

    /// Returns the time at which the read of a line begins that an L2 misses at `missed`: earlier if the L2's prediction
    /// reaches the controller before.
    fn begins(&self, missed: Time) -> Time {
        let lead =
            if self.chip.llc.predicts() { self.chip.latencies.distances.prediction_lead() } else { Duration::ZERO };
        let predicted = Time::ZERO + missed.since(Time::ZERO + lead);
        predicted.max(self.clock.now()).min(missed)
    }

    /// Prefetches the tables for a miss into the host's caches while the miss is on its way. Not inlined: most calls of
    /// [`Uncore::take_up`] find no request.
    #[inline(never)]
    fn prefetch_host(&self, line: LineAddr) {
        self.chip.cores.prefetch_host(line);
        self.chip.llc.prefetch_host(line);
        self.chip.shadow.prefetch_host(line);
        self.scheme.name_fetched(line, |slot| self.memory.prefetch_host(slot));
    }

    /// Time from a request leaving a core's private caches at `at` to the end of the last-level cache's look-up.
    fn request_takes(&self, core: usize, line: LineAddr, at: Time) -> Duration {
        let request = self.chip.latencies.network.request(core, line);
        let Some(lookups) = &self.lookups else { return request };
        let cycle = self.core_clock.cycle_at_or_after(at + self.chip.latencies.network.way(core, line)).0;
        let entered = lookups.borrow_mut().enter(cycle);
        request + self.core_clock.span(Cycles(entered - cycle))
    }

    /// True if no line is under way between the private caches and memory.
    pub fn is_at_rest(&self) -> bool {
        self.reads.get() == 0 && self.chip.out.backlog() == 0 && self.chip.under_way.permutations.outstanding() == 0
    }

    /// Wakes the current task when no line is under way. Permutations in the background then wait no longer for an idle bus.
    pub fn wake_at_rest(&self) {
        Permutations::of(&self.scheme).iter().for_each(|permutations| permutations.hurry());
        let task = self.clock.current_task();
        let mut waiting = self.wait_for_rest.borrow_mut();
        if !waiting.contains(&task) {
            waiting.push(task);
        }
    }

    fn wake_if_at_rest(&self) {
        let mut waiting = self.wait_for_rest.borrow_mut();
        if !waiting.is_empty() && self.is_at_rest() {
            waiting.drain(..).for_each(|task| self.clock.wake(task));
        }
    }

    async fn read_forever(self: Rc<Uncore>, attended: impl Attended) {
        let verbs = attended.verbs();
        loop {
            let miss = self.chip.under_way.next_miss().await;
            attended.reads(miss.core, miss.line);
            let outcome = Cell::new(None);
            self.sample(miss.core);
            let predicted = miss.in_l2 && self.chip.llc.expects_memory(miss.core);
            let missed = self.clock.sleep_until(miss.left);
            let request = pin!(async {
                if miss.in_l2 {
                    self.clock.sleep(self.request_takes(miss.core, miss.line, self.clock.now())).await;
                }
                outcome.set(self.request(miss).await);
                if miss.in_l2 {
                    self.chip.llc.learn(miss.core, outcome.get() == Some(Responder::Memory), predicted);
                }
                outcome.get() == Some(Responder::Memory)
            });
            if miss.in_l2 {
                let prediction = predicted.then(|| verbs.travel(Leg::Predicted));
                let Miss { core, line, word, .. } = miss;
                self.scheme.read_from(verbs, Demand { line, word, core }, missed, request, prediction).await;
            } else if request.await {
                self.scheme.read_at_controller(verbs, miss.line, miss.word).await;
            }
            if outcome.get().is_some() {
                self.reads.set(self.reads.get() - 1);
                self.wake_if_at_rest();
            }
        }
    }

    /// Ends the sample of a core's requests if it is complete. The sample decides whether the core's L2 decrypts and
    /// verifies its reads.
    fn sample(&self, core: usize) {
        let Some(intensities) = &self.intensities else { return };
        let l2 = self.chip.cores.nodes()[core].borrow().counts().l2;
        if let Some(begins) = intensities.borrow_mut()[core].sampled(l2.hits + l2.misses + l2.merged) {
            let Some(scheme) = self.scheme.fixed() else { return };
            scheme.on_chip(|chip| chip.let_begin(core, begins));
        }
    }

    /// Handles a request at the last-level cache and returns the component that answers. Returns `None` if the line is
    /// on its way to another core: the request then waits until the line has arrived at that core.
    async fn request(&self, miss: Miss) -> Option<Responder> {
        let Claim { supplier, probed, .. } = self.chip.claim(miss)?;
        self.clock.sleep(self.probes(miss.line, probed)).await;
        self.not_before_it_is_locked(miss.line).await;
        if supplier != LineSupplier::Below || self.chip.look_up(miss.line) {
            self.chip.deliver(miss.line, Duration::ZERO);
            return Some(Responder::Chip);
        }
        self.chip.under_way.requested(miss.line, self.clock.now());
        self.intensities.iter().for_each(|intensities| intensities.borrow_mut()[miss.core].served_by_memory());
        if let Some(excerpt) = self.chip.account.excerpt() {
            excerpt.missed(miss.core, miss.line, self.clock.now());
        }
        let sent_at = self.clock.now();
        self.writeback_buffer().await;
        if self.clock.now() > sent_at {
            self.chip.under_way.waited(miss.line, ReadPart::WriteBack, self.clock.now().since(sent_at));
        }
        if let Some(excerpt) = self.chip.account.excerpt() {
            excerpt.went_on(miss.core, miss.line, self.clock.now());
        }
        self.clock.sleep(self.path).await;
        Some(Responder::Memory)
    }

    /// Delays a read of a line. The read waits until earlier writes of the line, from outside or past the caches, have
    /// ended. In a last-level cache that locks lines, the read also waits for an entry of the cache.
    async fn not_before_it_is_locked(&self, line: LineAddr) {
        if !self.chip.llc.locks_lines() {
            return;
        }
        poll_fn(|_| {
            if !self.chip.is_leaving(line) || self.chip.llc.holds(line) {
                return Poll::Ready(());
            }
            let waits = (line, self.clock.current_task());
            let mut waiting = self.wait_for_lines.borrow_mut();
            if !waiting.contains(&waits) {
                waiting.push(waits);
            }
            Poll::Pending
        })
        .await;
    }

    /// Time until the last probed core has answered. The answer includes the core's dirty data.
    fn probes(&self, line: LineAddr, probed: CoreSet) -> Duration {
        let answers = probed.iter().map(|core| self.chip.latencies.network.way(core, line) * 2 + self.probe);
        answers.max().unwrap_or(Duration::ZERO)
    }

    async fn write_forever(self: Rc<Uncore>, attended: impl Attended) {
        let verbs = attended.verbs();
        loop {
            let line = self.next_victim().await;
            attended.writes(line);
            self.clock.sleep(self.path).await;
            if self.chip.buffers.exist() {
                write_from_outside(&self.scheme, verbs, line, || self.chip.put(line)).await;
            } else {
                let (content, stores) = (self.chip.put(line), self.chip.shadow.stores_had(line));
                self.scheme.write(verbs, line, &content).await;
                self.chip.shadow.note(|log| log.change_arrived(line, stores));
                if let Some(permutations) = Permutations::of(&self.scheme).filter(|_| self.chip.out.flushes.has(line)) {
                    permutations.permute_chunk_of(verbs, line).await;
                }
            }
            attended.written();
            self.chip.written(line);
            let mut waiting = self.wait_for_lines.borrow_mut();
            waiting.extract_if(.., |(awaited, _)| *awaited == line).for_each(|(_, task)| self.clock.wake(task));
            drop(waiting);
            self.let_one_go_on();
            self.wake_if_at_rest();
        }
    }

    async fn permute_forever(self: Rc<Uncore>, attended: impl Attended) {
        let passed_on = &self.chip.under_way.permutations;
        loop {
            let chunk = passed_on.next().await;
            attended.writes(LineAddr(chunk * LINES_PER_PAGE_CHUNK));
            if let Some(permutations) = Permutations::of(&self.scheme) {
                if !self.wait_for_rest.borrow().is_empty() {
                    permutations.hurry();
                }
                permutations.permute_passed_on(attended.verbs(), chunk).await;
            }
            attended.written();
            passed_on.ended();
            self.wake_if_at_rest();
        }
    }

    async fn next_victim(&self) -> LineAddr {
        poll_fn(|_| match self.chip.next_victim() {
            Some(line) => Poll::Ready(line),
            None => {
                self.chip.out.wait_for_line();
                Poll::Pending
            }
        })
        .await
    }

    /// Wakes the reader that has waited longest for a write-back buffer.
    fn let_one_go_on(&self) {
        if let Some(task) = self.held_up.borrow_mut().pop_front() {
            self.clock.wake(task);
        }
    }

    /// Waits while all write-back buffers are in use, since a fill may evict a dirty line. If the fill evicts no dirty
    /// line, no later event reports that the buffer is still free. Each reader that continues therefore wakes the next
    /// waiting reader.
    async fn writeback_buffer(&self) {
        poll_fn(|_| {
            if self.chip.out.backlog() < self.writeback_buffers {
                self.let_one_go_on();
                return Poll::Ready(());
            }
            let task = self.clock.current_task();
            let mut held_up = self.held_up.borrow_mut();
            if !held_up.contains(&task) {
                held_up.push_back(task);
            }
            Poll::Pending
        })
        .await;
    }
}

/// Returns true if L2s begin reads, which they do with copies of counters.
fn l2s_begin_reads(scheme: &Scheme) -> bool {
    scheme.fixed().is_some_and(|scheme| scheme.on_chip(|chip| chip.copies.is_some()))
}
