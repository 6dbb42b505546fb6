//! The memory controller, in memory clocks. The model advances from command to command and does not execute the clocks
//! between them.
//!
//! The next command changes only when a request arrives or a command issues. The controller therefore decides on the
//! next command once, stores the decision with its clock, and is idle until that clock. At equal clocks, requests with
//! rows that are being opened have priority, then queued requests, then refreshes, then the closing of idle rows. A
//! rank accepts no command from the queues once its refresh is due. A request leaves its queue as soon as its row is
//! being opened. Its queue entry is then free, unless a change of turns may return the request to the queue
//! ([`BusTurnaround::Cancel`]).
//!
//! A read of a group whose earlier reads have not been transferred stays in its queue, also while its row is being opened
//! for it. It keeps the row only from younger reads: writes and refreshes may close the row. So no request waits for a
//! younger one, and each is transferred in the end.

mod commands;

use super::address_map::Cell;
use super::config::{BusTurnaround, DramConfig, PagePolicy};
use super::counts::DramCounts;
use super::device::{CLOSED, Device};
use super::drain::Drain;
use super::queue::{QueuedRequest, RequestDetails, RequestPool, RequestQueue};
use super::refresh::{self, Refresh};
use super::resting::Resting;
use super::scheduler::{BankCandidates, BankLoad, SchedulerLimits};
use super::timing::Timing;
use super::wait::{ArrivalConditions, Stopwatch, WaitCause};
use super::{Burst, Kind};
use std::cmp::Ordering;
use units::Time;

/// Next action of the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Action {
    /// Uses the row that was opened for the request at this position of the opening list.
    UseOpened(usize),
    /// Issues the next command for the candidate of this kind and bank.
    Advance(Kind, usize),
    /// Closes all banks of a rank for its refresh.
    PrechargeAll(usize),
    /// Refreshes a closed rank.
    Refresh(usize),
    /// Closes a row that was idle for too long.
    CloseIdle(usize),
}

/// An action and its clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Decision {
    at: u64,
    action: Action,
}

/// A read with an issued column command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    /// The clock of the command.
    pub issued: u64,
    /// Details of the served request.
    pub request: RequestDetails,
    /// Main cause of its wait.
    pub waited_for: WaitCause,
    /// Clocks for which the request waited.
    pub waited: u64,
}

/// The memory controller: its queues, banks and turns.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    device: Device,
    policy: SchedulerLimits,
    /// Idle times of open rows, if the page policy has a timeout.
    resting: Option<Resting>,
    timing: Timing,
    /// Requests that wait for a row, indexed by [`Kind`].
    queues: [RequestQueue; 2],
    /// For each kind, the candidate of every bank.
    candidates: [BankCandidates; 2],
    /// Requests with rows that are being opened, oldest first.
    opening: Vec<QueuedRequest>,
    load: Vec<BankLoad>,
    pool: RequestPool,
    drain: Drain,
    /// The kind of requests, reads or writes, that has its turn.
    turn: Kind,
    turns: BusTurnaround,
    /// Number of requests of each kind with a row that is being opened.
    under_way: [usize; 2],
    /// Clock at which the latest transfer of each kind ended on the data bus.
    moved: [u64; 2],
    drain_clock: Stopwatch,
    /// The refresh schedule of each rank.
    pub refreshes: Vec<Refresh>,
    arrivals: u64,
    /// No command may issue before this clock, because the command bus is busy or because the clock is in the past.
    floor: u64,
    next: Option<Decision>,
    /// Reads served since they were last collected.
    pub served: Vec<Served>,
    /// Statistics of the channel since power-on.
    pub counts: DramCounts,
}

impl Controller {
    /// Creates a controller for a checked configuration.
    pub fn new(config: &DramConfig) -> Controller {
        let device = Device::new(config);
        let banks = device.banks.len();
        let resting = match config.page_policy {
            PagePolicy::Open => None,
            PagePolicy::OpenWithTimeout { idle_clocks } => Some(Resting::new(idle_clocks)),
        };
        Controller {
            policy: SchedulerLimits::new(config.scheduler),
            resting,
            timing: config.timing,
            queues: [RequestQueue::new(banks, config.read_queue), RequestQueue::new(banks, config.write_queue)],
            candidates: [BankCandidates::new(banks), BankCandidates::new(banks)],
            opening: Vec::with_capacity(banks),
            load: vec![BankLoad::default(); banks],
            pool: RequestPool::default(),
            drain: Drain::new(config.drain_start, config.drain_stop, config.write_queue),
            turn: Kind::Read,
            turns: config.turns,
            under_way: [0; 2],
            moved: [0; 2],
            drain_clock: Stopwatch::default(),
            refreshes: (0..config.organisation.ranks).map(|rank| Refresh::new(config, rank)).collect(),
            arrivals: 0,
            device,
            floor: 0,
            next: None,
            served: Vec::new(),
            counts: DramCounts::default(),
        }
    }

    /// Returns true if the queue has room for one more request of this kind.
    pub fn has_room(&self, kind: Kind) -> bool {
        self.queues[kind as usize].has_room_with(self.begun(kind))
    }

    /// Returns the number of requests of one kind that keep their queue entries while their rows are being opened.
    fn begun(&self, kind: Kind) -> usize {
        match self.turns {
            BusTurnaround::Finish => 0,
            BusTurnaround::Cancel => self.under_way[kind as usize],
        }
    }

    /// Returns true if no request waits.
    pub fn is_idle(&self) -> bool {
        self.opening.is_empty() && self.queues.iter().all(|queue| queue.len() == 0)
    }

    /// Returns true if a write to this cell is waiting.
    pub fn holds_write(&self, cell: Cell) -> bool {
        self.queues[Kind::Write as usize].of_bank(usize::from(cell.bank)).iter().any(|waiting| waiting.cell == cell)
            || self.opening.iter().any(|opened| opened.cell == cell && opened.kind == Kind::Write)
    }

    /// Puts a request into its queue at the clock `now`: a burst from the cell on. All commands before `now` must have been issued.
    pub fn enqueue(&mut self, now: u64, (cell, burst): (Cell, Burst), kind: Kind, token: u32, arrived: Time) {
        self.floor = self.floor.max(now);
        let number = usize::from(cell.bank);
        let bank = &self.device.banks[number];
        let bank_free = match bank.open_row {
            row if row == cell.row => bank.column_ready,
            CLOSED => bank.activate_ready,
            _ => bank.precharge_ready,
        };
        let refresh = self.refreshes[bank.rank].clock(now);
        let waits = ArrivalConditions { seen: now, refresh, drain: self.drain_clock.at(now), bank_free };
        let (words, group) = (burst.words, burst.group.filter(|_| kind == Kind::Read));
        let must_follow = group.is_some_and(|group| self.pool.has(group));
        let ticket = self.pool.insert(RequestDetails { token, arrived, words, group, outcome: None, waits });
        self.queues[kind as usize].push(QueuedRequest { age: self.arrivals, cell, kind, ticket, must_follow });
        self.arrivals += 1;
        let changed = self.reconsider(number, kind);
        self.revise_decision(number, kind, changed);
    }

    /// Updates the decision for a new request of this bank and kind, the youngest of all. The request matters in three
    /// cases. It changes the turn, it needs a row that was about to be closed, or it changes the candidate of its bank,
    /// which may then issue first.
    fn revise_decision(&mut self, number: usize, kind: Kind, changed: bool) {
        let turn = self.turn;
        self.update_turn();
        let Some(decision) = self.next else { return };
        let own = [Action::CloseIdle(number), Action::Advance(kind, number)];
        if turn != self.turn || decision.action == own[0] || changed && decision.action == own[1] {
            self.next = None;
        } else if changed && kind == turn {
            let candidate = self.candidates[kind as usize].of(number);
            let at = candidate.before_refresh(&self.device, &self.refreshes, self.start()).unwrap_or(u64::MAX);
            self.next = match at.cmp(&decision.at) {
                Ordering::Greater => Some(decision),
                Ordering::Less if self.policy.is_local() => Some(Decision { at, action: own[1] }),
                _ => None,
            };
        }
    }

    /// Decides the turn after the queues have changed.
    fn update_turn(&mut self) {
        let [reads, writes] = [Kind::Read, Kind::Write].map(|kind| self.queues[kind as usize].len() + self.begun(kind));
        self.drain.update(reads, writes);
        self.drain_clock.set(self.drain.writing() && writes > 0, self.floor);
        let turn = if self.drain.writing() { Kind::Write } else { Kind::Read };
        if turn != self.turn && self.turns == BusTurnaround::Cancel {
            self.cancel();
        }
        self.turn = turn;
    }

    /// Returns the clock before which no command may issue for a request.
    fn start(&self) -> u64 {
        match self.turns {
            BusTurnaround::Finish => self.floor,
            BusTurnaround::Cancel => self.floor.max(self.moved[self.turn.other() as usize]),
        }
    }

    /// Cancels the requests of the current kind with rows that are being opened, because the other kind gets its turn.
    /// They wait again.
    fn cancel(&mut self) {
        let turn = self.turn;
        let cancelled = |opened: &mut QueuedRequest| opened.kind == turn;
        let cancelled: Vec<QueuedRequest> = self.opening.extract_if(.., cancelled).collect();
        self.under_way[turn as usize] = 0;
        for waiting in cancelled {
            let bank = waiting.bank();
            self.load[bank].opening = false;
            self.device.abandon(bank, self.floor);
            self.queues[turn as usize].take_back(waiting);
            self.reconsider_bank(bank);
        }
        self.next = None;
    }

    /// Recomputes the candidate of a bank; returns true if it changed.
    fn reconsider(&mut self, bank: usize, kind: Kind) -> bool {
        let (queue, candidates) = (&self.queues[kind as usize], &mut self.candidates[kind as usize]);
        if queue.of_bank(bank).is_empty() {
            return candidates.clear(bank);
        }
        candidates.set(bank, self.policy.candidate(queue, kind, &self.device, &self.load[bank], bank))
    }

    /// Recomputes the candidates of a bank after a command.
    fn reconsider_bank(&mut self, bank: usize) {
        self.reconsider(bank, Kind::Read);
        self.reconsider(bank, Kind::Write);
    }

    /// Recomputes the candidates of a rank's banks after a command to all of them.
    fn reconsider_rank(&mut self, rank: usize) {
        for bank in self.device.banks_of(rank) {
            self.reconsider_bank(bank);
        }
    }

    /// Issues every command that issues before the clock `end`.
    pub fn run_before(&mut self, end: u64) {
        loop {
            if self.is_idle() {
                self.refresh_while_idle(end);
                // An idle channel has only refreshes to issue, and idle rows to close.
                if self.resting.is_none() && !refresh::any_due_before(&self.refreshes, end) {
                    return;
                }
            }
            let decision = self.next_decision();
            if decision.at >= end {
                return;
            }
            self.perform(decision);
        }
    }

    /// Returns every command so far.
    #[cfg(test)]
    pub fn log(&self) -> &[super::oracle::Issued] {
        &self.device.log
    }

    /// Returns the clock of the controller's next command.
    pub fn next_command(&mut self) -> u64 {
        self.next_decision().at
    }

    #[inline]
    fn next_decision(&mut self) -> Decision {
        if let Some(decision) = self.next {
            debug_assert_eq!(decision, self.decide(), "a remembered decision has become stale");
            return decision;
        }
        let decision = self.decide();
        self.next = Some(decision);
        decision
    }

    /// Returns the action with the earliest clock. At equal clocks, the order of priority in the head of this file
    /// decides.
    #[inline(never)]
    fn decide(&self) -> Decision {
        let (kind, start) = (self.turn, self.start());
        let mut best = Decision { at: u64::MAX, action: Action::Refresh(0) };
        for (position, opened) in self.opening.iter().enumerate() {
            // The list is in the order in which the rows open, so the remaining entries cannot be earlier.
            if best.at <= self.device.banks[opened.bank()].column_ready.max(start) {
                break;
            }
            let at = self.device.column_at(opened.bank(), opened.kind).max(start);
            best = earlier(best, at, Action::UseOpened(position));
        }
        if best.at > self.floor {
            let candidates = &self.candidates[kind as usize];
            if let Some(pick) = self.policy.pick(candidates, &self.device, &self.refreshes, start) {
                best = earlier(best, pick.at, Action::Advance(kind, pick.bank));
            }
        }
        for rank in 0..self.refreshes.len() {
            best = self.decide_refresh(best, rank);
        }
        match &self.resting {
            Some(resting) => self.decide_timeout(best, resting),
            None => best,
        }
    }

    /// Decides a refresh: when it is due, after the requests with opened rows have used these rows and all banks are
    /// closed.
    fn decide_refresh(&self, best: Decision, rank: usize) -> Decision {
        let due = self.refreshes[rank].due.max(self.floor);
        if due >= best.at || self.opening.iter().any(|opened| self.device.banks[opened.bank()].rank == rank) {
            return best;
        }
        match self.device.precharge_all_at(rank) {
            Some(at) => earlier(best, at.max(due), Action::PrechargeAll(rank)),
            None => earlier(best, self.device.refresh_at(rank).max(due), Action::Refresh(rank)),
        }
    }

    /// Decides to close an open row that no request needs after its idle time. If several rows are due at the same
    /// clock, the bank with the lowest number is closed first.
    fn decide_timeout(&self, best: Decision, resting: &Resting) -> Decision {
        let mut first = (best.at, 0);
        for (bank, over) in resting.rows(&self.device.banks) {
            if over.max(self.floor) > first.0 {
                break;
            }
            let row = self.device.banks[bank].open_row;
            let wanted = |queue: &RequestQueue| queue.of_bank(bank).iter().any(|waiting| waiting.cell.row == row);
            if !self.load[bank].opening && !self.queues.iter().any(wanted) {
                let at = over.max(self.device.banks[bank].precharge_ready).max(self.floor);
                first = first.min((at, bank));
            }
        }
        earlier(best, first.0, Action::CloseIdle(first.1))
    }
}

/// Returns the earlier of two decisions, or the first if they are equal.
fn earlier(best: Decision, at: u64, action: Action) -> Decision {
    if at < best.at { Decision { at, action } } else { best }
}
