//! The recorder's protocol: a program as chunks of 64-bit words.
//!
//! A [`Block`] is a straight run of instructions, sent once. The dynamic part is a list of words: a block was entered,
//! an instruction of it touched an address, here is the value that it stored, here is what a line held when it was first
//! touched. Two bits at the top tell the words apart:
//!
//! | bits 62-63 | word | the other bits | followed by |
//! |---|---|---|---|
//! | 0 | load   | 59-61 log2 of the size in bytes, 58 value follows, 48-57 index of the instruction in its block, 0-47 address | the value, if bit 58 is set |
//! | 1 | store  | as a load | the value, always |
//! | 2 | block  | 32-47 how many of its instructions ran (all but at a fault), 0-31 block number | |
//! | 3 | other  | 56-61 which ([`Control`]), 0-47 operand | see [`Control`] |
//!
//! Accesses wider than eight bytes arrive as several accesses of eight bytes of one instruction.

use crate::instruction::Instruction;
use std::sync::Arc;
use units::VirtAddr;

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
    /// What happened, in order, as described at the head of this file.
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
    /// Who executed it.
    pub strand: Strand,
    /// What.
    pub instruction: &'a Instruction,
    /// Its accesses to memory, in order.
    pub accesses: &'a [Access],
    /// Where execution went next, if the recording says.
    pub next: Option<VirtAddr>,
}

/// Why a line's content is told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LineCause {
    /// The program is about to touch this line for the first time.
    FirstTouch,
    /// The kernel may have written to it (a system call's buffer, a mapping).
    Kernel,
}
