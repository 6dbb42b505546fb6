//! Roots of a forest that outlive power come and go (Bonsai Merkle Forests: Freij, Zhou and Solihin, MICRO 2021).
//!
//! ```text
//! promote:  bring the node ─ blank it in its parent ─ the parent's parent ─ ... the next root ─ complete: a register more
//! fold:     notify its parent ─ the parent's parent ─ ... the next root ─────────────────────── complete: a register less
//! ```
//! Recovery computes every node from counters, and compares those that have registers. What stands between a root and the next one
//! above must follow from that: so a node that becomes a root is blank in its parent from then on, and one that stops
//! being a root is in its parent what it is. Either changes a path, up to a root whose register is set in the same instant in
//! which the node gets its own or loses it. A loss of power before leaves the forest as it was, and after as it shall be.
//!
//! No tuple may be on its way up meanwhile: it would complete with a root that is none, or without one that is. So this
//! is one more in their order, and keeps all stages to its end. It comes behind the write that was the last of a period, when
//! that has let go of its line, for which the next tuple may wait in the first stage.
//!
//! If tampering stops it half-way, a node above knows of a change that no register will: the chip halts, as it does for any
//! tuple.

use super::tuple::Tuple;
use crate::domain::Completion;
use crate::metadata::{Lines, ParentUpdate};
use crate::planted::Bug;
use crate::scheme::Scheme;
use crate::slot::{Role, Slot};
use crate::tree::{Change, Node};
use crate::verbs::{Fault, Verbs};
use units::{Line, ZERO_LINE};

/// Lets a forest change, if it is time.
pub(super) async fn reshape<V: Verbs>(scheme: &Scheme, verbs: &V) -> Result<(), Fault> {
    if !scheme.metadata.on_chip(|chip| chip.forest.is_due()) {
        return Ok(());
    }
    Box::pin(Reshape { scheme, verbs, tuple: Tuple::new(scheme, verbs) }.change()).await
}

/// A change of a forest under way.
struct Reshape<'a, V: Verbs> {
    scheme: &'a Scheme,
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
        let Some(Change { fold, grow }) = due else { return Ok(()) };
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

    /// Makes a root of a node.
    async fn promote(&mut self, node: Slot) -> Result<(), Fault> {
        let metadata = &self.scheme.metadata;
        self.update().promote(node).await?;
        let mut reached = Completion::default();
        if !self.scheme.planted.has(Bug::PromotedStaysInParent) {
            reached = self.notify_above(node, ZERO_LINE).await?;
        }
        let content = metadata.on_chip(|chip| chip.forest.node(node).copied());
        reached.forest.insert(node, content);
        self.verbs.complete(reached);
        Ok(())
    }

    /// Makes an ordinary node of a root. If a line that leaves the chip changes it meanwhile, its parent is notified of that too.
    async fn fold(&mut self, root: Slot) -> Result<(), Fault> {
        let (metadata, planted) = (&self.scheme.metadata, self.scheme.planted);
        let role = self.scheme.layout.place(root).0;
        while let Some(content) = metadata.on_chip(|chip| chip.forest.node(root).copied()) {
            let mut reached = Completion::default();
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

    /// Notifies the nodes above a root that it is this, up to the next root.
    async fn notify_above(&mut self, root: Slot, content: Line) -> Result<Completion, Fault> {
        let metadata = &self.scheme.metadata;
        let role: Role = self.scheme.layout.place(root).0;
        let climbed = metadata.climb(self.verbs, &mut self.tuple.stages, (role, Lines::from([(root, content)]))).await;
        self.tuple.or_halt(climbed)
    }
}
