//! Which lines the simulator knows the content of.
//!
//! A line is sent once; from then on its stores keep the simulator's copy right, until the kernel writes behind the
//! program's back and the line is not known any more. A second map of the same kind never forgets, and so distinguishes a
//! first touch from a later one.

use crate::lines::{LineMap, lines_of};

/// The two maps.
pub struct KnownLines {
    known: LineMap,
    touched: LineMap,
}

impl KnownLines {
    /// Nothing known.
    pub fn new() -> std::io::Result<KnownLines> {
        Ok(KnownLines { known: LineMap::new()?, touched: LineMap::new()? })
    }

    /// Whether the line is known.
    #[inline]
    pub fn holds(&self, line: u64) -> bool {
        self.known.holds(line)
    }

    /// The line is being sent. Returns whether this is its first touch.
    pub fn tell(&self, line: u64) -> bool {
        self.known.set(line);
        !self.touched.set(line)
    }

    /// The kernel may have written here.
    pub fn forget(&self, address: u64, bytes: u64) {
        self.known.clear(lines_of(address, bytes));
    }

    /// The kernel may have written anywhere.
    pub fn forget_all(&self) {
        self.known.clear_all();
    }

    /// These addresses stand for other memory from now on.
    pub fn remap(&self, address: u64, bytes: u64) {
        self.known.clear(lines_of(address, bytes));
        self.touched.clear(lines_of(address, bytes));
    }

    /// A new address space.
    pub fn restart(&self) {
        self.known.clear_all();
        self.touched.clear_all();
    }
}
