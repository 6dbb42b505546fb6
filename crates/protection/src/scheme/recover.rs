//! Recovery: what the machine does with its memory when power is back.
//!
//! ```text
//! the tree again from the counters in memory (metadata/rebuild) ─ compare with the roots' registers ─ finish a renewal
//! ```
//! What a battery could not take to memory is named, line by line, and refused until it is written again.
//!
//! From then on nothing boots: a machine starts with its content once, in its first session, and a slot that is blank later was
//! blanked. (Only a model puts that content there line by line. A program that goes on after a loss writes a line that it has
//! never touched before it reads it, as a loader does.)
//!
//! Tags are not looked at: they are tied to counters that are now known to be fresh, and are checked with each read.
//!
//! A loss of power during recovery does no harm. Nodes are computed from counters alone, and of a renewal that was
//! going on each line's tag says how far it had come.

use super::Scheme;
use super::write::outdate_root;
use super::write::tuple::{RenewalProgress, Tuple};
use crate::domain::Registers;
use crate::metadata::Rebuild;
use crate::planted::Bug;
use crate::verbs::{Fault, Verbs};

/// Names the lines whose stores the battery has lost, which are refused until they are written again.
fn keep_lost<V: Verbs>(scheme: &Scheme, verbs: &V, registers: &Registers) {
    if !scheme.planted.has(Bug::LossForgotten) {
        scheme.on_chip(|chip| chip.power.loses(registers.lost.iter().copied()));
        registers.lost.iter().for_each(|line| verbs.fault(Fault::Lost(*line)));
    }
}

impl Scheme {
    /// Makes a fresh chip continue with the memory that a loss of power has left behind; reports if that cannot be trusted.
    /// A design without persistence has nothing to continue with: its chip stays as new.
    pub async fn recover<V: Verbs>(&self, verbs: &V, registers: &Registers) {
        let (true, Some(tree)) = (self.persistence.exists(), self.metadata.tree()) else { return };
        let outcome = async {
            Rebuild { metadata: &self.metadata, tree, verbs }.restore(registers).await?;
            self.on_chip(|chip| chip.power.recovered = true);
            keep_lost(self, verbs, registers);
            if let Some(renewal) = registers.renewal.as_ref().filter(|_| !self.planted.has(Bug::RecoverySkipsRenewal)) {
                Tuple::new(self, verbs).renew_durably(renewal, RenewalProgress::Unknown).await?;
            }
            if !self.planted.has(Bug::RootValidUntilWritten) {
                outdate_root(self, verbs);
            }
            Ok(())
        };
        self.finish(verbs, outcome.await).await;
    }
}
