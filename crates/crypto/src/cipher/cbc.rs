//! Cipher block chaining (NIST SP 800-38A, section 6.2), with the encrypted nonce as its initial vector (appendix C).
//!
//! Encryption is serial, decryption is parallel, and a flipped bit of ciphertext flips one bit of the next block. AEGIS
//! (Suh et al., ICS 2003) used this mode, before counter mode. Without a counter in the nonce it is deterministic. For
//! a text longer than a line, the caller draws the initial vector.

use crate::blocks::{blocks_per_line, xor};
use crate::cipher::{BlockCipher, BlockOrder, Uses};
use crate::{BLOCK_BYTES, Domain, Key, LineCipher, Nonce};
use aes::Aes128;
use aes::cipher::array::ArraySize;
use aes::cipher::{
    Array, Block, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, BlockSizeUser,
    InnerIvInit, KeyInit,
};
use units::Line;

/// A block cipher in CBC.
pub struct Cbc<C> {
    cipher: C,
}

impl<C: BlockCipherEncrypt + BlockCipherDecrypt> Cbc<C> {
    /// Expands the key of the block cipher.
    pub fn new<const BYTES: usize>(key: &Key<BYTES>) -> Cbc<C>
    where
        C: KeyInit<KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>>,
    {
        Cbc::over(key.cipher())
    }

    pub(crate) fn over(cipher: C) -> Cbc<C> {
        Cbc { cipher }
    }

    /// Returns the encrypted nonce: encrypted at once, or half by half as in CBC-MAC if the cipher's blocks are 64
    /// bits.
    fn initial_vector(&self, nonce: &Nonce) -> Block<C> {
        let mut vector = Block::<C>::default();
        for part in nonce.block(Domain::Pad, 0).chunks(C::block_size()) {
            xor(&mut vector, part);
            self.cipher.encrypt_block(&mut vector);
        }
        vector
    }

    fn encrypt(&self, vector: &Block<C>, plaintext: &Line) -> Line {
        let mut line = *plaintext;
        self.encrypt_inout(vector, &mut line);
        line
    }

    fn decrypt(&self, vector: &Block<C>, ciphertext: &Line) -> Line {
        let mut line = *ciphertext;
        self.decrypt_inout(vector, &mut line);
        line
    }

    fn encrypt_inout(&self, vector: &Block<C>, text: &mut [u8]) {
        cbc::Encryptor::inner_iv_init(&self.cipher, vector).encrypt_blocks(whole_blocks::<C>(text));
    }

    fn decrypt_inout(&self, vector: &Block<C>, text: &mut [u8]) {
        cbc::Decryptor::inner_iv_init(&self.cipher, vector).decrypt_blocks(whole_blocks::<C>(text));
    }
}

/// Returns the blocks of a text.
///
/// # Panics
/// If the last block is not whole: CBC has no padding here.
fn whole_blocks<C: BlockSizeUser>(text: &mut [u8]) -> &mut [Block<C>] {
    let (blocks, rest) = Array::slice_as_chunks_mut(text);
    assert!(rest.is_empty(), "a text of CBC is whole blocks, and {} bytes are left over", rest.len());
    blocks
}

impl Cbc<Aes128> {
    /// Encrypts a text of whole blocks from an initial vector, which no observer may foresee (SP 800-38A, appendix C).
    ///
    /// # Panics
    /// If the last block of the text is not whole.
    pub fn seal_text(&self, vector: &[u8; BLOCK_BYTES], text: &mut [u8]) {
        self.encrypt_inout(vector.into(), text);
    }

    /// Decrypts a text that [`Cbc::seal_text`] encrypted from the same vector, without any check.
    ///
    /// # Panics
    /// If the last block of the text is not whole.
    pub fn open_text(&self, vector: &[u8; BLOCK_BYTES], text: &mut [u8]) {
        self.decrypt_inout(vector.into(), text);
    }
}

impl<C: BlockCipherEncrypt + BlockCipherDecrypt> LineCipher for Cbc<C> {
    fn seal(&self, nonce: &Nonce, plaintext: &Line) -> Line {
        self.encrypt(&self.initial_vector(nonce), plaintext)
    }

    fn open(&self, nonce: &Nonce, ciphertext: &Line) -> Line {
        self.decrypt(&self.initial_vector(nonce), ciphertext)
    }

    fn uses(&self) -> Uses {
        let (of_nonce, of_line) = ((BLOCK_BYTES / C::block_size()) as u32, blocks_per_line::<C>());
        Uses { cipher: BlockCipher::of::<C>(), of_nonce, nonce_chained: true, of_line, order: BlockOrder::Chained }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::SP800_38A_PLAINTEXT;
    use aes::{Aes128, Aes256};
    use hex_literal::hex;

    const VECTOR: [u8; 16] = hex!("000102030405060708090a0b0c0d0e0f");

    #[test]
    fn cbc_of_a_line_gives_examples_f_2_1_and_f_2_5_of_sp_800_38a() {
        let aes128 = Cbc::<Aes128>::new(&Key(hex!("2b7e151628aed2a6abf7158809cf4f3c")));
        let aes256 = Cbc::<Aes256>::new(&Key(hex!("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")));
        let sealed = aes128.encrypt(&VECTOR.into(), &SP800_38A_PLAINTEXT);
        assert_eq!(
            sealed,
            hex!(
                "7649abac8119b246cee98e9b12e9197d" "5086cb9b507219ee95db113a917678b2"
                "73bed6b8e3c1743b7116e69e22229516" "3ff1caa1681fac09120eca307586e1a7"
            )
        );
        assert_eq!(aes128.decrypt(&VECTOR.into(), &sealed), SP800_38A_PLAINTEXT);
        assert_eq!(
            aes256.encrypt(&VECTOR.into(), &SP800_38A_PLAINTEXT),
            hex!(
                "f58c4c04d6e5f1ba779eabfb5f7bfbd6" "9cfc4e967edb808d679f777bc6702c7d"
                "39f23369a9d9bacfa530e26304231461" "b2eb05e2c39be9fcda6c19078c6a9d1b"
            )
        );
    }

    #[test]
    fn cbc_of_two_lines_chains_the_second_to_the_last_block_of_the_first() {
        let aes128 = Cbc::<Aes128>::new(&Key(hex!("2b7e151628aed2a6abf7158809cf4f3c")));
        let mut text = [SP800_38A_PLAINTEXT, [9; 64]].concat();
        aes128.seal_text(&VECTOR, &mut text);
        let last = hex!("3ff1caa1681fac09120eca307586e1a7");
        assert_eq!(text[48..64], last);
        assert_eq!(text[64..], aes128.encrypt(&last.into(), &[9; 64]));
        aes128.open_text(&VECTOR, &mut text);
        assert_eq!(text, [SP800_38A_PLAINTEXT, [9; 64]].concat());
    }
}
