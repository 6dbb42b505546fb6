//! The lines of which the shadow has the content, each at a place of its own.

use std::ops::{Deref, DerefMut};
use units::{Line, LineAddr};

/// A line on the chip.
pub(super) struct Entry {
    pub bytes: Line,
    pub line: LineAddr,
    /// For each byte, whether it is known; no bit if the entry is free.
    pub known: u64,
    /// Whether it holds what memory lacks.
    pub ahead: bool,
}

/// All of them. The places of lines that were forgotten are taken again.
#[derive(Default)]
pub(super) struct Entries {
    entries: Vec<Entry>,
    free: Vec<u32>,
}

impl Entries {
    /// How many there are.
    pub fn held(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Adds one; returns its place.
    pub fn add(&mut self, entry: Entry) -> usize {
        match self.free.pop() {
            Some(place) => {
                self.entries[place as usize] = entry;
                place as usize
            }
            None => {
                self.entries.push(entry);
                self.entries.len() - 1
            }
        }
    }

    /// The entry at this place is forgotten.
    pub fn free(&mut self, place: usize) {
        self.free.push(place as u32);
    }

    /// Bytes of this process that they take.
    pub fn footprint_bytes(&self) -> u64 {
        (self.entries.capacity() * size_of::<Entry>()) as u64
    }
}

impl Deref for Entries {
    type Target = [Entry];

    fn deref(&self) -> &[Entry] {
        &self.entries
    }
}

impl DerefMut for Entries {
    fn deref_mut(&mut self) -> &mut [Entry] {
        &mut self.entries
    }
}
