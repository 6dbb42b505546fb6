//! GMAC (NIST SP 800-38D): GHASH of the line, masked by the encrypted nonce.
//!
//! A Carter-Wegman code: a polynomial hash of the message, hidden by a mask that must never be used twice. GMAC is
//! cheap and parallel, and it needs a nonce that never repeats.
//!
//! A tag over several lines hashes them as one text, so that each block has a different power of the hash key. The sum
//! of the masks of all their nonces hides the hash: if one of the masks is new, so is their sum.

use crate::blocks::xor;
use crate::{BLOCK_BYTES, Domain, Halves, Key, LineMac, Nonce, Tag};
use aes::cipher::array::ArraySize;
use aes::cipher::consts::U16;
use aes::cipher::{BlockCipherEncrypt, BlockSizeUser, KeyInit};
use aes::{Aes128, Block};
use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use units::{Line, LineLength};

/// Returns the product of two blocks in the field of GHASH (SP 800-38D, section 6.3).
pub fn ghash_product(left: [u8; BLOCK_BYTES], right: [u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES] {
    let mut hash = GHash::new(&left.into());
    hash.update(&[right.into()]);
    hash.finalize().into()
}

/// GMAC of a block cipher over a line, under a nonce.
#[derive(Clone)]
pub struct Gmac<C = Aes128> {
    cipher: C,
    hash: GHash,
    /// Part of a line that is in use.
    length: LineLength,
}

impl<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>> Gmac<C> {
    /// Expands the key and derives the hash key, the encryption of zero, as GCM does.
    pub fn new<const BYTES: usize>(key: &Key<BYTES>) -> Gmac<C>
    where
        C: KeyInit<KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>>,
    {
        Gmac::over(key.cipher())
    }

    pub(crate) fn over(cipher: C) -> Gmac<C> {
        let mut hash_key = Block::default();
        cipher.encrypt_block(&mut hash_key);
        Gmac { cipher, hash: GHash::new(&hash_key), length: LineLength::WHOLE }
    }

    /// Returns GHASH of additional data, text and both lengths.
    pub(crate) fn hash(&self, data: &[u8], text: &[u8]) -> [u8; BLOCK_BYTES] {
        let mut hash = self.hash.clone();
        hash.update_padded(data);
        hash.update_padded(text);
        let mut lengths = [0; BLOCK_BYTES];
        lengths[..8].copy_from_slice(&(8 * data.len() as u64).to_be_bytes());
        lengths[8..].copy_from_slice(&(8 * text.len() as u64).to_be_bytes());
        hash.update_padded(&lengths);
        hash.finalize().into()
    }

    /// Returns the whole tag of several lines, masked by the encryptions of all `mask_blocks`.
    pub(crate) fn masked_by_all<'a>(
        &self,
        mask_blocks: impl Iterator<Item = [u8; BLOCK_BYTES]>,
        lines: impl Iterator<Item = &'a Line>,
    ) -> [u8; BLOCK_BYTES] {
        let text: Vec<u8> = lines.flat_map(|line| self.in_use(line)).copied().collect();
        let mut tag = self.hash(&[], &text);
        mask_blocks.for_each(|mask_block| xor(&mut tag, &self.encrypted(mask_block)));
        tag
    }

    /// Returns the bytes of a line that are in use.
    pub(crate) fn in_use<'a>(&self, line: &'a Line) -> &'a [u8] {
        &line[..self.length.bytes()]
    }

    /// Returns the whole tag: the hash, masked by the encryption of `mask_block`.
    pub(crate) fn masked(&self, mask_block: [u8; BLOCK_BYTES], data: &[u8], text: &[u8]) -> [u8; BLOCK_BYTES] {
        let mut tag = self.encrypted(mask_block);
        xor(&mut tag, &self.hash(data, text));
        tag
    }

    pub(crate) fn encrypted(&self, block: [u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES] {
        let mut block = Block::from(block);
        self.cipher.encrypt_block(&mut block);
        block.into()
    }
}

impl<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>> LineMac for Gmac<C> {
    fn whole_bits(&self) -> u32 {
        8 * BLOCK_BYTES as u32
    }

    fn tag(&self, nonce: &Nonce, text: &Line, bits: u32) -> Tag {
        Tag::first_of(&self.masked(nonce.block(Domain::TagMask, 0), &[], self.in_use(text)), bits)
    }

    fn shorten(&mut self, length: LineLength) -> bool {
        self.length = length;
        true
    }

    fn halves(&self) -> Option<&dyn Halves> {
        Some(self)
    }

    fn tag_over(&self, lines: &[(Nonce, Line)], bits: u32) -> Option<Tag> {
        let masks = lines.iter().map(|(nonce, _)| nonce.block(Domain::TagMask, 0));
        Some(Tag::first_of(&self.masked_by_all(masks, lines.iter().map(|(_, text)| text)), bits))
    }
}

impl<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>> Halves for Gmac<C> {
    fn product(&self, text: &Line, bits: u32) -> Tag {
        Tag::first_of(&self.hash(&[], self.in_use(text)), bits)
    }

    fn mask(&self, nonce: &Nonce, bits: u32) -> Tag {
        Tag::first_of(&self.encrypted(nonce.block(Domain::TagMask, 0)), bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn the_tag_of_a_line_gives_test_case_3_of_the_gcm_specification() {
        let gmac = Gmac::<Aes128>::new(&Key(hex!("feffe9928665731c6d6a8f9467308308")));
        let ciphertext = hex!(
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
            "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985"
        );
        let first_counter = hex!("cafebabefacedbaddecaf88800000001");
        let tag = hex!("4d5c2af327cd64a62cf35abd2ba6fab4");
        assert_eq!(gmac.masked(first_counter, &[], &ciphertext), tag);
        assert_eq!(gmac.masked_by_all([first_counter].into_iter(), [&ciphertext].into_iter()), tag);
    }

    #[test]
    fn the_tag_of_a_short_line_is_over_its_32_bytes_and_their_length() {
        let mut gmac = Gmac::<Aes128>::new(&Key([7; 16]));
        let (nonce, line) = (Nonce::new(9, 1), std::array::from_fn(|byte| byte as u8));
        assert!(gmac.shorten(LineLength::HALF));
        let expected = gmac.masked(nonce.block(Domain::TagMask, 0), &[], &line[..32]);
        assert_eq!(gmac.tag(&nonce, &line, 128), Tag::first_of(&expected, 128));
        assert_eq!(gmac.product(&line, 128) ^ gmac.mask(&nonce, 128), Tag::first_of(&expected, 128));
        assert_eq!(gmac.tag_over(&[(nonce, line)], 128), Some(Tag::first_of(&expected, 128)));
    }

    #[test]
    fn the_product_of_two_blocks_is_that_of_test_case_2_of_the_gcm_specification() {
        let hash_key = hex!("66e94bd4ef8a2c3b884cfa59ca342b2e");
        let ciphertext = hex!("0388dace60b6a392f328c2b971b2fe78");
        let product = hex!("5e2ec746917062882c85b0685353deb7");
        assert_eq!(ghash_product(hash_key, ciphertext), product);
        assert_eq!(ghash_product(ciphertext, hash_key), product);
    }

    #[test]
    fn a_gmac_tag_is_the_xor_of_its_product_and_its_mask() {
        let gmac = Gmac::<Aes128>::new(&Key([7; 16]));
        let (nonce, text) = (Nonce::new(5, 9), [0x31; 64]);
        for bits in [1, 56, 100, 128] {
            assert_eq!(gmac.product(&text, bits) ^ gmac.mask(&nonce, bits), gmac.tag(&nonce, &text, bits));
        }
        assert_ne!(gmac.mask(&nonce, 56), gmac.mask(&Nonce::new(5, 10), 56));
    }
}
