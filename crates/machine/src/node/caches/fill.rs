//! Fills and evictions of the private caches.

use crate::cache::{Eviction, MesiState};
use crate::node::caches::Caches;
use crate::node::caches::outstanding::FillReason;
use crate::node::interface::{Permission, RequestKind};
use crate::node::lines::WordAddr;
use crate::node::waiting::List;
use units::{LineAddr, Words};

#[cold]
fn not_requested(line: LineAddr) -> ! {
    panic!("line {line} was filled but not requested");
}

impl Caches {
    /// Enters an arrived line into the caches that want it, and returns the list of its waiters. If the permission is
    /// shared, waiting stores must request write permission.
    pub(in crate::node) fn filled(&mut self, line: LineAddr, cycle: u64, permission: Permission) -> List {
        self.outgoing.answered(cycle);
        let Some(register) = self.l2_mshrs.arrived(line.0, cycle) else { not_requested(line) };
        self.count_miss(register, cycle);
        let wanted = self.outstanding[register];
        let granted = self.granted(line, permission);
        for word in self.l2_lines.some_of(line, wanted.second) {
            let purpose = wanted.second_purpose(self.l2_lines.covered(word));
            self.fill_l2(word, purpose, granted, cycle);
        }
        for word in self.l1d_lines.some_of(line, wanted.data) {
            self.l1d_mshrs.arrived(self.l1d_lines.key(word), cycle);
            let purpose = wanted.data_purpose(self.l1d_lines.covered(word));
            self.fill_l1d(word, cycle, purpose, granted, cycle);
        }
        for word in self.l1i_lines.some_of(line, wanted.code) {
            self.l1i.fill(self.l1i_lines.key(word), cycle, MesiState::Shared);
        }
        wanted.waiters
    }

    /// Records words of a line that arrived before the remaining words. Returns the list of waiters that need only these
    /// words.
    pub(in crate::node) fn arrived_in_part(&mut self, line: LineAddr, words: Words, cycle: u64) -> List {
        self.outgoing.answered(cycle);
        let Some(register) = self.l2_mshrs.find(line.0) else { not_requested(line) };
        self.count_miss(register, cycle);
        let (mut served, mut others) = (List::EMPTY, List::EMPTY);
        let mut all = self.outstanding[register].waiters;
        while let Some(waiting) = self.waiters.pop(&mut all) {
            let list = if words.contains(waiting.2) { &mut served } else { &mut others };
            self.waiters.push(list, waiting);
        }
        self.outstanding[register].waiters = others;
        self.outstanding[register].first = (words, cycle);
        served
    }

    /// Adds the cycles from the request to the arrival of the first words to the miss statistics, if an access to data
    /// requested the line.
    fn count_miss(&mut self, register: usize, cycle: u64) {
        if let Some(sent) = self.outstanding[register].sent_for_data.take() {
            self.l2_data_misses.lines += 1;
            self.l2_data_misses.cycles += cycle - sent;
        }
    }

    /// Enters a line into L1D. L2 holds the line, or receives it at the same time with the permission `granted`. If L1D
    /// holds the line already, the request was for write permission only.
    pub(in crate::node) fn fill_l1d(
        &mut self,
        word: WordAddr,
        arrival: u64,
        purpose: FillReason,
        granted: MesiState,
        cycle: u64,
    ) {
        let key = self.l1d_lines.key(word);
        let state = match purpose {
            FillReason::Write if granted > MesiState::Shared => MesiState::Modified,
            _ => granted.min(MesiState::Exclusive),
        };
        if self.has_shared
            && let Some(slot) = self.l1d.tags.lookup(key)
        {
            self.l1d.tags.raise(slot, state);
            return;
        }
        let (slot, evicted) = self.l1d.fill(key, arrival, state);
        self.l1d_counters.prefetches.useless += u64::from(self.l1d_unused.take(slot));
        if purpose == FillReason::Prefetch {
            self.l1d_unused.note(slot);
        }
        if let Some(Eviction { key, dirty: true }) = evicted {
            self.l1d_counters.writebacks += 1;
            self.look_up_l2(arrival);
            self.write_back_to_l2(self.l1d_lines.first(key), cycle);
        }
    }

    /// Puts a dirty line that L1D has evicted into L2.
    fn write_back_to_l2(&mut self, word: WordAddr, cycle: u64) {
        let held = if self.l2_writeback_is_use { None } else { self.l2.probe(self.l2_lines.key(word)) };
        match held {
            Some(slot) => self.l2.raise(slot, MesiState::Modified),
            None => self.fill_l2(word, FillReason::Write, MesiState::Modified, cycle),
        }
    }

    pub(in crate::node) fn fill_l2(&mut self, word: WordAddr, purpose: FillReason, state: MesiState, cycle: u64) {
        let key = self.l2_lines.key(word);
        if let Some(slot) = self.l2.lookup(key) {
            self.l2.raise(slot, state);
            return;
        }
        let (slot, evicted) = self.l2.insert_as(key, state);
        self.l2_counters.prefetches.useless += u64::from(self.l2_unused.take(slot));
        if purpose == FillReason::Prefetch {
            self.l2_unused.note(slot);
        }
        let Some(Eviction { key, dirty }) = evicted else { return };
        let first = self.l2_lines.first(key);
        let victim = first.line();
        let is_sent_clean = self.clean_victims.evict(victim);
        if self.metadata.contain(victim) {
            self.metadata.displace(victim);
        } else if dirty {
            self.l2_counters.writebacks += 1;
            self.outgoing.send(first, cycle, RequestKind::WriteBack);
        } else if is_sent_clean {
            self.outgoing.send(first, cycle, RequestKind::CleanVictim);
        }
    }
}
