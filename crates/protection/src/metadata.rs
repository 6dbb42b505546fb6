//! Verified lines of metadata on demand: counters, tags, nodes of the tree, tables of owners and bitmaps, wherever they are.
//!
//! ```text
//! get, edit:   on the chip ─ or else fetched, and compared with the lines above it        (demand, walk)
//! write back:  a line leaves the chip ─ its parent vouches for what goes to memory        (update)
//! raise:       a parent vouches for a child on the chip, and so on to the nearest root    (forest)
//! promote:     a node becomes a root, and an ordinary node again                          (forest)
//! climb:       the nodes above lines that become durable together, stage by stage         (climb)
//! rebuild:     all nodes again, from the counters that a loss of power has left           (rebuild)
//! ```
//! What a line of metadata means to data is not known here: no line of data, no cipher and no code has a name in this folder. Bitmaps
//! alone are encrypted in memory, by [`bitmaps`](crate::bitmaps).
//! What is on the chip is in [`on_chip`](crate::on_chip), how nodes vouch for their children in [`tree`](crate::tree).

mod climb;
mod demand;
mod forest;
mod rebuild;
mod update;
mod walk;

pub(crate) use climb::Lines;
pub(crate) use rebuild::Rebuild;
pub(crate) use update::ParentUpdate;
pub(crate) use walk::{FoundIn, Sought};

use crate::bitmaps::BitmapCipher;
use crate::counter::Steady;
use crate::layout::Layout;
use crate::on_chip::{Copies, OnChip};
use crate::planted::Planted;
use crate::slot::{Role, Slot};
use crate::tree::{Node, Parent, Tree};
use derive_more::AddAssign;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What followed overflows of counters in nodes of the tree.
#[derive(Clone, Copy, Default, AddAssign)]
pub(crate) struct RenewedNodes {
    /// Overflows.
    pub nodes: u64,
    /// Lines of metadata in memory that got new MACs after these.
    pub children: u64,
}

/// All metadata of a scheme, in memory and on the chip.
pub(crate) struct Metadata {
    chip: RefCell<OnChip>,
    /// Freshness of what it covers.
    tree: Option<Tree>,
    layout: Rc<Layout>,
    /// What counters begin with, if not with nothing.
    steady: Option<Rc<Steady>>,
    /// Whether lines become durable in tuples, which those that leave the chip then wait for.
    in_tuples: bool,
    renewed: Cell<RenewedNodes>,
    /// What encrypts bitmaps on their way, if lines are re-ordered.
    bitmaps: Option<BitmapCipher>,
    planted: Planted,
}

impl Metadata {
    /// Blank metadata with this state on the chip, and what encrypts bitmaps on their way, if lines are re-ordered.
    pub fn new(
        chip: OnChip,
        tree: Option<Tree>,
        layout: Rc<Layout>,
        in_tuples: bool,
        bitmaps: Option<BitmapCipher>,
        planted: Planted,
    ) -> Metadata {
        let (steady, renewed) = Default::default();
        Metadata { chip: RefCell::new(chip), tree, layout, steady, in_tuples, renewed, bitmaps, planted }
    }

    /// Lets counters begin with these, before the first access.
    pub fn begin_with(&mut self, steady: Option<Rc<Steady>>) {
        self.steady = steady;
    }

    /// The same with all that is on the chip; what becomes of one from now on does not show in the other.
    ///
    /// # Panics
    /// If lines are in a machine's caches.
    pub fn twin(&self) -> Metadata {
        Metadata {
            chip: RefCell::new(self.chip.borrow().twin()),
            tree: self.tree.clone(),
            layout: Rc::clone(&self.layout),
            steady: self.steady.clone(),
            in_tuples: self.in_tuples,
            renewed: self.renewed.clone(),
            bitmaps: self.bitmaps.clone(),
            planted: self.planted,
        }
    }

    /// Looks at or changes the state on the chip, between two verbs.
    pub fn on_chip<R>(&self, access: impl FnOnce(&mut OnChip) -> R) -> R {
        access(&mut self.chip.borrow_mut())
    }

    /// Looks at or changes the copies in L2s, if those have any.
    pub fn on_copies<R>(&self, access: impl FnOnce(&mut Copies) -> R) -> Option<R> {
        self.on_chip(|chip| chip.copies.as_mut().map(access))
    }

    /// The tree, if there is one.
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// The parent of a line, if the tree covers it.
    pub fn parent(&self, slot: Slot) -> Option<Parent> {
        self.tree.as_ref().and_then(|tree| tree.parent(&self.layout, slot))
    }

    /// Names the slots of a line of metadata and of the nodes above it, up to the first that is on the chip, wherever. Looking
    /// is no use of them.
    pub fn name_missing(&self, slot: Slot, mut role: Role, name: &mut impl FnMut(Slot)) {
        let mut missing = Some(slot);
        while let Some(slot) = missing.filter(|slot| !self.chip.borrow().has(role, *slot)) {
            name(slot);
            missing = match self.parent(slot) {
                Some(Parent { node: Node::Stored(above), level, .. }) => {
                    role = Role::Node(level as u8);
                    Some(above)
                }
                _ => None,
            };
        }
    }

    /// Whether the next line of bitmaps is brought after one that was missed.
    pub fn brings_bitmaps_ahead(&self) -> bool {
        self.bitmaps.as_ref().is_some_and(BitmapCipher::are_ahead)
    }

    /// What followed overflows so far.
    pub fn renewed(&self) -> RenewedNodes {
        self.renewed.get()
    }

    /// The stage that stands for the root, after one for each stored level and stage 0.
    pub fn last_stage(&self) -> usize {
        self.layout.levels().len() + 1
    }
}
