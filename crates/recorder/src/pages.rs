//! The recorder's knowledge of lines and pages: which of them the simulator has, and which of them are the process's own.
//!
//! A page is shown once, with its content; from then on its stores keep the simulator's copy right, until the kernel writes
//! behind the program's back and a line is not known any more. A page that the process shares with another process, or with a file
//! that it maps privately, becomes its own at the first store. So there are two maps of lines: loads ask the one, stores the other,
//! and each asks for one bit. Lines of a page that is not the process's own are in the first alone.

use crate::lines::{LineMap, lines_of};
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use wire::word::{LINE_BYTES, PAGE_BYTES};

/// Lines in a page.
pub const PAGE_LINES: u64 = (PAGE_BYTES / LINE_BYTES) as u64;

/// The maps.
pub struct Pages {
    /// Lines that the simulator knows.
    loads: LineMap,
    /// Of these, lines of pages that the process may store to.
    stores: LineMap,
    /// Pages that the simulator was shown.
    shown: LineMap,
    /// Of these, pages that no store has to make the process's own.
    own: LineMap,
    /// Lines that the kernel may have written to before the simulator was shown them.
    kernel: LineMap,
    /// Whether some instructions of this process ran unrecorded: then pages may have changed unseen.
    blind: AtomicBool,
    /// Whether the kernel may have written to pages that are shared with another process: then a load makes a page its own, too.
    unsure: AtomicBool,
}

impl Pages {
    /// Nothing is known.
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

    /// Whether a line may be loaded from, or stored to, with nothing to be sent before.
    #[inline]
    pub fn knows(&self, line: u64, store: bool) -> bool {
        if store { self.stores.holds(line) } else { self.loads.holds(line) }
    }

    /// Whether the simulator was shown a page.
    pub fn is_shown(&self, page: u64) -> bool {
        self.shown.holds(page)
    }

    /// Whether a page is the process's own, or of an object that it shares on purpose.
    pub fn is_own(&self, page: u64) -> bool {
        self.own.holds(page)
    }

    /// Whether the kernel may have written to a line before the simulator was shown it.
    pub fn is_of_kernel(&self, line: u64) -> bool {
        self.kernel.holds(line)
    }

    /// Whether some instructions of this process ran unrecorded.
    pub fn are_blind(&self) -> bool {
        self.blind.load(Relaxed)
    }

    /// Whether pages that are shared may have changed unseen: unrecorded, or by the kernel.
    pub fn are_unsure(&self) -> bool {
        self.are_blind() || self.unsure.load(Relaxed)
    }

    /// Instructions ran unrecorded.
    pub fn become_blind(&self) {
        self.blind.store(true, Relaxed);
        self.forget_all();
    }

    /// A page is being shown with all its lines.
    pub fn show(&self, page: u64, own: bool) {
        let lines = page * PAGE_LINES..(page + 1) * PAGE_LINES;
        self.shown.set(page);
        self.loads.set_all(lines.clone());
        if own {
            self.own.set(page);
            self.stores.set_all(lines);
        }
    }

    /// A page turns out to be one of an object, which no store makes the process's own.
    pub fn own(&self, page: u64) {
        self.own.set(page);
    }

    /// A line of a page that was shown is being sent again.
    pub fn send(&self, line: u64) {
        self.loads.set(line);
        if self.own.holds(line / PAGE_LINES) {
            self.stores.set(line);
        }
    }

    /// The kernel may have written here.
    pub fn forget(&self, address: u64, bytes: u64) {
        let lines = lines_of(address, bytes);
        self.loads.clear(lines.clone());
        self.stores.clear(lines.clone());
        self.kernel.set_all(lines);
    }

    /// The kernel may have written anywhere.
    pub fn forget_all(&self) {
        self.unsure.store(true, Relaxed);
        self.loads.clear_all();
        self.stores.clear_all();
    }

    /// These addresses are other memory from now on. `gone` gets each stretch of pages among them that was shown.
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

    /// Pages that were shown are at another address from now on; their lines are sent again. Returns whether there are any.
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

    /// The process may have been copied: every page is shared until a store makes it the process's own.
    pub fn share_all(&self) {
        self.stores.clear_all();
        self.own.clear_all();
    }

    /// A process of which the simulator knows nothing.
    pub fn restart(&self) {
        [&self.loads, &self.stores, &self.shown, &self.own].into_iter().for_each(LineMap::clear_all);
    }
}
