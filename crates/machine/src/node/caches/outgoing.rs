//! Requests that leave L2, until the owner of the node takes them.
//!
//! Every part of the core that needs a line, or evicts or flushes one, adds a request here. The list is empty between
//! two steps of the node: [`Node`](crate::node::Node) moves the requests of a step to the list of its owner. A feed
//! that warms the caches takes them itself.

use crate::node::interface::{Request, RequestKind};
use crate::node::lines::WordAddr;
use units::{Clock, Cycles};

/// Requests of one core that its owner has not taken yet, in the order in which they take effect.
#[derive(Clone, Debug)]
pub struct Outgoing {
    requests: Vec<Request>,
    clock: Clock,
    /// Cycle of the latest answer to the core. Requests leave at or after it.
    latest_answer: u64,
}

impl Outgoing {
    pub(super) fn new(clock: Clock) -> Outgoing {
        Outgoing { requests: Vec::new(), clock, latest_answer: 0 }
    }

    /// Returns true if the list has no request.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Appends all requests to `list`, in order. The list is empty afterwards.
    #[inline]
    pub fn move_to(&mut self, list: &mut Vec<Request>) {
        if !self.requests.is_empty() {
            list.append(&mut self.requests);
        }
    }

    /// Removes the latest request, or returns `None` if the list has no request.
    pub(super) fn take_last(&mut self) -> Option<Request> {
        self.requests.pop()
    }

    /// Records that the core received an answer at `cycle`. Later requests leave at or after `cycle`.
    pub(in crate::node) fn answered(&mut self, cycle: u64) {
        self.latest_answer = self.latest_answer.max(cycle);
    }

    /// Returns the cycle of the latest answer to the core.
    pub(super) fn latest_answer(&self) -> u64 {
        self.latest_answer
    }

    /// Adds a request that leaves at `cycle`, or at the latest answer if that is later. Returns the cycle at which it
    /// leaves.
    pub(in crate::node) fn send(&mut self, word: WordAddr, cycle: u64, kind: RequestKind) -> u64 {
        let cycle = cycle.max(self.latest_answer);
        let at = self.clock.start_of(Cycles(cycle));
        self.requests.push(Request { at, line: word.line(), word: word.word(), kind });
        cycle
    }
}
