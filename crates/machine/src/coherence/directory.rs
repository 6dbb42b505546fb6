//! The full-map directory: the cores that may hold a line, and whether one of them may write it.
//!
//! The directory is conservative. Private caches drop clean lines without notifying it, and a line that L2 writes back
//! may still be in L1D. So a listed core may no longer hold the line, but a core that holds it is always listed.

use crate::sparse::Sparse;
use units::LineAddr;

/// Maximum number of cores: the directory has one byte per line and one bit per core.
pub const CORES_MAX: usize = 8;

/// A set of cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CoreSet(u8);

impl CoreSet {
    /// Returns the set that contains only this core.
    pub fn of(core: usize) -> CoreSet {
        CoreSet(1 << core)
    }

    /// Returns true if the set contains no core.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true if the set contains `core`.
    pub fn contains(self, core: usize) -> bool {
        self.0 >> core & 1 == 1
    }

    /// Returns the set without `core`.
    #[must_use]
    pub fn without(self, core: usize) -> CoreSet {
        CoreSet(self.0 & !(1 << core))
    }

    /// Returns the set with `core` added.
    #[must_use]
    pub fn with(self, core: usize) -> CoreSet {
        CoreSet(self.0 | 1 << core)
    }

    /// Returns the members in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..CORES_MAX).filter(move |core| self.contains(*core))
    }
}

/// The cores that may hold one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Holders {
    /// Set of the cores.
    pub cores: CoreSet,
    /// True if the set has one core and that core may write the line.
    pub exclusive: bool,
}

/// The possible holders of every line.
pub struct Directory {
    lines: Sparse<Holders, 128>,
}

impl Directory {
    /// Creates a directory for a memory of `lines` lines that no core holds.
    pub fn new(lines: u64) -> Directory {
        Directory { lines: Sparse::new(lines) }
    }

    /// Returns the cores that may hold a line.
    pub fn holders(&self, line: LineAddr) -> Holders {
        self.lines.get(line.0)
    }

    /// Prefetches the host memory with a line's holders.
    pub fn prefetch_host(&self, line: LineAddr) {
        self.lines.prefetch_host(line.0);
    }

    /// Replaces the cores that may hold a line.
    pub fn set(&mut self, line: LineAddr, holders: Holders) {
        *self.lines.entry(line.0) = holders;
    }

    /// Returns the size of the directory in the memory of this process, in bytes.
    pub fn footprint_bytes(&self) -> u64 {
        self.lines.footprint_bytes()
    }
}
