//! Codes that are a chain of blocks, each encrypted with the result of the one before: CMAC and CBC-MAC.
//!
//! A nonce and a line of fixed length always have the same number of whole blocks. So their chain is one loop over the
//! processor's AES instructions, and the code detects these instructions only once. The library accepts any message in
//! parts: it detects the instructions for each block and buffers incomplete blocks, which takes twice the time. The
//! library still computes tags over several lines, and tests compare the chain with the library.

use super::{MessageMac, Tag};
use crate::blocks::xor;
use crate::cipher::{BlockCipher, BlockOrder, Uses};
use crate::{BLOCK_BYTES, Domain, LineMac, Nonce};
use ::cmac::Mac;
use aes::cipher::{Array, Block, BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser};
use units::{LINE_BYTES, Line, LineLength};

/// A chain over nonce and line. Its nonces may repeat, like those of the library.
pub struct Chained<C: BlockSizeUser, M> {
    cipher: C,
    /// Mask of the last block.
    mask: Block<C>,
    /// Part of a line that is in use.
    length: LineLength,
    pub(super) library: MessageMac<M>,
}

impl<C: BlockCipherEncrypt, M: Mac + Clone> Chained<C, M> {
    pub(crate) fn over(cipher: C, mask: Block<C>, library: M) -> Chained<C, M> {
        Chained { cipher, mask, length: LineLength::WHOLE, library: MessageMac::over(library) }
    }

    /// Writes the beginning of the tag of `text` under `nonce` to `tag`, and fills it.
    ///
    /// # Panics
    /// If `tag` is longer than the whole tag.
    pub fn beginning(&self, nonce: &Nonce, text: &Line, tag: &mut [u8]) {
        tag.copy_from_slice(&self.code(nonce, text)[..tag.len()]);
    }

    fn code(&self, nonce: &Nonce, text: &Line) -> Block<C> {
        let mut message = [0; BLOCK_BYTES + LINE_BYTES];
        let message = &mut message[..BLOCK_BYTES + self.length.bytes()];
        let (last, text) = (message.len() - C::block_size(), &text[..self.length.bytes()]);
        message[..BLOCK_BYTES].copy_from_slice(&nonce.block(Domain::TagMask, 0));
        message[BLOCK_BYTES..].copy_from_slice(text);
        xor(&mut message[last..], &self.mask);
        let mut state = Block::<C>::default();
        self.cipher
            .encrypt_with_backend(ChainWalk::<C> { state: &mut state, blocks: Array::slice_as_chunks(message).0 });
        state
    }
}

/// A walk along a chain of blocks.
struct ChainWalk<'a, C: BlockSizeUser> {
    state: &'a mut Block<C>,
    blocks: &'a [Block<C>],
}

impl<C: BlockSizeUser> BlockSizeUser for ChainWalk<'_, C> {
    type BlockSize = C::BlockSize;
}

impl<C: BlockSizeUser> BlockCipherEncClosure for ChainWalk<'_, C> {
    fn call<B: BlockCipherEncBackend<BlockSize = C::BlockSize>>(self, backend: &B) {
        for block in self.blocks {
            xor(self.state, block);
            backend.encrypt_block(self.state.into());
        }
    }
}

impl<C: BlockCipherEncrypt, M: Mac + Clone> LineMac for Chained<C, M> {
    /// The code is as long as a block of the cipher, also if blocks are short.
    fn whole_bits(&self) -> u32 {
        8 * C::block_size() as u32
    }

    fn uses(&self) -> Option<Uses> {
        let blocks = |bytes: usize| (bytes / C::block_size()) as u32;
        let (of_nonce, of_line) = (blocks(BLOCK_BYTES), blocks(self.length.bytes()));
        let cipher = BlockCipher::of::<C>();
        Some(Uses { cipher, of_nonce, nonce_chained: true, of_line, order: BlockOrder::Chained })
    }

    fn shorten(&mut self, length: LineLength) -> bool {
        self.length = length;
        self.library.shorten(length)
    }

    fn tag(&self, nonce: &Nonce, text: &Line, bits: u32) -> Tag {
        Tag::first_of(&self.code(nonce, text), bits)
    }

    fn tag_over(&self, lines: &[(Nonce, Line)], bits: u32) -> Option<Tag> {
        self.library.tag_over(lines, bits)
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::nonce;
    use crate::{CbcMac, Cmac, Domain, Key, LineMac, Tag};
    use aes::{Aes128, Aes256};
    use des::TdesEde3;
    use proptest::prelude::*;
    use units::LineLength;

    proptest! {
        #[test]
        fn cmac_and_cbc_mac_of_a_line_equal_the_library(
            key in any::<[u8; 32]>(), text in any::<[u8; 64]>(), line in 0u64..1 << 40, counter in any::<u64>(),
        ) {
            let at = nonce(line, counter.into());
            let (short, middle) = (Key(key[..16].try_into().unwrap()), Key(key[..24].try_into().unwrap()));
            let cmac = (Cmac::<Aes128>::new(&short), Cmac::<Aes256>::new(&Key(key)), Cmac::<TdesEde3>::new(&middle));
            let cbc = (CbcMac::<Aes128>::new(&short), CbcMac::<TdesEde3>::new(&middle));
            prop_assert_eq!(cmac.0.tag(&at, &text, 128), cmac.0.library.tag(&at, &text, 128));
            prop_assert_eq!(cmac.1.tag(&at, &text, 128), cmac.1.library.tag(&at, &text, 128));
            prop_assert_eq!(cmac.2.tag(&at, &text, 64), cmac.2.library.tag(&at, &text, 64));
            prop_assert_eq!(cbc.0.tag(&at, &text, 128), cbc.0.library.tag(&at, &text, 128));
            prop_assert_eq!(cbc.1.tag(&at, &text, 64), cbc.1.library.tag(&at, &text, 64));
        }
    }

    #[test]
    fn cmac_and_cbc_mac_of_a_32_byte_line_equal_the_library() {
        let (at, text) = (nonce(77, 5), std::array::from_fn(|byte| byte as u8));
        let (mut cmac, mut cbc) = (Cmac::<Aes128>::new(&Key([1; 16])), CbcMac::<Aes128>::new(&Key([1; 16])));
        assert!(cmac.shorten(LineLength::HALF) && cbc.shorten(LineLength::HALF));
        let parts: [&[u8]; 2] = [&at.block(Domain::TagMask, 0), &text[..32]];
        assert_eq!(cmac.tag(&at, &text, 128), Tag::first_of(cmac.library.code(&parts).as_ref(), 128));
        assert_eq!(cbc.tag(&at, &text, 128), Tag::first_of(cbc.library.code(&parts).as_ref(), 128));
        assert_eq!(cbc.tag_over(&[(at, text)], 128), Some(cbc.tag(&at, &text, 128)));
        assert_eq!(cbc.uses().map(|uses| (uses.of_nonce, uses.of_line)), Some((1, 2)));
    }
}
