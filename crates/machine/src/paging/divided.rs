//! Division of memory into pages and lines.

use units::{Bytes, LineLength};

/// Sizes of pages and lines of a memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Divided {
    /// Size of a page.
    pub page: Bytes,
    /// Length of a memory line.
    pub line: LineLength,
}

impl From<Bytes> for Divided {
    /// Divides a memory into pages of this size and lines of 64 bytes.
    fn from(page: Bytes) -> Divided {
        Divided { page, line: LineLength::WHOLE }
    }
}
