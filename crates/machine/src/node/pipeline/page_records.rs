//! Records of pages: a core that is to have the record of each page that its TLBs have asks for it on a miss, and gives it up when the
//! last TLB gives up the page.
//!
//! A record is asked for after the walk of fixed length. The accesses to its page wait until it is there; then the translation enters
//! the TLBs. Whoever keeps the records knows a page by a line of it.

use crate::node::interface::PageKey;
use crate::node::pipeline::translated::{Side, Translated};
use rustc_hash::FxHashMap;
use units::LineAddr;

/// A request about the record of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) struct PageRecordRequest {
    pub(in crate::node) cycle: u64,
    pub(in crate::node) page: PageKey,
    pub(in crate::node) line: LineAddr,
    /// Whether the record is needed; else no TLB has its page any longer.
    pub(in crate::node) is_needed: bool,
}

/// The records that the TLBs of one core ask for.
#[derive(Clone, Debug, Default)]
pub(in crate::node) struct PageRecords {
    /// A line of each page that a TLB has, or that accesses wait for.
    lines: FxHashMap<PageKey, LineAddr>,
    waiting: FxHashMap<PageKey, Vec<(Side, Translated)>>,
    requests: Vec<PageRecordRequest>,
}

impl PageRecords {
    /// Lets an access wait for a record that others wait for already. Whether they do.
    pub(in crate::node) fn join(&mut self, page: PageKey, cycle: u64, waiter: (Side, Translated)) -> bool {
        let Some(waiters) = self.waiting.get_mut(&page) else { return false };
        waiters.push(waiter);
        // An older access with late operands may ask later than a younger one.
        let is_it = |asked: &&mut PageRecordRequest| asked.page == page && asked.is_needed;
        if let Some(asked) = self.requests.iter_mut().find(is_it) {
            asked.cycle = asked.cycle.min(cycle);
        }
        true
    }

    /// Asks for the record of a page, which has this line.
    pub(in crate::node) fn ask(&mut self, page: PageKey, line: LineAddr, cycle: u64, waiter: (Side, Translated)) {
        self.waiting.insert(page, vec![waiter]);
        self.lines.insert(page, line);
        self.requests.push(PageRecordRequest { cycle, page, line, is_needed: true });
    }

    /// The record of a page is there; what waited for it.
    pub(in crate::node) fn arrived(&mut self, page: PageKey) -> Vec<(Side, Translated)> {
        self.waiting.remove(&page).unwrap_or_default()
    }

    /// No TLB has a page any longer.
    pub(in crate::node) fn give_up(&mut self, page: PageKey, cycle: u64) {
        if let Some(line) = self.lines.remove(&page) {
            self.requests.push(PageRecordRequest { cycle, page, line, is_needed: false });
        }
    }

    /// No TLB has any page any longer. No access waits for a record.
    pub(in crate::node) fn give_up_all(&mut self, cycle: u64) {
        let mut pages: Vec<PageKey> = self.lines.keys().copied().collect();
        pages.sort_unstable();
        pages.into_iter().for_each(|page| self.give_up(page, cycle));
    }

    /// Records that are asked for and not there.
    pub(in crate::node) fn outstanding(&self) -> usize {
        self.waiting.len()
    }

    /// What was asked since this was called last.
    pub(in crate::node) fn take_requests(&mut self) -> Vec<PageRecordRequest> {
        std::mem::take(&mut self.requests)
    }
}
