//! First steps of a read once the controller has the line's counter: the blocks that need only the nonce, and the
//! candidates of a speculation. Candidates may have to wait for a bitmap.

use super::{DataAccess, Read};
use crate::codec::{EarlyBlocks, OfferedCandidates, OpeningWork};
use crate::scheme::bitmap::LineBitmap;
use crate::scheme::offsets;
use crate::speculation::Bitmap;
use crate::verbs::{Known, Verbs};
use units::{Line, Word};

impl<V: Verbs> Read<'_, V> {
    /// Begins the steps that need only the line's counter.
    pub(super) fn begin(&self) -> OpeningWork {
        let early = self.begin_pad();
        let candidates = self.offer(early.as_ref()).unwrap_or_default();
        OpeningWork { early, candidates }
    }

    /// Begins the blocks that need only the counter, without the line's first offset if the chip has it.
    fn begin_pad(&self) -> Option<EarlyBlocks> {
        let DataAccess { scheme, verbs, at, .. } = self.access;
        EarlyBlocks::begin(&scheme.codec, verbs, offsets::is_kept(scheme, at.line()), self.likely_position())
    }

    /// Offers the candidates of a speculation, if there is one. If the candidates' tags cover the line's bitmap, the
    /// chip must have the bitmap.
    fn offer(&self, early: Option<&EarlyBlocks>) -> Option<OfferedCandidates> {
        let DataAccess { scheme, verbs, at, .. } = self.access;
        let speculation = scheme.codec.speculation.as_ref()?;
        let offset = early.filter(|_| !offsets::is_kept(scheme, at.line()));
        let offset = offset.map_or(Known::default(), EarlyBlocks::known);
        if speculation.waits_for_bitmap() && self.bitmap()?.on_chip().is_none() {
            return Some(OfferedCandidates::InOrder(offset));
        }
        scheme.codec.offer(verbs, self.likely_position(), offset).map(OfferedCandidates::Now)
    }

    /// The bitmap of the line, if lines are re-ordered.
    pub(super) fn bitmap(&self) -> Option<LineBitmap<'_, V>> {
        LineBitmap::of(self.access.scheme, self.access.verbs, self.access.line())
    }

    /// Returns the position in memory of the requested word. It follows from the line's bitmap if the chip has the
    /// bitmap; otherwise from the empty bitmap.
    pub(super) fn likely_position(&self) -> Word {
        let bitmap = self.bitmap().and_then(|bitmap| bitmap.on_chip()).map(|bitmap| self.in_memory(bitmap));
        bitmap.unwrap_or_default().position_of(self.access.word)
    }

    /// Returns the bitmap of the line, given the bitmap that the chip has for it. They differ if memory begins
    /// re-ordered and this read puts the line there.
    fn in_memory(&self, on_chip: Bitmap) -> Bitmap {
        let order = &self.access.scheme.codec.start_order;
        let at_start = order.is_by_values().then(|| self.start()).flatten();
        at_start.map_or(on_chip, |line| order.bitmap_of(line))
    }

    /// Keeps the first offset of an opened and verified line, and passes its plaintext to the table of values.
    pub(super) fn opened(&self, plaintext: &Line) {
        let DataAccess { scheme, at, .. } = self.access;
        offsets::keep(scheme, at.line());
        scheme.codec.learn(plaintext);
    }
}
