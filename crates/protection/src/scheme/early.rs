//! The fetch that begins on a prediction: an L2 that expects a line in memory says so to the controller at once, past the
//! last-level cache (as Intel's XPT does; EMCC, MICRO 2022, section IV-D).
//!
//! ```text
//! request:     last-level cache: not there ─ controller ─ lock the line ─┬ as any read, with the ciphertext from below
//! prediction:  controller ─ fetch ciphertext ────────────────────────────┘
//! ```
//! Only the fetch is begun. It holds no lock, so whoever waits for the last-level cache keeps nobody waiting; and a line
//! that turns out to be on the chip is dropped. What has arrived counts if nothing was written to its slot meanwhile, which
//! is looked at under the line's lock; else the line is fetched again.

use super::Scheme;
use crate::planted::Bug;
use crate::verbs::{Role, Untrusted, Verbs, Wanted};
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::task::Poll;
use units::LineAddr;

/// How far a fetch on a prediction is.
#[derive(Clone, Copy, Default)]
enum Progress {
    /// The prediction is on its way.
    #[default]
    Expected,
    /// Memory has been asked.
    Asked,
    /// Memory has answered.
    Arrived(Untrusted),
    /// The request came first, or the line was on the chip.
    Needless,
}

/// A fetch on a prediction.
#[derive(Default)]
pub(super) struct Early {
    progress: Cell<Progress>,
}

impl Early {
    /// The request is there, or needs nothing: from now on it is too late to begin.
    pub fn settle(&self) {
        if matches!(self.progress.get(), Progress::Expected) {
            self.progress.set(Progress::Needless);
        }
    }

    /// What memory answered, if it was asked.
    async fn arrived(&self) -> Option<Untrusted> {
        poll_fn(|_| match self.progress.get() {
            Progress::Asked => Poll::Pending,
            Progress::Arrived(stored) => Poll::Ready(Some(stored)),
            Progress::Expected | Progress::Needless => Poll::Ready(None),
        })
        .await
    }
}

impl Scheme {
    /// Fetches a line's ciphertext when the prediction comes to the controller, unless the request has come before.
    pub(super) async fn fetch_early<V: Verbs>(
        &self,
        verbs: &V,
        line: LineAddr,
        prediction: Option<impl Future<Output = ()>>,
        early: &Early,
    ) {
        let Some(prediction) = prediction else { return };
        prediction.await;
        verbs.come_in().await;
        if matches!(early.progress.get(), Progress::Expected) {
            early.progress.set(Progress::Asked);
            let stored = verbs.fetch(self.layout.data_slot(line).slot(), Role::Data, Wanted::Line).await;
            early.progress.set(Progress::Arrived(stored));
        }
    }

    /// The stored line whose locks are held, from the fetch on a prediction if that was made and still counts; else word by
    /// word, if nothing has to see the whole of it first.
    pub(super) async fn ciphertext<V: Verbs>(&self, verbs: &V, line: LineAddr, early: &Early) -> Untrusted {
        let slot = self.layout.data_slot(line).slot();
        if let Some(fetched) = early.arrived().await {
            let anyway =
                self.planted.has(Bug::EarlyFetchUnchecked).then_some(fetched).filter(|fetched| !fetched.is_blank());
            if let Some(stored) = anyway.or(verbs.still_stored(slot, fetched)) {
                return stored;
            }
        }
        if self.mac.is_none() && self.cipher.works_by_word() {
            verbs.fetch(slot, Role::Data, Wanted::FirstWord).await
        } else {
            verbs.fetch(slot, Role::Data, Wanted::Line).await
        }
    }
}
