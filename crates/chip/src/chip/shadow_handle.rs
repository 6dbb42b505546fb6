//! Access of the chip to its shadow, and to the account of stores in the shadow.
//!
//! The feeds share the shadow. Each method borrows the shadow only during its call.

use crate::shadow::Shadow;
use crate::shadow::persisted::{changes_from_outside, is_persistent, keeps, left_buffer};
use crate::store_log::StoreLog;
use machine::observer::ObserverCounts;
use protection::verbs::Plaintext;
use std::cell::RefCell;
use std::rc::Rc;
use units::{Line, LineAddr, ZERO_LINE};

/// Shadow of a chip.
pub struct ShadowHandle(Rc<RefCell<Shadow>>);

impl ShadowHandle {
    pub(super) fn new(shadow: Rc<RefCell<Shadow>>) -> ShadowHandle {
        ShadowHandle(shadow)
    }

    /// Calls `what` on the account of stores ([`StoreLog`]), if there is one.
    pub(crate) fn note(&self, what: impl FnOnce(&mut StoreLog)) {
        if let Some(log) = &mut self.0.borrow_mut().log {
            what(log);
        }
    }

    /// Number of stores to a line that were accepted; zero if a run does not record this number.
    pub(crate) fn stores_had(&self, line: LineAddr) -> u64 {
        self.0.borrow().log().map_or(0, |log| log.accepted_of(line))
    }

    /// Present content of a line.
    pub(crate) fn text_of(&self, line: LineAddr) -> Line {
        self.0.borrow().content(line).unwrap_or(ZERO_LINE)
    }

    /// Returns the content of a line that is written to memory now. Memory must return it from here on.
    pub(super) fn put(&self, line: LineAddr) -> Line {
        self.0.borrow_mut().put(line)
    }

    /// Compares a line that left the checker with the line as written, and stores its content.
    pub(crate) fn returned(&self, line: LineAddr, plaintext: &Plaintext) {
        self.0.borrow_mut().returned(line, &plaintext.bytes);
    }

    /// Content with which memory boots a line that was never written to it.
    pub(super) fn start_up(&self, line: LineAddr) -> Line {
        self.0.borrow_mut().start_up(line)
    }

    /// True if stores to a line must become durable.
    pub(super) fn is_persistent(&self, line: LineAddr) -> bool {
        is_persistent(&self.0.borrow(), line)
    }

    /// True if stores to a line wait for acceptance, or its persist buffer has an entry.
    pub(super) fn keeps(&self, line: LineAddr) -> bool {
        keeps(&self.0.borrow(), line)
    }

    /// Lets a persist buffer accept the next store of its core, which must be to this line. Returns the new content of
    /// the line. From here on, memory must return this content.
    pub(crate) fn accept(&self, core: usize, line: LineAddr) -> Line {
        let content = self.next_store(core, line);
        self.0.borrow_mut().taken(line, &content);
        content
    }

    /// Applies the next store of a core, which must be to this line, at its point of acceptance, and returns the new
    /// content of the line.
    pub(crate) fn next_store(&self, core: usize, line: LineAddr) -> Line {
        self.note(|log| log.accept(core, line));
        self.0.borrow_mut().accept(core, line)
    }

    /// Line of the next change from outside in a core's program order, once all stores before it are accepted.
    pub(crate) fn next_from_outside(&self, core: usize) -> Option<LineAddr> {
        self.0.borrow().persisted.as_ref()?.next_from_outside(core)
    }

    /// Applies this change in a persist buffer and returns the new content, which memory must return from here on.
    pub(crate) fn changes_in_buffer(&self, core: usize) -> Line {
        let mut shadow = self.0.borrow_mut();
        let (line, content) = changes_from_outside(&mut shadow, core);
        shadow.taken(line, &content);
        drop(shadow);
        self.note(|log| log.change_accepted(core, line));
        content
    }

    /// Applies this change in the caches and returns its line.
    pub(super) fn changes_in_caches(&self, core: usize) -> LineAddr {
        let (line, _) = changes_from_outside(&mut self.0.borrow_mut(), core);
        self.note(|log| log.change_accepted(core, line));
        line
    }

    /// Notes that the entry of a line has left its persist buffer for memory.
    pub(crate) fn left_buffer(&self, line: LineAddr) {
        left_buffer(&mut self.0.borrow_mut(), line);
        self.note(|log| log.arrived(line, log.accepted_of(line)));
    }

    /// Number of lines with stores that are newer than the content in memory, and that are not `dirty` on the chip.
    pub(super) fn lines_lost(&self, dirty: impl Fn(LineAddr) -> bool) -> u64 {
        self.0.borrow().newer_than_memory().filter(|line| !dirty(*line)).count() as u64
    }

    /// True if the shadow should forget lines.
    pub(super) fn is_crowded(&self) -> bool {
        self.0.borrow().is_crowded()
    }

    /// Lines that memory has with their latest content.
    pub(super) fn written_lines(&self) -> Vec<LineAddr> {
        self.0.borrow().entries.written_lines()
    }

    /// Forgets lines that memory has with their latest content, and that are not on the chip.
    pub(super) fn forget(&self, lines: &[LineAddr]) {
        self.0.borrow_mut().forget(lines);
    }

    /// Statistics of the observer.
    pub fn observed(&self) -> ObserverCounts {
        self.0.borrow().observed()
    }

    /// Bytes of host memory that the shadow and the observer use.
    pub fn footprint_bytes(&self) -> u64 {
        self.0.borrow().footprint_bytes()
    }

    /// Prefetches the table entry of a line into the host's caches.
    pub(crate) fn prefetch_host(&self, line: LineAddr) {
        self.0.borrow().prefetch_host(line);
    }
}
