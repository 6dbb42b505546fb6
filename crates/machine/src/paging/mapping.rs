//! Frames of pages, by page number. The entries of neighbouring pages are close in the memory of the host.

use super::{LEVEL_BITS, PROCESS_SHIFT};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The frames of the pages under one last-level page table; [`UNMAPPED`] for pages without a frame.
type Leaf = [u64; 1 << LEVEL_BITS];
const UNMAPPED: u64 = u64::MAX;

/// The frames of all pages that have one.
#[derive(Default)]
pub(super) struct FrameTable {
    leaves: FxHashMap<u64, Box<Leaf>>,
    /// Numbers of the leaves of each process, in the order of their allocation.
    of_process: FxHashMap<u64, Vec<u64>>,
}

/// Mapping of one process: its leaves, each with its number without the process.
pub(super) struct ProcessMapping(Vec<(u64, Box<Leaf>)>);

/// Returns the leaf of a page, and the page's position in it.
#[inline]
fn position(key: u64) -> (u64, usize) {
    (key >> LEVEL_BITS, key as usize % (1 << LEVEL_BITS))
}

/// Returns the process of a leaf, with the mark of large pages.
fn process_of(leaf: u64) -> u64 {
    leaf >> (PROCESS_SHIFT as usize - LEVEL_BITS)
}

impl FrameTable {
    /// Returns the frame of a page.
    #[inline]
    pub fn get(&self, key: u64) -> Option<u64> {
        let (leaf, index) = position(key);
        let frame = self.leaves.get(&leaf).map(|leaf| leaf[index])?;
        (frame != UNMAPPED).then_some(frame)
    }

    /// Assigns a frame to a page.
    pub fn set(&mut self, key: u64, frame: u64) {
        let (leaf, index) = position(key);
        let entry = self.leaves.entry(leaf).or_insert_with(|| {
            self.of_process.entry(process_of(leaf)).or_default().push(leaf);
            Box::new([UNMAPPED; 1 << LEVEL_BITS])
        });
        entry[index] = frame;
    }

    /// Removes the frame of a page and returns it.
    pub fn remove(&mut self, key: u64) -> Option<u64> {
        let (leaf, index) = position(key);
        let frame = std::mem::replace(&mut self.leaves.get_mut(&leaf)?[index], UNMAPPED);
        (frame != UNMAPPED).then_some(frame)
    }

    /// Returns the pages in this range that have frames.
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

    /// Returns the frames of a process.
    pub fn frames_of(&self, process: u64) -> impl Iterator<Item = u64> + '_ {
        let leaves = self.of_process.get(&process).into_iter().flatten();
        mapped(leaves.filter_map(|leaf| self.leaves.get(leaf)))
    }

    /// Returns the frames of all processes.
    pub fn frames(&self) -> impl Iterator<Item = u64> + '_ {
        mapped(self.leaves.values())
    }

    /// Copies the mapping of a process.
    pub fn copy_of(&self, process: u64) -> ProcessMapping {
        let leaves = self.of_process.get(&process).into_iter().flatten();
        ProcessMapping(leaves.filter_map(|leaf| Some((number(*leaf), self.leaves.get(leaf)?.clone()))).collect())
    }

    /// Removes and returns the mapping of a process.
    pub fn take(&mut self, process: u64) -> ProcessMapping {
        let leaves = self.of_process.remove(&process).unwrap_or_default().into_iter();
        ProcessMapping(leaves.filter_map(|leaf| Some((number(leaf), self.leaves.remove(&leaf)?))).collect())
    }

    /// Assigns a mapping to a process.
    pub fn put(&mut self, process: u64, mapping: ProcessMapping) {
        for (number, frames) in mapping.0 {
            let leaf = process << (PROCESS_SHIFT as usize - LEVEL_BITS) | number;
            self.of_process.entry(process).or_default().push(leaf);
            self.leaves.insert(leaf, frames);
        }
    }
}

/// Returns a leaf's number without its process.
fn number(leaf: u64) -> u64 {
    leaf & ((1 << (PROCESS_SHIFT as usize - LEVEL_BITS)) - 1)
}

impl ProcessMapping {
    /// Returns the frames, page by page.
    pub fn frames(&self) -> impl Iterator<Item = u64> + '_ {
        mapped(self.0.iter().map(|(_, leaf)| leaf))
    }
}

/// Returns the frames in some leaves.
fn mapped<'a>(leaves: impl Iterator<Item = &'a Box<Leaf>>) -> impl Iterator<Item = u64> {
    leaves.flat_map(|leaf| leaf.iter().copied()).filter(|frame| *frame != UNMAPPED)
}
