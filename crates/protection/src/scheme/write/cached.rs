//! Caches that are durable: what their battery does when power fails.
//!
//! ```text
//! battery:  every dirty line of the caches, written as any ─ all metadata to memory ─ fence ─ complete: the root in its register
//! ```
//! A store is durable when a cache has it: the whole cache hierarchy lives on stored energy (Intel's eADR; with protection the
//! secure eADR of SecPB, HPCA 2023, section V-B). While there is power nothing is done for that: lines are written in
//! place, and metadata leaves the chip when it must. When power fails, the controller ends what it has begun. Then the caches
//! send what only they have, as if each line had to make room. Then all metadata goes to memory, from the leaves up, since a
//! tree that is updated lazily hears of a line when it leaves the chip; and the root that vouches for it goes to its register.
//! So recovery finds a memory that has all stores.
//!
//! No root is saved either if anything was reported in the session: a line on its way from the caches may have come to nothing.
//!
//! Recovery outdates the register at its end, and the first write of a new machine does, for from then on caches may have stores that
//! memory has not; only a battery that has taken everything to memory sets it again. So memory is refused if the battery does not last
//! or meets a fault, and whatever an earlier session left is refused with it.
//!
//! Power may fail again before recovery has ended, or after it has refused the memory. Such a chip has no root, so its battery saves
//! none: the register keeps the one that vouches for the memory as it was, which may come back.
//!
//! Which lines are dirty in caches is not known here: whoever owns the caches says so.

use crate::design::Point;
use crate::domain::Completion;
use crate::planted::Bug;
use crate::scheme::Scheme;
use crate::verbs::Verbs;
use units::{Line, LineAddr};

/// Caches may have stores from now on that memory has not, and memory may change: the root of durable caches vouches for nothing.
pub(in crate::scheme) fn outdate_root<V: Verbs>(scheme: &Scheme, verbs: &V) {
    let outdates = scheme.persistence.point == Point::Caches
        && scheme.metadata.tree().is_some()
        && !scheme.planted.has(Bug::RootOutlivesSession)
        && scheme.on_chip(|chip| chip.power.outdates_root());
    if outdates {
        verbs.complete(Completion { outdates_root: true, ..Completion::default() });
    }
}

/// A scheme in front of caches that are durable, as their battery uses it.
#[derive(Clone, Copy)]
pub struct DurableCaches<'a>(&'a Scheme);

impl<'a> DurableCaches<'a> {
    /// Those in front of this scheme.
    pub fn of(scheme: &'a Scheme) -> DurableCaches<'a> {
        DurableCaches(scheme)
    }

    /// Power has failed, and the controller has ended what it had begun: the battery takes these lines to memory, which are
    /// dirty in caches, and all that is on the chip of metadata.
    pub async fn drain_on_battery<V: Verbs>(&self, verbs: &V, mut dirty: Vec<(LineAddr, Line)>) {
        let (scheme, planted) = (self.0, self.0.planted);
        scheme.on_chip(|chip| chip.power.fails());
        if planted.has(Bug::DirtyLineForgotten) {
            dirty.pop();
        }
        if planted.has(Bug::MetadataBeforeLines) {
            scheme.flush(verbs).await;
        }
        for (line, content) in &dirty {
            scheme.write(verbs, *line, content).await;
        }
        if !planted.has(Bug::MetadataNotFlushed) && !planted.has(Bug::MetadataBeforeLines) {
            scheme.flush(verbs).await;
        }
        verbs.fence().await;
        if scheme.metadata.tree().is_some() && !planted.has(Bug::RootNotSaved) {
            let save_any = planted.has(Bug::RootSavedUnrecovered);
            let despite_faults = planted.has(Bug::RootSavedDespiteFaults);
            let root = scheme.on_chip(|chip| {
                let has_left = despite_faults || chip.power.met_no_fault() && chip.caches.departures.is_empty();
                let root = if save_any { Some(&*chip.root) } else { chip.vouching_root() };
                root.filter(|_| has_left || save_any).map(Box::from)
            });
            verbs.complete(Completion { root, ..Completion::default() });
        }
    }
}
