//! What enters the private caches, and what has to leave them for it.

use crate::cache::{Evicted, State};
use crate::node::caches::Caches;
use crate::node::caches::access::Waiter;
use crate::node::caches::outstanding::Purpose;
use crate::node::interface::{Permission, Request, RequestKind};
use crate::node::lines::Half;
use crate::node::waiting::List;
use units::LineAddr;

impl Caches {
    /// Takes in a line that arrived, and hands over the list of those that waited. If it must not be written, stores
    /// among them have to ask again.
    pub(in crate::node) fn filled(
        &mut self,
        line: LineAddr,
        cycle: u64,
        permission: Permission,
        out: &mut Vec<Request>,
    ) -> List {
        self.latest_fill = self.latest_fill.max(cycle);
        let Some(register) = self.l2_mshrs.arrived(line.0, cycle) else {
            panic!("line {line} was filled but not asked for");
        };
        let wanted = self.outstanding[register];
        if let Some(sent) = wanted.sent_for_data {
            self.l2_data_misses.lines += 1;
            self.l2_data_misses.cycles += cycle - sent;
        }
        let granted = self.granted(line, permission);
        for half in self.l2_lines.some_of(line, wanted.second) {
            let purpose = wanted.second_purpose(self.l2_lines.covered(half));
            self.fill_l2(half, purpose, granted, cycle, out);
        }
        for half in self.l1d_lines.some_of(line, wanted.data) {
            self.l1d_mshrs.arrived(self.l1d_lines.key(half), cycle);
            let purpose = wanted.data_purpose(self.l1d_lines.covered(half));
            self.fill_l1d(half, cycle, purpose, granted, cycle, out);
        }
        for half in self.l1i_lines.some_of(line, wanted.code) {
            self.l1i.fill(self.l1i_lines.key(half), cycle, State::Shared);
        }
        wanted.waiters
    }

    /// The next of those that waited, and before which cycle it cannot have what it waited for.
    pub(in crate::node) fn next_waiter(&mut self, list: &mut List) -> Option<(Waiter, u64)> {
        self.waiters.pop(list)
    }

    /// Enters what L2 has or gets with `granted` into L1D. What is there already was only asked to be written.
    pub(in crate::node) fn fill_l1d(
        &mut self,
        half: Half,
        arrival: u64,
        purpose: Purpose,
        granted: State,
        cycle: u64,
        out: &mut Vec<Request>,
    ) {
        let key = self.l1d_lines.key(half);
        let state = match purpose {
            Purpose::Write if granted > State::Shared => State::Modified,
            _ => granted.min(State::Exclusive),
        };
        if self.has_shared
            && let Some(slot) = self.l1d.tags.lookup(key)
        {
            self.l1d.tags.raise(slot, state);
            return;
        }
        let (slot, evicted) = self.l1d.fill(key, arrival, state);
        self.l1d_counters.prefetches.useless += u64::from(self.l1d_unused.take(slot));
        if purpose == Purpose::Ahead {
            self.l1d_unused.note(slot);
        }
        if let Some(Evicted { key, dirty: true }) = evicted {
            self.l1d_counters.writebacks += 1;
            self.look_up_l2(arrival);
            self.fill_l2(self.l1d_lines.first(key), Purpose::Write, State::Modified, cycle, out);
        }
    }

    pub(in crate::node) fn fill_l2(
        &mut self,
        half: Half,
        purpose: Purpose,
        state: State,
        cycle: u64,
        out: &mut Vec<Request>,
    ) {
        let key = self.l2_lines.key(half);
        if let Some(slot) = self.l2.lookup(key) {
            self.l2.raise(slot, state);
            return;
        }
        let (slot, evicted) = self.l2.insert_as(key, state);
        self.l2_counters.prefetches.useless += u64::from(self.l2_unused.take(slot));
        if purpose == Purpose::Ahead {
            self.l2_unused.note(slot);
        }
        let Some(Evicted { key, dirty }) = evicted else { return };
        let victim = self.l2_lines.first(key).line();
        let owed = !self.owed.is_empty() && self.owed.remove(&victim);
        if victim >= self.data_lines {
            self.displaced_metadata.push(victim);
        } else if dirty {
            self.l2_counters.writebacks += 1;
            self.send(victim, cycle, RequestKind::WriteBack, out);
        } else if owed || self.sends_clean_victims {
            self.send(victim, cycle, RequestKind::CleanVictim, out);
        }
    }
}
