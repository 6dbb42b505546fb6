//! What an instruction has beside its accesses.

use super::flushing::Flushing;
use machine::node::{Orders, PageTables};
use units::LineAddr;
use workload::stream::Strand;

/// What the instruction handed out next has beside its accesses: tables of pages that its core gets with it, and how it orders what
/// becomes durable.
#[derive(Default)]
pub(super) struct Beside {
    /// Tables of pages.
    pub tables: Vec<PageTables>,
    /// What it flushes and whether it fences.
    pub orders: Orders,
    /// Whether the instruction behind it is a persist fence: it flushes by itself, as a system call does, and what comes behind
    /// waits for that.
    fence_behind: bool,
    /// The clock or the instructions that a trace of requests states for it.
    pub due: u64,
    /// Which flushes are simulated.
    pub flushing: Flushing,
    /// Whether any of this is there.
    pub is_there: bool,
    /// Whether it was handed out.
    pub is_over: bool,
}

// Most instructions have nothing of this.
impl Beside {
    /// A word says that the instruction flushes a line.
    #[cold]
    pub fn flush(&mut self, strand: Strand, line: LineAddr) {
        self.flushing.told(strand, line);
        self.orders.flushes.push(line);
        self.is_there = true;
    }

    /// A word says that it fences.
    #[cold]
    pub fn fence(&mut self) {
        let own = self.orders.flushes.is_empty();
        *(if own { &mut self.orders.fence } else { &mut self.fence_behind }) = true;
        self.is_there = true;
    }

    /// The instruction was handed out: what the next one has.
    #[cold]
    pub fn go_on(&mut self) {
        let fence = self.fence_behind;
        let flushing = std::mem::take(&mut self.flushing);
        *self =
            Beside { orders: Orders { fence, ..Orders::default() }, is_there: fence, flushing, ..Beside::default() };
    }

    /// How it orders what becomes durable, if it does.
    #[cold]
    pub fn orders(&self) -> Option<&Orders> {
        Some(&self.orders).filter(|orders| **orders != Orders::default())
    }
}
