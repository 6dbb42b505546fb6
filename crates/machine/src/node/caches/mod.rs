//! The private caches: L1I, L1D and the L2 behind both.
//!
//! A hit in either level returns the cycle of its data at once. An L2 miss, or a store to a line that other cores may
//! hold, adds a request to [`Outgoing`]. The caches keep the waiter until the line is [filled](Caches::filled). The
//! permission to write a line applies to all copies of a core. The caches are write-back caches and allocate lines on
//! writes. L2 is neither inclusive nor exclusive of L1, and receives the lines that L1D writes back. Tags change in the
//! order in which accesses are *scheduled*, which is nearly program order, not in the order of their cycles.

pub(super) mod access;
mod clean_victims;
mod contents;
mod fill;
mod l1d;
mod l1d_lookups;
mod l1i;
mod l2;
mod metadata;
mod mshr;
mod outgoing;
mod outstanding;
pub(super) mod prefetch;
mod prefetchers;
pub(super) mod prefetching;
mod sharing;
pub(super) mod timed;
mod warm;

pub use clean_victims::CleanVictims;
pub use l1i::L1i;
pub use l2::L2;
pub use metadata::MetadataLines;
pub use outgoing::Outgoing;
pub use prefetch::PrefetcherConfig;
pub use prefetchers::Prefetchers;

use crate::cache::MesiState;
use crate::node::config::NodeConfig;
use crate::node::interface::RequestKind;
use crate::node::lines::WordAddr;
use access::{Answer, Waiter};
use l1d::L1d;
use outstanding::{FillReason, OutstandingLines};
use std::collections::VecDeque;

/// An access that found no free miss register.
#[derive(Clone, Copy, Debug)]
struct Stalled {
    word: WordAddr,
    cycle: u64,
    waiter: Waiter,
}

/// All private caches of one core.
#[derive(Clone, Debug)]
pub struct Caches {
    pub(in crate::node) l1d: L1d,
    /// The second-level cache of the core.
    pub l2: L2,
    pub(in crate::node) outstanding: OutstandingLines,
    /// Accesses that wait for miss registers, in the order of their arrival.
    stalled: VecDeque<Stalled>,
    /// The first-level instruction cache of the core.
    pub l1i: L1i,
    /// Requests that left L2 in this step of the node.
    pub outgoing: Outgoing,
    /// The prefetchers of L1D and L2.
    pub prefetchers: Prefetchers,
    /// True once any line has been filled with shared permission or downgraded to read only.
    has_shared: bool,
    /// Stores to lines that the core held without write permission.
    pub(in crate::node) upgrades: u64,
}

impl Caches {
    pub(in crate::node) fn new(config: &NodeConfig) -> Caches {
        Caches {
            l1d: L1d::new(config),
            l2: L2::new(config),
            outstanding: OutstandingLines::new(config),
            stalled: VecDeque::new(),
            l1i: L1i::new(config),
            outgoing: Outgoing::new(config.clock_mhz.clock()),
            prefetchers: Prefetchers::new(config),
            has_shared: false,
            upgrades: 0,
        }
    }

    /// Looks `word` up for `waiter` at `cycle`. If the answer is not `At`, the caches wake the waiter later.
    #[inline]
    pub(in crate::node) fn access(&mut self, word: WordAddr, cycle: u64, waiter: Waiter) -> Answer {
        let cycle = if matches!(waiter, Waiter::Walk(_)) { self.l1d.lookups.enter(cycle) } else { cycle };
        let queues = self.l1d.is_in_order() && !self.stalled.is_empty() && waiter != Waiter::Fetch;
        let answer = if queues { Answer::Stalled } else { self.attempt(word, cycle, waiter) };
        if answer == Answer::Stalled {
            self.stalled.push_back(Stalled { word, cycle, waiter });
        }
        answer
    }

    /// Returns true if another access may enter L1D, next to the accesses that wait in it for miss registers.
    #[inline]
    pub(in crate::node) fn has_room(&self) -> bool {
        let inside = || self.stalled.iter().filter(|stalled| stalled.waiter.is_inside_l1d()).count();
        !self.l1d.is_in_order()
            || self.stalled.is_empty()
            || self.l1d.lookups.places().is_none_or(|places| inside() < places)
    }

    /// Retries the access that has stalled for longest; `None` if no access has stalled or this access stalls again.
    pub(in crate::node) fn retry(&mut self, cycle: u64) -> Option<(Waiter, Answer)> {
        let first = *self.stalled.front()?;
        match self.attempt(first.word, first.cycle.max(cycle - self.l1d.looked_up_first()), first.waiter) {
            Answer::Stalled => None,
            answer => {
                self.stalled.pop_front();
                Some((first.waiter, answer))
            }
        }
    }

    #[inline]
    fn attempt(&mut self, word: WordAddr, cycle: u64, waiter: Waiter) -> Answer {
        if waiter == Waiter::Fetch {
            return self.fetch(word, cycle);
        }
        match self.l1d.look_up(word, cycle, waiter) {
            Some(ready) => Answer::At(ready),
            None => self.data_miss(word, cycle, waiter),
        }
    }

    /// Sends an access to L2, and beyond if L2 misses or the core lacks write permission.
    fn data_miss(&mut self, word: WordAddr, cycle: u64, waiter: Waiter) -> Answer {
        if let Some(register) = self.under_way(word) {
            return self.join(register, word, cycle, waiter);
        }
        let Some((vacancy, cycle)) = self.l1d.admit_miss(cycle) else { return Answer::Stalled };
        if self.outstanding.vacancy(cycle).is_none() && !self.l2.holds(word) {
            return Answer::Stalled;
        }
        let looked_up = self.l2.look_up_from(cycle + self.l1d.latency());
        let write = waiter.writes();
        let purpose = if write { FillReason::Write } else { FillReason::Read };
        let in_l2 = self.l2.hit(word);
        if let Some(state) = in_l2.filter(|state| !write || *state > MesiState::Shared) {
            self.l1d.mshrs.take(vacancy, looked_up);
            self.l1d.counts.misses += 1;
            self.l2.counts.hits += 1;
            self.fill_l1d(word, looked_up, purpose, state, looked_up);
            return Answer::At(looked_up);
        }
        let kind = match write {
            true if in_l2.is_some() || self.l1d.holds(word) => RequestKind::Upgrade,
            true => RequestKind::ReadForOwnership,
            false => RequestKind::Read,
        };
        if kind == RequestKind::Upgrade
            && let Some(register) = self.outstanding.find(word.line())
        {
            return self.join(register, word, cycle, waiter);
        }
        let Some(register) = self.ask(word, looked_up, kind, waiter) else { return Answer::Stalled };
        let data = self.l1d.lines().covered(word);
        self.outstanding.line(register).want_data(data, purpose, &mut self.l1d.counts.prefetches);
        self.l1d.mshrs.take_for(vacancy, self.l1d.lines().key(word));
        self.l1d.counts.misses += u64::from(kind != RequestKind::Upgrade);
        Answer::Requested
    }

    /// Adds a data access to the line that `register` of L2 awaits.
    fn join(&mut self, register: usize, word: WordAddr, cycle: u64, waiter: Waiter) -> Answer {
        let data = self.l1d.lines().covered(word);
        let store = waiter.writes();
        // The line may arrive before this access has been looked up.
        let mut earliest = cycle + if store { 1 } else { self.l1d.latency() };
        if self.outstanding.line(register).data.overlap(data) {
            self.l1d.counts.merged += waiter.counted();
        } else {
            let Some(vacancy) = self.l1d.mshrs.vacancy(cycle) else { return Answer::Stalled };
            earliest = self.l2.look_up_from(vacancy.start + self.l1d.latency());
            self.l1d.mshrs.take_for(vacancy, self.l1d.lines().key(word));
            self.l2.counts.merged += 1;
            self.l1d.counts.misses += 1;
        }
        let wants = waiter.wants(word, self.l1i.lines());
        let outstanding = self.outstanding.line(register);
        let purpose = if store { FillReason::Write } else { FillReason::Read };
        outstanding.want_data(data, purpose, &mut self.l1d.counts.prefetches);
        outstanding.want_second(self.l2.lines().covered(word), false, &mut self.l2.counts.prefetches);
        if let Some(arrival_of) = outstanding.arrival_of(wants) {
            return Answer::At(earliest.max(arrival_of));
        }
        self.outstanding.wait(register, waiter, earliest, wants);
        Answer::Requested
    }

    /// Looks up code in L1I. Fetch waits for one line at a time, in order; a hit adds no front-end latency.
    fn fetch(&mut self, word: WordAddr, cycle: u64) -> Answer {
        if let Some(ready) = self.l1i.look_up(word, cycle, self.l2.latency()) {
            return Answer::At(ready);
        }
        let code = self.l1i.lines().covered(word);
        if let Some(register) = self.under_way(word) {
            self.l1i.counts.misses += 1;
            self.l2.counts.merged += 1;
            let outstanding = self.outstanding.line(register);
            outstanding.code.add(code);
            outstanding.want_second(self.l2.lines().covered(word), false, &mut self.l2.counts.prefetches);
            self.outstanding.wait(register, Waiter::Fetch, cycle, code);
            return Answer::Requested;
        }
        if self.outstanding.vacancy(cycle).is_none() && !self.l2.holds(word) {
            return Answer::Stalled;
        }
        let looked_up = self.l2.look_up_from(self.l1i.missed_at(cycle));
        // L1D may hold the only copy of code that was just written.
        if self.l2.hit(word).is_some() || self.l1d.holds(word) {
            self.l1i.counts.misses += 1;
            self.l2.counts.hits += 1;
            self.l1i.fill(word, looked_up);
            return Answer::At(looked_up);
        }
        let kind = RequestKind::Instruction;
        let Some(register) = self.ask(word, looked_up, kind, Waiter::Fetch) else { return Answer::Stalled };
        self.outstanding.line(register).code.add(code);
        self.l1i.counts.misses += 1;
        Answer::Requested
    }

    /// Returns the register of the memory line of `word`, if L2 awaits `word` or does not hold it.
    fn under_way(&self, word: WordAddr) -> Option<usize> {
        let register = self.outstanding.find(word.line())?;
        let wanted = self.outstanding.second(register).overlap(self.l2.lines().covered(word));
        (wanted || !self.l2.holds(word)).then_some(register)
    }

    /// Requests the line of `word` from beyond L2, if a miss register is free; returns the index of the register.
    fn ask(&mut self, word: WordAddr, cycle: u64, kind: RequestKind, waiter: Waiter) -> Option<usize> {
        let vacancy = self.outstanding.vacancy(cycle)?;
        let register = self.outstanding.begin(vacancy, word.line());
        let second = self.l2.lines().covered(word);
        self.outstanding.line(register).want_second(second, false, &mut self.l2.counts.prefetches);
        self.outstanding.wait(register, waiter, cycle, waiter.wants(word, self.l1i.lines()));
        match kind {
            RequestKind::Upgrade => self.upgrades += 1,
            _ => self.l2.counts.misses += 1,
        }
        let sent = self.outgoing.send(word, vacancy.start, kind);
        if matches!(kind, RequestKind::Read | RequestKind::ReadForOwnership) {
            self.outstanding.sent_for_data(register, sent);
        }
        Some(register)
    }
}
