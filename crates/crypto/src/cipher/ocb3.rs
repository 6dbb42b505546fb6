//! OCB over whole lines (RFC 7253, OCB3): encryption and a tag over the plaintext in one pass.
//!
//! ```text
//! Offset_0 = from E(nonce)   Offset_i = Offset_(i-1) ^ L_ntz(i)   Checksum = P_1 ^ ... ^ P_m   i = 1 ..= m, blocks of the line
//! C_i = E(P_i ^ Offset_i) ^ Offset_i   Tag = E(Checksum ^ Offset_m ^ L_$) ^ HASH(K, A)
//! ```
//! The nonce is the 14 bytes of line number and counter, so there is no associated data A, and its hash is zero without
//! a use of the cipher. The tag is one more encryption, of the plaintext's sum. When a line is sealed, the tag needs no
//! block of ciphertext; when a line is opened, all plaintext must have left the inverse cipher first. This encryption
//! belongs to the authentication code and not to the mode: a design without the tag opens the line without it. The OCB
//! crate has only one pass and computes the tag in both cases.

use crate::blocks::blocks_per_line;
use crate::cipher::{BlockCipher, BlockOrder, Uses};
use crate::{BLOCK_BYTES, Domain, Key, LineCipher, LineMac, Nonce, Tag};
use aes::cipher::array::ArraySize;
use aes::cipher::consts::{U14, U16};
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit};
use ocb3::AeadInOut;
use units::Line;

/// Number of doublings of L that the blocks of a line need.
const L_TABLE_SIZE: usize = 4;

/// A block cipher in OCB3 over lines: the encryption and the code.
pub struct Ocb3<C> {
    mode: ocb3::Ocb3<C, U14, U16, L_TABLE_SIZE>,
}

impl<C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>> Ocb3<C> {
    /// Expands the key and derives the offsets.
    pub fn new<const BYTES: usize>(key: &Key<BYTES>) -> Ocb3<C>
    where
        C: KeyInit<KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>>,
    {
        Ocb3::over(key.cipher())
    }

    pub(crate) fn over(cipher: C) -> Ocb3<C> {
        Ocb3 { mode: cipher.into() }
    }

    fn seal_with_tag(&self, nonce: &Nonce, plaintext: &Line) -> (Line, [u8; 16]) {
        let mut line = *plaintext;
        let tag = self.mode.encrypt_inout_detached(&short(nonce), &[], (&mut line[..]).into());
        (line, tag.expect("a line is shorter than OCB allows").into())
    }
}

/// Returns the place and the version of a nonce: OCB3 accepts 15 bytes at most.
fn short(nonce: &Nonce) -> ocb3::Nonce<U14> {
    let [line_number @ .., _domain, _index] = nonce.block(Domain::Pad, 0);
    Array(line_number)
}

impl<C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>> LineCipher for Ocb3<C> {
    fn seal(&self, nonce: &Nonce, plaintext: &Line) -> Line {
        self.seal_with_tag(nonce, plaintext).0
    }

    /// The verdict of the crate is about a tag that it did not get: the caller that opens a line compares the tag of
    /// the result. The crate leaves the plaintext in the buffer whatever the verdict.
    fn open(&self, nonce: &Nonce, ciphertext: &Line) -> Line {
        let mut line = *ciphertext;
        let _ = self.mode.decrypt_inout_detached(&short(nonce), &[], (&mut line[..]).into(), &Array::default());
        line
    }

    fn uses(&self) -> Uses {
        let (of_nonce, of_line) = (1, blocks_per_line::<C>());
        Uses { cipher: BlockCipher::of::<C>(), of_nonce, nonce_chained: false, of_line, order: BlockOrder::Parallel }
    }
}

impl<C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>> LineMac for Ocb3<C> {
    fn whole_bits(&self) -> u32 {
        8 * BLOCK_BYTES as u32
    }

    /// The offset is that of the encryption, which ends with it.
    fn uses(&self) -> Option<Uses> {
        let cipher = BlockCipher::of::<C>();
        Some(Uses { cipher, of_nonce: 0, nonce_chained: false, of_line: 1, order: BlockOrder::Summed })
    }

    fn tag(&self, nonce: &Nonce, plaintext: &Line, bits: u32) -> Tag {
        Tag::first_of(&self.seal_with_tag(nonce, plaintext).1, bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes::Aes128;
    use hex_literal::hex;
    use ocb3::consts::U12;

    /// Returns a sample of RFC 7253, appendix A. Its data and its plaintext are the first bytes of the same message.
    fn sample(last: u8, aad_bytes: usize, text_bytes: usize) -> Vec<u8> {
        let mode: ocb3::Ocb3<Aes128, U12> = Key(hex!("000102030405060708090a0b0c0d0e0f")).cipher();
        let mut iv = hex!("bbaa99887766554433221100");
        iv[11] = last;
        let bytes: Vec<u8> = (0..64).collect();
        let mut text = bytes[..text_bytes].to_vec();
        let tag = mode.encrypt_inout_detached(&Array(iv), &bytes[..aad_bytes], (&mut text[..]).into()).unwrap();
        text.extend_from_slice(&tag);
        text
    }

    #[test]
    fn ocb3_of_whole_blocks_gives_the_samples_of_rfc_7253() {
        assert_eq!(sample(0x00, 0, 0), hex!("785407bfffc8ad9edcc5520ac9111ee6"));
        assert_eq!(sample(0x01, 8, 8), hex!("6820b3657b6f615a5725bda0d3b4eb3a257c9af1f8f03009"));
        assert_eq!(sample(0x04, 16, 16), hex!("571d535b60b277188be5147170a9a22c3ad7a4ff3835b8c5701c1ccec8fc3358"));
        assert_eq!(sample(0x06, 0, 16), hex!("5ce88ec2e0692706a915c00aeb8b2396f40e1c743f52436bdf06d8fa1eca343d"));
    }

    /// The iterated test of RFC 7253, appendix A: 384 messages with data, condensed into one tag.
    #[test]
    fn the_iterated_test_of_rfc_7253_condenses_to_its_tag() {
        let mode: ocb3::Ocb3<Aes128, U12> = Key(hex!("00000000000000000000000000000080")).cipher();
        let encrypt = |number: usize, aad: &[u8], text: &[u8]| {
            let mut iv = [0; 12];
            iv[8..].copy_from_slice(&(number as u32).to_be_bytes());
            let mut text = text.to_vec();
            let tag = mode.encrypt_inout_detached(&Array(iv), aad, (&mut text[..]).into()).unwrap();
            text.extend_from_slice(&tag);
            text
        };
        let mut all = Vec::new();
        for length in 0..128 {
            let zeros = vec![0; length];
            all.extend(encrypt(3 * length + 1, &zeros, &zeros));
            all.extend(encrypt(3 * length + 2, &[], &zeros));
            all.extend(encrypt(3 * length + 3, &zeros, &[]));
        }
        assert_eq!(encrypt(385, &all, &[]), hex!("67e944d23256c5e0b6c61fa22fdf1ea2"));
    }

    #[test]
    fn opening_an_ocb3_line_returns_the_plaintext_and_the_tag_of_sealing() {
        let mode = Ocb3::<Aes128>::new(&Key([5; 16]));
        let at = crate::tests::nonce(12, 34);
        let text: Line = std::array::from_fn(|byte| byte as u8);
        let (sealed, tag) = mode.seal_with_tag(&at, &text);
        assert_eq!(mode.open(&at, &sealed), text);
        assert_eq!(mode.tag(&at, &mode.open(&at, &sealed), 128), u128::from_be_bytes(tag).into());
    }
}
