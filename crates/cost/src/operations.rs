//! The operations of a drain that consume energy.

use derive_more::{Add, AddAssign};
use serde::Serialize;
use std::ops::Mul;

/// Bits that a drain moves to memory, by their origin. Flags are single bits, so bytes would be too coarse.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Add, AddAssign)]
pub struct DrainTraffic {
    /// Bits from the secure persist buffer.
    pub from_secpb_bits: u64,
    /// Bits from the first-level cache.
    pub from_l1_bits: u64,
    /// Bits from the second-level cache.
    pub from_l2_bits: u64,
    /// Bits from the last-level cache.
    pub from_l3_bits: u64,
    /// Bits from the memory controller with its metadata caches.
    pub from_controller_bits: u64,
}

/// Counts of the operations of a drain: from a closed form, or from a machine that really drains.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Add, AddAssign)]
pub struct Operations {
    /// Bits that the drain moves to memory.
    pub moved: DrainTraffic,
    /// Metadata lines fetched from memory.
    pub fetched_lines: u64,
    /// Lines that are hashed, for a tag or a node of the tree.
    pub hashed_lines: u64,
    /// Pads that are computed, each for a line.
    pub pads: u64,
}

impl Operations {
    /// The difference between these operations and `others`, with zero for a count that is larger in `others`.
    pub fn beyond(self, others: Operations) -> Operations {
        let moved = DrainTraffic {
            from_secpb_bits: self.moved.from_secpb_bits.saturating_sub(others.moved.from_secpb_bits),
            from_l1_bits: self.moved.from_l1_bits.saturating_sub(others.moved.from_l1_bits),
            from_l2_bits: self.moved.from_l2_bits.saturating_sub(others.moved.from_l2_bits),
            from_l3_bits: self.moved.from_l3_bits.saturating_sub(others.moved.from_l3_bits),
            from_controller_bits: self.moved.from_controller_bits.saturating_sub(others.moved.from_controller_bits),
        };
        Operations {
            moved,
            fetched_lines: self.fetched_lines.saturating_sub(others.fetched_lines),
            hashed_lines: self.hashed_lines.saturating_sub(others.hashed_lines),
            pads: self.pads.saturating_sub(others.pads),
        }
    }
}

impl Mul<u64> for Operations {
    type Output = Operations;

    /// The operations, repeated `times`.
    fn mul(self, times: u64) -> Operations {
        let moved = DrainTraffic {
            from_secpb_bits: self.moved.from_secpb_bits * times,
            from_l1_bits: self.moved.from_l1_bits * times,
            from_l2_bits: self.moved.from_l2_bits * times,
            from_l3_bits: self.moved.from_l3_bits * times,
            from_controller_bits: self.moved.from_controller_bits * times,
        };
        Operations {
            moved,
            fetched_lines: self.fetched_lines * times,
            hashed_lines: self.hashed_lines * times,
            pads: self.pads * times,
        }
    }
}
