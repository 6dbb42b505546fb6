//! One block after another: which instructions of the one that was left ran, and whether it was left at all.

use super::{Found, Next, PIECE_ACCESSES, Position};
use crate::stream::Block;
use isa::{Flow, Instruction};
use units::VirtAddr;

/// What entering a block says of the one before it.
pub(super) enum Before {
    /// The string instruction at its end, which is due, only repeats.
    Repeats,
    /// So many of its instructions ran.
    Ran(usize),
}

/// Another block is entered while instructions of the current one are due: the next of them, unless this is only the
/// next iteration of a repeated string instruction.
#[inline]
pub(super) fn leave(position: &mut Position, entered: &Block, entry: VirtAddr) -> Option<Found> {
    let current = &position.block.as_ref()?.instructions[..position.ran];
    match before(current, position.due, entered, entry) {
        Before::Repeats => {
            let full = position.accesses.len() >= PIECE_ACCESSES;
            return full.then_some(Found::Step(Next::Itself(entry)));
        }
        Before::Ran(ran) => position.ran = ran,
    }
    if position.due >= position.ran {
        position.accesses.clear();
        return None;
    }
    position.certain = position.ran - 1;
    Some(Found::Step(if position.due < position.certain { Next::InBlock } else { Next::Block(entry) }))
}

/// Whether entering a block only repeats the string instruction that is due, the last of `current`. If not, this may show that
/// the current block was left before its end.
#[inline]
pub(super) fn before(current: &[Instruction], due: usize, entered: &Block, entry: VirtAddr) -> Before {
    let (last, ran) = (&current[current.len() - 1], current.len());
    if last.flow != Flow::Next || last.fall_through() == entry {
        return Before::Ran(ran);
    }
    if entry == last.pc {
        let repeats = due + 1 == ran && entered.instructions.len() == 1;
        return if repeats { Before::Repeats } else { Before::Ran(ran) };
    }
    // QEMU left the block before its end to execute one of its instructions in another way.
    let restarted = current[due..].iter().position(|instruction| instruction.pc == entry);
    Before::Ran(restarted.map_or(ran, |restarted| due + restarted))
}
