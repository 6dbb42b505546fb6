//! Writes metadata back to memory, and updates the parent that vouches for each line.
//!
//! ```text
//! write back:  lock the leaving line ─ hash it ─ bring its parent ─ update the parent ─ store the line
//! raise:       after a write, with eager update: the parent, the parent's parent, ... the nearest root
//! renew:       a parent's counter overflows ─ lock its children from the first to the last ─ renew ─ new MACs for all
//! ```
//! With lazy update a parent is updated only when the line leaves the chip. A leaving line counts as present, so an
//! access may return it to its cache at any moment. After each await, a write-back checks again that the line is still
//! leaving.
//!
//! An access locks several lines of one level only to renew a node's children. It takes the locks in the order of the
//! slots, and only if it holds no lock of that level yet.

use super::{Metadata, RenewedNodes};
use crate::counter::Overflow;
use crate::on_chip::{ChipState, Departure};
use crate::planted::Bug;
use crate::slot::{Role, Slot};
use crate::stages::Stages;
use crate::tree::{Node, Parent, Tree, Voucher};
use crate::verbs::{Fault, LockName, Verbs, Wanted};
use sim::join_all;
use sim::lock::Mode;
use std::ops::Range;
use units::Line;

/// Maximum number of children that get new MACs concurrently.
const RENEWED_AT_ONCE: usize = 8;

/// Outcome of the update of a parent for a child.
pub(super) enum Updated {
    /// The parent vouches for the child's content, with this voucher.
    Vouches(Voucher),
    /// The parent was not updated: the line stopped leaving, or is no longer on the chip.
    Nothing,
    /// The parent's counter for the child overflows: the versions at these positions must be renewed first.
    Overflow(Parent, Range<usize>),
    /// The parent's counter for the child is at its full width.
    Exhausted,
}

impl Metadata {
    /// Writes back the lines that lost their entries. If a line cannot be written back, reports a fault and continues
    /// with the next line. On battery, drops nodes that no remaining drain updates.
    pub async fn write_back_leaving<V: Verbs>(&self, verbs: &V) {
        let update = ParentUpdate { metadata: self, verbs };
        while let Some(slot) = self.on_chip(|chip| chip.caches.departures.claim()) {
            let is_wanted = self.on_chip(|chip| chip.power.writes_back(slot));
            if !is_wanted && matches!(self.layout.role_and_index(slot).0, Role::Node(_)) {
                self.on_chip(|chip| chip.caches.departures.end(slot));
                continue;
            }
            if let Err(fault) = Box::pin(update.write_back(slot)).await {
                self.on_chip(|chip| chip.power.reported());
                verbs.fault(fault);
            }
        }
    }

    /// Ensures that a parent's node is on the chip.
    pub(super) async fn bring_parent<V: Verbs>(&self, verbs: &V, parent: Parent) -> Result<(), Fault> {
        match parent.node {
            Node::Root(_) => Ok(()),
            Node::Stored(above) => self.bring(verbs, above, Role::Node(parent.level as u8)).await,
        }
    }

    /// Updates a parent for a child. Returns `None` if the parent is not on the chip, or the design has no tree.
    pub(super) fn update_node(
        &self,
        chip: &mut ChipState,
        parent: Parent,
        child: Slot,
        content: &Line,
    ) -> Option<Updated> {
        let tree = self.tree.as_ref()?;
        Some(match tree.update(parent, chip.node(parent)?, child, content) {
            Ok(voucher) => Updated::Vouches(voucher),
            Err(Overflow::Renew { positions }) => Updated::Overflow(parent, positions),
            Err(Overflow::Exhausted) => Updated::Exhausted,
        })
    }
}

/// Updates parents for their children.
pub(crate) struct ParentUpdate<'a, V> {
    pub metadata: &'a Metadata,
    pub verbs: &'a V,
}

impl<V: Verbs> ParentUpdate<'_, V> {
    /// Writes a leaving line to memory after the update of its parent. If an access recalls the line meanwhile, the
    /// line stays on the chip.
    async fn write_back(&self, slot: Slot) -> Result<(), Fault> {
        let role = self.metadata.layout.role_and_index(slot).0;
        loop {
            let Some(departure) = self.settled(slot).await else { return Ok(()) };
            let guard = self.verbs.lock(LockName::Metadata(slot), Mode::Exclusive).await;
            if !self.metadata.on_chip(|chip| chip.caches.departures.is_under_way(&departure)) {
                continue;
            }
            if self.metadata.planted.has(Bug::EvictionForgetsDirty) {
                self.metadata.on_chip(|chip| chip.caches.departures.end(slot));
                return Ok(());
            }
            match self.update_parent(slot, &departure).await? {
                Updated::Vouches(voucher) => self.store_metadata((slot, role), &departure, voucher).await,
                Updated::Nothing => {}
                Updated::Exhausted => {
                    if self.metadata.planted.has(Bug::ExhaustedLineDropped) {
                        self.metadata.on_chip(|chip| chip.caches.departures.end(slot));
                    }
                    return Err(Fault::Exhausted(slot.on_chip()));
                }
                Updated::Overflow(parent, positions) => {
                    drop(guard);
                    self.renew_children(parent, positions).await?;
                }
            }
        }
    }

    /// Waits until no tuple under way will change the line, and returns its departure. A tuple that changes a line updates its
    /// parents later. Returns `None` if the line is not leaving, or must stay because the chip has halted.
    async fn settled(&self, slot: Slot) -> Option<Departure> {
        let departure = self.metadata.on_chip(|chip| chip.caches.departures.of(slot))?;
        if self.metadata.in_tuples && !self.metadata.planted.has(Bug::LeavesAmongTuples) {
            Stages::pass(self.verbs, self.metadata.last_stage()).await;
        }
        self.metadata.on_chip(|chip| (!chip.power.changes_nothing()).then_some(departure))
    }

    /// Stores a line after the update of its parent, unless an access has recalled the line meanwhile. The line counts as on
    /// the chip until the store, since a boot looks it up without locks.
    async fn store_metadata(&self, (slot, role): (Slot, Role), departure: &Departure, voucher: Voucher) {
        if role == Role::Bitmap {
            return Box::pin(self.store_bitmaps(slot, departure)).await;
        }
        let sealed = |tree: &Tree| tree.seal_under(slot, role, &departure.content, voucher);
        let sealed = self.metadata.tree.as_ref().map_or(departure.content, sealed);
        if self.metadata.tree.as_ref().is_some_and(|tree| !tree.hashes_before_update())
            && self.metadata.parent(slot).is_some()
        {
            self.verbs.hash().await;
            if !self.metadata.on_chip(|chip| chip.caches.departures.is_under_way(departure)) {
                return;
            }
        }
        self.metadata.on_chip(|chip| chip.caches.departures.end(slot));
        let dropped = match role {
            Role::Tag => self.metadata.planted.has(Bug::TagsDropped),
            Role::Counter => self.metadata.planted.has(Bug::CountersDropped),
            _ => self.metadata.planted.has(Bug::NodesDropped),
        };
        if !dropped {
            self.verbs.store(slot, role, sealed.into()).await;
        }
    }

    /// Encrypts a bitmap line and stores it, unless an access has recalled the line meanwhile.
    async fn store_bitmaps(&self, slot: Slot, departure: &Departure) {
        let Some(bitmaps) = &self.metadata.bitmaps else { return };
        bitmaps.to_seal(self.verbs).await;
        let unchecked = self.metadata.planted.has(Bug::BitmapDepartureUnchecked);
        if unchecked || self.metadata.on_chip(|chip| chip.caches.departures.is_under_way(departure)) {
            self.metadata.on_chip(|chip| chip.caches.departures.end(slot));
            let (sealed, keystream) = bitmaps.seal(slot, &departure.content);
            self.verbs.spend(slot, || keystream);
            self.verbs.store(slot, Role::Bitmap, sealed.into()).await;
        }
    }

    /// Updates the parent of a leaving line for the content that is written to memory.
    async fn update_parent(&self, slot: Slot, departure: &Departure) -> Result<Updated, Fault> {
        let (Some(tree), Some(parent)) = (&self.metadata.tree, self.metadata.parent(slot)) else {
            let nothing = Updated::Vouches(Voucher::Nothing);
            return Ok(if self.metadata.on_chip(|chip| chip.caches.departures.is_under_way(departure)) {
                nothing
            } else {
                Updated::Nothing
            });
        };
        if tree.hashes_before_update() {
            self.verbs.hash().await;
        }
        loop {
            self.metadata.bring_parent(self.verbs, parent).await?;
            let updated = self.metadata.on_chip(|chip| {
                if !chip.caches.departures.is_under_way(departure) {
                    return Some(Updated::Nothing);
                }
                self.metadata.update_node(chip, parent, slot, &departure.content)
            });
            if let Some(updated) = updated {
                return Ok(updated);
            }
        }
    }

    /// Updates the nodes above a metadata line, up to the nearest root. Returns the last updated parent, or `None`
    /// if the tree does not cover the line.
    ///
    /// A line that has left the chip meanwhile, or is leaving, updates its parent when it leaves. The update does not
    /// recall it: in the smallest cache the line would evict the parent that was just fetched. A line that stays on the
    /// chip becomes dirty, even if it was clean: its copy in memory may be old from now on.
    pub(super) async fn update_upward(&self, line: (Slot, Role)) -> Result<Option<Parent>, Fault> {
        let Some(tree) = &self.metadata.tree else { return Ok(None) };
        let mut child = line;
        while let Some(parent) = self.metadata.parent(child.0) {
            if tree.hashes_before_update() {
                self.verbs.hash().await;
            }
            self.raise_one(child, parent).await?;
            match parent.node {
                _ if self.metadata.planted.has(Bug::RaiseStopsEarly) => return Ok(Some(parent)),
                Node::Stored(above) if !self.metadata.on_chip(|chip| chip.forest.is_root(parent.node)) => {
                    child = (above, Role::Node(parent.level as u8));
                }
                _ => return Ok(Some(parent)),
            }
        }
        Ok(None)
    }

    async fn raise_one(&self, child: (Slot, Role), parent: Parent) -> Result<(), Fault> {
        loop {
            self.metadata.bring_parent(self.verbs, parent).await?;
            let updated = self.metadata.on_chip(|chip| match chip.edit_resident(child.1, child.0).copied() {
                Some(content) => self.metadata.update_node(chip, parent, child.0, &content),
                None => Some(Updated::Nothing),
            });
            match updated {
                Some(Updated::Overflow(parent, positions)) => self.renew_children(parent, positions).await?,
                Some(Updated::Exhausted) => return Err(Fault::Exhausted(child.0.on_chip())),
                Some(Updated::Vouches(_) | Updated::Nothing) => return Ok(()),
                None => {}
            }
        }
    }

    /// Renews the versions of a node's children at these positions after an overflow. Gives each child in memory its MAC under
    /// the new version. Children on the chip get their MACs when they leave.
    ///
    /// The versions advance before the children get new MACs. If tampering stops the renewal half-way, the remaining
    /// children are lost, but no old child matches its version.
    async fn renew_children(&self, parent: Parent, positions: Range<usize>) -> Result<(), Fault> {
        let Some(tree) = &self.metadata.tree else { return Ok(()) };
        let first = positions.start + usize::from(self.metadata.planted.has(Bug::FirstChildNotRenewed));
        let children: Vec<Slot> = tree.children(&self.metadata.layout, parent, first..positions.end).collect();
        let mut guards = Vec::with_capacity(children.len());
        for child in &children {
            guards.push(self.verbs.lock(LockName::Metadata(*child), Mode::Exclusive).await);
        }
        self.metadata.bring_parent(self.verbs, parent).await?;
        let renewed = self.metadata.on_chip(|chip| {
            let node = chip.node(parent)?;
            let old = *node;
            tree.renew(parent, node, &positions).map(|()| (old, *node))
        });
        // If `None`, another access has renewed the versions, or the parent was evicted: the caller tries again.
        let Some((old, new)) = renewed else { return Ok(()) };
        self.count(RenewedNodes { nodes: 1, children: 0 });
        let vouchers = |child: Slot| {
            let parent = self.metadata.parent(child).unwrap_or(parent);
            (tree.voucher(parent, &old), tree.voucher(parent, &new))
        };
        for batch in children.chunks(RENEWED_AT_ONCE) {
            let parts = batch.iter().map(|&child| self.renew_child(child, vouchers(child)));
            join_all(parts).await.into_iter().collect::<Result<(), Fault>>()?;
        }
        Ok(())
    }

    fn count(&self, more: RenewedNodes) {
        let mut renewed = self.metadata.renewed.get();
        renewed += more;
        self.metadata.renewed.set(renewed);
    }

    async fn renew_child(&self, child: Slot, (old, new): (Voucher, Voucher)) -> Result<(), Fault> {
        let role = self.metadata.layout.role_and_index(child).0;
        let Some(tree) = &self.metadata.tree else { return Ok(()) };
        // A child on the chip is sealed when it leaves. A clean one becomes dirty, since memory's copy is old now.
        if self.metadata.on_chip(|chip| chip.caches.departures.of(child).is_some() || chip.edit(role, child).is_some())
        {
            return Ok(());
        }
        self.count(RenewedNodes { nodes: 0, children: 1 });
        let content = self.verbs.fetch(child, role, Wanted::LINE).await.content.examine();
        self.verbs.hash().await;
        if !self.metadata.planted.has(Bug::RenewalTrustsMemory) && !tree.fits(child, role, &content, old) {
            return Err(Fault::Tree(child));
        }
        self.verbs.hash().await;
        // A blank child gets a version and no longer counts as never written, so its initial counters are stored too.
        let begun = if self.metadata.planted.has(Bug::BlankChildStaysZeros) {
            content
        } else {
            self.metadata.begun(child, role, &content)
        };
        let sealed = tree.seal_under(child, role, &begun, new);
        self.verbs.store(child, role, sealed.into()).await;
        Ok(())
    }
}
