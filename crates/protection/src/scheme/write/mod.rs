//! A write in steps.
//!
//! ```text
//! counter + 1 ─┬─ pad ─ ciphertext ─ tag ─ store both
//!              └─ tree: the nodes above the counter, if it is eager; the bitmap, if the line is re-ordered
//! ```
//! A write executes each step at most once. A *policy* decides when: at once and in place ([`immediate`]), or in tuples
//! that become durable ([`tuple`](mod@tuple)). Stores in a persist buffer are durable before their tuples
//! ([`buffered`]), and stores in durable caches are durable without a tuple ([`cached`]). After a tuple a forest may
//! change ([`reshape`]). Before a line's counter advances, the controller checks the lines that share its tag
//! ([`grouped`]).

mod buffered;
mod cached;
mod gathering;
mod grouped;
mod immediate;
mod observed;
mod pending;
mod policy;
mod reshape;
pub(super) mod tuple;

pub use buffered::PersistBufferHandle;
pub use cached::DurableCaches;
pub(super) use cached::outdate_root;
pub use observed::{ObservedState, Observers};
pub(crate) use pending::PendingWrites;

use super::access::DataAccess;
use super::bitmap::LineBitmap;
use super::{FixedScheme, offsets};
use crate::buffer::BufferEntry;
use crate::codec::{Others, Sealed};
use crate::counter::Counter;
use crate::planted::Bug;
use crate::release::Release;
use crate::slot::Role;
use crate::verbs::{Fault, Verbs};
use crypto::Tag;
use gathering::Gathering;
use sim::{Once, join};
use std::cell::Cell;
use units::{Line, LineAddr};

/// A write, with the results of its steps so far.
pub(super) struct Write<'a, V: Verbs> {
    pub access: DataAccess<'a, V>,
    plaintext: Line,
    counter: Once<Counter>,
    /// True once the write has waited for the blocks that seal the line.
    padded: Cell<bool>,
    sealed: Once<Sealed>,
    tag: Once<Option<Tag>>,
}

/// Waits for the verdicts of all speculatively released lines: the program may have computed this write from them.
async fn await_verdicts<V: Verbs>(scheme: &FixedScheme, verbs: &V, written: LineAddr) -> Result<(), Fault> {
    let awaited = scheme.release == Release::Speculative && !scheme.planted.has(Bug::VerdictsNotAwaited);
    if awaited && !verbs.await_verdicts().await { Err(Fault::Tainted(written)) } else { Ok(()) }
}

impl<'a, V: Verbs> Write<'a, V> {
    /// A write with no completed steps.
    pub fn new(access: DataAccess<'a, V>, plaintext: &Line) -> Write<'a, V> {
        let (counter, padded, sealed, tag) = Default::default();
        Write { access, plaintext: *plaintext, counter, padded, sealed, tag }
    }

    /// A write that has its new version already.
    pub fn under(access: DataAccess<'a, V>, counter: Counter, plaintext: &Line) -> Write<'a, V> {
        let write = Write::new(access, plaintext);
        write.counter.set(counter);
        write
    }

    /// A write that continues from the completed steps of its buffer entry.
    fn resumed(access: DataAccess<'a, V>, entry: &BufferEntry) -> Write<'a, V> {
        let write = Write::new(access, &entry.plaintext);
        entry.counter.into_iter().for_each(|counter| write.counter.set(counter));
        entry.sealed.clone().into_iter().for_each(|sealed| write.sealed.set(sealed));
        entry.tag.into_iter().for_each(|tag| write.tag.set(Some(tag)));
        write.padded.set(entry.pad);
        write
    }

    /// Waits for the blocks that seal the line under its version: in counter mode its pad, for which no text is needed.
    async fn pad(&self) {
        if !self.padded.get() {
            self.access.scheme.codec.work.to_seal(self.access.verbs).await;
            self.padded.set(true);
        }
    }

    /// The line encrypted under its version. Waits for the pad.
    async fn sealed(&self) -> &Sealed {
        let codec = &self.access.scheme.codec;
        if self.sealed.get().is_none() {
            self.pad().await;
        }
        let counter = self.counter.get().copied().unwrap_or_default();
        self.sealed.get_or_init(|| {
            offsets::keep(self.access.scheme, self.access.line());
            let bitmap = codec.bitmap_of(&self.plaintext);
            codec.learn(&self.plaintext);
            codec.encrypt(self.access.at, counter, bitmap, &self.plaintext)
        })
    }

    /// The tag over the line and the other lines under the same tag, if the design has tags.
    async fn tag(&self, sealed: &Sealed, others: &Others) -> Option<Tag> {
        if self.tag.get().is_none() {
            self.tag.set(self.access.scheme.codec.tag(self.access.verbs, sealed, others).await);
        }
        self.tag.get().copied().flatten()
    }

    /// Encrypts the line and computes its tag, which covers only this line.
    pub async fn seal(&self) -> (&Sealed, Option<Tag>) {
        let sealed = self.sealed().await;
        (sealed, self.tag(sealed, &Others::new()).await)
    }

    /// Records the keystream that hides the line and its tag when they leave the chip.
    pub fn spend(&self, sealed: &Sealed, others: &Others) {
        let DataAccess { scheme, verbs, .. } = self.access;
        scheme.codec.spend_pad(verbs, sealed);
        scheme.codec.spend_masks(verbs, sealed, others);
    }

    /// Stores the line, its tag (which also covers `others`) and its bitmap.
    pub async fn store(&self, others: &Others) -> Result<(), Fault> {
        let sealed = self.sealed().await;
        self.spend(sealed, others);
        let Some(bitmap) = LineBitmap::of(self.access.scheme, self.access.verbs, self.access.line()) else {
            return self.store_sealed(sealed, others).await;
        };
        let (stored, put) =
            Box::pin(async { join!(self.store_sealed(sealed, others), bitmap.put(sealed.bitmap)) }).await;
        stored.and(put)
    }

    /// Stores the sealed line and its tag.
    async fn store_sealed(&self, sealed: &Sealed, others: &Others) -> Result<(), Fault> {
        let DataAccess { scheme, verbs, at, .. } = self.access;
        if scheme.codec.tags_travel() {
            let tag = self.tag(sealed, others).await.unwrap_or_default();
            verbs.store(at.slot(), Role::Data, sealed.with(tag)).await;
            return Ok(());
        }
        let put_tag = async {
            match self.tag(sealed, others).await {
                Some(tag) => self.access.put_tag(tag).await,
                None => Ok(()),
            }
        };
        join!(verbs.store(at.slot(), Role::Data, sealed.ciphertext.into()), put_tag).1
    }
}
