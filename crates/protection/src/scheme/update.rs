//! Metadata on its way back to memory: who tells whom what changed.
//!
//! ```text
//! write back:  lock the leaving line ─ hash it ─ bring its parent ─ tell the parent ─ store the line
//! raise:       after a write, with eager update: tell the parent, the parent's parent, ... the nearest root
//! renew:       a parent's counter overflows ─ lock its children from the first to the last ─ renew ─ new MACs for all
//! ```
//! With lazy update a line tells its parent only when it leaves the chip. Until then it counts as present, so an access
//! may call it back at any moment, and a write-back looks again after each await whether there is still something to do.
//!
//! Locks of one level are taken by a single access only to renew a node's children, in the order of their slots and with
//! none of that level held before.

use super::Scheme;
use crate::counter::Overflow;
use crate::metadata::{Departure, OnChip};
use crate::planted::Bug;
use crate::tree::{Node, Parent, Tree, Voucher};
use crate::verbs::{Fault, LockName, Role, Slot, Verbs, Wanted};
use sim::join_all;
use sim::lock::Mode;
use std::ops::Range;
use units::{Line, LineAddr};

/// Children that get new MACs at the same time.
const RENEWED_AT_ONCE: usize = 8;

/// What came of telling a parent.
pub(super) enum Told {
    /// It knows, and holds this about the child.
    Vouches(Voucher),
    /// There is nothing to tell any more: the line stopped leaving, or is no longer on the chip.
    Nothing,
    /// Its counter for the child is at its end: the versions at these positions must be renewed first.
    Overflow(Parent, Range<usize>),
    /// Its counter for the child is at its full width.
    Exhausted,
}

impl Scheme {
    /// Ends an access: reports tampering, and writes back the metadata that had to make room. One line that cannot leave
    /// keeps no other from leaving.
    pub(super) async fn finish<V: Verbs>(&self, verbs: &V, outcome: Result<(), Fault>) {
        if let Err(fault) = outcome
            && !self.planted.has(Bug::FaultSwallowed)
        {
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
        loop {
            let Some(departure) = self.settled(verbs, slot).await else { return Ok(()) };
            let guard = verbs.lock(LockName::Metadata(slot), Mode::Exclusive).await;
            if !self.on_chip(|chip| chip.is_leaving_by(&departure)) {
                continue;
            }
            if self.planted.has(Bug::EvictionForgetsDirty) {
                self.on_chip(|chip| chip.left(slot));
                return Ok(());
            }
            match self.tell_parent(verbs, slot, &departure).await? {
                Told::Vouches(voucher) => self.store_metadata(verbs, (slot, role), &departure, voucher).await,
                Told::Nothing => {}
                Told::Exhausted => return Err(Fault::Exhausted(slot.on_chip())),
                Told::Overflow(parent, positions) => {
                    drop(guard);
                    self.renew_children(verbs, parent, positions).await?;
                }
            }
        }
    }

    /// Stores a line whose parent knows of it, unless it has been called back meanwhile. It is on the chip until memory has
    /// it, for a boot asks without locks.
    async fn store_metadata<V: Verbs>(
        &self,
        verbs: &V,
        (slot, role): (Slot, Role),
        departure: &Departure,
        voucher: Voucher,
    ) {
        let sealed = |tree: &Tree| tree.seal_under(slot, role, &departure.content, voucher);
        let sealed = self.tree.as_ref().map_or(departure.content, sealed);
        if self.tree.as_ref().is_some_and(|tree| !tree.hashes_before_telling()) && self.parent(slot).is_some() {
            verbs.hash().await;
            if !self.on_chip(|chip| chip.is_leaving_by(departure)) {
                return;
            }
        }
        self.on_chip(|chip| chip.left(slot));
        let dropped = match role {
            Role::Tag => self.planted.has(Bug::TagsDropped),
            Role::Counter => self.planted.has(Bug::CountersDropped),
            _ => self.planted.has(Bug::NodesDropped),
        };
        if !dropped {
            verbs.store(slot, role, sealed.into()).await;
        }
    }

    /// Tells the parent of a leaving line what goes to memory.
    async fn tell_parent<V: Verbs>(&self, verbs: &V, slot: Slot, departure: &Departure) -> Result<Told, Fault> {
        let (Some(tree), Some(parent)) = (&self.tree, self.parent(slot)) else {
            let nothing = Told::Vouches(Voucher::Nothing);
            return Ok(if self.on_chip(|chip| chip.is_leaving_by(departure)) { nothing } else { Told::Nothing });
        };
        if tree.hashes_before_telling() {
            verbs.hash().await;
        }
        loop {
            self.bring_parent(verbs, parent).await?;
            let told = self.on_chip(|chip| {
                if !chip.is_leaving_by(departure) {
                    return Some(Told::Nothing);
                }
                self.told(chip, parent, slot, &departure.content)
            });
            if let Some(told) = told {
                return Ok(told);
            }
        }
    }

    /// After a write to a covered line of metadata, with eager update: tells everybody above it, up to the nearest root.
    pub(super) async fn raise<V: Verbs>(&self, verbs: &V, leaf: Slot) -> Result<(), Fault> {
        if !self.tree.as_ref().is_some_and(Tree::is_eager) {
            return Ok(());
        }
        match self.tell_upward(verbs, (leaf, self.layout.place(leaf).0)).await? {
            Some(root) => self.reshape(verbs, root).await,
            None => Ok(()),
        }
    }

    /// Tells everybody above a line of metadata, up to the nearest root, what it is now. Returns the last that was told.
    ///
    /// A line that has left the chip meanwhile, or is leaving, tells its parent by that. It is not called back: in the
    /// smallest cache it would push out the parent that was just brought. One that stays must leave some time, even if it
    /// came back clean: its copy in memory may be old from now on.
    pub(super) async fn tell_upward<V: Verbs>(&self, verbs: &V, line: (Slot, Role)) -> Result<Option<Parent>, Fault> {
        let Some(tree) = &self.tree else { return Ok(None) };
        let mut child = line;
        while let Some(parent) = self.parent(child.0) {
            if tree.hashes_before_telling() {
                verbs.hash().await;
            }
            self.raise_one(verbs, child, parent).await?;
            match parent.node {
                _ if self.planted.has(Bug::RaiseStopsEarly) => return Ok(Some(parent)),
                Node::Stored(above) if !self.on_chip(|chip| chip.forest.is_root(parent.node)) => {
                    child = (above, Role::Node(parent.level as u8));
                }
                _ => return Ok(Some(parent)),
            }
        }
        Ok(None)
    }

    async fn raise_one<V: Verbs>(&self, verbs: &V, child: (Slot, Role), parent: Parent) -> Result<(), Fault> {
        loop {
            self.bring_parent(verbs, parent).await?;
            let told = self.on_chip(|chip| match chip.edit_resident(child.1, child.0).copied() {
                Some(content) => self.told(chip, parent, child.0, &content),
                None => Some(Told::Nothing),
            });
            match told {
                Some(Told::Overflow(parent, positions)) => self.renew_children(verbs, parent, positions).await?,
                Some(Told::Exhausted) => return Err(Fault::Exhausted(LineAddr(child.0.0))),
                Some(Told::Vouches(_) | Told::Nothing) => return Ok(()),
                None => {}
            }
        }
    }

    pub(super) async fn bring_parent<V: Verbs>(&self, verbs: &V, parent: Parent) -> Result<(), Fault> {
        match parent.node {
            Node::Root(_) => Ok(()),
            Node::Stored(above) => self.bring(verbs, above, Role::Node(parent.level as u8)).await,
        }
    }

    /// Tells a parent; nothing if it is not on the chip.
    pub(super) fn told(&self, chip: &mut OnChip, parent: Parent, child: Slot, content: &Line) -> Option<Told> {
        let tree = self.tree.as_ref()?;
        Some(match tree.tell(parent, node_on(chip, parent)?, child, content) {
            Ok(voucher) => Told::Vouches(voucher),
            Err(Overflow::Renew { positions }) => Told::Overflow(parent, positions),
            Err(Overflow::Exhausted) => Told::Exhausted,
        })
    }

    /// After an overflow in a tree node: renews the versions of its children at these positions, and gives each child
    /// that is in memory its MAC under the new one. Those on the chip get theirs when they leave.
    ///
    /// The versions move on first: if tampering stops this half-way, the rest is lost, but no old child comes to fit.
    async fn renew_children<V: Verbs>(&self, verbs: &V, parent: Parent, positions: Range<usize>) -> Result<(), Fault> {
        let Some(tree) = &self.tree else { return Ok(()) };
        let first = positions.start + usize::from(self.planted.has(Bug::FirstChildNotRenewed));
        let children: Vec<Slot> = tree.children(&self.layout, parent, first..positions.end).collect();
        let mut guards = Vec::with_capacity(children.len());
        for child in &children {
            guards.push(verbs.lock(LockName::Metadata(*child), Mode::Exclusive).await);
        }
        self.bring_parent(verbs, parent).await?;
        let renewed = self.on_chip(|chip| {
            let node = node_on(chip, parent)?;
            let old = *node;
            tree.renew(parent, node, &positions).map(|()| (old, *node))
        });
        // Otherwise somebody else has renewed them, or the parent had to leave: whoever called looks again.
        let Some((old, new)) = renewed else { return Ok(()) };
        self.count(|counted| counted.renewals.nodes += 1);
        let vouchers = |child: Slot| {
            let parent = self.parent(child).unwrap_or(parent);
            (tree.voucher(parent, &old), tree.voucher(parent, &new))
        };
        for batch in children.chunks(RENEWED_AT_ONCE) {
            let parts = batch.iter().map(|&child| self.renew_child(verbs, child, vouchers(child)));
            join_all(parts).await.into_iter().collect::<Result<(), Fault>>()?;
        }
        Ok(())
    }

    async fn renew_child<V: Verbs>(&self, verbs: &V, child: Slot, (old, new): (Voucher, Voucher)) -> Result<(), Fault> {
        let role = self.layout.place(child).0;
        let Some(tree) = &self.tree else { return Ok(()) };
        // What is on the chip is sealed when it leaves; a clean line must leave as well, for memory's copy is old now.
        if self.on_chip(|chip| chip.leaving(child).is_some() || chip.edit(role, child).is_some()) {
            return Ok(());
        }
        self.count(|counted| counted.renewals.children += 1);
        let content = verbs.fetch(child, role, Wanted::Line).await.examine();
        verbs.hash().await;
        if !self.planted.has(Bug::RenewalTrustsMemory) && !tree.fits(child, role, &content, old) {
            return Err(Fault::Tree(child));
        }
        verbs.hash().await;
        // A blank child gets a version, so it is no longer one that was never written: its counters go with it.
        let begun =
            if self.planted.has(Bug::BlankChildStaysZeros) { content } else { self.begun(child, role, &content) };
        let sealed = tree.seal_under(child, role, &begun, new);
        verbs.store(child, role, sealed.into()).await;
        Ok(())
    }
}

/// The parent's node, if it is on the chip.
pub(super) fn node_on(chip: &mut OnChip, parent: Parent) -> Option<&mut Line> {
    match parent.node {
        Node::Root(line) => chip.root.get_mut(line),
        Node::Stored(slot) => chip.edit(Role::Node(parent.level as u8), slot),
    }
}
