//! Guessing the next word from what followed at the same place last time.
//!
//! A place is the k-th record after the entry of a block. If an access was there, the guess is the same access as far
//! on as it moved the last time; if another block was entered there, the guess is that block.

use rustc_hash::FxHashMap;
use wire::word::{self, Word};

/// The bits of an access that are its address.
pub const ADDRESS: u64 = (1 << 48) - 1;

#[derive(Clone, Copy, Default)]
struct LinePosition {
    word: u64,
    stride: u64,
}

/// What one strand has taught.
#[derive(Default)]
pub struct Predictor {
    /// Blocks in the order they were first entered, each with its places.
    blocks: Vec<Vec<LinePosition>>,
    numbers: FxHashMap<u32, usize>,
    block: usize,
    at: usize,
    last_address: u64,
}

impl Predictor {
    /// The guess, if anything was here before.
    #[inline]
    pub fn guess(&self) -> Option<u64> {
        let place = self.blocks.get(self.block)?.get(self.at)?;
        Some(place.word & !ADDRESS | place.word.wrapping_add(place.stride) & ADDRESS)
    }

    /// The address of the access before.
    pub fn last_address(&self) -> u64 {
        self.last_address
    }

    /// This is what it was: learns it and moves on.
    #[inline]
    pub fn learn(&mut self, word: u64) {
        let is_access = word >> 63 == 0;
        if let Some(places) = self.blocks.get_mut(self.block) {
            match places.get_mut(self.at) {
                Some(place) => {
                    let both = is_access && place.word >> 63 == 0;
                    place.stride = if both { word.wrapping_sub(place.word) & ADDRESS } else { 0 };
                    place.word = word;
                }
                None => places.push(LinePosition { word, stride: 0 }),
            }
        }
        self.at += 1;
        if is_access {
            self.last_address = word & ADDRESS;
        } else if let Word::Block { id, .. } = word::parse(word) {
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
