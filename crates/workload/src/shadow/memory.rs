//! Memory of all processes of a recording, page by page: an independent model of the recording's events.
//!
//! Several addresses may share a page. A process and its copy share a page until one of them gets a separate page, and
//! all mappings of an object share its pages. The model has no frames and never reuses a page, so it shares no code
//! with a machine's page tables.

use crate::stream::{Birth, LineCause, PageKind};
use crate::walker::{Event, ShownPage};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use units::{LINE_BYTES, LINES_PER_PAGE, Line, PAGE_BYTES, VirtAddr, ZERO_LINE};

/// Identity of a line, independent of the address that maps it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LineId {
    /// Number of an object, and of a line in it.
    Object(u64, u64),
    /// Number of a process, and of a line in its address space.
    Process(u32, u64),
}

struct Page {
    bytes: [u8; PAGE_BYTES],
    /// One bit per line, set if the content of the line is known.
    known: u64,
    /// One bit per line, set by a store and cleared when the line becomes durable; only for a page of a mapped file.
    dirty: Option<u64>,
    object: Option<(u64, u64)>,
}

type SharedPage = Rc<RefCell<Page>>;

/// Pages of all processes.
#[derive(Default)]
pub struct ShadowMemory {
    pages: FxHashMap<u32, FxHashMap<u64, SharedPage>>,
    objects: FxHashMap<(u64, u64), SharedPage>,
    forks: FxHashMap<(u32, u32), FxHashMap<u64, SharedPage>>,
    /// Lines that a new page has copied from another page: the model skips the next event for each of them.
    kept: Vec<(u32, VirtAddr)>,
    /// True if the page that was shown last is of an object that had this page before.
    had_page: bool,
}

impl ShadowMemory {
    /// Applies an event. Instructions have no effect here; the caller applies their stores.
    pub fn follow(&mut self, event: &Event<'_>) {
        match event {
            Event::Line { cause: LineCause::FirstStore, .. } if self.had_page => {}
            Event::Line { strand, addr, content, .. } => {
                let line = (strand.process, *addr);
                match self.kept.iter().position(|kept| *kept == line) {
                    Some(kept) => _ = self.kept.swap_remove(kept),
                    None => self.page(strand.process, *addr).borrow_mut().set(line_of(*addr), content),
                }
            }
            Event::Page { strand, addr, page } => self.show(strand.process, *addr, page),
            Event::Unmapped { strand, addr, bytes } => {
                let pages = addr.page()..(addr.0 + bytes).div_ceil(PAGE_BYTES as u64);
                self.of(strand.process).retain(|page, _| !pages.contains(page));
            }
            Event::Moved { strand, from, to, bytes } => {
                let own = self.of(strand.process);
                let pages = from.page()..from.page() + bytes.div_ceil(PAGE_BYTES as u64);
                let moved: Vec<_> = pages.filter_map(|page| Some((page, own.remove(&page)?))).collect();
                own.extend(moved.into_iter().map(|(page, content)| (page - from.page() + to.page(), content)));
            }
            Event::Forks { process, fork } => {
                let copy = self.of(*process).clone();
                self.forks.insert((*process, *fork), copy);
            }
            Event::ProcessStarted { process, parent, fork, birth: Birth::Fork } => {
                let copy = self.forks.remove(&(*parent, *fork)).unwrap_or_default();
                self.pages.insert(*process, copy);
            }
            Event::ProcessStarted { parent: process, birth: Birth::Exec, .. } | Event::ProcessEnded { process } => {
                self.pages.remove(process);
            }
            Event::ObjectLine { object, line, content, .. } => {
                let of_page = self.objects.get(&(*object, line / LINES_PER_PAGE as u64));
                if let Some(page) = of_page {
                    page.borrow_mut().set((line % LINES_PER_PAGE as u64) as usize, content);
                }
            }
            Event::ObjectCut { object, end, .. } => {
                for ((_, index), page) in self.objects.iter().filter(|((number, _), _)| number == object) {
                    let kept = end.saturating_sub(index * PAGE_BYTES as u64).min(PAGE_BYTES as u64) as usize;
                    page.borrow_mut().bytes[kept..].fill(0);
                }
            }
            _ => {}
        }
    }

    /// Makes a part of an object durable, and returns its lines with stores since the last time. Returns `None` if no
    /// process maps the part from a file.
    pub fn sync(&mut self, object: u64, part: &Range<u64>) -> Option<Vec<LineId>> {
        let pages =
            self.objects.iter().filter(|((number, _), page)| *number == object && page.borrow().dirty.is_some());
        let mut pages: Vec<_> = pages.map(|((_, index), page)| (*index, page)).collect();
        pages.retain(|(index, _)| {
            index * (PAGE_BYTES as u64) < part.end && (index + 1) * PAGE_BYTES as u64 > part.start
        });
        if pages.is_empty() {
            return None;
        }
        pages.sort_unstable_by_key(|(index, _)| *index);
        let mut synced = Vec::new();
        for (index, page) in pages {
            let dirty = &mut page.borrow_mut().dirty;
            let before = dirty.unwrap_or(0);
            for line in (0..LINES_PER_PAGE as u64).filter(|line| before >> line & 1 != 0) {
                let number = index * LINES_PER_PAGE as u64 + line;
                if number * (LINE_BYTES as u64) < part.end && (number + 1) * LINE_BYTES as u64 > part.start {
                    synced.push(LineId::Object(object, number));
                    *dirty = dirty.map(|dirty| dirty & !(1 << line));
                }
            }
        }
        Some(synced)
    }

    /// Stores the first `bytes` bytes of `value`.
    pub fn store(&mut self, process: u32, addr: VirtAddr, bytes: u8, value: u64) {
        for (at, byte) in value.to_le_bytes().into_iter().take(bytes.into()).enumerate() {
            let addr = VirtAddr(addr.0 + at as u64);
            let mut page = self.page(process, addr).borrow_mut();
            page.bytes[addr.0 as usize % PAGE_BYTES] = byte;
            page.dirty = page.dirty.map(|dirty| dirty | 1 << line_of(addr));
        }
    }

    /// Returns the value of `bytes` bytes, at most eight, if all of them are known.
    pub fn load(&self, process: u32, addr: VirtAddr, bytes: u8) -> Option<u64> {
        let mut value = [0; 8];
        for (at, byte) in value.iter_mut().take(bytes.into()).enumerate() {
            let addr = VirtAddr(addr.0 + at as u64);
            let page = self.pages.get(&process)?.get(&addr.page())?.borrow();
            *byte = (page.known >> line_of(addr) & 1 != 0).then_some(page.bytes[addr.0 as usize % PAGE_BYTES])?;
        }
        Some(u64::from_le_bytes(value))
    }

    /// Returns the identity of the line at an address.
    pub fn line_id(&mut self, process: u32, addr: VirtAddr) -> LineId {
        let object = self.page(process, addr).borrow().object;
        object.map_or(LineId::Process(process, addr.0 / LINE_BYTES as u64), |(object, index)| {
            LineId::Object(object, index * LINES_PER_PAGE as u64 + line_of(addr) as u64)
        })
    }

    fn show(&mut self, process: u32, addr: VirtAddr, shown: &ShownPage) {
        let mut kept = 0;
        self.had_page = shown.detail.kind == PageKind::Object && self.objects.contains_key(&shown.object);
        let page = match shown.detail.kind {
            PageKind::Own => self.page(process, addr).clone(),
            PageKind::Copy => {
                let Page { bytes, known, .. } = *self.page(process, addr).borrow();
                kept = shown.object.0 & known;
                Rc::new(RefCell::new(Page { bytes, ..Page::new() }))
            }
            PageKind::Object => self.objects.entry(shown.object).or_default().clone(),
        };
        self.of(process).insert(addr.page(), page.clone());
        let mut page = page.borrow_mut();
        if shown.detail.kind == PageKind::Object {
            page.object = Some(shown.object);
            page.dirty = page.dirty.or(shown.detail.mapped.then_some(0));
        }
        page.known = u64::MAX;
        for line in (0..LINES_PER_PAGE).filter(|line| (kept | shown.sent) >> line & 1 == 0) {
            page.set(line, &ZERO_LINE);
        }
        let sent = (0..LINES_PER_PAGE as u64).filter(|line| kept & shown.sent & 1 << line != 0);
        self.kept.extend(sent.map(|line| (process, VirtAddr(addr.0 + line * LINE_BYTES as u64))));
    }

    fn of(&mut self, process: u32) -> &mut FxHashMap<u64, SharedPage> {
        self.pages.entry(process).or_default()
    }

    fn page(&mut self, process: u32, addr: VirtAddr) -> &SharedPage {
        self.of(process).entry(addr.page()).or_default()
    }
}

impl Page {
    fn new() -> Page {
        Page { bytes: [0; PAGE_BYTES], known: 0, dirty: None, object: None }
    }

    fn set(&mut self, line: usize, content: &Line) {
        self.bytes[line * LINE_BYTES..(line + 1) * LINE_BYTES].copy_from_slice(content);
        self.known |= 1 << line;
    }
}

impl Default for Page {
    fn default() -> Page {
        Page::new()
    }
}

fn line_of(addr: VirtAddr) -> usize {
    addr.0 as usize % PAGE_BYTES / LINE_BYTES
}
