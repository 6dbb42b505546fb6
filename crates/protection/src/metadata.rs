//! Verified lines of metadata on demand: counters, tags, nodes of the tree and tables of owners, wherever they are.
//!
//! ```text
//! get, edit:   on the chip ─ or else fetched, and compared with the lines above it        (walk)
//! write back:  a line leaves the chip ─ its parent vouches for what goes to memory        (update)
//! raise:       a parent vouches for a child on the chip, and so on to the nearest root    (update)
//! promote:     a node becomes a root, and an ordinary node again                          (forest)
//! climb:       the nodes above lines that become durable together, stage by stage         (climb)
//! rebuild:     all nodes again, from the counters that a loss of power has left           (rebuild)
//! ```
//! What a line of metadata means to data is not known here: no line of data, no cipher and no code has a name in this folder.
//! What is on the chip is in [`on_chip`](crate::on_chip), how nodes vouch for their children in [`tree`](crate::tree).

mod climb;
mod forest;
mod rebuild;
mod update;
mod walk;

pub(crate) use climb::Lines;
pub(crate) use rebuild::Rebuild;
pub(crate) use update::Update;
pub(crate) use walk::{FoundIn, Sought};

use crate::counter::Steady;
use crate::layout::Layout;
use crate::on_chip::{Copies, OnChip};
use crate::planted::Planted;
use crate::slot::{Role, Slot};
use crate::tree::{Node, Parent, Tree};
use crate::verbs::{Fault, Verbs};
use derive_more::AddAssign;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use units::{Line, ZERO_LINE};

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
    planted: Planted,
}

impl Metadata {
    /// Blank metadata with this state on the chip.
    pub fn new(chip: OnChip, tree: Option<Tree>, layout: Rc<Layout>, in_tuples: bool, planted: Planted) -> Metadata {
        let (steady, renewed) = Default::default();
        Metadata { chip: RefCell::new(chip), tree, layout, steady, in_tuples, renewed, planted }
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

    /// Whether a line is on the chip, wherever.
    pub fn is_on_chip(&self, slot: Slot) -> bool {
        let role = self.layout.place(slot).0;
        self.on_chip(|chip| chip.caches.peek(role, slot).is_some() || chip.forest.is_root(Node::Stored(slot)))
    }

    /// What followed overflows so far.
    pub fn renewed(&self) -> RenewedNodes {
        self.renewed.get()
    }

    /// What a line of metadata from memory stands for: if it is of counters and was never written, for those that they begin
    /// with.
    pub fn begun(&self, slot: Slot, role: Role, content: &Line) -> Line {
        match &self.steady {
            Some(steady) if role == Role::Counter && *content == ZERO_LINE => *steady.of(slot),
            _ => *content,
        }
    }

    /// The content of a line, on the chip and verified.
    pub async fn get<V: Verbs>(&self, verbs: &V, slot: Slot, role: Role) -> Result<Line, Fault> {
        let found = self.get_for(verbs, slot, role, Sought::Nowhere, |_| ()).await;
        found.map(|(content, _)| content)
    }

    /// As [`Metadata::get`], and calls `start` as soon as the content is there: on the chip, or come from memory and
    /// still being verified. What it starts must not be used before this returns, and not at all if it fails. With the
    /// content goes where it was found at first.
    pub async fn get_for<V: Verbs>(
        &self,
        verbs: &V,
        slot: Slot,
        role: Role,
        sought: Sought,
        start: impl Fn(&Line),
    ) -> Result<(Line, FoundIn), Fault> {
        let found = self.bring_sought(verbs, slot, role, sought, &start).await?;
        loop {
            if let Some(content) = self.on_chip(|chip| chip.get(role, slot).copied()) {
                return Ok((content, found));
            }
            self.bring_sought(verbs, slot, role, Sought::Nowhere, &start).await?;
        }
    }

    /// Changes a line on the chip.
    pub async fn edit<V: Verbs, R>(
        &self,
        verbs: &V,
        slot: Slot,
        role: Role,
        change: impl Fn(&mut Line) -> R,
    ) -> Result<R, Fault> {
        loop {
            self.bring(verbs, slot, role).await?;
            if let Some(result) = self.on_chip(|chip| chip.edit(role, slot).map(&change)) {
                return Ok(result);
            }
        }
    }

    /// Writes all dirty lines back and forgets the rest, as if the caches had been needed for something else.
    pub async fn flush<V: Verbs>(&self, verbs: &V) {
        let levels = (0..self.layout.levels().len()).map(|level| Role::Node(level as u8));
        // From the leaves up, since each level that leaves makes the one above dirty.
        for role in [Role::Owner, Role::Tag, Role::Counter].into_iter().chain(levels) {
            self.on_chip(|chip| chip.caches.dismiss_dirty(role, |slot| self.layout.place(slot).0 == role));
            self.write_back_leaving(verbs).await;
        }
        self.on_chip(OnChip::forget_clean);
    }
}
