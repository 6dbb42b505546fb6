//! The caches of counters, tags and nodes, with their lines in the last-level cache and the lines that leave the chip.

use super::cache::{Geometries, MetadataCache, MetadataEviction};
use super::departures::Departures;
use super::last_level::{GoesOn, LastLevelMetadata, MetadataLine, plain};
use crate::planted::{Bug, PlantedBug};
use crate::slot::{Kind, Role, Slot};
use derive_more::{Add, AddAssign, Sub};
use enum_map::EnumMap;
use serde::Serialize;
use std::hash::{Hash, Hasher};
use units::Line;

/// Statistics of one metadata cache: look-ups by their result, and write-backs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Add, AddAssign, Sub)]
pub struct MetadataCacheCounts {
    /// Look-ups that found the line on the chip.
    pub hits: u64,
    /// Look-ups that missed, and waited for an earlier look-up that fetches the same line.
    pub merged: u64,
    /// Look-ups that missed, and fetched the line themselves.
    pub misses: u64,
    /// Dirty lines that began to leave the chip for memory.
    pub writebacks: u64,
}

impl MetadataCacheCounts {
    /// Counts a look-up that missed, once it is known which look-up fetches the line.
    fn not_found(&mut self, merged: bool) {
        self.merged += u64::from(merged);
        self.misses += u64::from(!merged);
    }
}

/// All metadata caches of the controller.
pub struct MetadataCaches {
    caches: Vec<MetadataCache>,
    /// Index of the cache for each kind, if a cache keeps it.
    cache_of: EnumMap<Kind, Option<usize>>,
    /// Statistics for each kind of metadata.
    pub seen: EnumMap<Kind, MetadataCacheCounts>,
    /// Lines in the last-level cache, if some kinds of metadata use it.
    pub(super) shared: Option<LastLevelMetadata>,
    /// Lines that are leaving for memory.
    pub departures: Departures,
    planted: PlantedBug,
}

/// Index of the cache for lines of a kind.
///
/// # Panics
/// If no cache keeps such lines: no mechanism looks them up in a metadata cache.
fn index_in(cache_of: &EnumMap<Kind, Option<usize>>, kind: Kind) -> usize {
    cache_of[kind].unwrap_or_else(|| unreachable!("no metadata cache keeps {}", kind.name()))
}

impl MetadataCaches {
    /// Returns empty caches of these sizes. Lines of the kinds in `goes_on` also use a last-level cache. Until the
    /// last-level cache of a machine is set, this is a plain cache twice as large as the counter cache.
    pub(super) fn new(geometries: Geometries, goes_on: Option<GoesOn>, planted: PlantedBug) -> MetadataCaches {
        let Geometries { caches, of } = geometries;
        let of_counters = caches[index_in(&of, Kind::Counters)];
        MetadataCaches {
            caches: caches.into_iter().map(MetadataCache::new).collect(),
            cache_of: of,
            seen: EnumMap::default(),
            shared: goes_on
                .map(|goes_on| LastLevelMetadata::new(plain(2 * of_counters.sets, of_counters.ways), goes_on)),
            departures: Departures::default(),
            planted,
        }
    }

    /// Returns a copy of these caches.
    ///
    /// # Panics
    /// If lines also use a machine's last-level cache, which belongs to the machine.
    pub(super) fn twin(&self) -> MetadataCaches {
        MetadataCaches {
            caches: self.caches.clone(),
            cache_of: self.cache_of,
            seen: self.seen,
            shared: self.shared.as_ref().map(LastLevelMetadata::twin),
            // The remaining departures are those of write-backs that ended with a fault.
            departures: self.departures.clone(),
            planted: self.planted,
        }
    }

    fn cache(&mut self, role: Role) -> &mut MetadataCache {
        &mut self.caches[index_in(&self.cache_of, role.kind())]
    }

    /// Returns the content of a line, if it is in its cache or leaving it. A leaving line returns to its cache.
    pub(super) fn find(&mut self, role: Role, slot: Slot) -> Option<&Line> {
        self.call_back_leaving(role, slot);
        self.cache(role).get(slot)
    }

    /// Counts a look-up that missed: as merged if another look-up fetches the line, otherwise as a miss.
    /// `in_last_level` is true if the look-up also missed in the last-level cache.
    pub fn not_found(&mut self, role: Role, merged: bool, in_last_level: bool) {
        self.seen[role.kind()].not_found(merged);
        if let Some(shared) = self.shared.as_mut().filter(|_| in_last_level) {
            shared.seen[role.kind()].not_found(merged);
        }
    }

    /// Returns true if a line is in its cache or leaving it. Does not update replacement state.
    pub(super) fn holds(&self, role: Role, slot: Slot) -> bool {
        self.departures.of(slot).is_some() || self.caches[index_in(&self.cache_of, role.kind())].holds(slot)
    }

    /// Returns the content of a line, if it is on the chip.
    pub(super) fn get(&mut self, role: Role, slot: Slot) -> Option<&Line> {
        self.call_back(role, slot);
        self.cache(role).get(slot)
    }

    /// Returns the content of a line, if it is on the chip. Does not move the line to another cache.
    pub fn peek(&mut self, role: Role, slot: Slot) -> Option<Line> {
        self.elsewhere(slot).or_else(|| self.cache(role).get(slot).copied())
    }

    /// Like [`MetadataCaches::peek`], but does not update replacement state.
    pub fn content(&mut self, role: Role, slot: Slot) -> Option<Line> {
        self.elsewhere(slot).or_else(|| self.cache(role).get_mut(slot).copied())
    }

    /// Returns the content of a line that is leaving or in the last-level cache.
    fn elsewhere(&self, slot: Slot) -> Option<Line> {
        let leaving = self.departures.of(slot).map(|departure| departure.content);
        leaving.or_else(|| self.shared.as_ref().and_then(|shared| shared.peek(slot)))
    }

    /// Returns the content of a line for changing, if it is in its cache. A leaving line is not called back to its
    /// cache, so that it does not evict another line.
    pub(super) fn edit_resident(&mut self, role: Role, slot: Slot) -> Option<&mut Line> {
        self.cache(role).edit(slot)
    }

    /// Records that memory has this content: a line with the same content is clean from now on.
    pub fn written_through(&mut self, role: Role, slot: Slot, content: &Line) {
        self.departures.written_through(slot, content);
        if let Some(shared) = &mut self.shared {
            shared.written_through(slot, content, self.planted);
        }
        self.cache(role).written_through(slot, content);
    }

    /// Changes a line on the chip in the way in which memory has just been changed: a clean line stays clean.
    pub fn amend(&mut self, role: Role, slot: Slot, change: impl FnOnce(&mut Line)) {
        let line = if self.departures.of(slot).is_some() {
            self.call_back(role, slot);
            self.edit_resident(role, slot)
        } else {
            self.cache(role).get_mut(slot)
        };
        if let Some(line) = line {
            change(line);
        }
    }

    /// Returns one bit for each position in a counter line, set if its first offset is kept, if the line is in its
    /// cache.
    pub fn offsets(&mut self, slot: Slot) -> Option<&mut u128> {
        self.cache(Role::Counter).offsets(slot)
    }

    /// Takes a line off the chip. Returns its content, if it was on the chip.
    pub(super) fn take(&mut self, role: Role, slot: Slot) -> Option<Line> {
        self.call_back(role, slot);
        self.cache(role).take(slot)
    }

    /// Enters a verified line. An evicted line moves to the last-level cache if its kind uses that cache. Otherwise, an
    /// evicted dirty line starts leaving the chip.
    pub fn admit(&mut self, role: Role, slot: Slot, content: &Line, dirty: bool) {
        let Some(MetadataEviction { slot, held, dirty }) = self.cache(role).insert(role, slot, content, dirty) else {
            return;
        };
        let forgetful = self.planted.has(Bug::DisplacedCountersDropped);
        let shared = self.shared.as_mut().filter(|shared| shared.is_for(held.role));
        let leaving = match shared {
            Some(shared) => shared.enter(held.role, slot, held.content, dirty).filter(|_| !forgetful),
            None => dirty.then_some((held.role, slot, held.content)),
        };
        self.depart(leaving);
    }

    /// Starts the departure of a dirty line, if there is one.
    fn depart(&mut self, dirty: Option<(Role, Slot, Line)>) {
        if let Some((role, slot, content)) = dirty {
            self.seen[role.kind()].writebacks += 1;
            self.departures.begin(slot, content);
        }
    }

    /// Moves a line that is leaving or in the last-level cache back into its cache. The other departures keep their
    /// order, which must not depend on lines of another kind that leave at the same time.
    pub(super) fn call_back(&mut self, role: Role, slot: Slot) {
        self.call_back_leaving(role, slot);
        self.call_back_shared(role, slot);
    }

    fn call_back_leaving(&mut self, role: Role, slot: Slot) {
        if let Some(content) = self.departures.call_back(slot) {
            self.admit(role, slot, &content, !self.planted.has(Bug::CalledBackClean));
        }
    }

    fn call_back_shared(&mut self, role: Role, slot: Slot) -> Option<Line> {
        let shared = self.shared.as_mut().filter(|shared| shared.is_for(role))?;
        let MetadataLine { content, dirty, .. } = shared.take(slot)?;
        self.admit(role, slot, &content, dirty && !self.planted.has(Bug::RecalledClean));
        Some(content)
    }

    /// Moves a line from the last-level cache back to the controller's cache, if the last-level cache has the line.
    /// Counts a hit in the last-level cache and a miss in the controller's cache; [`MetadataCaches::not_found`] counts
    /// all other look-ups that miss.
    pub fn recall(&mut self, role: Role, slot: Slot) -> Option<Line> {
        let found = self.call_back_shared(role, slot)?;
        if let Some(shared) = &mut self.shared {
            shared.seen[role.kind()].hits += 1;
        }
        self.seen[role.kind()].not_found(false);
        Some(found)
    }

    /// Removes a line that has lost its entry in the last-level cache; a dirty line starts leaving.
    pub fn displaced(&mut self, slot: Slot) {
        let displaced = self.shared.as_mut().and_then(|shared| shared.displaced(slot));
        self.depart(displaced);
    }

    /// Moves a counter line to the last-level cache, as if another line had needed its entry.
    pub fn hand_on_counters(&mut self, slot: Slot) {
        let cache = &mut self.caches[index_in(&self.cache_of, Kind::Counters)];
        let Some(shared) = self.shared.as_mut().filter(|shared| shared.is_for(Role::Counter)) else { return };
        let dirty = cache.dirty().contains(&slot);
        let entered = cache.take(slot).and_then(|content| shared.enter(Role::Counter, slot, content, dirty));
        self.depart(entered);
    }

    /// Starts the departure of every dirty line for which `which` returns true.
    pub fn dismiss_dirty(&mut self, role: Role, which: impl Fn(Slot) -> bool) {
        for slot in self.shared.as_ref().map_or(Vec::new(), |shared| shared.dirty(&which)) {
            self.displaced(slot);
        }
        for slot in self.cache(role).dirty().into_iter().filter(|slot| which(*slot)) {
            let content = self.cache(role).take(slot);
            self.depart(content.map(|content| (role, slot, content)));
        }
    }

    /// Drops every clean line, so that the next access must fetch it from memory.
    pub(super) fn forget_clean(&mut self) {
        if let Some(shared) = &mut self.shared {
            shared.forget_clean();
        }
        self.caches.iter_mut().for_each(MetadataCache::forget_clean);
    }
}

impl Hash for MetadataCaches {
    /// # Panics
    /// If lines also use a last-level cache.
    fn hash<H: Hasher>(&self, hash: &mut H) {
        assert!(self.shared.is_none(), "lines in a last-level cache are not hashed");
        (&self.caches, &self.departures).hash(hash);
    }
}
