//! Truncated SHA3-256 over the key followed by the message: the kind of code that Intel TDX stores with each line (28
//! bits).
//!
//! The code is `SHA3-256(key || nonce || line)`. An attacker cannot extend the output of a sponge, so a key in front is
//! enough, unlike in SHA-2. The code is not KMAC (NIST SP 800-185), which pads the key to a block and separates
//! domains. Intel names SHA-3, the key and the length, but not how they are combined.
//!
//! A line needs one permutation of SHA-3, and its state does not fit the general registers. The vector registers of
//! AVX-512 process two lines in less time than general registers process one. RustCrypto has no permutation of two
//! states for today's compiler. A test compares that of `rscrypto` with RustCrypto, line by line.

use super::{Pairs, Tag};
use crate::{BLOCK_BYTES, Domain, Key, LineMac, Nonce};
use rscrypto::Sha3_256 as InPairs;
use sha3::{Digest, Sha3_256};
use units::{LINE_BYTES, Line, LineLength};

/// Input of the hash for one line: key, nonce and text.
type Message = [u8; 2 * BLOCK_BYTES + LINE_BYTES];

/// SHA3-256 over key, nonce and line.
pub struct Sha3Prefix {
    key: Key,
    keyed: Sha3_256,
    has_vectors: bool,
    /// Part of a line that is in use.
    length: LineLength,
}

impl Sha3Prefix {
    /// Absorbs the key once for all lines.
    pub fn new(key: &Key) -> Sha3Prefix {
        let keyed = Sha3_256::new_with_prefix(key.0);
        Sha3Prefix { key: *key, keyed, has_vectors: has_vectors(), length: LineLength::WHOLE }
    }

    fn code(&self, message: &[&[u8]]) -> [u8; 32] {
        let mut hash = self.keyed.clone();
        message.iter().for_each(|part| hash.update(part));
        hash.finalize().into()
    }

    fn message(&self, nonce: &Nonce, text: &Line) -> Message {
        let mut message = [0; size_of::<Message>()];
        message[..BLOCK_BYTES].copy_from_slice(&self.key.0);
        message[BLOCK_BYTES..2 * BLOCK_BYTES].copy_from_slice(&nonce.block(Domain::TagMask, 0));
        message[2 * BLOCK_BYTES..].copy_from_slice(text);
        message
    }
}

/// Returns true if this computer permutes two states in vector registers.
fn has_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

impl LineMac for Sha3Prefix {
    fn whole_bits(&self) -> u32 {
        256
    }

    fn tag(&self, nonce: &Nonce, text: &Line, bits: u32) -> Tag {
        // A single line is hashed twice, side by side: even so the vectors are faster.
        match self.pairs() {
            Some(pairs) => pairs.tags([(nonce, text); 2], bits)[0],
            None => Tag::first_of(&self.code(&[&nonce.block(Domain::TagMask, 0), &text[..self.length.bytes()]]), bits),
        }
    }

    fn shorten(&mut self, length: LineLength) -> bool {
        self.length = length;
        true
    }

    fn pairs(&self) -> Option<&dyn Pairs> {
        self.has_vectors.then_some(self)
    }

    fn tag_over(&self, lines: &[(Nonce, Line)], bits: u32) -> Option<Tag> {
        let mut hash = self.keyed.clone();
        for (nonce, text) in lines {
            hash.update(nonce.block(Domain::TagMask, 0));
            hash.update(&text[..self.length.bytes()]);
        }
        Some(Tag::first_of(&hash.finalize(), bits))
    }
}

impl Pairs for Sha3Prefix {
    fn tags(&self, lines: [(&Nonce, &Line); 2], bits: u32) -> [Tag; 2] {
        let [one, other] = lines.map(|(nonce, text)| self.message(nonce, text));
        let bytes = 2 * BLOCK_BYTES + self.length.bytes();
        let (one, other) = InPairs::digest_pair(&one[..bytes], &other[..bytes]);
        [one, other].map(|hash| Tag::first_of(&hash, bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::nonce;
    use hex_literal::hex;
    use proptest::prelude::*;

    #[test]
    fn sha3_with_the_first_example_bytes_as_key_gives_the_1600_bit_nist_example() {
        // 200 bytes of a3, from NIST's examples for FIPS 202.
        let mac = Sha3Prefix::new(&Key([0xa3; 16]));
        assert_eq!(
            mac.code(&[&[0xa3; 84], &[0xa3; 100]]),
            hex!("79f38adec5c20307a98ef76e8324afbfd46cfd81b22e3973c65fa1bd9de31787")
        );
    }

    proptest! {
        #[test]
        fn sha3_tags_computed_for_two_lines_at_once_equal_the_librarys_hashes(
            key in any::<[u8; 16]>(), texts in any::<[[u8; 64]; 2]>(), lines in any::<[u32; 2]>(), counter in any::<u64>(),
        ) {
            let mac = Sha3Prefix::new(&Key(key));
            let nonces = lines.map(|line| nonce(line.into(), counter.into()));
            let block = |which: usize| nonces[which].block(Domain::TagMask, 0);
            let hashed = [0, 1].map(|which| Tag::first_of(&mac.code(&[&block(which), &texts[which]]), 256));
            prop_assert_eq!(mac.tags([(&nonces[0], &texts[0]), (&nonces[1], &texts[1])], 256), hashed);
            prop_assert_eq!(mac.tag(&nonces[0], &texts[0], 256), hashed[0]);
        }
    }

    #[test]
    fn sha3_tags_of_32_byte_lines_cover_only_their_bytes_alone_and_in_pairs() {
        let mut mac = Sha3Prefix::new(&Key([7; 16]));
        assert!(mac.shorten(LineLength::HALF));
        let (at, text) = (nonce(3, 1), std::array::from_fn(|byte| byte as u8));
        let expected = Tag::first_of(&mac.code(&[&at.block(Domain::TagMask, 0), &text[..32]]), 256);
        assert_eq!(mac.tag(&at, &text, 256), expected);
        assert_eq!(mac.tags([(&at, &text); 2], 256), [expected; 2]);
        assert_eq!(mac.tag_over(&[(at, text)], 256), Some(expected));
    }
}
