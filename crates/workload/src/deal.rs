//! Distributes (deals) the strands of one execution to several cores; each core runs the batches of its strands.
//!
//! A recording is one list of batches, in which the strands (threads, and the processes that a program starts) take
//! turns. A strand is assigned to the core with the fewest strands that have not ended (the first of several) and stays
//! on this core. Strands of one core take turns as recorded. When a core requests its next batch, the dealer keeps
//! earlier batches of other cores for them. The cores' progress differs by at most [`KEPT_WORDS_MAX`]: while the dealer
//! keeps more, a core without batches is idle. The recording does not show in which order the strands waited for each
//! other. The limit keeps the simulated order close to it.
//!
//! The dealer numbers the batches in recorded order and determines the batch after which each began (`deal/order.rs`).
//! A copied process begins when its parent has reached the call that makes the copy (`deal/births.rs`).

mod births;
mod open;
mod order;

use crate::error::WorkloadError;
use crate::source::{Finish, Origin, Source, Stretch, Supplier, Supply};
use crate::stream::{Batch, Strand};
use births::Births;
use open::OpenStrands;
use order::BatchOrder;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// Maximum words kept for other cores, 8 MB: some hundred thousand instructions. A batch that exceeds this limit is
/// kept as a whole.
pub const KEPT_WORDS_MAX: usize = 1 << 20;

/// Deals one source to several cores.
pub struct Dealer<S> {
    source: S,
    order: BatchOrder,
    open: OpenStrands,
    births: Births,
    hands: Vec<VecDeque<(Arc<Batch>, Stretch)>>,
    kept_words: usize,
    /// Number of batches handed out or kept so far.
    progress: u64,
    /// Index of the core of each strand.
    cores: FxHashMap<Strand, usize>,
    /// Number of strands that have not ended, by core.
    live: Vec<usize>,
    ended: bool,
}

/// One core's part of a source.
pub struct Hand<S> {
    dealer: Rc<RefCell<Dealer<S>>>,
    core: usize,
}

/// Deals `source` to `cores` cores.
pub fn deal<S: Source>(source: S, cores: usize) -> (Rc<RefCell<Dealer<S>>>, Vec<Hand<S>>) {
    let dealer = Dealer {
        source,
        order: BatchOrder::default(),
        open: OpenStrands::default(),
        births: Births::new(cores),
        hands: vec![VecDeque::new(); cores],
        kept_words: 0,
        progress: 0,
        cores: FxHashMap::default(),
        live: vec![0; cores],
        ended: false,
    };
    let dealer = Rc::new(RefCell::new(dealer));
    let hands = (0..cores).map(|core| Hand { dealer: dealer.clone(), core }).collect();
    (dealer, hands)
}

impl<S: Source> Dealer<S> {
    /// Description of the execution that is dealt.
    pub fn origin(&self) -> &Origin {
        self.source.origin()
    }

    /// The parts of an execution that no core has received, each with its strand and the batch after which the part begins.
    /// Each strand that has not ended has such a part, in later batches or after the end of the recording. The strand is
    /// `None` if a call has started it and the dealer has not read its first batch.
    pub fn unexecuted(&self) -> Vec<(Option<Strand>, u64)> {
        let batches = self.hands.iter().flatten().filter(|(batch, _)| !batch.words.is_empty());
        let waiting = batches.map(|(batch, stretch)| (batch.strand, stretch.after));
        let begun = waiting.chain(self.open.all()).map(|(strand, after)| (Some(strand), after));
        let is_whole = self.ended && matches!(self.origin().finish, Finish::Exited(_) | Finish::Killed(_));
        let unbegun = self.order.unbegun().filter(|_| !is_whole).map(|after| (None, after));
        begun.chain(unbegun).collect()
    }

    /// Number of strands so far.
    pub fn strands(&self) -> usize {
        self.cores.len()
    }

    /// A number that increases with every event after which an idle core may have instructions.
    pub fn progress(&self) -> u64 {
        self.progress
    }

    /// True if a core without batches may request more.
    pub fn has_room(&self) -> bool {
        self.kept_words < KEPT_WORDS_MAX
    }

    fn supply(&mut self, core: usize) -> Result<Supply, WorkloadError> {
        self.progress += u64::from(self.births.ask(core));
        loop {
            let next = self.hands[core].front();
            if next.is_some_and(|(batch, _)| !self.births.may_begin(batch)) {
                return Ok(Supply::Later);
            }
            if let Some((batch, stretch)) = self.hands[core].pop_front() {
                self.births.hand_out(core, &batch);
                self.progress += 1;
                self.kept_words -= batch.words.len();
                return Ok(Supply::Batch(batch, stretch));
            }
            if self.ended {
                return Ok(Supply::End);
            }
            if !self.has_room() {
                return Ok(Supply::Later);
            }
            match self.source.next_batch()? {
                Some(batch) => self.keep(batch),
                None => self.ended = true,
            }
        }
    }

    /// Puts a batch into the hand of its strand's core. All cores get blocks: their strands may be of the same
    /// process.
    fn keep(&mut self, batch: Arc<Batch>) {
        let owner = self.core_of(batch.strand);
        let stretch = self.order.number(&batch);
        if self.open.keep(&batch, stretch.number) {
            self.live[owner] = self.live[owner].saturating_sub(1);
        }
        self.births.keep(&batch);
        self.progress += 1;
        if !batch.new_blocks.is_empty() && self.hands.len() > 1 {
            let blocks = Batch { strand: batch.strand, new_blocks: batch.new_blocks.clone(), words: Vec::new() };
            let blocks = Arc::new(blocks);
            for (_, hand) in self.hands.iter_mut().enumerate().filter(|(core, _)| *core != owner) {
                hand.push_back((blocks.clone(), stretch));
            }
        }
        self.kept_words += batch.words.len();
        self.hands[owner].push_back((batch, stretch));
    }

    fn core_of(&mut self, strand: Strand) -> usize {
        let live = &mut self.live;
        *self.cores.entry(strand).or_insert_with(|| {
            let idlest = (0..live.len()).min_by_key(|core| live[*core]).unwrap_or(0);
            live[idlest] += 1;
            idlest
        })
    }
}

impl<S: Source> Supplier for Hand<S> {
    fn supply(&mut self) -> Result<Supply, WorkloadError> {
        self.dealer.borrow_mut().supply(self.core)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Listed, block};
    use wire::word::{self, Control};

    fn batch(process: u32, thread: u32, words: Vec<u64>) -> Batch {
        Batch { strand: Strand { process, thread }, words, ..Batch::default() }
    }

    /// Returns the words of all batches that a hand receives until its supply pauses or ends.
    fn words(hand: &mut Hand<Listed>) -> Vec<u64> {
        let mut words = Vec::new();
        while let Supply::Batch(batch, _) = hand.supply().unwrap() {
            words.extend(&batch.words);
        }
        words
    }

    #[test]
    fn each_core_receives_the_batches_of_its_thread_in_order() {
        let batches = (0..12).map(|n| batch(0, n % 3, vec![n.into()])).collect();
        let (_, mut hands) = deal(Listed::new(batches), 3);
        for (core, hand) in hands.iter_mut().enumerate() {
            let core = core as u64;
            assert_eq!(words(hand), [core, core + 3, core + 6, core + 9]);
        }
    }

    #[test]
    fn a_thread_that_has_ended_frees_its_core_for_another() {
        let ended = word::control(Control::Ended, 0, 0);
        let batches =
            vec![batch(0, 0, vec![0]), batch(0, 1, vec![1, ended]), batch(0, 2, vec![2]), batch(0, 3, vec![3])];
        let (_, mut hands) = deal(Listed::new(batches), 2);
        assert_eq!(words(&mut hands[1]), [1, ended, 2]);
        assert_eq!(words(&mut hands[0]), [0, 3]);
    }

    #[test]
    fn the_part_of_a_strand_after_its_last_batch_is_unexecuted_until_the_strand_ends() {
        let start = word::control(Control::Syscall, 0, 56);
        let ended = word::control(Control::Ended, 0, 0);
        let batches = vec![batch(0, 0, vec![start]), batch(0, 1, vec![1]), batch(0, 0, vec![2, start])];
        let unexecuted_after = |more: Vec<Batch>, finish| {
            let source = Listed::new([batches.clone(), more].concat()).finished(finish);
            let (dealer, mut hands) = deal(source, 2);
            words(&mut hands[0]);
            let mut parts: Vec<_> = dealer.borrow().unexecuted();
            parts.sort_unstable_by_key(|(strand, after)| (strand.map(|strand| strand.thread), *after));
            parts.into_iter().map(|(strand, after)| (strand.map(|strand| strand.thread), after)).collect::<Vec<_>>()
        };
        let (open, other) = ((Some(0), 3), [(Some(1), 1), (Some(1), 2)]);
        assert_eq!(unexecuted_after(Vec::new(), Finish::LimitReached), [&[(None, 3), open][..], &other].concat());
        assert_eq!(unexecuted_after(Vec::new(), Finish::Killed(9)), [&[open][..], &other].concat(), "the call failed");
        assert_eq!(unexecuted_after(vec![batch(0, 0, vec![ended])], Finish::Exited(0)), other);
    }

    #[test]
    fn a_core_waits_for_its_thread_while_too_many_words_are_buffered_for_other_cores() {
        let long = || batch(0, 0, vec![7; KEPT_WORDS_MAX / 2]);
        let (dealer, mut hands) = deal(Listed::new(vec![long(), long(), batch(0, 1, vec![1])]), 2);
        assert!(matches!(hands[1].supply().unwrap(), Supply::Later));
        assert!(!dealer.borrow().has_room());
        assert!(matches!(hands[0].supply().unwrap(), Supply::Batch(..)));
        assert_eq!(words(&mut hands[1]), [1]);
        assert!(matches!(hands[1].supply().unwrap(), Supply::End), "the source has ended");
        assert!(matches!(hands[0].supply().unwrap(), Supply::Batch(..)), "what was kept is still there");
    }

    #[test]
    fn every_core_receives_block_definitions_before_a_batch_that_may_use_them() {
        let blocks = vec![block(0, 0x100, &[&[0x90]])];
        let first = Batch { new_blocks: blocks.clone(), ..batch(0, 0, vec![0]) };
        let (_, mut hands) = deal(Listed::new(vec![first, batch(0, 1, vec![1])]), 2);
        let Supply::Batch(announced, _) = hands[1].supply().unwrap() else { panic!("nothing was told") };
        assert_eq!((&announced.new_blocks, announced.words.len()), (&blocks, 0));
        assert_eq!(words(&mut hands[1]), [1]);
    }
}
