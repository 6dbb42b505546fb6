//! Accesses that wait for a translation.

use crate::node::interface::Touch;
use crate::node::lines::WordAddr;
use crate::node::pipeline::stores::Forward;
use units::LineAddr;

/// First-level TLB of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The TLB of the front end.
    Code,
    /// The TLB of loads and stores.
    Data,
}

/// An access that continues when its translation arrives.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) enum Translated {
    /// The address of a store to `line` by instruction `number`.
    StoreAddress { number: u64, line: LineAddr },
    /// A load of the instruction with this number.
    Load { number: u64, touch: Touch, forward: Option<Forward>, shared: bool },
    /// The write to `line` of the store with this number.
    Store { store: u64, line: LineAddr },
    /// The front end, which fetches this word.
    Fetch { word: WordAddr },
}

impl Translated {
    /// Returns the line of the access.
    pub(in crate::node) fn line(&self) -> LineAddr {
        match self {
            Translated::StoreAddress { line, .. } | Translated::Store { line, .. } => *line,
            Translated::Load { touch, .. } => touch.line,
            Translated::Fetch { word } => word.line(),
        }
    }

    /// Returns true if retirement waits for the access. `oldest` is the number of the oldest instruction in the window.
    pub(in crate::node) fn is_awaited(&self, oldest: Option<u64>) -> bool {
        match self {
            Translated::Load { number, .. } | Translated::StoreAddress { number, .. } => Some(*number) == oldest,
            Translated::Fetch { .. } => oldest.is_none(),
            Translated::Store { .. } => false,
        }
    }

    /// Returns 0 for a shared load or a code fetch, which occupy no entry of L1D, and 1 for other accesses.
    pub(in crate::node) fn counted(&self) -> usize {
        usize::from(!matches!(self, Translated::Load { shared: true, .. } | Translated::Fetch { .. }))
    }
}
