//! What waits for a translation, and goes on when it is there.

use crate::node::interface::Touch;
use crate::node::lines::WordAddr;
use crate::node::pipeline::stores::{Forward, StoreQueue};
use units::LineAddr;

/// Which first-level buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) enum Side {
    Code,
    Data,
}

/// What goes on when a translation is there.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) enum Translated {
    /// The address of a store of the instruction of that number, which is in this line.
    StoreAddress { number: u64, line: LineAddr },
    /// A load of the instruction of that number.
    Load { number: u64, touch: Touch, forward: Option<Forward>, shared: bool },
    /// The write of the store of that number.
    Store { store: u64 },
    /// The front end, at that place.
    Fetch { word: WordAddr },
}

impl Translated {
    /// The line that it is for.
    pub(in crate::node) fn line(&self, stores: &StoreQueue) -> LineAddr {
        match self {
            Translated::StoreAddress { line, .. } => *line,
            Translated::Load { touch, .. } => touch.line,
            Translated::Store { store } => stores.target(*store).1.line(),
            Translated::Fetch { word } => word.line(),
        }
    }

    /// Whether retirement waits for it, while the oldest instruction has this number, or there is none.
    pub(in crate::node) fn is_awaited(&self, oldest: Option<u64>) -> bool {
        match self {
            Translated::Load { number, .. } | Translated::StoreAddress { number, .. } => Some(*number) == oldest,
            Translated::Fetch { .. } => oldest.is_none(),
            Translated::Store { .. } => false,
        }
    }

    /// How many accesses it counts for.
    pub(in crate::node) fn counted(&self) -> usize {
        usize::from(!matches!(self, Translated::Load { shared: true, .. } | Translated::Fetch { .. }))
    }
}
