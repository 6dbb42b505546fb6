//! Copies of counter lines in the L2s of cores. An L2 starts the decryption of a read with its copy (EMCC, MICRO
//! 2022, section IV-C).
//!
//! # Contract
//! * A copy is of a verified line, and is dropped when the line changes. The controller then invalidates the line in
//!   all L2s, as for a line of data that another core writes. Copies are clean, so the L2 loses no data when it drops a
//!   copy.
//! * An L2 with a low rate of memory accesses may be set to begin no reads: it then neither has nor receives copies.
//! * An L2 keeps a limited number of copies and replaces the least recently used first, so that counters do not crowd
//!   out data.
//! * In a machine's L2, a copy is a line like any other and is replaced by the same rule. A copy may evict data, and
//!   data may evict a copy, which the next look-up of the copy notices. A [`SecondLevel`] decides which copies are in
//!   the L2; this module keeps their content. Without a machine, only another copy evicts a copy.
//! * If a counter line changes, a read that an L2 began with the old content is void as well, unless the read has
//!   arrived at the controller. From then on, the counter of the line that is read cannot change before the read ends.

use super::ChipState;
use super::cache::{Geometry, MetadataCache};
use crate::planted::Bug;
use crate::slot::{Role, Slot};
use derive_more::{AddAssign, Sub};
use serde::Serialize;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use units::Line;

/// Statistics on copies of encryption counters in the L2s of all cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct CopyCounts {
    /// Reads that found a copy in their L2.
    pub hits: u64,
    /// Reads that looked up the counters in the last-level cache.
    pub misses: u64,
    /// Misses that found the counters in the last-level cache.
    pub last_level_hits: u64,
    /// Copies that entered an L2.
    pub entered: u64,
    /// Copies dropped because the line changed.
    pub invalidated: u64,
    /// Copies that a machine's L2 evicted, for data or for another copy.
    pub displaced: u64,
    /// Reads that looked up counters in the last-level cache without need (the paper's figures 11 and 24). The data of
    /// the read was on the chip. The copy that arrived for the read left the L2 before it was used for any read from
    /// memory. Copies that are still in an L2, or were given up with all copies of their L2, are not counted.
    pub useless: u64,
}

/// The L2s of a machine, in which copies of counters and data compete for entries.
pub trait SecondLevel {
    /// Enters a copy into the L2 of a core, or records a use if the L2 has the copy. Handles the data that the copy
    /// evicts. Returns the counter line that the evicted data displaces from the last-level cache, if any.
    fn enter(&self, core: usize, slot: Slot) -> Option<Slot>;
    /// Records that a read uses a copy in the L2.
    fn touch(&self, core: usize, slot: Slot);
    /// Frees the entry of a copy.
    fn leave(&self, core: usize, slot: Slot);
    /// Returns the copies in the L2 of a core that lost their entries since the last call.
    fn displaced(&self, core: usize) -> Vec<Slot>;
}

/// Copies of counters in the L2s of all cores.
pub struct Copies {
    geometry: Geometry,
    /// Copies of each core, up to the highest core that has had a look-up.
    held: Vec<MetadataCache>,
    /// The L2s of the machine that hold the copies; `None` in a run without a machine.
    tag_layout: Option<Box<dyn SecondLevel>>,
    /// Cores with L2s that begin no reads at present, and keep no copies.
    off: BTreeSet<usize>,
    /// The reads that L2s have begun and that have not ended, by the counter line that they use. The flag is set
    /// when that line changes.
    begun: Vec<(Slot, Rc<Cell<bool>>)>,
    /// Statistics so far, without evictions since the L2 was last checked.
    pub(crate) seen: CopyCounts,
}

impl Copies {
    /// Returns an empty set of copies, with room for `geometry` in each L2.
    pub fn new(geometry: Geometry) -> Copies {
        let (held, tag_layout, off, begun, seen) = Default::default();
        Copies { geometry, held, tag_layout, off, begun, seen }
    }

    /// Returns a copy of this state.
    ///
    /// # Panics
    /// If an L2 has begun a read that has not ended, or if the L2s are a machine's.
    pub(super) fn twin(&self) -> Copies {
        assert!(!self.are_in_use(), "a chip is copied between two accesses");
        assert!(self.tag_layout.is_none(), "a machine's L2s are not copied");
        let Copies { geometry, ref held, ref off, seen, .. } = *self;
        Copies { geometry, held: held.clone(), tag_layout: None, off: off.clone(), begun: Vec::new(), seen }
    }

    /// Returns true if an L2 has begun a read that has not ended.
    pub(crate) fn are_in_use(&self) -> bool {
        !self.begun.is_empty()
    }

    /// Stores the copies in these L2s. To be called before the first copy enters.
    pub fn lie_in(&mut self, tag_layout: Box<dyn SecondLevel>) {
        self.tag_layout = Some(tag_layout);
    }

    /// Returns the statistics so far.
    pub fn counts(&mut self) -> CopyCounts {
        (0..self.held.len()).for_each(|core| self.settle(core));
        self.seen
    }

    /// Sets whether the L2 of a core begins reads from now on. An L2 that does not begin reads keeps no copies.
    pub fn let_begin(&mut self, core: usize, begins: bool) {
        if begins {
            self.off.remove(&core);
        } else if self.off.insert(core) {
            self.give_up(core);
        }
    }

    /// Records that the L2 of a core begins a read, if the core's L2 begins reads. The returned flag becomes true when
    /// the counter line changes.
    pub fn begin(&mut self, core: usize, slot: Slot) -> Option<Rc<Cell<bool>>> {
        if self.off.contains(&core) {
            return None;
        }
        let changed = Rc::new(Cell::new(false));
        self.begun.push((slot, changed.clone()));
        Some(changed)
    }

    /// Ends a read that an L2 has begun.
    pub fn end(&mut self, changed: &Rc<Cell<bool>>) {
        self.begun.retain(|(_, begun)| !Rc::ptr_eq(begun, changed));
    }

    /// Returns the copy in the L2 of a core, if it has one. Counts a hit or a miss.
    pub fn look_up(&mut self, core: usize, slot: Slot) -> Option<Line> {
        let found = self.of(core).get(slot).copied();
        self.seen.hits += u64::from(found.is_some());
        self.seen.misses += u64::from(found.is_none());
        if let Some(tag_layout) = self.tag_layout.as_ref().filter(|_| found.is_some()) {
            tag_layout.touch(core, slot);
        }
        found
    }

    /// Enters a copy into the L2 of a core. `from_memory` is true if the data of the read that requested the copy is
    /// already known to be in memory. Returns the counter line that is displaced from the last-level cache by a
    /// line that the L2 evicts, if any.
    pub fn enter(&mut self, core: usize, slot: Slot, content: &Line, from_memory: bool) -> Option<Slot> {
        if self.off.contains(&core) {
            return None;
        }
        let copies = self.of(core);
        // Two reads with the same counter line may have requested the copy.
        if copies.get(slot).is_none() {
            let evicted = copies.insert(Role::Counter, slot, content, false);
            self.seen.entered += 1;
            if let Some(evicted) = evicted {
                self.seen.useless += evicted.held.unused;
                self.leave(core, evicted.slot);
            }
        }
        let displaced = self.tag_layout.as_ref().and_then(|tag_layout| tag_layout.enter(core, slot));
        if let Some(unused) = self.of(core).unused(slot) {
            *unused = if from_memory { 0 } else { *unused + 1 };
        }
        displaced
    }

    /// Records that a core's read fetches its data from memory, so that the L2's copy of the counters, if any, is
    /// useful.
    pub fn serve(&mut self, core: usize, slot: Slot) {
        if let Some(unused) = self.of(core).unused(slot) {
            *unused = 0;
        }
    }

    /// Drops all copies of a line that changes.
    pub fn drop_all(&mut self, slot: Slot) {
        for core in 0..self.held.len() {
            self.settle(core);
            if self.lose(core, slot) {
                self.seen.invalidated += 1;
                self.leave(core, slot);
            }
        }
        self.begun.iter().filter(|(begun, _)| *begun == slot).for_each(|(_, changed)| changed.set(true));
    }

    /// Drops every copy, so that L2s must fetch all of them again.
    pub fn forget(&mut self) {
        (0..self.held.len()).for_each(|core| self.give_up(core));
    }

    /// Drops every copy of a core.
    fn give_up(&mut self, core: usize) {
        let none = MetadataCache::new(self.geometry);
        let held = std::mem::replace(self.of(core), none);
        held.slots().for_each(|slot| self.leave(core, slot));
    }

    /// Returns the copies in the L2 of a core.
    fn of(&mut self, core: usize) -> &mut MetadataCache {
        while self.held.len() <= core {
            self.held.push(MetadataCache::new(self.geometry));
        }
        self.settle(core);
        &mut self.held[core]
    }

    /// Drops the copies of a core that have lost their entries in its L2.
    fn settle(&mut self, core: usize) {
        let Some(tag_layout) = &self.tag_layout else { return };
        for slot in tag_layout.displaced(core) {
            let was_there = self.lose(core, slot);
            debug_assert!(was_there, "content and places agree");
            self.seen.displaced += 1;
        }
    }

    /// Drops a copy, and counts the requests for it that were useless. Returns whether the L2 had the copy.
    fn lose(&mut self, core: usize, slot: Slot) -> bool {
        let copies = &mut self.held[core];
        self.seen.useless += copies.unused(slot).map_or(0, |unused| *unused);
        copies.take(slot).is_some()
    }

    /// Frees the L2 entry of a copy that was dropped.
    fn leave(&self, core: usize, slot: Slot) {
        if let Some(tag_layout) = &self.tag_layout {
            tag_layout.leave(core, slot);
        }
    }
}

impl ChipState {
    /// Stores the copies in a machine's L2s. To be called before the first access.
    pub fn copies_lie_in(&mut self, tag_layout: Box<dyn SecondLevel>) {
        if let Some(copies) = &mut self.copies {
            copies.lie_in(tag_layout);
        }
    }

    /// Returns the statistics on copies in L2s, or `None` if the design has no copies.
    pub fn copy_counts(&mut self) -> Option<CopyCounts> {
        self.copies.as_mut().map(Copies::counts)
    }

    /// Sets whether the L2 of a core begins reads from now on. An L2 that does not begin reads leaves them to the
    /// controller and keeps no copies.
    pub fn let_begin(&mut self, core: usize, begins: bool) {
        if let Some(copies) = &mut self.copies {
            copies.let_begin(core, begins);
        }
    }
    /// Returns the content of a counter line in the last-level cache, where it stays, for an L2 that requested it.
    pub fn shared(&mut self, slot: Slot) -> Option<Line> {
        let found = self.caches.shared.as_mut().and_then(|shared| shared.look_up(slot));
        if let Some(copies) = &mut self.copies {
            copies.seen.last_level_hits += u64::from(found.is_some());
        }
        found
    }

    /// Enters a copy into the L2 of a core ([`Copies::enter`]).
    pub fn enter_copy(&mut self, core: usize, slot: Slot, content: &Line, from_memory: bool) {
        let displaced = self.copies.as_mut().and_then(|copies| copies.enter(core, slot, content, from_memory));
        if let Some(displaced) = displaced {
            self.caches.displaced(displaced);
        }
    }

    /// Drops the copies of a line that is about to change, so that L2s do not use its old content.
    pub(super) fn drop_copies(&mut self, role: Role, slot: Slot) {
        let outlive = [Bug::CopiesOutliveWrites, Bug::CopiesOutliveRenewals].iter().any(|bug| self.planted.has(*bug));
        let kept = role != Role::Counter || outlive;
        if let Some(copies) = self.copies.as_mut().filter(|_| !kept) {
            copies.drop_all(slot);
        }
    }
}
