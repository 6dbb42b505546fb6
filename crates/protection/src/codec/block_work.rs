//! Block cipher operations for a line: the blocks of its encryption, and either the mask or all blocks of its tag.
//!
//! Blocks that need only the nonce begin when the counter is known, before the text arrives. The other blocks wait for
//! the counter and for the text.

use super::EarlyBlocks;
use crate::verbs::{AesUnits, Blocks, Known, Purpose, Verbs};
use crypto::{BlockCipher, BlockOrder, Uses};
use sim::join_all;
use units::{LINE_BYTES, WORD_BYTES, Words};

/// Returns the blocks of a line that need only its nonce.
fn of_nonce(Uses { cipher, of_nonce, nonce_chained, .. }: Uses) -> Blocks {
    let blocks = if nonce_chained { Blocks::chained } else { Blocks::parallel };
    blocks(cipher, Purpose::Nonce, of_nonce)
}

/// Returns true if each block is masked with an offset that depends on the nonce.
pub(crate) fn has_offset(uses: Uses) -> bool {
    uses.order == BlockOrder::Parallel && uses.of_nonce > 0
}

/// Returns the blocks that need only the counter, for a line with an offset that the chip already has.
fn early_without_offset(work: &BlockWork) -> [Option<Blocks>; 2] {
    let without = |uses: Uses| if has_offset(uses) { Uses { of_nonce: 0, ..uses } } else { uses };
    early_with_mask(&BlockWork { uses: work.uses.map(without), tag: work.tag.map(without), ..*work })
}

/// Returns the blocks of a line that need only its counter: those of its encryption, and those of its tag. Blocks that
/// the same units can begin at once form one batch.
fn early_with_mask(work: &BlockWork) -> [Option<Blocks>; 2] {
    match (work.early(), work.early_of_tag()) {
        (Some(early), Some(tag)) if early.cipher == tag.cipher && (early.chained, tag.chained) == (0, 0) => {
            [Some(Blocks { parallel: early.parallel + tag.parallel, ..early }), None]
        }
        (None, tag) => [tag, None],
        apart => apart.into(),
    }
}

/// Sends blocks with available inputs through the units of the controller, if there are any.
async fn through<V: Verbs>(verbs: &V, blocks: Option<Blocks>) {
    if let Some(blocks) = blocks {
        verbs.await_blocks(verbs.pad(AesUnits::Controller, blocks, Known::default())).await;
    }
}

/// Returns the length in bytes of the separately decrypted pieces of a line, with a tag or without. A piece is a block;
/// or a word, if all blocks are computed in advance; or the line, if one tag covers the whole line.
pub(super) fn piece_bytes(work: &BlockWork, is_tagged: bool) -> usize {
    let of_cipher = work.uses.filter(|uses| uses.order != BlockOrder::Early);
    match of_cipher.or(work.tag) {
        Some(uses) => uses.block_bytes(),
        None if is_tagged => LINE_BYTES,
        None => WORD_BYTES,
    }
}

/// Block cipher operations for a line. Code that waits for the blocks borrows this value: otherwise the future of each
/// wait would contain a copy.
#[derive(Clone)]
pub(crate) struct BlockWork {
    /// Operations for the line's encryption.
    pub(super) uses: Option<Uses>,
    /// Operations for the line's tag, if the authentication code is built from a block cipher.
    pub tag: Option<Uses>,
    /// Number of blocks for the tag's mask; 0 if tags have no masks.
    pub(super) masks: u32,
    /// True if the chip must decode a counter line to read a counter.
    pub(super) coded_counters: bool,
    /// True if the chip keeps first offsets with the counters.
    pub offsets_kept: bool,
    /// Blocks that need only the line's counter, in one batch or two; kept, because every read and write needs them.
    of_counter: [Option<Blocks>; 2],
}

impl BlockWork {
    /// Returns the work of these operations: for the encryption, for a tag that is built from a block cipher, and for
    /// the tag's mask.
    pub fn new(uses: Option<Uses>, tag: Option<Uses>, masks: u32, coded_counters: bool) -> BlockWork {
        let work = BlockWork { uses, tag, masks, coded_counters, offsets_kept: false, of_counter: [None; 2] };
        BlockWork { of_counter: early_with_mask(&work), ..work }
    }

    /// Returns the number of block cipher operations for a line, including its tag's mask (EMCC, section V: five).
    pub fn blocks(&self) -> u32 {
        self.uses.map_or(0, |uses| uses.blocks()) + self.masks
    }

    /// Returns the blocks of a line's encryption that need only its counter. They are the same for sealing and opening.
    fn early(&self) -> Option<Blocks> {
        let uses = self.uses?;
        let of_nonce = of_nonce(uses);
        let parallel = of_nonce.parallel + if uses.order == BlockOrder::Early { uses.of_line } else { 0 };
        Blocks { parallel, ..of_nonce }.any()
    }

    /// Returns the blocks of a line's tag that need only its counter.
    fn early_of_tag(&self) -> Option<Blocks> {
        self.tag.map(of_nonce).and_then(Blocks::any).or(self.mask_work(1))
    }

    /// Returns the cipher operations for a tag over the sum of the plaintext blocks, if the tag is of this kind.
    fn of_sum(&self) -> Option<Uses> {
        self.tag.filter(|uses| uses.order == BlockOrder::Summed)
    }

    /// Returns true if a line's tag is computed together with its ciphertext.
    pub fn seals_with_tag(&self) -> bool {
        self.of_sum().is_some()
    }

    /// Returns true if each block of a tag waits for one piece of the text.
    pub fn tags_by_pieces(&self) -> bool {
        self.tag.is_some_and(|uses| uses.order != BlockOrder::Summed)
    }

    /// Returns the blocks that seal a line and must wait for its text.
    fn sealing(&self) -> Option<Blocks> {
        let Uses { cipher, of_line, order, .. } = self.uses?;
        match order {
            BlockOrder::Early => None,
            BlockOrder::Parallel | BlockOrder::Summed => {
                let with_tag = of_line + self.of_sum().map_or(0, |uses| uses.of_line);
                Some(Blocks::parallel(cipher, Purpose::Sealing, with_tag))
            }
            BlockOrder::Chained => Some(Blocks::chained(cipher, Purpose::Sealing, of_line)),
        }
    }

    /// Returns the blocks that open a line and must wait for its ciphertext.
    fn opening(&self) -> Option<Blocks> {
        let Uses { cipher, of_line, order, .. } = self.uses?;
        (order != BlockOrder::Early).then_some(Blocks::parallel(cipher, Purpose::Opening, of_line))
    }

    /// Returns the block that opens a piece as long as one block.
    pub fn opening_of_piece(&self, piece: Words) -> Option<Blocks> {
        Some(Blocks { parallel: 1, piece, ..self.opening()? })
    }

    /// Returns true if a block of ciphertext is XOR-ed with the output of the nonce's blocks before its decryption, or
    /// is decrypted only by this XOR.
    pub fn is_masked_before(&self) -> bool {
        let apart =
            |uses: Uses| uses.order == BlockOrder::Early || (uses.order == BlockOrder::Parallel && uses.of_nonce > 0);
        self.uses.is_some_and(apart)
    }

    /// Returns true if the output of the nonce's blocks is XOR-ed with the first block after that block's decryption.
    pub fn is_masked_after(&self) -> bool {
        self.uses.is_some_and(|uses| uses.order == BlockOrder::Chained)
    }

    /// Returns the words that a piece is XOR-ed with after its block is decrypted: in CBC, those of the block before
    /// it.
    pub fn block_before(&self, piece: Words) -> Option<Words> {
        let uses = self.uses.filter(|uses| uses.order == BlockOrder::Chained)?;
        let start = piece.iter().next()?.index() * WORD_BYTES;
        Some(Words::with_bytes(start.checked_sub(uses.block_bytes())?, uses.block_bytes()))
    }

    /// Returns the blocks of a tag over `lines` lines that wait for the text.
    fn tagging(&self, lines: u32) -> Option<Blocks> {
        let Uses { cipher, of_nonce, of_line, order, .. } = self.tag?;
        match order {
            BlockOrder::Chained => {
                Some(Blocks::chained(cipher, Purpose::Tag, lines * of_line + (lines - 1) * of_nonce))
            }
            BlockOrder::Early | BlockOrder::Parallel | BlockOrder::Summed => {
                Some(Blocks::parallel(cipher, Purpose::Tag, lines * of_line))
            }
        }
    }

    /// Computes one tag over `lines` lines, in the engine for tags or in the units of the cipher from which the code is
    /// built. The texts, and the output of the first nonce's blocks, are already available.
    pub async fn to_tag<V: Verbs>(&self, verbs: &V, lines: usize) {
        match self.tagging(lines as u32) {
            blocks @ Some(_) => through(verbs, blocks).await,
            None if lines == 1 => verbs.mac().await,
            None => {
                join_all((0..lines).map(|_| verbs.mac())).await;
            }
        }
    }

    /// Returns the masks of `lines` lines, or `None` if tags have no masks.
    fn mask_work(&self, lines: u32) -> Option<Blocks> {
        Blocks::parallel(BlockCipher::Aes, Purpose::Nonce, lines * self.masks).any()
    }

    /// Returns the blocks that an L2 computes in advance for a line: all that need only the line's counter.
    pub fn early_in_l2(&self) -> Blocks {
        Blocks::parallel(BlockCipher::Aes, Purpose::Nonce, self.blocks())
    }

    /// Decodes a counter line, if its organisation requires this.
    pub fn decode<V: Verbs>(&self, verbs: &V) -> Known {
        if self.coded_counters { verbs.decode() } else { Known::default() }
    }

    /// Begins the blocks that need only the counter of a line: its pad or its offsets, and the mask of its tag. The
    /// counter line is available, and is decoded first. Offsets may be kept from an earlier access.
    pub fn begin_pad<V: Verbs>(&self, verbs: &V, offset_is_kept: bool) -> Option<EarlyBlocks> {
        let [first, second] = if offset_is_kept { early_without_offset(self) } else { self.of_counter };
        let kept = self.uses.or(self.tag).filter(|_| offset_is_kept);
        let nothing = kept.map(|uses| Blocks::parallel(uses.cipher, Purpose::Nonce, 0));
        let (first, known) = (first.or(nothing)?, self.decode(verbs));
        let begin = |blocks| verbs.pad(AesUnits::Controller, blocks, known);
        Some(EarlyBlocks { first: begin(first), second: second.map(|second| Box::new(begin(second))), pads: None })
    }

    /// Waits for the blocks that need only the counter of a line, which may be under way, and for `blocks`. Waits for
    /// the blocks of the tag last, since `blocks` do not depend on them.
    async fn behind_pad<V: Verbs>(&self, verbs: &V, begun: Option<EarlyBlocks>, blocks: Option<Blocks>) {
        let (pad, tag, pads) =
            begun.map_or((None, None, None), |EarlyBlocks { first, second, pads }| match self.early() {
                Some(_) => (Some(first), second, pads),
                None => (None, Some(Box::new(first)), None),
            });
        for (_, pad) in pads.into_iter().flatten() {
            verbs.await_blocks(pad).await;
        }
        if let Some(pad) = pad {
            verbs.await_blocks(pad).await;
        }
        through(verbs, blocks).await;
        if let Some(tag) = tag {
            verbs.await_blocks(*tag).await;
        }
    }

    /// Waits for the blocks that open a line with available ciphertext. Some of the blocks may be under way.
    pub async fn to_open<V: Verbs>(&self, verbs: &V, pad: Option<EarlyBlocks>) {
        let begun = pad.or_else(|| self.begin_pad(verbs, false));
        self.behind_pad(verbs, begun, self.opening()).await;
    }

    /// Waits for the blocks that seal a line, and for the mask of its tag.
    pub async fn to_seal<V: Verbs>(&self, verbs: &V) {
        self.behind_pad(verbs, self.begin_pad(verbs, false), self.sealing()).await;
    }

    /// Waits for the blocks that open a line and those that seal it again, without masks.
    pub async fn to_reseal<V: Verbs>(&self, verbs: &V) {
        let counter = self.decode(verbs);
        let pad = |blocks| verbs.pad(AesUnits::Controller, blocks, counter);
        let pads = [self.early().map(pad), self.early().map(pad)];
        join_all(pads.into_iter().flatten().map(|pad| verbs.await_blocks(pad))).await;
        through(verbs, self.opening()).await;
        through(verbs, self.sealing()).await;
    }

    /// Waits for the blocks of a line's tag that need only the counter, for a tag over one line or over several.
    pub async fn to_tag_early<V: Verbs>(&self, verbs: &V) {
        through(verbs, self.early_of_tag()).await;
    }

    /// Waits for the masks of `lines` lines, if tags have masks.
    pub async fn masks<V: Verbs>(&self, verbs: &V, lines: usize) {
        through(verbs, self.mask_work(lines as u32)).await;
    }
}
