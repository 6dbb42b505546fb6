//! Functional warming: execution updates the tables of the core without simulating time.
//!
//! Between two detailed windows of a sampled run, caches, TLBs, page-structure caches and predictors see all accesses
//! and branches of the program. So the next window begins as if everything before it had been simulated in detail
//! (SMARTS: Wunderlich et al., ISCA 2003, section 3). The clock of the core does not advance, and no request may be
//! outstanding.

use crate::node::Node;
use crate::node::caches::prefetch::Seen;
use crate::node::interface::{PageKey, PageTables, Touch};
use crate::node::lines::WordAddr;
use crate::node::pipeline::translated::Side;
use isa::Instruction;
use units::{LineAddr, VirtAddr};

impl Node {
    /// Stores the addresses of the page tables of a page that is touched for the first time.
    pub fn learn(&mut self, tables: &PageTables) {
        self.core.translation.learn(std::slice::from_ref(tables));
    }

    /// Looks up a page for code or data, before the first access to `line`, which is a line of this page. A second look-up of the same
    /// page changes no state. Evictions of L2 are added to [`Caches::outgoing`](super::Caches::outgoing). Returns true if the owner has
    /// to take record requests ([`Tlbs::take_record_requests`](super::pipeline::tlb::Tlbs::take_record_requests)) before it handles the
    /// access. The requested records count as arrived.
    #[inline]
    pub fn warm_page(&mut self, side: Side, page: PageKey, line: LineAddr) -> bool {
        self.core.translation.warm(side, page, line, &mut self.core.caches)
    }

    /// Loads or stores part of a line. Evictions of L2 and requests, which count as filled, are added to
    /// [`Caches::outgoing`](super::Caches::outgoing).
    ///
    /// A store also enters the persist buffer, so the next detailed window begins with the entries that a detailed
    /// simulation would have left. Each call with a store causes one
    /// [`PersistRequest::Persist`](super::PersistRequest::Persist) that does not wait for an answer. Drains end at
    /// once, so the owner replies to neither kind of request. The times of the requests have no meaning. A feed may
    /// omit stores to the half of a line that it just stored to. It then also omits their requests, which would have
    /// found an existing entry.
    #[inline]
    pub fn warm_data(&mut self, touch: &Touch) {
        let last = WordAddr::of(touch.line, touch.offset + touch.bytes.max(1) - 1);
        self.core.caches.warm_data(WordAddr::touched(touch), last, touch.store);
        if touch.store
            && touch.persistent
            && let Some(path) = &mut self.core.stores.persist
        {
            path.warm(touch.line);
        }
    }

    /// Like [`Node::warm_data`], for the first load or the first store of the instruction at `pc`, which the prefetchers
    /// see.
    pub fn warm_data_prefetch(&mut self, pc: VirtAddr, touch: &Touch) {
        let seen = Seen::of(pc.0 as u32, touch);
        let missed = !self.core.caches.l1d.holds(WordAddr::touched(touch));
        // The prefetchers see a store when its address is known, long before the store is written.
        if touch.store {
            self.core.caches.warm_prefetch(seen, missed);
        }
        self.warm_data(touch);
        if !touch.store {
            self.core.caches.warm_prefetch(seen, missed);
        }
    }

    /// Executes a branch that continues at `next`.
    #[inline]
    pub fn warm_branch(&mut self, branch: &Instruction, next: VirtAddr) {
        self.core.front.learn(branch, next);
    }
}
