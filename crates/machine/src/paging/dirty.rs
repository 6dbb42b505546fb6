//! Dirty lines of mapped files: lines that programs have stored to since the files were last made durable.
//!
//! An operating system tracks dirty pages. This model tracks dirty lines, so that no clean line is flushed.

use super::PagingNews;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::rc::Rc;
use units::{LineAddr, PhysAddr};

/// The dirty lines of each page of 4 KB with tracked stores: one bit for each line.
pub struct DirtyLines {
    lines: FxHashMap<u64, u128>,
    news: Rc<PagingNews>,
}

impl DirtyLines {
    pub(super) fn new(news: Rc<PagingNews>) -> DirtyLines {
        DirtyLines { lines: FxHashMap::default(), news }
    }

    /// Starts or stops tracking the stores to a page of 4 KB, which belongs to a file that a program maps.
    pub fn track(&mut self, page: PhysAddr, tracked: bool) {
        let page = page.page();
        if tracked {
            self.lines.entry(page).or_default();
        } else {
            self.lines.remove(&page);
        }
        self.news.track_stores(!self.lines.is_empty());
    }

    /// Returns true if stores to a page of 4 KB are tracked.
    pub fn tracks(&self, page: PhysAddr) -> bool {
        self.lines.contains_key(&page.page())
    }

    /// Records a store to a line: if the stores to its page are tracked, the line is dirty.
    pub fn store(&mut self, line: LineAddr) {
        let lines = self.news.line_length().per_page();
        if let Some(dirty) = self.lines.get_mut(&(line.0 / lines)) {
            *dirty |= 1 << (line.0 % lines);
        }
    }

    /// Removes and returns the dirty lines of a page that are in this part of its object; `start` is the offset of the
    /// page in the object. Returns `None` if the stores to the page are not tracked.
    pub(super) fn take(&mut self, start: u64, page: u64, part: &Range<u64>) -> Option<Vec<LineAddr>> {
        let length = self.news.line_length();
        let dirty = self.lines.get_mut(&page)?;
        let lines = length.per_page();
        let offset_of = |line: u64| start + line * length.bytes() as u64;
        let is_in_part = |line: &u64| offset_of(*line) < part.end && offset_of(line + 1) > part.start;
        let taken: Vec<_> = (0..lines).filter(|line| *dirty >> line & 1 != 0).filter(is_in_part).collect();
        taken.iter().for_each(|line| *dirty &= !(1 << line));
        Some(taken.into_iter().map(|line| LineAddr(page * lines + line)).collect())
    }
}
