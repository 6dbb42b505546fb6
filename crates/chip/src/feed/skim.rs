//! Executes a program without simulated time: updates the content of memory, and warms the caches, TLBs and predictors
//! of the core.

use super::pages::PageEventHandler;
use super::shown::{ShownLine, show_lines};
use super::{AccessFragment, FeedCounts, FeedError, ProgramFeed, Translation, hand_on_stores, pieces};
use crate::load_values::accessor::Accessor;
use crate::shadow::Shadow;
use isa::Instruction;
use machine::node::{Node, PageKey, Request, Side, Touch};
use machine::paging::OutOfMemory;
use std::cell::{RefCell, RefMut};
use std::ops::ControlFlow;
use units::{LineAddr, PhysAddr, VirtAddr};
use workload::stream::{Access, AccessKind, Block, Strand};
use workload::walker::{Event, Skimmer};
use workload::{Stretch, Supplier};

/// Reason why skimming stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Skimmed {
    /// Skimming reached its end, or is less than a block before its end: the core then executes the next instructions.
    Done,
    /// The kernel changed lines, which the caller must handle (see [`ProgramFeed::take_foreign`]) before it continues.
    LinesChanged,
}

impl<S: Supplier> ProgramFeed<S> {
    /// Executes up to `until` instructions, counted from the beginning, without simulated time. Memory's content
    /// changes as if the core executed them, and the node's caches, TLBs and predictors stay warm. The feed passes
    /// lines that leave the L2 to `beyond`, which empties the list and may borrow the node. It also calls `beyond`
    /// after each store to a persist buffer and after requests for page records, to take up these requests of the node.
    /// `beyond` returns true if it may have removed lines from the caches of the node.
    ///
    /// # Errors
    /// Errors of the feed.
    pub fn skim(
        &mut self,
        until: u64,
        node: &RefCell<Node>,
        beyond: impl FnMut(&mut Vec<Request>) -> bool,
    ) -> Result<Skimmed, FeedError> {
        let most = until.saturating_sub(self.counts.instructions).min(self.allowance.left());
        let mut node = Borrowed { from: node, node: None, has_record_requests: false };
        let (prefetches, code_line_bytes) = {
            let caches = node.get().caches();
            (caches.prefetchers.exist(), caches.l1i.line_bytes())
        };
        let mut sink = Sink {
            core: self.core,
            translation: &mut self.translation,
            shadow: &self.shadow,
            counts: &mut self.counts,
            foreign: &mut self.foreign,
            stretch: &mut self.stretch,
            node,
            beyond,
            requests: Vec::new(),
            prefetches,
            seen: [false; 2],
            code_line_bytes,
            code: None,
            data: None,
            code_page: None,
            data_page: None,
            trouble: None,
        };
        let instructions = self.walker.skim(most, &mut sink);
        let trouble = sink.trouble.take();
        drop(sink);
        let instructions = instructions?;
        self.counts.instructions += instructions;
        self.allowance.use_up(instructions);
        match trouble {
            Some(full) => Err(full.into()),
            None if self.foreign.is_empty() => Ok(Skimmed::Done),
            None => Ok(Skimmed::LinesChanged),
        }
    }
}

/// The shortest line that a cache near the core may have, in bytes.
const HALF_BYTES: u64 = 32;

/// Half line of the latest touch. After two equal touches in a row, further equal touches change no cache, TLB or
/// predictor.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Repeat {
    half: u64,
    stored: bool,
    repeated: bool,
}

/// The node, borrowed until another component needs it.
struct Borrowed<'a> {
    from: &'a RefCell<Node>,
    node: Option<RefMut<'a, Node>>,
    /// True if the node has requests for page records.
    has_record_requests: bool,
}

impl Borrowed<'_> {
    #[inline]
    fn get(&mut self) -> &mut Node {
        self.node.get_or_insert_with(|| self.from.borrow_mut())
    }

    /// Looks up a page with this line in the TLBs.
    #[inline]
    fn warm_page(&mut self, side: Side, page: PageKey, line: LineAddr) {
        self.has_record_requests |= self.get().warm_page(side, page, line);
    }

    /// Moves the requests of the node to `requests`, if the node is borrowed; otherwise it has none. Returns true if
    /// there was a request for a line or for a page record.
    #[inline]
    fn take_requests(&mut self, requests: &mut Vec<Request>) -> bool {
        let has_record_requests = std::mem::take(&mut self.has_record_requests);
        let Some(node) = &mut self.node else { return has_record_requests };
        let outgoing = &mut node.caches_mut().outgoing;
        let has_any = !outgoing.is_empty();
        outgoing.move_to(requests);
        has_any || has_record_requests
    }

    fn give_back(&mut self) {
        self.node = None;
    }
}

/// Receiver of the skimmed accesses.
struct Sink<'a, F> {
    core: usize,
    translation: &'a mut Translation,
    shadow: &'a RefCell<Shadow>,
    counts: &'a mut FeedCounts,
    foreign: &'a mut Vec<LineAddr>,
    stretch: &'a mut Stretch,
    node: Borrowed<'a>,
    beyond: F,
    requests: Vec<Request>,
    /// Line of code of the last instruction: a look-up in L1I follows when the line changes.
    code: Option<(Strand, VirtAddr)>,
    code_line_bytes: u64,
    data: Option<Repeat>,
    prefetches: bool,
    /// True if the prefetchers have seen a load, or a store, of this instruction.
    seen: [bool; 2],
    /// Pages of code and data that were looked up last.
    code_page: Option<PageKey>,
    data_page: Option<PageKey>,
    trouble: Option<OutOfMemory>,
}

impl<F: FnMut(&mut Vec<Request>) -> bool> Sink<'_, F> {
    /// Translates an address and passes a new page to the node.
    #[inline]
    fn physical(&mut self, strand: Strand, addr: VirtAddr) -> Option<(PageKey, PhysAddr)> {
        match self.translation.physical(strand, addr) {
            Ok(found) => {
                if self.translation.has_new_tables {
                    self.learn();
                }
                Some(found)
            }
            Err(full) => {
                self.trouble = Some(full);
                None
            }
        }
    }

    #[cold]
    fn learn(&mut self) {
        let mut tables = Vec::new();
        self.translation.take_new_tables(&mut tables);
        tables.iter().for_each(|tables| self.node.get().learn(tables));
    }

    #[inline]
    fn touch(&mut self, touch: &Touch, physical: PhysAddr) {
        let half = physical.0 / HALF_BYTES;
        let spans = (physical.0 + u64::from(touch.bytes) - 1) / HALF_BYTES != half;
        let before = self.data.filter(|before| before.half == half && (before.stored || !touch.store) && !spans);
        // A persist buffer receives every store, repeated or not.
        if before.is_some_and(|before| before.repeated) && !touch.persistent {
            return;
        }
        let stored = touch.store || before.is_some_and(|before| before.stored);
        self.data = Some(Repeat { half, stored, repeated: before.is_some() });
        self.look_up_page(touch);
        self.node.get().warm_data(touch);
    }

    /// Touches a line on a machine with prefetchers, which see the first load and the first store of each instruction.
    #[cold]
    fn touch_with_prefetch(&mut self, pc: VirtAddr, nth: usize, touch: &Touch) {
        if nth == 0 {
            self.seen = [false; 2];
        }
        self.look_up_page(touch);
        if std::mem::replace(&mut self.seen[usize::from(touch.store)], true) {
            self.node.get().warm_data(touch);
        } else {
            self.node.get().warm_data_prefetch(pc, touch);
        }
    }

    #[inline]
    fn look_up_page(&mut self, touch: &Touch) {
        if self.data_page.replace(touch.page) != Some(touch.page) {
            self.node.warm_page(Side::Data, touch.page, touch.line);
        }
    }

    #[inline]
    fn send(&mut self) {
        self.send_with(false);
    }

    /// Passes the lines that have left the L2 to `beyond`, which also handles requests of the persist buffer, if any.
    #[inline]
    fn send_with(&mut self, persisted: bool) {
        if self.node.take_requests(&mut self.requests) || persisted {
            self.node.give_back();
            if (self.beyond)(&mut self.requests) {
                // A repeated access may miss now.
                (self.data, self.code) = (None, None);
            }
        }
    }
}

impl<F: FnMut(&mut Vec<Request>) -> bool> Skimmer for Sink<'_, F> {
    #[inline]
    fn block(&mut self, strand: Strand, instructions: &[Instruction]) {
        let (Some(first), Some(last)) = (instructions.first(), instructions.last()) else { return };
        let mut addr = first.pc;
        while addr <= last.pc {
            let line = VirtAddr(addr.0 & !(self.code_line_bytes - 1));
            if self.code.replace((strand, line)) != Some((strand, line))
                && let Some((page, physical)) = self.physical(strand, addr)
            {
                let (line, offset) = self.translation.length().split(physical);
                if self.code_page.replace(page) != Some(page) {
                    self.node.warm_page(Side::Code, page, line);
                }
                self.node.get().caches_mut().warm_code(line, offset);
                self.send();
            }
            addr = VirtAddr(line.0 + self.code_line_bytes);
        }
    }

    #[inline]
    fn access(&mut self, strand: Strand, block: &Block, index: usize, nth: usize, access: &Access) {
        let store = access.kind == AccessKind::Store;
        for (addr, bytes, shift) in pieces::pieces(access, self.translation.length()) {
            let Some((page, physical)) = self.physical(strand, addr) else { return };
            let (line, offset) = self.translation.length().split(physical);
            let mut touch = [Touch { bytes: bytes as u8, store, ..Touch::of_code(page, line, offset) }];
            let mut shadow = self.shadow.borrow_mut();
            if let Some(value) = access.value {
                let by = Accessor { program: self.translation.spaces.program, strand, stretch: *self.stretch };
                let piece = AccessFragment { access, value: value >> shift, pc: block.instructions[index].pc, by };
                piece.take_effect(&mut shadow, &touch[0], self.counts);
            }
            if shadow.persisted.is_some() {
                hand_on_stores(&mut shadow, self.core, &mut touch, self.counts);
            }
            if self.translation.has_unshown() {
                self.translation.disorder_unshown(&mut shadow);
            }
            drop(shadow);
            if self.translation.tracks_stores() {
                self.translation.note_stores(&touch);
            }
            let [touch] = touch;
            if self.prefetches {
                self.touch_with_prefetch(block.instructions[index].pc, nth, &touch);
            } else {
                self.touch(&touch, physical);
            }
            self.send_with(touch.persistent);
        }
    }

    #[inline]
    fn branch(&mut self, _: Strand, branch: &Instruction, next: VirtAddr) {
        self.node.get().warm_branch(branch, next);
    }

    fn event(&mut self, event: Event<'_>) -> ControlFlow<()> {
        match event {
            Event::Batch { strand, stretch } => {
                *self.stretch = stretch;
                if let Some(loads) = &mut self.shadow.borrow_mut().loads {
                    loads.meet(self.translation.spaces.program, strand);
                }
            }
            Event::Line { strand, addr, cause, .. }
                if self.translation.skipped.passes_over(strand.process, addr, cause) => {}
            Event::Line { strand, addr, content, mapped, cause } => {
                if let Some((_, physical)) = self.physical(strand, addr) {
                    let mut shadow = self.shadow.borrow_mut();
                    let by = Accessor { program: self.translation.spaces.program, strand, stretch: *self.stretch };
                    let length = self.translation.length();
                    let parts = length.parts(length.line_of(physical), content);
                    let is_written = self.translation.skipped.is_written(strand.process, addr, cause);
                    let how = ShownLine { mapped, is_written };
                    show_lines((&mut *shadow, by, self.core), (parts, how), self.foreign, self.counts);
                }
            }
            // Durability is not simulated between two windows, so the lines in this part of the object only become
            // clean.
            Event::Sync { object, part, .. } => _ = self.translation.take_dirty(object, &part),
            event => {
                let mut receiver = PageEventHandler {
                    translation: self.translation,
                    shadow: &mut self.shadow.borrow_mut(),
                    stretch: *self.stretch,
                    core: self.core,
                    foreign: self.foreign,
                    counts: self.counts,
                };
                self.trouble = self.trouble.take().or(receiver.take(event).err());
            }
        }
        if self.foreign.is_empty() && self.trouble.is_none() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}
