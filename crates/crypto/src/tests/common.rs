//! Properties that every mode and every code must have.

use crate::cipher::BlockOrder;
use crate::tests::nonce;
use crate::*;
use proptest::prelude::*;
use std::sync::LazyLock;
use units::Line;

type Mode = Box<dyn LineCipher + Send + Sync>;
type Code = Box<dyn LineMac + Send + Sync>;
/// Lines, each with its nonce.
type Lines = Vec<(Nonce, Line)>;

static MODES: LazyLock<Vec<(&str, Mode)>> = LazyLock::new(|| {
    let (short, middle, long) = (Key([1; 16]), Key([2; 24]), Key([3; 32]));
    vec![
        ("AES-128 counter", Box::new(CounterMode::<Aes128>::new(&short)) as Mode),
        ("AES-192 counter", Box::new(CounterMode::<Aes192>::new(&middle))),
        ("AES-256 counter", Box::new(CounterMode::<Aes256>::new(&long))),
        ("Triple-DES counter", Box::new(CounterMode::<TdesEde3>::new(&middle))),
        ("AES-128 GCM", Box::new(Gcm::<Aes128>::new(&short))),
        ("AES-256 GCM", Box::new(Gcm::<Aes256>::new(&long))),
        ("AES-128 OCB3", Box::new(Ocb3::<Aes128>::new(&short))),
        ("AES-128 OCB chunks", Box::new(OcbChunks::<Aes128>::new(&short))),
        ("Triple-DES OCB chunks", Box::new(OcbChunks::<TdesEde3>::new(&middle))),
        ("AES-128 XTS", Box::new(Xts::<Aes128>::new(&short, &Key([4; 16])))),
        ("AES-256 XTS", Box::new(Xts::<Aes256>::new(&long, &Key([4; 32])))),
        ("AES-128 CBC", Box::new(Cbc::<Aes128>::new(&short))),
        ("Triple-DES CBC", Box::new(Cbc::<TdesEde3>::new(&middle))),
        ("AES-128 ECB", Box::new(Ecb::<Aes128>::new(&short))),
        ("Triple-DES ECB", Box::new(Ecb::<TdesEde3>::new(&middle))),
    ]
});

static CODES: LazyLock<Vec<(&str, Code)>> = LazyLock::new(|| {
    let key = Key([1; 16]);
    vec![
        ("GMAC", Box::new(Gmac::<Aes128>::new(&key)) as Code),
        ("GCM", Box::new(Gcm::<Aes128>::new(&key))),
        ("CMAC", Box::new(Cmac::<Aes128>::new(&key))),
        ("CBC-MAC", Box::new(CbcMac::<Aes128>::new(&key))),
        ("HMAC-SHA-1", Box::new(HmacSha1::new(&Key([1; 20])))),
        ("HMAC-SHA-256", Box::new(HmacSha256::new(&Key([1; 32])))),
        ("HMAC-SHA-512", Box::new(HmacSha512::new(&Key([1; 64])))),
        ("SHA-3 prefix", Box::new(Sha3Prefix::new(&key))),
        ("multilinear", Box::new(Multilinear::new(&key, &Key([7; 64])))),
        ("OCB3", Box::new(Ocb3::<Aes128>::new(&key))),
        ("AES OCB chunks", Box::new(OcbChunks::<Aes128>::new(&key))),
        (
            "AES OCB chunks over ciphertext",
            Box::new(OcbChunks::<Aes128>::new(&key).with_tags_over(ChunkText::Ciphertext)),
        ),
        ("Triple-DES OCB chunks", Box::new(OcbChunks::<TdesEde3>::new(&Key([1; 24])))),
    ]
});

/// Codes that are made for one line only.
const TAKES_ONE_LINE: [&str; 5] =
    ["multilinear", "OCB3", "AES OCB chunks", "AES OCB chunks over ciphertext", "Triple-DES OCB chunks"];

/// A line of random bytes.
fn any_line() -> impl Strategy<Value = Line> {
    any::<[[u8; 32]; 2]>().prop_map(|halves| halves.as_flattened().try_into().unwrap())
}

proptest! {
    #[test]
    fn every_cipher_mode_decrypts_a_line_that_it_encrypted(text in any_line(), line in 0u64..1 << 40, counter in 0u128..1 << 72) {
        for (name, mode) in MODES.iter() {
            let at = nonce(line, counter);
            let sealed = mode.seal(&at, &text);
            prop_assert_ne!(sealed, text, "{}", name);
            prop_assert_eq!(mode.open(&at, &sealed), text, "{}", name);
        }
    }

    #[test]
    fn the_ciphertext_of_every_mode_but_ecb_depends_on_address_and_version(
        text in any_line(), line in 0u64..(1 << 40) - 1, counter in 0u128..(1 << 72) - 1,
    ) {
        for (name, mode) in MODES.iter() {
            let sealed = mode.seal(&nonce(line, counter), &text);
            let codebook = name.ends_with("ECB");
            prop_assert_eq!(sealed == mode.seal(&nonce(line + 1, counter), &text), codebook, "{}", name);
            prop_assert_eq!(sealed == mode.seal(&nonce(line, counter + 1), &text), codebook, "{}", name);
        }
    }

    #[test]
    fn exactly_the_modes_declared_as_keystream_pass_ciphertext_differences_to_the_plaintext(
        one in any_line(), other in any_line(), line in 0u64..1 << 40, counter in 0u128..1 << 72,
    ) {
        for (name, mode) in MODES.iter() {
            let at = nonce(line, counter);
            let [one_opened, other_opened] = [one, other].map(|stored| mode.open(&at, &stored));
            let difference = |one: &Line, other: &Line| std::array::from_fn::<u8, 64, _>(|byte| one[byte] ^ other[byte]);
            let same = difference(&one, &other) == difference(&one_opened, &other_opened);
            prop_assert_eq!(mode.uses().order == BlockOrder::Early, same && one != other, "{}", name);
        }
    }

    #[test]
    fn the_first_bytes_of_a_mac_output_are_those_of_its_tag(text in any_line(), line in 0u64..1 << 40, width in 1usize..=8) {
        let (code, at) = (Cmac::<Aes128>::new(&Key([1; 16])), nonce(line, 7));
        let mut beginning = [0; 8];
        code.beginning(&at, &text, &mut beginning[..width]);
        prop_assert_eq!(code.tag(&at, &text, 8 * width as u32), (u64::from_be_bytes(beginning) >> (64 - 8 * width)).into());
    }

    #[test]
    fn every_mac_uses_exactly_its_declared_number_of_tag_bits(text in any_line(), line in 0u64..1 << 40) {
        for (name, code) in CODES.iter() {
            let bits = code.whole_bits();
            prop_assert!((ALL_GIVE_BITS..=Tag::BITS).contains(&bits) && bits.is_multiple_of(code.chunks()), "{}", name);
            let of_many = (0..64).fold(Tag::default(), |all, n| all | code.tag(&nonce(line, n), &text, bits));
            prop_assert_eq!(of_many, Tag::ones(bits), "{}: every bit is in use", name);
        }
    }

    #[test]
    fn the_tag_of_every_mac_depends_on_text_address_and_version(
        text in any_line(), bit in 0usize..512, line in 0u64..(1 << 40) - 1, counter in 0u128..(1 << 72) - 1,
    ) {
        for (name, code) in CODES.iter() {
            let at = nonce(line, counter);
            let tag = code.tag(&at, &text, 64);
            let mut flipped = text;
            flipped[bit / 8] ^= 1 << (bit % 8);
            prop_assert_ne!(tag, code.tag(&nonce(line + 1, counter), &text, 64), "{}", name);
            prop_assert_ne!(tag, code.tag(&nonce(line, counter + 1), &text, 64), "{}", name);
            // A chunk's share is so short that a case may match by chance: the tests of the chunks choose their cases.
            if !name.contains("chunks") {
                prop_assert_ne!(tag, code.tag(&at, &flipped, 64), "{}: bit {}", name, bit);
                prop_assert_eq!(code.tag(&at, &text, 28), tag >> 36, "{}: cut short", name);
                let (whole, bits) = (code.tag(&at, &text, code.whole_bits()), code.whole_bits());
                prop_assert_eq!(tag, whole >> (bits - 64), "{}: the first word", name);
                prop_assert_eq!(code.tag(&at, &text, bits - 3), whole >> 3, "{}: nearly whole", name);
                let last = whole ^ code.tag(&at, &flipped, bits);
                prop_assert_ne!(last << (Tag::BITS - 16), Tag::default(), "{}: bit {} and the last bits", name, bit);
            }
        }
    }

    #[test]
    fn a_tag_over_several_lines_depends_on_their_texts_addresses_versions_and_order(
        texts in proptest::collection::vec(any_line(), 2..5), which in 0usize..4, bit in 0usize..512, counter in 1u128..1 << 40,
    ) {
        let which = which % texts.len();
        let lines: Lines =
            texts.iter().zip(0..).map(|(text, line)| (nonce(line, counter + u128::from(line)), *text)).collect();
        for (name, code) in CODES.iter() {
            let tag = code.tag_over(&lines, 64);
            prop_assert_eq!(tag.is_none(), TAKES_ONE_LINE.contains(name), "{}", name);
            let Some(tag) = tag else { continue };
            let changed = |change: &dyn Fn(&mut Lines)| {
                let mut others = lines.clone();
                change(&mut others);
                code.tag_over(&others, 64)
            };
            prop_assert_eq!(code.tag_over(&lines, 28), Some(tag >> 36), "{}: cut short", name);
            prop_assert_ne!(changed(&|lines| lines[which].1[bit / 8] ^= 1 << (bit % 8)), Some(tag), "{}", name);
            prop_assert_ne!(changed(&|lines| lines[which].0 = nonce(9, counter + which as u128)), Some(tag), "{}", name);
            prop_assert_ne!(changed(&|lines| lines[which].0 = nonce(which as u64, counter - 1)), Some(tag), "{}", name);
            prop_assert_ne!(changed(&|lines| lines.truncate(which)), Some(tag), "{}", name);
            // The same texts at exchanged places.
            let exchanged = |lines: &mut Lines| {
                (lines[0].1, lines[1].1) = (lines[1].1, lines[0].1);
            };
            prop_assert_ne!(changed(&exchanged), Some(tag), "{}", name);
        }
    }
}
