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
//! The way to the core does not ask how far the verdict is. So a run without time, where everything is known at once, lets
//! out what the slowest verdict would.

use super::Scheme;
use super::early::Early;
use super::read::Arrived;
use crate::mac::Mac;
use crate::metadata::Sought;
use crate::verbs::{Exit, Fault, Plaintext, Untrusted, Verbs};
use sim::join;
use std::cell::{Cell, OnceCell};
use std::future::poll_fn;
use std::task::Poll;
use units::{Line, LineAddr, ZERO_LINE};

impl Scheme {
    /// Reads a line whose locks are held: releases it when it is decrypted, and settles it when its verdict is in.
    pub(super) async fn read_ahead<V: Verbs>(&self, verbs: &V, line: LineAddr, early: &Early) -> Result<(), Fault> {
        let at = self.layout.data_slot(line);
        let (seen_data, seen_counters, pad) = (Cell::new(None), Cell::new(None), Cell::new(None));
        let (seen_all, seen_text, started_with) = (Cell::new(None), Cell::new(None), OnceCell::new());
        let start_up = |stored: &Untrusted| match stored.is_blank() {
            true => *started_with.get_or_init(|| verbs.start_up(at)),
            false => None,
        };
        let data = async {
            let stored = self.ciphertext(verbs, line, early).await;
            seen_data.set(Some(stored));
            stored
        };
        let begin = |counters: &Line| {
            seen_counters.set(Some(*counters));
            pad.set(self.pad_ahead(verbs));
        };
        let counters = async {
            match self.counter_slot(line) {
                Some(slot) => {
                    let found = self.counters_for(verbs, slot, Sought::Nowhere, begin).await;
                    let (counters, place) = found?;
                    self.count(|counted| counted.counters_found.count(place));
                    Ok(counters)
                }
                None => {
                    seen_counters.set(Some(ZERO_LINE));
                    Ok(ZERO_LINE)
                }
            }
        };
        let arrivals = async {
            seen_all.set(Some(join!(data, counters, self.beside(verbs, line))));
        };
        // Each polled after what it waits for, in every poll of this task.
        let ahead = async {
            let (stored, counters) = there(|| seen_data.get().zip(seen_counters.get())).await;
            self.padded(verbs, pad.take()).await;
            let open = || self.cipher.open(at, self.version(&counters, line), &stored.examine());
            let bytes = start_up(&stored).unwrap_or_else(open);
            verbs.release(line, Plaintext { bytes, verified: false }, Exit::AheadOfVerdict);
            seen_text.set(Some(bytes));
        };
        let verdict = async {
            let (stored, counters, (tag, others)) = there(|| seen_all.take()).await;
            let (counters, tag) = (counters?, self.tag_with(&stored, tag?));
            let others = self.others_under(&counters, &others);
            let mut arrived = Arrived { at, counter: self.version(&counters, line), stored, tag, others };
            if let Some(plaintext) = start_up(&stored) {
                self.boot_with(verbs, &mut arrived, &plaintext).await?;
            }
            let over_plaintext = self.mac.as_ref().is_some_and(Mac::covers_plaintext);
            let text = if over_plaintext { there(|| seen_text.get()).await } else { arrived.stored.examine() };
            self.check(verbs, &arrived, &text).await
        };
        let ((), (), verdict) = join!(arrivals, ahead, verdict);
        verbs.settle(line, verdict.is_ok());
        verdict
    }
}

/// Waits until something is there.
async fn there<T>(mut look: impl FnMut() -> Option<T>) -> T {
    poll_fn(|_| look().map_or(Poll::Pending, Poll::Ready)).await
}
