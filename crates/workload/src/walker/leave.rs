//! One block after another: which instructions of the one that was left ran, and whether it was left at all.

use super::{Blocks, Found, Next, PIECE_ACCESSES, Position, current_block};
use crate::stream::Block;
use isa::{Flow, Instruction};
use units::VirtAddr;

/// Another block is entered while instructions of the current one are due: the next of them, unless this is only the
/// next iteration of a repeated string instruction.
#[inline]
pub(super) fn leave(blocks: &Blocks, position: &mut Position, entered: &Block, entry: VirtAddr) -> Option<Found> {
    let instructions = &current_block(blocks, position)?.instructions;
    if repeats(instructions, position, entered, entry) {
        let full = position.accesses.len() >= PIECE_ACCESSES;
        return full.then_some(Found::Step(Next::Itself(entry)));
    }
    if position.due >= position.ran {
        position.accesses.clear();
        return None;
    }
    position.certain = position.ran - 1;
    Some(Found::Step(if position.due < position.certain { Next::InBlock } else { Next::Block(entry) }))
}

/// Whether entering a block only repeats the string instruction that is due. If not, this may show that the current block
/// was left before its end.
#[inline]
pub(super) fn repeats(instructions: &[Instruction], position: &mut Position, entered: &Block, entry: VirtAddr) -> bool {
    let last = &instructions[position.ran - 1];
    if last.flow != Flow::Next || last.fall_through() == entry {
        return false;
    }
    if entry == last.pc && position.due + 1 == position.ran && entered.instructions.len() == 1 {
        return true;
    }
    // QEMU left the block before its end to execute one of its instructions in another way.
    let rest = &instructions[position.due..position.ran];
    if let Some(restarted) = rest.iter().position(|instruction| instruction.pc == entry)
        && entry != last.pc
    {
        position.ran = position.due + restarted;
    }
    false
}
