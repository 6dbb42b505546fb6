//! Accesses to the private caches: the unit that waits for an access, and the result of the access.

use crate::node::lines::{LineSize, WordAddr};
use units::{LineAddr, Words};

/// A unit that waits for the line of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) enum Waiter {
    /// A load of these words by the instruction with this number.
    Load(u64, Words),
    /// Like `Load`, for a load that shares the look-up of an earlier load of the same line. The statistics of hits and
    /// misses do not include it.
    SharedLoad(u64, Words),
    /// The store with this number.
    Store(u64),
    /// A partial store to this line that bypassed the caches. The merge reads the bytes that the program did not store.
    Merge(LineAddr),
    /// The walk in this entry of the walker.
    Walk(usize),
    /// The front end, which waits for code.
    Fetch,
}

impl Waiter {
    /// Returns true if the access occupies a look-up of L1D.
    pub(in crate::node) fn is_inside_l1d(self) -> bool {
        !matches!(self, Waiter::SharedLoad(..) | Waiter::Fetch)
    }

    /// Returns true if the access writes the line.
    #[inline]
    pub(in crate::node) fn writes(self) -> bool {
        matches!(self, Waiter::Store(_) | Waiter::Merge(_))
    }

    /// Returns the number of accesses that the statistics of hits and misses add for the waiter: 0 for a shared load,
    /// otherwise 1.
    pub(in crate::node) fn counted(self) -> u64 {
        u64::from(!matches!(self, Waiter::SharedLoad(..)))
    }

    /// Returns the words that the waiter needs from the memory line, for an access that begins at `word`. A store needs
    /// the whole line, since it changes the line in the cache. The front end needs its whole L1I line, since it
    /// continues through this line. A walk needs the whole line, since it does not store the index of its entry.
    pub(in crate::node) fn wants(self, word: WordAddr, of_code: LineSize) -> Words {
        match self {
            Waiter::Load(_, words) | Waiter::SharedLoad(_, words) => words,
            Waiter::Fetch => of_code.covered(word),
            Waiter::Walk(_) | Waiter::Store(_) | Waiter::Merge(_) => Words::ALL,
        }
    }
}

/// Result of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) enum Answer {
    /// The data arrives at this cycle.
    At(u64),
    /// The caches requested the line and wake the waiter when it arrives.
    Requested,
    /// No miss register is free, so the access must be retried.
    Stalled,
}

impl Answer {
    /// Returns the cycle of the data, or `None` if the caches wake the waiter later.
    #[inline]
    pub(in crate::node) fn known(self) -> Option<u64> {
        match self {
            Answer::At(cycle) => Some(cycle),
            Answer::Requested | Answer::Stalled => None,
        }
    }
}
