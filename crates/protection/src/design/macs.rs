//! The choices of authentication code, and the requirements of each choice on the other parts of a design.

use super::ciphers::CipherChoice;
use super::keys::{KeyPurpose, Keys};
use crate::mac::{Coverage, GROUP_MAX, Mac, TagLocation};
use crate::planted::{Bug, PlantedBug};
use crypto::{
    Aes128, Aes256, CbcMac, ChunkText, Cmac, Gcm, Gmac, HmacSha1, HmacSha256, HmacSha512, LineMac, Multilinear, Ocb3,
    OcbChunks, Sha3Prefix, TdesEde3,
};
use serde::{Deserialize, Serialize};
use strum::VariantArray;
use units::LineLength;

/// Number of the 64 spare bits of a line in ECC modules that are reserved for the code that corrects single errors and
/// detects double errors.
const SEC_DED_BITS: u32 = 8;

/// Least length in bits of a tag, or of one chunk's share of a tag, that is not called short.
const SHORT_TAG_BITS: u32 = 32;

/// Default length of a line's tag in bits.
pub(super) const DEFAULT_BITS: u32 = 56;

/// Choice of the authentication of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum MacChoice {
    /// No authentication of lines.
    None,
    /// Carter-Wegman code with GHASH, over the line, its address and its counter.
    Gmac,
    /// Carter-Wegman code with SGX's multilinear hash, over the line, its address and its counter.
    SgxCw,
    /// AES-CMAC over the line and the inputs that `covers` lists.
    Cmac,
    /// CBC-MAC with AES, as in CryptoPage.
    CbcMac,
    /// HMAC-SHA-1 over the line and the inputs that `covers` lists.
    HmacSha1,
    /// HMAC-SHA-256 over the line and the inputs that `covers` lists.
    HmacSha256,
    /// HMAC-SHA-512 over the line and the inputs that `covers` lists.
    HmacSha512,
    /// SHA3-256 over the key followed by the message, as in TDX.
    Sha3,
    /// OCB's own tag over a whole line, for `cipher = "aes128-ocb"`.
    Ocb,
    /// A separate tag for each chunk of `cipher = "aes128-ocb-chunks"`, `"aes256-ocb-chunks"` or `"tdes-ocb-chunks"`.
    /// The tag is over the plaintext or the ciphertext of its chunk, and the tags of a line are stored side by side.
    /// Under a separate key with separate offsets, this code also computes a tag for each block of counter mode.
    OcbChunks,
}

/// Input of a tag in addition to the content of the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Covered {
    /// Address of the line.
    Address,
    /// Encryption counter of the line.
    Counter,
}

/// Form of the line that a tag is computed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// The ciphertext in memory: the checker verifies it while the cipher decrypts it.
    #[default]
    Ciphertext,
    /// The program's plaintext: the cipher must decrypt the line before the checker can verify it.
    Plaintext,
}

/// The authentication of a design.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct MacDesign {
    /// Authentication code of the lines.
    pub code: MacChoice,
    /// Length of a line's tag in bits, from 1 to 256; 56 if neither this nor `chunk_tag_bits` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag_bits: Option<u32>,
    /// For a code with a tag for each chunk, length of one chunk's tag in bits, at most the block length of the cipher.
    /// It is given instead of `tag_bits`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_tag_bits: Option<u32>,
    /// Text that the tag is computed over: the ciphertext of the line, or its plaintext.
    #[serde(default)]
    pub over: Over,
    /// Inputs of the authentication code in addition to the line, for a code without a nonce. A code with a nonce
    /// always covers address and counter.
    #[serde(default)]
    pub covers: Vec<Covered>,
    /// Place of the tags: in a separate region of memory, in the spare bits of ECC modules, or behind each line in
    /// ordinary memory.
    #[serde(default)]
    pub place: TagLocation,
    /// Number of data lines that one tag covers: 1, 2 or 4.
    #[serde(default = "one")]
    pub lines: u64,
}

fn one() -> u64 {
    1
}

impl Default for MacDesign {
    fn default() -> MacDesign {
        MacDesign {
            code: MacChoice::None,
            tag_bits: Some(DEFAULT_BITS),
            chunk_tag_bits: None,
            over: Over::default(),
            covers: Vec::new(),
            place: TagLocation::default(),
            lines: one(),
        }
    }
}

impl MacDesign {
    /// Returns this design with a line's tag of `bits` bits.
    #[must_use]
    pub fn with_line_bits(self, bits: u32) -> MacDesign {
        MacDesign { tag_bits: Some(bits), chunk_tag_bits: None, ..self }
    }

    /// Returns this design with a tag of `bits` bits for each chunk.
    #[must_use]
    pub fn with_chunk_bits(self, bits: u32) -> MacDesign {
        MacDesign { tag_bits: None, chunk_tag_bits: Some(bits), ..self }
    }

    /// Number of chunks of a line with separate tags under this cipher.
    pub fn chunks(&self, cipher: CipherChoice) -> u32 {
        cipher.tagged_chunks().filter(|_| self.code == MacChoice::OcbChunks).unwrap_or(1)
    }

    /// Bits of a line's tag, or the sum of the bits of its chunks' tags.
    pub fn line_bits(&self, cipher: CipherChoice) -> u32 {
        let of_chunks = self.chunk_tag_bits.map(|bits| bits.saturating_mul(self.chunks(cipher)));
        of_chunks.or(self.tag_bits).unwrap_or(DEFAULT_BITS)
    }

    /// Returns whether the authentication code has a nonce that must never repeat. The tag then covers address and
    /// counter.
    pub(crate) fn has_nonce(&self) -> bool {
        use MacChoice as M;
        matches!(self.code, M::Gmac | M::SgxCw | M::Ocb | M::OcbChunks)
    }

    /// Returns whether a line's tag is independent of its version: old data with its old tag passes under any counter.
    pub(super) fn ignores_version(&self) -> bool {
        let covered = self.has_nonce() || self.covers.contains(&Covered::Counter);
        // Under another counter, decryption gives a wrong plaintext, and a tag over it does not fit.
        self.code != MacChoice::None && self.over == Over::Ciphertext && !covered
    }

    /// Returns the rule that the authentication breaks, with any cipher or with this one, if any.
    pub(super) fn broken_rule(&self, cipher: CipherChoice) -> Option<&'static str> {
        use MacChoice as M;
        let rules = [
            (
                cipher.is_gcm() && (self.code != M::Gmac || self.over != Over::Ciphertext),
                "a GCM cipher includes its MAC: set mac.code = \"gmac\" and mac.over = \"ciphertext\", or take the \
                 cipher without a MAC, \"aes128-counter\"",
            ),
            (
                self.code == M::Ocb && cipher != CipherChoice::Aes128Ocb,
                "mac.code = \"ocb\" is the tag of OCB over whole lines: set cipher = \"aes128-ocb\"",
            ),
            (
                self.code == M::OcbChunks && cipher.tagged_chunks().is_none(),
                "mac.code = \"ocb-chunks\" has a tag for each chunk of OCB or block of counter mode: set cipher = \
                 \"aes128-ocb-chunks\", \"aes256-ocb-chunks\", \"tdes-ocb-chunks\" or \"aes128-counter\"",
            ),
            (
                self.code == M::Ocb && self.over != Over::Plaintext,
                "the tag of OCB over whole lines is over the plaintext: set mac.over = \"plaintext\"",
            ),
            (
                self.over == Over::Plaintext && cipher == CipherChoice::None,
                "mac.over = \"plaintext\" with cipher = \"none\" is the same as ciphertext: leave mac.over out",
            ),
            (
                self.over == Over::Plaintext && self.code == M::None,
                "mac.over names the text under a tag, and the design has no tags: set mac.code = \"gmac\" or leave \
                 mac.over out",
            ),
            (
                self.place != TagLocation::Region && self.code == M::None,
                "mac.place names the place of tags, and the design has none: set mac.code = \"gmac\" or leave \
                 mac.place out",
            ),
            (![1, 2, GROUP_MAX as u64].contains(&self.lines), "mac.lines must be 1, 2 or 4"),
        ];
        let grouped = if self.lines > 1 { self.rule_of_groups() } else { None };
        rules.into_iter().find(|(broken, _)| *broken).map(|(_, rule)| rule).or(grouped)
    }

    /// Returns the rule that a tag over several lines breaks, if any.
    fn rule_of_groups(&self) -> Option<&'static str> {
        use MacChoice as M;
        let rules = [
            (
                self.code == M::None,
                "mac.lines is the number of lines under a tag, and the design has no tags: leave mac.lines out",
            ),
            (
                self.place != TagLocation::Region,
                "mac.lines above 1 saves tag lines, and this mac.place has none; several lines have room for \
                 several tags: set mac.lines = 1 or mac.place = \"region\"",
            ),
            (
                self.over == Over::Plaintext,
                "mac.lines above 1 with mac.over = \"plaintext\" would decrypt every line to check one: set mac.lines = 1 or \
                 mac.over = \"ciphertext\"",
            ),
            (
                self.code == M::SgxCw,
                "mac.code = \"sgx-cw\" has a key for the words of one line: set mac.lines = 1 or mac.code = \"gmac\"",
            ),
            (
                self.code == M::OcbChunks,
                "mac.code = \"ocb-chunks\" has tags for the chunks of one line: set mac.lines = 1 or mac.code = \"gmac\"",
            ),
        ];
        rules.into_iter().find(|(broken, _)| *broken).map(|(_, rule)| rule)
    }

    /// Returns whether the design has no authentication code, or a code that supports lines of this length.
    pub(super) fn can_do(&self, cipher: CipherChoice, length: LineLength) -> bool {
        self.code(cipher, Keys::new(0, PlantedBug::NONE)).is_none_or(|mut code| code.shorten(length))
    }

    /// Builds the authentication part, if the design has a code. The length of the lines must be a supported one. With
    /// `bitmap`, tags also cover the bitmaps of their lines.
    pub(crate) fn build(
        &self,
        cipher: CipherChoice,
        (length, bitmap): (LineLength, bool),
        keys: Keys,
        planted: PlantedBug,
    ) -> Option<Mac> {
        let keys = if planted.has(Bug::OneTagKey) { Keys::new(0, planted) } else { keys };
        let mut code = self.code(cipher, keys)?;
        code.shorten(length);
        let code = planted.weakened_code(code);
        let coverage = Coverage {
            address: self.has_nonce() || self.covers.contains(&Covered::Address),
            counter: self.has_nonce() || self.covers.contains(&Covered::Counter),
            plaintext: self.over == Over::Plaintext,
            bitmap,
        };
        Some(Mac::new(code, self.line_bits(cipher), coverage, planted).placed(self.place, self.lines))
    }

    /// Returns the code, if the design has one.
    pub(super) fn code(&self, cipher: CipherChoice, keys: Keys) -> Option<Box<dyn LineMac>> {
        use CipherChoice as C;
        use MacChoice as M;
        let key = keys.key(KeyPurpose::Authentication);
        // Codes that are combined with the cipher have the cipher's key, of the length that the cipher needs.
        let (short, long) = (keys.key(KeyPurpose::Encryption), keys.key(KeyPurpose::Encryption));
        let text = if self.over == Over::Plaintext { ChunkText::Plaintext } else { ChunkText::Ciphertext };
        Some(match (self.code, cipher) {
            (M::None, _) => return None,
            (M::Gmac, C::Aes128Gcm) => Box::new(Gcm::<Aes128>::new(&short)),
            (M::Gmac, C::Aes256Gcm) => Box::new(Gcm::<Aes256>::new(&long)),
            (M::Gmac, _) => Box::new(Gmac::<Aes128>::new(&key)),
            (M::SgxCw, _) => Box::new(Multilinear::new(&key, &keys.key(KeyPurpose::Hash))),
            (M::Cmac, _) => Box::new(Cmac::<Aes128>::new(&key)),
            (M::CbcMac, _) => Box::new(CbcMac::<Aes128>::new(&key)),
            (M::HmacSha1, _) => Box::new(HmacSha1::new(&keys.key::<20>(KeyPurpose::Authentication))),
            (M::HmacSha256, _) => Box::new(HmacSha256::new(&keys.key::<32>(KeyPurpose::Authentication))),
            (M::HmacSha512, _) => Box::new(HmacSha512::new(&keys.key::<64>(KeyPurpose::Authentication))),
            (M::Sha3, _) => Box::new(Sha3Prefix::new(&key)),
            (M::Ocb, _) => Box::new(Ocb3::<Aes128>::new(&short)),
            (M::OcbChunks, C::Aes256OcbChunks) => Box::new(OcbChunks::<Aes256>::new(&long).with_tags_over(text)),
            (M::OcbChunks, C::TdesOcbChunks) => {
                Box::new(OcbChunks::<TdesEde3>::new(&keys.key(KeyPurpose::Encryption)).with_tags_over(text))
            }
            (M::OcbChunks, C::Aes128OcbChunks) => Box::new(OcbChunks::<Aes128>::new(&short).with_tags_over(text)),
            (M::OcbChunks, C::TdesCounter) => {
                let key = keys.key(KeyPurpose::Authentication);
                Box::new(OcbChunks::<TdesEde3>::new(&key).with_tags_over(text).by_itself())
            }
            (M::OcbChunks, _) => Box::new(OcbChunks::<Aes128>::new(&key).with_tags_over(text).by_itself()),
        })
    }

    /// Returns the weak choices that a reviewer would object to.
    pub(super) fn weaknesses(&self, cipher: CipherChoice) -> impl Iterator<Item = &'static str> {
        use MacChoice as M;
        let exists = self.code != M::None;
        let bits = self.line_bits(cipher);
        let versioned = self.has_nonce() || self.covers.contains(&Covered::Counter);
        let weak = [
            (!exists, "no authentication"),
            (exists && bits / self.chunks(cipher) < SHORT_TAG_BITS, "short tag"),
            (exists && self.over == Over::Plaintext && !versioned, "equal plaintexts have equal tags"),
            (self.code == M::HmacSha1, "SHA-1"),
            (self.place == TagLocation::Ecc && bits > 64 - SEC_DED_BITS, "no ECC bits left to correct errors"),
        ];
        weak.into_iter().filter_map(|(is, word)| is.then_some(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_length_of_a_line_is_the_sum_of_its_chunk_tag_lengths() {
        let design = MacDesign { code: MacChoice::OcbChunks, ..MacDesign::default() }.with_chunk_bits(48);
        assert_eq!(design.line_bits(CipherChoice::TdesOcbChunks), 8 * 48);
        assert_eq!(design.line_bits(CipherChoice::Aes256OcbChunks), 4 * 48);
        assert_eq!(design.with_line_bits(64).line_bits(CipherChoice::TdesOcbChunks), 64);
    }
}
