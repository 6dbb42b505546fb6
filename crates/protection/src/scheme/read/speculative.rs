//! Use before verify: the core receives a line when it is decrypted, while its counter and its tag are still being
//! checked (Lehman et al., "PoisonIvy", MICRO 2016).
//!
//! ```text
//! fetch ─┬─ XOR with the pad of whatever counter memory returned ─ release        ┐
//!        └─ counter against the tree, tag against the line ─────── verdict: settle ┘ the window
//! write: wait until every window that is open now is settled ─ counter + 1 ─ ...
//! ```
//! No write may store data computed from this line before the verdict, so a write waits for all verdicts under way. A bad
//! verdict is a fault as usual, and the machine stops before memory holds data computed from the line.
//!
//! Fetches do not wait for verdicts, though their addresses may depend on an unverified line. PoisonIvy tracks poison
//! through registers to stop these fetches too. In this model, the addresses of these fetches leak values, and attacks
//! show the leak.
//!
//! If an L2 has the counters of a line, it opens and releases the line after the verdict.
//!
//! Release does not depend on the progress of the verdict. So a run without time, with all results known at once, releases
//! the same lines as a run with the slowest verdict.

use super::{Complete, DataAccess, Read};
use crate::codec::{Arrived, BitmapOrder, Brought, OpeningWork};
use crate::planted::Bug;
use crate::slot::Untrusted;
use crate::verbs::{Exit, Fault, Plaintext, Verbs};
use sim::{Once, join};
use std::cell::Cell;
use units::Line;

/// Inputs for opening the line before it is verified.
#[derive(Default)]
struct UnverifiedInputs {
    /// The line that memory returned.
    stored: Once<Untrusted>,
    /// The counter line at the controller, perhaps not verified yet; `None` if no counters arrived.
    counters: Once<Option<Line>>,
}

/// Plaintext of a decrypted line.
#[derive(Default)]
struct DecryptedLine {
    /// Words in their order in memory.
    lying: Once<Line>,
    /// Words in the order of release.
    released: Once<Line>,
}

impl<V: Verbs> Read<'_, V> {
    /// Releases the line when it is decrypted, under the counter that arrived, and settles it after its verdict.
    pub(super) async fn speculative(&self) -> Result<(), Fault> {
        let (begun, complete, opened) = (Cell::new(OpeningWork::default()), Once::default(), DecryptedLine::default());
        let inputs = UnverifiedInputs::default();
        let begin = |counters: &Line| {
            inputs.counters.set(Some(*counters));
            begun.set(self.begin());
        };
        let bring = async {
            complete.set(self.bring(|stored| inputs.stored.set(*stored), begin).await);
            inputs.counters.set(None);
        };
        let count = async { self.count(*self.found.wait().await) };
        let bring = async { join!(bring, count) };
        let (_, (), verdict) =
            join!(bring, self.open_unverified_line(&inputs, &begun, &opened), self.verdict(&complete, &opened));
        begun.take().give_up(self.access.verbs);
        let Some(released) = opened.released.get() else { return verdict };
        self.access.verbs.settle(self.access.line(), verdict.is_ok());
        if verdict.is_ok() {
            self.opened(released);
        }
        verdict
    }

    async fn open_unverified_line(&self, inputs: &UnverifiedInputs, begun: &Cell<OpeningWork>, opened: &DecryptedLine) {
        let DataAccess { scheme, verbs, at, .. } = self.access;
        let stored = inputs.stored.wait().await;
        let Some(counters) = inputs.counters.wait().await else { return };
        let started_with = self.started_with(stored).copied();
        let looked_up_again = Brought::default();
        let order = match (started_with, self.bitmap()) {
            (Some(line), _) => self.order.booted(scheme.codec.start_order.bitmap_of(&line)),
            (None, Some(bitmap)) if scheme.planted.has(Bug::ReleasedOrderUnjudged) => {
                looked_up_again.set(bitmap.get().await);
                BitmapOrder::by(&looked_up_again)
            }
            _ => self.order,
        };
        let (begun, counter) = (begun.take(), scheme.version(counters, at.line()));
        // The ciphertext of a line that boots meanwhile, which is compared with the candidates.
        let booted = started_with.filter(|_| begun.candidates.is_now());
        let booted = booted.map(|line| scheme.codec.encrypt_for_now(at, counter, &line).ciphertext.into());
        let arrived = Arrived { order, ..Arrived::untagged(at, counter, booted.unwrap_or(*stored)) };
        let lying = |lying: &Line| {
            let started_with = started_with.map(|line| scheme.codec.start_order.bitmap_of(&line).arrange(&line));
            opened.lying.set(started_with.unwrap_or(*lying));
        };
        // A line is not released if its order is unknown: its verdict gives the reason.
        let Ok(in_order) = scheme.codec.open_unverified(verbs, &arrived, begun, lying).await else { return };
        let bytes = started_with.unwrap_or(in_order);
        verbs.release(at.line(), Plaintext { bytes, verified: false }, Exit::BeforeVerdict);
        opened.released.set(bytes);
    }

    async fn verdict(
        &self,
        complete: &Once<Result<Complete<'_, '_, V>, Fault>>,
        opened: &DecryptedLine,
    ) -> Result<(), Fault> {
        let Complete { arrived, in_l2 } = complete.wait().await.as_ref().map_err(|fault| *fault)?;
        if let Some(begun) = in_l2 {
            return begun.release(arrived).await;
        }
        let codec = &self.access.scheme.codec;
        // A tag built from cipher blocks begins with the block of the nonce, which is ready when the line is decrypted.
        let is_opened_first = codec.checks_plaintext() || codec.work.tag.is_some();
        let plaintext = if is_opened_first { Some(*opened.lying.wait().await) } else { None };
        let text = plaintext.filter(|_| codec.checks_plaintext()).unwrap_or_else(|| arrived.stored.examine());
        codec.check(self.access.verbs, arrived, &text).await?;
        arrived.order.known().await.map(drop)
    }
}
