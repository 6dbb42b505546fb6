//! What is kept of an explained way to run: everything, or what meets a window of time.

use crate::execution::operation::Operation;
use crate::verbs::{AesUnits, Cache, Leg, Slot};
use crypto::BlockCipher;
use sim::span::Span;
use std::cell::RefCell;
use units::Time;

/// What does a piece of work, as far as its verb says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Memory, for this slot.
    Memory(Slot),
    /// Units of a block cipher.
    Cipher(AesUnits, BlockCipher),
    /// The same, for candidates of a speculation, which many batches at once wait to go in for.
    Candidates(BlockCipher),
    /// What decodes counters.
    Decoder,
    /// The engine for authentication codes.
    Mac,
    /// What hashes lines of metadata.
    Hash,
    /// A cache.
    Cache(Cache),
    /// A leg of the way on the chip.
    Way(Leg),
    /// None: the access waits for others, or for time to pass.
    Wait,
    /// None: what takes no time.
    Exit,
}

/// A piece of work: a span, and what is known of the unit that did it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// What did it.
    pub unit: Unit,
    /// What was done.
    pub span: Span,
    /// When the unit took it up: later than it was asked for, if the unit was at work for others.
    pub began: Time,
    /// Of a read of memory that moved a line: when the last of it had arrived.
    pub data: Option<Time>,
}

/// What is kept.
pub trait Keep {
    /// Something was done.
    fn operation(&self, operation: impl FnOnce() -> Operation);
    /// Something took from `start` to `end`.
    fn span(&self, start: Time, end: Time, piece: impl FnOnce() -> Piece);
}

/// Keeps all operations and all spans.
#[derive(Default)]
pub struct Everything {
    operations: RefCell<Vec<Operation>>,
    spans: RefCell<Vec<Span>>,
}

impl Everything {
    pub(super) fn take_operations(&self) -> Vec<Operation> {
        self.operations.take()
    }

    pub(super) fn operations(&self) -> usize {
        self.operations.borrow().len()
    }

    pub(super) fn take_spans(&self) -> Vec<Span> {
        self.spans.take()
    }

    pub(super) fn add(&self, span: Span) {
        self.spans.borrow_mut().push(span);
    }
}

impl Keep for Everything {
    fn operation(&self, operation: impl FnOnce() -> Operation) {
        self.operations.borrow_mut().push(operation());
    }

    fn span(&self, _: Time, _: Time, piece: impl FnOnce() -> Piece) {
        self.add(piece().span);
    }
}
