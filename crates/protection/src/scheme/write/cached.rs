//! Durable caches: their battery writes dirty lines and metadata to memory when power fails.
//!
//! ```text
//! battery:  every dirty line of the caches, written as any ─ all metadata to memory ─ fence ─ complete: the root in its register
//! ```
//! A store is durable when a cache has it: the whole cache hierarchy lives on stored energy (Intel's eADR; with protection the
//! secure eADR of SecPB, HPCA 2023, section V-B). Under power the controller does no extra work for durability: it
//! writes lines in place, and metadata leaves the chip on eviction. When power fails, the controller ends its current work.
//! Then the caches send their dirty lines, as if each were evicted. Then all metadata goes to memory, from the leaves up: with
//! lazy update, a line updates its parent when it leaves the chip. Last, the root goes to its register. So recovery finds a
//! memory that has all stores.
//!
//! The battery also saves no root if the session reported a fault: a line on its way from the caches may have been lost.
//!
//! Recovery outdates the register at its end, and so does the first write of a new machine, since from then on caches may
//! have stores that memory lacks. Only a battery that has written everything to memory sets the register again. So recovery
//! refuses the memory if the battery does not last or meets a fault, together with all content of earlier sessions.
//!
//! Power may fail again before recovery has ended, or after it has refused the memory. The chip then has no root, so its
//! battery does not save one. The register keeps the root that vouches for the earlier memory, which may be put back.
//!
//! The owner of the caches passes the lines that are dirty in them.

use crate::design::Point;
use crate::domain::RegisterUpdate;
use crate::planted::Bug;
use crate::scheme::Scheme;
use crate::verbs::Verbs;
use units::{Line, LineAddr};

/// Outdates the root of durable caches: from now on caches may have stores that memory lacks, and memory may change.
pub(in crate::scheme) fn outdate_root<V: Verbs>(scheme: &Scheme, verbs: &V) {
    let outdates = scheme.persistence.point == Point::Caches
        && scheme.metadata.tree().is_some()
        && !scheme.planted.has(Bug::RootOutlivesSession)
        && scheme.on_chip(|chip| chip.power.outdates_root());
    if outdates {
        verbs.complete(RegisterUpdate { outdates_root: true, ..RegisterUpdate::default() });
    }
}

/// A scheme in front of caches that are durable, as their battery uses it.
#[derive(Clone, Copy)]
pub struct DurableCaches<'a>(&'a Scheme);

impl<'a> DurableCaches<'a> {
    /// The durable caches in front of this scheme.
    pub fn of(scheme: &'a Scheme) -> DurableCaches<'a> {
        DurableCaches(scheme)
    }

    /// Writes the lines that are dirty in caches, and all on-chip metadata, to memory on battery. Power has failed, and the
    /// controller has completed the accesses under way.
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
            verbs.complete(RegisterUpdate { root, ..RegisterUpdate::default() });
        }
    }
}
