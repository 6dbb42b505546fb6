//! Order of lines that memory has from before the machine began.

use super::{Bitmap, Candidates};
use units::Line;

/// Order of lines that memory has from before the machine began: program order, or the frequent words of a line first.
#[derive(Clone, Default)]
pub(crate) struct StartOrder(pub(super) Option<Candidates>);

impl StartOrder {
    /// Returns true if memory was re-ordered before the machine began.
    pub fn is_by_values(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the bitmap of a line that memory has from before the machine began, or [`Bitmap::NONE`] in program order.
    pub fn bitmap_of(&self, line: &Line) -> Bitmap {
        self.0.as_ref().map_or(Bitmap::NONE, |values| Bitmap::of(values.frequent(line)))
    }
}
