//! One tag over several lines: fewer tags, but checking one line needs the other lines of the tag.
//!
//! ```text
//! read:   fetch the line and the others ─ compute the tag of all ─ compare ─ release the line
//! write:  fetch all ─ compute their tag ─ compare ─ counter + 1 ─ encrypt ─ the tag of all again ─ store line and tag
//! ```
//! A write checks all lines under the tag before it changes any. The new tag also covers the other lines, so a forgery
//! among them would get a valid tag. The lines under one tag share one lock. They also share a counter line; a check of
//! the design ensures this.
//!
//! The tag does not cover a line that is not in memory yet. From the first write or read of the line, the tag covers it
//! (`scheme/read/boot.rs`).
//!
//! When counters overflow, all lines under a tag are renewed together, including the line that is about to be written.
//! The write then advances the counter of its line once more.

use super::Write;
use super::immediate::Advanced;
use crate::codec::Others;
use crate::planted::Bug;
use crate::scheme::access::versioned;
use crate::scheme::renew::Renewer;
use crate::slot::Role;
use crate::verbs::{Fault, Verbs, Wanted};
use sim::lock::Mode;
use units::ZERO_LINE;

impl<'a, V: Verbs> Write<'a, V> {
    /// Like [`Write::advance`], but first verifies all lines under the tag.
    pub(super) async fn advance_checked(&self) -> Result<Advanced<V::Guard<'a>>, Fault> {
        let (scheme, verbs) = (self.access.scheme, self.access.verbs);
        let mut mode = Mode::Shared;
        loop {
            let group = self.access.lock_group(mode).await;
            let others = self.checked_others().await?;
            let Some(slot) = self.access.counter_slot() else { return Ok((group, others)) };
            match self.access.advance(slot).await? {
                Ok(counter) => {
                    self.counter.set(counter);
                    return Ok((group, others));
                }
                Err(overflow) if mode == Mode::Exclusive => {
                    Renewer { scheme, verbs }.renew_group(slot, self.access.line(), &overflow).await?;
                }
                Err(_) => mode = Mode::Exclusive,
            }
        }
    }

    /// Fetches and verifies the other lines under the tag that memory holds.
    async fn checked_others(&self) -> Result<Others, Fault> {
        let (scheme, verbs, access) = (self.access.scheme, self.access.verbs, &self.access);
        let counters = async {
            match access.counter_slot() {
                Some(slot) => scheme.metadata.get(verbs, slot, Role::Counter).await,
                None => Ok(ZERO_LINE),
            }
        };
        let (counters, arrivals) = access.arrive(access.fetch(Wanted::LINE), counters).await?;
        let checked = arrivals.check_all(scheme, verbs, &counters).await;
        if !scheme.planted.has(Bug::OthersUnchecked) {
            checked?;
        }
        Ok(versioned(scheme, &counters, &arrivals.others))
    }
}
