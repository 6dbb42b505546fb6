//! Metadata on its way to the chip and back: the walk up the tree, and the write-back down it.
//!
//! ```text
//! bring:       lock the missing lines from the leaf up ─ fetch and hash them all at once ─ compare from the top down
//!                                                          └ what needs the leaf may start on what memory returned
//! write back:  lock the leaving line ─ hash it ─ bring its parent ─ put the tag there ─ store the line
//! ```
//! A line of metadata from memory is checked against its parent, up to the first ancestor that is on the chip. The tree is
//! updated lazily: a line tells its parent only when it leaves the chip. Until then it counts as present, so an access may
//! call it back at any moment, and a write-back looks again after each await whether there is still something to do.

use super::Scheme;
use crate::layout::LEVELS_MAX;
use crate::metadata::OnChip;
use crate::planted::Bug;
use crate::tree::Parent;
use crate::verbs::{Fault, LockName, Role, Slot, Untrusted, Verbs};
use arrayvec::ArrayVec;
use sim::join_all;
use sim::lock::Mode;
use units::Line;

/// A step of the walk up the tree: a line of metadata that is not on the chip, held while it is brought.
struct Missing<G> {
    slot: Slot,
    role: Role,
    parent: Parent,
    _guard: G,
}

impl Scheme {
    /// The content of a line of metadata, on the chip and verified.
    pub(super) async fn metadata<V: Verbs>(&self, verbs: &V, slot: Slot, role: Role) -> Result<Line, Fault> {
        self.metadata_for(verbs, slot, role, || ()).await
    }

    /// As [`Scheme::metadata`], and calls `start` as soon as the content is there: on the chip, or come from memory and
    /// still being verified. What it starts must not be used before this returns, and not at all if it fails.
    pub(super) async fn metadata_for<V: Verbs>(
        &self,
        verbs: &V,
        slot: Slot,
        role: Role,
        start: impl Fn(),
    ) -> Result<Line, Fault> {
        loop {
            self.bring(verbs, slot, role, &start).await?;
            if let Some(content) = self.on_chip(|chip| chip.get(role, slot).copied()) {
                return Ok(content);
            }
        }
    }

    /// Changes a line of metadata on the chip.
    pub(super) async fn edit_metadata<V: Verbs, R>(
        &self,
        verbs: &V,
        slot: Slot,
        role: Role,
        change: impl Fn(&mut Line) -> R,
    ) -> Result<R, Fault> {
        loop {
            self.bring(verbs, slot, role, || ()).await?;
            if let Some(result) = self.on_chip(|chip| chip.edit(role, slot).map(&change)) {
                return Ok(result);
            }
        }
    }

    /// Makes sure that a line of metadata is on the chip, verified up to the first ancestor that was there already. Calls
    /// `start` as soon as it is there or has come from memory.
    async fn bring<V: Verbs>(&self, verbs: &V, slot: Slot, role: Role, start: impl Fn()) -> Result<(), Fault> {
        verbs.look_up(role).await;
        if self.on_chip(|chip| chip.present(role, slot)) {
            start();
            return Ok(());
        }
        let (path, anchor) = self.walk_up(verbs, slot, role).await;
        if path.is_empty() {
            // Somebody else has brought it meanwhile.
            start();
        }
        let fetched = join_all(path.iter().map(|step| async {
            let content = verbs.fetch(step.slot, step.role).await;
            if step.slot == slot {
                start();
            }
            if step.parent != Parent::None {
                verbs.hash().await;
            }
            content.examine()
        }))
        .await;
        let mut expected = anchor;
        for (step, content) in path.iter().zip(&fetched).rev() {
            self.compare(step, content, expected)?;
            self.on_chip(|chip| chip.admit(step.role, step.slot, content, false));
            expected = self.child_tag_below(&path, step.slot, content);
        }
        Ok(())
    }

    /// Locks the missing lines from a leaf upward, until an ancestor is found on the chip or the root is reached.
    /// Returns them, leaf first, and the trusted tag of the last.
    ///
    /// The parent's tag of a line changes only when that line leaves the chip, which takes the line's lock. So what is
    /// read here stays true while the locks are held, even if the parent leaves meanwhile.
    async fn walk_up<'a, V: Verbs>(
        &'a self,
        verbs: &'a V,
        slot: Slot,
        role: Role,
    ) -> (ArrayVec<Missing<V::Guard<'a>>, { LEVELS_MAX + 1 }>, u64) {
        let mut path: ArrayVec<Missing<V::Guard<'a>>, { LEVELS_MAX + 1 }> = ArrayVec::new();
        let (mut slot, mut role) = (slot, role);
        loop {
            let guard = verbs.lock(LockName::Metadata(slot), Mode::Exclusive).await;
            let looked_up_above = !path.is_empty();
            let found = self.on_chip(|chip| match looked_up_above {
                true if !chip.present(role, slot) => None,
                _ => chip.get(role, slot).copied(),
            });
            if let Some(content) = found {
                let below = path.last().map_or(Parent::None, |step| step.parent);
                return (path, self.tag_in(below, &content));
            }
            let parent = self.tree.as_ref().map_or(Parent::None, |tree| tree.parent(&self.layout, slot));
            path.push(Missing { slot, role, parent, _guard: guard });
            match parent {
                Parent::None => return (path, 0),
                Parent::Root(position) => return (path, self.chip.borrow().root[position]),
                Parent::Node(above, _) => (slot, role) = (above, self.layout.place(above).0),
            }
            verbs.look_up(role).await;
        }
    }

    fn compare<G>(&self, step: &Missing<G>, content: &Line, expected: u64) -> Result<(), Fault> {
        let skipped = match step.parent {
            Parent::Root(_) => self.planted.has(Bug::TreeStopsALevelEarly),
            _ => step.role == Role::Counter && self.planted.has(Bug::CounterUnverified),
        };
        match &self.tree {
            Some(tree) if step.parent != Parent::None && !skipped && tree.tag(step.slot, content) != expected => {
                Err(Fault::Tree(step.slot))
            }
            _ => Ok(()),
        }
    }

    /// The tag that a node just verified holds for the line below it on the path.
    fn child_tag_below<G>(&self, path: &[Missing<G>], node: Slot, content: &Line) -> u64 {
        let below =
            path.iter().map(|step| step.parent).find(|parent| matches!(parent, Parent::Node(slot, _) if *slot == node));
        self.tag_in(below.unwrap_or(Parent::None), content)
    }

    fn tag_in(&self, parent: Parent, content: &Line) -> u64 {
        match (parent, &self.tree) {
            (Parent::Node(_, position), Some(tree)) => tree.child_tag(content, position),
            _ => 0,
        }
    }

    /// Ends an access: reports tampering, and writes back the metadata that had to make room. One line that cannot leave
    /// keeps no other from leaving.
    pub(super) async fn finish<V: Verbs>(&self, verbs: &V, outcome: Result<(), Fault>) {
        if let Err(fault) = outcome {
            verbs.fault(fault);
        }
        while let Some(slot) = self.on_chip(OnChip::claim_leaving) {
            if let Err(fault) = self.write_back(verbs, slot).await {
                verbs.fault(fault);
            }
        }
    }

    /// Takes a leaving line to memory, after its parent has been told. If it is called back meanwhile, it stays.
    async fn write_back<V: Verbs>(&self, verbs: &V, slot: Slot) -> Result<(), Fault> {
        let role = self.layout.place(slot).0;
        let _guard = verbs.lock(LockName::Metadata(slot), Mode::Exclusive).await;
        while let Some(content) = self.on_chip(|chip| chip.leaving(slot)) {
            if self.tell_parent(verbs, slot, &content).await? {
                self.on_chip(|chip| chip.left(slot));
                if role != Role::Tag || !self.planted.has(Bug::TagsDropped) {
                    verbs.store(slot, role, Untrusted(Some(content))).await;
                }
            }
        }
        Ok(())
    }

    /// Puts the tag of a leaving line into its parent; false if the line stopped leaving, or changed, before that.
    async fn tell_parent<V: Verbs>(&self, verbs: &V, slot: Slot, content: &Line) -> Result<bool, Fault> {
        let Some(tree) = &self.tree else { return Ok(self.on_chip(|chip| chip.leaving(slot) == Some(*content))) };
        let parent = tree.parent(&self.layout, slot);
        if parent != Parent::None {
            verbs.hash().await;
        }
        let tag = tree.tag(slot, content);
        loop {
            if let Parent::Node(above, _) = parent {
                self.bring(verbs, above, self.layout.place(above).0, || ()).await?;
            }
            let told = self.on_chip(|chip| {
                if chip.leaving(slot) != Some(*content) {
                    return Some(false);
                }
                self.set_tag_in(chip, parent, tag).then_some(true)
            });
            if let Some(told) = told {
                return Ok(told);
            }
        }
    }

    /// Writes a child's tag into its parent; false if the parent is not on the chip.
    fn set_tag_in(&self, chip: &mut OnChip, parent: Parent, tag: u64) -> bool {
        let Some(tree) = &self.tree else { return true };
        match parent {
            Parent::None => true,
            Parent::Root(_) if self.planted.has(Bug::RootNotUpdated) => true,
            Parent::Root(position) => {
                chip.root[position] = tag;
                true
            }
            Parent::Node(_, _) if self.planted.has(Bug::ParentNotUpdated) => true,
            Parent::Node(above, position) => {
                let node = chip.edit(self.layout.place(above).0, above);
                node.map(|node| tree.set_child_tag(node, position, tag)).is_some()
            }
        }
    }
}
