//! Use before verify: a line goes to the core when it is decrypted, while its counter and its tag are still being checked
//! (Lehman et al., "PoisonIvy", MICRO 2016).
//!
//! ```text
//! fetch ─┬─ XOR with the pad of whatever counter memory returned ─ release        ┐
//!        └─ counter against the tree, tag against the line ─────── verdict: settle ┘ the window
//! write: wait until every window that is open now is settled ─ counter + 1 ─ ...
//! ```
//! Nothing that was computed from such a line may be written to memory before the verdict: a write waits for all that are
//! under way. A bad verdict is a fault as ever, and the machine stops with nothing of it outside.
//!
//! Not held back are fetches, whose addresses may have been computed from such a line. PoisonIvy follows poison through
//! registers to stop those too; here the address bus leaks, and attacks show it.
//!
//! A line whose counters an L2 has is opened and released there, after its verdict.
//!
//! The way to the core does not ask how far the verdict is. So a run without time, where everything is known at once, lets
//! out what the slowest verdict would.

use super::{Complete, Read};
use crate::codec::Ahead;
use crate::speculation::Bitmap;
use crate::verbs::{Exit, Fault, Plaintext, Verbs};
use sim::{Once, join};
use std::cell::Cell;
use units::Line;

impl<V: Verbs> Read<'_, V> {
    /// Releases the line when it is decrypted, under whatever counter came, and settles it when its verdict is in.
    pub(super) async fn speculative(&self) -> Result<(), Fault> {
        let (pad, complete, text) = (Cell::new(None), Once::default(), Once::default());
        let bring = async { complete.set(self.bring(|| pad.set(self.pad_ahead())).await) };
        let count = async { self.count(*self.found.wait().await) };
        let bring = async { join!(bring, count) };
        let (_, (), verdict) = join!(bring, self.open_ahead(&pad, &text), self.verdict(&complete, &text));
        if text.get().is_some() {
            self.access.verbs.settle(self.access.line(), verdict.is_ok());
        }
        verdict
    }

    async fn open_ahead(&self, pad: &Cell<Option<Ahead>>, text: &Once<Line>) {
        let (scheme, verbs, at) = (self.access.scheme, self.access.verbs, self.access.at);
        let stored = self.stored.wait().await;
        let Some(counters) = self.counters.wait().await else { return };
        scheme.codec.work.to_open(verbs, pad.take()).await;
        let open = || scheme.codec.decrypt(at, scheme.version(counters, at.line()), stored);
        let started_with = self.started_with(stored);
        let bitmap = match started_with {
            Some(_) => Bitmap::NONE,
            None => self.access.bitmap().await.unwrap_or_default(),
        };
        let lying = started_with.unwrap_or_else(open);
        let plaintext = Plaintext { bytes: bitmap.restore(&lying), verified: false };
        verbs.release(at.line(), plaintext, Exit::AheadOfVerdict);
        text.set(lying);
    }

    async fn verdict(
        &self,
        complete: &Once<Result<Complete<'_, '_, V>, Fault>>,
        text: &Once<Line>,
    ) -> Result<(), Fault> {
        let Complete { arrived, in_l2 } = complete.wait().await.as_ref().map_err(|fault| *fault)?;
        if let Some(begun) = in_l2 {
            return begun.release(arrived).await;
        }
        let codec = &self.access.scheme.codec;
        // A tag made of blocks begins with what the nonce makes, which is there when the line is open.
        let is_opened_first = codec.checks_plaintext() || codec.work.tag.is_some();
        let plaintext = if is_opened_first { Some(*text.wait().await) } else { None };
        let text = plaintext.filter(|_| codec.checks_plaintext()).unwrap_or_else(|| arrived.stored.examine());
        codec.check(self.access.verbs, arrived, &text).await
    }
}
