//! Handles the entry of a block after another block: determines whether the strand left the first block, and which of
//! the first block's instructions ran.

use super::{PIECE_ACCESSES, StrandPosition, Successor, WalkItem};
use crate::stream::Block;
use isa::{Flow, Instruction};
use units::VirtAddr;

/// State of the previous block, derived from the entry of the next one.
pub(super) enum BlockExit {
    /// The string instruction at its end is due and only repeats.
    Repeats,
    /// Number of its instructions that ran.
    Ran(usize),
}

/// Returns the due instruction of the current block when the strand enters another block. Returns `None` if no
/// instruction is due, or if the entry is only the next iteration of a repeated string instruction.
#[inline]
pub(super) fn leave(position: &mut StrandPosition, entered: &Block, entry: VirtAddr) -> Option<WalkItem> {
    let current = &position.block.as_ref()?.instructions[..position.ran];
    match before(current, position.due, entered, entry) {
        BlockExit::Repeats => {
            let full = position.accesses.len() >= PIECE_ACCESSES;
            return full.then_some(WalkItem::Step(Successor::Itself(entry)));
        }
        BlockExit::Ran(ran) => position.ran = ran,
    }
    leave_for(position, entry)
}

/// Returns the due instruction of the current block when all instructions that remain in it have run, and the strand goes
/// on at an address. Returns `None` if no instruction is due.
#[inline]
pub(super) fn leave_for(position: &mut StrandPosition, entry: VirtAddr) -> Option<WalkItem> {
    if position.due >= position.ran {
        position.accesses.clear();
        return None;
    }
    position.certain = position.ran - 1;
    Some(WalkItem::Step(if position.due < position.certain { Successor::InBlock } else { Successor::Block(entry) }))
}

/// Determines if the entry of a block only repeats the due string instruction, the last of `current`. If not, the entry
/// may show that the strand left the current block before its end.
#[inline]
pub(super) fn before(current: &[Instruction], due: usize, entered: &Block, entry: VirtAddr) -> BlockExit {
    let (last, ran) = (&current[current.len() - 1], current.len());
    if last.flow != Flow::Next || last.fall_through() == entry {
        return BlockExit::Ran(ran);
    }
    if entry == last.pc {
        let repeats = due + 1 == ran && entered.instructions.len() == 1;
        return if repeats { BlockExit::Repeats } else { BlockExit::Ran(ran) };
    }
    // QEMU left the block before its end, to execute one of its instructions again in a separate block.
    let restarted = current[due..].iter().position(|instruction| instruction.pc == entry);
    BlockExit::Ran(restarted.map_or(ran, |restarted| due + restarted))
}
