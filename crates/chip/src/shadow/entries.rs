//! Stores the lines that the shadow keeps, each at a separate index.

use std::ops::{Deref, DerefMut};
use units::{Line, LineAddr};

/// A line that the shadow keeps.
pub(crate) struct ShadowEntry {
    pub bytes: Line,
    pub line: LineAddr,
    /// Mask of the known bytes, one bit per byte; zero if the entry is free.
    pub known: u64,
    /// True if the line has content that memory lacks.
    pub unwritten: bool,
}

/// Entries of all lines. New lines reuse the indices of forgotten lines.
#[derive(Default)]
pub(crate) struct ShadowEntries {
    entries: Vec<ShadowEntry>,
    free: Vec<u32>,
}

impl ShadowEntries {
    /// Number of entries in use.
    pub fn held(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Lines that memory has with their latest content, in the descending order of their entries.
    pub fn written_lines(&self) -> Vec<LineAddr> {
        let written = self.entries.iter().rev().filter(|entry| entry.known != 0 && !entry.unwritten);
        written.map(|entry| entry.line).collect()
    }

    /// Adds an entry; returns its index.
    pub fn add(&mut self, entry: ShadowEntry) -> usize {
        match self.free.pop() {
            Some(index) => {
                self.entries[index as usize] = entry;
                index as usize
            }
            None => {
                self.entries.push(entry);
                self.entries.len() - 1
            }
        }
    }

    /// Frees the entry at this index.
    pub fn free(&mut self, index: usize) {
        self.free.push(index as u32);
    }

    /// Bytes of host memory that the entries occupy.
    pub fn footprint_bytes(&self) -> u64 {
        (self.entries.capacity() * size_of::<ShadowEntry>()) as u64
    }
}

impl Deref for ShadowEntries {
    type Target = [ShadowEntry];

    fn deref(&self) -> &[ShadowEntry] {
        &self.entries
    }
}

impl DerefMut for ShadowEntries {
    fn deref_mut(&mut self) -> &mut [ShadowEntry] {
        &mut self.entries
    }
}
