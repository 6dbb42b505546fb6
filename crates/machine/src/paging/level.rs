//! Pages of one size: their frames, and the sharing of frames.

use super::frames::Frames;
use super::mapping::{FrameTable, ProcessMapping};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Pages of one size.
pub(super) struct Level {
    pub frames: Frames,
    pub mapping: FrameTable,
    /// Copies of the mappings of processes at their forks, by process and fork. Each is stored until the child begins.
    forks: FxHashMap<(u32, u32), ProcessMapping>,
    /// The mark of large pages in page numbers, as part of the process.
    mark: u64,
}

impl Level {
    /// Creates a level in which no page has a frame.
    pub fn new(frames: Frames) -> Level {
        let mark = if frames.are_large() { 1 << (63 - super::PROCESS_SHIFT) } else { 0 };
        Level { frames, mapping: FrameTable::default(), forks: FxHashMap::default(), mark }
    }

    /// Unmaps pages of a process; `base` is the number of the first page of the process.
    pub fn unmap(&mut self, base: u64, pages: Range<u64>) {
        for key in self.mapping.mapped(base + pages.start..base + pages.end) {
            if let Some(frame) = self.mapping.remove(key) {
                self.frames.give_up(frame);
            }
        }
    }

    /// Moves pages of a process to page `to` and the following pages; `base` is the number of the first page of the
    /// process.
    pub fn move_pages(&mut self, base: u64, pages: Range<u64>, to: u64) {
        let keys = self.mapping.mapped(base + pages.start..base + pages.end);
        let moved: Vec<_> = keys.into_iter().filter_map(|key| Some((key, self.mapping.remove(key)?))).collect();
        self.unmap(base, to..to + (pages.end - pages.start));
        moved.into_iter().for_each(|(key, frame)| self.mapping.set(key - pages.start + to, frame));
    }

    /// Returns the frames of a process, in order.
    pub fn frames_of(&self, process: u32) -> Vec<u64> {
        self.mapping.frames_of(self.mark | u64::from(process)).collect()
    }

    /// Keeps a copy of the process's mapping for its child, until the child begins or the process ends.
    pub fn fork(&mut self, process: u32, fork: u32) {
        let mapping = self.mapping.copy_of(self.mark | u64::from(process));
        mapping.frames().for_each(|frame| self.frames.share(frame));
        self.forks.insert((process, fork), mapping);
    }

    /// Starts a child with its parent's mapping at a fork.
    pub fn begin_copy(&mut self, child: u32, parent: u32, fork: u32) {
        if let Some(mapping) = self.forks.remove(&(parent, fork)) {
            self.mapping.put(self.mark | u64::from(child), mapping);
        }
    }

    /// Releases all frames of a process, and the frames of its forks that never started a child.
    pub fn end(&mut self, process: u32) {
        let mut failed: Vec<_> = self.forks.keys().filter(|(parent, _)| *parent == process).copied().collect();
        failed.sort_unstable();
        for mapping in failed.iter().filter_map(|fork| self.forks.remove(fork)).collect::<Vec<_>>() {
            mapping.frames().for_each(|frame| self.frames.give_up(frame));
        }
        let mapping = self.mapping.take(self.mark | u64::from(process));
        mapping.frames().for_each(|frame| self.frames.give_up(frame));
    }
}
