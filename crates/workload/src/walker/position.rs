//! Position of a strand in its execution.

use crate::source::Stretch;
use crate::stream::{Access, Block, Strand};
use std::sync::Arc;

/// Position of one strand in its execution.
#[derive(Default)]
pub(super) struct StrandPosition {
    pub strand: Strand,
    /// Index of the table of blocks of the strand's process.
    pub process: usize,
    /// Current block, kept here because each of its instructions needs it. The next fields are the number of its
    /// executed instructions, and the index of the due instruction.
    pub block: Option<Arc<Block>>,
    pub ran: usize,
    pub due: usize,
    /// Instructions before this index have certainly run, according to the next word, so the walker need not read this
    /// word again for each instruction. Only the first due instruction may have accesses.
    pub certain: usize,
    pub accesses: Vec<Access>,
    /// Number of accesses of the due instruction that skimming has already passed on, and that the walker did not keep.
    pub skimmed: usize,
    /// Time span of the execution.
    pub stretch: Stretch,
}

impl StrandPosition {
    /// Enters a block: at most `instructions` of it run. A loop enters the current block again.
    #[inline]
    pub fn enter(&mut self, block: &Arc<Block>, instructions: u16) {
        if !self.block.as_ref().is_some_and(|current| Arc::ptr_eq(current, block)) {
            self.block = Some(block.clone());
        }
        self.run(usize::from(instructions).min(block.instructions.len()));
    }

    /// Begins the strand's next batch. Accesses of a due instruction took place in the previous batch.
    pub fn go_on_in(&mut self, stretch: Stretch) {
        let after = if self.accesses.is_empty() { stretch.after } else { self.stretch.after };
        self.stretch = Stretch { after, ..stretch };
    }

    /// Drops the due instructions of the current block: they do not run.
    pub fn drop_rest(&mut self) {
        (self.ran, self.due, self.certain) = (0, 0, 0);
        self.accesses.clear();
    }

    /// Runs the first `ran` instructions of the current block.
    #[inline]
    pub fn run(&mut self, ran: usize) {
        (self.ran, self.due, self.certain) = (ran, 0, 0);
    }
}
