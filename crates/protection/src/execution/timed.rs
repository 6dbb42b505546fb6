//! Timed: the verbs wait for real resources, and move the real bytes.
//!
//! Memory is the machine's, with all its channels; AES, tags and hashes go through pipelined units; each metadata cache
//! has a port. The bytes are in [`Media`] all the time: what is timed is encrypted, stored, fetched and checked as well,
//! so every timed run is also a test.

mod verbs;

use crate::domain::{Completion, Registers};
use crate::execution::durable::Durable;
use crate::execution::overflows::Overflows;
use crate::execution::pins::Pins;
use crate::execution::private::Patience;
use crate::execution::reads::{ReadPart, ReadProgress};
use crate::execution::units::Units;
use crate::execution::waits::{cause_of, word_for};
use crate::execution::watch::Account;
use crate::execution::windows::Windows;
use crate::execution::{CipherEngine, Engines, OverflowLimits, Receiver, TimedCounters, Watch};
use crate::ledger::{Ledger, Reuse};
use crate::media::{Media, Shape};
use crate::placement::DataSlot;
use crate::planted::{Bug, Planted};
use crate::probe::Probe;
use crate::verbs::{AesUnits, Arriving, Beats, LockName, Offered, Role, Slot, Untrusted, Wanted};
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
    units: Units,
    locks: LockTable<LockName>,
    counters: RefCell<TimedCounters>,
    pub(super) durable: Durable,
    windows: Windows,
    overflows: Overflows,
    receiver: Rc<dyn Receiver>,
}

impl TimedMemory {
    /// A blank memory of this shape behind these channels. With `ledger`, every pad is written down.
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
            units: Units::new(engines),
            locks: LockTable::new(clock),
            counters: RefCell::default(),
            durable: Durable::new(ledger),
            windows: Windows::default(),
            overflows: Overflows::default(),
            receiver,
        }
    }

    /// The same, where all metadata is in one cache and goes through one port, if `one`.
    pub fn with_one_port(mut self, one: bool) -> Self {
        self.units.one_port = one;
        self
    }

    /// The same, where lines of metadata take one AES block each instead of the engine for hashes, if `by_aes`.
    pub fn with_hashes_by_aes(mut self, by_aes: bool) -> Self {
        self.units.hashes_by_aes = by_aes;
        self
    }

    /// The same, with AES units like these in the L2 of each of so many cores, which take on nothing that would wait longer
    /// than `patience` for them.
    pub fn with_private_aes(mut self, engine: &CipherEngine, cores: usize, patience: Patience) -> Self {
        self.units.add_to_l2s(engine, cores, patience);
        self
    }

    /// The same, with so much re-encryption at once.
    pub fn with_overflows(self, limits: OverflowLimits) -> Self {
        let overflows = Overflows::limited(&self.clock, limits, self.channels.memory().clone(), self.shape);
        TimedMemory { overflows, ..self }
    }

    /// The same with a deliberate weakness, or none.
    pub fn with_planted(mut self, planted: Planted) -> Self {
        self.channels.planted = planted;
        self
    }

    /// The most renewals that went on at once and the most entries of the queue that they held, where they are limited.
    pub fn most_overflows(&self) -> Option<(usize, usize)> {
        self.overflows.most()
    }

    /// Puts a probe at the pins of memory, which listens from now on; of several the first stays. It costs no time.
    pub fn attach(&self, probe: Probe) {
        self.channels.attach(probe);
    }

    /// The probe at the pins, if there is one.
    pub fn probe(&self) -> Option<&Probe> {
        self.channels.probe()
    }

    /// The memory chips.
    pub fn media(&self) -> &RefCell<Media> {
        &self.media
    }

    /// What is on the other side.
    pub(crate) fn receiver(&self) -> &dyn Receiver {
        &*self.receiver
    }

    /// What was done so far.
    pub fn counters(&self) -> TimedCounters {
        let mut counters = *self.counters.borrow();
        self.units.count(&mut counters);
        counters.ahead = self.windows.counters();
        counters
    }

    /// The registers that outlive power.
    pub fn registers(&self) -> Registers {
        self.durable.registers.borrow().clone()
    }

    /// Goes on with the registers that a loss of power has left.
    pub fn go_on_with(&self, registers: Registers) {
        self.durable.registers.replace(registers);
    }

    /// Keeps from now on what power loss has to undo. To be asked for before anything is written.
    pub fn expect_power_loss(&self) {
        self.durable.keep_open_tuple();
    }

    /// What a loss of power at this instant leaves: the chips without the tuple that is open, and the registers.
    ///
    /// # Panics
    /// If no loss was expected.
    pub fn after_power_loss(&self) -> (Media, Registers) {
        (self.durable.left_of(&self.media.borrow()), self.registers())
    }

    pub(super) fn complete(&self, completion: &Completion) {
        let mut counters = self.counters.borrow_mut();
        counters.tuples += 1;
        counters.root_updates += u64::from(completion.reaches_a_root());
        self.durable.complete(completion);
    }

    /// The longest time that a line was with the core before its verdict.
    pub fn longest_window(&self) -> Duration {
        self.windows.longest()
    }

    /// Whether pads are written down.
    pub fn ledger_is_on(&self) -> bool {
        self.durable.ledger.is_some()
    }

    /// The keystream that was noted so far, if the ledger is on.
    pub fn ledger(&self) -> Option<Ledger> {
        self.durable.ledger.as_ref().map(|ledger| ledger.borrow().clone())
    }

    /// Goes on with the ledger of a machine that had the same keys before, if the ledger is on.
    pub fn carry(&self, ledger: Ledger) {
        if let Some(own) = &self.durable.ledger {
            own.replace(ledger);
        }
    }

    /// The first keystream that served twice, if the ledger is on and one did.
    pub fn keystream_reuse(&self) -> Option<Reuse> {
        self.durable.ledger.as_ref().and_then(|ledger| ledger.borrow().reuse())
    }

    /// Asks the host for what a slot holds.
    pub fn look_ahead(&self, slot: Slot) {
        self.media.borrow().look_ahead(slot);
    }

    /// Whether a line was ever written there.
    pub fn has(&self, at: DataSlot) -> bool {
        !self.media.borrow().is_blank(at.slot())
    }

    /// The start-up content of a line, if nothing was ever written there.
    pub(super) fn start_up(&self, at: DataSlot) -> Option<Line> {
        (at.moves() || !self.has(at)).then(|| self.receiver.start_up_content(at.line()))
    }
}

/// Sends items through a unit, when they are ready: when the last comes out, and how long they had to wait for others.
fn pass(unit: &Pipe, ready: Time, items: u32) -> (Time, Duration) {
    let passage = unit.pass(ready, items);
    (passage.done, passage.start.min(passage.done).since(ready))
}

/// The timed verbs, as one access sees them.
pub struct Timed {
    memory: Rc<TimedMemory>,
    account: Cell<Account>,
    progress: ReadProgress,
}

impl Timed {
    /// The verbs over a memory.
    pub fn new(memory: &Rc<TimedMemory>) -> Timed {
        Timed { memory: memory.clone(), account: Cell::default(), progress: ReadProgress::default() }
    }

    /// Sends items through a unit, now, and waits until the last has come out.
    fn through(&self, unit: &Pipe, items: u32, part: ReadPart) -> Working<'_> {
        let now = self.memory.clock.now();
        let (done, waited) = pass(unit, now, items);
        self.working(Some(part), (now, done), waited)
    }

    /// Work that was ready for its unit then and is done at `end`, which may be before it is waited for. The unit was at work for
    /// others first, for so long.
    fn working(&self, part: Option<ReadPart>, (ready, end): (Time, Time), waited: Duration) -> Working<'_> {
        Working { timed: self, part, ready, end, waited, sleep: self.memory.clock.sleep_until(end) }
    }

    /// The line of a read goes to the core, as a whole or the first words of it.
    fn count_read(&self, line: LineAddr, whole: bool) {
        let now = self.memory.clock.now();
        let Some((took, parts)) = self.progress.released(now, whole) else {
            return self.progress.followed(now).iter().for_each(|parts| self.memory.receiver.read(line, parts));
        };
        self.memory.receiver.read(line, &parts);
        let reads = &mut self.memory.counters.borrow_mut().reads;
        reads.lines += 1;
        reads.total_fs += took.as_fs();
        reads.parts_fs += parts;
        reads.histogram.add(took);
    }

    /// The units that idle work was offered to, and their account of it.
    fn idle_work<'o>(&self, offered: &'o Offered) -> Option<(&Pipe, &'o IdleBatch)> {
        let units = self.memory.units.of_cipher(AesUnits::Controller, offered.blocks.cipher);
        offered.batch.as_ref().map(|batch| (&units.pipe, batch))
    }

    /// Waits until a stretch of time from now is over.
    fn after(&self, stretch: Duration) -> Working<'_> {
        let now = self.memory.clock.now();
        self.working(None, (now, now + stretch), Duration::ZERO)
    }

    fn count_moved(&self, (first, second): (Burst, Option<Burst>)) {
        let words = u64::from(first.words) + second.map_or(0, |second| u64::from(second.words));
        self.memory.counters.borrow_mut().bytes_moved += words * WORD_BYTES as u64;
    }

    fn note_unit(&self, end: Time, waited: Duration) {
        let waited_for = (waited > Duration::ZERO).then_some(Cause::Unit);
        self.account.set(Account { waited_for, done: Some(end), waited, ..Account::default() });
    }

    /// Writes a slot, as part of a tuple if it `persists`.
    async fn write(&self, slot: Slot, role: Role, content: Untrusted, persists: bool) {
        self.memory.counters.borrow_mut().stored.count(role);
        // The bytes count from now on: a read that comes while the write waits for the queue must see them.
        let late = self.memory.channels.planted.has(Bug::StoredAfterQueue);
        if !late {
            self.memory.durable.put(&self.memory.media, slot, content, persists);
        }
        let asked = self.memory.clock.now();
        let channels = &self.memory.channels;
        let bursts = self.memory.shape.bursts(slot);
        self.count_moved(bursts);
        match bursts {
            (burst, None) => channels.write(burst).await,
            (first, Some(second)) => {
                // The bytes of others on these lines are masked out, so nothing has to be read for it.
                self.memory.counters.borrow_mut().stored.count(Role::Tag);
                join!(channels.write(first), channels.write(second));
            }
        }
        if late {
            self.memory.durable.put(&self.memory.media, slot, content, persists);
        }
        let waited = self.memory.clock.now() > asked;
        self.account.set(Account { waited_for: waited.then_some(Cause::Queue), ..Account::default() });
    }

    async fn read(&self, slot: Slot, role: Role, wanted: Wanted) -> Arriving {
        let channels = &self.memory.channels;
        let (first, second) = self.memory.shape.bursts(slot);
        self.count_moved((first, second));
        self.memory.counters.borrow_mut().fetched.count(role);
        let began = self.memory.clock.now();
        // How the line's own queue and bank were, when all of it is there, and which burst the picture shows: the last one's.
        let (answer, beats, burst) = match second {
            None => {
                let answer = channels.memory().read(first, wanted).await;
                channels.was_read(first.line, &answer);
                let beats = channels.memory().beats(&answer, wanted.from);
                (answer, beats, answer.burst.then_some(answer.at))
            }
            Some(second) => {
                self.memory.counters.borrow_mut().fetched.count(Role::Tag);
                // What the second waits for is the first: only that may have waited for others.
                let (answer, last) = Box::pin(channels.read_both(first, second)).await;
                (answer, Beats::at_once(answer.at.max(last.at)), last.burst.then_some(last.at))
            }
        };
        // It waits for room in the queue, too.
        let waited = answer.waited + answer.arrived.since(began);
        self.progress.fetched(role, (began, waited), self.memory.clock.now());
        let (waited_for, outcome) = (cause_of(answer.waited_for), Some(word_for(answer.outcome)));
        self.account.set(Account { waited_for, outcome, data: burst, ..Account::default() });
        Arriving { content: self.memory.media.borrow().read(slot), beats }
    }
}

/// A wait for work that has begun. By hand, as [`Sleep`] is.
struct Working<'a> {
    timed: &'a Timed,
    /// What it counts for among the parts of a read.
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

    fn account(&self) -> Account {
        self.account.take()
    }
}
