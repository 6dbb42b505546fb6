//! Filters of an explained run: keep all spans, or those that overlap a window of time.

use crate::execution::operation::Operation;
use crate::verbs::{AesUnits, Cache, Leg, Slot};
use crypto::BlockCipher;
use sim::span::{Span, Verb};
use std::cell::RefCell;
use units::{Duration, Time};

/// Unit that does a piece of work, as far as the verb determines the unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Memory, for this slot.
    Memory(Slot),
    /// Units of a block cipher.
    Cipher(AesUnits, BlockCipher),
    /// Units of a block cipher, for candidates of a speculation: many batches wait for these units at once.
    Candidates(BlockCipher),
    /// Decoder of counter lines.
    Decoder,
    /// The engine for authentication codes.
    Mac,
    /// Engine that hashes metadata lines.
    Hash,
    /// A cache on the chip.
    Cache(Cache),
    /// A leg of the path on the chip.
    Way(Leg),
    /// No unit: the access waits for other accesses, or for time to pass.
    Wait,
    /// No unit: the piece takes no time.
    Exit,
}

/// A piece of work: a span, and information about the unit that did it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitSpan {
    /// Unit that did the work.
    pub unit: Unit,
    /// Span of the work.
    pub span: Span,
    /// Time at which the unit began the work: later than the request, if the unit was busy with other work.
    pub began: Time,
    /// Time that the cause of the wait has added to a read from memory.
    pub delayed: Duration,
    /// Arrival time of the last data, for a read that transferred a line from memory.
    pub data: Option<Time>,
}

/// Filter that keeps operations and spans. A filter that drops a record does not call the function that builds it.
pub trait Keep {
    /// Receives an operation that was done.
    fn operation(&self, operation: &dyn Fn() -> Operation);
    /// Receives a piece of work that lasted from `start` to `end`.
    fn span(&self, start: Time, end: Time, piece: &dyn Fn() -> UnitSpan);
}

/// Keeps all operations and all spans.
#[derive(Default)]
pub struct Everything {
    operations: RefCell<Vec<Operation>>,
    spans: RefCell<Vec<Span>>,
}

impl Everything {
    /// Returns and clears all operations so far, in the order of their requests.
    pub fn take_operations(&self) -> Vec<Operation> {
        self.operations.take()
    }

    /// Number of operations since they were last taken.
    pub fn operations(&self) -> usize {
        self.operations.borrow().len()
    }

    /// Returns and clears the timeline so far, in the order in which spans ended.
    pub fn take_spans(&self) -> Vec<Span> {
        self.spans.take()
    }

    /// Adds a piece of work by another component to the timeline.
    pub fn add(&self, verb: Verb, what: String, start: Time, end: Time) {
        let span = Span { verb, what, start, end, waited_for: None, outcome: None };
        self.spans.borrow_mut().push(span);
    }
}

impl Keep for Everything {
    fn operation(&self, operation: &dyn Fn() -> Operation) {
        self.operations.borrow_mut().push(operation());
    }

    fn span(&self, _: Time, _: Time, piece: &dyn Fn() -> UnitSpan) {
        self.spans.borrow_mut().push(piece().span);
    }
}
