//! Fills of the private caches.

use crate::cache::MesiState;
use crate::node::caches::Caches;
use crate::node::caches::outstanding::FillReason;
use crate::node::interface::Permission;
use crate::node::lines::WordAddr;
use crate::node::waiting::List;
use units::LineAddr;

impl Caches {
    /// Enters an arrived line into the caches that want it, and returns the list of its waiters. If the permission is
    /// shared, waiting stores must request write permission.
    ///
    /// # Panics
    /// If the line is not outstanding.
    pub(in crate::node) fn filled(&mut self, line: LineAddr, cycle: u64, permission: Permission) -> List {
        self.outgoing.answered(cycle);
        let wanted = self.outstanding.arrived(line, cycle);
        let granted = self.granted(line, permission);
        for word in self.l2.lines().some_of(line, wanted.second) {
            let purpose = wanted.second_purpose(self.l2.lines().covered(word));
            self.l2.fill(word, purpose, granted, cycle, &mut self.outgoing);
        }
        for word in self.l1d.lines().some_of(line, wanted.data) {
            self.l1d.mshrs.arrived(self.l1d.lines().key(word), cycle);
            let purpose = wanted.data_purpose(self.l1d.lines().covered(word));
            self.fill_l1d(word, cycle, purpose, granted, cycle);
        }
        self.l1i.fill_words(line, wanted.code, cycle);
        wanted.waiters
    }

    /// Enters a line into L1D. L2 holds the line, or receives it at the same time with the permission `granted`. If L1D
    /// holds the line already, the request was for write permission only. L2 receives a dirty line that L1D evicts.
    pub(super) fn fill_l1d(
        &mut self,
        word: WordAddr,
        arrival: u64,
        purpose: FillReason,
        granted: MesiState,
        cycle: u64,
    ) {
        if let Some(victim) = self.l1d.fill(word, arrival, purpose, granted, self.has_shared) {
            self.l2.look_up_from(arrival);
            self.l2.write_back(victim, cycle, &mut self.outgoing);
        }
    }
}
