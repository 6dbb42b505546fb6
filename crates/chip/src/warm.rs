//! Warms the caches and predictors on the chip, and the protection behind them, while simulated time does not advance.
//!
//! Lines that miss in the last-level cache, and dirty lines that leave it, pass through the operations of the scheme at
//! once. Counters, tags, tree and metadata caches thus reach their true state, and the shadow compares every fill as
//! usual. The persist buffer accepts stores in program order, with the early steps of each, and drains entries at the
//! node's request.
//!
//! In a memory that permutes lines, a line that needs a way of a full set of locked lines first permutes a page chunk,
//! by the scheme's own text. TLB misses fetch page records, and pages that leave the TLBs release them. An inclusive
//! cache removes the lines that it evicts from the private caches.

use crate::chip::Chip;
use crate::counts::Meters;
use crate::feed::{FeedError, ProgramFeed, Skimmed};
use crate::persisting::write_changes_from_outside;
use machine::node::{PersistPath, PersistRequest, RecordRequest, Request, RequestKind};
use protection::execution::{AtOnce, TimedMemory, Untimed, run_now};
use protection::scheme::{Permutations, PersistBufferHandle, RecordPort, Scheme};
use std::rc::Rc;
use units::LineAddr;
use workload::Supplier;

/// Index of the core of a sampled machine, which has only one.
const CORE: usize = 0;

/// Components behind the private caches, used without simulated time. No line may be under way during its use.
pub struct Warmer {
    chip: Rc<Chip>,
    scheme: Rc<Scheme>,
    memory: Rc<TimedMemory>,
    at_once: AtOnce,
}

impl Warmer {
    /// Creates the warmer of a machine.
    pub fn new(machine: &Meters) -> Warmer {
        let Meters { chip, scheme, memory, .. } = machine.clone();
        let at_once = AtOnce::new(&memory);
        let at_once = if Permutations::of(&scheme).is_some() { at_once.handing_over() } else { at_once };
        Warmer { chip, scheme, memory, at_once }
    }

    /// Runs a program up to `until` instructions, counted from its beginning, or to less than a block before that
    /// number.
    ///
    /// # Errors
    /// Errors of the feed.
    pub fn warm<S: Supplier>(&self, program: &mut ProgramFeed<S>, until: u64) -> Result<(), FeedError> {
        loop {
            let skimmed = program.skim(until, &self.chip.cores.nodes()[CORE], |requests| self.take_up(requests))?;
            for line in program.take_foreign() {
                let in_memory = self.scheme.is_in_memory(line, |at| self.memory.has(at));
                self.chip.changed_from_outside(line, in_memory);
                self.write_victims();
            }
            self.write_changes_from_outside();
            self.chip.forget_what_left();
            if skimmed == Skimmed::Done {
                return Ok(());
            }
        }
    }

    /// Handles all requests that have left the private caches, and the record requests of the TLBs before them. Returns
    /// true if it may have removed lines from the private caches.
    fn take_up(&self, requests: &mut Vec<Request>) -> bool {
        self.take_up_records();
        // A line on its way down must not be evicted unseen, so all requests are on the chip while each is handled.
        self.chip.ports.set_outbox(CORE, std::mem::take(requests));
        while let Some(Request { line, kind, .. }) = self.chip.ports.take_first(CORE) {
            if !kind.is_answered() {
                self.chip.take_back(line, kind == RequestKind::WriteBack);
            } else if !self.chip.look_up(line) {
                self.read(line);
            }
            self.write_victims();
        }
        *requests = self.chip.ports.take_outbox(CORE);
        self.persist();
        self.chip.llc.is_inclusive()
    }

    /// Fetches the page records that the TLBs request, and releases those that they give up.
    fn take_up_records(&self) {
        let Some(records) = RecordPort::of(&self.scheme) else { return };
        let requests = self.chip.cores.nodes()[CORE].borrow_mut().tlbs_mut().take_record_requests();
        for request in requests {
            match request {
                // After reported tampering, the run ends.
                RecordRequest::Bring { line, .. } => _ = run_now(records.acquire(&self.at_once.verbs(), line)),
                RecordRequest::GiveUp { line, .. } => records.release(line),
            }
        }
    }

    /// Handles the stores and drains of the core's persist buffer.
    fn persist(&self) {
        if !self.chip.buffers.exist() {
            return;
        }
        let mut node = self.chip.cores.nodes()[CORE].borrow_mut();
        let requests: Vec<_> = node.persist_buffer_mut().into_iter().flat_map(PersistPath::take_requests).collect();
        drop(node);
        let buffer = PersistBufferHandle::of(&self.scheme);
        for request in requests {
            self.write_changes_from_outside();
            match request {
                PersistRequest::Persist { line, .. } => {
                    run_now(
                        buffer.accept_when_taken(&self.at_once.verbs(), line, || self.chip.shadow.accept(CORE, line)),
                    );
                    run_now(buffer.write_back(&self.at_once.verbs()));
                }
                PersistRequest::Drain { line, .. } => {
                    run_now(buffer.drain(&self.at_once.verbs(), line));
                    self.chip.shadow.left_buffer(line);
                }
            }
        }
    }

    fn write_changes_from_outside(&self) {
        run_now(write_changes_from_outside(&self.scheme, &self.at_once.verbs(), &self.chip, CORE));
    }

    fn read(&self, line: LineAddr) {
        run_now(self.scheme.read(&self.at_once.verbs(), line));
        // After reported tampering the scheme releases no line; the run checks for this separately.
        if let Some(plaintext) = self.at_once.take_released() {
            self.chip.shadow.returned(line, &plaintext);
            self.chip.pass_by(line);
        }
    }

    fn write_victims(&self) {
        while let Some(line) = self.chip.next_victim() {
            let content = self.chip.put(line);
            run_now(self.scheme.write(&self.at_once.verbs(), line, &content));
            self.chip.written(line);
        }
    }
}
