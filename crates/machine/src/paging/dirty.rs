//! Lines of mapped files that programs have stored to since the files were last made durable.
//!
//! An operating system knows by pages what it has to write back; here the lines are known, so that no clean line is flushed.

use rustc_hash::FxHashMap;
use std::ops::Range;
use units::{LINE_BYTES, LineAddr, PAGE_BYTES};

const LINES: u64 = (PAGE_BYTES / LINE_BYTES) as u64;

/// The dirty lines of each page of 4 KB whose stores are noted, a bit each.
#[derive(Default)]
pub(super) struct DirtyLines(FxHashMap<u64, u64>);

impl DirtyLines {
    /// Whether no page's stores are noted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Stores to a page are noted from now on, or not any more.
    pub fn track(&mut self, page: u64, tracked: bool) {
        if tracked {
            self.0.entry(page).or_default();
        } else {
            self.0.remove(&page);
        }
    }

    /// A line is stored to.
    pub fn store(&mut self, line: LineAddr) {
        if let Some(dirty) = self.0.get_mut(&(line.0 / LINES)) {
            *dirty |= 1 << (line.0 % LINES);
        }
    }

    /// Of a page that begins at `start` of its object, the dirty lines in this part of the object; they are clean from now on.
    /// Nothing if its stores are not noted.
    pub fn take(&mut self, start: u64, page: u64, part: &Range<u64>) -> Option<Vec<LineAddr>> {
        let dirty = self.0.get_mut(&page)?;
        let offset_of = |line: u64| start + line * LINE_BYTES as u64;
        let is_in_part = |line: &u64| offset_of(*line) < part.end && offset_of(line + 1) > part.start;
        let taken: Vec<_> = (0..LINES).filter(|line| *dirty >> line & 1 != 0).filter(is_in_part).collect();
        taken.iter().for_each(|line| *dirty &= !(1 << line));
        Some(taken.into_iter().map(|line| LineAddr(page * LINES + line)).collect())
    }
}
