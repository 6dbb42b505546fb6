//! Forests: nodes of the tree become roots, and stop being roots.
//!
//! ```text
//! promote:  bring the node ─ keep it for good
//! fold:     update the parent ─ its parent ─ ... the next root ─ has the node changed meanwhile? ─ an ordinary node again
//! ```
//! A root that is being folded still is one, so whatever else happens to it ends there. It is given up in the same moment in
//! which it is seen to hold what its parent vouches for; the next root above vouches for it by then, or will for a node that is leaving.

use super::Metadata;
use crate::planted::Bug;
use crate::slot::Slot;
use crate::tree::{Parent, Tree};
use crate::verbs::{Fault, Verbs};
use units::Line;

impl Metadata {
    /// The lines of the tree's own root.
    pub fn root(&self) -> Box<[Line]> {
        self.on_chip(|chip| chip.root.clone())
    }

    /// The nodes of the tree that are kept on the chip as roots, in the order of their slots; none unless it is a forest.
    pub fn forest_roots(&self) -> Vec<Slot> {
        self.on_chip(|chip| chip.forest.roots())
    }

    /// After an update that ended at a root: lets a dynamic forest change, if it is time.
    pub(super) async fn reshape<V: Verbs>(&self, verbs: &V, updated: Parent) -> Result<(), Fault> {
        let Some(change) = self.on_chip(|chip| chip.forest.note(updated)) else { return Ok(()) };
        if let Some(root) = change.fold {
            self.fold(verbs, root).await?;
        }
        let position = change.grow.position;
        let children = |tree: &Tree| tree.children(&self.layout, change.grow, position..position + 1).next();
        match self.tree.as_ref().and_then(children) {
            Some(child) => self.promote(verbs, child).await,
            None => Ok(()),
        }
    }

    /// Makes a root of a node, unless others took the room meanwhile.
    async fn promote<V: Verbs>(&self, verbs: &V, node: Slot) -> Result<(), Fault> {
        let role = self.layout.place(node).0;
        loop {
            self.bring(verbs, node, role).await?;
            if self.on_chip(|chip| chip.keep(role, node)) {
                return Ok(());
            }
        }
    }

    /// Makes an ordinary node of a root, after the nodes above vouch for what it holds.
    pub async fn fold<V: Verbs>(&self, verbs: &V, root: Slot) -> Result<(), Fault> {
        let role = self.layout.place(root).0;
        loop {
            let Some(content) = self.on_chip(|chip| chip.forest.node(root).copied()) else { return Ok(()) };
            let folds = !self.planted.has(Bug::RootDropped);
            if folds {
                self.update_upward(verbs, (root, role)).await?;
            }
            let news = self.on_chip(|chip| chip.forest.node(root).copied());
            let content = news.filter(|_| self.planted.has(Bug::FoldKeepsNews)).unwrap_or(content);
            if self.on_chip(|chip| chip.give_up(role, root, &content, folds)) {
                return Ok(());
            }
        }
    }
}
