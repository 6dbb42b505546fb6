//! Slots of lines of data, and the number that ties the bytes of a line to its slot.
//!
//! The core requests a [`LineAddr`], and memory is addressed by a [`Slot`]. A [`DataSlot`] is a line of data with its
//! slot, and only a placement creates one. No other code maps a line to a slot, or a slot to a line. Metadata has
//! separate slots ([`layout`](crate::layout)), which never hold lines of data.

use crate::slot::Slot;
use units::LineAddr;

/// Rule by which lines get their slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// Each line has the slot of the same number, permanently.
    #[default]
    Fixed,
}

/// A line of data with its slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DataSlot {
    line: LineAddr,
    slot: Slot,
    moves: bool,
}

impl Placement {
    /// Returns a line with its slot.
    pub fn of(self, line: LineAddr) -> DataSlot {
        match self {
            Placement::Fixed => DataSlot { line, slot: Slot(line.0), moves: false },
        }
    }

    /// Returns the line in a slot of data, with the slot.
    pub fn in_slot(self, slot: Slot) -> DataSlot {
        match self {
            Placement::Fixed => DataSlot { line: LineAddr(slot.0), slot, moves: false },
        }
    }
}

impl DataSlot {
    /// Returns a line with the slot that the record of its page chunk gives.
    pub(crate) fn by_record(line: LineAddr, slot: Slot) -> DataSlot {
        DataSlot { line, slot, moves: true }
    }

    /// Address of the line on the chip.
    pub fn line(self) -> LineAddr {
        self.line
    }

    /// Slot of the line in memory.
    pub fn slot(self) -> Slot {
        self.slot
    }

    /// Returns whether the line is permuted among slots, so that other lines may have been in its slot before.
    pub(crate) fn moves(self) -> bool {
        self.moves
    }

    /// Number that the line's nonces and tags bind.
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
        fn the_fixed_placement_maps_each_line_to_a_slot_and_back(line in 0u64..1 << 40) {
            let placed = Placement::Fixed.of(LineAddr(line));
            prop_assert_eq!(placed.line(), LineAddr(line));
            prop_assert_eq!(Placement::Fixed.in_slot(placed.slot()), placed);
        }

        #[test]
        fn the_fixed_placement_never_maps_two_lines_to_one_slot_or_bound_number(one in 0u64..1 << 20, other in 0u64..1 << 20) {
            let [one, other] = [one, other].map(|line| Placement::Fixed.of(LineAddr(line)));
            prop_assert_eq!(one == other, one.slot() == other.slot());
            prop_assert_eq!(one == other, one.bound() == other.bound());
        }
    }
}
