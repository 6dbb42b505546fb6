//! Misses of the cores, and the lines on their way up to a core.
//!
//! From its claim until its arrival, a line belongs to one request. Requests of other cores for the line wait here.

use super::Chip;
use super::direct::DirectReads;
use super::permutations::PassedOnPermutations;
use crate::waits::RequestTrip;
use machine::node::{Permission, RequestKind};
use protection::execution::{ReadPart, ReadPartTimes};
use rustc_hash::FxHashMap;
use sim::Clock;
use sim::resource::WorkQueue;
use std::cell::RefCell;
use std::rc::Weak;
use units::{Duration, LineAddr, Time, Word};

/// Request of a core for a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Miss {
    /// Index of the core.
    pub core: usize,
    /// Address of the line.
    pub line: LineAddr,
    /// Critical word: the word that the core needs first.
    pub word: Word,
    /// Kind of the request.
    pub kind: RequestKind,
    /// Time at which the request left the L2.
    pub left: Time,
    /// True if the request is still in the L2, which then begins the read.
    pub in_l2: bool,
}

/// State of a line on its way to a core.
#[derive(Debug)]
pub(super) struct Journey {
    pub core: usize,
    pub permission: Permission,
    /// Time of the request to memory, if memory was involved.
    requested_at: Option<Time>,
    /// Parts of the latency of the request.
    pub trip: RequestTrip,
    /// True if the kernel changed the line since its claim.
    pub changed: bool,
    /// Other misses that wait for the line, in order of arrival.
    pub waiting: Vec<Miss>,
}

/// All misses, and all lines on their way.
pub struct LinesInFlight {
    /// Chip that the lines belong to.
    chip: Weak<Chip>,
    /// Misses of the cores, each due at the end of its look-up in the last-level cache.
    misses: WorkQueue<Miss>,
    journeys: RefCell<FxHashMap<LineAddr, Journey>>,
    /// Reads that bypass the caches.
    pub direct: DirectReads,
    /// Permutations in the background.
    pub permutations: PassedOnPermutations,
}

impl LinesInFlight {
    /// Creates an empty set of journeys for `chip`.
    pub(super) fn new(clock: &Clock, chip: Weak<Chip>) -> LinesInFlight {
        LinesInFlight {
            chip,
            misses: WorkQueue::new(clock),
            journeys: RefCell::default(),
            direct: DirectReads::new(clock),
            permutations: PassedOnPermutations::new(clock),
        }
    }

    /// Chip that the lines belong to, while it exists.
    pub(super) fn chip(&self) -> Weak<Chip> {
        self.chip.clone()
    }

    /// Queues a miss, which is due at `at`.
    pub(crate) fn push_miss(&self, at: Time, miss: Miss) {
        self.misses.push(at, miss);
    }

    /// Waits for the next miss.
    pub(crate) fn next_miss(&self) -> impl Future<Output = Miss> {
        self.misses.next()
    }

    /// Calls `access` on the journey of a line that is on its way.
    fn with<R>(&self, line: LineAddr, access: impl FnOnce(&mut Journey) -> R) -> Option<R> {
        self.journeys.borrow_mut().get_mut(&line).map(access)
    }

    /// Lets a miss wait if its line is on its way to another core. Returns true if it waits.
    pub(super) fn lets_wait(&self, miss: Miss) -> bool {
        self.with(miss.line, |journey| journey.waiting.push(Miss { in_l2: false, ..miss })).is_some()
    }

    /// Begins the journey of a claimed line.
    pub(super) fn begin(&self, miss: Miss, permission: Permission) {
        let Miss { core, line, left, .. } = miss;
        let journey = Journey {
            core,
            permission,
            requested_at: None,
            trip: RequestTrip::begin(left),
            changed: false,
            waiting: Vec::new(),
        };
        self.journeys.borrow_mut().insert(line, journey);
    }

    /// True if a line is on its way to a core.
    pub(super) fn has(&self, line: LineAddr) -> bool {
        self.journeys.borrow().contains_key(&line)
    }

    /// Core to which a line is on its way.
    pub(super) fn core_of(&self, line: LineAddr) -> Option<usize> {
        self.with(line, |journey| journey.core)
    }

    /// Core to which a line is on its way, and the trip of the line.
    pub(super) fn trip_of(&self, line: LineAddr) -> Option<(usize, RequestTrip)> {
        self.with(line, |journey| (journey.core, journey.trip))
    }

    /// Notes that the kernel changes a line. Returns true if the line is on its way to a core.
    pub(super) fn mark_changed(&self, line: LineAddr) -> bool {
        self.with(line, |journey| journey.changed = true).is_some()
    }

    /// Notes the time at which the controller requests the line from memory.
    pub(crate) fn requested(&self, line: LineAddr, at: Time) {
        self.with(line, |journey| journey.requested_at = Some(at));
    }

    /// Adds a time for which a line waited on its way to the latency parts of the line's request.
    pub(crate) fn waited(&self, line: LineAddr, part: ReadPart, time: Duration) {
        self.with(line, |journey| journey.trip.waited(part, time));
    }

    /// Adds the parts of a memory read to a line's request. At the first call, returns the time of the request to
    /// memory.
    pub(super) fn read(&self, line: LineAddr, parts: &ReadPartTimes) -> Option<Time> {
        self.with(line, |journey| {
            journey.trip.read(parts);
            journey.requested_at.take()
        })?
    }

    /// Ends the journey of a line.
    pub(super) fn end(&self, line: LineAddr) -> Option<Journey> {
        self.journeys.borrow_mut().remove(&line)
    }
}
