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

use super::{Access, Complete, Read};
use crate::codec::{Arrived, Begun, Brought, Order};
use crate::planted::Bug;
use crate::slot::Untrusted;
use crate::verbs::{Exit, Fault, Plaintext, Verbs};
use sim::{Once, join};
use std::cell::Cell;
use units::Line;

/// All that the line is opened with before it is verified.
#[derive(Default)]
struct Came {
    /// What memory returned.
    stored: Once<Untrusted>,
    /// The line of counters at the controller, perhaps still being verified; nothing if none came.
    counters: Once<Option<Line>>,
}

/// A line that is decrypted.
#[derive(Default)]
struct Opened {
    /// As it lies.
    lying: Once<Line>,
    /// As it was released.
    released: Once<Line>,
}

impl<V: Verbs> Read<'_, V> {
    /// Releases the line when it is decrypted, under whatever counter came, and settles it when its verdict is in.
    pub(super) async fn speculative(&self) -> Result<(), Fault> {
        let (begun, complete, opened) = (Cell::new(Begun::default()), Once::default(), Opened::default());
        let came = Came::default();
        let begin = |counters: &Line| {
            came.counters.set(Some(*counters));
            begun.set(self.begin());
        };
        let bring = async {
            complete.set(self.bring(|stored| came.stored.set(*stored), begin).await);
            came.counters.set(None);
        };
        let count = async { self.count(*self.found.wait().await) };
        let bring = async { join!(bring, count) };
        let (_, (), verdict) = join!(bring, self.open_ahead(&came, &begun, &opened), self.verdict(&complete, &opened));
        begun.take().give_up(self.access.verbs);
        let Some(released) = opened.released.get() else { return verdict };
        self.access.verbs.settle(self.access.line(), verdict.is_ok());
        if verdict.is_ok() {
            self.opened(released);
        }
        verdict
    }

    async fn open_ahead(&self, came: &Came, begun: &Cell<Begun>, opened: &Opened) {
        let Access { scheme, verbs, at, .. } = self.access;
        let stored = came.stored.wait().await;
        let Some(counters) = came.counters.wait().await else { return };
        let started_with = self.started_with(stored).copied();
        let looked_up_again = Brought::default();
        let order = match (started_with, self.bitmap()) {
            (Some(_), _) => self.order.booted(),
            (None, Some(bitmap)) if scheme.planted.has(Bug::ReleasedOrderUnjudged) => {
                looked_up_again.set(bitmap.get().await);
                Order::by(&looked_up_again)
            }
            _ => self.order,
        };
        let (begun, counter) = (begun.take(), scheme.version(counters, at.line()));
        // What candidates are compared with, of a line that is put into memory meanwhile.
        let booted = started_with.filter(|_| begun.candidates.is_now());
        let booted = booted.map(|line| scheme.codec.encrypt_for_now(at, counter, &line).ciphertext.into());
        let arrived = Arrived { order, ..Arrived::untagged(at, counter, booted.unwrap_or(*stored)) };
        let lying = |lying: &Line| opened.lying.set(started_with.unwrap_or(*lying));
        // A line whose order is not known is not released: its verdict says why.
        let Ok(in_order) = scheme.codec.open_unverified(verbs, &arrived, begun, lying).await else { return };
        let bytes = started_with.unwrap_or(in_order);
        verbs.release(at.line(), Plaintext { bytes, verified: false }, Exit::AheadOfVerdict);
        opened.released.set(bytes);
    }

    async fn verdict(&self, complete: &Once<Result<Complete<'_, '_, V>, Fault>>, opened: &Opened) -> Result<(), Fault> {
        let Complete { arrived, in_l2 } = complete.wait().await.as_ref().map_err(|fault| *fault)?;
        if let Some(begun) = in_l2 {
            return begun.release(arrived).await;
        }
        let codec = &self.access.scheme.codec;
        // A tag made of blocks begins with what the nonce makes, which is there when the line is open.
        let is_opened_first = codec.checks_plaintext() || codec.work.tag.is_some();
        let plaintext = if is_opened_first { Some(*opened.lying.wait().await) } else { None };
        let text = plaintext.filter(|_| codec.checks_plaintext()).unwrap_or_else(|| arrived.stored.examine());
        codec.check(self.access.verbs, arrived, &text).await?;
        arrived.order.known().await.map(drop)
    }
}
