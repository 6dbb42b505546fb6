//! Functional warming of everything on the chip, and of the protection behind it, while simulated time stands still.
//!
//! Lines that miss in the last-level cache and dirty ones that leave it pass through the scheme's own text, at once: so
//! counters, tags, tree and metadata caches are what they would be, and every line that comes up is compared as ever.

use crate::chip::Chip;
use crate::counts::Meters;
use crate::feed::{FeedError, Program, Skimmed};
use machine::node::{Request, RequestKind};
use protection::execution::{AtOnce, TimedMemory, run_now};
use protection::scheme::Scheme;
use std::rc::Rc;
use units::LineAddr;
use workload::Supplier;

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
            let skimmed = program.skim(until, &self.chip.cores.nodes()[0], |requests| self.take_up(requests))?;
            for line in program.take_foreign() {
                let in_memory = self.memory.has(self.scheme.layout().data_slot(line));
                self.chip.changed_from_outside(line, in_memory);
                self.write_victims();
            }
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
