//! The default policy: a write executes all steps at once, and stores each line in its slot.

use super::Write;
use crate::codec::Others;
use crate::planted::Bug;
use crate::scheme::access::DataAccess;
use crate::scheme::renew::Renewer;
use crate::verbs::{Fault, Verbs};
use sim::join;
use sim::lock::Mode;

/// State of a write after its line has a new version: the lock of its group, and the other lines under its tag.
pub(super) type Advanced<G> = (Option<G>, Others);

impl<'a, V: Verbs> Write<'a, V> {
    /// Writes the line. The caller must hold its lock.
    pub(super) async fn write_immediately(&self) -> Result<(), Fault> {
        let (_group, others) = if self.access.scheme.layout.lines_per_tag() == 1 {
            self.advance().await?
        } else {
            Box::pin(self.advance_checked()).await?
        };
        let (stored, raised) = join!(self.store(&others), self.access.raise_counter());
        stored.and(raised)
    }

    /// Advances the line's counter. The returned lock prevents re-encryption of the group until memory has the new version.
    async fn advance(&self) -> Result<Advanced<V::Guard<'a>>, Fault> {
        let DataAccess { scheme, verbs, .. } = self.access;
        let Some(slot) = self.access.counter_slot() else { return Ok((None, Others::new())) };
        let group = self.access.lock_group(Mode::Shared).await;
        if let Ok(counter) = self.access.advance(slot).await? {
            if scheme.planted.has(Bug::CopiesOutliveRenewals) {
                scheme.metadata.on_copies(|copies| copies.drop_all(slot));
            }
            self.counter.set(counter);
            return Ok((group, Others::new()));
        }
        drop(group);
        let alone = if scheme.planted.has(Bug::RenewalLetsOthersIn) { Mode::Shared } else { Mode::Exclusive };
        let group = self.access.lock_group(alone).await;
        // Another write may have renewed the group while this one waited for the exclusive lock.
        self.counter.set(match self.access.advance(slot).await? {
            Ok(counter) => counter,
            Err(overflow) => {
                Box::pin(Renewer { scheme, verbs }.renew_group(slot, self.access.line(), &overflow)).await?
            }
        });
        Ok((group, Others::new()))
    }
}
