//! Choice of the read policy, which decides when and at which component the line is released.

use super::early::PredictedFetch;
use super::in_l2::L2Read;
use super::{DataAccess, Read};
use crate::codec::BitmapOrder;
use crate::ownership::Asker;
use crate::planted::Bug;
use crate::release::Release;
use crate::scheme::bitmap::LineBitmap;
use crate::verbs::{Exit, Fault, Plaintext, Verbs};
use sim::lock::Mode;

impl<'a, V: Verbs> DataAccess<'a, V> {
    /// Reads a line at the controller. An L2 may have begun the read, and a prediction may have fetched the line `early`.
    pub(in crate::scheme) async fn read(
        self,
        asker: Asker,
        begun: Option<&'a L2Read<'a, V>>,
        early: &'a PredictedFetch,
    ) -> Result<(), Fault> {
        let DataAccess { scheme, verbs, .. } = self;
        verbs.come_in().await;
        let line = self.lock_line().await;
        self.admit(asker).await?;
        let group = self.lock_group(Mode::Shared).await;
        // The line's counter may be ahead of its ciphertext in memory.
        if let Some(entry) = scheme.pending.entry(self.line()).filter(|_| !scheme.planted.has(Bug::BufferPassedByReads))
        {
            verbs.release(self.line(), Plaintext { bytes: entry.plaintext, verified: true }, Exit::Controller);
            return Ok(());
        }
        if scheme.persistence.has_buffer() && scheme.on_chip(|chip| chip.power.has_lost(self.line())) {
            return Err(Fault::Lost(self.line()));
        }
        if scheme.planted.has(Bug::BootTrustsMemory) {
            Box::pin(self.boot_unchecked()).await?;
        }
        // The group's lock is held: later changes do not affect this line's counter.
        let begun = begun.filter(|begun| !begun.is_void() || scheme.planted.has(Bug::VoidCountersServe));
        match LineBitmap::of(scheme, verbs, self.line()) {
            None => Read::new(self, begun, early, BitmapOrder::AS_IT_IS).by_policy().await,
            Some(bitmap) => Box::pin(read_by(self, bitmap, begun, early, (line, group))).await,
        }
    }
}

/// Reads a re-ordered line, and fetches its bitmap in parallel. If the look-up of the bitmap missed, then releases the
/// locks and prefetches the next bitmap line.
async fn read_by<'a, V: Verbs>(
    access: DataAccess<'a, V>,
    bitmap: LineBitmap<'a, V>,
    begun: Option<&L2Read<'a, V>>,
    early: &PredictedFetch,
    locks: impl Sized,
) -> Result<(), Fault> {
    let was_missed = bitmap.on_chip().is_none();
    let read = async |order: BitmapOrder<'_>| {
        let read = Read::new(access, begun, early, order);
        read.by_policy().await.map(|()| read.bitmap_to_boot())
    };
    if let Some(booted) = bitmap.in_parallel(read).await? {
        bitmap.boot(booted).await?;
    }
    drop(locks);
    if was_missed { bitmap.bring_next().await } else { Ok(()) }
}

impl<V: Verbs> Read<'_, V> {
    async fn by_policy(&self) -> Result<(), Fault> {
        match self.access.scheme.release {
            Release::Verified => self.verified().await,
            Release::Speculative => Box::pin(self.speculative()).await,
        }
    }
}
