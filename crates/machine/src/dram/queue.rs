//! Requests that wait, by bank and in order of age.
//!
//! What the scheduler compares is kept apart from what only the end of a request needs: the former moves when a queue
//! closes up, the latter keeps its entry in a pool, under a ticket.

use super::address_map::Place;
use super::wait::ArrivalConditions;
use super::{Kind, RowOutcome};
use units::Time;

/// A request as the scheduler sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// How many requests came before it.
    pub age: u64,
    /// Its cell.
    pub place: Place,
    /// Read or write.
    pub kind: Kind,
    /// Its entry in the [`Pool`].
    pub ticket: u16,
}

impl Waiting {
    /// The number of its bank.
    pub fn bank(&self) -> usize {
        usize::from(self.place.bank)
    }
}

/// All waiting requests of one kind.
#[derive(Clone, Debug)]
pub(super) struct RequestQueue {
    banks: Vec<Vec<Waiting>>,
    len: usize,
    capacity: usize,
}

impl RequestQueue {
    /// An empty queue for so many requests.
    pub fn new(banks: usize, capacity: usize) -> RequestQueue {
        RequestQueue { banks: vec![Vec::new(); banks], len: 0, capacity }
    }

    /// How many requests wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether one more fits, with `others` that are no longer in it but keep their entries.
    pub fn has_room_beside(&self, others: usize) -> bool {
        self.len + others < self.capacity
    }

    /// The requests for one bank, oldest first.
    pub fn of_bank(&self, bank: usize) -> &[Waiting] {
        &self.banks[bank]
    }

    /// Takes a request back at its position among those of its bank.
    pub fn take_back(&mut self, waiting: Waiting) {
        let requests = &mut self.banks[waiting.bank()];
        let place = requests.partition_point(|other| other.age < waiting.age);
        requests.insert(place, waiting);
        self.len += 1;
    }

    /// Adds the youngest request.
    pub fn push(&mut self, waiting: Waiting) {
        self.banks[waiting.bank()].push(waiting);
        self.len += 1;
    }

    /// Takes out the request at this position of its bank.
    pub fn remove(&mut self, bank: usize, position: usize) -> Waiting {
        self.len -= 1;
        self.banks[bank].remove(position)
    }
}

/// The rest of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestDetails {
    /// What the sender calls it.
    pub token: u32,
    /// When it was submitted.
    pub arrived: Time,
    /// How many words move.
    pub words: u8,
    /// How it found its bank; nothing before its first command.
    pub outcome: Option<RowOutcome>,
    /// What it saw when it arrived, from which the cause of its wait follows.
    pub waits: ArrivalConditions,
}

/// All requests of the channel, each in its entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    requests: Vec<RequestDetails>,
    free: Vec<u16>,
}

impl Pool {
    /// Puts a request in and names its ticket.
    pub fn insert(&mut self, request: RequestDetails) -> u16 {
        match self.free.pop() {
            Some(ticket) => {
                self.requests[usize::from(ticket)] = request;
                ticket
            }
            None => {
                self.requests.push(request);
                (self.requests.len() - 1) as u16
            }
        }
    }

    /// The request with this ticket.
    pub fn get_mut(&mut self, ticket: u16) -> &mut RequestDetails {
        &mut self.requests[usize::from(ticket)]
    }

    /// Gives the ticket back.
    pub fn remove(&mut self, ticket: u16) -> RequestDetails {
        self.free.push(ticket);
        self.requests[usize::from(ticket)]
    }
}
