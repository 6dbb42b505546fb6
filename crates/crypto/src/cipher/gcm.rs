//! Galois/counter mode over lines (NIST SP 800-38D): counter mode and GHASH under one key.
//!
//! The line format is fixed: no additional data, 64 bytes, and a 96-bit nonce of the line's number (40 bits) and its
//! counter (56 bits). The engine of the AES-GCM thesis has this format, and SGX has 56-bit counters. The first counter
//! block, `nonce || 1`, masks the tag; the line's blocks use `nonce || 2` to `nonce || 5`. Each of them is an unchanged
//! [`Nonce::block`]. A counter beyond 2^56, which no honest memory reaches, extends into the upper half of the block
//! number. Two counters never share a block, but another implementation would seal this line differently.

use crate::blocks::xor;
use crate::cipher::Uses;
use crate::{BLOCK_BYTES, CounterMode, Domain, Gmac, Key, LineCipher, LineMac, Nonce, Seed, Tag};
use aes::cipher::array::ArraySize;
use aes::cipher::consts::U16;
use aes::cipher::{BlockCipherEncrypt, BlockSizeUser, KeyInit};
use units::{Line, LineLength};

/// A block cipher in GCM over lines of fixed format: the encryption and the code.
#[derive(Clone)]
pub struct Gcm<C> {
    mode: CounterMode<C>,
    mac: Gmac<C>,
}

/// The counter blocks of a line in GCM: block 1 masks the tag, so the line's blocks begin at 2.
struct AfterTheMask<'a>(&'a Nonce);

impl Seed for AfterTheMask<'_> {
    fn block(&self, domain: Domain, index: u8) -> [u8; BLOCK_BYTES] {
        self.0.block(domain, index + 2)
    }
}

impl<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + Clone> Gcm<C> {
    /// Expands the key and derives the hash key from it.
    pub fn new<const BYTES: usize>(key: &Key<BYTES>) -> Gcm<C>
    where
        C: KeyInit<KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>>,
    {
        Gcm::over(key.cipher())
    }

    pub(crate) fn over(cipher: C) -> Gcm<C> {
        Gcm { mode: CounterMode::over(cipher.clone()), mac: Gmac::over(cipher) }
    }

    /// Encrypts one block by the block cipher, without a mode.
    pub fn encrypted(&self, block: [u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES] {
        self.mac.encrypted(block)
    }

    /// Returns the whole tag of a line of ciphertext.
    pub fn full_tag(&self, nonce: &Nonce, ciphertext: &Line) -> [u8; BLOCK_BYTES] {
        self.mac.masked(nonce.block(Domain::Pad, 1), &[], self.mac.in_use(ciphertext))
    }
}

impl<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + Clone> LineCipher for Gcm<C> {
    fn seal(&self, nonce: &Nonce, plaintext: &Line) -> Line {
        let mut line = self.mode.pad(&AfterTheMask(nonce));
        xor(&mut line, plaintext);
        line
    }

    fn open(&self, nonce: &Nonce, ciphertext: &Line) -> Line {
        self.seal(nonce, ciphertext)
    }

    fn uses(&self) -> Uses {
        self.mode.uses()
    }
}

impl<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + Clone> LineMac for Gcm<C> {
    fn whole_bits(&self) -> u32 {
        8 * BLOCK_BYTES as u32
    }

    fn tag(&self, nonce: &Nonce, ciphertext: &Line, bits: u32) -> Tag {
        Tag::first_of(&self.full_tag(nonce, ciphertext), bits)
    }

    fn shorten(&mut self, length: LineLength) -> bool {
        self.mac.shorten(length)
    }

    fn is_masked(&self) -> bool {
        true
    }

    fn tag_over(&self, lines: &[(Nonce, Line)], bits: u32) -> Option<Tag> {
        let masks = lines.iter().map(|(nonce, _)| nonce.block(Domain::Pad, 1));
        Some(Tag::first_of(&self.mac.masked_by_all(masks, lines.iter().map(|(_, text)| text)), bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::nonce;
    use aes::{Aes128, Aes256};
    use aes_gcm::aead::AeadInOut;
    use aes_gcm::{Aes128Gcm, Aes256Gcm};
    use proptest::prelude::*;

    /// Returns the ciphertext and the tag that another implementation computes of the same line under `line number ||
    /// counter`.
    fn by_aes_gcm(
        cipher: &impl AeadInOut<NonceSize = aes_gcm::aead::consts::U12, TagSize = U16>,
        line: u64,
        counter: u64,
        text: &Line,
    ) -> (Line, [u8; 16]) {
        let mut iv = [0; 12];
        iv[..5].copy_from_slice(&line.to_le_bytes()[..5]);
        iv[5..].copy_from_slice(&counter.to_le_bytes()[..7]);
        let mut sealed = *text;
        let tag = cipher.encrypt_inout_detached(&iv.into(), &[], (&mut sealed[..]).into()).unwrap();
        (sealed, tag.into())
    }

    #[test]
    fn sealing_a_32_byte_line_equals_aes_gcm_of_its_bytes() {
        let mut gcm = Gcm::<Aes128>::new(&Key([6; 16]));
        assert!(gcm.shorten(LineLength::HALF));
        let (line, text): (u64, Line) = (77, std::array::from_fn(|byte| byte as u8));
        let sealed = gcm.seal(&nonce(line, 5), &text);
        let mut iv = [0; 12];
        (iv[0], iv[5]) = (77, 5);
        let mut expected: [u8; 32] = text[..32].try_into().unwrap();
        let cipher = <Aes128Gcm as aes_gcm::KeyInit>::new(&[6; 16].into());
        let tag = cipher.encrypt_inout_detached(&iv.into(), &[], (&mut expected[..]).into()).unwrap();
        assert_eq!(sealed[..32], expected);
        assert_eq!(gcm.tag(&nonce(line, 5), &sealed, 128), Tag::first_of(&tag, 128));
    }

    proptest! {
        #[test]
        fn sealing_and_opening_a_line_equal_aes_gcm_of_the_library(
            key: [u8; 32], line in 0u64..1 << 40, counter in 0u64..1 << 56, text: [[u8; 32]; 2],
        ) {
            let text: Line = text.as_flattened().try_into().unwrap();
            let at = nonce(line, u128::from(counter));
            let gcm = Gcm::<Aes256>::new(&Key(key));
            let sealed = gcm.seal(&at, &text);
            let theirs = by_aes_gcm(&Key(key).cipher::<Aes256Gcm>(), line, counter, &text);
            prop_assert_eq!((sealed, gcm.full_tag(&at, &sealed)), theirs);
            prop_assert_eq!(gcm.open(&at, &sealed), text);
            prop_assert_eq!(gcm.tag(&at, &sealed, 128), u128::from_be_bytes(theirs.1).into());
            let key = Key::<16>(key[..16].try_into().unwrap());
            let gcm = Gcm::<Aes128>::new(&key);
            let sealed = gcm.seal(&at, &text);
            let theirs = by_aes_gcm(&key.cipher::<Aes128Gcm>(), line, counter, &text);
            prop_assert_eq!((sealed, gcm.full_tag(&at, &sealed)), theirs);
        }
    }

    #[test]
    fn counters_beyond_56_bits_have_distinct_pads() {
        let gcm = Gcm::<Aes128>::new(&Key([9; 16]));
        let mut pads = std::collections::HashSet::new();
        for counter in [0, 1, 1 << 55, 1 << 56, 1 << 63, (1 << 56) + 1] {
            assert!(pads.insert(gcm.seal(&nonce(3, counter), &[0; 64])));
        }
    }
}
