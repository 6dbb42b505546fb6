//! The recorder's protocol: a program as chunks of 64-bit words.
//!
//! A [`Block`] is a straight run of instructions, sent once. The dynamic part is a list of words, laid out as
//! [`wire::word`] says: a block was entered, an instruction of it touched an address, here is the value that it stored,
//! here is what a line held when it was first touched. A [`Walker`](crate::walker::Walker) turns them into steps.
//!
//! Accesses wider than eight bytes arrive as several accesses of eight bytes of one instruction. Stores always carry
//! their value; whether a load does is said by each load's own word, so that sources may mix both.

use isa::Instruction;
use std::sync::Arc;
use units::VirtAddr;

pub use wire::word::{Birth, LineCause, Loss, PageDetail, PageKind};

/// The number of a block, unique within its process image.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockId(pub u32);

/// A straight run of instructions, entered at its first and left after its last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Its number.
    pub id: BlockId,
    /// Its instructions, in order.
    pub instructions: Vec<Instruction>,
    /// The bytes that they were decoded from, so that a stored trace can be decoded anew. Empty if there are none.
    pub code: Box<[u8]>,
}

/// Which flow of control a chunk belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Strand {
    /// The process image, counted from zero: a fork or an exec starts a new one, with an address space of its own.
    pub process: u32,
    /// The thread within its process, counted from zero.
    pub thread: u32,
}

/// A stretch of one strand's execution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chunk {
    /// Whose execution.
    pub strand: Strand,
    /// Blocks of this process that the words may name from here on.
    pub new_blocks: Vec<Arc<Block>>,
    /// What happened, in order: whole records as [`wire::word`] lays them out, without code records.
    pub words: Vec<u64>,
}

/// Whether an access reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessKind {
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
}

/// One access of at most eight bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The first byte's address.
    pub addr: VirtAddr,
    /// 1, 2, 4 or 8.
    pub bytes: u8,
    /// Load or store.
    pub kind: AccessKind,
    /// The bytes that were loaded or stored, little-endian; always there for a store.
    pub value: Option<u64>,
}

/// One executed instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step<'a> {
    /// What executed it.
    pub strand: Strand,
    /// What.
    pub instruction: &'a Instruction,
    /// Its accesses to memory, in order.
    pub accesses: &'a [Access],
    /// Where execution went next, if the recording says.
    pub next: Option<VirtAddr>,
}
