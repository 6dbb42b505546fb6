//! Changes the durable roots of a forest (Bonsai Merkle Forests: Freij, Zhou and Solihin, MICRO 2021).
//!
//! ```text
//! promote:  bring the node ─ blank it in its parent ─ the parent's parent ─ ... the next root ─ complete: a register more
//! fold:     notify its parent ─ the parent's parent ─ ... the next root ─────────────────────── complete: a register less
//! ```
//! Recovery computes every node from counters, and compares those that have registers. Recovery must be able to compute
//! the nodes between a root and the next root above in the same way. So the parent of a new root gets a blank entry for
//! it, and the parent of a former root gets its tag or version again. Either change updates a path up to a root, and
//! sets that root's register in the same instant in which the node gains or loses its register. A loss of power leaves
//! the forest either unchanged or changed.
//!
//! No tuple may update its path during a change: it would complete with a former root, or without a new one. So a
//! change is executed in the order of tuples, and keeps all stages until it is complete. It follows the last write of a
//! period, after that write has released its line, since the next tuple may wait for this line in the first stage.
//!
//! If tampering stops a change half-way, a node above contains a change that no register will ever contain. So the chip
//! halts, as for any tuple.

use super::tuple::Tuple;
use crate::domain::RegisterUpdate;
use crate::meetings::Mechanism;
use crate::metadata::{Lines, ParentUpdate};
use crate::planted::Bug;
use crate::scheme::{FixedScheme, under_way};
use crate::slot::{Role, Slot};
use crate::tree::{ForestChange, Node};
use crate::verbs::{Fault, Verbs};
use units::{Line, ZERO_LINE};

/// Changes a forest if a change is due.
pub(super) async fn reshape<V: Verbs>(scheme: &FixedScheme, verbs: &V) -> Result<(), Fault> {
    if !scheme.metadata.on_chip(|chip| chip.forest.is_due()) {
        return Ok(());
    }
    Box::pin(Reshape { scheme, verbs, tuple: Tuple::new(scheme, verbs) }.change()).await
}

/// A change of a forest under way.
struct Reshape<'a, V: Verbs> {
    scheme: &'a FixedScheme,
    verbs: &'a V,
    tuple: Tuple<'a, V>,
}

impl<V: Verbs> Reshape<'_, V> {
    async fn change(mut self) -> Result<(), Fault> {
        let metadata = &self.scheme.metadata;
        if !self.scheme.planted.has(Bug::ReshapedAmongTuples) {
            self.tuple.stages.hand_over = false;
            self.tuple.stages.enter_all(self.verbs, metadata.last_stage()).await;
        }
        let due = metadata.on_chip(|chip| if chip.power.halted { None } else { chip.forest.change() });
        let Some(ForestChange { fold, grow }) = due else { return Ok(()) };
        let _reshape = under_way(self.scheme, Mechanism::ForestReshape);
        if let Some(root) = fold {
            self.fold(root).await?;
        }
        match self.update().child_of(grow) {
            Some(node) if !metadata.on_chip(|chip| chip.forest.is_root(Node::Stored(node))) => self.promote(node).await,
            _ => Ok(()),
        }
    }

    fn update(&self) -> ParentUpdate<'_, V> {
        ParentUpdate { metadata: &self.scheme.metadata, verbs: self.verbs }
    }

    /// Turns a node into a root.
    async fn promote(&mut self, node: Slot) -> Result<(), Fault> {
        let metadata = &self.scheme.metadata;
        self.update().promote(node).await?;
        let mut reached = RegisterUpdate::default();
        if !self.scheme.planted.has(Bug::PromotedStaysInParent) {
            reached = self.notify_above(node, ZERO_LINE).await?;
        }
        let content = metadata.on_chip(|chip| chip.forest.node(node).copied());
        reached.forest.insert(node, content);
        self.verbs.complete(reached);
        Ok(())
    }

    /// Turns a root into an ordinary node. If a line that leaves the chip changes the root meanwhile, notifies the parent again.
    async fn fold(&mut self, root: Slot) -> Result<(), Fault> {
        let (metadata, planted) = (&self.scheme.metadata, self.scheme.planted);
        let role = self.scheme.layout.role_and_index(root).0;
        while let Some(content) = metadata.on_chip(|chip| chip.forest.node(root).copied()) {
            let mut reached = RegisterUpdate::default();
            if !planted.has(Bug::RootDropped) {
                reached = self.notify_above(root, content).await?;
            }
            if metadata.on_chip(|chip| chip.give_up(role, root, &content, true)) {
                if !planted.has(Bug::FoldedStaysRegistered) {
                    reached.forest.insert(root, None);
                }
                self.verbs.complete(reached);
            }
        }
        Ok(())
    }

    /// Updates the nodes above a root with its content, up to the next root.
    async fn notify_above(&mut self, root: Slot, content: Line) -> Result<RegisterUpdate, Fault> {
        let metadata = &self.scheme.metadata;
        let role: Role = self.scheme.layout.role_and_index(root).0;
        let climbed = metadata.climb(self.verbs, &mut self.tuple.stages, (role, Lines::from([(root, content)]))).await;
        self.tuple.or_halt(climbed)
    }
}
