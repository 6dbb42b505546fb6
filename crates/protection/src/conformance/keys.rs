//! Checks that each use has a separate key. A key is not visible, but a key with two uses has visible effects: each
//! check exploits one as an attacker would.

use super::design::DATA_LINES;
use super::{Checked, hold, pairs, placed};
use crate::cipher::Cipher;
use crate::counter::Counter;
use crate::design::Parts;
use crate::mac::Mac;
use crate::placement::Placement;
use crate::planted::PlantedBug;
use crate::scheme::FixedScheme;
use crate::speculation::Bitmap;
use crate::tree::{Tree, Voucher};
use crypto::{BLOCK_BYTES, Domain, Nonce, Tag};
use std::array;
use units::random::Random;
use units::{LINE_BYTES, Line, ZERO_LINE};

/// Checks a composition for keys with two uses.
pub fn check(parts: &Parts, planted: PlantedBug) -> Checked {
    let built = parts.build_with(DATA_LINES, 1, planted)?;
    let scheme = built.fixed().ok_or("lines move")?;
    data_and_tweak(&scheme.codec.cipher)?;
    let Some(mac) = &scheme.codec.mac else { return Ok(()) };
    let bits = parts.mac.line_bits(parts.cipher);
    if mac.tag_layout().lines == 1 {
        data_and_tags(&scheme.codec.cipher, (mac, bits))?;
    }
    scheme.metadata.tree().map_or(Ok(()), |tree| tags_and_tree(scheme, (mac, bits), tree))
}

/// XTS under one key for data and tweaks: a line of zeros decrypts to its place, masked. An attacker who knows the mask
/// knows the plaintexts of other chosen lines (Rogaway, "Efficient instantiations of tweakable blockciphers", ASIACRYPT
/// 2004, section 6).
fn data_and_tweak(cipher: &Cipher) -> Checked {
    let (at, counter) = (placed(0x1_2345), Counter::default());
    let tweak = block(&Nonce::new(at.bound(), counter.0).block(Domain::Pad, 0));
    let mask = block(&cipher.open(at, counter, &ZERO_LINE)) ^ tweak;
    let masks: [u128; LINE_BYTES / BLOCK_BYTES] =
        array::from_fn(|index| (0..index).fold(mask, |mask, _| times_alpha(mask)));
    let line_of = |block: &dyn Fn(u128) -> u128| -> Line {
        array::from_fn(|byte| block(masks[byte / 16]).to_le_bytes()[byte % 16])
    };
    let chosen = line_of(&|of_block| mask ^ of_block);
    let foretold = line_of(&|of_block| tweak ^ of_block);
    let encrypts = cipher.uses().is_some();
    hold(!encrypts || cipher.open(at, counter, &chosen) != foretold, || {
        "what a chosen ciphertext opens to is known: one key encrypts data and tweaks".into()
    })
}

/// GMAC under the key of the data: the hash key of GMAC is the encryption of zeros. The same value is the first block
/// of keystream of the first line before its first write, and the ciphertext of zeros in a codebook.
fn data_and_tags(cipher: &Cipher, (mac, bits): (&Mac, u32)) -> Checked {
    let mut random = Random::new(1);
    let hash_key = u128::from_be_bytes(first_block(&cipher.seal(placed(0), Counter::default(), &ZERO_LINE)));
    let (line, counter, text, change) = (placed(7), Counter(3), random.line(), random.line());
    let changed: Line = array::from_fn(|byte| text[byte] ^ change[byte]);
    let blocks = change.chunks(BLOCK_BYTES).map(|block| u128::from_be_bytes(array::from_fn(|byte| block[byte])));
    let hash = times(blocks.fold(0, |sum, block| times(sum ^ block, hash_key)), hash_key);
    let difference = mac.tag(line, counter, Bitmap::NONE, &text) ^ mac.tag(line, counter, Bitmap::NONE, &changed);
    // Compares at most 128 bits of a tag, the length of GMAC's hash.
    let shared = bits.min(u128::BITS);
    hold(difference >> (bits - shared) != Tag::from(hash >> (u128::BITS - shared)), || {
        "keystream shows the hash key of the tags: one key encrypts data and authenticates it".into()
    })
}

/// Fails if one key serves tags and tree. A tag over the same bytes, place and version then equals the node's tag of
/// these bytes, or the MAC in the counter line.
fn tags_and_tree(scheme: &FixedScheme, (mac, bits): (&Mac, u32), tree: &Tree) -> Checked {
    let leaves = scheme.layout.leaves().ok_or("a tree covers something")?;
    let slot = leaves.slot(leaves.lines / 2);
    let parent = tree.parent(&scheme.layout, slot).ok_or("every line has a parent")?;
    let (mut content, mut node) = (Random::new(1).line(), ZERO_LINE);
    scheme.counters.set_embedded_mac(&mut content, 0);
    let voucher = tree.update(parent, &mut node, slot, &content).map_err(|overflow| format!("{overflow:?} at once"))?;
    let (of_tree, version, width) = match voucher {
        Voucher::Nothing => return Ok(()),
        Voucher::Tag(tag) => (u64::from_be_bytes(array::from_fn(|byte| tag[byte])), Counter::default(), u64::BITS),
        Voucher::Version(version) => {
            let sealed = tree.seal_under(slot, leaves.role, &content, voucher);
            (scheme.counters.embedded_mac(&sealed), version, scheme.counters.embedded_mac_bits())
        }
    };
    let shared = width.min(bits);
    let tag = mac.tag(Placement::Fixed.in_slot(slot), version, Bitmap::NONE, &content);
    hold(Tag::from(of_tree >> (width - shared)) != tag >> (bits - shared), || {
        "a tag is what the tree makes of the same bytes: one key authenticates data and makes the tree".into()
    })
}

fn first_block(line: &Line) -> [u8; BLOCK_BYTES] {
    array::from_fn(|byte| line[byte])
}

fn block(line: &[u8]) -> u128 {
    u128::from_le_bytes(array::from_fn(|byte| line[byte]))
}

/// The next mask of XTS.
fn times_alpha(mask: u128) -> u128 {
    mask << 1 ^ if mask >> 127 == 1 { 0x87 } else { 0 }
}

/// The product in the field of GHASH. The first bit is the coefficient of 1 (NIST SP 800-38D, 6.3).
fn times(a: u128, b: u128) -> u128 {
    let step = |(product, power): (u128, u128), bit: u32| {
        let product = if a >> bit & 1 == 1 { product ^ power } else { product };
        (product, power >> 1 ^ if power & 1 == 1 { 0xe1 << 120 } else { 0 })
    };
    (0..u128::BITS).rev().fold((0, b), step).0
}

#[test]
fn products_are_those_of_ghash() {
    // The first step of test case 2 of the GCM specification.
    let (key, text) = (0x66e9_4bd4_ef8a_2c3b_884c_fa59_ca34_2b2e, 0x0388_dace_60b6_a392_f328_c2b9_71b2_fe78);
    assert_eq!(times(text, key), 0x5e2e_c746_9170_6288_2c85_b068_5353_deb7);
}

#[test]
fn every_cryptographic_purpose_has_a_separate_key() {
    for parts in pairs() {
        assert_eq!(check(parts, PlantedBug::NONE), Ok(()), "{parts:?}");
    }
}
