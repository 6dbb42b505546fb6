//! Metadata on the chip: the caches of counters, tags and tree nodes, the root register with the roots of a forest, and what
//! is on its way out.
//!
//! Whatever is here is trusted: it was verified when it came in, and nobody outside reaches it. A dirty line that must
//! make room goes to the list of *leaving* lines, where it still counts as present, until its parent has been told and
//! memory has it.
//!
//! Counters, tags and nodes have a cache each, or one for all. Lines of counters, and nodes, may have a second place on the
//! chip, the machine's last-level cache ([`last_level`]), and L2s may have copies of counters ([`copies`]).

mod cache;
mod copies;
mod last_level;
#[cfg(test)]
mod tests;
mod twin;

pub use cache::{Geometries, Geometry};
pub use copies::{Copies, CopyCounters, SecondLevel};
pub use last_level::{GoesOn, LastLevel};

use crate::planted::{Bug, Planted};
use crate::slot::{Kind, Role, Slot};
use crate::tree::{Forest, Node, Parent};
use cache::{Evicted, MetadataCache};
use derive_more::{Add, AddAssign, Sub};
use enum_map::EnumMap;
use last_level::{Shared, plain};
use serde::Serialize;
use units::{Line, ZERO_LINE};

/// Look-ups of one cache, each of one of three kinds, and what leaves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Add, AddAssign, Sub)]
pub struct CacheCounters {
    /// Look-ups that found the line on the chip.
    pub hits: u64,
    /// Look-ups that did not, and waited for an earlier one of the same line, which brought it.
    pub merged: u64,
    /// Look-ups that did not, and brought the line themselves.
    pub misses: u64,
    /// Dirty lines that had to leave.
    pub writebacks: u64,
}

impl CacheCounters {
    /// Counts a look-up that did not find its line, once it is known who brings it.
    fn not_found(&mut self, merged: bool) {
        self.merged += u64::from(merged);
        self.misses += u64::from(!merged);
    }
}

/// One departure of a line: the same line may be called back and leave again with the same content.
#[derive(Clone, Copy)]
pub struct Departure {
    /// What goes to memory.
    pub content: Line,
    number: u64,
}

/// A dirty line that has lost its place in the cache and is not yet in memory.
#[derive(Clone, Copy)]
struct Leaving {
    slot: Slot,
    departure: Departure,
    /// Somebody is taking care of it.
    claimed: bool,
}

/// The trusted state of one scheme.
pub struct OnChip {
    caches: Vec<MetadataCache>,
    /// Which of them is for a kind.
    cache_of: EnumMap<Kind, usize>,
    seen: EnumMap<Kind, CacheCounters>,
    shared: Option<Shared>,
    /// In the L2s of cores, if those begin reads.
    pub copies: Option<Copies>,
    leaving: Vec<Leaving>,
    departures: u64,
    planted: Planted,
    /// The nodes that vouch for the topmost stored ones: the root of the tree.
    pub root: Box<[Line]>,
    /// Recovery has refused the memory, so there is no root: nothing that is not on the chip is believed any more.
    pub rootless: bool,
    /// The other roots. They count as lines of the cache of nodes that never make room.
    pub forest: Forest,
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
        let Geometries { caches, of } = geometries;
        let of_counters = caches[of[Kind::Counters]];
        OnChip {
            caches: caches.into_iter().map(MetadataCache::new).collect(),
            cache_of: of,
            seen: Default::default(),
            shared: goes_on.map(|goes_on| Shared::new(plain(2 * of_counters.sets, of_counters.ways), goes_on)),
            copies: None,
            leaving: Vec::new(),
            departures: 0,
            planted,
            root: vec![ZERO_LINE; root_lines].into(),
            rootless: false,
            forest,
        }
    }

    fn cache(&mut self, role: Role) -> &mut MetadataCache {
        &mut self.caches[self.cache_of[role.kind()]]
    }

    /// The content of a line, if it is in its cache; if it was leaving, it stays after all. Counts a hit and nothing else.
    pub fn look_up(&mut self, role: Role, slot: Slot) -> Option<Line> {
        let found = self.find(role, slot);
        self.seen[role.kind()].hits += u64::from(found.is_some());
        found
    }

    /// As [`OnChip::look_up`], of a line that was looked up a moment before.
    pub fn find(&mut self, role: Role, slot: Slot) -> Option<Line> {
        self.call_back_leaving(role, slot);
        if self.keeps(role, slot) { self.forest.node(slot) } else { self.cache(role).get(slot) }.copied()
    }

    /// Counts a look-up that did not find its line: merged, if another brought it, or else a miss. `in_last_level` says
    /// whether the last-level cache was asked too, and had not got it either.
    pub fn not_found(&mut self, role: Role, merged: bool, in_last_level: bool) {
        self.seen[role.kind()].not_found(merged);
        if in_last_level {
            self.not_found_in_last_level(role, merged);
        }
    }

    /// Whether a line is in its cache or leaving it. Looking is no use of it.
    pub fn is_in_its_cache(&mut self, role: Role, slot: Slot) -> bool {
        self.keeps(role, slot) || self.leaving(slot).is_some() || self.cache(role).holds(slot)
    }

    /// The content of a line, if it is on the chip.
    pub fn get(&mut self, role: Role, slot: Slot) -> Option<&Line> {
        if self.keeps(role, slot) {
            return self.forest.node(slot);
        }
        self.call_back(role, slot);
        self.cache(role).get(slot)
    }

    /// The content of a line, if it is on the chip, wherever: it stays there.
    pub fn peek(&mut self, role: Role, slot: Slot) -> Option<Line> {
        let elsewhere = self.leaving(slot).map(|departure| departure.content);
        let shared = || self.shared.as_ref().and_then(|shared| shared.peek(slot));
        elsewhere.or_else(shared).or_else(|| self.cache(role).get(slot).copied())
    }

    /// The content of a line for changing, if it is in a cache or a root: a leaving line is not called back, so that no other
    /// has to make room for it.
    pub fn edit_resident(&mut self, role: Role, slot: Slot) -> Option<&mut Line> {
        if self.keeps(role, slot) {
            return self.forest.node_mut(slot);
        }
        self.drop_copies(role, slot);
        self.cache(role).edit(slot)
    }

    /// Memory has this content: a line that holds it needs not be written back.
    pub fn written_through(&mut self, role: Role, slot: Slot, content: &Line) {
        self.leaving.retain(|leaving| leaving.slot != slot || leaving.departure.content != *content);
        self.cache(role).written_through(slot, content);
    }

    /// The content of a line for changing, if it is on the chip.
    pub fn edit(&mut self, role: Role, slot: Slot) -> Option<&mut Line> {
        if self.keeps(role, slot) {
            return self.forest.node_mut(slot);
        }
        self.call_back(role, slot);
        self.drop_copies(role, slot);
        self.cache(role).edit(slot)
    }

    /// Changes a line that is on the chip as memory has just been changed: a clean line stays clean.
    pub fn amend(&mut self, role: Role, slot: Slot, change: impl FnOnce(&mut Line)) {
        let line = match self.leaving(slot) {
            Some(_) => self.edit(role, slot),
            None => self.cache(role).get_mut(slot),
        };
        if let Some(line) = line {
            change(line);
        }
    }

    /// A parent's node for changing, if it is on the chip.
    pub fn node(&mut self, parent: Parent) -> Option<&mut Line> {
        match parent.node {
            Node::Root(line) => self.root.get_mut(line),
            Node::Stored(slot) => self.edit(Role::Node(parent.level as u8), slot),
        }
    }

    fn keeps(&self, role: Role, slot: Slot) -> bool {
        matches!(role, Role::Node(_)) && self.forest.is_root(Node::Stored(slot))
    }

    /// Keeps a node that is on the chip as a root, if there is room. Not if it is no longer on the chip.
    pub fn keep(&mut self, role: Role, slot: Slot) -> bool {
        let Role::Node(level) = role else { return true };
        if self.keeps(role, slot) || !self.forest.has_room() {
            return true;
        }
        self.call_back(role, slot);
        let content = self.cache(role).take(slot);
        content.is_some_and(|content| {
            self.forest.keep(slot, level as usize, content);
            true
        })
    }

    /// Makes an ordinary node of a root if it still holds what its parent vouches for; dirty, since memory does not know.
    pub fn give_up(&mut self, role: Role, slot: Slot, told: &Line, dirty: bool) -> bool {
        let held = self.forest.node(slot).copied();
        let compared = held.filter(|_| self.planted.has(Bug::FoldLosesNews)).unwrap_or(*told);
        let given_up = self.forest.give_up(slot, &compared);
        if given_up {
            self.admit(role, slot, told, dirty);
        }
        given_up
    }

    /// Enters a verified line. A dirty line that must make room starts leaving, or goes on to its second place.
    pub fn admit(&mut self, role: Role, slot: Slot, content: &Line, dirty: bool) {
        let Some(Evicted { slot, held, dirty }) = self.cache(role).insert(role, slot, content, dirty) else { return };
        let forgetful = self.planted.has(Bug::DisplacedCountersDropped);
        let shared = self.shared.as_mut().filter(|shared| shared.is_for(held.role));
        let leaving = match shared {
            Some(shared) => shared.enter(held.role, slot, held.content, dirty).filter(|_| !forgetful),
            None => dirty.then_some((held.role, slot, held.content)),
        };
        if let Some((role, slot, content)) = leaving {
            self.seen[role.kind()].writebacks += 1;
            self.depart(slot, content);
        }
    }

    /// Puts a line that is leaving or in the last-level cache back into its own cache. The others keep their order, which must
    /// not depend on what of another kind leaves at the same time.
    fn call_back(&mut self, role: Role, slot: Slot) {
        self.call_back_leaving(role, slot);
        self.call_back_shared(role, slot);
    }

    fn call_back_leaving(&mut self, role: Role, slot: Slot) {
        if let Some(index) = self.leaving.iter().position(|leaving| leaving.slot == slot) {
            let leaving = self.leaving.remove(index);
            let dirty = !self.planted.has(Bug::CalledBackClean);
            self.admit(role, slot, &leaving.departure.content, dirty);
        }
    }

    fn depart(&mut self, slot: Slot, content: Line) {
        self.departures += 1;
        let departure = Departure { content, number: self.departures };
        self.leaving.push(Leaving { slot, departure, claimed: false });
    }

    /// A leaving line that nobody takes care of yet; the caller now does.
    pub fn claim_leaving(&mut self) -> Option<Slot> {
        let leaving = self.leaving.iter_mut().find(|leaving| !leaving.claimed)?;
        leaving.claimed = true;
        Some(leaving.slot)
    }

    /// Whether a line is still leaving by this departure.
    pub fn is_leaving_by(&self, departure: &Departure) -> bool {
        self.leaving.iter().any(|leaving| leaving.departure.number == departure.number)
    }

    /// The departure of a line, if it is leaving.
    pub fn leaving(&self, slot: Slot) -> Option<Departure> {
        self.leaving.iter().find(|leaving| leaving.slot == slot).map(|leaving| leaving.departure)
    }

    /// The line is in memory: it has left.
    pub fn left(&mut self, slot: Slot) {
        self.leaving.retain(|leaving| leaving.slot != slot);
    }

    /// Makes every dirty line for which `which` holds start leaving.
    pub fn dismiss_dirty(&mut self, role: Role, which: impl Fn(Slot) -> bool) {
        for slot in self.shared.as_ref().map_or(Vec::new(), |shared| shared.dirty(&which)) {
            self.displaced(slot);
        }
        for slot in self.cache(role).dirty().into_iter().filter(|slot| which(*slot)) {
            if let Some(content) = self.cache(role).take(slot) {
                self.seen[role.kind()].writebacks += 1;
                self.depart(slot, content);
            }
        }
    }

    /// Forgets every clean line, so that memory must be asked again.
    pub fn forget_clean(&mut self) {
        if let Some(shared) = &mut self.shared {
            shared.forget_clean();
        }
        if let Some(copies) = &mut self.copies {
            copies.forget();
        }
        self.caches.iter_mut().for_each(MetadataCache::forget_clean);
    }

    /// Look-ups of each kind of metadata in its cache.
    pub fn counters(&self) -> EnumMap<Kind, CacheCounters> {
        self.seen
    }
}
