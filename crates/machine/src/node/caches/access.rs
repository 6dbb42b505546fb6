//! Accesses to private caches: on whose behalf, and what became of them.

use crate::node::lines::{LineSize, WordAddr};
use units::{LineAddr, Words};

/// What waits for a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) enum Waiter {
    /// A load of these words by the instruction of that number.
    Load(u64, Words),
    /// The same, sharing the look-up of a load of the same line that waited with it: it is not counted.
    SharedLoad(u64, Words),
    /// The store of that number.
    Store(u64),
    /// That line, which was stored to past the caches in part: the rest of it is read.
    Merge(LineAddr),
    /// The walk at that place.
    Walk(usize),
    /// The front end.
    Fetch,
}

impl Waiter {
    /// Whether it has a look-up of L1D to itself.
    pub(in crate::node) fn is_inside_l1d(self) -> bool {
        !matches!(self, Waiter::SharedLoad(..) | Waiter::Fetch)
    }

    /// Whether the line is to be written.
    #[inline]
    pub(in crate::node) fn writes(self) -> bool {
        matches!(self, Waiter::Store(_) | Waiter::Merge(_))
    }

    /// How many accesses it counts for.
    pub(in crate::node) fn counted(self) -> u64 {
        u64::from(!matches!(self, Waiter::SharedLoad(..)))
    }

    /// What it needs of the line of memory with `word`, where its access begins. A store changes a line that is there, the front
    /// end goes on through the line of its cache, and which entry of it a walk is for is not kept.
    pub(in crate::node) fn wants(self, word: WordAddr, of_code: LineSize) -> Words {
        match self {
            Waiter::Load(_, words) | Waiter::SharedLoad(_, words) => words,
            Waiter::Fetch => of_code.covered(word),
            Waiter::Walk(_) | Waiter::Store(_) | Waiter::Merge(_) => Words::ALL,
        }
    }
}

/// What became of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) enum Answer {
    /// Its data is there at this cycle.
    At(u64),
    /// The line was asked for; the waiter is woken when it arrives.
    Asked,
    /// There is no register for the miss.
    Stalled,
}

impl Answer {
    /// The data's cycle, or nothing if the waiter will be woken.
    #[inline]
    pub(in crate::node) fn known(self) -> Option<u64> {
        match self {
            Answer::At(cycle) => Some(cycle),
            Answer::Asked | Answer::Stalled => None,
        }
    }
}
