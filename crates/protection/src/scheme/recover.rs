//! Recovery: the machine checks its memory when power returns.
//!
//! ```text
//! the tree again from the counters in memory (metadata/rebuild) ─ compare with the roots' registers ─ finish a renewal
//! ```
//! Recovery reports each line that a battery could not write to memory. Reads of the line fail until it is written again.
//!
//! From then on no line boots. A machine starts with its initial content once, in its first session, so if a slot is
//! blank later, an attacker has blanked it. (Only this model boots the initial content line by line. A program that
//! continues after a loss of power writes an untouched line before it reads it, as a loader does.)
//!
//! Recovery does not check tags of data: each read checks its tag, and the tags depend on counters that are now known
//! to be fresh.
//!
//! A loss of power during recovery causes no loss of data. Recovery computes nodes from counters only. During an
//! interrupted renewal, each line's tag shows whether the line already has its new version.

use super::write::outdate_root;
use super::write::tuple::{RenewalProgress, Tuple};
use super::{FixedScheme, under_way};
use crate::domain::Registers;
use crate::meetings::Mechanism;
use crate::metadata::Rebuild;
use crate::planted::Bug;
use crate::verbs::{Fault, Verbs};

/// Reports the lines with stores that the battery has lost. Reads of these lines fail until they are written again.
fn keep_lost<V: Verbs>(scheme: &FixedScheme, verbs: &V, registers: &Registers) {
    if !scheme.planted.has(Bug::LossForgotten) {
        scheme.on_chip(|chip| chip.power.loses(registers.lost.iter().copied(), scheme.planted));
        registers.lost.iter().for_each(|line| verbs.fault(Fault::Lost(*line)));
    }
}

impl FixedScheme {
    /// Lets a fresh chip continue with the memory that a loss of power has left, or reports a fault if this memory
    /// cannot be trusted. In a design without persistence, the chip stays in its initial state.
    pub async fn recover<V: Verbs>(&self, verbs: &V, registers: &Registers) {
        let (true, Some(tree)) = (self.persistence.exists(), self.metadata.tree()) else { return };
        let _recovery = under_way(self, Mechanism::Recovery);
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
