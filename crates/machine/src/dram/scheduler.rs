//! Scheduler: selects the next request and its clock.
//!
//! The policies differ in a number: how many requests of an open row may overtake an older request of the same bank for
//! another row. The number is unlimited in FR-FCFS and limited by the cap in capped FR-FCFS. It is zero in FCFS, which
//! also serves requests of different banks in the order of their age. The scheduler selects the request with the
//! earliest next command: a column command, an activate or a precharge. Among requests with equally early commands, it
//! selects the oldest. A tick-by-tick first-ready scheduler makes the same choice, only one clock at a time.
//!
//! A read that must follow another read of its group is no candidate for a column command. If it is the oldest read of
//! its bank, its row stays open for it.
//!
//! Each bank has at most one candidate read and one candidate write: the request of the bank that may issue a command
//! first. The candidate changes only with the state of its bank, so the model stores it. The selection reads one number
//! per bank with requests, instead of all requests.

use super::Kind;
use super::config::Scheduler;
use super::device::{CLOSED, Device, Gate};
use super::queue::{QueuedRequest, RequestQueue};
use super::refresh::Refresh;
use crate::bits::BitSet;

/// State of a bank for the scheduler.
#[derive(Clone, Debug, Default)]
pub(super) struct BankLoad {
    /// True if a row was opened for a request that has not used the row yet, so the row must stay open.
    pub opening: bool,
    /// Number of requests that have overtaken an older request of another row since the row was opened.
    pub overtaken: u32,
}

/// The first request of one bank and kind, and its constraints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Candidate {
    /// Index among the requests of the bank.
    pub position: usize,
    /// Age of the request.
    age: u64,
    /// Clock at which the bank is ready for the request's next command; `u64::MAX` while the bank must not be closed.
    ready: u64,
    /// Bank group of the request, and the gate that constrains its next command.
    group: usize,
    gate: Gate,
    /// Rank of the bank. A due refresh of the rank has priority over the request.
    rank: usize,
}

impl Candidate {
    /// Candidate of a bank without requests.
    pub const NONE: Candidate =
        Candidate { position: 0, age: u64::MAX, ready: u64::MAX, group: 0, gate: Gate::Free, rank: 0 };

    /// Returns the earliest clock, at or after `floor`, at which the candidate's command may issue.
    pub fn at(&self, device: &Device, floor: u64) -> u64 {
        self.ready.max(device.gates[self.group][self.gate as usize]).max(floor)
    }

    /// Returns the clock of [`Candidate::at`] if it is before the next refresh of the rank, and `None` otherwise.
    pub fn before_refresh(&self, device: &Device, refreshes: &[Refresh], floor: u64) -> Option<u64> {
        let at = self.at(device, floor);
        (at < refreshes[self.rank].due).then_some(at)
    }
}

/// The candidates of all banks for one kind.
#[derive(Clone, Debug)]
pub(super) struct BankCandidates {
    of_bank: Vec<Candidate>,
    /// Banks with a candidate. Few of the many banks have requests at a time.
    there: BitSet,
}

impl BankCandidates {
    /// Creates an empty set of candidates for `banks` banks.
    pub fn new(banks: usize) -> BankCandidates {
        BankCandidates { of_bank: vec![Candidate::NONE; banks], there: BitSet::new(banks) }
    }

    /// Returns the candidate of a bank.
    pub fn of(&self, bank: usize) -> &Candidate {
        &self.of_bank[bank]
    }

    /// Changes the candidate of a bank; returns true if it is a different one.
    pub fn set(&mut self, bank: usize, candidate: Candidate) -> bool {
        self.there.insert(bank);
        std::mem::replace(&mut self.of_bank[bank], candidate) != candidate
    }

    /// Removes the candidate of a bank; returns true if it had one.
    pub fn clear(&mut self, bank: usize) -> bool {
        let had = self.of_bank[bank] != Candidate::NONE;
        if had {
            self.there.remove(bank);
            self.of_bank[bank] = Candidate::NONE;
        }
        had
    }

    /// Returns the banks with a candidate, in order, with the candidates.
    fn iter(&self) -> impl Iterator<Item = (usize, &Candidate)> {
        self.there.iter().map(|bank| (bank, &self.of_bank[bank]))
    }
}

/// A bank to serve and the clock of its command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pick {
    /// Clock of the command.
    pub at: u64,
    /// Bank to serve next.
    pub bank: usize,
}

/// A [`Scheduler`] expressed as limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct SchedulerLimits {
    /// Maximum number of requests of an open row that may overtake an older request of another row.
    overtake: u32,
    /// True if age also orders the banks.
    in_order: bool,
}

impl SchedulerLimits {
    /// Creates the limits of a scheduler.
    pub fn new(scheduler: Scheduler) -> SchedulerLimits {
        match scheduler {
            Scheduler::FrFcfs => SchedulerLimits { overtake: u32::MAX, in_order: false },
            Scheduler::FrFcfsCapped { cap } => SchedulerLimits { overtake: cap, in_order: false },
            Scheduler::Fcfs => SchedulerLimits { overtake: 0, in_order: true },
        }
    }

    /// Computes the candidate of a bank with requests.
    pub fn candidate(
        &self,
        queue: &RequestQueue,
        kind: Kind,
        device: &Device,
        load: &BankLoad,
        number: usize,
    ) -> Candidate {
        let requests = queue.of_bank(number);
        let bank = &device.banks[number];
        let oldest = &requests[0];
        let oldest = Candidate { age: oldest.age, group: bank.group, rank: bank.rank, ..Candidate::NONE };
        if bank.open_row == CLOSED {
            return Candidate { ready: bank.activate_ready, gate: Gate::Activate, ..oldest };
        }
        let is_open = |waiting: &QueuedRequest| waiting.cell.row == bank.open_row;
        let hit = requests.iter().position(|waiting| is_open(waiting) && !waiting.must_follow);
        match hit {
            Some(position) if position == 0 || load.overtaken < self.overtake => {
                let age = requests[position].age;
                Candidate { position, age, ready: bank.column_ready, gate: Gate::of_column(kind), ..oldest }
            }
            _ if load.opening || is_open(&requests[0]) => oldest,
            _ => Candidate { ready: bank.precharge_ready, ..oldest },
        }
    }

    /// Selects the candidate with the earliest command at or after `floor`. The command must issue before the refresh
    /// of its rank is due.
    pub fn pick(
        &self,
        candidates: &BankCandidates,
        device: &Device,
        refreshes: &[Refresh],
        floor: u64,
    ) -> Option<Pick> {
        if self.in_order {
            let (bank, oldest) = candidates.iter().min_by_key(|(_, candidate)| candidate.age)?;
            return oldest.before_refresh(device, refreshes, floor).map(|at| Pick { at, bank });
        }
        // Written without branches: the winning bank is practically random, and a mispredicted host branch costs more
        // time than the comparison for one bank.
        let (mut best, mut bank) = (u128::MAX, 0);
        for (number, candidate) in candidates.iter() {
            let at = candidate.before_refresh(device, refreshes, floor).unwrap_or(u64::MAX);
            let order = u128::from(at) << 64 | u128::from(candidate.age);
            bank = if order < best { number } else { bank };
            best = best.min(order);
        }
        let at = (best >> 64) as u64;
        (at < u64::MAX).then_some(Pick { at, bank })
    }

    /// Returns true if a new request can change the scheduler's decision only as the candidate of its bank.
    pub fn is_local(&self) -> bool {
        !self.in_order
    }
}
