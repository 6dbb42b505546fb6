//! Distributes (deals) the strands of one execution to several cores; each core runs the chunks of its strands.
//!
//! A recording is one list of chunks, in which the strands (threads, and the processes that a program starts) take
//! turns. A strand is assigned to the core with the fewest strands that have not ended (the first of several) and stays
//! on this core. Strands of one core take turns as recorded. When a core requests its next chunk, the dealer keeps
//! earlier chunks of other cores for them. The cores' progress differs by at most [`KEPT_WORDS_MAX`]: while the dealer
//! keeps more, a core without chunks is idle. The recording does not show in which order the strands waited for each
//! other. The limit keeps the simulated order close to it.
//!
//! The dealer numbers the chunks in recorded order and determines the chunk after which each began (`deal/order.rs`). A
//! copied process begins when its parent has reached the call that makes the copy (`deal/births.rs`).

mod births;
mod order;

use crate::error::WorkloadError;
use crate::source::{Origin, Source, Stretch, Supplier, Supply};
use crate::stream::{Chunk, Strand};
use births::Births;
use order::ChunkOrder;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use wire::word::{self, Control, TraceWord};

/// Maximum words kept for other cores, 8 MB: some hundred thousand instructions. A chunk that exceeds this limit is
/// kept as a whole.
pub const KEPT_WORDS_MAX: usize = 1 << 20;

/// Deals one source to several cores.
pub struct Dealer<S> {
    source: S,
    order: ChunkOrder,
    births: Births,
    hands: Vec<VecDeque<(Arc<Chunk>, Stretch)>>,
    kept_words: usize,
    /// Number of chunks handed out or kept so far.
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
        order: ChunkOrder::default(),
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

    /// Strands of the chunks that no core has received yet, with the numbers of these chunks.
    pub fn waiting(&self) -> Vec<(Strand, u64)> {
        let chunks = self.hands.iter().flatten().filter(|(chunk, _)| !chunk.words.is_empty());
        chunks.map(|(chunk, stretch)| (chunk.strand, stretch.number)).collect()
    }

    /// Number of strands so far.
    pub fn strands(&self) -> usize {
        self.cores.len()
    }

    /// A number that increases with every event after which an idle core may have instructions.
    pub fn progress(&self) -> u64 {
        self.progress
    }

    /// True if a core without chunks may request more.
    pub fn has_room(&self) -> bool {
        self.kept_words < KEPT_WORDS_MAX
    }

    fn supply(&mut self, core: usize) -> Result<Supply, WorkloadError> {
        self.progress += u64::from(self.births.ask(core));
        loop {
            let next = self.hands[core].front();
            if next.is_some_and(|(chunk, _)| !self.births.may_begin(chunk)) {
                return Ok(Supply::Later);
            }
            if let Some((chunk, stretch)) = self.hands[core].pop_front() {
                self.births.hand_out(core, &chunk);
                self.progress += 1;
                self.kept_words -= chunk.words.len();
                return Ok(Supply::Chunk(chunk, stretch));
            }
            if self.ended {
                return Ok(Supply::End);
            }
            if !self.has_room() {
                return Ok(Supply::Later);
            }
            match self.source.next_chunk()? {
                Some(chunk) => self.keep(chunk),
                None => self.ended = true,
            }
        }
    }

    /// Puts a chunk into the hand of its strand's core. All cores get blocks: their strands may be of the same
    /// process.
    fn keep(&mut self, chunk: Arc<Chunk>) {
        let owner = self.core_of(chunk.strand);
        let stretch = self.order.number(&chunk);
        self.births.keep(&chunk);
        self.progress += 1;
        if !chunk.new_blocks.is_empty() && self.hands.len() > 1 {
            let blocks = Chunk { strand: chunk.strand, new_blocks: chunk.new_blocks.clone(), words: Vec::new() };
            let blocks = Arc::new(blocks);
            for (_, hand) in self.hands.iter_mut().enumerate().filter(|(core, _)| *core != owner) {
                hand.push_back((blocks.clone(), stretch));
            }
        }
        let last = chunk.words.last().map(|last| word::parse(*last));
        if matches!(last, Some(TraceWord::Control { which: Some(Control::Ended), .. })) {
            self.live[owner] = self.live[owner].saturating_sub(1);
        }
        self.kept_words += chunk.words.len();
        self.hands[owner].push_back((chunk, stretch));
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

    fn chunk(process: u32, thread: u32, words: Vec<u64>) -> Chunk {
        Chunk { strand: Strand { process, thread }, words, ..Chunk::default() }
    }

    /// Returns the words of all chunks that a hand receives until its supply pauses or ends.
    fn words(hand: &mut Hand<Listed>) -> Vec<u64> {
        let mut words = Vec::new();
        while let Supply::Chunk(chunk, _) = hand.supply().unwrap() {
            words.extend(&chunk.words);
        }
        words
    }

    #[test]
    fn each_core_receives_the_chunks_of_its_thread_in_order() {
        let chunks = (0..12).map(|n| chunk(0, n % 3, vec![n.into()])).collect();
        let (_, mut hands) = deal(Listed::new(chunks), 3);
        for (core, hand) in hands.iter_mut().enumerate() {
            let core = core as u64;
            assert_eq!(words(hand), [core, core + 3, core + 6, core + 9]);
        }
    }

    #[test]
    fn a_thread_that_has_ended_frees_its_core_for_another() {
        let ended = word::control(Control::Ended, 0, 0);
        let chunks =
            vec![chunk(0, 0, vec![0]), chunk(0, 1, vec![1, ended]), chunk(0, 2, vec![2]), chunk(0, 3, vec![3])];
        let (_, mut hands) = deal(Listed::new(chunks), 2);
        assert_eq!(words(&mut hands[1]), [1, ended, 2]);
        assert_eq!(words(&mut hands[0]), [0, 3]);
    }

    #[test]
    fn a_core_waits_for_its_thread_while_too_many_words_are_buffered_for_other_cores() {
        let long = || chunk(0, 0, vec![7; KEPT_WORDS_MAX / 2]);
        let (dealer, mut hands) = deal(Listed::new(vec![long(), long(), chunk(0, 1, vec![1])]), 2);
        assert!(matches!(hands[1].supply().unwrap(), Supply::Later));
        assert!(!dealer.borrow().has_room());
        assert!(matches!(hands[0].supply().unwrap(), Supply::Chunk(..)));
        assert_eq!(words(&mut hands[1]), [1]);
        assert!(matches!(hands[1].supply().unwrap(), Supply::End), "the source has ended");
        assert!(matches!(hands[0].supply().unwrap(), Supply::Chunk(..)), "what was kept is still there");
    }

    #[test]
    fn every_core_receives_block_definitions_before_a_chunk_that_may_use_them() {
        let blocks = vec![block(0, 0x100, &[&[0x90]])];
        let first = Chunk { new_blocks: blocks.clone(), ..chunk(0, 0, vec![0]) };
        let (_, mut hands) = deal(Listed::new(vec![first, chunk(0, 1, vec![1])]), 2);
        let Supply::Chunk(announced, _) = hands[1].supply().unwrap() else { panic!("nothing was told") };
        assert_eq!((&announced.new_blocks, announced.words.len()), (&blocks, 0));
        assert_eq!(words(&mut hands[1]), [1]);
    }
}
