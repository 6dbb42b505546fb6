//! Waiting requests, by bank and in order of age.
//!
//! The fields that the scheduler compares are stored in the queue, and move when an earlier entry of the queue is
//! removed. The fields that are needed only at the end of a request stay in an entry of a pool, identified by a ticket.

use super::address_map::Cell;
use super::wait::ArrivalConditions;
use super::{Kind, ReadGroup, RowOutcome};
use units::Time;

/// A request as the scheduler sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedRequest {
    /// Number of requests that arrived before this request.
    pub age: u64,
    /// Cell in the channel.
    pub cell: Cell,
    /// Read or write request.
    pub kind: Kind,
    /// Entry of the request in the [`RequestPool`].
    pub ticket: u16,
    /// True while an earlier read of the same group has not been transferred. The row may open, but not be used.
    pub must_follow: bool,
}

impl QueuedRequest {
    /// Returns the number of the request's bank.
    pub fn bank(&self) -> usize {
        usize::from(self.cell.bank)
    }
}

/// All waiting requests of one kind.
#[derive(Clone, Debug)]
pub(super) struct RequestQueue {
    banks: Vec<Vec<QueuedRequest>>,
    len: usize,
    capacity: usize,
}

impl RequestQueue {
    /// Creates an empty queue for `capacity` requests.
    pub fn new(banks: usize, capacity: usize) -> RequestQueue {
        RequestQueue { banks: vec![Vec::new(); banks], len: 0, capacity }
    }

    /// Returns the number of waiting requests.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if one more request fits, next to `others` that are no longer in the queue but keep their entries.
    pub fn has_room_with(&self, others: usize) -> bool {
        self.len + others < self.capacity
    }

    /// Returns the requests for one bank, oldest first.
    pub fn of_bank(&self, bank: usize) -> &[QueuedRequest] {
        &self.banks[bank]
    }

    /// Re-enters a cancelled request at its position, by age, among the requests of its bank.
    pub fn take_back(&mut self, waiting: QueuedRequest) {
        let requests = &mut self.banks[waiting.bank()];
        let cell = requests.partition_point(|other| other.age < waiting.age);
        requests.insert(cell, waiting);
        self.len += 1;
    }

    /// Adds the youngest request.
    pub fn push(&mut self, waiting: QueuedRequest) {
        self.banks[waiting.bank()].push(waiting);
        self.len += 1;
    }

    /// Permits the transfer of the oldest waiting request of a group. Returns its bank, or `None` if no request of the
    /// group waits.
    pub fn permit_next(&mut self, group: ReadGroup, pool: &RequestPool) -> Option<usize> {
        let waiting = self.banks.iter_mut().flatten();
        let next = waiting.filter(|waiting| pool.is_in(waiting.ticket, group)).min_by_key(|waiting| waiting.age)?;
        next.must_follow = false;
        Some(next.bank())
    }

    /// Removes the request at this position of its bank.
    pub fn remove(&mut self, bank: usize, position: usize) -> QueuedRequest {
        self.len -= 1;
        self.banks[bank].remove(position)
    }
}

/// Fields of a request that the scheduler does not compare.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestDetails {
    /// Token chosen by the sender.
    pub token: u32,
    /// Time at which the request was submitted.
    pub arrived: Time,
    /// Number of words to transfer.
    pub words: u8,
    /// Group of a read, if the order of several reads matters.
    pub group: Option<ReadGroup>,
    /// State of the bank at the request's first command; `None` before that command.
    pub outcome: Option<RowOutcome>,
    /// State of the channel at the request's arrival, which determines the cause of its wait.
    pub waits: ArrivalConditions,
}

/// All requests of the channel, each in a separate entry identified by its ticket.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestPool {
    requests: Vec<RequestDetails>,
    free: Vec<u16>,
}

impl RequestPool {
    /// Stores a request; returns its ticket.
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

    /// Returns the request with this ticket.
    pub fn get_mut(&mut self, ticket: u16) -> &mut RequestDetails {
        &mut self.requests[usize::from(ticket)]
    }

    /// Returns true if the request with this ticket is a read of this group.
    fn is_in(&self, ticket: u16, group: ReadGroup) -> bool {
        self.requests[usize::from(ticket)].group == Some(group)
    }

    /// Returns true if a read of this group has not been transferred yet.
    pub fn has(&self, group: ReadGroup) -> bool {
        self.requests.iter().any(|request| request.group == Some(group))
    }

    /// Frees the ticket and returns its request.
    pub fn remove(&mut self, ticket: u16) -> RequestDetails {
        self.free.push(ticket);
        let entry = &mut self.requests[usize::from(ticket)];
        let request = *entry;
        entry.group = None;
        request
    }
}
