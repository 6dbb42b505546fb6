//! Translates a program's addresses to memory addresses by the page tables, with a cache of recent translations.

use super::skipped::SkippedContent;
use crate::shadow::Shadow;
use machine::node::{PageKey, PageTables, Touch};
use machine::paging::{OutOfMemory, PageTable, PagingNews, page_key};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use units::{LineAddr, LineLength, PAGE_BYTES, PhysAddr, VirtAddr};
use workload::stream::Strand;

/// Number of recent translations that are cached.
const RECENT: usize = 512;

/// Address spaces of one of several programs. The number of a space is the process number times the number of programs,
/// plus the index of the program.
#[derive(Clone, Copy, Debug)]
pub struct Spaces {
    /// Number of programs on the machine.
    pub programs: u32,
    /// Index of this program.
    pub program: u32,
    /// Number of cores of this program.
    pub cores: usize,
}

/// Page tables with a cache of recent translations.
pub(super) struct Translation {
    pub pages: Rc<RefCell<PageTable>>,
    pub spaces: Spaces,
    page_bytes: u64,
    /// Size of the smallest unit of memory that is mapped separately, in bytes.
    grain_bytes: u64,
    recent: Box<[(u64, u64)]>,
    /// Changes of the page tables, and the number of changes that this core has seen.
    news: Rc<PagingNews>,
    changes: u64,
    /// Number of page tables that this core has received, and a flag for new page tables.
    sent: usize,
    pub has_new_tables: bool,
    /// True if the recording shows pages. The next field then contains the first lines of pages that were touched
    /// before they were shown.
    shows_pages: bool,
    unshown: Vec<LineAddr>,
    /// Content that the recording sends although memory already has it.
    pub skipped: SkippedContent,
}

// Inlined: these run for every simulated instruction, and calls take a tenth of the simulator's time.
impl Translation {
    /// Creates the translation by these tables, for one of several programs.
    pub fn new(pages: Rc<RefCell<PageTable>>, spaces: Spaces) -> Translation {
        let (page_bytes, news) = (pages.borrow().page_bytes(), pages.borrow().news());
        Translation {
            pages,
            spaces,
            page_bytes,
            grain_bytes: page_bytes,
            recent: vec![(u64::MAX, 0); RECENT].into(),
            news,
            changes: 0,
            sent: 0,
            has_new_tables: false,
            shows_pages: false,
            unshown: Vec::new(),
            skipped: SkippedContent::default(),
        }
    }

    /// Translates an address; assigns a frame to its page if necessary.
    #[inline(always)]
    pub fn physical(&mut self, strand: Strand, addr: VirtAddr) -> Result<(PageKey, PhysAddr), OutOfMemory> {
        let key = self.key(strand, addr, self.grain_bytes);
        let recent = &mut self.recent[key as usize % RECENT];
        if recent.0 != key {
            self.find(strand, addr, key)?;
        }
        let start = self.recent[key as usize % RECENT].1;
        let page = if self.grain_bytes == self.page_bytes { key } else { self.key(strand, addr, self.page_bytes) };
        Ok((PageKey(page), PhysAddr(start + (addr.0 & (self.grain_bytes - 1)))))
    }

    #[inline(never)]
    fn find(&mut self, strand: Strand, addr: VirtAddr, key: u64) -> Result<(), OutOfMemory> {
        let process = self.process(strand.process);
        let mut pages = self.pages.borrow_mut();
        let is_unshown = self.shows_pages && !pages.is_mapped(process, addr);
        let found = pages.locate(process, addr)?;
        self.recent[key as usize % RECENT] = (key, found.0 - (addr.0 & (self.grain_bytes - 1)));
        self.has_new_tables |= pages.tables().len() > self.sent;
        if is_unshown {
            self.unshown.push(self.length().line_of(PhysAddr(found.0 & !(PAGE_BYTES as u64 - 1))));
        }
        Ok(())
    }

    /// Length of memory lines.
    #[inline(always)]
    pub fn length(&self) -> LineLength {
        self.news.line_length()
    }

    /// Drops the cached translations if a core has changed the page tables.
    #[inline(always)]
    pub fn refresh(&mut self) {
        if self.changes != self.news.changes() {
            self.forget();
        }
    }

    #[cold]
    fn forget(&mut self) {
        self.changes = self.news.changes();
        self.grain_bytes = if self.news.maps_small() { PAGE_BYTES as u64 } else { self.page_bytes };
        self.recent.fill((u64::MAX, 0));
    }

    /// Memory line of an address, if its page has a frame.
    #[inline(never)]
    pub fn known_line(&self, strand: Strand, addr: VirtAddr) -> Option<LineAddr> {
        let mut pages = self.pages.borrow_mut();
        let process = self.process(strand.process);
        let found = if pages.is_mapped(process, addr) { pages.locate(process, addr).ok() } else { None };
        found.map(|found| self.length().line_of(found))
    }

    /// The first memory line of the recorded line with this number in the frame.
    pub fn recorded_line(&self, frame: PhysAddr, number: u64) -> LineAddr {
        LineAddr(self.length().line_of(frame).0 + number * self.length().per_recorded_line())
    }

    /// All memory lines of the recorded line with this number in the frame.
    pub fn recorded_lines(&self, frame: PhysAddr, number: u64) -> impl Iterator<Item = LineAddr> + use<> {
        let LineAddr(first) = self.recorded_line(frame, number);
        (first..first + self.length().per_recorded_line()).map(LineAddr)
    }

    /// Number of a process, unique over all programs.
    pub fn process(&self, process: u32) -> u32 {
        process * self.spaces.programs + self.spaces.program
    }

    #[inline(always)]
    fn key(&self, strand: Strand, addr: VirtAddr, bytes: u64) -> u64 {
        page_key(self.process(strand.process), addr, bytes)
    }

    /// Appends the tables of pages that this core has not received yet.
    #[cold]
    pub fn take_new_tables(&mut self, tables: &mut Vec<PageTables>) {
        let pages = self.pages.borrow();
        tables.extend_from_slice(&pages.tables()[self.sent..]);
        self.sent = pages.tables().len();
        self.has_new_tables = false;
    }

    /// Notes that the recording shows pages: a page that is touched before it is shown is touched in another order than
    /// recorded.
    pub fn show_pages(&mut self) {
        self.shows_pages = true;
    }

    /// True if some pages were touched before they were shown.
    #[inline]
    pub fn has_unshown(&self) -> bool {
        !self.unshown.is_empty()
    }

    /// Marks pages that several strands reach in another order than recorded: they may hold any content.
    #[cold]
    pub fn disorder_unshown(&mut self, shadow: &mut Shadow) {
        let lines = self.length().per_page();
        for first in self.unshown.drain(..) {
            if let Some(loads) = &mut shadow.loads {
                (first.0..first.0 + lines).for_each(|line| loads.disorder(LineAddr(line)));
            }
        }
    }

    /// True if stores to some pages are tracked.
    #[inline]
    pub fn tracks_stores(&self) -> bool {
        self.news.tracks_stores()
    }

    /// Marks stored-to lines as dirty, if their pages track stores.
    #[cold]
    pub fn note_stores(&self, touches: &[Touch]) {
        let mut pages = self.pages.borrow_mut();
        touches.iter().filter(|touch| touch.store).for_each(|touch| pages.dirty().store(touch.line));
    }

    /// Returns the dirty lines of a part of an object and marks them as clean; `None` if no process has mapped the
    /// object.
    pub fn take_dirty(&self, object: u64, part: &Range<u64>) -> Option<Vec<LineAddr>> {
        self.pages.borrow_mut().take_dirty(self.object(object), part)
    }

    /// Number of an object over all programs. Two programs never share an object, since each was recorded separately.
    pub fn object(&self, object: u64) -> u64 {
        object | u64::from(self.spaces.program) << (u64::BITS - PROGRAM_BITS)
    }
}

/// Bits at the top of an object's number that contain the index of its program.
const PROGRAM_BITS: u32 = 6;
