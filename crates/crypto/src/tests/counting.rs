//! Does each mode use its cipher as often as it says? A cipher that counts.

use crate::tests::nonce;
use crate::{Cbc, CounterMode, Ecb, Gcm, Key, LineCipher, Ocb3, OcbChunks, Xts};
use aes::Aes128;
use aes::cipher::common::ParBlocksSizeUser;
use aes::cipher::consts::U1;
use aes::cipher::{
    Block, BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt, BlockCipherEncBackend,
    BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, InOut,
};
use des::TdesEde3;
use std::cell::Cell;
use std::rc::Rc;

/// A cipher that counts how often it is used.
#[derive(Clone)]
struct Counting<C> {
    cipher: C,
    uses: Rc<Cell<u32>>,
}

impl<C: BlockSizeUser> BlockSizeUser for Counting<C> {
    type BlockSize = C::BlockSize;
}

impl<C: BlockSizeUser> ParBlocksSizeUser for Counting<C> {
    type ParBlocksSize = U1;
}

impl<C: BlockCipherEncrypt> BlockCipherEncBackend for Counting<C> {
    fn encrypt_block(&self, block: InOut<'_, '_, Block<C>>) {
        self.uses.set(self.uses.get() + 1);
        self.cipher.encrypt_block_inout(block);
    }
}

impl<C: BlockCipherDecrypt> BlockCipherDecBackend for Counting<C> {
    fn decrypt_block(&self, block: InOut<'_, '_, Block<C>>) {
        self.uses.set(self.uses.get() + 1);
        self.cipher.decrypt_block_inout(block);
    }
}

impl<C: BlockCipherEncrypt> BlockCipherEncrypt for Counting<C> {
    fn encrypt_with_backend(&self, f: impl BlockCipherEncClosure<BlockSize = C::BlockSize>) {
        f.call(self);
    }
}

impl<C: BlockCipherDecrypt> BlockCipherDecrypt for Counting<C> {
    fn decrypt_with_backend(&self, f: impl BlockCipherDecClosure<BlockSize = C::BlockSize>) {
        f.call(self);
    }
}

#[test]
fn every_mode_uses_its_cipher_as_often_as_it_says() {
    let uses = Rc::new(Cell::new(0));
    let aes = || Counting { cipher: Key([1; 16]).cipher::<Aes128>(), uses: uses.clone() };
    let tdes = || Counting { cipher: Key([1; 24]).cipher::<TdesEde3>(), uses: uses.clone() };
    let modes: [(&str, Box<dyn LineCipher>, u32); 11] = [
        ("AES counter", Box::new(CounterMode::over(aes())), 4),
        ("AES GCM", Box::new(Gcm::over(aes())), 4),
        ("AES XTS", Box::new(Xts::over(aes(), aes())), 5),
        ("AES ECB", Box::new(Ecb::over(aes())), 4),
        ("AES CBC", Box::new(Cbc::over(aes())), 5),
        ("AES OCB3", Box::new(Ocb3::over(aes())), 6),
        ("AES OCB chunks", Box::new(OcbChunks::over(aes())), 5),
        ("Triple-DES counter", Box::new(CounterMode::over(tdes())), 9),
        ("Triple-DES ECB", Box::new(Ecb::over(tdes())), 8),
        ("Triple-DES CBC", Box::new(Cbc::over(tdes())), 10),
        ("Triple-DES OCB chunks", Box::new(OcbChunks::over(tdes())), 10),
    ];
    for (name, mode, blocks) in modes {
        assert_eq!(mode.blocks(), blocks, "{name}");
        uses.set(0);
        let sealed = mode.seal(&nonce(3, 4), &[5; 64]);
        assert_eq!(uses.replace(0), blocks, "{name} sealing");
        assert_eq!(mode.open(&nonce(3, 4), &sealed), [5; 64]);
        assert_eq!(uses.get(), blocks, "{name} opening");
    }
}
