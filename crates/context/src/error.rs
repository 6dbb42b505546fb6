//! Refusals of the context unit.

use crate::process::ProcessNumber;
use thiserror::Error;

/// Refusal of an operation. It leaves the state of the unit unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ContextError {
    /// The configuration has no hardware context buffer.
    #[error("a processor needs at least one hardware context buffer, and the configuration has none")]
    NoBuffers,
    /// The buffer's number is too high.
    #[error("the processor has no hardware context buffer {buffer}: it has {buffers}, numbered from 0")]
    NoSuchBuffer {
        /// Buffer that was named.
        buffer: usize,
        /// Buffers that the processor has.
        buffers: usize,
    },
    /// The buffer has no context.
    #[error("hardware context buffer {buffer} is empty")]
    BufferEmpty {
        /// Buffer that was named.
        buffer: usize,
    },
    /// Every buffer has a context, or the last one is reserved for the running context.
    #[error("no hardware context buffer of {buffers} is free: a running context keeps the last one reserved")]
    NoFreeBuffer {
        /// Buffers that the processor has.
        buffers: usize,
    },
    /// No secure process is running.
    #[error("no secure process is running")]
    NothingRunning,
    /// A secure process must be interrupted before another one is resumed.
    #[error("{process} is running and must be interrupted before another process is resumed")]
    AlreadyRunning {
        /// Process that is running.
        process: ProcessNumber,
    },
    /// The process has registered no signal handler.
    #[error("{process} has registered no signal handler")]
    NoHandler {
        /// Process of the context.
        process: ProcessNumber,
    },
    /// The handler of an earlier signal has not returned.
    #[error("{process} has not returned from its last signal")]
    SignalPending {
        /// Process of the context.
        process: ProcessNumber,
    },
    /// The process returns from a signal, but has no pending signal.
    #[error("{process} has no pending signal to return from")]
    NoSignalPending {
        /// Process of the context.
        process: ProcessNumber,
    },
    /// The process still has locked lines in a cache.
    #[error("{process} has {lines} locked lines in a cache: its chunks must be permuted before its context leaves")]
    LockedLines {
        /// Process of the context.
        process: ProcessNumber,
        /// Lines that are locked.
        lines: usize,
    },
    /// The table of contexts outside is full.
    #[error("the table of contexts outside the chip is full: it has {entries} entries")]
    TableFull {
        /// Entries of the table.
        entries: usize,
    },
    /// All numbers are used up.
    #[error("the processor has no unused number left for a context or a process")]
    NumbersExhausted,
    /// The bytes have the wrong length.
    #[error("a sealed context has {expected} bytes, and {given} were given")]
    WrongLength {
        /// Length of a sealed context.
        expected: usize,
        /// Length of the bytes.
        given: usize,
    },
    /// The bytes name another processor as the one that they are sealed for.
    #[error("the context is sealed for another processor")]
    OtherProcessor,
    /// The authentication tag does not match.
    #[error("the context is not authentic: it was modified, or sealed under another key")]
    NotAuthentic,
    /// The context is authentic, but the table has no entry for its number.
    #[error("context {number} is not outside the chip: it was imported already, or forgotten")]
    NotOutside {
        /// Number of the context.
        number: u64,
    },
    /// The context of the process is neither running nor in a buffer.
    #[error("{process} has no context on the chip, and so no keys")]
    NotOnChip {
        /// Process that was named.
        process: ProcessNumber,
    },
    /// The public key allows no shared secret.
    #[error("the public key is not a valid key of X25519")]
    InvalidPublicKey,
}
