//! What begins as soon as a line's counter is at the controller: what needs the nonce alone, and the candidates of a speculation, if
//! these need no bitmap that is not there.

use super::{Access, Read};
use crate::codec::{Ahead, Begun, OfferedCandidates};
use crate::scheme::bitmap::LineBitmap;
use crate::scheme::offsets;
use crate::verbs::{Known, Verbs};
use units::{Line, Word};

impl<V: Verbs> Read<'_, V> {
    /// Begins what the line's counter is enough for.
    pub(super) fn begin(&self) -> Begun {
        let ahead = self.pad_ahead();
        let candidates = self.offer(ahead.as_ref()).unwrap_or_default();
        Begun { ahead, candidates }
    }

    /// Begins what needs the counter alone, but for the line's first offset, if that is kept.
    fn pad_ahead(&self) -> Option<Ahead> {
        let Access { scheme, verbs, at, .. } = self.access;
        scheme.codec.work.pad_ahead(verbs, offsets::is_kept(scheme, at.line()))
    }

    /// Offers the candidates of a speculation, if there is one. Where their tags bind the line's bitmap, that must be there.
    fn offer(&self, ahead: Option<&Ahead>) -> Option<OfferedCandidates> {
        let Access { scheme, verbs, at, .. } = self.access;
        let speculation = scheme.codec.speculation.as_ref()?;
        let offset = ahead.filter(|_| !offsets::is_kept(scheme, at.line()));
        let offset = offset.map_or(Known::default(), offset_known);
        if speculation.waits_for_bitmap() && self.bitmap()?.on_chip().is_none() {
            return Some(OfferedCandidates::InOrder(offset));
        }
        scheme.codec.offer(verbs, self.likely_place(), offset).map(OfferedCandidates::Now)
    }

    /// The bitmap of the line, if lines are re-ordered.
    pub(super) fn bitmap(&self) -> Option<LineBitmap<'_, V>> {
        LineBitmap::of(self.access.scheme, self.access.verbs, self.access.line())
    }

    /// Where the asked-for word lies, if the line's bitmap is on the chip; else where it would without one.
    pub(super) fn likely_place(&self) -> Word {
        let bitmap = self.bitmap().and_then(|bitmap| bitmap.on_chip());
        bitmap.unwrap_or_default().place_of(self.access.word)
    }

    /// The line was opened, and this came out, verified: its first offset is there from now on, and the table of values learns.
    pub(super) fn opened(&self, plaintext: &Line) {
        let Access { scheme, at, .. } = self.access;
        offsets::keep(scheme, at.line());
        scheme.codec.learn(plaintext);
    }
}

/// When what needs the nonce alone has come out.
fn offset_known((first, second): &Ahead) -> Known {
    let known = first.known();
    second.as_ref().map_or(known, |second| known.max(second.known()))
}
