//! The frames of pages, by page number: neighbouring pages are near each other on the host too.

use super::{LEVEL_BITS, PROCESS_SHIFT};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The frames of as many pages as one table of the last level is for; [`UNMAPPED`] of those that have none.
type Leaf = [u64; 1 << LEVEL_BITS];
const UNMAPPED: u64 = u64::MAX;

/// The frames of all pages that have one.
#[derive(Default)]
pub(super) struct Mapping {
    leaves: FxHashMap<u64, Box<Leaf>>,
    /// The leaves of each process, in the order in which it got them.
    of_process: FxHashMap<u64, Vec<u64>>,
}

/// A process's part of a mapping: leaves by the part of their number that does not name the process.
pub(super) struct ProcessMapping(Vec<(u64, Box<Leaf>)>);

/// The leaf of a page, and the page's position there.
#[inline]
fn position(key: u64) -> (u64, usize) {
    (key >> LEVEL_BITS, key as usize % (1 << LEVEL_BITS))
}

/// The process of a leaf, with the mark of large pages.
fn process_of(leaf: u64) -> u64 {
    leaf >> (PROCESS_SHIFT as usize - LEVEL_BITS)
}

impl Mapping {
    /// The frame of a page.
    #[inline]
    pub fn get(&self, key: u64) -> Option<u64> {
        let (leaf, index) = position(key);
        let frame = self.leaves.get(&leaf).map(|leaf| leaf[index])?;
        (frame != UNMAPPED).then_some(frame)
    }

    /// A page gets a frame.
    pub fn set(&mut self, key: u64, frame: u64) {
        let (leaf, index) = position(key);
        let entry = self.leaves.entry(leaf).or_insert_with(|| {
            self.of_process.entry(process_of(leaf)).or_default().push(leaf);
            Box::new([UNMAPPED; 1 << LEVEL_BITS])
        });
        entry[index] = frame;
    }

    /// A page loses its frame, which is returned.
    pub fn remove(&mut self, key: u64) -> Option<u64> {
        let (leaf, index) = position(key);
        let frame = std::mem::replace(&mut self.leaves.get_mut(&leaf)?[index], UNMAPPED);
        (frame != UNMAPPED).then_some(frame)
    }

    /// Of these pages of a process, those that have frames.
    pub fn mapped(&self, pages: Range<u64>) -> Vec<u64> {
        let leaves = pages.start >> LEVEL_BITS..pages.end.div_ceil(1 << LEVEL_BITS);
        let own = self.of_process.get(&process_of(leaves.start)).into_iter().flatten();
        let mut own: Vec<_> = own.filter(|leaf| leaves.contains(leaf)).copied().collect();
        own.sort_unstable();
        let mut found = Vec::new();
        for (leaf, frames) in own.into_iter().filter_map(|leaf| Some((leaf, self.leaves.get(&leaf)?))) {
            let keys = (leaf << LEVEL_BITS..).zip(frames.iter()).filter(|(_, frame)| **frame != UNMAPPED);
            found.extend(keys.map(|(key, _)| key).filter(|key| pages.contains(key)));
        }
        found
    }

    /// The frames of a process, in order, each once.
    pub fn frames_of(&self, process: u64) -> Vec<u64> {
        let leaves = self.of_process.get(&process).into_iter().flatten();
        let frames = leaves.filter_map(|leaf| self.leaves.get(leaf)).flat_map(|leaf| leaf.iter().copied());
        let mut frames: Vec<u64> = frames.filter(|frame| *frame != UNMAPPED).collect();
        frames.sort_unstable();
        frames.dedup();
        frames
    }

    /// A copy of what a process has.
    pub fn copy_of(&self, process: u64) -> ProcessMapping {
        let leaves = self.of_process.get(&process).into_iter().flatten();
        ProcessMapping(leaves.filter_map(|leaf| Some((number(*leaf), self.leaves.get(leaf)?.clone()))).collect())
    }

    /// Takes all that a process has.
    pub fn take(&mut self, process: u64) -> ProcessMapping {
        let leaves = self.of_process.remove(&process).unwrap_or_default().into_iter();
        ProcessMapping(leaves.filter_map(|leaf| Some((number(leaf), self.leaves.remove(&leaf)?))).collect())
    }

    /// A process has this.
    pub fn put(&mut self, process: u64, mapping: ProcessMapping) {
        for (number, frames) in mapping.0 {
            let leaf = process << (PROCESS_SHIFT as usize - LEVEL_BITS) | number;
            self.of_process.entry(process).or_default().push(leaf);
            self.leaves.insert(leaf, frames);
        }
    }
}

/// A leaf's number without its process.
fn number(leaf: u64) -> u64 {
    leaf & ((1 << (PROCESS_SHIFT as usize - LEVEL_BITS)) - 1)
}

impl ProcessMapping {
    /// The frames, page by page.
    pub fn frames(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().flat_map(|(_, leaf)| leaf.iter().copied()).filter(|frame| *frame != UNMAPPED)
    }
}
