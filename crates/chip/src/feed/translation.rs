//! Translation: from a program's addresses to those of memory, by the page tables, with the last translations at hand.

use crate::shadow::Shadow;
use machine::node::{PageKey, PageTables, Touch};
use machine::paging::{OutOfMemory, PageTable, PagingNews, page_key};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use units::{LineAddr, LineLength, PAGE_BYTES, PhysAddr, VirtAddr};
use workload::stream::Strand;

/// Translations remembered besides the page table.
const RECENT: usize = 512;

/// The address spaces of one of several programs: their numbers are those of its processes, each times the number of
/// programs, and its position among them.
#[derive(Clone, Copy, Debug)]
pub struct Spaces {
    /// How many programs there are.
    pub programs: u32,
    /// Which of them this is.
    pub program: u32,
    /// How many cores this one has.
    pub cores: usize,
}

/// The page tables, with the last translations at hand.
pub(super) struct Translation {
    pub pages: Rc<RefCell<PageTable>>,
    pub spaces: Spaces,
    page_bytes: u64,
    /// The size of what is mapped by itself.
    grain_bytes: u64,
    recent: Box<[(u64, u64)]>,
    /// What has changed of the page tables, and what of that is known.
    news: Rc<PagingNews>,
    changes: u64,
    /// How many pages' tables this core has got, and whether there are more.
    told: usize,
    pub has_new_tables: bool,
    /// Whether the recording shows pages, and the first lines of those that were touched before they were shown.
    shows_pages: bool,
    unshown: Vec<LineAddr>,
    /// Lines whose content is taken over from another page, and not from the recording.
    kept: Vec<(u32, VirtAddr)>,
}

// For every simulated instruction: out of line these calls take a tenth of the simulator's time.
impl Translation {
    /// By these tables, for one of several programs.
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
            told: 0,
            has_new_tables: false,
            shows_pages: false,
            unshown: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Where an address is. Its page gets a frame if it has none.
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
        self.has_new_tables |= pages.tables().len() > self.told;
        if is_unshown {
            self.unshown.push(self.length().line_of(PhysAddr(found.0 & !(PAGE_BYTES as u64 - 1))));
        }
        Ok(())
    }

    /// How long memory lines are.
    #[inline(always)]
    pub fn length(&self) -> LineLength {
        self.news.line_length()
    }

    /// Forgets the last translations, if another core or this one has changed page tables.
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

    /// The line of memory in which an address is, if its page has a frame.
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

    /// All of its memory lines.
    pub fn recorded_lines(&self, frame: PhysAddr, number: u64) -> impl Iterator<Item = LineAddr> + use<> {
        let LineAddr(first) = self.recorded_line(frame, number);
        (first..first + self.length().per_recorded_line()).map(LineAddr)
    }

    /// The number of a process over all programs.
    pub fn process(&self, process: u32) -> u32 {
        process * self.spaces.programs + self.spaces.program
    }

    #[inline(always)]
    fn key(&self, strand: Strand, addr: VirtAddr, bytes: u64) -> u64 {
        page_key(self.process(strand.process), addr, bytes)
    }

    /// The tables of pages that this core does not know yet.
    #[cold]
    pub fn take_new_tables(&mut self, tables: &mut Vec<PageTables>) {
        let pages = self.pages.borrow();
        tables.extend_from_slice(&pages.tables()[self.told..]);
        self.told = pages.tables().len();
        self.has_new_tables = false;
    }

    /// The recording shows pages: what is touched before it is shown was touched in another order.
    pub fn show_pages(&mut self) {
        self.shows_pages = true;
    }

    /// The content of a line is taken over from another page: what the recording sends of it next is passed over.
    pub fn keep(&mut self, process: u32, line: VirtAddr) {
        self.kept.push((process, line));
    }

    /// Whether the content that the recording sends of a line is to be passed over.
    pub fn passes_over(&mut self, process: u32, line: VirtAddr) -> bool {
        let found = self.kept.iter().position(|kept| *kept == (process, line));
        found.is_some_and(|found| {
            self.kept.swap_remove(found);
            true
        })
    }

    /// Whether some pages were touched before they were shown.
    #[inline]
    pub fn has_unshown(&self) -> bool {
        !self.unshown.is_empty()
    }

    /// Pages that several strands reach in another order than recorded may hold anything.
    #[cold]
    pub fn disorder_unshown(&mut self, shadow: &mut Shadow) {
        let lines = self.length().per_page();
        for first in self.unshown.drain(..) {
            if let Some(loads) = &mut shadow.loads {
                (first.0..first.0 + lines).for_each(|line| loads.disorder(LineAddr(line)));
            }
        }
    }

    /// Whether stores to some pages are tracked.
    #[inline]
    pub fn tracks_stores(&self) -> bool {
        self.news.tracks_stores()
    }

    /// Lines that were stored to are dirty, if they are of pages whose stores are tracked.
    #[cold]
    pub fn note_stores(&self, touches: &[Touch]) {
        let mut pages = self.pages.borrow_mut();
        touches.iter().filter(|touch| touch.store).for_each(|touch| pages.dirty().store(touch.line));
    }

    /// The dirty lines of a part of an object, which are clean from now on; nothing if no process has mapped it.
    pub fn take_dirty(&self, object: u64, part: &Range<u64>) -> Option<Vec<LineAddr>> {
        self.pages.borrow_mut().take_dirty(self.object(object), part)
    }

    /// The number of an object over all programs: what two programs map is two objects, since each was recorded by itself.
    pub fn object(&self, object: u64) -> u64 {
        object | u64::from(self.spaces.program) << (u64::BITS - PROGRAM_BITS)
    }
}

/// Bits at the top of an object's number that say of which program it is.
const PROGRAM_BITS: u32 = 6;
