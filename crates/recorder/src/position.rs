//! A thread's position in the block that it executes, derived from its accesses to memory.

use crate::blocks::CodeBlock;
use crate::lines::lines_of;
use libc::c_void;
use std::ops::Range;

/// Kind of an access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportedAccess {
    /// The instruction has only loaded.
    Load,
    /// The instruction has only stored.
    Store,
    /// An atomic instruction has loaded and stored. The loaded value is lost.
    LoadAndStore,
}

/// An instruction, by its block and its index. Small enough to pass through QEMU in place of a pointer.
#[derive(Clone, Copy)]
pub struct InstructionId {
    /// Number of the block.
    pub block: u32,
    /// Index of the instruction in the block.
    pub index: u16,
}

impl InstructionId {
    /// Packs the instruction into the pointer that QEMU stores.
    pub fn pack(self) -> *mut c_void {
        ((self.block as usize) << 16 | usize::from(self.index)) as *mut c_void
    }

    /// Unpacks the instruction from the pointer that QEMU stored.
    #[inline]
    pub fn unpack(data: *mut c_void) -> InstructionId {
        InstructionId { block: (data as usize >> 16) as u32, index: data as usize as u16 }
    }
}

/// Progress of a thread in its block. Most instructions access memory once or not at all.
#[derive(Default)]
pub struct Position {
    block: u32,
    /// Index, plus one, of the last instruction that accessed memory.
    accessed: u16,
    /// Address and number of the bytes that were loaded last.
    loaded: (u64, u8),
}

impl Position {
    /// Notes that the thread enters a block.
    #[inline]
    pub fn enter(&mut self, block: &CodeBlock) {
        (self.block, self.accessed) = (block.id, 0);
    }

    /// Returns the number of instructions of the block that have run for certain: up to its last access to memory.
    pub fn ran(&self) -> u16 {
        self.accessed
    }

    /// Returns true if an access by this instruction can be the thread's next one.
    #[inline]
    pub fn can_reach(&self, instruction: InstructionId) -> bool {
        instruction.block == self.block && instruction.index + 1 >= self.accessed
    }

    /// Notes that the instruction with this index loads bytes.
    #[inline]
    pub fn load(&mut self, index: u16, address: u64, bytes: u8) {
        (self.accessed, self.loaded) = (index + 1, (address, bytes));
    }

    /// Notes that the instruction with this index stores.
    #[inline]
    pub fn store(&mut self, index: u16) {
        self.accessed = index + 1;
    }

    /// Returns the lines of the last load if the instruction with this index made the last access, else an empty range.
    pub fn lines_loaded_by(&self, index: u16) -> Range<u64> {
        if self.accessed == index + 1 { lines_of(self.loaded.0, self.loaded.1.into()) } else { 0..0 }
    }
}
