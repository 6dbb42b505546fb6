//! Copies of lines of counters in the L2s of cores, which begin reads with them (EMCC, MICRO 2022, section IV-C).
//!
//! # What holds of a copy
//! * It is of a line that was verified, and is dropped when the line changes: the controller tells all L2s, as it would of
//!   a line that somebody writes. Copies are clean, so dropping one loses nothing.
//! * An L2 that memory serves too seldom may be told to begin no reads: it then has no copies and gets none.
//! * An L2 keeps so many and no more, least recently used first, so that counters do not crowd out data. They take no place
//!   of data here.
//! * A read that was begun with a line of counters before it changed, and that the controller has not taken up, is told too.
//!   Once the controller has taken it up, the line's own counter cannot change before the read ends.

use super::OnChip;
use super::cache::{Geometry, MetadataCache};
use crate::planted::Bug;
use crate::verbs::{Role, Slot};
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
    /// Reads that asked the last-level cache and need not have: their data was on the chip, and what came for them was used
    /// for no read from memory before it left the L2 (the paper's figures 11 and 24). Copies still there, or given up with
    /// all of their L2, are not counted.
    pub useless: u64,
}

/// The copies in all L2s.
pub struct Copies {
    geometry: Geometry,
    /// By core, as far as cores have asked.
    held: Vec<MetadataCache>,
    /// Cores whose L2s begin no reads now, and keep no copies.
    off: BTreeSet<usize>,
    /// The reads that L2s have begun and that are not over, by the line of counters that they use.
    begun: Vec<(Slot, Rc<Cell<bool>>)>,
    /// What was seen so far.
    pub seen: CopyCounters,
}

impl Copies {
    /// None yet, with room for so many in each L2.
    pub fn new(geometry: Geometry) -> Copies {
        let (held, off, begun, seen) = Default::default();
        Copies { geometry, held, off, begun, seen }
    }

    /// The same copies once more.
    ///
    /// # Panics
    /// If an L2 has begun a read that is not over.
    pub(super) fn twin(&self) -> Copies {
        assert!(self.begun.is_empty(), "a chip is copied between two accesses");
        let Copies { geometry, ref held, ref off, seen, .. } = *self;
        Copies { geometry, held: held.clone(), off: off.clone(), begun: Vec::new(), seen }
    }

    /// Lets the L2 of a core begin reads from now on, or not. One that does not keeps no copies.
    pub fn let_begin(&mut self, core: usize, begins: bool) {
        if begins {
            self.off.remove(&core);
        } else if self.off.insert(core) {
            *self.of(core) = MetadataCache::new(self.geometry);
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
        found
    }

    /// A copy enters the L2 of a core, for a read of which it is known already that it is from memory, or not.
    pub fn enter(&mut self, core: usize, slot: Slot, content: &Line, from_memory: bool) {
        if self.off.contains(&core) {
            return;
        }
        let copies = self.of(core);
        // Two reads with the same counters may have asked for them.
        if copies.get(slot).is_none() {
            let evicted = copies.insert(Role::Counter, slot, content, false);
            self.seen.entered += 1;
            self.seen.useless += evicted.map_or(0, |evicted| evicted.held.unused);
        }
        if let Some(unused) = self.of(core).unused(slot) {
            *unused = if from_memory { 0 } else { *unused + 1 };
        }
    }

    /// A read by a core is from memory: if there is a copy of its counters, that is of use.
    pub fn serve(&mut self, core: usize, slot: Slot) {
        if let Some(unused) = self.of(core).unused(slot) {
            *unused = 0;
        }
    }

    /// The line has changed: its copies go.
    pub fn drop_all(&mut self, slot: Slot) {
        self.seen.useless +=
            self.held.iter_mut().filter_map(|copies| copies.unused(slot)).map(|unused| *unused).sum::<u64>();
        self.seen.invalidated += self.held.iter_mut().filter_map(|copies| copies.take(slot)).count() as u64;
        self.begun.iter().filter(|(begun, _)| *begun == slot).for_each(|(_, changed)| changed.set(true));
    }

    /// Drops every copy, so that all must be asked for again.
    pub fn forget(&mut self) {
        self.held.clear();
    }

    fn of(&mut self, core: usize) -> &mut MetadataCache {
        while self.held.len() <= core {
            self.held.push(MetadataCache::new(self.geometry));
        }
        &mut self.held[core]
    }
}

impl OnChip {
    /// The content of a line of counters in the last-level cache, where it stays, for an L2 that asked for it.
    pub fn shared(&mut self, slot: Slot) -> Option<Line> {
        let found = self.shared.as_mut().and_then(|shared| shared.look_up(slot));
        if let Some(copies) = &mut self.copies {
            copies.seen.last_level_hits += u64::from(found.is_some());
        }
        found
    }

    /// Moves a line of counters on to the last-level cache, as if another had needed its place.
    pub fn hand_on(&mut self, slot: Slot) {
        let dirty = self.cache(Role::Counter).dirty().contains(&slot);
        let content = self.cache(Role::Counter).take(slot);
        let entered =
            content.zip(self.shared.as_mut()).and_then(|(content, shared)| shared.enter(slot, content, dirty));
        if let Some((slot, content)) = entered {
            self.depart(slot, content);
        }
    }

    /// A line is about to change: L2s must not go on with what it was.
    pub(super) fn drop_copies(&mut self, role: Role, slot: Slot) {
        let kept = role != Role::Counter || self.planted.has(Bug::CopiesOutliveWrites);
        if let Some(copies) = self.copies.as_mut().filter(|_| !kept) {
            copies.drop_all(slot);
        }
    }
}
