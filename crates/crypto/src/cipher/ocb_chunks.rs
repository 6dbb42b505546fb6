//! OCB in chunks: each block of a line by itself, under an offset of its own (Shi and Lee, Computing Frontiers 2007,
//! section 2.1, after Rogaway et al., CCS 2001).
//!
//! ```text
//! L = E(0)   R = E(nonce ^ L)   Z_i = Z_(i-1) ^ 2^ntz(i) L, Z_0 = R      i = 1 ..= m, blocks of the line
//! C_i = E(P_i ^ Z_i) ^ Z_i      T_i = E(P_i ^ Z_(m+i))
//! ```
//! Every chunk can be encrypted early for a guessed plaintext and compared when its ciphertext arrives, and so can its tag:
//! this is what ciphertext speculation needs. The paper keeps one code for each chunk but does not say which. Here it is
//! the encryption of the chunk under an offset that encryption does not use (XE, Rogaway, Asiacrypt 2004), cut to its share
//! of the tag's bits.
//!
//! The paper's nonce (address, 64-bit random value, padding) has 128 bits also where the cipher's block has 64. Then R is the
//! sum of its halves, each encrypted under an offset of its own: `R = E(first ^ L) ^ E(second ^ 2L)`. Offsets need no more
//! than that the sum of two is unpredictable, which that of two to four different encryptions is (the hash of PMAC, Black
//! and Rogaway, Eurocrypt 2002). In a chain the second would wait for the first: R would be there long after the line.

use crate::blocks::{blocks_of, blocks_per_line, xor};
use crate::cipher::{BlockCipher, Order, Uses};
use crate::mac::first_bits;
use crate::{BLOCK_BYTES, Domain, Key, LineCipher, LineMac, Nonce};
use aes::cipher::array::ArraySize;
use aes::cipher::{Block, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use dbl::Dbl;
use units::Line;

/// Doublings of L for offsets 1 to 16: blocks and tags of a line of eight blocks.
const DOUBLINGS: usize = 5;

/// A block cipher in OCB, chunk by chunk: the encryption and the code.
pub struct OcbChunks<C: BlockCipherEncrypt> {
    cipher: C,
    doublings: [Block<C>; DOUBLINGS],
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
        OcbChunks { cipher, doublings }
    }

    /// Chunks in a line, each with its tag.
    pub fn chunks() -> u32 {
        blocks_per_line::<C>()
    }

    /// R: the offset before the first.
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

    /// The offsets of a line in their order: those of its chunks, then those of their tags.
    fn offsets(&self, nonce: &Nonce) -> impl Iterator<Item = Block<C>> + Clone {
        let mut offset = self.start(nonce);
        (1..=2 * Self::chunks()).map(move |index| {
            xor(&mut offset, &self.doublings[index.trailing_zeros() as usize]);
            offset.clone()
        })
    }

    /// The whole tags of a line's chunks, side by side.
    fn chunk_tags(&self, nonce: &Nonce, plaintext: &Line) -> Line {
        let mut tags = *plaintext;
        let blocks = blocks_of::<C>(&mut tags);
        let before = blocks.len();
        mask::<C>(blocks, self.offsets(nonce).skip(before));
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
        let (of_nonce, of_line) = ((BLOCK_BYTES / C::block_size()) as u32, Self::chunks());
        Uses { cipher: BlockCipher::of::<C>(), of_nonce, nonce_chained: false, of_line, order: Order::Parallel }
    }
}

impl<C: BlockCipherEncrypt + BlockCipherDecrypt> LineMac for OcbChunks<C>
where
    Block<C>: Dbl,
{
    /// A block for each chunk. R is that of the encryption, which goes on with the same offsets.
    fn uses(&self) -> Option<Uses> {
        let (cipher, of_line) = (BlockCipher::of::<C>(), Self::chunks());
        Some(Uses { cipher, of_nonce: 0, nonce_chained: false, of_line, order: Order::Parallel })
    }

    /// The chunks' tags, each cut to its share of `bits`, the first chunk's at the top. If they cannot be shared equally,
    /// the first chunks have one more.
    ///
    /// # Panics
    /// If there are fewer bits than chunks.
    fn tag(&self, nonce: &Nonce, plaintext: &Line, bits: u32) -> u64 {
        let (share, rest) = (bits / Self::chunks(), bits % Self::chunks());
        let tags = self.chunk_tags(nonce, plaintext);
        (0..).zip(tags.chunks(C::block_size())).fold(0, |tag, (index, chunk)| {
            let bits = share + u32::from(index < rest);
            tag << bits | first_bits(chunk, bits)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::nonce;
    use aes::Aes128;
    use des::TdesEde3;

    /// The definition, chunk by chunk, with offsets computed from scratch.
    fn by_definition<C: BlockCipherEncrypt>(cipher: &C, nonce: &Nonce, plaintext: &Line) -> (Line, Line)
    where
        Block<C>: Dbl,
    {
        let encrypt = |mut block: Block<C>| {
            cipher.encrypt_block(&mut block);
            block
        };
        let l = encrypt(Block::<C>::default());
        let mut z = Block::<C>::default();
        let mut offset = l.clone();
        for part in nonce.block(Domain::Pad, 0).chunks(C::block_size()) {
            let mut masked = offset.clone();
            xor(&mut masked, part);
            xor(&mut z, &encrypt(masked));
            offset = offset.dbl();
        }
        let (mut sealed, mut tags) = (*plaintext, *plaintext);
        let m = 64 / C::block_size();
        for index in 1..=2 * m {
            let doubled = (0..index.trailing_zeros()).fold(l.clone(), |l, _| l.dbl());
            xor(&mut z, &doubled);
            let text = if index <= m { &mut sealed } else { &mut tags };
            let chunk = &mut blocks_of::<C>(text)[(index - 1) % m];
            xor(chunk, &z);
            *chunk = encrypt(chunk.clone());
            if index <= m {
                xor(chunk, &z);
            }
        }
        (sealed, tags)
    }

    #[test]
    fn chunks_and_their_tags_follow_the_definition() {
        let text: Line = std::array::from_fn(|byte| byte as u8);
        let at = nonce(77, 5);
        let (aes, tdes) = (Key([3; 16]), Key([4; 24]));
        let (mode, cipher) = (OcbChunks::<Aes128>::new(&aes), aes.cipher::<Aes128>());
        assert_eq!((mode.seal(&at, &text), mode.chunk_tags(&at, &text)), by_definition(&cipher, &at, &text));
        let (mode, cipher) = (OcbChunks::<TdesEde3>::new(&tdes), tdes.cipher::<TdesEde3>());
        assert_eq!((mode.seal(&at, &text), mode.chunk_tags(&at, &text)), by_definition(&cipher, &at, &text));
    }

    #[test]
    fn bits_that_cannot_be_shared_equally_go_to_the_first_chunks() {
        let mode = OcbChunks::<Aes128>::new(&Key([3; 16]));
        let (at, text) = (nonce(2, 2), [7; 64]);
        let whole = mode.chunk_tags(&at, &text);
        let first = |chunk: usize, bits: u32| u64::from(whole[16 * chunk]) >> (8 - bits);
        let expected = first(0, 3) << 7 | first(1, 3) << 4 | first(2, 2) << 2 | first(3, 2);
        assert_eq!(mode.tag(&at, &text, 10), expected);
    }

    #[test]
    fn a_changed_chunk_changes_its_own_ciphertext_and_its_own_share_of_the_tag_only() {
        let mode = OcbChunks::<TdesEde3>::new(&Key([4; 24]));
        let at = nonce(1, 1);
        let mut text = [9; 64];
        let (before, tag) = (mode.seal(&at, &text), mode.tag(&at, &text, 64));
        text[8 * 5 + 3] ^= 1;
        let (after, changed) = (mode.seal(&at, &text), mode.tag(&at, &text, 64));
        let differing: Vec<usize> = (0..8).filter(|i| before[8 * i..8 * i + 8] != after[8 * i..8 * i + 8]).collect();
        assert_eq!(differing, [5]);
        assert_eq!((tag ^ changed) & !(0xff << 16), 0, "chunk 5 of 8 has the third byte from below");
        assert_ne!(tag, changed);
    }
}
