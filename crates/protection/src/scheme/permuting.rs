//! Interfaces to a scheme that permutes lines, for the parts around it. Other schemes offer none of them.

use super::Scheme;
use crate::moving::{LockingCache, MovingCounts, MovingLines, ProcessPort, SlotsForJudge, SystemPort, records_on_chip};
use crate::slot::Slot;
use crate::verbs::{Fault, Verbs};
use std::rc::Rc;
use units::LineAddr;

/// Interface to the records of pages, for TLBs: a record stays on the chip while a TLB translates its page.
#[derive(Clone, Copy)]
pub struct RecordPort<'a>(&'a MovingLines);

impl<'a> RecordPort<'a> {
    /// The interface to the records of this scheme, if it permutes lines.
    pub fn of(scheme: &'a Scheme) -> Option<RecordPort<'a>> {
        scheme.moving().map(RecordPort)
    }

    /// Fetches and checks the record of a page with this line, which a TLB misses. The record stays on the chip until its
    /// release. Returns true if the record is on the chip; else tampering was reported.
    pub async fn acquire<V: Verbs>(self, verbs: &V, line: LineAddr) -> bool {
        self.0.acquire_record(verbs, line).await
    }

    /// Releases the record of a page with this line: TLBs no longer hold the page.
    pub fn release(self, line: LineAddr) {
        self.0.release_record(line);
    }

    /// Returns the slot of a line now, from the record of its page.
    ///
    /// # Errors
    /// Same errors as a read, if the record is refused.
    pub async fn slot_of<V: Verbs>(self, verbs: &V, line: LineAddr) -> Result<Slot, Fault> {
        self.0.slot_of(verbs, line).await
    }
}

/// Interface to the permutations of page chunks, and to the cache that locks lines between them.
#[derive(Clone, Copy)]
pub struct Permutations<'a>(&'a MovingLines);

impl<'a> Permutations<'a> {
    /// The interface to the permutations of this scheme, if it permutes lines.
    pub fn of(scheme: &'a Scheme) -> Option<Permutations<'a>> {
        scheme.moving().map(Permutations)
    }

    /// Locks lines in this cache from now on, instead of a separate small cache. Must be called before the first access.
    pub fn lock_in(self, cache: Rc<dyn LockingCache>) {
        self.0.lock_in(cache);
    }

    /// Permutes the page chunk of a line, however many of its lines are locked.
    pub async fn permute_chunk_of<V: Verbs>(self, verbs: &V, line: LineAddr) {
        self.0.permute_chunk_of(verbs, line).await;
    }

    /// Maximum number of permutations under way at which another one begins in the background.
    pub fn at_once(self) -> usize {
        self.0.permutation_requests().at_once()
    }

    /// Permutes a page chunk for an access that has passed this on to another task.
    pub async fn permute_passed_on<V: Verbs>(self, verbs: &V, chunk: u64) {
        self.0.permutation_requests().permute_passed_on(verbs, chunk).await;
    }

    /// Gives all permutations under way the priority of other requests.
    pub fn hurry(self) {
        self.0.permutation_requests().hurry();
    }

    /// Number of page chunks with locked lines.
    pub fn chunks_with_locks(self) -> usize {
        self.0.chunks_with_locks()
    }

    /// Numbers of records on the chip for pages in TLBs, and of entries of the Merkle cache.
    pub fn records_on_chip(self) -> (usize, usize) {
        records_on_chip(self.0)
    }

    /// Returns all counts so far.
    pub fn counted(self) -> MovingCounts {
        self.0.counted()
    }

    /// Returns the slots of all lines now, for the judge of an attack.
    pub fn for_judge(self) -> SlotsForJudge<'a> {
        self.0.for_judge()
    }
}

impl<'a> ProcessPort<'a> {
    /// The interface of secure processes, if the design has their contexts.
    pub fn of(scheme: &'a Scheme) -> Option<ProcessPort<'a>> {
        scheme.moving()?.processes()
    }
}

impl<'a> SystemPort<'a> {
    /// The interface of the operating system, if it loads records.
    pub fn of(scheme: &'a Scheme) -> Option<SystemPort<'a>> {
        scheme.moving()?.system()
    }
}
