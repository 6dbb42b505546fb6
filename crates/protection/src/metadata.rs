//! Verified metadata lines on demand: counters, tags, nodes of the tree, tables of owners and bitmaps, on the chip or in memory.
//!
//! ```text
//! get, edit:   on the chip ─ or else fetched, and compared with the lines above it        (demand, walk)
//! write back:  a line leaves the chip ─ its parent vouches for what goes to memory        (update)
//! raise:       a parent vouches for a child on the chip, and so on to the nearest root    (forest)
//! promote:     a node becomes a root, and an ordinary node again                          (forest)
//! climb:       the nodes above lines that become durable together, stage by stage         (climb)
//! rebuild:     all nodes again, from the counters that a loss of power has left           (rebuild)
//! ```
//! This folder does not interpret metadata: it depends on no line of data, no cipher and no authentication code. The
//! only metadata that is encrypted in memory are bitmaps, by [`bitmaps`](crate::bitmaps).
//!
//! The state on the chip is in [`on_chip`](crate::on_chip), and the checks of nodes against their parents in [`tree`](crate::tree).

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
use crate::on_chip::{ChipState, Copies};
use crate::planted::PlantedBug;
use crate::slot::{Role, Slot};
use crate::tree::{Node, Parent, Tree};
use derive_more::AddAssign;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Statistics on overflows of counters in nodes of the tree.
#[derive(Clone, Copy, Default, AddAssign)]
pub(crate) struct RenewedNodes {
    /// Number of overflows of counters in nodes.
    pub nodes: u64,
    /// Metadata lines in memory that got new MACs after these overflows.
    pub children: u64,
}

/// All metadata of a scheme, in memory and on the chip.
pub(crate) struct Metadata {
    chip: RefCell<ChipState>,
    /// The integrity tree, if the design has one.
    tree: Option<Tree>,
    layout: Rc<Layout>,
    /// Starting values of counters; `None` if they begin at zero.
    steady: Option<Rc<Steady>>,
    /// True if lines become durable in tuples; a line that leaves the chip then waits for the tuples that changed it.
    in_tuples: bool,
    renewed: Cell<RenewedNodes>,
    /// Cipher of bitmaps, which encrypts them on their way to memory, if lines are re-ordered.
    pub(crate) bitmaps: Option<BitmapCipher>,
    planted: PlantedBug,
}

impl Metadata {
    /// Returns blank metadata with this on-chip state, and with the cipher of bitmaps if lines are re-ordered.
    pub fn new(
        chip: ChipState,
        tree: Option<Tree>,
        layout: Rc<Layout>,
        in_tuples: bool,
        bitmaps: Option<BitmapCipher>,
        planted: PlantedBug,
    ) -> Metadata {
        let (steady, renewed) = Default::default();
        Metadata { chip: RefCell::new(chip), tree, layout, steady, in_tuples, renewed, bitmaps, planted }
    }

    /// Sets the starting values of the encryption counters. Must be called before the first access.
    pub fn begin_with(&mut self, steady: Option<Rc<Steady>>) {
        self.steady = steady;
    }

    /// Returns a copy with all state on the chip; later changes of one do not affect the other.
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

    /// Reads or changes the state on the chip, between two verbs.
    pub fn on_chip<R>(&self, access: impl FnOnce(&mut ChipState) -> R) -> R {
        access(&mut self.chip.borrow_mut())
    }

    /// Reads or changes the copies in L2s, if L2s have copies.
    pub fn on_copies<R>(&self, access: impl FnOnce(&mut Copies) -> R) -> Option<R> {
        self.on_chip(|chip| chip.copies.as_mut().map(access))
    }

    /// Returns the tree, if the design has one.
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// Returns the parent of a line, if the tree covers it.
    pub fn parent(&self, slot: Slot) -> Option<Parent> {
        self.tree.as_ref().and_then(|tree| tree.parent(&self.layout, slot))
    }

    /// Calls `name` with the slots of a metadata line and of the tree nodes above it, up to the first node that is
    /// on the chip. Does not update replacement state.
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

    /// Statistics on the overflows so far.
    pub fn renewed(&self) -> RenewedNodes {
        self.renewed.get()
    }

    /// Number of the stage of the root, after one stage for each stored level and stage 0.
    pub fn last_stage(&self) -> usize {
        self.layout.levels().len() + 1
    }
}
