//! What of a line goes through block ciphers, and when: the blocks of its encryption, and of its tag the mask or all.
//!
//! What needs the nonce alone begins when the counter is there, ahead of the text; the rest waits for both.

use crate::verbs::{AesUnits, Blocks, Known, Passing, Purpose, Verbs};
use crypto::{BlockCipher, Order, Uses};
use sim::join_all;
use units::{LINE_BYTES, WORD_BYTES, Words};

/// What needs a line's nonce alone.
fn of_nonce(Uses { cipher, of_nonce, nonce_chained, .. }: Uses) -> Blocks {
    let blocks = if nonce_chained { Blocks::chained } else { Blocks::parallel };
    blocks(cipher, Purpose::Ahead, of_nonce)
}

/// Whether the nonce decides an offset of the blocks, which each is masked with.
pub(crate) fn has_offset(uses: Uses) -> bool {
    uses.order == Order::Parallel && uses.of_nonce > 0
}

/// What of a line needs its counter alone where its offset is there.
fn ahead_without_offset(work: &BlockWork) -> [Option<Blocks>; 2] {
    let without = |uses: Uses| if has_offset(uses) { Uses { of_nonce: 0, ..uses } } else { uses };
    ahead_with_mask(&BlockWork { uses: work.uses.map(without), tag: work.tag.map(without), ..*work })
}

/// What of a line needs its counter alone: of its encryption, and of its tag. What the same units can begin at once is one
/// piece of work.
fn ahead_with_mask(work: &BlockWork) -> [Option<Blocks>; 2] {
    match (work.ahead(), work.tag_ahead()) {
        (Some(ahead), Some(tag)) if ahead.cipher == tag.cipher && (ahead.chained, tag.chained) == (0, 0) => {
            [Some(Blocks { parallel: ahead.parallel + tag.parallel, ..ahead }), None]
        }
        (None, tag) => [tag, None],
        apart => apart.into(),
    }
}

/// Sends blocks whose inputs are there through the controller's units, if there are any.
async fn through<V: Verbs>(verbs: &V, blocks: Option<Blocks>) {
    if let Some(blocks) = blocks {
        verbs.await_blocks(verbs.pad(AesUnits::Controller, blocks, Known::default())).await;
    }
}

/// What was begun of a line that needs its counter alone, in one piece or in two. The second is apart in memory, as what few
/// lines need: each read carries this along.
pub(crate) type Ahead = (Passing, Option<Box<Passing>>);

/// Bytes of the pieces of a line, with a tag or without, that are opened each by itself: a block's, a word's if all blocks are
/// made ahead, or a line's if a tag is over all of it.
pub(super) fn piece_bytes(work: &BlockWork, is_tagged: bool) -> usize {
    let of_cipher = work.uses.filter(|uses| uses.order != Order::Ahead);
    match of_cipher.or(work.tag) {
        Some(uses) => uses.block_bytes(),
        None if is_tagged => LINE_BYTES,
        None => WORD_BYTES,
    }
}

/// The uses of block ciphers that a line takes. It is borrowed by what waits for them: each wait would carry a copy along.
#[derive(Clone)]
pub(crate) struct BlockWork {
    /// Those of its encryption.
    pub(super) uses: Option<Uses>,
    /// Those of its tag, if the code is made of a block cipher.
    pub tag: Option<Uses>,
    /// Those of its tag's mask, if tags have masks.
    pub(super) masks: u32,
    /// Whether a counter must be decoded before it is known.
    pub(super) coded_counters: bool,
    /// Whether first offsets are kept with the counters on the chip.
    pub offsets_kept: bool,
    /// What needs a line's counter alone, in one piece or in two: every read and write asks for it.
    of_counter: [Option<Blocks>; 2],
}

impl BlockWork {
    /// These uses: of the encryption, of a tag that is made of a block cipher, and of its mask.
    pub fn new(uses: Option<Uses>, tag: Option<Uses>, masks: u32, coded_counters: bool) -> BlockWork {
        let work = BlockWork { uses, tag, masks, coded_counters, offsets_kept: false, of_counter: [None; 2] };
        BlockWork { of_counter: ahead_with_mask(&work), ..work }
    }

    /// Uses of block ciphers that a line takes, and that of its tag's mask (EMCC, section V: five).
    pub fn blocks(&self) -> u32 {
        self.uses.map_or(0, |uses| uses.blocks()) + self.masks
    }

    /// What of a line's encryption needs its counter alone: to seal and to open alike.
    fn ahead(&self) -> Option<Blocks> {
        let uses = self.uses?;
        let of_nonce = of_nonce(uses);
        let parallel = of_nonce.parallel + if uses.order == Order::Ahead { uses.of_line } else { 0 };
        Blocks { parallel, ..of_nonce }.any()
    }

    /// What of a line's tag needs its counter alone.
    fn tag_ahead(&self) -> Option<Blocks> {
        self.tag.map(of_nonce).and_then(Blocks::any).or(self.mask_work(1))
    }

    /// The use of the cipher for a tag that is made of the plaintext's sum, if the tag is.
    fn of_sum(&self) -> Option<Uses> {
        self.tag.filter(|uses| uses.order == Order::Summed)
    }

    /// Whether a line's tag is made with its ciphertext.
    pub fn seals_with_tag(&self) -> bool {
        self.of_sum().is_some()
    }

    /// Whether a tag is made of blocks that wait for a piece of the text each.
    pub fn tags_by_pieces(&self) -> bool {
        self.tag.is_some_and(|uses| uses.order != Order::Summed)
    }

    /// What of sealing a line waits for that.
    fn sealing(&self) -> Option<Blocks> {
        let Uses { cipher, of_line, order, .. } = self.uses?;
        match order {
            Order::Ahead => None,
            Order::Parallel | Order::Summed => {
                let with_tag = of_line + self.of_sum().map_or(0, |uses| uses.of_line);
                Some(Blocks::parallel(cipher, Purpose::Sealing, with_tag))
            }
            Order::Chained => Some(Blocks::chained(cipher, Purpose::Sealing, of_line)),
        }
    }

    /// What of opening a line waits for that, and for the ciphertext.
    fn opening(&self) -> Option<Blocks> {
        let Uses { cipher, of_line, order, .. } = self.uses?;
        (order != Order::Ahead).then_some(Blocks::parallel(cipher, Purpose::Opening, of_line))
    }

    /// What of that a piece takes, which is as long as a block.
    pub fn opening_of_piece(&self, piece: Words) -> Option<Blocks> {
        Some(Blocks { parallel: 1, piece, ..self.opening()? })
    }

    /// Whether what the nonce makes is XOR-ed with the ciphertext of a block, or is all that opens it.
    pub fn is_masked_before(&self) -> bool {
        let apart = |uses: Uses| uses.order == Order::Ahead || (uses.order == Order::Parallel && uses.of_nonce > 0);
        self.uses.is_some_and(apart)
    }

    /// Whether what the nonce makes is XOR-ed with the first block when it has been decrypted.
    pub fn is_masked_after(&self) -> bool {
        self.uses.is_some_and(|uses| uses.order == Order::Chained)
    }

    /// The words that the block of a piece is XOR-ed with when it has been decrypted: those of the block before it, in CBC.
    pub fn block_before(&self, piece: Words) -> Option<Words> {
        let uses = self.uses.filter(|uses| uses.order == Order::Chained)?;
        let start = piece.iter().next()?.index() * WORD_BYTES;
        Some(Words::with_bytes(start.checked_sub(uses.block_bytes())?, uses.block_bytes()))
    }

    /// What of a tag waits for the text, over so many lines.
    fn tagging(&self, lines: u32) -> Option<Blocks> {
        let Uses { cipher, of_nonce, of_line, order, .. } = self.tag?;
        match order {
            Order::Chained => Some(Blocks::chained(cipher, Purpose::Tag, lines * of_line + (lines - 1) * of_nonce)),
            Order::Ahead | Order::Parallel | Order::Summed => {
                Some(Blocks::parallel(cipher, Purpose::Tag, lines * of_line))
            }
        }
    }

    /// Computes one tag over so many lines whose texts are there, and the first nonce's part of it: in the engine for tags,
    /// or in the units of the cipher that the code is made of.
    pub async fn to_tag<V: Verbs>(&self, verbs: &V, lines: usize) {
        match self.tagging(lines as u32) {
            blocks @ Some(_) => through(verbs, blocks).await,
            None if lines == 1 => verbs.mac().await,
            None => {
                join_all((0..lines).map(|_| verbs.mac())).await;
            }
        }
    }

    /// The masks of so many lines, if tags have masks.
    fn mask_work(&self, lines: u32) -> Option<Blocks> {
        Blocks::parallel(BlockCipher::Aes, Purpose::Ahead, lines * self.masks).any()
    }

    /// What an L2 does of a line ahead: all that needs its counter alone.
    pub fn ahead_in_l2(&self) -> Blocks {
        Blocks::parallel(BlockCipher::Aes, Purpose::Ahead, self.blocks())
    }

    /// Decodes a line of counters, if the organisation asks for it.
    pub fn decode<V: Verbs>(&self, verbs: &V) -> Known {
        if self.coded_counters { verbs.decode() } else { Known::default() }
    }

    /// Begins what needs only a line's counter, whose line of counters is there and is decoded first: its pad or its offsets, and
    /// the mask of its tag. What of that is an offset may be kept from an earlier access.
    pub fn pad_ahead<V: Verbs>(&self, verbs: &V, offset_is_kept: bool) -> Option<Ahead> {
        let [first, second] = if offset_is_kept { ahead_without_offset(self) } else { self.of_counter };
        let kept = self.uses.or(self.tag).filter(|_| offset_is_kept);
        let nothing = kept.map(|uses| Blocks::parallel(uses.cipher, Purpose::Ahead, 0));
        let (first, known) = (first.or(nothing)?, self.decode(verbs));
        let begin = |blocks| verbs.pad(AesUnits::Controller, blocks, known);
        Some((begin(first), second.map(|second| Box::new(begin(second)))))
    }

    /// Waits for the blocks of a line behind those that need its counter alone, which may be under way. What of these is for
    /// its tag is of use to no block of the line.
    async fn behind_pad<V: Verbs>(&self, verbs: &V, begun: Option<Ahead>, blocks: Option<Blocks>) {
        let (pad, tag) = begun.map_or((None, None), |(first, second)| match self.ahead() {
            Some(_) => (Some(first), second),
            None => (None, Some(Box::new(first))),
        });
        if let Some(pad) = pad {
            verbs.await_blocks(pad).await;
        }
        through(verbs, blocks).await;
        if let Some(tag) = tag {
            verbs.await_blocks(*tag).await;
        }
    }

    /// Waits for the blocks that open a line whose ciphertext is there, of which some may be under way.
    pub async fn to_open<V: Verbs>(&self, verbs: &V, pad: Option<Ahead>) {
        let begun = pad.or_else(|| self.pad_ahead(verbs, false));
        self.behind_pad(verbs, begun, self.opening()).await;
    }

    /// Waits for the blocks that seal a line, and for the mask of its tag.
    pub async fn to_seal<V: Verbs>(&self, verbs: &V) {
        self.behind_pad(verbs, self.pad_ahead(verbs, false), self.sealing()).await;
    }

    /// Waits for the blocks that open a line and those that seal it again, without masks.
    pub async fn to_reseal<V: Verbs>(&self, verbs: &V) {
        let counter = self.decode(verbs);
        let pad = |blocks| verbs.pad(AesUnits::Controller, blocks, counter);
        let pads = [self.ahead().map(pad), self.ahead().map(pad)];
        join_all(pads.into_iter().flatten().map(|pad| verbs.await_blocks(pad))).await;
        through(verbs, self.opening()).await;
        through(verbs, self.sealing()).await;
    }

    /// Waits for what the tag of a line needs of its counter alone, as one of many or by itself.
    pub async fn to_tag_ahead<V: Verbs>(&self, verbs: &V) {
        through(verbs, self.tag_ahead()).await;
    }

    /// Waits for the masks of so many lines, if tags have masks.
    pub async fn masks<V: Verbs>(&self, verbs: &V, lines: usize) {
        through(verbs, self.mask_work(lines as u32)).await;
    }
}
