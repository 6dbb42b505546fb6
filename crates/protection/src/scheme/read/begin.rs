//! What begins as soon as a line's counter is at the controller: what needs the nonce alone, and the candidates of a speculation.

use super::{Access, Read};
use crate::codec::{Ahead, Begun, Offers};
use crate::scheme::offsets;
use crate::verbs::Verbs;

impl<V: Verbs> Read<'_, V> {
    /// Begins what the line's counter is enough for.
    pub(super) fn begin(&self) -> Begun {
        let ahead = self.pad_ahead();
        let offers = self.offer(ahead.as_ref());
        Begun { ahead, offers }
    }

    /// Begins what needs the counter alone, but for the line's first offset, if that is kept.
    fn pad_ahead(&self) -> Option<Ahead> {
        let Access { scheme, verbs, at, .. } = self.access;
        scheme.codec.work.pad_ahead(verbs, offsets::is_kept(scheme, at.line()))
    }

    /// Offers the candidates of a speculation, if there is one. Where their tags bind the line's bitmap, that must be there.
    pub(super) fn offer(&self, ahead: Option<&Ahead>) -> Option<Box<Offers>> {
        let Access { scheme, verbs, at, word } = self.access;
        scheme.codec.speculation.as_ref()?;
        let bitmap = self.access.bitmap_on_chip();
        if bitmap.is_none() && scheme.codec.needs_bitmap_for_candidates() {
            return None;
        }
        let offset = ahead.filter(|_| !offsets::is_kept(scheme, at.line()));
        scheme.codec.offer(verbs, bitmap.unwrap_or_default().place_of(word), offset)
    }
}
