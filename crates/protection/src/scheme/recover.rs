//! Recovery: what the machine does with its memory when power is back.
//!
//! ```text
//! the tree again from the counters in memory (metadata/rebuild) ─ compare with the root's register ─ finish a renewal
//! ```
//! Tags are not looked at: they are tied to counters that are now known to be fresh, and are checked with each read.
//!
//! A loss of power during recovery does no harm. Nodes are computed from counters alone, and of a renewal that was
//! going on each line's tag says how far it had come.

use super::Scheme;
use super::persist::Progress;
use crate::domain::Registers;
use crate::planted::Bug;
use crate::tree::Tree;
use crate::verbs::{Fault, Verbs};

impl Scheme {
    /// Makes a fresh chip continue with the memory that a loss of power has left behind; reports if that cannot be trusted.
    /// A design without persistence has nothing to continue with: its chip stays as new.
    pub async fn recover<V: Verbs>(&self, verbs: &V, registers: &Registers) {
        if let (true, Some(tree)) = (self.persistence.exists(), self.metadata.tree()) {
            let outcome = self.try_recover(verbs, tree, registers).await;
            self.finish(verbs, outcome).await;
        }
    }

    async fn try_recover<V: Verbs>(&self, verbs: &V, tree: &Tree, registers: &Registers) -> Result<(), Fault> {
        self.metadata.restore(verbs, tree, &registers.root).await?;
        match &registers.renewal {
            Some(renewal) if !self.planted.has(Bug::RecoverySkipsRenewal) => {
                self.renew_durably(verbs, renewal, Progress::Unknown).await
            }
            _ => Ok(()),
        }
    }
}
