//! Clean lines that L2 sends to the next level when it evicts them.

use rustc_hash::FxHashSet;
use units::LineAddr;

/// Rule for the clean victims of L2.
#[derive(Clone, Debug, Default)]
pub struct CleanVictims {
    /// True if L2 sends every clean victim.
    sends_all: bool,
    /// Clean lines that L2 sends even if `sends_all` is false.
    owed: FxHashSet<LineAddr>,
}

impl CleanVictims {
    /// Makes L2 send all its clean victims from now on, for a last-level victim cache.
    pub fn send_all(&mut self) {
        self.sends_all = true;
    }

    /// Announces a line that is encrypted and unverified below L2. If L2 evicts the line clean, L2 nevertheless sends
    /// it to the next level, unless another core's request for the line arrives first. Source: EMCC, MICRO 2022,
    /// section IV-F, "Inclusive Cache Hierarchy": a bit for each line of L2.
    pub fn owe(&mut self, line: LineAddr) {
        self.owed.insert(line);
    }

    /// Forgets a line that another core requests.
    pub(super) fn forget(&mut self, line: LineAddr) {
        self.owed.remove(&line);
    }

    /// Notes that L2 evicts a line. Returns true if L2 sends the line although it is clean.
    #[inline]
    pub(super) fn evict(&mut self, line: LineAddr) -> bool {
        !self.owed.is_empty() && self.owed.remove(&line) || self.sends_all
    }
}
