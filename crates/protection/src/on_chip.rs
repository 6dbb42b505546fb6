//! Metadata on the chip: the caches of counters, tags and tree nodes, the root register with the roots of a forest, and
//! the lines that are leaving.
//!
//! All metadata on the chip is trusted: it was verified when it entered the chip, and attackers cannot reach it. A
//! dirty line that a cache evicts enters the list of *leaving* lines. The line counts as present until its parent is
//! updated and memory holds the line.
//!
//! Counters, tags and nodes have one cache each, or share one cache. Counter lines, and nodes of the tree, may also
//! use the machine's last-level cache ([`last_level`]), and L2s may have copies of counters ([`copies`]).

mod cache;
mod caches;
mod copies;
mod departures;
mod last_level;
mod power;
#[cfg(test)]
mod tests;
mod twin;

pub use cache::{Geometries, Geometry};
pub use caches::{MetadataCacheCounts, MetadataCaches};
pub use copies::{Copies, CopyCounts, SecondLevel};
pub use departures::{Departure, Departures};
pub use last_level::{GoesOn, LastLevel};
pub use power::PowerState;

use crate::planted::{Bug, PlantedBug};
use crate::slot::{Kind, Role, Slot};
use crate::tree::{Forest, Node, Parent};
use enum_map::EnumMap;
use std::hash::{Hash, Hasher};
use units::{Line, ZERO_LINE};

/// The trusted state of one scheme.
pub struct ChipState {
    /// The controller's metadata caches, with the lines that leave them.
    pub caches: MetadataCaches,
    /// Copies of counters in the L2s of cores, if L2s begin reads.
    pub copies: Option<Copies>,
    /// The root of the tree: the lines that vouch for the topmost nodes in memory.
    pub root: Box<[Line]>,
    /// State of the chip with regard to losses of power.
    pub power: PowerState,
    /// The other roots of a forest. They count as lines of the node cache that are never evicted.
    pub forest: Forest,
    planted: PlantedBug,
}

impl ChipState {
    /// Returns empty caches of these sizes, a blank root of `root_lines` lines, and the other roots of a blank forest.
    /// Lines of the kinds in `goes_on` also use a last-level cache. Until [`ChipState::share`] sets the last-level
    /// cache of a machine, this is a plain cache twice as large as the counter cache.
    pub fn new(
        geometries: Geometries,
        goes_on: Option<GoesOn>,
        root_lines: usize,
        forest: Forest,
        planted: PlantedBug,
    ) -> ChipState {
        ChipState {
            caches: MetadataCaches::new(geometries, goes_on, planted),
            copies: None,
            root: vec![ZERO_LINE; root_lines].into(),
            power: PowerState::default(),
            forest,
            planted,
        }
    }

    /// Returns the root, if it vouches for a memory. It does not before recovery has ended, or after recovery has
    /// refused the memory. A blank root is the root of a chip that has no memory yet, or of a chip that has recovered a
    /// memory that was never written.
    pub fn vouching_root(&self) -> Option<&[Line]> {
        let knows = self.power.recovered || self.root.iter().any(|line| *line != ZERO_LINE);
        let vouches = knows && !self.power.rootless;
        vouches.then_some(&*self.root)
    }

    /// Returns the content of a line, if it is in its cache or leaving it. A leaving line returns to its cache. Counts
    /// a hit, but no miss.
    pub fn look_up(&mut self, role: Role, slot: Slot) -> Option<Line> {
        let found = self.find(role, slot);
        self.caches.seen[role.kind()].hits += u64::from(found.is_some());
        found
    }

    /// Like [`ChipState::look_up`], for a line that was just looked up: counts no hit.
    pub fn find(&mut self, role: Role, slot: Slot) -> Option<Line> {
        let cached = self.caches.find(role, slot);
        if keeps(&self.forest, role, slot) { self.forest.node(slot) } else { cached }.copied()
    }

    /// Returns whether a line is in its cache or leaving it. Does not update replacement state.
    pub fn is_in_its_cache(&self, role: Role, slot: Slot) -> bool {
        keeps(&self.forest, role, slot) || self.caches.holds(role, slot)
    }

    /// Returns whether a line is anywhere on the chip. Does not update replacement state.
    pub fn has(&self, role: Role, slot: Slot) -> bool {
        self.is_in_its_cache(role, slot) || self.caches.shared.as_ref().is_some_and(|shared| shared.holds(slot))
    }

    /// Returns the content of a line, if it is on the chip.
    pub fn get(&mut self, role: Role, slot: Slot) -> Option<&Line> {
        if keeps(&self.forest, role, slot) { self.forest.node(slot) } else { self.caches.get(role, slot) }
    }

    /// Returns the content of a line for changing, if it is in a cache or a root. A leaving line is not called back to
    /// its cache, so that it does not evict another line.
    pub fn edit_resident(&mut self, role: Role, slot: Slot) -> Option<&mut Line> {
        if keeps(&self.forest, role, slot) {
            return self.forest.node_mut(slot);
        }
        self.drop_copies(role, slot);
        self.caches.edit_resident(role, slot)
    }

    /// Returns the content of a line for changing, if it is on the chip.
    pub fn edit(&mut self, role: Role, slot: Slot) -> Option<&mut Line> {
        if !keeps(&self.forest, role, slot) {
            self.caches.call_back(role, slot);
        }
        self.edit_resident(role, slot)
    }

    /// Returns a parent's node for changing, if it is on the chip.
    pub fn node(&mut self, parent: Parent) -> Option<&mut Line> {
        match parent.node {
            Node::Root(line) => self.root.get_mut(line),
            Node::Stored(slot) => self.edit(Role::Node(parent.level as u8), slot),
        }
    }

    /// Keeps a node as a root, if there is room. Returns false if the node is no longer on the chip.
    pub fn keep(&mut self, role: Role, slot: Slot) -> bool {
        let Role::Node(level) = role else { return true };
        if keeps(&self.forest, role, slot) || !self.forest.has_room() {
            return true;
        }
        let content = self.caches.take(role, slot);
        content.is_some_and(|content| {
            self.forest.keep(slot, level as usize, content);
            true
        })
    }

    /// Turns a root into an ordinary node if the root still has the content that its parent vouches for. The node is
    /// dirty if memory does not have that content. Returns whether the root became an ordinary node.
    pub fn give_up(&mut self, role: Role, slot: Slot, vouched: &Line, dirty: bool) -> bool {
        let held = self.forest.node(slot).copied();
        let compared = held.filter(|_| self.planted.has(Bug::FoldLosesNews)).unwrap_or(*vouched);
        let given_up = self.forest.give_up(slot, &compared);
        if given_up {
            self.caches.admit(role, slot, vouched, dirty);
        }
        given_up
    }

    /// Drops every clean line, so that the next access to the line must fetch it from memory.
    pub fn forget_clean(&mut self) {
        self.caches.forget_clean();
        if let Some(copies) = &mut self.copies {
            copies.forget();
        }
    }

    /// Sets the last-level cache that metadata lines enter from now on.
    pub fn share(&mut self, last_level: Box<dyn LastLevel>) {
        if let Some(shared) = &mut self.caches.shared {
            shared.move_to(last_level);
        }
    }

    /// Returns whether lines of this kind enter a last-level cache when they leave the controller's cache.
    pub fn goes_on(&self, role: Role) -> bool {
        self.caches.shared.as_ref().is_some_and(|shared| shared.is_for(role))
    }

    /// Statistics on the look-ups of each kind of metadata in the last-level cache; `None` if that cache holds no
    /// metadata.
    pub fn shared_counts(&self) -> Option<EnumMap<Kind, MetadataCacheCounts>> {
        self.caches.shared.as_ref().map(|shared| shared.seen)
    }
}

impl Hash for ChipState {
    /// # Panics
    /// If lines also use a last-level cache, or L2s have copies of counters.
    fn hash<H: Hasher>(&self, hash: &mut H) {
        assert!(self.copies.is_none(), "copies of counters in L2s are not hashed");
        (&self.caches, &self.power, &self.root).hash(hash);
        self.forest.roots().iter().for_each(|slot| (slot, self.forest.node(*slot)).hash(hash));
    }
}

/// Returns whether a forest keeps a line as a root.
fn keeps(forest: &Forest, role: Role, slot: Slot) -> bool {
    matches!(role, Role::Node(_)) && forest.is_root(Node::Stored(slot))
}
