//! Translation of the addresses of one core: the TLBs, and the page-table walker or the page records behind them.
//!
//! An access with a translation that no TLB holds waits in a walk or for the record of its page. The walker reads the
//! page tables through L1D, so the caches are an argument of each look-up.

use crate::node::caches::Caches;
use crate::node::caches::access::Waiter;
use crate::node::config::NodeConfig;
use crate::node::interface::{PageKey, PageTables, Touch};
use crate::node::lines::WordAddr;
use crate::node::pipeline::tlb::{Looked, Tlbs};
use crate::node::pipeline::translated::{Side, Translated};
use crate::node::pipeline::walk::{PageWalker, WalkAction};
use units::LineAddr;

/// The TLBs of one core, with the walker if there is one.
#[derive(Clone, Debug)]
pub(in crate::node) struct AddressTranslation {
    pub(in crate::node) tlbs: Tlbs,
    walker: Option<PageWalker>,
}

impl AddressTranslation {
    pub(in crate::node) fn new(config: &NodeConfig) -> AddressTranslation {
        AddressTranslation { tlbs: Tlbs::new(config), walker: PageWalker::new(config) }
    }

    /// Returns true if the core walks page tables.
    #[inline]
    pub(in crate::node) fn has_walker(&self) -> bool {
        self.walker.is_some()
    }

    /// Returns the walker, if there is one.
    pub(in crate::node) fn walker_mut(&mut self) -> Option<&mut PageWalker> {
        self.walker.as_mut()
    }

    /// Stores the addresses of the page tables of pages that are touched for the first time.
    #[inline]
    pub(in crate::node) fn learn(&mut self, tables: &[PageTables]) {
        if let Some(walker) = &mut self.walker {
            tables.iter().for_each(|tables| walker.learn(tables));
        }
    }

    /// Returns the cycle of a translation, or `None` if a page-table walk continues with `goal` later.
    #[inline]
    pub(in crate::node) fn translate(
        &mut self,
        side: Side,
        page: PageKey,
        cycle: u64,
        goal: Translated,
        caches: &mut Caches,
    ) -> Option<u64> {
        let found = self.tlbs.look_up(side, page, cycle, true);
        self.translated_or_walk(found, page, (side, goal), caches)
    }

    /// Returns the cycle at which the address of a store by instruction `number` is translated. With a walker, the
    /// translation is delayed until the store is written.
    #[inline]
    pub(in crate::node) fn translate_early(
        &mut self,
        number: u64,
        touch: &Touch,
        cycle: u64,
        caches: &mut Caches,
    ) -> Option<u64> {
        if self.walker.is_some() {
            return Some(cycle);
        }
        let goal = Translated::StoreAddress { number, line: touch.line };
        self.translate(Side::Data, touch.page, cycle, goal, caches)
    }

    /// Translates an access that entered L1D at `entered`. Returns the cycle of its last look-up in L1D, or `None` if a
    /// page-table walk continues with `goal` later.
    #[inline]
    pub(in crate::node) fn translate_inside(
        &mut self,
        page: PageKey,
        entered: u64,
        goal: Translated,
        caches: &mut Caches,
    ) -> Option<u64> {
        if caches.l1d.lookups.are_unlimited() {
            return self.translate(Side::Data, page, entered, goal, caches);
        }
        let reply = caches.l1d.lookups.ask(page, entered);
        let found = self.tlbs.look_up(Side::Data, page, reply.start, !reply.shared);
        let translated = self.translated_or_walk(found, page, (Side::Data, goal), caches)?;
        Some(caches.l1d.lookups.translated(entered, translated.max(reply.answer)))
    }

    /// Returns the cycle of a translation from the result of the look-up in the TLBs, or `None` if `waiter` is woken
    /// later.
    #[inline]
    fn translated_or_walk(
        &mut self,
        found: Looked,
        page: PageKey,
        waiter: (Side, Translated),
        caches: &mut Caches,
    ) -> Option<u64> {
        match found {
            Looked::Up(ready) => Some(ready),
            Looked::Missed(from) => self.walk(page, from, waiter, caches),
        }
    }

    fn walk(&mut self, page: PageKey, cycle: u64, waiter: (Side, Translated), caches: &mut Caches) -> Option<u64> {
        if let Some(records) = &mut self.tlbs.records {
            if records.join(page, cycle, waiter) {
                return None;
            }
            let is_kept = records.keeps(page);
            if !is_kept {
                records.ask(page, waiter.1.line(), cycle, waiter);
            }
            self.tlbs.count_walk();
            if is_kept {
                self.tlbs.walked(std::iter::once(waiter.0), page, cycle);
            }
            return is_kept.then_some(cycle);
        }
        let walker = self.walker.as_mut()?;
        if walker.join(page, waiter) {
            return None;
        }
        let begun = walker.begin(page, cycle, waiter);
        self.tlbs.count_walk();
        let (entry_index, first) = begun?;
        let done = self.walk_on(entry_index, first, caches)?;
        self.end_walk(entry_index, done);
        Some(done)
    }

    /// Advances a walk while its page-table entries are available. Returns the cycle at which the walk ends, or `None`
    /// if it waits for an entry.
    pub(in crate::node) fn walk_on(
        &mut self,
        entry_index: usize,
        mut next: WalkAction,
        caches: &mut Caches,
    ) -> Option<u64> {
        loop {
            match next {
                WalkAction::Done(cycle) => return Some(cycle),
                WalkAction::Read(line, cycle) => {
                    let ready = caches.access(WordAddr::of(line, 0), cycle, Waiter::Walk(entry_index)).known()?;
                    next = self.walker.as_mut()?.go_on(entry_index, ready);
                }
            }
        }
    }

    /// Enters a translation into the TLBs; returns the accesses that waited for it.
    pub(in crate::node) fn end_walk(&mut self, entry_index: usize, cycle: u64) -> Vec<(Side, Translated)> {
        let Some(walker) = &mut self.walker else { return Vec::new() };
        let walk = walker.end(entry_index);
        self.tlbs.walked(walk.waiters.iter().map(|waiter| waiter.0), walk.page, cycle);
        walk.waiters
    }

    /// Enters the translation of a page with a record that arrived at `cycle`; returns the accesses that waited for it.
    pub(in crate::node) fn record_arrived(&mut self, page: PageKey, cycle: u64) -> Vec<(Side, Translated)> {
        let waiters = self.tlbs.records.as_mut().map_or_else(Vec::new, |records| records.arrived(page));
        self.tlbs.walked(waiters.iter().map(|(side, _)| *side), page, cycle);
        waiters
    }

    /// Adds an access to the waiters of the outstanding translation of its page, if there is one. Returns true if the
    /// access was added.
    pub(in crate::node) fn joins(&mut self, page: PageKey, cycle: u64, waiter: (Side, Translated)) -> bool {
        match (&mut self.tlbs.records, &mut self.walker) {
            (Some(records), _) => records.join(page, cycle, waiter),
            (None, Some(walker)) => walker.join(page, waiter),
            (None, None) => false,
        }
    }

    /// Makes an access that arrives at `cycle` wait outside if L1D does not admit it. Returns true if it waits.
    #[inline]
    pub(in crate::node) fn waits_outside(&mut self, goal: Translated, cycle: u64, caches: &Caches) -> bool {
        match &mut self.walker {
            Some(walker) if !walker.has_room() || !caches.has_room() => {
                walker.wait_outside(goal, cycle);
                true
            }
            _ => false,
        }
    }

    /// Looks up a page, with one of its lines, without simulated time. If no TLB holds it, walks its page tables at once, or requests
    /// its record as if the record arrived at once. Returns true if there are requests for the owner of the records.
    #[inline]
    pub(in crate::node) fn warm(&mut self, side: Side, page: PageKey, line: LineAddr, caches: &mut Caches) -> bool {
        if let Looked::Missed(_) = self.tlbs.look_up(side, page, 0, true) {
            if let Some(walker) = &mut self.walker {
                for line in walker.walk_at_once(page) {
                    let word = WordAddr::of(line, 0);
                    caches.warm_data(word, word, false);
                }
            }
            if let Some(records) = &mut self.tlbs.records {
                records.keep(page, line);
            }
            self.tlbs.walked(std::iter::once(side), page, 0);
        }
        self.tlbs.records.as_ref().is_some_and(|records| records.has_requests())
    }
}
