//! Copies of lines of counters in the L2s of cores, which begin reads with them (EMCC, MICRO 2022, section IV-C).
//!
//! # What holds of a copy
//! * It is of a line that was verified, and is dropped when the line changes: the controller notifies all L2s, as it
//!   would of a line that a core writes. Copies are clean, so dropping one loses nothing.
//! * An L2 that memory serves too seldom may be set to begin no reads: it then has no copies and gets none.
//! * An L2 keeps so many and no more, least recently used first, so that counters do not crowd out data.
//! * In a machine's L2 it is a line like any other and is replaced by the same rule: it takes the entry of data, and
//!   data may take its entry, which the next look-up finds. What is there is decided by a [`SecondLevel`]; the content
//!   is here. Where there is no machine, nothing takes the entry of a copy but another copy.
//! * A read that was begun with a line of counters before it changed, and that the controller has not taken up, is void too.
//!   Once the controller has taken it up, the line's own counter cannot change before the read ends.

use super::OnChip;
use super::cache::{Geometry, MetadataCache};
use crate::planted::Bug;
use crate::slot::{Role, Slot};
use derive_more::{AddAssign, Sub};
use serde::Serialize;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use units::Line;

/// What the L2s of all cores have seen of counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct CopyCounters {
    /// Reads that found a copy in their L2.
    pub hits: u64,
    /// Reads that asked the last-level cache.
    pub misses: u64,
    /// Those of them that found the counters there.
    pub last_level_hits: u64,
    /// Copies that entered.
    pub entered: u64,
    /// Copies dropped because the line changed.
    pub invalidated: u64,
    /// Copies that lost their entry in a machine's L2, to data or to another copy.
    pub displaced: u64,
    /// Reads that asked the last-level cache and need not have: their data was on the chip, and what came for them was used
    /// for no read from memory before it left the L2 (the paper's figures 11 and 24). Copies still there, or given up with
    /// all of their L2, are not counted.
    pub useless: u64,
}

/// The L2s of a machine, which copies share with data.
pub trait SecondLevel {
    /// A copy takes an entry in the L2 of a core, or is used if it is there. Data that had to leave for it is seen to;
    /// the line of counters that had to leave the last-level cache for that data, if one had to.
    fn enter(&self, core: usize, slot: Slot) -> Option<Slot>;
    /// A read uses a copy that is there.
    fn touch(&self, core: usize, slot: Slot);
    /// A copy gives its entry up.
    fn leave(&self, core: usize, slot: Slot);
    /// The copies in the L2 of a core that lost their entries there since this was last asked.
    fn displaced(&self, core: usize) -> Vec<Slot>;
}

/// The copies in all L2s.
pub struct Copies {
    geometry: Geometry,
    /// By core, as far as cores have asked.
    held: Vec<MetadataCache>,
    /// Where they lie, if there is a machine.
    places: Option<Box<dyn SecondLevel>>,
    /// Cores whose L2s begin no reads now, and keep no copies.
    off: BTreeSet<usize>,
    /// The reads that L2s have begun and that are not over, by the line of counters that they use.
    begun: Vec<(Slot, Rc<Cell<bool>>)>,
    /// What was seen so far, but for copies that lost their entries since their L2 was last asked.
    pub(crate) seen: CopyCounters,
}

impl Copies {
    /// None yet, with room for so many in each L2.
    pub fn new(geometry: Geometry) -> Copies {
        let (held, places, off, begun, seen) = Default::default();
        Copies { geometry, held, places, off, begun, seen }
    }

    /// The same copies once more.
    ///
    /// # Panics
    /// If an L2 has begun a read that is not over, or if the L2s are a machine's.
    pub(super) fn twin(&self) -> Copies {
        assert!(!self.are_in_use(), "a chip is copied between two accesses");
        assert!(self.places.is_none(), "a machine's L2s are not copied");
        let Copies { geometry, ref held, ref off, seen, .. } = *self;
        Copies { geometry, held: held.clone(), places: None, off: off.clone(), begun: Vec::new(), seen }
    }

    /// Whether an L2 has begun a read that is not over.
    pub(crate) fn are_in_use(&self) -> bool {
        !self.begun.is_empty()
    }

    /// The copies lie in these L2s, from before the first on.
    pub fn lie_in(&mut self, places: Box<dyn SecondLevel>) {
        self.places = Some(places);
    }

    /// What was seen so far.
    pub fn counters(&mut self) -> CopyCounters {
        (0..self.held.len()).for_each(|core| self.settle(core));
        self.seen
    }

    /// Lets the L2 of a core begin reads from now on, or not. One that does not keeps no copies.
    pub fn let_begin(&mut self, core: usize, begins: bool) {
        if begins {
            self.off.remove(&core);
        } else if self.off.insert(core) {
            self.give_up(core);
        }
    }

    /// Notes that the L2 of a core has begun a read, if it does. What it returns is true as soon as the line of counters has
    /// changed.
    pub fn begin(&mut self, core: usize, slot: Slot) -> Option<Rc<Cell<bool>>> {
        if self.off.contains(&core) {
            return None;
        }
        let changed = Rc::new(Cell::new(false));
        self.begun.push((slot, changed.clone()));
        Some(changed)
    }

    /// The read is over.
    pub fn end(&mut self, changed: &Rc<Cell<bool>>) {
        self.begun.retain(|(_, begun)| !Rc::ptr_eq(begun, changed));
    }

    /// The copy in the L2 of a core, if it has one. Counts a hit or a miss.
    pub fn look_up(&mut self, core: usize, slot: Slot) -> Option<Line> {
        let found = self.of(core).get(slot).copied();
        self.seen.hits += u64::from(found.is_some());
        self.seen.misses += u64::from(found.is_none());
        if let Some(places) = self.places.as_ref().filter(|_| found.is_some()) {
            places.touch(core, slot);
        }
        found
    }

    /// A copy enters the L2 of a core, for a read of which it is known already that it is from memory, or not. The line of
    /// counters that had to leave the last-level cache for what left the L2, if one had to.
    pub fn enter(&mut self, core: usize, slot: Slot, content: &Line, from_memory: bool) -> Option<Slot> {
        if self.off.contains(&core) {
            return None;
        }
        let copies = self.of(core);
        // Two reads with the same counters may have asked for them.
        if copies.get(slot).is_none() {
            let evicted = copies.insert(Role::Counter, slot, content, false);
            self.seen.entered += 1;
            if let Some(evicted) = evicted {
                self.seen.useless += evicted.held.unused;
                self.leave(core, evicted.slot);
            }
        }
        let displaced = self.places.as_ref().and_then(|places| places.enter(core, slot));
        if let Some(unused) = self.of(core).unused(slot) {
            *unused = if from_memory { 0 } else { *unused + 1 };
        }
        displaced
    }

    /// A read by a core is from memory: if there is a copy of its counters, that is of use.
    pub fn serve(&mut self, core: usize, slot: Slot) {
        if let Some(unused) = self.of(core).unused(slot) {
            *unused = 0;
        }
    }

    /// The line has changed: its copies go.
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

    /// Drops every copy, so that all must be asked for again.
    pub fn forget(&mut self) {
        (0..self.held.len()).for_each(|core| self.give_up(core));
    }

    /// Drops every copy of a core.
    fn give_up(&mut self, core: usize) {
        let none = MetadataCache::new(self.geometry);
        let held = std::mem::replace(self.of(core), none);
        held.slots().for_each(|slot| self.leave(core, slot));
    }

    /// The copies in the L2 of a core.
    fn of(&mut self, core: usize) -> &mut MetadataCache {
        while self.held.len() <= core {
            self.held.push(MetadataCache::new(self.geometry));
        }
        self.settle(core);
        &mut self.held[core]
    }

    /// Drops the copies of a core that have lost their entries in its L2.
    fn settle(&mut self, core: usize) {
        let Some(places) = &self.places else { return };
        for slot in places.displaced(core) {
            let was_there = self.lose(core, slot);
            debug_assert!(was_there, "content and places agree");
            self.seen.displaced += 1;
        }
    }

    /// A copy goes, with what was asked for in vain; whether it was there.
    fn lose(&mut self, core: usize, slot: Slot) -> bool {
        let copies = &mut self.held[core];
        self.seen.useless += copies.unused(slot).map_or(0, |unused| *unused);
        copies.take(slot).is_some()
    }

    /// A copy that is no longer held gives its entry up.
    fn leave(&self, core: usize, slot: Slot) {
        if let Some(places) = &self.places {
            places.leave(core, slot);
        }
    }
}

impl OnChip {
    /// The copies lie in a machine's L2s, from before the first access on.
    pub fn copies_lie_in(&mut self, places: Box<dyn SecondLevel>) {
        if let Some(copies) = &mut self.copies {
            copies.lie_in(places);
        }
    }

    /// What L2s have seen of copies of counters; nothing if they have none.
    pub fn copy_counters(&mut self) -> Option<CopyCounters> {
        self.copies.as_mut().map(Copies::counters)
    }

    /// Lets the L2 of a core begin reads from now on, or leave all to the controller and keep no copies.
    pub fn let_begin(&mut self, core: usize, begins: bool) {
        if let Some(copies) = &mut self.copies {
            copies.let_begin(core, begins);
        }
    }
    /// The content of a line of counters in the last-level cache, where it stays, for an L2 that asked for it.
    pub fn shared(&mut self, slot: Slot) -> Option<Line> {
        let found = self.caches.shared.as_mut().and_then(|shared| shared.look_up(slot));
        if let Some(copies) = &mut self.copies {
            copies.seen.last_level_hits += u64::from(found.is_some());
        }
        found
    }

    /// A copy enters the L2 of a core ([`Copies::enter`]).
    pub fn enter_copy(&mut self, core: usize, slot: Slot, content: &Line, from_memory: bool) {
        let displaced = self.copies.as_mut().and_then(|copies| copies.enter(core, slot, content, from_memory));
        if let Some(displaced) = displaced {
            self.caches.displaced(displaced);
        }
    }

    /// A line is about to change: L2s must not go on with what it was.
    pub(super) fn drop_copies(&mut self, role: Role, slot: Slot) {
        let outlive = [Bug::CopiesOutliveWrites, Bug::CopiesOutliveRenewals].iter().any(|bug| self.planted.has(*bug));
        let kept = role != Role::Counter || outlive;
        if let Some(copies) = self.copies.as_mut().filter(|_| !kept) {
            copies.drop_all(slot);
        }
    }
}
