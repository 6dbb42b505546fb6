//! The face of a core's persist buffer ([`NodeConfig::persist_buffer`](super::NodeConfig::persist_buffer)).
//!
//! The node owns the buffer's tags, the order of stores and which entry leaves when; its owner has the bytes, does what a
//! scheme does early and carries entries to memory. After each call of [`Node::run`], [`Node::answered`],
//! [`Node::came_in_part`], [`Node::persisted`], [`Node::drained`], [`Node::give_up_entry`], [`Node::flush_entry`] and of
//! warming, the owner takes what [`Node::persist_requests`] gives. Of several nodes, it does so before it calls another one, and
//! where a store has allocated an entry, the others give theirs up: so a line has one entry at most.

use super::pipeline::persist::PersistPath;
use super::{Node, PersistCounters, PersistRequest};
use units::{Cycles, Duration, LineAddr, Time};

impl Node {
    /// What has come to the persist buffer and what has to leave it since this was last asked, in order: times do not
    /// fall, over all calls, and none is before the latest answer that the node got.
    ///
    /// There is one [`PersistRequest::Persist`] for each touch that stores, as the feed gave it and in program order, also
    /// where the first-level cache has lines of 32 bytes and the node has cut the touch: an owner that keeps the bytes of
    /// stores in that order takes the next ones for each. If [`Waits::hold`](super::Waits::hold) says so of it, no other
    /// follows until [`Node::persisted`]. Each [`PersistRequest::Drain`] is answered by [`Node::drained`]; many may be under way,
    /// and no store comes to a line from its drain to that answer.
    pub fn persist_requests(&mut self) -> impl Iterator<Item = PersistRequest> + '_ {
        self.core.stores.persist.iter_mut().flat_map(|path| path.requests.drain(..))
    }

    /// The stores of the program that L1D has had since this was last asked, in program order, one for each touch as the feed gave
    /// it, and when each left the store queue, or the write buffer behind it: times do not fall. None if
    /// [`NodeConfig::reports_stores`](super::NodeConfig::reports_stores) does not ask for them.
    pub fn take_written_stores(&mut self) -> impl Iterator<Item = (Time, LineAddr)> + use<> {
        let clock = self.clock;
        self.core.stores.take_written().into_iter().map(move |(cycle, line)| (clock.start_of(Cycles(cycle)), line))
    }

    /// What the latest store to the persist buffer waits for is done at `at`: it leaves the store queue. Returns for how long
    /// nothing had retired because of that.
    ///
    /// # Panics
    /// If no store waits for an answer.
    pub fn persisted(&mut self, at: Time) -> Duration {
        let (before, cycle) = (self.standing(), self.clock.cycle_at_or_after(at).0);
        self.core.stores.persisted(cycle);
        self.clock.span(Cycles(self.held_up_by_persist(&before, cycle)))
    }

    /// The entry of a line that was to be drained has left the persist buffer at `at`. Returns for how long nothing had
    /// retired because a store waited for that.
    ///
    /// # Panics
    /// If the line was not to be drained.
    pub fn drained(&mut self, line: LineAddr, at: Time) -> Duration {
        self.has_room(at, |path, cycle| path.drained(line, cycle))
    }

    /// The persist buffer of another core, which writes the line, takes its entry over at `at`, if there is one that is not
    /// leaving. Returns as [`Node::drained`].
    ///
    /// # Panics
    /// If there is no persist buffer.
    pub fn give_up_entry(&mut self, line: LineAddr, at: Time) -> Duration {
        self.has_room(at, |path, cycle| path.give_up(line, cycle))
    }

    /// Another core reads the line at `at`: its entry has to leave, if there is one that is not leaving.
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
        let lost = if goes_on { self.held_up_by_persist(&before, cycle) } else { 0 };
        self.clock.span(Cycles(lost))
    }

    /// Whether the persist buffer has an entry of a line that is not leaving.
    pub fn has_entry(&self, line: LineAddr) -> bool {
        self.core.stores.persist.as_ref().is_some_and(|path| path.has_entry(line))
    }

    /// Whether the persist buffer has an entry of a line, be it that it is leaving.
    pub fn occupies(&self, line: LineAddr) -> bool {
        self.core.stores.persist.as_ref().is_some_and(|path| path.occupies(line))
    }

    /// What the persist buffer counted; nothing if there is none.
    pub fn persist_counters(&self) -> Option<PersistCounters> {
        self.core.stores.persist.as_ref().map(|path| path.counters)
    }
}
