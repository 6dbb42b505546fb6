//! Guesses the next word of a strand from the last word at the same position.
//!
//! A position is the k-th record after the entry of a block. If the previous record at this position was an access, the
//! guess is the same access with the latest stride added to its address. If the previous record was the entry of a
//! block, the guess is the same block.

use rustc_hash::FxHashMap;
use wire::word::{self, TraceWord};

/// Mask of the address in the word of an access.
pub const ADDRESS: u64 = (1 << 48) - 1;

#[derive(Clone, Copy, Default)]
struct LinePosition {
    word: u64,
    stride: u64,
}

/// Predictor of one strand.
#[derive(Default)]
pub struct WordPredictor {
    /// Positions of each block; blocks are in the order of their first entry.
    blocks: Vec<Vec<LinePosition>>,
    numbers: FxHashMap<u32, usize>,
    block: usize,
    at: usize,
    last_address: u64,
}

impl WordPredictor {
    /// Returns the guess, if the position had a record before.
    #[inline]
    pub fn guess(&self) -> Option<u64> {
        let entry = self.blocks.get(self.block)?.get(self.at)?;
        Some(entry.word & !ADDRESS | entry.word.wrapping_add(entry.stride) & ADDRESS)
    }

    /// Address of the previous access.
    pub fn last_address(&self) -> u64 {
        self.last_address
    }

    /// Learns the actual word, and moves to the next position.
    #[inline]
    pub fn learn(&mut self, word: u64) {
        let is_access = word >> 63 == 0;
        if let Some(places) = self.blocks.get_mut(self.block) {
            match places.get_mut(self.at) {
                Some(entry) => {
                    let both = is_access && entry.word >> 63 == 0;
                    entry.stride = if both { word.wrapping_sub(entry.word) & ADDRESS } else { 0 };
                    entry.word = word;
                }
                None => places.push(LinePosition { word, stride: 0 }),
            }
        }
        self.at += 1;
        if is_access {
            self.last_address = word & ADDRESS;
        } else if let TraceWord::Block { id, .. } = word::parse(word) {
            self.enter(id);
        }
    }

    fn enter(&mut self, id: u32) {
        self.block = *self.numbers.entry(id).or_insert_with(|| {
            self.blocks.push(Vec::new());
            self.blocks.len() - 1
        });
        self.at = 0;
    }
}
