//! Blocks of a line that need only its counter: they begin when the counter is known, before the line arrives.
//!
//! In counter mode these are the pads of the line's blocks. If the line is opened piece by piece, the pads enter the
//! units one by one, so that a piece does not wait for the pads of other pieces.

use super::block_work::BlockWork;
use super::{LineCodec, pieces};
use crate::verbs::{AesUnits, Blocks, Known, Passing, Purpose, Verbs};
use crypto::{BlockOrder, Uses};
use units::{Word, Words};

/// Pads that entered the units one by one, each with the words that it opens.
pub(super) type PiecePads = Box<[(Words, Passing)]>;

/// Blocks of a line that need only its counter and have begun.
pub(crate) struct EarlyBlocks {
    /// The first batch, or all.
    pub(super) first: Passing,
    /// The second batch. It is boxed, since few lines need it and each read holds this value.
    pub(super) second: Option<Box<Passing>>,
    /// Pads of the line's pieces that entered behind the first batch; `None` if a batch contains them.
    pub(super) pads: Option<PiecePads>,
}

impl EarlyBlocks {
    /// Begins the blocks of a line that will be opened, if there are any. If the line is opened piece by piece, its pads
    /// enter the units one by one, that of the requested position first. The other blocks enter before them, since every
    /// piece needs them. The chip may have the line's offset.
    pub fn begin<V: Verbs>(codec: &LineCodec, verbs: &V, offset_is_kept: bool, requested: Word) -> Option<EarlyBlocks> {
        let (work, length) = (&codec.work, codec.cipher.length());
        let is_in_pieces =
            codec.piece_bytes() < length.bytes() && work.tag.is_none_or(|tag| tag.order == BlockOrder::Parallel);
        let Some(uses) = work.uses.filter(|uses| is_in_pieces && has_pads(uses)) else {
            return work.begin_pad(verbs, offset_is_kept);
        };
        let without_pads = BlockWork::new(Some(Uses { of_line: 0, ..uses }), work.tag, work.masks, work.coded_counters);
        let begun = without_pads.begin_pad(verbs, offset_is_kept);
        let known = work.decode(verbs);
        let pad = |blocks| verbs.pad(AesUnits::Controller, blocks, known);
        let (first, second) = match begun {
            Some(EarlyBlocks { first, second, .. }) => (first, second),
            None => (pad(Blocks::parallel(uses.cipher, Purpose::Nonce, 0)), None),
        };
        let pads = pieces(requested, length, uses.block_bytes())
            .map(|piece| (piece, pad(Blocks::of_piece(uses.cipher, Purpose::Nonce, piece))));
        Some(EarlyBlocks { first, second, pads: Some(pads.collect()) })
    }

    /// Returns the time at which all blocks are ready that do not open a piece of the line.
    pub fn known(&self) -> Known {
        let known = self.first.known();
        self.second.as_ref().map_or(known, |second| known.max(second.known()))
    }
}

/// Returns true if the blocks of the line's encryption are pads that depend only on the counter.
fn has_pads(uses: &Uses) -> bool {
    uses.order == BlockOrder::Early && uses.of_nonce == 0
}
