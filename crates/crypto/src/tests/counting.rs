//! Tests that each mode uses its cipher as often as it reports, and for the reported uses. A test cipher records its
//! inputs.

use crate::cipher::{BlockCipher, BlockOrder};
use crate::mac::chained::Chained;
use crate::tests::nonce;
use crate::{Cbc, CounterMode, Ecb, Gcm, Key, LineCipher, LineMac, Ocb3, OcbChunks, Xts};
use aes::Aes128;
use aes::cipher::common::ParBlocksSizeUser;
use aes::cipher::consts::U1;
use aes::cipher::{
    Block, BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt, BlockCipherEncBackend,
    BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, InOut,
};
use des::TdesEde3;
use std::cell::RefCell;
use std::rc::Rc;
use units::Line;

/// Direction in which a block passes through a cipher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Forward,
    Inverse,
}

/// Blocks that a cipher was given, with their directions.
type Given = Rc<RefCell<Vec<(Way, Vec<u8>)>>>;

/// A cipher that records the blocks that it is given.
#[derive(Clone)]
struct Counting<C> {
    cipher: C,
    given: Given,
}

impl<C: BlockSizeUser> Counting<C> {
    fn note(&self, way: Way, block: &InOut<'_, '_, Block<C>>) {
        self.given.borrow_mut().push((way, block.get_in().to_vec()));
    }
}

impl<C: BlockSizeUser> BlockSizeUser for Counting<C> {
    type BlockSize = C::BlockSize;
}

impl<C: BlockSizeUser> ParBlocksSizeUser for Counting<C> {
    type ParBlocksSize = U1;
}

impl<C: BlockCipherEncrypt> BlockCipherEncBackend for Counting<C> {
    fn encrypt_block(&self, block: InOut<'_, '_, Block<C>>) {
        self.note(Way::Forward, &block);
        self.cipher.encrypt_block_inout(block);
    }
}

impl<C: BlockCipherDecrypt> BlockCipherDecBackend for Counting<C> {
    fn decrypt_block(&self, block: InOut<'_, '_, Block<C>>) {
        self.note(Way::Inverse, &block);
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

/// Returns the numbers of blocks in either direction.
fn forward_and_inverse(given: &[(Way, Vec<u8>)]) -> (u32, u32) {
    let forward = given.iter().filter(|(way, _)| *way == Way::Forward).count();
    (forward as u32, (given.len() - forward) as u32)
}

#[test]
fn every_cipher_mode_encrypts_its_declared_number_of_nonce_and_text_blocks() {
    let given = Given::default();
    let aes = || Counting { cipher: Key([1; 16]).cipher::<Aes128>(), given: Rc::clone(&given) };
    let tdes = || Counting { cipher: Key([1; 24]).cipher::<TdesEde3>(), given: Rc::clone(&given) };
    let modes: [(&str, Box<dyn LineCipher>, u32, u32); 11] = [
        ("AES counter", Box::new(CounterMode::over(aes())), 0, 4),
        ("AES GCM", Box::new(Gcm::over(aes())), 0, 4),
        ("AES XTS", Box::new(Xts::over(aes(), aes())), 1, 4),
        ("AES ECB", Box::new(Ecb::over(aes())), 0, 4),
        ("AES CBC", Box::new(Cbc::over(aes())), 1, 4),
        ("AES OCB3", Box::new(Ocb3::over(aes())), 1, 4),
        ("AES OCB chunks", Box::new(OcbChunks::over(aes())), 1, 4),
        ("Triple-DES counter", Box::new(CounterMode::over(tdes())), 1, 8),
        ("Triple-DES ECB", Box::new(Ecb::over(tdes())), 0, 8),
        ("Triple-DES CBC", Box::new(Cbc::over(tdes())), 2, 8),
        ("Triple-DES OCB chunks", Box::new(OcbChunks::over(tdes())), 2, 8),
    ];
    for (name, mode, of_nonce, of_line) in modes {
        let uses = mode.uses();
        assert_eq!((uses.of_nonce, uses.of_line), (of_nonce, of_line), "{name}");
        assert_eq!(uses.cipher == BlockCipher::Tdes, name.starts_with("Triple"), "{name}");
        // The pass of the crate for OCB3 also includes the uses that its code reports.
        let of_tag = if name == "AES OCB3" { LineMac::uses(&Ocb3::over(aes())).unwrap().blocks() } else { 0 };
        let (of_pass, inverse) = (uses.blocks() + of_tag, if uses.order == BlockOrder::Early { 0 } else { of_line });
        given.borrow_mut().clear();
        let [first, second] = [5_u8, 6].map(|byte| {
            let text = std::array::from_fn(|line_number| byte.wrapping_mul(line_number as u8 + 1));
            let sealed = mode.seal(&nonce(3, 4), &text);
            let to_seal = given.take();
            assert_eq!(mode.open(&nonce(3, 4), &sealed), text, "{name}");
            assert_eq!(forward_and_inverse(&to_seal), (of_pass, 0), "{name}, to seal");
            assert_eq!(forward_and_inverse(&given.take()), (of_pass - inverse, inverse), "{name}, to open");
            to_seal
        });
        // Inputs that do not depend on the text are the same for any text.
        let alike = first.iter().zip(&second).filter(|(first, second)| first == second).count() as u32;
        assert_eq!(alike, if uses.order == BlockOrder::Early { uses.blocks() } else { of_nonce }, "{name}");
    }
}

#[test]
fn the_declared_block_order_of_a_mode_matches_the_cipher_inputs_that_depend_on_a_block() {
    let given = Given::default();
    let aes = || Counting { cipher: Key([1; 16]).cipher::<Aes128>(), given: Rc::clone(&given) };
    let modes: [Box<dyn LineCipher>; 5] = [
        Box::new(Xts::over(aes(), aes())),
        Box::new(Ecb::over(aes())),
        Box::new(Cbc::over(aes())),
        Box::new(OcbChunks::over(aes())),
        Box::new(CounterMode::over(aes())),
    ];
    for mode in modes {
        let mut text = [5; 64];
        given.borrow_mut().clear();
        mode.seal(&nonce(3, 4), &text);
        let before = given.take();
        text[0] = 6;
        mode.seal(&nonce(3, 4), &text);
        let changed = before.iter().zip(&given.take()).filter(|(before, after)| before != after).count();
        let expected = match mode.uses().order {
            BlockOrder::Early => 0,
            BlockOrder::Parallel => 1,
            BlockOrder::Chained => 4,
            BlockOrder::Summed => unreachable!("no mode is a sum"),
        };
        assert_eq!(changed, expected);
    }
}

#[test]
fn nonce_encryption_is_declared_chained_exactly_if_its_second_block_needs_the_first() {
    let given = Given::default();
    let tdes = || Counting { cipher: Key([1; 24]).cipher::<TdesEde3>(), given: Rc::clone(&given) };
    let modes: [Box<dyn LineCipher>; 2] = [Box::new(Cbc::over(tdes())), Box::new(OcbChunks::over(tdes()))];
    for mode in modes {
        let of_nonce = |line, counter| {
            given.borrow_mut().clear();
            mode.seal(&nonce(line, counter), &[5; 64]);
            given.borrow()[..2].to_vec()
        };
        let before = of_nonce(3, 4);
        let changed =
            |after: Vec<(Way, Vec<u8>)>| before.iter().zip(&after).filter(|(before, after)| before != after).count();
        let most = changed(of_nonce(9, 4)).max(changed(of_nonce(3, 9)));
        assert_eq!((mode.uses().of_nonce, most), (2, if mode.uses().nonce_chained { 2 } else { 1 }));
    }
}

#[test]
fn every_cipher_based_mac_uses_its_cipher_as_often_and_in_the_order_declared() {
    let given = Given::default();
    let aes = || Counting { cipher: Key([1; 16]).cipher::<Aes128>(), given: Rc::clone(&given) };
    let tdes = || Counting { cipher: Key([1; 24]).cipher::<TdesEde3>(), given: Rc::clone(&given) };
    let library = || Key([1; 16]).cipher::<cbc_mac::CbcMac<Aes128>>();
    let codes: [(Box<dyn LineMac>, u32, u32); 5] = [
        (Box::new(Chained::over(aes(), Block::<Aes128>::default(), library())), 0, 0),
        (Box::new(Chained::over(tdes(), Block::<TdesEde3>::default(), library())), 0, 0),
        // R is made with the encryption.
        (Box::new(OcbChunks::over(aes())), 1, 0),
        (Box::new(OcbChunks::over(tdes())), 2, 0),
        // The crate encrypts the text in the same pass, and one of these blocks changes with the text.
        (Box::new(Ocb3::over(aes())), 1 + 4, 1),
    ];
    for (code, of_cipher, changed_of_cipher) in codes {
        let uses = code.uses().unwrap();
        let inputs = |first| {
            let mut text = [5; 64];
            text[0] = first;
            given.borrow_mut().clear();
            code.tag(&nonce(3, 4), &text, 64);
            given.take()
        };
        let (before, after) = (inputs(5), inputs(6));
        assert_eq!(before.len() as u32, uses.blocks() + of_cipher);
        let changed = before.iter().zip(&after).filter(|(before, after)| before != after).count() as u32;
        let of_code = if uses.order == BlockOrder::Chained { uses.of_line } else { 1 };
        assert_eq!(changed, of_code + changed_of_cipher);
        assert_eq!(forward_and_inverse(&before).1, 0, "no code takes the inverse cipher");
        assert_eq!(uses.cipher == BlockCipher::Tdes, before[0].1.len() == 8);
    }
}

#[test]
fn the_ocb3_tag_is_encrypted_after_all_blocks_and_depends_on_their_plaintext() {
    let given = Given::default();
    let mode = Ocb3::over(Counting { cipher: Key([1; 16]).cipher::<Aes128>(), given: Rc::clone(&given) });
    assert_eq!(
        LineMac::uses(&mode).map(|uses| (uses.of_nonce, uses.of_line, uses.order)),
        Some((0, 1, BlockOrder::Summed))
    );
    let texts: [Line; 2] =
        [5_u8, 6].map(|byte| std::array::from_fn(|line_number| byte.wrapping_mul(line_number as u8 + 1)));
    given.borrow_mut().clear();
    let [one, other] = texts.map(|text| {
        let sealed = mode.seal(&nonce(3, 4), &text);
        let to_seal = given.take();
        mode.open(&nonce(3, 4), &sealed);
        let (ways, blocks): (Vec<Way>, Vec<Vec<u8>>) = given.take().into_iter().unzip();
        assert_eq!(ways, [vec![Way::Forward], vec![Way::Inverse; 4], vec![Way::Forward]].concat());
        assert_eq!(to_seal.last().unwrap().1, blocks[5], "the same to seal and to open");
        blocks[5].clone()
    });
    // The offset is the same, so only the sum of the plaintexts' blocks differs, without any output of the cipher.
    let difference =
        |byte: usize| texts.iter().flat_map(|text| text.iter().skip(byte).step_by(16)).fold(0, |sum, byte| sum ^ byte);
    assert!((0..16).all(|byte| one[byte] ^ other[byte] == difference(byte)) && one != other);
}
