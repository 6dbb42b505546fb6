//! The usual policy: the core receives a line after its verdict.

use super::{Complete, DataAccess, Read};
use crate::codec::OpeningWork;
use crate::planted::Bug;
use crate::verbs::{Exit, Fault, Verbs};
use std::cell::Cell;

impl<V: Verbs> Read<'_, V> {
    /// Opens, checks and releases the line after all inputs have arrived. The L2 does so if it began the read and has the
    /// counters.
    pub(super) async fn verified(&self) -> Result<(), Fault> {
        let DataAccess { scheme, verbs, at, .. } = self.access;
        let begun = Cell::new(OpeningWork::default());
        let brought = self.bring(|_| (), |_| begun.set(self.begin())).await;
        let begun = begun.take();
        let Complete { arrived, in_l2 } = match brought {
            Ok(complete) => complete,
            Err(fault) => {
                begun.give_up(verbs);
                return Err(fault);
            }
        };
        match in_l2 {
            Some(in_l2) => Box::pin(in_l2.release(arrived)).await?,
            None => {
                let release_first = |plaintext, words| verbs.release_first(at.line(), plaintext, words);
                let (plaintext, verdict) = scheme.codec.open(verbs, arrived, begun, release_first).await;
                if verdict.is_ok() || scheme.planted.has(Bug::ReleaseBeforeVerdict) {
                    verbs.release(at.line(), plaintext, Exit::Controller);
                }
                if scheme.planted.has(Bug::RefusedLinesLearned) {
                    self.opened(&plaintext.bytes);
                }
                verdict?;
                self.opened(&plaintext.bytes);
            }
        }
        self.count(self.found.get().copied().flatten());
        Ok(())
    }
}
