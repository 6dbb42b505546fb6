//! Begins a fetch on a prediction. An L2 that expects a line in memory notifies the controller at once, past the last-level
//! cache (as Intel's XPT does; EMCC, MICRO 2022, section IV-D).
//!
//! ```text
//! request:     last-level cache: not there ─ controller ─ lock the line ─┬ as any read, with the ciphertext from below
//! prediction:  controller ─ fetch ciphertext ────────────────────────────┘
//! ```
//! The prediction begins only the fetch, and no later step of the read. The fetch holds no lock, so a read that waits
//! for the last-level cache delays no other read. The controller drops the fetched line if the last-level cache has the
//! line. The fetched line is valid if no write changed its slot in between, which the read checks under the line's
//! lock; otherwise the read fetches the line again.

use super::DataAccess;
use crate::planted::Bug;
use crate::slot::Untrusted;
use crate::verbs::{Verbs, Wanted};
use sim::Once;
use std::future::Future;

/// A fetch on a prediction.
#[derive(Default)]
pub(in crate::scheme) struct PredictedFetch {
    /// True if the fetch was started; false if the request arrived first, or if the line was on the chip.
    made: Once<bool>,
    /// The line that memory returned.
    stored: Once<Untrusted>,
}

impl PredictedFetch {
    /// Prevents a later fetch: the request has arrived, or needs no line from memory.
    pub fn settle(&self) {
        self.made.set(false);
    }

    /// Fetches a line's ciphertext when the prediction arrives at the controller, unless the request arrived earlier.
    pub async fn fetch<V: Verbs>(&self, access: &DataAccess<'_, V>, prediction: Option<impl Future<Output = ()>>) {
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

    /// Returns true if a fetch was made.
    pub fn was_made(&self) -> bool {
        self.made.get() == Some(&true)
    }

    /// Returns the fetched line, if it is still valid.
    pub async fn fetched<V: Verbs>(
        &self,
        DataAccess { scheme, verbs, at, .. }: DataAccess<'_, V>,
    ) -> Option<Untrusted> {
        let fetched = *self.stored.wait().await;
        let anyway = scheme.planted.has(Bug::EarlyFetchUnchecked) && !fetched.is_blank();
        if anyway { Some(fetched) } else { verbs.still_stored(at.slot(), fetched) }
    }
}
