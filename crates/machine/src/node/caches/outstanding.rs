//! Lines that are outstanding beyond L2: their miss registers, the parts that each cache wants, and the waiters.
//!
//! A part of the line is *ahead* of its use while only a prefetcher has requested it. A demand request from the level
//! above makes it an ordinary part.

use crate::node::caches::access::Waiter;
use crate::node::caches::mshr::{Mshrs, Vacancy};
use crate::node::caches::outgoing::Outgoing;
use crate::node::config::NodeConfig;
use crate::node::counts::{MissCounts, PrefetchCounts};
use crate::node::interface::RequestKind;
use crate::node::lines::WordAddr;
use crate::node::waiting::{List, Lists};
use units::{LineAddr, Words};

/// A line outstanding beyond L2.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct Outstanding {
    /// Words that L1D wants. `written` and `data_prefetched` are the subsets that a store will write and that only the
    /// prefetcher requested.
    pub(in crate::node) data: Words,
    written: Words,
    data_prefetched: Words,
    /// Words that L1I wants.
    pub(in crate::node) code: Words,
    /// Words that L2 wants (for itself or for a first-level cache). `second_prefetched` is the subset that only the
    /// prefetcher requested.
    pub(in crate::node) second: Words,
    second_prefetched: Words,
    /// Cycle of the request, if an access to data sent it.
    sent_for_data: Option<u64>,
    /// Words that arrived before the remaining words, and the cycle of their arrival.
    first: (Words, u64),
    pub(in crate::node) waiters: List,
}

/// Reason why a line enters a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) enum FillReason {
    /// Demand read by the core.
    Read,
    /// Demand write by the core.
    Write,
    /// Prefetch ahead of its use.
    Prefetch,
}

impl Outstanding {
    const NOT_WANTED: Outstanding = Outstanding {
        data: Words::NONE,
        written: Words::NONE,
        data_prefetched: Words::NONE,
        code: Words::NONE,
        second: Words::NONE,
        second_prefetched: Words::NONE,
        sent_for_data: None,
        first: (Words::NONE, 0),
        waiters: List::EMPTY,
    };

    /// Adds `words` that L1D wants. If its prefetcher had requested them, the prefetch counts as late.
    pub(in crate::node) fn want_data(&mut self, words: Words, purpose: FillReason, prefetches: &mut PrefetchCounts) {
        match purpose {
            FillReason::Prefetch => self.data_prefetched.add(words.without(self.data)),
            FillReason::Read | FillReason::Write if self.data_prefetched.remove(words) => prefetches.count_use(true),
            FillReason::Read | FillReason::Write => {}
        }
        self.data.add(words);
        if purpose == FillReason::Write {
            self.written.add(words);
        }
    }

    /// Adds `words` that L2 wants, for its prefetcher (`is_prefetch`) or for an access from above.
    pub(in crate::node) fn want_second(&mut self, words: Words, is_prefetch: bool, prefetches: &mut PrefetchCounts) {
        if is_prefetch {
            self.second_prefetched.add(words.without(self.second));
        } else if self.second_prefetched.remove(words) {
            prefetches.count_use(true);
        }
        self.second.add(words);
    }

    /// Returns the arrival cycle of these words if they arrived before the remaining words.
    pub(in crate::node) fn arrival_of(&self, wanted: Words) -> Option<u64> {
        let (words, cycle) = self.first;
        words.contains(wanted).then_some(cycle)
    }

    /// Returns the purpose for which some words enter L1D.
    pub(in crate::node) fn data_purpose(&self, words: Words) -> FillReason {
        if self.written.overlap(words) {
            FillReason::Write
        } else if self.data_prefetched.overlap(words) {
            FillReason::Prefetch
        } else {
            FillReason::Read
        }
    }

    /// Returns the purpose for which some words enter L2.
    pub(in crate::node) fn second_purpose(&self, words: Words) -> FillReason {
        if self.second_prefetched.overlap(words) { FillReason::Prefetch } else { FillReason::Read }
    }
}

/// The miss registers of L2, and the lines that they wait for.
#[derive(Clone, Debug)]
pub(in crate::node) struct OutstandingLines {
    registers: Mshrs,
    /// State of each outstanding line, indexed by the line's register.
    lines: Box<[Outstanding]>,
    /// Waiters for outstanding lines, each with its earliest possible cycle and the words that it needs.
    waiters: Lists<(Waiter, u64, Words)>,
    data_misses: MissCounts,
}

#[cold]
fn not_requested(line: LineAddr) -> ! {
    panic!("line {line} was filled but not requested");
}

impl OutstandingLines {
    pub(super) fn new(config: &NodeConfig) -> OutstandingLines {
        OutstandingLines {
            registers: Mshrs::new(config.l2.mshrs, 1),
            lines: vec![Outstanding::NOT_WANTED; config.l2.mshrs].into(),
            waiters: Lists::new(),
            data_misses: MissCounts::default(),
        }
    }

    /// Returns the number of outstanding lines.
    pub(in crate::node) fn count(&self) -> usize {
        self.registers.outstanding()
    }

    /// Returns the register that waits for the line.
    #[inline]
    pub(in crate::node) fn find(&self, line: LineAddr) -> Option<usize> {
        self.registers.find(line.0)
    }

    /// Returns the line that a register waits for.
    #[inline]
    pub(super) fn line(&mut self, register: usize) -> &mut Outstanding {
        &mut self.lines[register]
    }

    /// Returns the words that L2 wants of the line that a register waits for.
    #[inline]
    pub(super) fn second(&self, register: usize) -> Words {
        self.lines[register].second
    }

    /// Returns the earliest known vacancy of a register at or after `cycle`.
    #[inline]
    pub(super) fn vacancy(&self, cycle: u64) -> Option<Vacancy> {
        self.registers.vacancy(cycle)
    }

    /// Occupies a register until the line arrives; returns its index.
    pub(super) fn begin(&mut self, vacancy: Vacancy, line: LineAddr) -> usize {
        let register = self.registers.take_for(vacancy, line.0);
        self.lines[register] = Outstanding::NOT_WANTED;
        register
    }

    /// Requests the line of `word` for a prefetcher, if a second register stays free. Returns the index of the
    /// register.
    pub(super) fn prefetch(&mut self, word: WordAddr, cycle: u64, outgoing: &mut Outgoing) -> Option<usize> {
        let vacancy = self.registers.spare(cycle)?;
        let register = self.begin(vacancy, word.line());
        outgoing.send(word, cycle, RequestKind::Prefetch);
        Some(register)
    }

    /// Records that an access to data sent the request of the line at `cycle`.
    pub(super) fn sent_for_data(&mut self, register: usize, cycle: u64) {
        self.lines[register].sent_for_data = Some(cycle);
    }

    /// Makes an access wait for words of the line. It can have its data at `earliest` or later.
    pub(super) fn wait(&mut self, register: usize, waiter: Waiter, earliest: u64, words: Words) {
        self.waiters.push(&mut self.lines[register].waiters, (waiter, earliest, words));
    }

    /// Frees the register of a line that arrived at `cycle`; returns the state of the line.
    ///
    /// # Panics
    /// If the line is not outstanding.
    pub(super) fn arrived(&mut self, line: LineAddr, cycle: u64) -> Outstanding {
        let Some(register) = self.registers.arrived(line.0, cycle) else { not_requested(line) };
        self.count_miss(register, cycle);
        self.lines[register]
    }

    /// Records words of a line that arrived before the remaining words. Returns the list of waiters that need only
    /// these words.
    ///
    /// # Panics
    /// If the line is not outstanding.
    pub(in crate::node) fn arrived_in_part(&mut self, line: LineAddr, words: Words, cycle: u64) -> List {
        let Some(register) = self.find(line) else { not_requested(line) };
        self.count_miss(register, cycle);
        let (mut served, mut others) = (List::EMPTY, List::EMPTY);
        let mut all = self.lines[register].waiters;
        while let Some(waiting) = self.waiters.pop(&mut all) {
            let list = if words.contains(waiting.2) { &mut served } else { &mut others };
            self.waiters.push(list, waiting);
        }
        self.lines[register].waiters = others;
        self.lines[register].first = (words, cycle);
        served
    }

    /// Removes the next waiter from the list. Returns the waiter with the earliest cycle at which it can have its data.
    #[inline]
    pub(in crate::node) fn next_waiter(&mut self, list: &mut List) -> Option<(Waiter, u64)> {
        self.waiters.pop(list).map(|(waiter, earliest, _)| (waiter, earliest))
    }

    /// Returns the latency statistics of the lines that accesses to data requested.
    pub(in crate::node) fn data_misses(&self) -> MissCounts {
        self.data_misses
    }

    /// Adds the cycles from the request to the arrival of the first words to the miss statistics, if an access to data
    /// requested the line.
    fn count_miss(&mut self, register: usize, cycle: u64) {
        if let Some(sent) = self.lines[register].sent_for_data.take() {
            self.data_misses.lines += 1;
            self.data_misses.cycles += cycle - sent;
        }
    }
}
