//! OCB in chunks: each block of a line is encrypted separately, under a separate offset (Shi and Lee, Computing
//! Frontiers 2007, section 2.1, after Rogaway et al., CCS 2001).
//!
//! ```text
//! L = E(0)   R = E(nonce ^ L)   Z_i = Z_(i-1) ^ 2^ntz(i) L, Z_0 = R      i = 1 ..= m, blocks of the line
//! C_i = E(P_i ^ Z_i) ^ Z_i      T_i = E(P_i ^ Z_(m+i) ^ B)   or   T_i = E(C_i ^ Z_(2m+i) ^ B)      B = 2^5 b L
//! ```
//! Every chunk can be encrypted early for a guessed plaintext and compared when its ciphertext arrives, and so can its
//! tag. Ciphertext speculation needs this property. The paper keeps one code for each chunk but does not name the code.
//! Here it is the encryption of the chunk under an offset that encryption does not use (XE, Rogaway, Asiacrypt 2004),
//! cut to its share of the tag's bits. It is over the plaintext of the chunk, or over its ciphertext. A tag over the
//! ciphertext is compared while the chunk is decrypted.
//!
//! No offset serves two of these three purposes. The offsets of one nonce are `R ^ g(i) L`, where `g(i) = i ^ i/2` is
//! the i-th word of a Gray code. The words are all different, so `Z_i ^ Z_j` is a product of `L` and a word that is not
//! zero, for any two of the 3m offsets. The offsets of two nonces have different `R`: always, or except by chance if R
//! is a sum.
//!
//! A line with re-ordered words has a *bitmap* b of eight bits, and its tags bind the bitmap. Only the owner of the key
//! can make a tag that fits the same words in another order. The polynomial 2^5 b and the words of the Gray code have
//! no power in common, so each pair of i and b has a different product of L. The bitmap takes no block: it changes the
//! offset of the tag.
//!
//! The paper's nonce (address, 64-bit random value, padding) has 128 bits also if the cipher's block has 64. Then R is
//! the sum of the nonce's halves, each encrypted under a separate offset: `R = E(first ^ L) ^ E(second ^ 2L)`. Each
//! offset must be unpredictable, so that an attacker cannot steer a chunk to a known input of the cipher. The sum of
//! two offsets must be unpredictable as well, so that no two chunks collide. Both are sums of one to four different
//! encryptions at points that L hides (the hash of PMAC, Black and Rogaway, Eurocrypt 2002). In a chain, the second
//! half would wait for the first: R would be known long after the line.

use crate::blocks::{blocks_of, blocks_per_line, xor};
use crate::cipher::{BlockCipher, BlockOrder, Uses};
use crate::{BLOCK_BYTES, Domain, Key, LineCipher, LineMac, Nonce, Tag};
use aes::cipher::array::ArraySize;
use aes::cipher::{Block, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use dbl::Dbl;
use units::{LINE_BYTES, Line};

/// Doublings of L for offsets 1 to 24: eight blocks of a line, their tags over plaintext and their tags over
/// ciphertext.
const FOR_OFFSETS: usize = 5;
/// All doublings, with one for each bit of a bitmap.
const DOUBLINGS: usize = FOR_OFFSETS + u8::BITS as usize;

/// A block cipher in OCB, chunk by chunk: the encryption and the code.
pub struct OcbChunks<C: BlockCipherEncrypt> {
    cipher: C,
    doublings: [Block<C>; DOUBLINGS],
    tagged: ChunkText,
    /// True if the code is separate, so that no encryption has computed its R.
    by_itself: bool,
}

/// Text of a chunk that its tag covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ChunkText {
    /// Plaintext of the chunk.
    #[default]
    Plaintext,
    /// Ciphertext of the chunk.
    Ciphertext,
}

impl<C: BlockCipherEncrypt + BlockCipherDecrypt> OcbChunks<C>
where
    Block<C>: Dbl,
{
    /// Expands the key and derives L and its doublings.
    pub fn new<const BYTES: usize>(key: &Key<BYTES>) -> OcbChunks<C>
    where
        C: KeyInit<KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>>,
    {
        OcbChunks::over(key.cipher())
    }

    pub(crate) fn over(cipher: C) -> OcbChunks<C> {
        let mut l = Block::<C>::default();
        cipher.encrypt_block(&mut l);
        let doublings = std::array::from_fn(|_| {
            let this = l.clone();
            l = this.clone().dbl();
            this
        });
        OcbChunks { cipher, doublings, tagged: ChunkText::Plaintext, by_itself: false }
    }

    /// Returns the same mode, with tags over this text of the chunks.
    #[must_use]
    pub fn with_tags_over(self, tagged: ChunkText) -> OcbChunks<C> {
        OcbChunks { tagged, ..self }
    }

    /// Returns the same mode as a code under a separate key, for an encryption without these offsets.
    #[must_use]
    pub fn by_itself(self) -> OcbChunks<C> {
        OcbChunks { by_itself: true, ..self }
    }

    /// Number of uses of the cipher for R.
    fn of_nonce() -> u32 {
        (BLOCK_BYTES / C::block_size()) as u32
    }

    /// Number of chunks in a line, each with a tag.
    pub fn chunks() -> u32 {
        blocks_per_line::<C>()
    }

    /// Returns R, the offset before the first.
    fn start(&self, nonce: &Nonce) -> Block<C> {
        let mut sum = Block::<C>::default();
        for (part, offset) in nonce.block(Domain::Pad, 0).chunks(C::block_size()).zip(&self.doublings) {
            let mut part_of_sum = offset.clone();
            xor(&mut part_of_sum, part);
            self.cipher.encrypt_block(&mut part_of_sum);
            xor(&mut sum, &part_of_sum);
        }
        sum
    }

    /// Returns the offsets of a line in their order: those of its chunks, then those of tags over their plaintext, then
    /// those of tags over their ciphertext.
    fn offsets(&self, nonce: &Nonce) -> impl Iterator<Item = Block<C>> + Clone {
        let mut offset = self.start(nonce);
        (1..=3 * Self::chunks()).map(move |index| {
            xor(&mut offset, &self.doublings[index.trailing_zeros() as usize]);
            offset.clone()
        })
    }

    /// Returns the change of the tags' offsets that binds the bitmap of the line.
    fn bound(&self, bitmap: u8) -> Block<C> {
        let mut sum = Block::<C>::default();
        let doublings = self.doublings[FOR_OFFSETS..].iter().enumerate();
        doublings.filter(|(bit, _)| bitmap >> bit & 1 == 1).for_each(|(_, doubling)| xor(&mut sum, doubling));
        sum
    }

    /// Returns the whole tags of a line's chunks, side by side.
    fn chunk_tags(&self, nonce: &Nonce, text: &Line) -> Line {
        let mut tags = *text;
        let blocks = blocks_of::<C>(&mut tags);
        let before = match self.tagged {
            ChunkText::Plaintext => blocks.len(),
            ChunkText::Ciphertext => 2 * blocks.len(),
        };
        let bound = self.bound(nonce.bitmap());
        let offsets = self.offsets(nonce).skip(before).map(|mut offset| {
            xor(&mut offset, &bound);
            offset
        });
        mask::<C>(blocks, offsets);
        self.cipher.encrypt_blocks(blocks);
        tags
    }
}

/// XORs each block with its offset.
fn mask<C: BlockCipherEncrypt>(blocks: &mut [Block<C>], offsets: impl Iterator<Item = Block<C>>) {
    blocks.iter_mut().zip(offsets).for_each(|(block, offset)| xor(block, &offset));
}

impl<C: BlockCipherEncrypt + BlockCipherDecrypt> LineCipher for OcbChunks<C>
where
    Block<C>: Dbl,
{
    fn seal(&self, nonce: &Nonce, plaintext: &Line) -> Line {
        let mut line = *plaintext;
        let blocks = blocks_of::<C>(&mut line);
        let offsets = self.offsets(nonce);
        mask::<C>(blocks, offsets.clone());
        self.cipher.encrypt_blocks(blocks);
        mask::<C>(blocks, offsets);
        line
    }

    fn open(&self, nonce: &Nonce, ciphertext: &Line) -> Line {
        let mut line = *ciphertext;
        let blocks = blocks_of::<C>(&mut line);
        let offsets = self.offsets(nonce);
        mask::<C>(blocks, offsets.clone());
        self.cipher.decrypt_blocks(blocks);
        mask::<C>(blocks, offsets);
        line
    }

    fn uses(&self) -> Uses {
        let (of_nonce, of_line) = (Self::of_nonce(), Self::chunks());
        Uses { cipher: BlockCipher::of::<C>(), of_nonce, nonce_chained: false, of_line, order: BlockOrder::Parallel }
    }
}

impl<C: BlockCipherEncrypt + BlockCipherDecrypt> LineMac for OcbChunks<C>
where
    Block<C>: Dbl,
{
    /// Each chunk takes one block. The encryption has computed R, and its sequence of offsets continues here, unless
    /// the code is separate.
    fn uses(&self) -> Option<Uses> {
        let (cipher, of_line) = (BlockCipher::of::<C>(), Self::chunks());
        let of_nonce = if self.by_itself { Self::of_nonce() } else { 0 };
        Some(Uses { cipher, of_nonce, nonce_chained: false, of_line, order: BlockOrder::Parallel })
    }

    /// The number of bits is that of the line: the tag of a chunk is as long as the chunk.
    fn whole_bits(&self) -> u32 {
        8 * LINE_BYTES as u32
    }

    fn chunks(&self) -> u32 {
        Self::chunks()
    }

    /// Returns the chunks' tags, each cut to its share of `bits`, the first chunk's at the top. If the bits cannot be
    /// shared equally, the first chunks have one more.
    ///
    /// # Panics
    /// If there are fewer bits than chunks.
    fn tag(&self, nonce: &Nonce, text: &Line, bits: u32) -> Tag {
        let (share, rest) = (bits / Self::chunks(), bits % Self::chunks());
        let tags = self.chunk_tags(nonce, text);
        (0..).zip(tags.chunks(C::block_size())).fold(Tag::default(), |tag, (index, chunk)| {
            let bits = share + u32::from(index < rest);
            tag << bits | Tag::first_of(chunk, bits)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::nonce;
    use aes::{Aes128, Aes256};
    use des::TdesEde3;
    use std::collections::HashSet;

    /// Computes the definition, chunk by chunk, with offsets from scratch. Returns the ciphertext, the tags over the
    /// plaintext, and the tags over the ciphertext.
    fn by_definition<C: BlockCipherEncrypt>(cipher: &C, nonce: &Nonce, plaintext: &Line) -> [Line; 3]
    where
        Block<C>: Dbl,
    {
        let encrypt = |mut block: Block<C>| {
            cipher.encrypt_block(&mut block);
            block
        };
        let l = encrypt(Block::<C>::default());
        let (mut r, mut offset) = (Block::<C>::default(), l.clone());
        for part in nonce.block(Domain::Pad, 0).chunks(C::block_size()) {
            let mut masked = offset.clone();
            xor(&mut masked, part);
            xor(&mut r, &encrypt(masked));
            offset = offset.dbl();
        }
        let m = 64 / C::block_size();
        let masked = |text: &Line, index: usize, also_after: bool| -> Line {
            let mut line = *text;
            for (chunk, number) in blocks_of::<C>(&mut line).iter_mut().zip(1 + index * m..) {
                // The Gray code of the number selects the doublings of L.
                let code = number ^ (number / 2);
                let bitmap = if index == 0 { 0 } else { usize::from(nonce.bitmap()) << 5 };
                let mut z = r.clone();
                for power in (0..usize::BITS).filter(|power| (code ^ bitmap) >> power & 1 == 1) {
                    xor(&mut z, &(0..power).fold(l.clone(), |l, _| l.dbl()));
                }
                xor(chunk, &z);
                *chunk = encrypt(chunk.clone());
                if also_after {
                    xor(chunk, &z);
                }
            }
            line
        };
        let sealed = masked(plaintext, 0, true);
        [sealed, masked(plaintext, 1, false), masked(&sealed, 2, false)]
    }

    fn follows_the_definition<C, const BYTES: usize>(key: &Key<BYTES>)
    where
        Block<C>: Dbl,
        C: BlockCipherEncrypt + BlockCipherDecrypt + KeyInit<KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>>,
    {
        let text: Line = std::array::from_fn(|byte| byte as u8);
        let at = nonce(77, 5).with_bitmap(0b1010_0110);
        let (mode, over_ciphertext) =
            (OcbChunks::<C>::new(key), OcbChunks::<C>::new(key).with_tags_over(ChunkText::Ciphertext));
        let [sealed, tags, of_ciphertext] = by_definition(&key.cipher::<C>(), &at, &text);
        assert_eq!((mode.seal(&at, &text), over_ciphertext.seal(&at, &text)), (sealed, sealed));
        // The first chunk's tag is at the top, and each tag begins with its first byte.
        let whole = |tags: &Line| Tag::first_of(tags, 512);
        assert_eq!(mode.tag(&at, &text, 512), whole(&tags));
        assert_eq!(over_ciphertext.tag(&at, &sealed, 512), whole(&of_ciphertext));
    }

    #[test]
    fn fvs_rule_1_ocb_chunks_and_their_tags_follow_the_definition() {
        follows_the_definition::<Aes128, 16>(&Key([3; 16]));
        follows_the_definition::<Aes256, 32>(&Key([5; 32]));
        follows_the_definition::<TdesEde3, 24>(&Key([4; 24]));
    }

    #[test]
    fn ocb_chunk_tags_bind_the_frequent_value_bitmap_by_unique_offsets() {
        let mode = OcbChunks::<Aes128>::new(&Key([3; 16]));
        let at = nonce(1, 1);
        let offsets: Vec<_> = mode.offsets(&at).collect();
        let mut seen: HashSet<Vec<u8>> = offsets[..4].iter().map(|offset| offset.to_vec()).collect();
        for bitmap in 0..=u8::MAX {
            for offset in &offsets[4..] {
                let mut offset = *offset;
                xor(&mut offset, &mode.bound(bitmap));
                assert!(seen.insert(offset.to_vec()), "{bitmap:#x}");
            }
        }
        // The encryption does not change.
        assert_eq!(mode.seal(&at, &[7; 64]), mode.seal(&at.with_bitmap(9), &[7; 64]));
        assert_ne!(mode.tag(&at, &[7; 64], 128), mode.tag(&at.with_bitmap(9), &[7; 64], 128));
    }

    #[test]
    fn no_offset_of_a_line_is_used_twice() {
        let (aes, tdes) = (OcbChunks::<Aes128>::new(&Key([3; 16])), OcbChunks::<TdesEde3>::new(&Key([4; 24])));
        let of_aes: HashSet<Vec<u8>> = aes.offsets(&nonce(1, 1)).map(|offset| offset.to_vec()).collect();
        let of_tdes: HashSet<Vec<u8>> = tdes.offsets(&nonce(1, 1)).map(|offset| offset.to_vec()).collect();
        assert_eq!((of_aes.len(), of_tdes.len()), (12, 24));
    }

    #[test]
    fn tag_bits_that_do_not_divide_evenly_belong_to_the_first_chunks() {
        let mode = OcbChunks::<Aes128>::new(&Key([3; 16]));
        let (at, text) = (nonce(2, 2), [7; 64]);
        let whole = mode.chunk_tags(&at, &text);
        let first = |chunk: usize, bits: u32| u64::from(whole[16 * chunk]) >> (8 - bits);
        let expected = first(0, 3) << 7 | first(1, 3) << 4 | first(2, 2) << 2 | first(3, 2);
        assert_eq!(mode.tag(&at, &text, 10), expected.into());
    }

    #[test]
    fn a_modified_plaintext_chunk_changes_only_its_ciphertext_and_its_tag_bits() {
        let at = nonce(1, 1);
        let text = [9; 64];
        let mut changed = text;
        changed[8 * 5 + 3] ^= 1;
        for mode in [
            OcbChunks::<TdesEde3>::new(&Key([4; 24])),
            OcbChunks::new(&Key([4; 24])).with_tags_over(ChunkText::Ciphertext),
        ] {
            let (before, after) = (mode.seal(&at, &text), mode.seal(&at, &changed));
            let differing: Vec<usize> =
                (0..8).filter(|i| before[8 * i..8 * i + 8] != after[8 * i..8 * i + 8]).collect();
            assert_eq!(differing, [5]);
            for share in [8, 64] {
                let difference = mode.tag(&at, &text, 8 * share) ^ mode.tag(&at, &changed, 8 * share);
                // Chunk 5 of 8 has the third share from below.
                assert_ne!(difference, Tag::default());
                assert_eq!(difference, (difference >> (2 * share) << (2 * share)), "nothing below");
                assert_eq!(difference >> (3 * share), Tag::default(), "nothing above");
            }
        }
    }
}
