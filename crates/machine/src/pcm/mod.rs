//! One channel of phase-change memory: reads are slow, writes are slower, and the content survives a loss of power.
//!
//! ```text
//!   writes --> write-pending queue --(bus)--> write queue --> banks     durable from the first queue on
//!   reads  --> read queue ---------------------------------> banks --(bus)--> completions
//! ```
//!
//! The memory has no rows: a bank reads or writes one line at a time, with a fixed latency for each kind. A write is
//! complete as soon as it is in the controller's write-pending queue. The content of this queue survives a loss of
//! power (ADR), as does the queue in the memory device. All later steps of a write take place in the background. They
//! delay other requests only when the queues are full or when a read finds its bank writing.
//!
//! Like the DRAM model, this model is a state machine without tasks of the simulation. The caller passes requests and
//! times. The model advances from one start of a bank access or of a transfer to the next, and returns the time of the
//! next call.

mod config;

pub use config::{BankMapping, PcmConfig};

use crate::bits::BitSet;
use crate::dram::drain::Drain;
use crate::dram::wait::{ArrivalConditions, Stopwatch};
use crate::dram::{Completion, DramCounts, Kind, RowOutcome};
use std::collections::VecDeque;
use units::{Clock, Cycles, Duration, LineAddr, Time, WORDS_PER_LINE};

/// A read in progress.
#[derive(Clone, Copy, Debug)]
struct PcmRead {
    token: u32,
    arrived: Time,
    waits: ArrivalConditions,
    /// Time for which a bank works on the read; zero if the write queue answered it.
    needed: Duration,
}

/// An item and the time from which it can continue.
#[derive(Clone, Copy, Debug)]
struct Ready<T> {
    at: Time,
    what: T,
}

/// One bank; its current access ends at `free_at`.
#[derive(Clone, Debug)]
struct PcmBank {
    free_at: Time,
    reads: VecDeque<PcmRead>,
    writes: VecDeque<Ready<LineAddr>>,
}

/// Next action of the channel.
#[derive(Clone, Copy, Debug)]
enum PcmAction {
    /// Transfers the data of the read at this position over the bus.
    Answer(usize),
    /// Transfers the oldest pending write over the bus.
    Transfer,
    /// Starts the oldest request of this kind in a bank.
    Begin(usize, Kind),
}

/// One channel of phase-change memory.
#[derive(Clone, Debug)]
pub struct Pcm {
    config: PcmConfig,
    clock: Clock,
    burst: Duration,
    /// Working time of a bank, indexed by [`Kind`].
    work: [Duration; 2],
    banks: Vec<PcmBank>,
    /// Banks with waiting requests.
    wanted: BitSet,
    /// Requests that wait for a bank, indexed by [`Kind`].
    waiting: [usize; 2],
    pending: VecDeque<Ready<LineAddr>>,
    /// Reads in or behind their banks: their data wait, or will wait, for the bus.
    fetched: Vec<Ready<PcmRead>>,
    bus_free_at: Time,
    /// Earliest time of new actions, because earlier times have passed.
    floor: Time,
    drain: Drain,
    drain_clock: Stopwatch,
    answered: Vec<Completion>,
    counts: DramCounts,
}

impl Pcm {
    /// Creates an idle channel.
    ///
    /// # Panics
    /// If the configuration does not pass [`PcmConfig::check`].
    pub fn new(config: PcmConfig) -> Pcm {
        if let Err(broken) = config.check() {
            panic!("the configuration of phase-change memory is impossible: {broken}");
        }
        let clock = config.clock_mhz.clock();
        let bank = PcmBank { free_at: Time::ZERO, reads: VecDeque::new(), writes: VecDeque::new() };
        Pcm {
            clock,
            burst: clock.span(Cycles(config.burst_clocks)),
            work: [Duration::from_ns_f64(config.read_ns), Duration::from_ns_f64(config.write_ns)],
            banks: vec![bank; config.banks],
            wanted: BitSet::new(config.banks),
            waiting: [0, 0],
            pending: VecDeque::with_capacity(config.write_pending_queue),
            fetched: Vec::new(),
            bus_free_at: Time::ZERO,
            floor: Time::ZERO,
            drain: Drain::new(config.drain_start, config.drain_stop, config.write_queue),
            drain_clock: Stopwatch::default(),
            answered: Vec::new(),
            counts: DramCounts::default(),
            config,
        }
    }

    /// Returns true if [`Pcm::submit`] would accept one more request of this kind. Only [`Pcm::advance`] frees room.
    pub fn has_room(&self, kind: Kind) -> bool {
        match kind {
            Kind::Read => self.waiting[Kind::Read as usize] < self.config.read_queue,
            Kind::Write => self.pending.len() < self.config.write_pending_queue,
        }
    }

    /// Returns true if no request waits for a bank, and no write for the bus.
    pub fn is_idle(&self) -> bool {
        self.waiting == [0, 0] && self.pending.is_empty()
    }

    /// Returns true if a write of this line waits for the bus to the memory.
    pub fn holds_write(&self, line: LineAddr) -> bool {
        self.pending.iter().any(|write| write.what == line)
    }

    /// Accepts a request at `now`. A write is durable from `now` on; it replaces a pending write of the same line. The
    /// controller answers a read of a pending line one clock later. A read of a line in the write queue of the memory
    /// device needs no bank. Returns true if the request transfers a line over the bus.
    ///
    /// # Panics
    /// If the queue has no room for the request.
    pub fn submit(&mut self, now: Time, line: LineAddr, kind: Kind, token: u32) -> bool {
        assert!(self.has_room(kind), "a {kind:?} was submitted to a full queue");
        self.run_before(now);
        self.floor = now;
        let is_pending = self.holds_write(line);
        match kind {
            Kind::Write if is_pending => self.counts.merged += 1,
            Kind::Write => self.pending.push_back(Ready { at: now, what: line }),
            Kind::Read if is_pending => {
                let read = self.forwarded(now, token);
                self.answer(read, now, self.clock.period(), false);
            }
            Kind::Read => self.submit_read(now, line, token),
        }
        match kind {
            Kind::Read => self.counts.reads += 1,
            Kind::Write => self.counts.writes += 1,
        }
        self.update_turn(now);
        !is_pending
    }

    fn submit_read(&mut self, now: Time, line: LineAddr, token: u32) {
        let number = self.bank_of(line);
        if self.banks[number].writes.iter().any(|write| write.what == line) {
            let read = self.forwarded(now, token);
            self.fetched.push(Ready { at: now, what: read });
            return;
        }
        let drain = self.drain_clock.at(now.as_fs());
        let bank = &mut self.banks[number];
        let waits = ArrivalConditions { seen: now.as_fs(), refresh: 0, drain, bank_free: bank.free_at.as_fs() };
        bank.reads.push_back(PcmRead { token, arrived: now, waits, needed: self.work[Kind::Read as usize] });
        self.wanted.insert(number);
        self.waiting[Kind::Read as usize] += 1;
    }

    /// Creates a read that needs no bank.
    fn forwarded(&mut self, now: Time, token: u32) -> PcmRead {
        self.counts.forwarded += 1;
        let drain = self.drain_clock.at(now.as_fs());
        let waits = ArrivalConditions { seen: now.as_fs(), refresh: 0, drain, bank_free: 0 };
        PcmRead { token, arrived: now, waits, needed: Duration::ZERO }
    }

    /// Performs all actions that begin at or before `now`, and appends the completions of the answered reads, with
    /// arrival times that may be after `now`. Returns the time of the next call, or `None` when no request waits.
    pub fn advance(&mut self, now: Time, completions: &mut Vec<Completion>) -> Option<Time> {
        self.run_before(now + Duration::from_fs(1));
        completions.append(&mut self.answered);
        self.next().map(|(at, _)| at)
    }

    fn run_before(&mut self, end: Time) {
        while let Some((at, action)) = self.next()
            && at < end
        {
            self.floor = at;
            self.perform(at, action);
            self.update_turn(at);
        }
    }

    /// Returns the statistics of the channel. Its counts of row hits, closed rows and row conflicts stay zero.
    pub fn counts(&self) -> &DramCounts {
        &self.counts
    }

    fn bank_of(&self, line: LineAddr) -> usize {
        self.config.mapping.bank(line, self.banks.len())
    }

    /// Updates the turn after the queues have changed.
    fn update_turn(&mut self, now: Time) {
        let [reads, writes] = self.waiting;
        self.drain.update(reads, writes);
        self.drain_clock.set(self.drain.writing() && writes > 0, now.as_fs());
    }

    /// Returns the first possible action and its time: at equal times, the bus has priority over the banks, and a bank
    /// over banks with higher numbers.
    fn next(&self) -> Option<(Time, PcmAction)> {
        let banks = self.wanted.iter().filter_map(|bank| self.next_of_bank(bank));
        let (at, action) = self.next_of_bus().into_iter().chain(banks).min_by_key(|(at, _)| *at)?;
        Some((at.max(self.floor), action))
    }

    /// Returns the next action of the bus. The bus serves the request that has waited longest for the bus, and a read
    /// before a write that has waited equally long. So neither kind can block the other.
    fn next_of_bus(&self) -> Option<(Time, PcmAction)> {
        let read = self.fetched.iter().enumerate().map(|(position, read)| (read.at, PcmAction::Answer(position)));
        let has_room = self.waiting[Kind::Write as usize] < self.config.write_queue;
        let write = self.pending.front().filter(|_| has_room).map(|write| (write.at, PcmAction::Transfer));
        let (at, action) = read.chain(write).min_by_key(|(at, _)| *at)?;
        Some((at.max(self.bus_free_at), action))
    }

    /// Returns the next action of a bank. Writes start only during their turn. A write then precedes a read of the same
    /// bank that could start at the same time.
    fn next_of_bank(&self, number: usize) -> Option<(Time, PcmAction)> {
        let bank = &self.banks[number];
        let write = bank.writes.front().filter(|_| self.drain.writing());
        let write = write.map(|write| (write.at.max(bank.free_at), PcmAction::Begin(number, Kind::Write)));
        let read = bank.reads.front();
        let read = read.map(|read| (read.arrived.max(bank.free_at), PcmAction::Begin(number, Kind::Read)));
        write.into_iter().chain(read).min_by_key(|(at, _)| *at)
    }

    fn perform(&mut self, at: Time, action: PcmAction) {
        match action {
            PcmAction::Answer(position) => {
                let read = self.fetched.remove(position).what;
                self.occupy_bus(at);
                self.answer(read, at, self.burst, true);
            }
            PcmAction::Transfer => self.transfer(at),
            PcmAction::Begin(number, kind) => self.begin(at, number, kind),
        }
    }

    /// Transfers the oldest pending write into the write queue of the memory device, where it replaces a waiting write
    /// of the same line.
    fn transfer(&mut self, at: Time) {
        let Some(Ready { what: line, .. }) = self.pending.pop_front() else { return };
        self.occupy_bus(at);
        let number = self.bank_of(line);
        let writes = &mut self.banks[number].writes;
        if writes.iter().any(|write| write.what == line) {
            self.counts.merged += 1;
        } else {
            writes.push_back(Ready { at: self.bus_free_at, what: line });
            self.wanted.insert(number);
            self.waiting[Kind::Write as usize] += 1;
        }
    }

    fn begin(&mut self, at: Time, number: usize, kind: Kind) {
        let done = at + self.work[kind as usize];
        let bank = &mut self.banks[number];
        bank.free_at = done;
        match kind {
            Kind::Read => {
                self.fetched.extend(bank.reads.pop_front().map(|what| Ready { at: done, what }));
                self.drain.read_served();
            }
            Kind::Write => {
                bank.writes.pop_front();
                self.drain.write_served();
            }
        }
        if bank.reads.is_empty() && bank.writes.is_empty() {
            self.wanted.remove(number);
        }
        self.waiting[kind as usize] -= 1;
    }

    fn occupy_bus(&mut self, at: Time) {
        self.bus_free_at = at + self.burst;
        self.counts.data_bus_busy_clocks += self.config.burst_clocks;
    }

    /// Answers a read with data that begin to arrive at `begins` and take `takes`, over the bus or from the
    /// controller's write-pending queue.
    fn answer(&mut self, read: PcmRead, begins: Time, takes: Duration, burst: bool) {
        let PcmRead { token, arrived, waits, needed } = read;
        let drain = self.drain_clock.at(begins.as_fs());
        let at = begins + takes;
        self.counts.read_latency += at.since(arrived);
        self.answered.push(Completion {
            token,
            first_at: begins + Duration::from_fs(takes.as_fs() / 8),
            at,
            arrived,
            outcome: if needed > Duration::ZERO { RowOutcome::Closed } else { RowOutcome::Hit },
            waited_for: waits.cause(begins.as_fs(), needed.as_fs(), 0, drain),
            waited: Duration::from_fs(waits.beyond(begins.as_fs(), needed.as_fs())),
            words: WORDS_PER_LINE as u8,
            burst,
        });
    }
}

#[cfg(test)]
mod tests;
