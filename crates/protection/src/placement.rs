//! Where lines of data lie in memory, and the number that ties their bytes to them.
//!
//! The core asks for a [`LineAddr`], memory knows a [`Slot`]; a [`DataSlot`] is a line with its slot, and only a placement
//! makes one. No other code turns a line into a slot or back. Metadata has slots of its own ([`layout`](crate::layout)),
//! which no line of data ever takes.

use crate::slot::Slot;
use units::LineAddr;

/// How lines are given their slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// Each has the slot with its own number, for good.
    #[default]
    Fixed,
}

/// A line of data and where it lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DataSlot {
    line: LineAddr,
    slot: Slot,
    moves: bool,
}

impl Placement {
    /// A line with its slot.
    pub fn of(self, line: LineAddr) -> DataSlot {
        match self {
            Placement::Fixed => DataSlot { line, slot: Slot(line.0), moves: false },
        }
    }

    /// The line in a slot of data, with it.
    pub fn in_slot(self, slot: Slot) -> DataSlot {
        match self {
            Placement::Fixed => DataSlot { line: LineAddr(slot.0), slot, moves: false },
        }
    }
}

impl DataSlot {
    /// A line in a slot that the record of its chunk gives it.
    pub(crate) fn by_record(line: LineAddr, slot: Slot) -> DataSlot {
        DataSlot { line, slot, moves: true }
    }

    /// The line, as the core knows it.
    pub fn line(self) -> LineAddr {
        self.line
    }

    /// Where it lies in memory.
    pub fn slot(self) -> Slot {
        self.slot
    }

    /// Whether others have had the slot before.
    pub(crate) fn moves(self) -> bool {
        self.moves
    }

    /// The number that its nonces and tags bind.
    pub fn bound(self) -> u64 {
        self.slot.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_line_is_found_in_the_slot_that_it_was_given(line in 0u64..1 << 40) {
            let placed = Placement::Fixed.of(LineAddr(line));
            prop_assert_eq!(placed.line(), LineAddr(line));
            prop_assert_eq!(Placement::Fixed.in_slot(placed.slot()), placed);
        }

        #[test]
        fn two_lines_never_share_a_slot_or_a_number(one in 0u64..1 << 20, other in 0u64..1 << 20) {
            let [one, other] = [one, other].map(|line| Placement::Fixed.of(LineAddr(line)));
            prop_assert_eq!(one == other, one.slot() == other.slot());
            prop_assert_eq!(one == other, one.bound() == other.bound());
        }
    }
}
