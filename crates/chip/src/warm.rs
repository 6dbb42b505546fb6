//! Functional warming of everything on the chip, and of the protection behind it, while simulated time stands still.
//!
//! Lines that miss in the last-level cache and dirty ones that leave it pass through the scheme's own text, at once: so
//! counters, tags, tree and metadata caches are what they would be, and every line that comes up is compared as ever. Stores into a
//! persist buffer are accepted in the order of the program, with the early steps of each, and its entries drain, as the node asks.

use crate::chip::Chip;
use crate::counts::Meters;
use crate::feed::{FeedError, Program, Skimmed};
use crate::persisting::write_changes_from_outside;
use machine::node::{PersistRequest, Request, RequestKind};
use protection::execution::{AtOnce, TimedMemory, run_now};
use protection::scheme::{PersistBuffer, Scheme};
use std::rc::Rc;
use units::LineAddr;
use workload::Supplier;

/// The core of a machine that is sampled, which has one.
const CORE: usize = 0;

/// What is behind the private caches, without time. Nothing may be under way while it is used.
pub struct Warmer {
    chip: Rc<Chip>,
    scheme: Rc<Scheme>,
    memory: Rc<TimedMemory>,
    verbs: AtOnce,
}

impl Warmer {
    /// For this machine.
    pub fn new(machine: &Meters) -> Warmer {
        let Meters { chip, scheme, memory, .. } = machine.clone();
        let verbs = AtOnce::new(&memory);
        Warmer { chip, scheme, memory, verbs }
    }

    /// Lets a program go on to `until` instructions, counted from its beginning, or to less than a block before that.
    ///
    /// # Errors
    /// As those of the feed.
    pub fn warm<S: Supplier>(&self, program: &mut Program<S>, until: u64) -> Result<(), FeedError> {
        loop {
            let skimmed = program.skim(until, &self.chip.cores.nodes()[CORE], |requests| self.take_up(requests))?;
            for line in program.take_foreign() {
                let in_memory = self.memory.has(self.scheme.layout().data_slot(line));
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

    /// Takes up everything that has left the private caches.
    fn take_up(&self, requests: &mut Vec<Request>) {
        for Request { line, kind, .. } in requests.drain(..) {
            if !kind.is_answered() {
                self.chip.take_back(line, kind == RequestKind::WriteBack);
            } else if !self.chip.look_up(line) {
                self.read(line);
            }
            self.write_victims();
        }
        self.persist();
    }

    /// Takes up what has come to the core's persist buffer, and what has to leave it.
    fn persist(&self) {
        if !self.chip.has_buffers() {
            return;
        }
        let requests: Vec<_> = self.chip.cores.nodes()[CORE].borrow_mut().persist_requests().collect();
        let buffer = PersistBuffer::of(&self.scheme);
        for request in requests {
            self.write_changes_from_outside();
            match request {
                PersistRequest::Persist { line, .. } => {
                    run_now(buffer.accept_when_taken(&self.verbs, line, || self.chip.accept(CORE, line)));
                    run_now(buffer.write_back(&self.verbs));
                }
                PersistRequest::Drain { line, .. } => {
                    run_now(buffer.drain(&self.verbs, line));
                    self.chip.left_buffer(line);
                }
            }
        }
    }

    fn write_changes_from_outside(&self) {
        run_now(write_changes_from_outside(&self.scheme, &self.verbs, &self.chip, CORE));
    }

    fn read(&self, line: LineAddr) {
        run_now(self.scheme.read(&self.verbs, line));
        // Nothing is released if tampering was reported, which the run looks for by itself.
        if let Some(plaintext) = self.verbs.take_released() {
            self.chip.brought(line, &plaintext);
        }
    }

    fn write_victims(&self) {
        while let Some(line) = self.chip.next_victim() {
            let content = self.chip.put(line);
            run_now(self.scheme.write(&self.verbs, line, &content));
            self.chip.written(line);
        }
    }
}
