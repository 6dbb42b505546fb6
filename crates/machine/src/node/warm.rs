//! Functional warming: what execution leaves behind in the core's tables, without the time that it takes.
//!
//! Between two detailed windows of a sampled run, caches, TLBs, page-structure caches and predictors see everything that
//! the program does, so that the next window begins as if all before it had been simulated in detail (SMARTS: Wunderlich
//! et al., ISCA 2003, section 3). The core's own clock stands still, and nothing may be under way.

use crate::node::Node;
use crate::node::caches::prefetch::Seen;
use crate::node::interface::{PageKey, PageTables, Request, Touch};
use crate::node::lines::WordAddr;
use crate::node::pipeline::tlb::Looked;
use crate::node::pipeline::translated::Side;
use isa::Instruction;
use units::{LineAddr, VirtAddr};

impl Node {
    /// Remembers where the tables of a page lie that was touched for the first time.
    pub fn learn(&mut self, tables: &PageTables) {
        if let Some(walker) = &mut self.core.walker {
            walker.learn(tables);
        }
    }

    /// A page is looked up for data, before the first line of it is: looking up the same page again changes nothing. What
    /// leaves L2 is appended to `out`.
    #[inline]
    pub fn warm_data_page(&mut self, page: PageKey, out: &mut Vec<Request>) {
        self.warm_translation(Side::Data, page, out);
    }

    /// As [`Node::warm_data_page`], for code.
    #[inline]
    pub fn warm_code_page(&mut self, page: PageKey, out: &mut Vec<Request>) {
        self.warm_translation(Side::Code, page, out);
    }

    /// Part of a line is loaded or stored. What leaves L2 is appended to `out`; what it asks for counts as filled.
    ///
    /// A store goes into the persist buffer, whose entries a window that follows finds as detail would have left them: there
    /// is one [`PersistRequest::Persist`](super::PersistRequest::Persist) for each call with a store, none of which waits, and
    /// drains have ended when they are asked for, so neither is answered. Their times say nothing. A feed that leaves out
    /// stores to a half of a line that was just stored to leaves out theirs, which would have found their entry.
    #[inline]
    pub fn warm_data(&mut self, touch: &Touch, out: &mut Vec<Request>) {
        let last = WordAddr::of(touch.line, touch.offset + touch.bytes.max(1) - 1);
        self.core.caches.warm_data(WordAddr::touched(touch), last, touch.store, out);
        if touch.store
            && touch.persistent
            && let Some(path) = &mut self.core.stores.persist
        {
            path.warm(touch.line);
        }
    }

    /// As [`Node::warm_data`], of the first load or the first store of the instruction at `pc`, which the prefetchers see.
    pub fn warm_data_ahead(&mut self, pc: VirtAddr, touch: &Touch, out: &mut Vec<Request>) {
        let seen = Seen::of(pc.0 as u32, touch);
        let missed = !self.core.caches.in_l1d(WordAddr::touched(touch));
        // A store is seen when its address is known, long before it is written.
        if touch.store {
            self.core.caches.warm_ahead(seen, missed, out);
        }
        self.warm_data(touch, out);
        if !touch.store {
            self.core.caches.warm_ahead(seen, missed, out);
        }
    }

    /// Whether there are prefetchers, which then want to see accesses.
    pub fn prefetches(&self) -> bool {
        self.core.caches.prefetches
    }

    /// Bytes of a line of the instruction cache.
    pub fn code_line_bytes(&self) -> u64 {
        self.core.caches.l1i_lines.stored_bytes()
    }

    /// Execution comes to a line of code. What leaves L2 is appended to `out`; what it asks for counts as filled.
    #[inline]
    pub fn warm_code(&mut self, line: LineAddr, offset: u8, out: &mut Vec<Request>) {
        self.core.caches.warm_code(WordAddr::of(line, offset), out);
    }

    /// A branch is executed, and goes to `next`.
    #[inline]
    pub fn warm_branch(&mut self, branch: &Instruction, next: VirtAddr) {
        self.core.front.learn(branch, next);
    }

    fn warm_translation(&mut self, side: Side, page: PageKey, out: &mut Vec<Request>) {
        let core = &mut self.core;
        if let (Looked::Missed(_), Some(walker)) = (core.tlbs.look_up(side, page, 0, true), &mut core.walker) {
            for line in walker.walk_at_once(page) {
                let word = WordAddr::of(line, 0);
                core.caches.warm_data(word, word, false, out);
            }
            core.tlbs.walked(std::iter::once(side), page, 0);
        }
    }
}
