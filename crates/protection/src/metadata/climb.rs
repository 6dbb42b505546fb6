//! Updates the nodes above the lines of a tuple, stage by stage.
//!
//! ```text
//! counter lines ─ stage 1: level 0 ─ stage 2: level 1 ─ ... ─ the last stage: the root
//!                               └ a root of a forest: the path ends, and goes through the stages that are left for order alone
//! ```
//! A tuple keeps copies of the lines that it changed, because the next tuple may already have changed the lines on the
//! chip. It also keeps copies of the roots at which its paths end, and its completion writes these copies to the
//! registers.

use super::Metadata;
use crate::domain::RegisterUpdate;
use crate::planted::Bug;
use crate::slot::{Role, Slot};
use crate::stages::Stages;
use crate::tree::{Node, Parent};
use crate::verbs::{Fault, Verbs};
use sim::join_all;
use std::collections::BTreeMap;
use units::Line;

/// Metadata lines with their content.
pub(crate) type Lines = BTreeMap<Slot, Line>;

impl Metadata {
    /// Updates the nodes above these lines, which are of one kind. Updates level by level, and each node once, up to
    /// the nearest roots. Returns the new contents of the roots' registers.
    pub async fn climb<'a, V: Verbs>(
        &self,
        verbs: &'a V,
        stages: &mut Stages<'a, V>,
        (mut role, lines): (Role, Lines),
    ) -> Result<RegisterUpdate, Fault> {
        let (mut changed, mut reached) = (lines, RegisterUpdate::default());
        for stage in stage_above(role)..=self.last_stage() {
            stages.enter(verbs, stage).await;
            join_all(changed.iter().map(|_| verbs.hash())).await;
            let mut above = Lines::new();
            for (slot, content) in &changed {
                let Some(parent) = self.parent(*slot) else { continue };
                let node = self.update_for_copy(verbs, parent, (*slot, role), content).await?;
                let ends = self.on_chip(|chip| chip.forest.is_root(parent.node));
                if ends {
                    self.on_chip(|chip| chip.forest.note(parent));
                }
                match parent.node {
                    Node::Stored(root) if ends => drop(reached.forest.insert(root, Some(node))),
                    Node::Stored(slot) => drop(above.insert(slot, node)),
                    Node::Root(_) => reached.root = Some(self.on_chip(|chip| chip.root.clone())),
                }
            }
            (changed, role) = (above, Role::Node(stage as u8 - 1));
        }
        Ok(reached)
    }

    /// Updates a parent for the tuple's copy of a child. Returns the content of the parent after the update.
    async fn update_for_copy<V: Verbs>(
        &self,
        verbs: &V,
        parent: Parent,
        child: (Slot, Role),
        copy: &Line,
    ) -> Result<Line, Fault> {
        loop {
            self.bring_parent(verbs, parent).await?;
            let updated = self.on_chip(|chip| {
                let content = match self.planted.has(Bug::StagesShareNodes) {
                    true => chip.get(child.1, child.0).copied().unwrap_or(*copy),
                    false => *copy,
                };
                self.update_node(chip, parent, child.0, &content)?;
                chip.node(parent).copied()
            });
            if let Some(node) = updated {
                return Ok(node);
            }
        }
    }
}

/// Returns the stage that updates the parents of lines of this kind.
fn stage_above(role: Role) -> usize {
    match role {
        Role::Node(level) => usize::from(level) + 2,
        _ => 1,
    }
}
