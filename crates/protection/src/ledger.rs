//! The ledger of keystream: it detects keystream that hides two texts.
//!
//! The ledger records every nonce of a pad or a mask, with the text that it hid. A pad that hides two texts is a
//! two-time pad, the gravest mistake that counter mode allows. A mask is the half of a Carter-Wegman tag that hides the
//! hash. Two hashes under one mask reveal their difference, and the difference reveals the hash key (Joux, 2006). The
//! ledger is on in every test.
//!
//! A tag over several lines is masked by the sum of their masks. This sum is fresh if one of its masks is fresh. So the
//! mask sums of new tags are linearly independent, and no two tags combine to a third.

use crate::mac::GROUP_MAX;
use crate::verbs::Keystream;
use arrayvec::ArrayVec;
use crypto::Nonce;
use rustc_hash::{FxHashMap, FxHashSet};
use units::Line;

/// Keystream that was used twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reuse {
    /// The pad of this nonce hid two plaintexts.
    Pad(Nonce),
    /// The mask of this nonce hid two hashes, possibly together with masks of other lines under the same tag.
    Mask(Nonce),
    /// The random number of a page chunk's pads was drawn twice, or a pad under this number hid two plaintexts.
    OfPageChunk(u128),
}

/// Texts hidden by the pads of a page chunk under their present number, by slot. The ledger keeps earlier numbers
/// without their texts.
#[derive(Clone)]
struct PageChunkPads {
    number: u128,
    hidden: FxHashMap<u8, Line>,
}

/// All keystream used so far under one key.
#[derive(Clone, Default)]
pub struct Ledger {
    padded: FxHashMap<Nonce, Line>,
    masked: FxHashSet<Nonce>,
    tagged: FxHashMap<ArrayVec<Nonce, GROUP_MAX>, ArrayVec<Line, GROUP_MAX>>,
    chunks: FxHashMap<u64, PageChunkPads>,
    /// All random numbers from which pads of page chunks were computed.
    numbers: FxHashSet<u128>,
    reuse: Option<Reuse>,
}

impl Ledger {
    /// Notes keystream and the text that it hides.
    pub fn note(&mut self, keystream: Keystream) {
        let reuse = match keystream {
            Keystream::Pad(nonce, plaintext) => self.pad(&nonce, &plaintext),
            Keystream::Masks(lines) => self.masks(&lines),
            Keystream::OfPageChunk { chunk, number, slot, text } => self.of_chunk(chunk, number, (slot, &text)),
        };
        self.reuse = self.reuse.or(reuse);
    }

    fn pad(&mut self, nonce: &Nonce, plaintext: &Line) -> Option<Reuse> {
        let before = self.padded.insert(*nonce, *plaintext);
        before.filter(|before| before != plaintext).map(|_| Reuse::Pad(*nonce))
    }

    fn of_chunk(&mut self, chunk: u64, number: u128, (slot, text): (u8, &Line)) -> Option<Reuse> {
        let is_current = self.chunks.get(&chunk).is_some_and(|pads| pads.number == number);
        if !is_current {
            self.chunks.insert(chunk, PageChunkPads { number, hidden: FxHashMap::default() });
            if !self.numbers.insert(number) {
                return Some(Reuse::OfPageChunk(number));
            }
        }
        let before = self.chunks.get_mut(&chunk)?.hidden.insert(slot, *text);
        before.filter(|before| before != text).map(|_| Reuse::OfPageChunk(number))
    }

    fn masks(&mut self, lines: &[(Nonce, Line)]) -> Option<Reuse> {
        let fresh = lines.iter().filter(|(nonce, _)| self.masked.insert(*nonce)).count() > 0;
        let nonces = lines.iter().map(|(nonce, _)| *nonce).collect();
        let texts: ArrayVec<Line, GROUP_MAX> = lines.iter().map(|(_, text)| *text).collect();
        let same = self.tagged.insert(nonces, texts.clone()).is_some_and(|before| before == texts);
        let first = lines.first().map(|(nonce, _)| *nonce);
        first.filter(|_| !fresh && !same).map(Reuse::Mask)
    }

    /// Returns the first keystream that was used twice, if any was.
    pub fn reuse(&self) -> Option<Reuse> {
        self.reuse
    }

    /// Number of pads that were noted under different nonces.
    pub fn pads(&self) -> usize {
        self.padded.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nonce(line: u64, counter: u128) -> Nonce {
        Nonce::new(line, counter)
    }

    #[test]
    fn the_ledger_reports_a_pad_that_encrypts_two_different_texts() {
        let mut ledger = Ledger::default();
        ledger.note(Keystream::Pad(nonce(1, 1), [1; 64]));
        ledger.note(Keystream::Pad(nonce(1, 1), [1; 64]));
        assert_eq!(ledger.reuse(), None);
        ledger.note(Keystream::Pad(nonce(1, 1), [2; 64]));
        assert_eq!((ledger.reuse(), ledger.pads()), (Some(Reuse::Pad(nonce(1, 1))), 1));
    }

    /// Notes one tag after the other, each over lines with their counters and a byte of text.
    fn of_tags(tags: &[&[(u64, u128, u8)]]) -> Option<Reuse> {
        let mut ledger = Ledger::default();
        for tag in tags {
            let lines = tag.iter().map(|(line, at, text)| (nonce(*line, *at), [*text; 64])).collect();
            ledger.note(Keystream::Masks(lines));
        }
        ledger.reuse()
    }

    #[test]
    fn the_ledger_reports_reuse_of_page_chunk_pads_and_of_replaced_page_chunk_numbers() {
        let reuse = |notes: &[(u64, u128, u8, u8)]| {
            let mut ledger = Ledger::default();
            for (chunk, number, slot, text) in notes.iter().copied() {
                ledger.note(Keystream::OfPageChunk { chunk, number, slot, text: [text; 64] });
            }
            ledger.reuse()
        };
        assert_eq!(reuse(&[(1, 5, 0, 1), (1, 5, 1, 2), (1, 5, 0, 1), (1, 6, 0, 9), (2, 7, 0, 1)]), None);
        let twice = Some(Reuse::OfPageChunk(5));
        assert_eq!(reuse(&[(1, 5, 0, 1), (1, 5, 0, 2)]), twice, "two texts in one slot");
        assert_eq!(reuse(&[(1, 5, 0, 1), (1, 6, 0, 2), (1, 5, 0, 1)]), twice, "a number that was over");
        assert_eq!(reuse(&[(1, 5, 0, 1), (2, 5, 9, 1)]), twice, "another page chunk's number");
    }

    #[test]
    fn the_ledger_requires_a_fresh_mask_in_a_shared_tag_for_each_new_hash() {
        assert_eq!(of_tags(&[&[(1, 1, 5), (2, 1, 5)], &[(1, 2, 6), (2, 1, 5)], &[(1, 2, 6), (2, 2, 7)]]), None);
        assert_eq!(
            of_tags(&[&[(1, 1, 5)], &[(1, 1, 5), (2, 1, 5)], &[(1, 1, 5), (2, 1, 5)]]),
            None,
            "the same tag again"
        );
        let another_text = of_tags(&[&[(1, 1, 5), (2, 1, 5)], &[(1, 1, 5), (2, 1, 9)]]);
        assert_eq!(another_text, Some(Reuse::Mask(nonce(1, 1))));
        let combined = of_tags(&[&[(1, 1, 5)], &[(2, 1, 5)], &[(1, 1, 5), (2, 1, 5)]]);
        assert_eq!(combined, Some(Reuse::Mask(nonce(1, 1))), "the sum of two masks that were seen");
    }
}
