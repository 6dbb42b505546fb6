//! Counter mode: a keystream that hides a line (NIST SP 800-38A, section 6.5).
//!
//! The counter blocks are the seed's, one for each block of the line. A cipher with 64-bit blocks cannot process a
//! 128-bit seed at once. It encrypts the first half, and the result is XOR-ed with the second half of each block, as
//! CBC-MAC would chain the two. This needs one more block operation for each line. Two different seeds may then collide
//! by chance, after some 2^32 lines.

use crate::blocks::{blocks_of, blocks_per_line, xor};
use crate::cipher::{BlockCipher, BlockOrder, Uses};
use crate::{BLOCK_BYTES, Domain, Key, LineCipher, Nonce, Seed};
use aes::cipher::array::ArraySize;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use units::{LINE_BYTES, Line};

/// A block cipher in counter mode.
#[derive(Clone)]
pub struct CounterMode<C> {
    cipher: C,
}

impl<C: BlockCipherEncrypt> CounterMode<C> {
    /// Expands the key of the block cipher.
    pub fn new<const BYTES: usize>(key: &Key<BYTES>) -> CounterMode<C>
    where
        C: KeyInit<KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>>,
    {
        CounterMode::over(key.cipher())
    }

    pub(crate) fn over(cipher: C) -> CounterMode<C> {
        CounterMode { cipher }
    }

    /// Returns the keystream of one line under one seed.
    pub fn pad(&self, seed: &impl Seed) -> Line {
        self.pad_from(|index| seed.block(Domain::Pad, index))
    }

    /// Returns the keystream that these counter blocks generate.
    pub(crate) fn pad_from(&self, block: impl Fn(u8) -> [u8; BLOCK_BYTES]) -> Line {
        let mut pad = [0; LINE_BYTES];
        let blocks = blocks_of::<C>(&mut pad);
        let head_bytes = BLOCK_BYTES - C::block_size();
        for (index, counter) in blocks.iter_mut().enumerate() {
            counter.copy_from_slice(&block(index as u8)[head_bytes..]);
        }
        if head_bytes > 0 {
            let mut head = aes::cipher::Block::<C>::default();
            head[..head_bytes].copy_from_slice(&block(0)[..head_bytes]);
            self.cipher.encrypt_block(&mut head);
            blocks.iter_mut().for_each(|counter| xor(counter, &head));
        }
        self.cipher.encrypt_blocks(blocks);
        pad
    }
}

impl<C: BlockCipherEncrypt> LineCipher for CounterMode<C> {
    fn seal(&self, nonce: &Nonce, plaintext: &Line) -> Line {
        let mut line = self.pad(nonce);
        xor(&mut line, plaintext);
        line
    }

    fn open(&self, nonce: &Nonce, ciphertext: &Line) -> Line {
        self.seal(nonce, ciphertext)
    }

    fn uses(&self) -> Uses {
        let (of_nonce, of_line) = (u32::from(C::block_size() < BLOCK_BYTES), blocks_per_line::<C>());
        Uses { cipher: BlockCipher::of::<C>(), of_nonce, nonce_chained: true, of_line, order: BlockOrder::Early }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::nonce;
    use aes::{Aes128, Aes192, Aes256};
    use des::TdesEde3;
    use hex_literal::hex;

    /// The counter blocks of all examples of SP 800-38A, appendix F.5.
    fn example_counter(index: u8) -> [u8; 16] {
        (u128::from_be_bytes(hex!("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")) + u128::from(index)).to_be_bytes()
    }

    #[test]
    fn a_line_of_keystream_gives_examples_f_5_1_3_and_5_of_sp_800_38a() {
        let aes128 = CounterMode::<Aes128>::new(&Key(hex!("2b7e151628aed2a6abf7158809cf4f3c")));
        let aes192 = CounterMode::<Aes192>::new(&Key(hex!("8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b")));
        let aes256 =
            CounterMode::<Aes256>::new(&Key(hex!("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")));
        assert_eq!(
            aes128.pad_from(example_counter),
            hex!(
                "ec8cdf7398607cb0f2d21675ea9ea1e4" "362b7c3c6773516318a077d7fc5073ae"
                "6a2cc3787889374fbeb4c81b17ba6c44" "e89c399ff0f198c6d40a31db156cabfe"
            )
        );
        assert_eq!(
            aes192.pad_from(example_counter),
            hex!(
                "717d2dc639128334a6167a488ded7921" "a72eb3bb14a556734b7bad6ab16100c5"
                "2efeae2d72b722613446dc7f4c2af918" "b9e783b30dd7924ff7bc9b97beaa8740"
            )
        );
        assert_eq!(
            aes256.pad_from(example_counter),
            hex!(
                "0bdf7df1591716335e9a8b15c860c502" "5a6e699d536119065433863c8f657b94"
                "1bc12c9c01610d5d0d8bd6a3378eca62" "2956e1c8693536b1bee99c73a31576b6"
            )
        );
    }

    #[test]
    fn triple_des_chains_the_two_halves_of_a_seed() {
        let key = Key(hex!("0123456789abcdef23456789abcdef01456789abcdef0123"));
        let cipher: TdesEde3 = key.cipher();
        let encrypt = |block: u64| {
            let mut block = aes::cipher::Array(block.to_be_bytes());
            cipher.encrypt_block(&mut block);
            u64::from_be_bytes(block.0)
        };
        let pad = CounterMode::<TdesEde3>::new(&key).pad_from(example_counter);
        for (index, block) in pad.chunks(8).enumerate() {
            let second = 0xf8f9_fafb_fcfd_feff_u64.wrapping_add(index as u64);
            let expected = encrypt(encrypt(0xf0f1_f2f3_f4f5_f6f7) ^ second);
            assert_eq!(block, expected.to_be_bytes());
        }
    }

    #[test]
    fn pads_of_1024_successive_counters_share_no_block() {
        fn check<C: BlockCipherEncrypt>(mode: &CounterMode<C>) {
            let mut blocks = std::collections::HashSet::new();
            for counter in 0..1024 {
                let pad = mode.pad(&nonce(5, counter));
                for block in pad.chunks(C::block_size()) {
                    assert!(blocks.insert(block.to_vec()), "a block of keystream came twice");
                }
            }
        }
        check(&CounterMode::<Aes128>::new(&Key([7; 16])));
        check(&CounterMode::<TdesEde3>::new(&Key([7; 24])));
    }
}
