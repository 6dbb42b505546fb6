//! The recorder's knowledge of lines and pages: those that the simulator has, and those that are private to the
//! process.
//!
//! The recorder shows a page once, with its content. From then on, the stores of the process keep the simulator's copy
//! of the page correct, until the kernel writes to a line and this line becomes unknown. The first store to a page that
//! the process shares with another process, or with a file that it maps privately, makes the page private. So the
//! recorder has two maps of lines: each load looks up one bit in `loads`, each store one bit in `stores`. Lines of a
//! page that a store would make private are only in `loads`.

use crate::lines::{LineMap, lines_of};
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use wire::word::{LINE_BYTES, PAGE_BYTES};

/// Lines in a page.
pub const PAGE_LINES: u64 = (PAGE_BYTES / LINE_BYTES) as u64;

/// Maps of the lines and pages of a process.
pub struct Pages {
    /// Lines that the simulator knows.
    loads: LineMap,
    /// Known lines of pages that the process may store to without making them private.
    stores: LineMap,
    /// Pages that the recorder has shown to the simulator.
    shown: LineMap,
    /// Shown pages that a store does not make private: they are private already, or of an object.
    own: LineMap,
    /// Lines that the kernel may have written to before the simulator was shown them.
    kernel: LineMap,
    /// True if some instructions of this process ran unrecorded, so that pages may have changed unseen.
    blind: AtomicBool,
    /// True if the kernel may have written to pages that are shared with another process. Then a load makes a page
    /// private, too.
    unsure: AtomicBool,
}

impl Pages {
    /// Creates the maps of a process that the simulator does not know.
    pub fn new() -> std::io::Result<Pages> {
        Ok(Pages {
            loads: LineMap::new()?,
            stores: LineMap::new()?,
            shown: LineMap::new()?,
            own: LineMap::new()?,
            kernel: LineMap::new()?,
            blind: AtomicBool::new(false),
            unsure: AtomicBool::new(false),
        })
    }

    /// Returns true if the recorder need not send a page or line before a load from this line, or before a store to it.
    #[inline]
    pub fn knows(&self, line: u64, store: bool) -> bool {
        if store { self.stores.holds(line) } else { self.loads.holds(line) }
    }

    /// Returns true if the simulator was shown the page.
    pub fn is_shown(&self, page: u64) -> bool {
        self.shown.holds(page)
    }

    /// Returns true if the page is private to the process, or belongs to an object that the process shares on purpose.
    pub fn is_own(&self, page: u64) -> bool {
        self.own.holds(page)
    }

    /// Returns true if the kernel may have written to the line before the simulator was shown it.
    pub fn is_of_kernel(&self, line: u64) -> bool {
        self.kernel.holds(line)
    }

    /// Returns true if some instructions of this process ran unrecorded.
    pub fn are_blind(&self) -> bool {
        self.blind.load(Relaxed)
    }

    /// Returns true if shared pages may have changed unseen, by unrecorded instructions or by the kernel.
    pub fn are_unsure(&self) -> bool {
        self.are_blind() || self.unsure.load(Relaxed)
    }

    /// Notes that instructions ran unrecorded, and forgets all lines.
    pub fn become_blind(&self) {
        self.blind.store(true, Relaxed);
        self.forget_all();
    }

    /// Marks a page and all its lines as shown. If `own` is true, a store does not make the page private.
    pub fn show(&self, page: u64, own: bool) {
        let lines = page * PAGE_LINES..(page + 1) * PAGE_LINES;
        self.shown.set(page);
        self.loads.set_all(lines.clone());
        if own {
            self.own.set(page);
            self.stores.set_all(lines);
        }
    }

    /// Marks a page of an object, which a store does not make private.
    pub fn own(&self, page: u64) {
        self.own.set(page);
    }

    /// Marks a line of a shown page as known, because the recorder sends it again.
    pub fn send(&self, line: u64) {
        self.loads.set(line);
        if self.own.holds(line / PAGE_LINES) {
            self.stores.set(line);
        }
    }

    /// Forgets lines that the kernel may have written.
    pub fn forget(&self, address: u64, bytes: u64) {
        let lines = lines_of(address, bytes);
        self.loads.clear(lines.clone());
        self.stores.clear(lines.clone());
        self.kernel.set_all(lines);
    }

    /// Forgets all lines, because the kernel may have written anywhere.
    pub fn forget_all(&self) {
        self.unsure.store(true, Relaxed);
        self.loads.clear_all();
        self.stores.clear_all();
    }

    /// Forgets the pages at these addresses, which now contain other memory. `gone` receives each run of shown pages
    /// among them.
    pub fn unmap(&self, addresses: &Range<u64>, mut gone: impl FnMut(Range<u64>)) {
        let lines = lines_of(addresses.start, addresses.end.saturating_sub(addresses.start));
        [&self.loads, &self.stores, &self.kernel].into_iter().for_each(|map| map.clear(lines.clone()));
        let pages = lines.start / PAGE_LINES..lines.end.div_ceil(PAGE_LINES);
        let mut stretch = 0..0;
        self.shown.take(pages.clone(), |page| {
            if stretch.end != page {
                if !stretch.is_empty() {
                    gone(stretch.clone());
                }
                stretch.start = page;
            }
            stretch.end = page + 1;
        });
        if !stretch.is_empty() {
            gone(stretch);
        }
        self.own.clear(pages);
    }

    /// Moves shown pages to another address. Their lines are sent again. Returns true if it has moved any page.
    pub fn move_to(&self, from: &Range<u64>, to: u64) -> bool {
        let first = from.start / PAGE_BYTES as u64;
        let mut moved = Vec::new();
        self.shown.take(first..from.end / PAGE_BYTES as u64, |page| moved.push((page - first, self.own.holds(page))));
        self.unmap(from, |_| {});
        for (nth, own) in &moved {
            let page = to / PAGE_BYTES as u64 + nth;
            self.shown.set(page);
            if *own {
                self.own.set(page);
            }
        }
        !moved.is_empty()
    }

    /// Marks all pages as shared, because the process may have been copied. A store then makes a page private.
    pub fn share_all(&self) {
        self.stores.clear_all();
        self.own.clear_all();
    }

    /// Clears the maps, for a process that the simulator does not know. The map of kernel writes remains.
    pub fn restart(&self) {
        [&self.loads, &self.stores, &self.shown, &self.own].into_iter().for_each(LineMap::clear_all);
    }
}
