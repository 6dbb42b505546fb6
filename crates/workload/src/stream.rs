//! The recorder's protocol: a program as batches of 64-bit words.
//!
//! A [`Block`] is a straight run of instructions, sent once. The dynamic part is a list of words in the layout of
//! [`wire::word`]: entries of blocks, addresses of accesses, values of stores. The content of a line precedes its first
//! access. A [`Walker`](crate::walker::Walker) turns the words into steps.
//!
//! An access wider than eight bytes arrives as several accesses of eight bytes of one instruction. Stores always carry
//! their value. The word of each load shows if the load carries its value, so that sources may mix both.

use isa::Instruction;
use std::sync::Arc;
use units::VirtAddr;

pub use wire::word::{Birth, LineCause, PageDetail, PageKind, RecordingLoss};

/// Number of a block, unique within its process image.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockId(pub u32);

/// A straight run of instructions, entered at its first and left after its last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Number of the block.
    pub id: BlockId,
    /// Instructions of the block, in order.
    pub instructions: Vec<Instruction>,
    /// Code bytes of the instructions, so that a stored trace can be decoded again. Empty if unknown.
    pub code: Box<[u8]>,
}

/// Flow of control that a batch belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Strand {
    /// Process image, counted from zero: a fork or an exec starts a new one, with a separate address space.
    pub process: u32,
    /// The thread within its process, counted from zero.
    pub thread: u32,
}

/// A part of one strand's execution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Batch {
    /// Strand that executed the batch.
    pub strand: Strand,
    /// Blocks of this process that words may name from here on.
    pub new_blocks: Vec<Arc<Block>>,
    /// Events in order: whole records in the layout of [`wire::word`], without code records.
    pub words: Vec<u64>,
}

/// Direction of an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessKind {
    /// A read of memory.
    Load,
    /// A write of memory.
    Store,
}

/// One access of at most eight bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Address of the first byte.
    pub addr: VirtAddr,
    /// Size in bytes: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Direction of the access.
    pub kind: AccessKind,
    /// Bytes loaded or stored, little-endian; always present for a store.
    pub value: Option<u64>,
}

/// Execution of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step<'a> {
    /// Strand that executed the instruction.
    pub strand: Strand,
    /// Instruction with its registers.
    pub instruction: &'a Instruction,
    /// Accesses of the instruction to memory, in order.
    pub accesses: &'a [Access],
    /// Address of the next instruction, if the recording contains it.
    pub next: Option<VirtAddr>,
}
