//! Skimming: walks through a program block by block, without returning its instructions.
//!
//! Caches and predictors that stay warm between two detailed windows need only blocks, accesses and the directions of
//! branches. Skimming is several times as fast as stepping, which returns each instruction. Skimming and stepping may
//! alternate: both share one position and count the same instructions.

use super::damage::{not_due, unknown};
use super::leave::{BlockExit, before};
use super::{Event, PIECE_ACCESSES, StrandPosition, Walker, copy_line, known};
use crate::error::WorkloadError;
use crate::source::Supplier;
use crate::stream::{Access, AccessKind, Block, Strand};
use isa::{Flow, Instruction};
use std::ops::ControlFlow;
use std::sync::Arc;
use units::VirtAddr;
use wire::word::{self, BLOCK_INSTRUCTIONS, Control, TraceWord};

/// Receiver of skimmed events.
pub trait Skimmer {
    /// Receives the entry of a block, with those of its instructions that run.
    fn block(&mut self, strand: Strand, instructions: &[Instruction]);

    /// Receives an access of instruction `index` of `block`: its `nth` access, from zero.
    fn access(&mut self, strand: Strand, block: &Block, index: usize, nth: usize, access: &Access);

    /// Receives the branch at the end of a block, which led to `next`.
    fn branch(&mut self, strand: Strand, branch: &Instruction, next: VirtAddr);

    /// Receives an event that is no instruction. If the method breaks, skimming stops; the caller must resume it before
    /// stepping.
    fn event(&mut self, event: Event<'_>) -> ControlFlow<()>;
}

/// Reason why skimming a batch ended.
enum SkimEnd {
    /// The batch has no more words.
    BatchEnd,
    /// Enough instructions were skimmed.
    Enough,
    /// The next word is a control word.
    ControlWord(Control, u8, u64),
}

impl<S: Supplier> Walker<S> {
    /// Skims whole blocks until one more would exceed `most` instructions or `to` breaks. Also stops if the source has
    /// no batch [for the moment](Walker::is_waiting), or if only the instruction remains that [`Walker::next_step`]
    /// holds back to the end. Returns the number of skimmed instructions: zero if `most` is less than a block may have.
    ///
    /// # Errors
    /// The same errors as [`Walker::next_step`].
    pub fn skim(&mut self, most: u64, to: &mut impl Skimmer) -> Result<u64, WorkloadError> {
        let mut count = 0;
        if most < BLOCK_INSTRUCTIONS as u64 {
            return Ok(count);
        }
        self.hand_over(to);
        loop {
            match self.skim_batch(most, &mut count, to)? {
                SkimEnd::BatchEnd if self.drained => return Ok(count),
                SkimEnd::BatchEnd => {
                    if self.next_batch()? && to.event(self.begun()).is_break() {
                        return Ok(count);
                    }
                    if self.waiting {
                        return Ok(count);
                    }
                }
                SkimEnd::Enough => return Ok(count),
                SkimEnd::ControlWord(which, detail, operand) => {
                    count += self.finish_before(which, VirtAddr(operand), to);
                    if self.apply(which, detail, operand, to)?.is_break() {
                        return Ok(count);
                    }
                }
            }
        }
    }

    /// Passes the accesses that stepping has kept for due instructions.
    fn hand_over(&mut self, to: &mut impl Skimmer) {
        if !std::mem::take(&mut self.handed_out) {
            return;
        }
        self.positions[self.current].accesses.clear();
        for position in &mut self.positions {
            position.skimmed = position.accesses.len();
            let Some(block) = position.block.as_deref() else { continue };
            for (nth, access) in position.accesses.iter().enumerate() {
                to.access(position.strand, block, position.due, nth, access);
            }
            position.accesses.clear();
        }
    }

    fn skim_batch(&mut self, most: u64, count: &mut u64, to: &mut impl Skimmer) -> Result<SkimEnd, WorkloadError> {
        let words = &self.batch.words[..];
        let position = &mut self.positions[self.current];
        let (blocks, strand) = (&self.processes[position.process], position.strand);
        // The loop stores the block in its position only at its end: to store each entered block would cost more than
        // to skim it.
        let kept = position.block.take();
        let mut current = kept.as_ref();
        let stop = loop {
            let Some(&word) = words.get(self.at) else { break Ok(SkimEnd::BatchEnd) };
            match word::parse(word) {
                TraceWord::Access { store, log2_bytes, value, index, addr } => {
                    let index = usize::from(index);
                    let Some(block) = current.filter(|_| (position.due..position.ran).contains(&index)) else {
                        break Err(not_due(strand, index));
                    };
                    if index > position.due {
                        *count += (index - position.due) as u64;
                        (position.due, position.skimmed) = (index, 0);
                    }
                    let kind = if store { AccessKind::Store } else { AccessKind::Load };
                    let value = if value { words.get(self.at + 1).copied() } else { None };
                    self.at += 1 + usize::from(value.is_some());
                    let access = Access { addr: VirtAddr(addr), bytes: 1 << log2_bytes, kind, value };
                    to.access(strand, block, index, position.skimmed, &access);
                    position.skimmed += 1;
                }
                TraceWord::Block { id, instructions } => {
                    let (entered, entry) = match known(blocks, id, strand) {
                        Ok(found) => found,
                        Err(damaged) => break Err(damaged),
                    };
                    let (left, again) = leave_whole(current, position, entered, entry, to);
                    *count += left;
                    let ran = usize::from(instructions).min(entered.instructions.len());
                    if *count + if again { 1 } else { ran as u64 } > most {
                        break Ok(SkimEnd::Enough);
                    }
                    if !again {
                        position.skimmed = 0;
                        to.block(strand, &entered.instructions[..ran]);
                    }
                    position.run(ran);
                    current = Some(entered);
                    self.at += 1;
                }
                TraceWord::Control { which: None, .. } => break Err(unknown(strand, word)),
                TraceWord::Control { which: Some(which), detail, operand } => {
                    self.at += 1;
                    break Ok(SkimEnd::ControlWord(which, detail, operand));
                }
            }
        };
        position.block = current.cloned();
        stop
    }

    /// Completes the current block before the end of a strand or a process, or before another strand's turn; returns the
    /// number of completed instructions. After its turn, the strand goes on at `next`.
    fn finish_before(&mut self, which: Control, next: VirtAddr, to: &mut impl Skimmer) -> u64 {
        let position = &mut self.positions[self.current];
        if !matches!(which, Control::Ended | Control::Gone | Control::Turn) {
            return 0;
        }
        let due = std::mem::replace(&mut position.due, position.ran);
        let rest = position.block.as_deref().map_or(&[][..], |block| &block.instructions[due..position.ran]);
        if let Some(last) = rest.last()
            && which == Control::Turn
            && last.flow != Flow::Next
        {
            to.branch(position.strand, last, next);
        }
        (position.ran - due) as u64
    }

    fn apply(
        &mut self,
        which: Control,
        detail: u8,
        operand: u64,
        to: &mut impl Skimmer,
    ) -> Result<ControlFlow<()>, WorkloadError> {
        if which != Control::Line {
            return Ok(self.plain(which, detail, operand)?.map_or(ControlFlow::Continue(()), |event| to.event(event)));
        }
        let strand = self.batch.strand;
        self.at += copy_line(&mut self.line, &self.batch.words[self.at..], strand)?;
        Ok(to.event(Event::line(strand, operand, detail, &self.line)))
    }
}

/// Handles the entry of a block. Returns the number of instructions of the current block that it completes, and true if
/// it is only the next iteration of a repeated string instruction.
#[inline]
fn leave_whole(
    current: Option<&Arc<Block>>,
    position: &mut StrandPosition,
    entered: &Block,
    entry: VirtAddr,
    to: &mut impl Skimmer,
) -> (u64, bool) {
    let Some(current) = current.filter(|_| position.due < position.ran) else {
        return (0, false);
    };
    let mut before_last = 0;
    if current.instructions[position.ran - 1].pc == entry && position.due + 1 < position.ran {
        // A string instruction without an access so far may repeat. All instructions before it are complete.
        before_last = (position.ran - 1 - position.due) as u64;
        (position.due, position.skimmed) = (position.ran - 1, 0);
    }
    match before(&current.instructions[..position.ran], position.due, entered, entry) {
        BlockExit::Repeats => {
            let full = position.skimmed >= PIECE_ACCESSES;
            position.skimmed = if full { 0 } else { position.skimmed };
            return (before_last + u64::from(full), true);
        }
        BlockExit::Ran(ran) => position.ran = ran,
    }
    let due = std::mem::replace(&mut position.due, position.ran);
    if let Some(last) = current.instructions[due..position.ran].last()
        && last.flow != Flow::Next
    {
        to.branch(position.strand, last, entry);
    }
    (before_last + (position.ran - due) as u64, false)
}
