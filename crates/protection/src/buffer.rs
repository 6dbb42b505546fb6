//! Entries of the persist buffer, which is next to L1D and has a battery (SecPB, HPCA 2023, section IV-B, Fig. 5).
//!
//! ```text
//! entry:  line │ plaintext │ counter │ pad │ root │ ciphertext │ tag        each but the first two with a valid bit
//! ```
//! An entry holds a line with the content of all accepted stores. Each field is set once its step is done. The counter,
//! the pad and the root do not depend on the plaintext, and stay valid while the line is resident. A store invalidates
//! ciphertext and tag.
//!
//! The owner of the buffer, not this module, chooses the entry to drain.

use crate::codec::Sealed;
use crate::counter::Counter;
use crate::planted::{Bug, PlantedBug};
use crypto::Tag;
use std::hash::{Hash, Hasher};
use units::{Line, LineAddr};

/// A line that is resident in the buffer.
#[derive(Clone)]
pub(crate) struct BufferEntry {
    /// Address of the line.
    pub line: LineAddr,
    /// Content of the line after its stores.
    pub plaintext: Line,
    /// New version of the line.
    pub counter: Option<Counter>,
    /// True if the pad of the new version is computed.
    pub pad: bool,
    /// True if the root includes the new version.
    pub root: bool,
    /// Ciphertext of the line.
    pub sealed: Option<Sealed>,
    /// Tag of the line.
    pub tag: Option<Tag>,
}

impl BufferEntry {
    fn new(line: LineAddr, plaintext: Line) -> BufferEntry {
        BufferEntry { line, plaintext, counter: None, pad: false, root: false, sealed: None, tag: None }
    }
}

/// All entries of the persist buffer, in the order in which they were allocated.
#[derive(Clone, Default)]
pub(crate) struct BufferEntries {
    entries: Vec<BufferEntry>,
    /// Stores that were accepted so far.
    accepted: u64,
}

impl Hash for BufferEntries {
    /// Ciphertext and tag follow from the other fields, so only their validity counts.
    fn hash<H: Hasher>(&self, hash: &mut H) {
        for entry in &self.entries {
            let BufferEntry { line, plaintext, counter, pad, root, sealed, tag } = entry;
            (line, plaintext, counter, pad, root, sealed.is_some(), tag.is_some()).hash(hash);
        }
    }
}

impl BufferEntries {
    /// Accepts a store that gives the line this content, into the line's entry or into a new one.
    pub fn take(&mut self, line: LineAddr, plaintext: &Line, planted: PlantedBug) {
        self.accepted += 1;
        let Some(entry) = self.find(line) else { return self.entries.push(BufferEntry::new(line, *plaintext)) };
        entry.plaintext = *plaintext;
        if !planted.has(Bug::CiphertextOfOlderText) {
            entry.sealed = None;
        }
        if !planted.has(Bug::TagOfOlderText) {
            entry.tag = None;
        }
        if planted.has(Bug::CountedByEachStore) {
            entry.counter = None;
        }
    }

    /// Returns the entry of a line for changing, if the line is resident.
    pub fn find(&mut self, line: LineAddr) -> Option<&mut BufferEntry> {
        self.entries.iter_mut().find(|entry| entry.line == line)
    }

    /// Returns the entry of a line, if the line is resident.
    pub fn get(&self, line: LineAddr) -> Option<&BufferEntry> {
        self.entries.iter().find(|entry| entry.line == line)
    }

    /// Removes the entry of a line that is now durable in memory.
    pub fn remove(&mut self, line: LineAddr) {
        self.entries.retain(|entry| entry.line != line);
    }

    /// Number of stores that were accepted.
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// All entries, the oldest first.
    pub fn all(&self) -> &[BufferEntry] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_to_a_buffer_entry_keeps_only_its_text_independent_early_values() {
        let mut entries = BufferEntries::default();
        entries.take(LineAddr(3), &[1; 64], PlantedBug::NONE);
        let entry = entries.find(LineAddr(3)).unwrap();
        (entry.counter, entry.pad, entry.root) = (Some(Counter::default()), true, true);
        entry.tag = Some(Tag::default());
        entries.take(LineAddr(3), &[2; 64], PlantedBug::NONE);
        let entry = entries.get(LineAddr(3)).unwrap();
        assert_eq!((entry.plaintext, entry.counter), ([2; 64], Some(Counter::default())));
        assert!(entry.pad && entry.root && entry.sealed.is_none() && entry.tag.is_none());
    }

    #[test]
    fn persist_buffer_entries_are_in_the_order_of_their_allocation() {
        let mut entries = BufferEntries::default();
        [5, 3, 5, 4].iter().for_each(|line| entries.take(LineAddr(*line), &[0; 64], PlantedBug::NONE));
        entries.remove(LineAddr(3));
        entries.take(LineAddr(3), &[0; 64], PlantedBug::NONE);
        assert_eq!(entries.all().iter().map(|entry| entry.line.0).collect::<Vec<_>>(), [5, 4, 3]);
    }
}
