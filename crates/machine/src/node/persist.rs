//! Interface of a core's persist buffer ([`NodeConfig::persist_buffer`](super::NodeConfig::persist_buffer)).
//!
//! The node owns the tags of the buffer, the order of stores, and the choice of the entry to drain. Its owner stores the bytes,
//! performs the early steps of a scheme and carries entries to memory. After each call of [`Node::run`], [`Node::answered`],
//! [`Node::arrived_in_part`], [`Node::persisted`], [`Node::drained`], [`Node::give_up_entry`], [`PersistPath::flush`] and of
//! warming, the owner takes the requests of [`PersistPath::take_requests`]. An owner of several nodes takes them before it calls
//! another node. If a store has allocated an entry, the owner removes the entries of the other nodes, so a line has one entry at
//! most.

use super::Node;
use super::pipeline::persist::PersistPath;
use units::{Cycles, Duration, LineAddr, Time};

impl Node {
    /// Returns the persist buffer with the path of stores into it, if the core has one.
    pub fn persist_buffer(&self) -> Option<&PersistPath> {
        self.core.stores.persist.as_deref()
    }

    /// Returns the persist buffer, for its owner and for reads by other cores.
    pub fn persist_buffer_mut(&mut self) -> Option<&mut PersistPath> {
        self.core.stores.persist.as_deref_mut()
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
}
