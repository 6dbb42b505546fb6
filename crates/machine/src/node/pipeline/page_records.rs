//! Records of pages: a core requests the record of a page on a TLB miss, and gives it up when the last TLB evicts the page.
//!
//! The core requests a record after the page-table walk, which has a fixed length. The accesses to the page wait until
//! the record arrives; then the translation enters the TLBs. The owner of the records identifies a page by one of its
//! lines.

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
    /// True if the record is needed, false if no TLB holds its page any longer.
    pub(in crate::node) is_needed: bool,
}

/// Page records that the TLBs of one core request or use.
#[derive(Clone, Debug, Default)]
pub(in crate::node) struct PageRecords {
    /// A line of each page with a translation in a TLB or with waiting accesses. The line identifies the page to the
    /// owner of the records.
    lines: FxHashMap<PageKey, LineAddr>,
    waiting: FxHashMap<PageKey, Vec<(Side, Translated)>>,
    requests: Vec<PageRecordRequest>,
}

impl PageRecords {
    /// Adds an access to the waiters of an outstanding record. Returns false if the record is not outstanding.
    pub(in crate::node) fn join(&mut self, page: PageKey, cycle: u64, waiter: (Side, Translated)) -> bool {
        let Some(waiters) = self.waiting.get_mut(&page) else { return false };
        waiters.push(waiter);
        // A younger access may need the record at an earlier cycle than an older access with late operands.
        let is_it = |requested: &&mut PageRecordRequest| requested.page == page && requested.is_needed;
        if let Some(requested) = self.requests.iter_mut().find(is_it) {
            requested.cycle = requested.cycle.min(cycle);
        }
        true
    }

    /// Returns true if the chip keeps the record of a page: the TLB of the other side, for code or data, has the page.
    pub(in crate::node) fn keeps(&self, page: PageKey) -> bool {
        self.lines.contains_key(&page) && !self.waiting.contains_key(&page)
    }

    /// Requests the record of a page, which contains this line.
    pub(in crate::node) fn ask(&mut self, page: PageKey, line: LineAddr, cycle: u64, waiter: (Side, Translated)) {
        self.waiting.insert(page, vec![waiter]);
        self.lines.insert(page, line);
        self.requests.push(PageRecordRequest { cycle, page, line, is_needed: true });
    }

    /// Requests the record of a page, which contains this line, without a waiting access. The record counts as arrived. Has no effect
    /// if the chip keeps the record already, because another TLB has the page.
    pub(in crate::node) fn keep(&mut self, page: PageKey, line: LineAddr) {
        if self.lines.insert(page, line).is_none() {
            self.requests.push(PageRecordRequest { cycle: 0, page, line, is_needed: true });
        }
    }

    /// Returns true if the owner of the records has not taken all requests.
    pub(in crate::node) fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Notes that the record of a page arrived; returns the accesses that waited for it.
    pub(in crate::node) fn arrived(&mut self, page: PageKey) -> Vec<(Side, Translated)> {
        self.waiting.remove(&page).unwrap_or_default()
    }

    /// Gives up the record of a page that no TLB holds any longer.
    pub(in crate::node) fn give_up(&mut self, page: PageKey, cycle: u64) {
        if let Some(line) = self.lines.remove(&page) {
            self.requests.push(PageRecordRequest { cycle, page, line, is_needed: false });
        }
    }

    /// Gives up all records, because the TLBs are empty. No access may wait for a record.
    pub(in crate::node) fn give_up_all(&mut self, cycle: u64) {
        let mut pages: Vec<PageKey> = self.lines.keys().copied().collect();
        pages.sort_unstable();
        pages.into_iter().for_each(|page| self.give_up(page, cycle));
    }

    /// Returns the number of outstanding records.
    pub(in crate::node) fn outstanding(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the requests since the last call.
    pub(in crate::node) fn take_requests(&mut self) -> Vec<PageRecordRequest> {
        std::mem::take(&mut self.requests)
    }
}
