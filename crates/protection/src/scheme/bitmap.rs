//! The bitmap of a line where lines are re-ordered: looked up with the line, and changed when that is written.

use super::Scheme;
use crate::bitmaps;
use crate::codec::{Brought, Order};
use crate::layout::Layout;
use crate::planted::Bug;
use crate::slot::{Kind, Role, Slot};
use crate::speculation::Bitmap;
use crate::verbs::{Fault, Verbs};
use sim::join;
use units::{Line, LineAddr};

/// The slot of a line's bitmap, if lines are re-ordered.
pub(super) fn slot(layout: &Layout, line: LineAddr) -> Option<Slot> {
    layout.region(Kind::Bitmaps).map(|region| region.slot(line.0 / bitmaps::LINES_PER_LINE))
}

/// The bitmap of a line.
pub(super) struct LineBitmap<'a, V> {
    scheme: &'a Scheme,
    verbs: &'a V,
    line: LineAddr,
    slot: Slot,
}

impl<'a, V: Verbs> LineBitmap<'a, V> {
    /// Of this line; nothing if lines are not re-ordered.
    pub fn of(scheme: &'a Scheme, verbs: &'a V, line: LineAddr) -> Option<LineBitmap<'a, V>> {
        Some(LineBitmap { scheme, verbs, line, slot: slot(&scheme.layout, line)? })
    }

    /// What the line lies by.
    pub async fn get(&self) -> Result<Bitmap, Fault> {
        let LineBitmap { scheme, verbs, .. } = *self;
        let bitmaps = scheme.metadata.get(verbs, self.slot, Role::Bitmap).await?;
        Ok(bitmaps::read(&bitmaps, self.line))
    }

    /// The same, if that is on the chip.
    pub fn on_chip(&self) -> Option<Bitmap> {
        let bitmaps = self.scheme.metadata.on_chip(|chip| chip.caches.content(Role::Bitmap, self.slot))?;
        Some(bitmaps::read(&bitmaps, self.line))
    }

    /// Does work on a line in the order that the bitmap says, which is brought meanwhile.
    pub async fn beside<T>(&self, work: impl AsyncFnOnce(Order<'_>) -> T) -> T {
        let brought = Brought::default();
        join!(async { brought.set(self.get().await) }, work(Order::by(&brought))).1
    }

    /// Brings the next line of bitmaps, if the design asks for that where one was missed.
    pub async fn bring_next(&self) -> Result<(), Fault> {
        let LineBitmap { scheme, verbs, .. } = *self;
        let last = scheme.layout.data_lines() - 1;
        let next = LineAddr((self.line.0 + bitmaps::LINES_PER_LINE).min(last));
        match slot(&scheme.layout, next).filter(|_| scheme.metadata.brings_bitmaps_ahead()) {
            Some(slot) => scheme.metadata.get(verbs, slot, Role::Bitmap).await.map(drop),
            None => Ok(()),
        }
    }

    /// The line lies by this one from now on.
    pub async fn put(&self, bitmap: Bitmap) -> Result<(), Fault> {
        let LineBitmap { scheme, verbs, .. } = *self;
        if scheme.planted.has(Bug::BitmapNotWritten) {
            return Ok(());
        }
        let write = |bitmaps: &mut Line| bitmaps::write(bitmaps, self.line, bitmap);
        scheme.metadata.edit(verbs, self.slot, Role::Bitmap, write).await
    }
}
