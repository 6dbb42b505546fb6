//! A thread's position in the block that it executes, by its accesses to memory.

use crate::blocks::Block;
use crate::lines::lines_of;
use libc::c_void;
use std::ops::Range;

/// An instruction: which of which block. Small enough to be handed through QEMU in place of a pointer.
#[derive(Clone, Copy)]
pub struct Place {
    /// The block's number.
    pub block: u32,
    /// The index in the block.
    pub index: u16,
}

impl Place {
    /// As QEMU keeps it.
    pub fn pack(self) -> *mut c_void {
        ((self.block as usize) << 16 | usize::from(self.index)) as *mut c_void
    }

    /// As it was.
    #[inline]
    pub fn unpack(data: *mut c_void) -> Place {
        Place { block: (data as usize >> 16) as u32, index: data as usize as u16 }
    }
}

/// How far a thread is in a block. Most instructions access memory once or not at all.
#[derive(Default)]
pub struct Position {
    block: u32,
    /// The index, plus one, of the instruction that accessed memory last.
    accessed: u16,
    /// The bytes that were loaded last.
    loaded: (u64, u8),
}

impl Position {
    /// The thread enters a block.
    #[inline]
    pub fn enter(&mut self, block: &Block) {
        (self.block, self.accessed) = (block.id, 0);
    }

    /// The instructions of the block that have run for certain: up to its last access to memory.
    pub fn ran(&self) -> u16 {
        self.accessed
    }

    /// Whether an access by this instruction can be the thread's next one.
    #[inline]
    pub fn can_reach(&self, place: Place) -> bool {
        place.block == self.block && place.index + 1 >= self.accessed
    }

    /// The instruction with this index loads bytes.
    #[inline]
    pub fn load(&mut self, index: u16, address: u64, bytes: u8) {
        (self.accessed, self.loaded) = (index + 1, (address, bytes));
    }

    /// The instruction with this index stores.
    #[inline]
    pub fn store(&mut self, index: u16) {
        self.accessed = index + 1;
    }

    /// The lines of the last load, if the instruction with this index made it; else none.
    pub fn lines_loaded_by(&self, index: u16) -> Range<u64> {
        if self.accessed == index + 1 { lines_of(self.loaded.0, self.loaded.1.into()) } else { 0..0 }
    }
}
