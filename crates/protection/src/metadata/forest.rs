//! Forests: nodes of the tree become roots, and stop being roots.
//!
//! ```text
//! promote:  bring the node ─ keep it for good
//! fold:     update the parent ─ its parent ─ ... the next root ─ has the node changed meanwhile? ─ an ordinary node again
//! ```
//! A node that is being folded is still a root, so updates from below end at it. The chip gives the root up at the
//! instant at which the root's content equals the content that its parent vouches for. By then, the next root above
//! vouches for this content, or will do so when a leaving node between the two roots has left.

use super::Metadata;
use super::update::ParentUpdate;
use crate::meetings::{self, Mechanism};
use crate::on_chip::ChipState;
use crate::planted::Bug;
use crate::slot::Slot;
use crate::tree::{ForestChange, Parent, Tree};
use crate::verbs::{Fault, Verbs};

impl Metadata {
    /// With eager update, updates the nodes above a covered line after a write to the line, up to the nearest root.
    pub async fn raise<V: Verbs>(&self, verbs: &V, leaf: Slot) -> Result<(), Fault> {
        if self.tree.as_ref().is_some_and(Tree::is_eager) {
            return Box::pin(ParentUpdate { metadata: self, verbs }.raise(leaf)).await;
        }
        Ok(())
    }
}

impl<V: Verbs> ParentUpdate<'_, V> {
    async fn raise(&self, leaf: Slot) -> Result<(), Fault> {
        let Some(root) = self.update_upward((leaf, self.metadata.layout.role_and_index(leaf).0)).await? else {
            return Ok(());
        };
        let noted = |chip: &mut ChipState| {
            chip.forest.note(root);
            chip.forest.change()
        };
        match self.metadata.on_chip(noted) {
            Some(change) => {
                let set = self.metadata.on_chip(|chip| chip.power.set());
                let _reshape = meetings::begin(Mechanism::ForestReshape, set);
                self.reshape(change).await
            }
            None => Ok(()),
        }
    }

    /// Applies a change of a dynamic forest: folds one root, and promotes a child of another.
    async fn reshape(&self, change: ForestChange) -> Result<(), Fault> {
        if let Some(root) = change.fold {
            self.fold(root).await?;
        }
        match self.child_of(change.grow) {
            Some(child) => self.promote(child).await,
            None => Ok(()),
        }
    }

    /// Returns the line at this position below a node.
    pub fn child_of(&self, parent: Parent) -> Option<Slot> {
        let positions = parent.position..parent.position + 1;
        let tree = self.metadata.tree.as_ref()?;
        tree.children(&self.metadata.layout, parent, positions).next()
    }

    /// Makes a node a root, unless other roots have taken the last entry meanwhile.
    pub async fn promote(&self, node: Slot) -> Result<(), Fault> {
        let role = self.metadata.layout.role_and_index(node).0;
        loop {
            self.metadata.bring(self.verbs, node, role).await?;
            if self.metadata.on_chip(|chip| chip.keep(role, node)) {
                return Ok(());
            }
        }
    }

    /// Makes a root an ordinary node, after the nodes above vouch for its content.
    pub async fn fold(&self, root: Slot) -> Result<(), Fault> {
        let role = self.metadata.layout.role_and_index(root).0;
        loop {
            let Some(content) = self.metadata.on_chip(|chip| chip.forest.node(root).copied()) else { return Ok(()) };
            let folds = !self.metadata.planted.has(Bug::RootDropped);
            if folds {
                self.update_upward((root, role)).await?;
            }
            let news = self.metadata.on_chip(|chip| chip.forest.node(root).copied());
            let content = news.filter(|_| self.metadata.planted.has(Bug::FoldKeepsNews)).unwrap_or(content);
            if self.metadata.on_chip(|chip| chip.give_up(role, root, &content, folds)) {
                return Ok(());
            }
        }
    }
}
