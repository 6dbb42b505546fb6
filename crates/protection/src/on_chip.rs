//! Metadata on the chip: the caches of counters, tags and tree nodes, the root register with the roots of a forest, and what
//! is on its way out.
//!
//! Whatever is here is trusted: it was verified when it came in, and no attacker reaches it. A dirty line that must
//! make room goes to the list of *leaving* lines, where it still counts as present, until its parent was updated and
//! memory has it.
//!
//! Counters, tags and nodes have a cache each, or one for all. Lines of counters, and nodes, may have a second place on the
//! chip, the machine's last-level cache ([`last_level`]), and L2s may have copies of counters ([`copies`]).

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
pub use caches::{CacheCounters, Caches};
pub use copies::{Copies, CopyCounters, SecondLevel};
pub use departures::{Departure, Departures};
pub use last_level::{GoesOn, LastLevel};
pub use power::Power;

use crate::planted::{Bug, Planted};
use crate::slot::{Kind, Role, Slot};
use crate::tree::{Forest, Node, Parent};
use enum_map::EnumMap;
use units::{Line, ZERO_LINE};

/// The trusted state of one scheme.
pub struct OnChip {
    /// The controller's caches, with what leaves them.
    pub caches: Caches,
    /// In the L2s of cores, if those begin reads.
    pub copies: Option<Copies>,
    /// The nodes that vouch for the topmost stored ones: the root of the tree.
    pub root: Box<[Line]>,
    /// What losses of power leave to know.
    pub power: Power,
    /// The other roots. They count as lines of the cache of nodes that never make room.
    pub forest: Forest,
    planted: Planted,
}

impl OnChip {
    /// Empty caches of these sizes, a blank root of so many lines, and the other roots of a blank forest. What `goes_on`
    /// says goes on to a last-level cache: until a machine's is named, to a plain one twice as large as the counters' own.
    pub fn new(
        geometries: Geometries,
        goes_on: Option<GoesOn>,
        root_lines: usize,
        forest: Forest,
        planted: Planted,
    ) -> OnChip {
        OnChip {
            caches: Caches::new(geometries, goes_on, planted),
            copies: None,
            root: vec![ZERO_LINE; root_lines].into(),
            power: Power::default(),
            forest,
            planted,
        }
    }

    /// The root, if it vouches for a memory: not before recovery has ended, nor after that has refused what it found. A blank one
    /// is that of a chip that knows of no memory yet, or of one whose recovery has found a memory that was never written.
    pub fn vouching_root(&self) -> Option<&[Line]> {
        let knows = self.power.recovered || self.root.iter().any(|line| *line != ZERO_LINE);
        let vouches = knows && !self.power.rootless;
        vouches.then_some(&*self.root)
    }

    /// The content of a line, if it is in its cache; if it was leaving, it stays after all. Counts a hit and nothing else.
    pub fn look_up(&mut self, role: Role, slot: Slot) -> Option<Line> {
        let found = self.find(role, slot);
        self.caches.seen[role.kind()].hits += u64::from(found.is_some());
        found
    }

    /// As [`OnChip::look_up`], of a line that was looked up a moment before.
    pub fn find(&mut self, role: Role, slot: Slot) -> Option<Line> {
        let cached = self.caches.find(role, slot);
        if keeps(&self.forest, role, slot) { self.forest.node(slot) } else { cached }.copied()
    }

    /// Whether a line is in its cache or leaving it. Looking is no use of it.
    pub fn is_in_its_cache(&self, role: Role, slot: Slot) -> bool {
        keeps(&self.forest, role, slot) || self.caches.holds(role, slot)
    }

    /// Whether a line is on the chip, wherever. Looking is no use of it.
    pub fn has(&self, role: Role, slot: Slot) -> bool {
        self.is_in_its_cache(role, slot) || self.caches.shared.as_ref().is_some_and(|shared| shared.holds(slot))
    }

    /// The content of a line, if it is on the chip.
    pub fn get(&mut self, role: Role, slot: Slot) -> Option<&Line> {
        if keeps(&self.forest, role, slot) { self.forest.node(slot) } else { self.caches.get(role, slot) }
    }

    /// The content of a line for changing, if it is in a cache or a root: a leaving line is not called back, so that no other
    /// has to make room for it.
    pub fn edit_resident(&mut self, role: Role, slot: Slot) -> Option<&mut Line> {
        if keeps(&self.forest, role, slot) {
            return self.forest.node_mut(slot);
        }
        self.drop_copies(role, slot);
        self.caches.edit_resident(role, slot)
    }

    /// The content of a line for changing, if it is on the chip.
    pub fn edit(&mut self, role: Role, slot: Slot) -> Option<&mut Line> {
        if !keeps(&self.forest, role, slot) {
            self.caches.call_back(role, slot);
        }
        self.edit_resident(role, slot)
    }

    /// A parent's node for changing, if it is on the chip.
    pub fn node(&mut self, parent: Parent) -> Option<&mut Line> {
        match parent.node {
            Node::Root(line) => self.root.get_mut(line),
            Node::Stored(slot) => self.edit(Role::Node(parent.level as u8), slot),
        }
    }

    /// Keeps a node that is on the chip as a root, if there is room. Not if it is no longer on the chip.
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

    /// Makes an ordinary node of a root if it still holds what its parent vouches for; dirty, since memory does not know.
    pub fn give_up(&mut self, role: Role, slot: Slot, vouched: &Line, dirty: bool) -> bool {
        let held = self.forest.node(slot).copied();
        let compared = held.filter(|_| self.planted.has(Bug::FoldLosesNews)).unwrap_or(*vouched);
        let given_up = self.forest.give_up(slot, &compared);
        if given_up {
            self.caches.admit(role, slot, vouched, dirty);
        }
        given_up
    }

    /// Forgets every clean line, so that memory must be asked again.
    pub fn forget_clean(&mut self) {
        self.caches.forget_clean();
        if let Some(copies) = &mut self.copies {
            copies.forget();
        }
    }

    /// Lines go on to this last-level cache from now on, if they go on to one at all.
    pub fn share(&mut self, last_level: Box<dyn LastLevel>) {
        if let Some(shared) = &mut self.caches.shared {
            shared.move_to(last_level);
        }
    }

    /// Whether lines of this kind go on to a last-level cache.
    pub fn goes_on(&self, role: Role) -> bool {
        self.caches.shared.as_ref().is_some_and(|shared| shared.is_for(role))
    }

    /// Look-ups of each kind of metadata in the last-level cache; nothing if none go there.
    pub fn shared_counters(&self) -> Option<EnumMap<Kind, CacheCounters>> {
        self.caches.shared.as_ref().map(|shared| shared.seen)
    }
}

/// Whether a forest keeps a line as a root.
fn keeps(forest: &Forest, role: Role, slot: Slot) -> bool {
    matches!(role, Role::Node(_)) && forest.is_root(Node::Stored(slot))
}
