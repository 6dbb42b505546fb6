//! Durable caches: their battery writes dirty lines and metadata to memory when power fails.
//!
//! ```text
//! battery:  every dirty line of the caches, written as any ─ all metadata to memory ─ fence ─ complete: the root in its register
//! ```
//! A store is durable when a cache holds it. When power fails, stored energy powers the whole cache hierarchy (Intel's
//! eADR; with protection the secure eADR of SecPB, HPCA 2023, section V-B). Under power the controller does no extra
//! work for durability: it writes lines in place, and metadata leaves the chip on eviction. When power fails, the
//! controller ends its current work. Then the caches write back their dirty lines, as if each were evicted. Then the
//! controller writes all metadata to memory, from the leaves up: with lazy update, a line updates its parent when it
//! leaves the chip. Finally, the controller writes the root to its register. So recovery finds a memory with all
//! stores.
//!
//! The battery saves no root if the session reported a fault, because the fault may have stopped the write-back of a
//! line.
//!
//! Recovery marks the register as outdated at its end, and so does the first write of a new machine, since from then on
//! caches may hold stores that memory lacks. Only a battery that has written everything to memory sets the register
//! again. So if the battery is exhausted early or meets a fault, recovery refuses the memory, with all content of
//! earlier sessions.
//!
//! Power may fail again before recovery has ended, or after it has refused the memory. The chip then has no root, so
//! its battery does not save one. The register keeps the root that vouches for the earlier memory, so that this memory
//! can still be restored.
//!
//! The owner of the caches passes their dirty lines to this module.

use crate::design::Point;
use crate::domain::RegisterUpdate;
use crate::ownership::Asker;
use crate::planted::{Bug, SessionBug};
use crate::scheme::{FixedScheme, Scheme};
use crate::verbs::Verbs;
use units::{Line, LineAddr};

/// Marks the root register of durable caches as outdated: from now on caches may hold stores that memory lacks, and
/// memory may change.
pub(in crate::scheme) fn outdate_root<V: Verbs>(scheme: &FixedScheme, verbs: &V) {
    let outdates = scheme.persistence.point == Point::Caches
        && scheme.metadata.tree().is_some()
        && !scheme.planted.has(Bug::RootOutlivesSession)
        && scheme.on_chip(|chip| chip.power.outdates_root(scheme.planted));
    if outdates {
        verbs.complete(RegisterUpdate { outdates_root: true, ..RegisterUpdate::default() });
    }
}

/// Interface to a scheme with durable caches, for their battery.
#[derive(Clone, Copy)]
pub struct DurableCaches<'a>(&'a FixedScheme);

impl<'a> DurableCaches<'a> {
    /// The interface to the durable caches of this scheme.
    ///
    /// # Panics
    /// If lines move: the check of a design refuses persistence of these lines.
    pub fn of(scheme: &'a Scheme) -> DurableCaches<'a> {
        let Some(scheme) = scheme.fixed() else { unreachable!("a design that permutes lines has no persistence") };
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
            scheme.write_as(verbs, *line, content, Asker::tenant(*line)).await;
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
            if root.is_some() && !planted.has(SessionBug::SavedRootStaysOutdated) {
                scheme.on_chip(|chip| chip.power.root_is_saved());
            }
            verbs.complete(RegisterUpdate { root, ..RegisterUpdate::default() });
        }
    }
}
