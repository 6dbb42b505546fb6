//! Addresses: virtual and physical bytes, and physical lines.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes in one line of a recording, and in a memory line unless a machine has shorter ones ([`LineLength`](crate::LineLength)).
pub const LINE_BYTES: usize = 64;
/// Bytes in the smallest page.
pub const PAGE_BYTES: usize = 4096;
/// Lines in the smallest page.
pub const LINES_PER_PAGE: usize = PAGE_BYTES / LINE_BYTES;

/// Content of one memory line. A shorter line is at the beginning, followed by zeros.
pub type Line = [u8; LINE_BYTES];

/// A line of zero bytes.
pub const ZERO_LINE: Line = [0; LINE_BYTES];

/// A byte address as the program sees it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct VirtAddr(pub u64);

/// A byte address in the machine's memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct PhysAddr(pub u64);

/// The number of a line in the machine's memory: a physical byte address divided by the length of the machine's memory lines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct LineAddr(pub u64);

impl VirtAddr {
    /// The first byte of the line that holds this address.
    pub const fn line_start(self) -> VirtAddr {
        VirtAddr(self.0 & !(LINE_BYTES as u64 - 1))
    }

    /// The distance from the start of its line, in bytes.
    pub const fn line_offset(self) -> usize {
        (self.0 % LINE_BYTES as u64) as usize
    }

    /// The number of the 4 KB page that holds this address.
    pub const fn page(self) -> u64 {
        self.0 / PAGE_BYTES as u64
    }
}

impl PhysAddr {
    /// The number of the 4 KB page of memory that holds this address.
    pub const fn page(self) -> u64 {
        self.0 / PAGE_BYTES as u64
    }

    /// The line that holds this address, where lines have [`LINE_BYTES`].
    pub const fn line(self) -> LineAddr {
        LineAddr(self.0 / LINE_BYTES as u64)
    }

    /// The distance from the start of its line, in bytes.
    pub const fn line_offset(self) -> usize {
        (self.0 % LINE_BYTES as u64) as usize
    }
}

impl LineAddr {
    /// The physical address of the line's first byte.
    pub const fn start(self) -> PhysAddr {
        PhysAddr(self.0 * LINE_BYTES as u64)
    }
}

macro_rules! shown_in_hexadecimal {
    ($($name:ident)*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    )*};
}
shown_in_hexadecimal!(VirtAddr PhysAddr LineAddr);
