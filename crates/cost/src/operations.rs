//! What a drain does that takes energy.

use derive_more::{Add, AddAssign};
use serde::Serialize;
use std::ops::Mul;

/// Bits that are moved to memory, by where they come from. Flags are single bits, so bytes would not do.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Add, AddAssign)]
pub struct Moved {
    /// From the secure persist buffer.
    pub from_secpb_bits: u64,
    /// From the first-level cache.
    pub from_l1_bits: u64,
    /// From the second-level cache.
    pub from_l2_bits: u64,
    /// From the last-level cache.
    pub from_l3_bits: u64,
    /// From the memory controller with its metadata caches.
    pub from_controller_bits: u64,
}

/// What a drain does, as counts: of a closed form, or of a machine that really drains.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Add, AddAssign)]
pub struct Operations {
    /// What goes to memory.
    pub moved: Moved,
    /// Lines of metadata that come from memory.
    pub fetched_lines: u64,
    /// Lines that are hashed, for a tag or a node of the tree.
    pub hashed_lines: u64,
    /// Pads that are computed, each for a line.
    pub pads: u64,
}

impl Operations {
    /// What of these is not among others; of what those have more of, nothing.
    pub fn beyond(self, others: Operations) -> Operations {
        let moved = Moved {
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

    /// The same so many times.
    fn mul(self, times: u64) -> Operations {
        let moved = Moved {
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
