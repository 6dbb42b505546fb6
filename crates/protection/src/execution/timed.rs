//! Timed runner: the verbs wait for the modelled resources, and read and write real bytes.
//!
//! The memory is that of the machine, with all channels. AES blocks, tags and hashes pass through pipelined units, and
//! each metadata cache has a port. [`Media`] holds the bytes: a timed run also encrypts, stores, fetches and checks
//! them, so every timed run is also a test.

mod verbs;

use crate::domain::{RegisterUpdate, Registers};
use crate::execution::durable::Durable;
use crate::execution::overflows::Overflows;
use crate::execution::pins::Pins;
use crate::execution::private::{ControllerLoad, Patience};
use crate::execution::reads::{ReadPart, ReadProgress};
use crate::execution::units::EngineUnits;
use crate::execution::waits::{cause_of, word_for};
use crate::execution::watch::VerbReport;
use crate::execution::windows::Windows;
use crate::execution::{CipherEngine, Engines, OverflowLimits, Receiver, TimedCounts, Watch};
use crate::ledger::{Ledger, Reuse};
use crate::media::{Media, Shape};
use crate::placement::DataSlot;
use crate::planted::{Bug, PlantedBug};
use crate::probe::Probe;
use crate::verbs::{AesUnits, Arriving, Beats, IdleBlocks, LockName, Role, Slot, Untrusted, Wanted};
use machine::dram::Burst;
use machine::memory::MemorySystem;
use sim::lock::LockTable;
use sim::pipe::{IdleBatch, Pipe};
use sim::span::Cause;
use sim::{Clock, Sleep, join};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use units::{Duration, Line, LineAddr, Time, WORD_BYTES};

/// The memory and the units that all accesses of one machine share.
pub struct TimedMemory {
    clock: Clock,
    channels: Pins,
    shape: Shape,
    media: Rc<RefCell<Media>>,
    units: EngineUnits,
    locks: LockTable<LockName>,
    counts: RefCell<TimedCounts>,
    pub(super) durable: Durable,
    windows: Windows,
    overflows: Overflows,
    receiver: Rc<dyn Receiver>,
    load: ControllerLoad,
}

impl TimedMemory {
    /// Returns a blank memory of this shape behind these channels. With `ledger`, every pad is recorded.
    pub fn new(
        clock: &Clock,
        channels: impl Into<MemorySystem>,
        shape: impl Into<Shape>,
        engines: &Engines,
        ledger: bool,
        receiver: Rc<dyn Receiver>,
    ) -> Self {
        let shape = shape.into();
        let media = Rc::new(RefCell::new(Media::new(shape.slots)));
        TimedMemory {
            clock: clock.clone(),
            channels: Pins::new(channels.into(), clock, shape, &media),
            shape,
            media,
            units: EngineUnits::new(engines),
            locks: LockTable::new(clock),
            counts: RefCell::default(),
            durable: Durable::new(ledger),
            windows: Windows::default(),
            overflows: Overflows::default(),
            receiver,
            load: ControllerLoad::default(),
        }
    }

    /// Returns the memory with all metadata in one cache behind one port, if `one`.
    pub fn with_one_port(mut self, one: bool) -> Self {
        self.units.one_port = one;
        self
    }

    /// Returns the memory with one AES block for each metadata line instead of the hash engine, if `by_aes`.
    pub fn with_hashes_by_aes(mut self, by_aes: bool) -> Self {
        self.units.hashes_by_aes = by_aes;
        self
    }

    /// Returns the memory with AES units like these in the L2 of each of `cores` cores. The units refuse work that would
    /// wait longer than `patience` for them.
    pub fn with_private_aes(mut self, engine: &CipherEngine, cores: usize, patience: Patience) -> Self {
        self.units.add_to_l2s(engine, cores, patience);
        self
    }

    /// Returns the memory with these limits on concurrent re-encryption.
    pub fn with_overflows(self, limits: OverflowLimits) -> Self {
        let overflows = Overflows::limited(&self.clock, limits, self.channels.memory().clone(), self.shape);
        TimedMemory { overflows, ..self }
    }

    /// Returns the memory with this deliberate weakness, if any.
    pub fn with_planted(mut self, planted: PlantedBug) -> Self {
        (self.channels.planted, self.durable.planted) = (planted, planted);
        self
    }

    /// Returns the maximum number of concurrent renewals so far and the maximum number of queue entries that they held,
    /// if re-encryption is limited.
    pub fn most_overflows(&self) -> Option<(usize, usize)> {
        self.overflows.most()
    }

    /// Attaches a probe to the pins of memory. A second probe is ignored. A probe costs no simulated time.
    pub fn attach(&self, probe: Probe) {
        self.channels.attach(probe);
    }

    /// Returns the probe at the pins, if one is attached.
    pub fn probe(&self) -> Option<&Probe> {
        self.channels.probe()
    }

    /// Content of the memory chips.
    pub fn media(&self) -> &RefCell<Media> {
        &self.media
    }

    /// Receiver of the accesses' results.
    pub(crate) fn receiver(&self) -> &dyn Receiver {
        &*self.receiver
    }

    /// Returns the counts of all work so far.
    pub fn counts(&self) -> TimedCounts {
        let mut counts = *self.counts.borrow();
        self.units.count(&mut counts);
        counts.ahead = self.windows.counts();
        counts
    }

    /// Registers that outlive power.
    pub fn registers(&self) -> Registers {
        self.durable.registers.borrow().clone()
    }

    /// Continues with the registers that a loss of power has left.
    pub fn go_on_with(&self, registers: Registers) {
        self.durable.registers.replace(registers);
    }

    /// From now on, keeps the state that a power loss has to undo. Must be called before the first write.
    pub fn expect_power_loss(&self) {
        self.durable.keep_open_tuple();
    }

    /// Returns the state that a loss of power leaves at this instant: the chips without the open tuple, and the registers.
    ///
    /// # Panics
    /// If `expect_power_loss` was not called.
    pub fn after_power_loss(&self) -> (Media, Registers) {
        (self.durable.left_of(&self.media.borrow()), self.registers())
    }

    pub(super) fn complete(&self, completion: &RegisterUpdate) {
        let mut counts = self.counts.borrow_mut();
        counts.tuples += 1;
        counts.root_updates += u64::from(completion.reaches_a_root());
        self.durable.complete(completion);
    }

    /// Longest time from the release of a line to its verdict.
    pub fn longest_window(&self) -> Duration {
        self.windows.longest()
    }

    /// Returns whether pads are recorded.
    pub fn ledger_is_on(&self) -> bool {
        self.durable.ledger.is_some()
    }

    /// Returns the keystream that was noted so far, if the ledger is on.
    pub fn ledger(&self) -> Option<Ledger> {
        self.durable.ledger.as_ref().map(|ledger| ledger.borrow().clone())
    }

    /// Continues with the ledger of a machine that had the same keys before, if the ledger is on.
    pub fn carry(&self, ledger: Ledger) {
        if let Some(own) = &self.durable.ledger {
            own.replace(ledger);
        }
    }

    /// Returns the first keystream that was used twice, if the ledger is on and has found one.
    pub fn keystream_reuse(&self) -> Option<Reuse> {
        self.durable.ledger.as_ref().and_then(|ledger| ledger.borrow().reuse())
    }

    /// Prefetches the content of a slot into the host's caches.
    pub fn prefetch_host(&self, slot: Slot) {
        self.media.borrow().prefetch_host(slot);
    }

    /// Returns whether a line was ever written to its slot.
    pub fn has(&self, at: DataSlot) -> bool {
        !self.media.borrow().is_blank(at.slot())
    }

    /// Returns the start-up content of a line, if the line is permuted or its slot was never written to.
    pub(super) fn start_up(&self, at: DataSlot) -> Option<Line> {
        (at.moves() || !self.has(at)).then(|| self.receiver.start_up_content(at.line()))
    }
}

/// Passes items through a unit from `ready` on. Returns the time at which the last leaves, and how long they waited for
/// other items.
fn pass(unit: &Pipe, ready: Time, items: u32) -> (Time, Duration) {
    let passage = unit.pass(ready, items);
    (passage.done, passage.start.min(passage.done).since(ready))
}

/// The timed verbs of one access.
pub struct Timed {
    memory: Rc<TimedMemory>,
    account: Cell<VerbReport>,
    progress: ReadProgress,
}

impl Timed {
    /// Returns the verbs over a memory.
    pub fn new(memory: &Rc<TimedMemory>) -> Timed {
        Timed { memory: memory.clone(), account: Cell::default(), progress: ReadProgress::default() }
    }

    /// Passes items through a unit from now on, and waits until the last item has left the unit.
    fn through(&self, unit: &Pipe, items: u32, part: ReadPart) -> Working<'_> {
        let now = self.memory.clock.now();
        let (done, waited) = pass(unit, now, items);
        self.working(Some(part), (now, done), waited)
    }

    /// Returns a wait for work that was ready for its unit at `ready` and is done at `end`, possibly before the wait begins.
    /// Before the work, the unit was busy with other items for `waited`.
    fn working(&self, part: Option<ReadPart>, (ready, end): (Time, Time), waited: Duration) -> Working<'_> {
        Working { timed: self, part, ready, end, waited, sleep: self.memory.clock.sleep_until(end) }
    }

    /// Counts a read whole line, or its first words, as released to the core.
    fn count_read(&self, line: LineAddr, whole: bool) {
        let now = self.memory.clock.now();
        let Some((took, parts)) = self.progress.released(now, whole) else {
            return self.progress.followed(now).iter().for_each(|parts| self.memory.receiver.read(line, parts));
        };
        self.memory.receiver.read(line, &parts);
        let reads = &mut self.memory.counts.borrow_mut().reads;
        reads.lines += 1;
        reads.total_fs += took.as_fs();
        reads.parts_fs += parts;
        reads.histogram.add(took);
    }

    /// Returns the units that idle work was offered to, and their record of it.
    fn idle_work<'o>(&self, offered: &'o IdleBlocks) -> Option<(&Pipe, &'o IdleBatch)> {
        let units = self.memory.units.of_cipher(AesUnits::Controller, offered.blocks.cipher);
        offered.batch.as_ref().map(|batch| (&units.pipe, batch))
    }

    /// Waits for this time from now on.
    fn after(&self, stretch: Duration) -> Working<'_> {
        let now = self.memory.clock.now();
        self.working(None, (now, now + stretch), Duration::ZERO)
    }

    fn count_moved(&self, (first, second): (Burst, Option<Burst>)) {
        let words = u64::from(first.words) + second.map_or(0, |second| u64::from(second.words));
        self.memory.counts.borrow_mut().bytes_moved += words * WORD_BYTES as u64;
    }

    fn note_unit(&self, end: Time, waited: Duration) {
        let waited_for = (waited > Duration::ZERO).then_some(Cause::Unit);
        self.account.set(VerbReport { waited_for, done: Some(end), waited, ..VerbReport::default() });
    }

    /// Writes a slot, as part of a tuple if it `persists`.
    async fn write(&self, slot: Slot, role: Role, content: Untrusted, persists: bool) {
        self.memory.counts.borrow_mut().stored.count(role);
        // The bytes are visible from now on: a read that arrives while the write waits for the queue must see them.
        let late = self.memory.channels.planted.has(Bug::StoredAfterQueue);
        if !late {
            self.memory.durable.put(&self.memory.media, slot, content, persists);
        }
        let requested = self.memory.clock.now();
        let channels = &self.memory.channels;
        let bursts = self.memory.shape.bursts(slot);
        self.count_moved(bursts);
        match bursts {
            (burst, None) => channels.write(burst).await,
            (first, Some(second)) => {
                // The write masks out the bytes of other slots on these lines, so the controller need not read the
                // lines first.
                self.memory.counts.borrow_mut().stored.count(Role::Tag);
                join!(channels.write(first), channels.write(second));
            }
        }
        if late {
            self.memory.durable.put(&self.memory.media, slot, content, persists);
        }
        let waited = self.memory.clock.now() > requested;
        self.account.set(VerbReport { waited_for: waited.then_some(Cause::Queue), ..VerbReport::default() });
    }

    async fn read(&self, slot: Slot, role: Role, wanted: Wanted) -> Arriving {
        let channels = &self.memory.channels;
        let (first, second) = self.memory.shape.bursts(slot);
        self.count_moved((first, second));
        self.memory.counts.borrow_mut().fetched.count(role);
        let began = self.memory.clock.now();
        // The memory's answer on queue and bank, the arrival times of the words, and the burst that the timeline shows,
        // which is the last one.
        let (answer, beats, burst) = match second {
            None => {
                let answer = channels.memory().read(first, wanted).await;
                channels.was_read(first.line, &answer);
                let beats = channels.memory().beats(&answer, wanted.from);
                (answer, beats, answer.burst.then_some(answer.at))
            }
            Some(second) => {
                self.memory.counts.borrow_mut().fetched.count(Role::Tag);
                // The second burst waits for the first: only the first may have waited for other requests.
                let (answer, last) = Box::pin(channels.read_both(first, second)).await;
                (answer, Beats::at_once(answer.at.max(last.at)), last.burst.then_some(last.at))
            }
        };
        // The fetch also waits for room in the queue.
        let waited = answer.waited + answer.arrived.since(began);
        if role == Role::Data {
            self.memory.load.waited_for_memory(waited);
        }
        self.progress.fetched(role, (began, waited), self.memory.clock.now());
        let (waited_for, outcome) = (cause_of(answer.waited_for), Some(word_for(answer.outcome)));
        self.account.set(VerbReport {
            waited_for,
            outcome,
            delayed: answer.waited,
            data: burst,
            ..VerbReport::default()
        });
        Arriving { content: self.memory.media.borrow().read(slot), beats }
    }
}

/// A wait for work that has begun. Polled by hand, like [`Sleep`].
struct Working<'a> {
    timed: &'a Timed,
    /// Part of a read that the wait counts for.
    part: Option<ReadPart>,
    ready: Time,
    end: Time,
    waited: Duration,
    sleep: Sleep<'a>,
}

impl Future for Working<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        ready!(Pin::new(&mut self.sleep).poll(context));
        let Working { timed, part, ready, end, waited, .. } = *self;
        timed.note_unit(end, waited);
        if let Some(part) = part {
            timed.progress.ended(part, end);
        }
        if part == Some(ReadPart::Engine) && waited > Duration::ZERO {
            timed.progress.ended(ReadPart::EngineQueue, ready + waited);
        }
        Poll::Ready(())
    }
}

impl Watch for Timed {
    fn now(&self) -> Time {
        self.memory.clock.now()
    }

    fn account(&self) -> VerbReport {
        self.account.take()
    }
}
