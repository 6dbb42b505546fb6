//! The full-map directory: which cores may have a line, and whether one may have it for itself.
//!
//! It is conservative. Private caches drop clean lines without a word, and a line that is written back from L2 may
//! still be in L1D, so a core that is listed may have the line no more; a core that has it is always listed.

use crate::sparse::Sparse;
use units::LineAddr;

/// The most cores: one bit each in a byte a line.
pub const CORES_MAX: usize = 8;

/// A set of cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CoreSet(u8);

impl CoreSet {
    /// Only this one.
    pub fn of(core: usize) -> CoreSet {
        CoreSet(1 << core)
    }

    /// Whether no core is in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `core` is in it.
    pub fn contains(self, core: usize) -> bool {
        self.0 >> core & 1 == 1
    }

    /// All but `core`.
    #[must_use]
    pub fn without(self, core: usize) -> CoreSet {
        CoreSet(self.0 & !(1 << core))
    }

    /// All and `core`.
    #[must_use]
    pub fn with(self, core: usize) -> CoreSet {
        CoreSet(self.0 | 1 << core)
    }

    /// Its members, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..CORES_MAX).filter(move |core| self.contains(*core))
    }
}

/// Which cores may have one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Holders {
    /// The cores.
    pub cores: CoreSet,
    /// Whether the only one of them may write it.
    pub exclusive: bool,
}

/// Which cores may have which line.
pub struct Directory {
    lines: Sparse<Holders, 128>,
}

impl Directory {
    /// A directory of this many lines, none of which any core has.
    pub fn new(lines: u64) -> Directory {
        Directory { lines: Sparse::new(lines) }
    }

    /// Which cores may have a line.
    pub fn holders(&self, line: LineAddr) -> Holders {
        self.lines.get(line.0)
    }

    /// Asks the host for a line's holders.
    pub fn look_ahead(&self, line: LineAddr) {
        self.lines.look_ahead(line.0);
    }

    /// Notes which cores may have a line from now on.
    pub fn set(&mut self, line: LineAddr, holders: Holders) {
        *self.lines.entry(line.0) = holders;
    }

    /// Bytes of this process that it takes.
    pub fn footprint_bytes(&self) -> u64 {
        self.lines.footprint_bytes()
    }
}
