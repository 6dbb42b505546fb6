//! Interface of a core's persist buffer ([`NodeConfig::persist_buffer`](super::NodeConfig::persist_buffer)).
//!
//! The node owns the tags of the buffer, the order of stores, and the choice of the entry to drain. Its owner stores the bytes,
//! performs the early steps of a scheme and carries entries to memory. After each call of [`Node::run`], [`Node::answered`],
//! [`Node::arrived_in_part`], [`Node::persisted`], [`Node::drained`], [`Node::give_up_entry`], [`Node::flush_entry`] and of
//! warming, the owner takes the requests of [`Node::persist_requests`]. An owner of several nodes takes them before it calls
//! another node. If a store has allocated an entry, the owner removes the entries of the other nodes, so a line has one entry at
//! most.

use super::pipeline::persist::PersistPath;
use super::{Node, PersistCounts, PersistRequest};
use units::{Cycles, Duration, LineAddr, Time};

impl Node {
    /// Returns the entries into the persist buffer and the drain requests since the last call, in order. Times do not
    /// decrease, over all calls, and none is before the latest answer to the node.
    ///
    /// Each touch that stores, as passed by the feed, causes one [`PersistRequest::Persist`], in program order. This holds even
    /// if L1D has lines of 32 bytes and the node has cut the touch. An owner that keeps the bytes of stores in that order takes
    /// the next ones for each. If [`StoreHold::hold`](super::StoreHold::hold) returns true for the store, no other follows until
    /// [`Node::persisted`]. The reply to each [`PersistRequest::Drain`] is [`Node::drained`]; many may be outstanding, and no
    /// store enters the entry of the line between its drain and the reply.
    pub fn persist_requests(&mut self) -> impl Iterator<Item = PersistRequest> + '_ {
        self.core.stores.persist.iter_mut().flat_map(|path| path.requests.drain(..))
    }

    /// Returns the stores of the program that L1D received since the last call, in program order: one for each touch as passed by
    /// the feed. The time of each is its departure from the store queue, or from the write buffer behind it; times do not
    /// decrease. Empty unless [`NodeConfig::reports_stores`](super::NodeConfig::reports_stores) is set.
    pub fn take_written_stores(&mut self) -> impl Iterator<Item = (Time, LineAddr)> + use<> {
        let clock = self.clock;
        self.core.stores.take_written().into_iter().map(move |(cycle, line)| (clock.start_of(Cycles(cycle)), line))
    }

    /// Reports that the latest store to the persist buffer has its answer at `at`, so it leaves the store queue. Returns the
    /// time for which this store had blocked retirement.
    ///
    /// # Panics
    /// If no store waits for an answer.
    pub fn persisted(&mut self, at: Time) -> Duration {
        let (before, cycle) = (self.standing(), self.clock.cycle_at_or_after(at).0);
        self.core.stores.persisted(cycle);
        self.clock.span(Cycles(self.stalls.held_up_by_persist(&self.core, &before, cycle)))
    }

    /// Reports that the entry of a drained line left the persist buffer at `at`. Returns the time for which a store
    /// that waited for this had blocked retirement.
    ///
    /// # Panics
    /// If the entry of the line is not being drained.
    pub fn drained(&mut self, line: LineAddr, at: Time) -> Duration {
        self.has_room(at, |path, cycle| path.drained(line, cycle))
    }

    /// Moves the entry of a line at `at` to the persist buffer of another core, which writes the line, unless the entry is
    /// being drained or does not exist. Returns as [`Node::drained`].
    ///
    /// # Panics
    /// If there is no persist buffer.
    pub fn give_up_entry(&mut self, line: LineAddr, at: Time) -> Duration {
        self.has_room(at, |path, cycle| path.give_up(line, cycle))
    }

    /// Drains the entry of a line, which another core reads at `at`, unless it is being drained already or does not
    /// exist.
    ///
    /// # Panics
    /// If there is no persist buffer.
    pub fn flush_entry(&mut self, line: LineAddr, at: Time) {
        let cycle = self.clock.cycle_at_or_after(at).0;
        self.core.stores.flush(line, cycle);
    }

    fn has_room(
        &mut self,
        at: Time,
        how: impl FnOnce(&mut PersistPath, u64) -> (bool, Option<(u64, u64)>),
    ) -> Duration {
        let (before, cycle) = (self.standing(), self.clock.cycle_at_or_after(at).0);
        let goes_on = self.core.stores.has_room(|path| how(path, cycle));
        let lost = if goes_on { self.stalls.held_up_by_persist(&self.core, &before, cycle) } else { 0 };
        self.clock.span(Cycles(lost))
    }

    /// Returns true if the persist buffer has an entry of the line that is not being drained.
    pub fn has_entry(&self, line: LineAddr) -> bool {
        self.core.stores.persist.as_ref().is_some_and(|path| path.has_entry(line))
    }

    /// Returns true if the persist buffer has an entry of the line, even if it is being drained.
    pub fn occupies(&self, line: LineAddr) -> bool {
        self.core.stores.persist.as_ref().is_some_and(|path| path.occupies(line))
    }

    /// Returns the statistics of the persist buffer, or `None` without a buffer.
    pub fn persist_counts(&self) -> Option<PersistCounts> {
        self.core.stores.persist.as_ref().map(|path| path.counts)
    }
}
