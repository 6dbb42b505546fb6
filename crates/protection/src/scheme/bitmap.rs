//! The bitmap of a line, in a design that re-orders lines: a read looks it up with the line, and a write changes it.

use super::FixedScheme;
use crate::bitmaps::{self, BitmapCipher};
use crate::codec::{BitmapOrder, Brought};
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
    scheme: &'a FixedScheme,
    verbs: &'a V,
    line: LineAddr,
    slot: Slot,
}

impl<'a, V: Verbs> LineBitmap<'a, V> {
    /// Returns the bitmap of this line; `None` if lines are not re-ordered.
    pub fn of(scheme: &'a FixedScheme, verbs: &'a V, line: LineAddr) -> Option<LineBitmap<'a, V>> {
        Some(LineBitmap { scheme, verbs, line, slot: slot(&scheme.layout, line)? })
    }

    /// Returns the bitmap that gives the order of the line's words.
    pub async fn get(&self) -> Result<Bitmap, Fault> {
        let LineBitmap { scheme, verbs, .. } = *self;
        let bitmaps = scheme.metadata.get(verbs, self.slot, Role::Bitmap).await?;
        Ok(bitmaps::read(&bitmaps, self.line))
    }

    /// Returns the bitmap if the chip holds it.
    pub fn on_chip(&self) -> Option<Bitmap> {
        let bitmaps = self.scheme.metadata.on_chip(|chip| chip.caches.content(Role::Bitmap, self.slot))?;
        Some(bitmaps::read(&bitmaps, self.line))
    }

    /// Runs `work`, which uses the order of the bitmap, and fetches the bitmap in parallel.
    pub async fn in_parallel<T>(&self, work: impl AsyncFnOnce(BitmapOrder<'_>) -> T) -> T {
        let brought = Brought::default();
        join!(async { brought.set(self.get().await) }, work(BitmapOrder::by(&brought))).1
    }

    /// Prefetches the next bitmap line, if the design does so after a miss.
    pub async fn bring_next(&self) -> Result<(), Fault> {
        let LineBitmap { scheme, verbs, .. } = *self;
        let last = scheme.layout.data_lines() - 1;
        let next = LineAddr((self.line.0 + bitmaps::LINES_PER_LINE).min(last));
        match slot(&scheme.layout, next)
            .filter(|_| scheme.metadata.bitmaps.as_ref().is_some_and(BitmapCipher::prefetches_next))
        {
            Some(slot) => scheme.metadata.get(verbs, slot, Role::Bitmap).await.map(drop),
            None => Ok(()),
        }
    }

    /// Puts the bitmap of a line into memory as if booting had done so. The bitmap line is on the chip, unless
    /// other accesses have evicted it since this access fetched it.
    pub async fn boot(&self, bitmap: Bitmap) -> Result<(), Fault> {
        let LineBitmap { scheme, verbs, .. } = *self;
        let Some(cipher) = &scheme.metadata.bitmaps else { return Ok(()) };
        let write = |bitmaps: &mut Line| bitmaps::write(bitmaps, self.line, bitmap);
        loop {
            if scheme.on_chip(|chip| chip.power.changes_nothing()) {
                return Ok(());
            }
            // While the chip has the line, no fetch of its former content is under way.
            if scheme.metadata.on_chip(|chip| chip.caches.content(Role::Bitmap, self.slot)).is_some() {
                scheme.metadata.on_chip(|chip| chip.caches.amend(Role::Bitmap, self.slot, write));
                cipher.boot(verbs, self.slot, write);
                return Ok(());
            }
            scheme.metadata.get(verbs, self.slot, Role::Bitmap).await?;
        }
    }

    /// Writes the bitmap of the line.
    pub async fn put(&self, bitmap: Bitmap) -> Result<(), Fault> {
        let LineBitmap { scheme, verbs, .. } = *self;
        if scheme.planted.has(Bug::BitmapNotWritten) {
            return Ok(());
        }
        let write = |bitmaps: &mut Line| bitmaps::write(bitmaps, self.line, bitmap);
        scheme.metadata.edit(verbs, self.slot, Role::Bitmap, write).await
    }
}
