//! Attributes of an instruction other than its accesses.

use super::flushing::Flushing;
use machine::node::{Orders, PageTables};
use units::LineAddr;
use workload::stream::Strand;

/// Attributes of the next instruction other than its accesses: page tables that its core receives with it, and its
/// persist ordering.
#[derive(Default)]
pub(super) struct Attributes {
    /// Page tables that the core receives.
    pub tables: Vec<PageTables>,
    /// Flushes and the fence of the instruction.
    pub orders: Orders,
    /// True if a persist fence follows the instruction: the instruction flushes lines without a fence of the program,
    /// as a system call does, and later stores wait for these flushes.
    fence_behind: bool,
    /// Memory clock or number of instructions that a trace of requests states for the instruction.
    pub due: u64,
    /// Selection of the simulated flushes.
    pub flushing: Flushing,
    /// True if any attribute is set.
    pub is_there: bool,
    /// True if the core has received the instruction.
    pub is_over: bool,
}

// Marked cold: most instructions do not have these attributes.
impl Attributes {
    /// Adds a line that the instruction flushes.
    #[cold]
    pub fn flush(&mut self, strand: Strand, line: LineAddr) {
        self.flushing.recorded(strand, line);
        self.orders.flushes.push(line);
        self.is_there = true;
    }

    /// Marks the instruction as a persist fence.
    #[cold]
    pub fn fence(&mut self) {
        let own = self.orders.flushes.is_empty();
        *(if own { &mut self.orders.fence } else { &mut self.fence_behind }) = true;
        self.is_there = true;
    }

    /// Clears the attributes for the next instruction, after the core has received this one.
    #[cold]
    pub fn go_on(&mut self) {
        let fence = self.fence_behind;
        let flushing = std::mem::take(&mut self.flushing);
        *self = Attributes {
            orders: Orders { fence, ..Orders::default() },
            is_there: fence,
            flushing,
            ..Attributes::default()
        };
    }

    /// Persist ordering of the instruction, if it has any.
    #[cold]
    pub fn orders(&self) -> Option<&Orders> {
        Some(&self.orders).filter(|orders| **orders != Orders::default())
    }
}
