//! Which waiting request goes next, and when.
//!
//! The policies differ in one number, how many requests of an open row may overtake an older one of the same bank
//! that needs another row: any number (FR-FCFS), at most the cap, or none (FCFS, which moreover keeps to the order of
//! age between banks). The answer is the request whose next command, be it a column command, an activate or a
//! precharge, may issue first; of several, the oldest. A tick-by-tick first-ready scheduler comes to the same choice,
//! only one clock at a time.
//!
//! Each bank has at most one such request of each kind: its candidate. It changes only when its bank does, so it is
//! kept, and choosing means looking at one number per bank with requests instead of at all requests.

use super::Kind;
use super::config::Scheduler;
use super::device::{CLOSED, Device, Gate};
use super::queue::RequestQueue;
use super::refresh::Refresh;
use crate::bits::BitSet;

/// What the controller remembers of a bank.
#[derive(Clone, Debug, Default)]
pub(super) struct BankLoad {
    /// A row was opened for a request that has not used it yet: it must stay open.
    pub opening: bool,
    /// How many have overtaken an older request since the row was opened.
    pub overtaken: u32,
}

/// The request of one bank and kind that goes first, and what it waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Candidate {
    /// Its position among the requests of its bank.
    pub position: usize,
    /// Its age.
    age: u64,
    /// When its bank is ready for its next command: never, while the bank must not be closed.
    ready: u64,
    /// The group and the gate of it through which the command must pass.
    group: usize,
    gate: Gate,
    /// The rank, whose refresh comes first.
    rank: usize,
}

impl Candidate {
    /// No request waits.
    pub const NONE: Candidate =
        Candidate { position: 0, age: u64::MAX, ready: u64::MAX, group: 0, gate: Gate::Free, rank: 0 };

    /// The clock at which its command may issue, no earlier than `floor`.
    pub fn at(&self, device: &Device, floor: u64) -> u64 {
        self.ready.max(device.gates[self.group][self.gate as usize]).max(floor)
    }

    /// The same, if that is before the refresh of its rank falls due.
    pub fn before_refresh(&self, device: &Device, refreshes: &[Refresh], floor: u64) -> Option<u64> {
        let at = self.at(device, floor);
        (at < refreshes[self.rank].due).then_some(at)
    }
}

/// The candidates of all banks for one kind.
#[derive(Clone, Debug)]
pub(super) struct Candidates {
    of_bank: Vec<Candidate>,
    /// The banks that have one: of many, few are wanted at a time.
    there: BitSet,
}

impl Candidates {
    /// None yet, for so many banks.
    pub fn new(banks: usize) -> Candidates {
        Candidates { of_bank: vec![Candidate::NONE; banks], there: BitSet::new(banks) }
    }

    /// The candidate of a bank.
    pub fn of(&self, bank: usize) -> &Candidate {
        &self.of_bank[bank]
    }

    /// Changes the candidate of a bank, and says whether it is another one now.
    pub fn set(&mut self, bank: usize, candidate: Candidate) -> bool {
        self.there.insert(bank);
        std::mem::replace(&mut self.of_bank[bank], candidate) != candidate
    }

    /// Leaves a bank without one, and says whether it had one.
    pub fn clear(&mut self, bank: usize) -> bool {
        let had = self.of_bank[bank] != Candidate::NONE;
        if had {
            self.there.remove(bank);
            self.of_bank[bank] = Candidate::NONE;
        }
        had
    }

    /// The banks that have one, in order, with it.
    fn iter(&self) -> impl Iterator<Item = (usize, &Candidate)> {
        self.there.iter().map(|bank| (bank, &self.of_bank[bank]))
    }
}

/// A bank to serve and the clock of its command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pick {
    /// When the command issues.
    pub at: u64,
    /// The bank.
    pub bank: usize,
}

/// A [`Scheduler`] as limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    /// How many requests of an open row may overtake an older one of another row.
    overtake: u32,
    /// Whether age also orders the banks.
    in_order: bool,
}

impl Policy {
    /// The limits of a scheduler.
    pub fn new(scheduler: Scheduler) -> Policy {
        match scheduler {
            Scheduler::FrFcfs => Policy { overtake: u32::MAX, in_order: false },
            Scheduler::FrFcfsCapped { cap } => Policy { overtake: cap, in_order: false },
            Scheduler::Fcfs => Policy { overtake: 0, in_order: true },
        }
    }

    /// The candidate of a bank with requests.
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
        let hit = requests.iter().position(|waiting| waiting.place.row == bank.open_row);
        match hit {
            Some(position) if position == 0 || load.overtaken < self.overtake => {
                let age = requests[position].age;
                Candidate { position, age, ready: bank.column_ready, gate: Gate::of_column(kind), ..oldest }
            }
            _ if load.opening => oldest,
            _ => Candidate { ready: bank.precharge_ready, ..oldest },
        }
    }

    /// The next of the candidates, no earlier than `floor` and before the refresh of its rank falls due.
    pub fn pick(&self, candidates: &Candidates, device: &Device, refreshes: &[Refresh], floor: u64) -> Option<Pick> {
        if self.in_order {
            let (bank, oldest) = candidates.iter().min_by_key(|(_, candidate)| candidate.age)?;
            return oldest.before_refresh(device, refreshes, floor).map(|at| Pick { at, bank });
        }
        // Written without branches: which bank wins is as good as random, and a misprediction costs more than a bank.
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

    /// Whether a new request can only matter through its own bank's candidate.
    pub fn is_local(&self) -> bool {
        !self.in_order
    }
}
