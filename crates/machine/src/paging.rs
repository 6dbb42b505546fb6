//! Physical pages: the operating system's placement of pages in memory.
//!
//! A page gets its frame when it is first touched. Like a buddy allocator, the model allocates memory in blocks of 2
//! MB. The seed determines the order of the blocks, and of the 4 KB frames within a block. So neighbouring pages are
//! scattered over banks and sets, but pages that are touched in succession are within a few megabytes. All runs with
//! the same seed have the same placement. Pages may also be scattered over all of memory, as in simulators without an
//! operating system.
//!
//! A recording may state the content of a page of a process, for example as a page of an object (a file, a segment of
//! shared memory). A page of an object has the same frame in every mapping. A forked process shares the frames of its
//! parent until one of the two gets a copy of a page. Unmapped pages release their frames ([`frames`]). If the
//! machine's pages have 2 MB, only the pages that a recording shows are mapped as pages of 4 KB.
//!
//! For a core that walks page tables, a page gets its page tables together with its frame, and these tables occupy the
//! same memory.

mod dirty;
mod divided;
mod frames;
mod level;
mod mapped;
mod mapping;
mod permutation;
#[cfg(test)]
mod tests;
mod walked;

pub use dirty::DirtyLines;
pub use divided::Divided;
pub use frames::ObjectPage;
pub use mapped::{frames_of, mapped_frames};

use crate::node::{PageTables, WalkerConfig};
use frames::Frames;
use level::Level;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use thiserror::Error;
use units::{Bytes, LineAddr, LineLength, PAGE_BYTES, PhysAddr, VirtAddr};
use walked::WalkedTables;

/// Error: a page gets no frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum OutOfMemory {
    /// All frames of the memory are in use.
    #[error("the program needs more memory than the machine's {size}: all pages of {page} are in use")]
    Full {
        /// Memory size of the machine.
        size: Bytes,
        /// The size of a page.
        page: Bytes,
    },
    /// A physical address in the trace is beyond the machine's memory.
    #[error(
        "the trace has the physical address {:#x} in its requests, and the machine's memory has {size}: expected a larger memory, as by --with machine.memory.size=\"{}\"",
        .address.0,
        Bytes((.address.0 + 1).next_power_of_two())
    )]
    Beyond {
        /// An address of the page.
        address: PhysAddr,
        /// Memory size of the machine.
        size: Bytes,
    },
}

/// Placement of virtual pages in physical memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PagePlacement {
    /// In blocks of 2 MB: pages fill one block before the next block is used.
    #[default]
    Blocks,
    /// Each page separately, anywhere in the memory.
    Scattered,
}

/// Bits of a page's number that one level of page tables translates.
const LEVEL_BITS: usize = 9;
/// First bit of the process number in a page's number.
const PROCESS_SHIFT: u64 = 40;
/// Size of the pages in recordings.
const SMALL: u64 = PAGE_BYTES as u64;

/// The page tables of all processes.
pub struct PageTable {
    page_bytes: u64,
    pages: Level,
    /// Pages of 4 KB that a recording has shown, if the machine's pages are larger.
    small: Option<Level>,
    walked: Option<WalkedTables>,
    dirty: DirtyLines,
    /// Ended processes that still own their frames.
    ended: VecDeque<u32>,
    news: Rc<PagingNews>,
}

/// Number of changes of the page tables, for components that cache translations.
#[derive(Default)]
pub struct PagingNews {
    changes: Cell<u64>,
    tracks_stores: Cell<bool>,
    maps_small: Cell<bool>,
    line_length: LineLength,
}

impl PagingNews {
    /// Returns the number of times that a page got another frame or lost its frame. Each change invalidates all cached
    /// translations.
    #[inline]
    pub fn changes(&self) -> u64 {
        self.changes.get()
    }

    /// Returns true if stores to some pages are tracked: see [`DirtyLines::store`].
    #[inline]
    pub fn tracks_stores(&self) -> bool {
        self.tracks_stores.get()
    }

    /// Returns true if pages of 4 KB are mapped separately, although the machine's pages are larger.
    #[inline]
    pub fn maps_small(&self) -> bool {
        self.maps_small.get()
    }

    /// Returns the length of memory lines.
    #[inline]
    pub fn line_length(&self) -> LineLength {
        self.line_length
    }

    fn track_stores(&self, tracked: bool) {
        self.tracks_stores.set(tracked);
    }

    fn change(&self) {
        self.changes.set(self.changes.get() + 1);
    }
}

/// Returns a page number that is unique over all processes: the process number from bit 40 on, the virtual page number
/// below.
#[inline]
pub fn page_key(process: u32, addr: VirtAddr, page_bytes: u64) -> u64 {
    let huge = u64::from(page_bytes > SMALL) << 63;
    huge | (u64::from(process) << PROCESS_SHIFT) | (addr.0 >> page_bytes.trailing_zeros())
}

impl PageTable {
    /// Creates a memory of `size`, a multiple of 2 MB, divided into pages as in `page`, with all frames free.
    pub fn new(size: Bytes, page: impl Into<Divided>, placement: PagePlacement, seed: u64) -> PageTable {
        let Divided { page, line } = page.into();
        let news = Rc::new(PagingNews { line_length: line, ..PagingNews::default() });
        PageTable {
            page_bytes: page.0,
            pages: Level::new(Frames::new(size, page, placement, seed)),
            small: (page.0 > SMALL).then(|| Level::new(Frames::carved())),
            walked: None,
            dirty: DirtyLines::new(news.clone()),
            ended: VecDeque::new(),
            news,
        }
    }

    /// Returns the same memory for a trace of physical addresses: page N has frame N, and there are no page tables.
    #[must_use]
    pub fn physical(self) -> PageTable {
        let (size, page) = (self.pages.frames.size(), Bytes(self.page_bytes));
        PageTable { pages: Level::new(Frames::physical(size, page)), walked: None, ..self }
    }

    /// Returns the same memory with page tables for `walker`, if there is one.
    #[must_use]
    pub fn walked_by(mut self, walker: Option<&WalkerConfig>) -> PageTable {
        self.walked = walker.map(|walker| WalkedTables::new(walker, self.page_bytes));
        self
    }

    /// Returns the tables of all pages, in the order of the pages' first use. Empty without a walker.
    pub fn tables(&self) -> &[PageTables] {
        self.walked.as_ref().map_or(&[], WalkedTables::all)
    }

    /// Returns the size of a page in bytes.
    #[inline]
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Returns the record of changes of these tables.
    pub fn news(&self) -> Rc<PagingNews> {
        self.news.clone()
    }

    /// Returns the start of the frame of a page; assigns a frame if the page has no frame.
    ///
    /// # Errors
    /// [`OutOfMemory`] if all frames are in use.
    pub fn frame(&mut self, key: u64) -> Result<PhysAddr, OutOfMemory> {
        if let Some(frame) = self.pages.mapping.get(key) {
            // A page that was moved or copied has a frame but no tables.
            self.make_room();
            add_tables(&mut self.walked, key, &mut self.pages.frames)?;
            return Ok(PhysAddr(frame * self.page_bytes));
        }
        self.make_room();
        let frame = self.pages.frames.take_for(key & ((1 << PROCESS_SHIFT) - 1))?;
        self.pages.mapping.set(key, frame);
        self.make_room();
        add_tables(&mut self.walked, key, &mut self.pages.frames)?;
        Ok(PhysAddr(frame * self.page_bytes))
    }

    /// Returns true if the page of a process's byte has a frame.
    pub fn is_mapped(&self, process: u32, addr: VirtAddr) -> bool {
        let has = |level: &Level, page_bytes| level.mapping.get(page_key(process, addr, page_bytes)).is_some();
        has(&self.pages, self.page_bytes) || self.small.as_ref().is_some_and(|small| has(small, SMALL))
    }

    /// Returns the physical address of a byte of a process. Assigns a frame to the page of this byte if necessary.
    ///
    /// # Errors
    /// [`OutOfMemory`] if all frames are in use.
    pub fn locate(&mut self, process: u32, addr: VirtAddr) -> Result<PhysAddr, OutOfMemory> {
        if let Some(small) = &self.small
            && let Some(frame) = small.mapping.get(page_key(process, addr, SMALL))
        {
            return Ok(PhysAddr(frame * SMALL + addr.0 % SMALL));
        }
        let frame = self.frame(page_key(process, addr, self.page_bytes))?;
        Ok(PhysAddr(frame.0 + addr.0 % self.page_bytes))
    }

    /// Maps a page of 4 KB of an object to the frame that it has in every mapping of the object.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the page needs a frame and all frames are in use.
    pub fn map_object(&mut self, process: u32, addr: VirtAddr, page: ObjectPage) -> Result<(), OutOfMemory> {
        let key = page_key(process, addr, SMALL);
        self.prepare()?;
        let level = self.shown();
        let before = level.mapping.get(key);
        if before.is_some() && before == level.frames.of_object(page) {
            return Ok(());
        }
        let frame = level.frames.take_object(page)?;
        self.map(process, addr, frame, before)
    }

    /// Maps a private page of 4 KB of a process, which a recording shows: a copy of a page that it has shared, or a new
    /// page. A copy gets a separate frame if its page was shared. A new page gets a separate frame if it is within a
    /// shared larger page.
    ///
    /// # Errors
    /// [`OutOfMemory`] if all frames are in use.
    pub fn map_own(&mut self, process: u32, addr: VirtAddr, copied: bool) -> Result<(), OutOfMemory> {
        let key = page_key(process, addr, SMALL);
        if !copied && self.small.as_ref().is_none_or(|small| small.mapping.get(key).is_some()) {
            return Ok(());
        }
        let large = self.pages.mapping.get(page_key(process, addr, self.page_bytes));
        self.prepare()?;
        let is_own_of_large = self.small.is_some() && large.is_none_or(|frame| self.pages.frames.is_own(frame));
        let level = self.shown();
        let before = level.mapping.get(key);
        if before.map_or(is_own_of_large, |frame| level.frames.is_own(frame)) {
            return Ok(());
        }
        let frame = level.frames.take()?;
        self.map(process, addr, frame, before)
    }

    /// Unmaps pages of a process and releases their frames. A page that is larger than 4 KB keeps its frame until the
    /// process has ended.
    pub fn unmap(&mut self, process: u32, addresses: Range<u64>) {
        self.news.change();
        self.shown().unmap(page_key(process, VirtAddr(0), SMALL), pages_of(&addresses));
    }

    /// Moves pages of a process to another address.
    pub fn move_pages(&mut self, process: u32, from: VirtAddr, to: VirtAddr, bytes: u64) {
        self.news.change();
        let base = page_key(process, VirtAddr(0), SMALL);
        let pages = pages_of(&(from.0..from.0 + bytes));
        self.shown().move_pages(base, pages, to.0 / SMALL);
    }

    /// Prepares a copy of a process, at its `fork`-th fork.
    pub fn fork(&mut self, process: u32, fork: u32) {
        self.levels().for_each(|level| level.fork(process, fork));
    }

    /// Starts a process as the copy of its parent at a fork.
    pub fn begin_copy(&mut self, child: u32, parent: u32, fork: u32) {
        self.news.change();
        self.levels().for_each(|level| level.begin_copy(child, parent, fork));
    }

    /// Ends a process. Releases all its frames, at once or only when memory is needed.
    pub fn end(&mut self, process: u32, when_needed: bool) {
        if when_needed {
            self.ended.push_back(process);
            return;
        }
        self.news.change();
        self.levels().for_each(|level| level.end(process));
    }

    /// Returns the lines of mapped files that programs have stored to.
    pub fn dirty(&mut self) -> &mut DirtyLines {
        &mut self.dirty
    }

    /// Removes and returns the dirty lines of a part of an object, in order. Returns `None` if no page of the object is
    /// tracked.
    pub fn take_dirty(&mut self, object: u64, part: &Range<u64>) -> Option<Vec<LineAddr>> {
        let pages = self.object_frames(object, pages_of(part)).into_iter();
        let lines = pages.map(|(index, frame)| self.dirty.take(index * SMALL, frame.0 / SMALL, part));
        lines.fold(None, |all, of_page| match (all, of_page) {
            (Some(mut all), Some(lines)) => {
                Vec::extend(&mut all, lines);
                Some(all)
            }
            (all, of_page) => all.or(of_page),
        })
    }

    /// Returns the index and the frame address of each page of an object that has a frame.
    pub fn object_frames(&self, object: u64, indices: Range<u64>) -> Vec<(u64, PhysAddr)> {
        let level = self.small.as_ref().unwrap_or(&self.pages);
        level.frames.of_pages(object, indices).map(|(index, frame)| (index, PhysAddr(frame * SMALL))).collect()
    }

    /// Returns the largest amount of memory that was in use at once, in bytes.
    pub fn used(&self) -> Bytes {
        Bytes(self.pages.frames.used() * self.page_bytes)
    }

    /// Returns the pages of 4 KB that recordings show.
    fn shown(&mut self) -> &mut Level {
        self.small.as_mut().unwrap_or(&mut self.pages)
    }

    fn levels(&mut self) -> impl Iterator<Item = &mut Level> {
        std::iter::once(&mut self.pages).chain(&mut self.small)
    }

    /// Ensures that a page of 4 KB can get a frame.
    fn prepare(&mut self) -> Result<(), OutOfMemory> {
        self.make_room();
        if let Some(small) = &mut self.small
            && small.frames.must_be_given_more()
        {
            let pages = self.page_bytes / SMALL;
            match self.pages.frames.take() {
                Ok(frame) => small.frames.carve(frame * pages..(frame + 1) * pages),
                Err(full) if !small.frames.have_unmapped() => return Err(full),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// If all frames are used, frees the frames of ended processes.
    fn make_room(&mut self) {
        while self.pages.frames.are_all_used()
            && let Some(process) = self.ended.pop_front()
        {
            self.end(process, false);
        }
    }

    /// Maps a page that a recording shows to `frame`, in place of the frame `before`.
    fn map(&mut self, process: u32, addr: VirtAddr, frame: u64, before: Option<u64>) -> Result<(), OutOfMemory> {
        self.news.change();
        let level = self.shown();
        level.mapping.set(page_key(process, addr, SMALL), frame);
        if let Some(before) = before {
            level.frames.give_up(before);
        }
        self.news.maps_small.set(self.small.is_some());
        self.make_room();
        add_tables(&mut self.walked, page_key(process, addr, self.page_bytes), &mut self.pages.frames)
    }
}

/// Adds tables for a page without tables, if a walker reads page tables.
fn add_tables(walked: &mut Option<WalkedTables>, key: u64, frames: &mut Frames) -> Result<(), OutOfMemory> {
    walked.as_mut().map_or(Ok(()), |walked| walked.add(key, frames))
}

/// Returns the numbers of the 4 KB pages at these addresses.
fn pages_of(addresses: &Range<u64>) -> Range<u64> {
    addresses.start / SMALL..addresses.end.div_ceil(SMALL)
}
