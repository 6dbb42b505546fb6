//! The fetch that begins on a prediction: an L2 that expects a line in memory says so to the controller at once, past the
//! last-level cache (as Intel's XPT does; EMCC, MICRO 2022, section IV-D).
//!
//! ```text
//! request:     last-level cache: not there ─ controller ─ lock the line ─┬ as any read, with the ciphertext from below
//! prediction:  controller ─ fetch ciphertext ────────────────────────────┘
//! ```
//! Only the fetch is begun. It holds no lock, so a read that waits for the last-level cache keeps no other waiting; and a line
//! that turns out to be on the chip is dropped. What has arrived counts if nothing was written to its slot meanwhile, which
//! is looked at under the line's lock; else the line is fetched again.

use super::Access;
use crate::planted::Bug;
use crate::slot::Untrusted;
use crate::verbs::{Verbs, Wanted};
use sim::Once;
use std::future::Future;

/// A fetch on a prediction.
#[derive(Default)]
pub(in crate::scheme) struct Early {
    /// Whether it was made: it was not if the request came first, or if the line was on the chip.
    made: Once<bool>,
    /// What memory answered.
    stored: Once<Untrusted>,
}

impl Early {
    /// The request is there, or needs nothing: from now on it is too late to begin.
    pub fn settle(&self) {
        self.made.set(false);
    }

    /// Fetches a line's ciphertext when the prediction comes to the controller, unless the request has come before.
    pub async fn fetch<V: Verbs>(&self, access: &Access<'_, V>, prediction: Option<impl Future<Output = ()>>) {
        let Some(prediction) = prediction else { return };
        prediction.await;
        if self.made.get().is_some() {
            return;
        }
        access.verbs.come_in().await;
        if self.made.get().is_none() {
            self.made.set(true);
            self.stored.set(access.fetch(Wanted::LINE).await.content);
        }
    }

    /// Whether a fetch was made.
    pub fn was_made(&self) -> bool {
        self.made.get() == Some(&true)
    }

    /// What the fetch that was made brings, if it still counts.
    pub async fn fetched<V: Verbs>(&self, Access { scheme, verbs, at, .. }: Access<'_, V>) -> Option<Untrusted> {
        let fetched = *self.stored.wait().await;
        let anyway = scheme.planted.has(Bug::EarlyFetchUnchecked) && !fetched.is_blank();
        if anyway { Some(fetched) } else { verbs.still_stored(at.slot(), fetched) }
    }
}
