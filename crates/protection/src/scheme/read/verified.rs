//! The usual policy: a line goes to the core when its verdict is in.

use super::{Complete, Read};
use crate::codec::Arrived;
use crate::planted::Bug;
use crate::verbs::{Exit, Fault, Verbs};
use std::cell::Cell;
use std::future::Future;

impl<V: Verbs> Read<'_, V> {
    /// Opens and checks the line when all of it is there, in the L2 if that began the read and has the counters; then releases it.
    pub(super) async fn verified(&self) -> Result<(), Fault> {
        let pad = Cell::new(None);
        let codec = &self.access.scheme.codec;
        let Complete { arrived, in_l2 } = self.bring(|| pad.set(codec.pad_ahead(self.access.verbs))).await?;
        match in_l2 {
            Some(begun) => Box::pin(begun.release(&arrived)).await,
            None => self.release_at_controller(&arrived, pad.take()).await,
        }?;
        self.count_found().await;
        Ok(())
    }

    async fn release_at_controller(
        &self,
        arrived: &Arrived,
        pad: Option<impl Future<Output = ()>>,
    ) -> Result<(), Fault> {
        let (scheme, verbs) = (self.access.scheme, self.access.verbs);
        let (plaintext, verdict) = scheme.codec.open(verbs, arrived, pad).await;
        if verdict.is_ok() || scheme.planted.has(Bug::ReleaseBeforeVerdict) {
            verbs.release(self.access.line(), plaintext, Exit::Controller);
        }
        verdict
    }
}
