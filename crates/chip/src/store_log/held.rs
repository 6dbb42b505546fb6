//! A store, and the content of a line, byte by byte, as stores take effect.

use std::ops::Range;
use units::{LINE_BYTES, Line, LineAddr, VirtAddr, ZERO_LINE};

/// A store of a program, or a change from outside.
#[derive(Clone, Debug)]
pub struct Store {
    /// Core that executed the store.
    pub core: usize,
    /// Number of stores of the core before this one.
    pub number: u64,
    /// Address of the instruction.
    pub pc: VirtAddr,
    /// Address of the first byte.
    pub address: VirtAddr,
    /// Line that the store changes.
    pub line: LineAddr,
    /// True if the kernel changed the line, not an instruction.
    pub from_outside: bool,
    /// Bytes of the line that change.
    pub(super) range: Range<usize>,
    pub(super) bytes: Line,
    /// Number of stores and changes noted up to this one, over all cores.
    pub(super) order: u64,
}

/// A line with some known bytes.
#[derive(Clone, Debug)]
pub(super) struct KnownBytes {
    pub(super) bytes: Line,
    pub(super) known: u64,
}

impl KnownBytes {
    pub(super) fn nothing() -> KnownBytes {
        KnownBytes { bytes: ZERO_LINE, known: 0 }
    }

    fn has(&self, index: usize) -> bool {
        self.known >> index & 1 == 1
    }

    pub(super) fn set(&mut self, index: usize, byte: u8) {
        self.bytes[index] = byte;
        self.known |= 1 << index;
    }

    /// Index of the first known byte that differs from `content`.
    pub(super) fn first_other(&self, content: &Line) -> Option<usize> {
        (0..LINE_BYTES).find(|index| self.has(*index) && self.bytes[*index] != content[*index])
    }
}

/// Certain content of a line, byte by byte.
#[derive(Clone, Debug)]
pub struct CertainContent {
    content: KnownBytes,
    /// Order number, from 1, of the store that wrote each byte; 0 if no store wrote the byte.
    made: Box<[u64; LINE_BYTES]>,
    /// Latest store of a program in the line.
    last: Option<Store>,
}

impl CertainContent {
    pub(super) fn nothing() -> CertainContent {
        CertainContent { content: KnownBytes::nothing(), made: Box::new([0; LINE_BYTES]), last: None }
    }

    /// Applies a store, except to bytes that a later store has written.
    pub fn take(&mut self, store: &Store) {
        for index in store.range.clone() {
            if self.made[index] < store.order {
                self.made[index] = store.order;
                self.content.set(index, store.bytes[index]);
            }
        }
        let is_later = self.last.as_ref().is_none_or(|last| last.order < store.order);
        if is_later && !store.from_outside {
            self.last = Some(store.clone());
        }
    }

    /// Fills unknown bytes with content that the recording shows: these bytes had this content from the beginning.
    pub(super) fn fill(&mut self, content: &Line) {
        for (index, byte) in content.iter().enumerate() {
            if !self.content.has(index) {
                self.content.set(index, *byte);
            }
        }
    }

    /// True if memory may have returned this content.
    pub fn fits(&self, found: &Line) -> bool {
        self.content.first_other(found).is_none()
    }

    /// Index of the first byte that memory returned wrongly, and its expected value.
    pub fn first_wrong(&self, found: &Line) -> Option<(usize, u8)> {
        self.content.first_other(found).map(|index| (index, self.content.bytes[index]))
    }

    /// Latest store in the line, if a program has stored to it.
    pub fn last(&self) -> Option<&Store> {
        self.last.as_ref()
    }

    /// Latest store in the line, unless the kernel has overwritten it: the line then shows no store. A change by the kernel
    /// may reach memory before stores to other lines.
    pub fn last_shown(&self) -> Option<&Store> {
        let is_shown =
            |store: &&Store| store.range.is_empty() || store.range.clone().any(|index| self.made[index] == store.order);
        self.last.as_ref().filter(is_shown)
    }
}
