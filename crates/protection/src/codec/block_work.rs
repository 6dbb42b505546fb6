//! What of a line goes through block ciphers, and when: the blocks of its encryption and the mask of its tag.
//!
//! What needs the nonce alone begins when the counter is there, ahead of the text; the rest waits for both.

use crate::verbs::{AesUnits, Blocks, Known, Verbs};
use crypto::{BlockCipher, Order, Uses};
use sim::join_all;
use std::future::Future;

/// The uses of block ciphers that a line takes.
#[derive(Clone, Copy)]
pub(crate) struct BlockWork {
    /// Those of its encryption.
    pub(super) uses: Option<Uses>,
    /// Those of its tag's mask, if tags have masks.
    pub(super) masks: u32,
    /// Whether a counter must be decoded before it is known.
    pub(super) coded_counters: bool,
}

impl BlockWork {
    /// Uses of block ciphers that a line takes, and that of its tag's mask (EMCC, section V: five).
    pub fn blocks(self) -> u32 {
        self.uses.map_or(0, |uses| uses.blocks()) + self.masks
    }

    /// What of a line's encryption needs its counter alone: to seal and to open alike.
    fn ahead(self) -> Option<Blocks> {
        let Uses { cipher, of_nonce, of_line, order } = self.uses?;
        let parallel = if order == Order::Ahead { of_line } else { 0 };
        Blocks { cipher, chained: of_nonce, parallel, inverse: false }.any()
    }

    /// What of sealing a line waits for that.
    fn sealing(self) -> Option<Blocks> {
        let Uses { cipher, of_line, order, .. } = self.uses?;
        match order {
            Order::Ahead => None,
            Order::Parallel => Some(Blocks::parallel(cipher, of_line)),
            Order::Chained => Some(Blocks { cipher, chained: of_line, parallel: 0, inverse: false }),
        }
    }

    /// What of opening a line waits for that, and for the ciphertext.
    fn opening(self) -> Option<Blocks> {
        let Uses { cipher, of_line, order, .. } = self.uses?;
        (order != Order::Ahead).then_some(Blocks { inverse: true, ..Blocks::parallel(cipher, of_line) })
    }

    /// The masks of so many lines, if tags have masks.
    fn mask_work(self, lines: u32) -> Option<Blocks> {
        Blocks::parallel(BlockCipher::Aes, lines * self.masks).any()
    }

    /// What of a line needs its counter alone: of its encryption, and the mask of its tag. What the same units can begin at
    /// once is one piece of work.
    fn ahead_with_mask(self) -> [Option<Blocks>; 2] {
        match (self.ahead(), self.mask_work(1)) {
            (Some(ahead @ Blocks { cipher: BlockCipher::Aes, chained: 0, .. }), Some(mask)) => {
                [Some(Blocks { parallel: ahead.parallel + mask.parallel, ..ahead }), None]
            }
            (None, mask) => [mask, None],
            apart => apart.into(),
        }
    }

    /// What an L2 does of a line ahead: all that needs its counter alone.
    pub fn ahead_in_l2(self) -> Blocks {
        Blocks::parallel(BlockCipher::Aes, self.blocks())
    }

    /// Decodes a line of counters, if the organisation asks for it.
    pub fn decode<V: Verbs>(self, verbs: &V) -> Known {
        if self.coded_counters { verbs.decode() } else { Known::default() }
    }

    /// Begins what needs only a line's counter, whose line of counters is there and is decoded first: its pad or its offsets, and
    /// the mask of its tag.
    pub fn pad_ahead<'a, V: Verbs>(self, verbs: &'a V) -> Option<impl Future<Output = ()> + use<'a, V>> {
        let [first, second] = self.ahead_with_mask();
        let (first, known) = (first?, self.decode(verbs));
        let first = verbs.pad(AesUnits::Controller, first, known);
        // Apart in memory, as what few lines need.
        let second = second.map(|blocks| Box::pin(verbs.pad(AesUnits::Controller, blocks, known)));
        Some(async move {
            first.await;
            if let Some(second) = second {
                second.await;
            }
        })
    }

    /// Waits for what was begun of a line ahead, or for the whole of it.
    async fn padded<V: Verbs>(self, verbs: &V, pad: Option<impl Future<Output = ()>>) {
        match pad {
            Some(pad) => pad.await,
            None => {
                if let Some(pad) = self.pad_ahead(verbs) {
                    pad.await;
                }
            }
        }
    }

    /// Waits for the blocks that open a line whose ciphertext is there, of which some may be under way.
    pub async fn to_open<V: Verbs>(self, verbs: &V, pad: Option<impl Future<Output = ()>>) {
        self.padded(verbs, pad).await;
        if let Some(blocks) = self.opening() {
            verbs.pad(AesUnits::Controller, blocks, Known::default()).await;
        }
    }

    /// Waits for the blocks that seal a line, and for the mask of its tag.
    pub async fn to_seal<V: Verbs>(self, verbs: &V) {
        self.padded(verbs, self.pad_ahead(verbs)).await;
        if let Some(blocks) = self.sealing() {
            verbs.pad(AesUnits::Controller, blocks, Known::default()).await;
        }
    }

    /// Waits for the blocks that open a line and those that seal it again, without masks.
    pub async fn to_reseal<V: Verbs>(self, verbs: &V) {
        let counter = self.decode(verbs);
        let pad = |blocks| verbs.pad(AesUnits::Controller, blocks, counter);
        let pads = [self.ahead().map(pad), self.ahead().map(pad)];
        join_all(pads.into_iter().flatten()).await;
        for blocks in [self.opening(), self.sealing()].into_iter().flatten() {
            verbs.pad(AesUnits::Controller, blocks, Known::default()).await;
        }
    }

    /// Waits for the masks of so many lines, if tags have masks.
    pub async fn masks<V: Verbs>(self, verbs: &V, lines: usize) {
        if let Some(blocks) = self.mask_work(lines as u32) {
            verbs.pad(AesUnits::Controller, blocks, Known::default()).await;
        }
    }
}
