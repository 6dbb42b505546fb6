//! The choices of authentication, and what each asks of the rest of a design.

use super::ciphers::CipherChoice;
use super::keys::{Keys, Purpose};
use crate::mac::{Coverage, GROUP_MAX, Mac, Place};
use crate::planted::{Bug, Planted};
use crypto::{
    Aes128, Aes256, CbcMac, Cmac, Gcm, Gmac, HmacSha1, HmacSha256, HmacSha512, LineMac, Multilinear, Ocb3, OcbChunks,
    Sha3Prefix, TdesEde3,
};
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Of the 64 spare bits of a line in ECC modules, those that single errors take to be corrected and double ones to be found.
const SEC_DED_BITS: u32 = 8;

/// The shortest tag, or share of one, that is not called short.
const SHORT_TAG_BITS: u32 = 32;

/// How lines are authenticated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum MacChoice {
    /// Not at all.
    None,
    /// Carter-Wegman with GHASH: over the line, address and counter.
    Gmac,
    /// Carter-Wegman with SGX's multilinear hash: over the line, address and counter.
    SgxCw,
    /// AES-CMAC over the line and what `covers` lists.
    Cmac,
    /// CBC-MAC with AES, as CryptoPage's.
    CbcMac,
    /// HMAC-SHA-1.
    HmacSha1,
    /// HMAC-SHA-256.
    HmacSha256,
    /// HMAC-SHA-512.
    HmacSha512,
    /// SHA3-256 with the key in front, as TDX's.
    Sha3,
    /// The tag of `cipher = "aes128-ocb"`.
    Ocb,
    /// A tag for each chunk of `cipher = "aes128-ocb-chunks"`, `"aes256-ocb-chunks"` or `"tdes-ocb-chunks"`, side by side.
    OcbChunks,
}

/// What a tag can vouch for besides the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Covered {
    /// The line's place.
    Address,
    /// The line's version.
    Counter,
}

/// What of a line a tag is computed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// What lies in memory: it is checked while it is decrypted.
    #[default]
    Ciphertext,
    /// What the program wrote: it must be decrypted before it can be checked.
    Plaintext,
}

/// The authentication of a design.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MacDesign {
    /// Which code.
    pub code: MacChoice,
    /// Length of a tag in bits.
    #[serde(default = "default_tag_bits")]
    pub tag_bits: u32,
    /// What of the line it is computed over.
    #[serde(default)]
    pub over: Over,
    /// What a code without a nonce covers besides the line.
    #[serde(default)]
    pub covers: Vec<Covered>,
    /// Where tags lie.
    #[serde(default)]
    pub place: Place,
    /// Lines under one tag: 1, 2 or 4.
    #[serde(default = "one")]
    pub lines: u64,
}

fn one() -> u64 {
    1
}

fn default_tag_bits() -> u32 {
    56
}

impl Default for MacDesign {
    fn default() -> MacDesign {
        MacDesign {
            code: MacChoice::None,
            tag_bits: default_tag_bits(),
            over: Over::default(),
            covers: Vec::new(),
            place: Place::default(),
            lines: one(),
        }
    }
}

impl MacDesign {
    /// Whether the code has a nonce that must never repeat. It then covers address and counter.
    pub(crate) fn has_nonce(&self) -> bool {
        use MacChoice as M;
        matches!(self.code, M::Gmac | M::SgxCw | M::Ocb | M::OcbChunks)
    }

    /// Whether nothing ties a line's tag to its version: old data with its old tag passes under any counter.
    pub(super) fn ignores_version(&self) -> bool {
        let covered = self.has_nonce() || self.covers.contains(&Covered::Counter);
        // Under another counter, plaintext comes out wrong, and a tag over it does not fit.
        self.code != MacChoice::None && self.over == Over::Ciphertext && !covered
    }

    /// The rule that the authentication breaks by itself or with this cipher, if any.
    pub(super) fn broken_rule(&self, cipher: CipherChoice) -> Option<&'static str> {
        use MacChoice as M;
        let is_ocb = matches!(self.code, M::Ocb | M::OcbChunks);
        let rules = [
            (
                cipher.is_gcm() && (self.code != M::Gmac || self.over != Over::Ciphertext),
                "a GCM cipher is one with its code: set mac.code = \"gmac\" and mac.over = \"ciphertext\", or take the \
                 cipher without it, \"aes128-counter\"",
            ),
            (
                self.code == M::Ocb && cipher != CipherChoice::Aes128Ocb,
                "mac.code = \"ocb\" is the tag of OCB over whole lines: set cipher = \"aes128-ocb\"",
            ),
            (
                self.code == M::OcbChunks && cipher.ocb_chunks().is_none(),
                "mac.code = \"ocb-chunks\" is the tag of OCB in chunks: set cipher = \"aes128-ocb-chunks\", \
                 \"aes256-ocb-chunks\" or \"tdes-ocb-chunks\"",
            ),
            (
                is_ocb && self.over != Over::Plaintext,
                "the tags of OCB are over the plaintext: set mac.over = \"plaintext\"",
            ),
            (
                self.over == Over::Plaintext && cipher == CipherChoice::None,
                "mac.over = \"plaintext\" with cipher = \"none\" is the same as ciphertext: leave mac.over out",
            ),
            (
                self.over == Over::Plaintext && self.code == M::None,
                "mac.over says what a tag is over, and there is none: set mac.code = \"gmac\" or leave mac.over out",
            ),
            (
                !(8..=64).contains(&self.tag_bits),
                "mac.tag_bits must lie between 8 and 64: that is what a line of tags, ECC modules and data with its tag have \
                 room for",
            ),
            (
                self.place != Place::Region && self.code == M::None,
                "mac.place says where tags lie, and there are none: set mac.code = \"gmac\" or leave mac.place out",
            ),
            (![1, 2, GROUP_MAX as u64].contains(&self.lines), "mac.lines must be 1, 2 or 4"),
        ];
        let grouped = if self.lines > 1 { self.rule_of_groups() } else { None };
        rules.into_iter().find(|(broken, _)| *broken).map(|(_, rule)| rule).or(grouped)
    }

    /// The rule that one tag over several lines breaks, if any.
    fn rule_of_groups(&self) -> Option<&'static str> {
        use MacChoice as M;
        let rules = [
            (self.code == M::None, "mac.lines says what a tag is over, and there is none: leave mac.lines out"),
            (
                self.place != Place::Region,
                "mac.lines above 1 saves lines of tags, and with this mac.place there are none to save; several lines have \
                 room for several tags: set mac.lines = 1 or mac.place = \"region\"",
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
        ];
        rules.into_iter().find(|(broken, _)| *broken).map(|(_, rule)| rule)
    }

    /// Builds the part, if there is one.
    pub(crate) fn build(&self, cipher: CipherChoice, keys: Keys, planted: Planted) -> Option<Mac> {
        use CipherChoice as C;
        use MacChoice as M;
        let keys = if planted.has(Bug::OneTagKey) { Keys::new(0, planted) } else { keys };
        let key = keys.key(Purpose::Authentication);
        let code: Box<dyn LineMac> = match (self.code, cipher) {
            (M::None, _) => return None,
            (M::Gmac, C::Aes128Gcm) => Box::new(Gcm::<Aes128>::new(&keys.key(Purpose::Encryption))),
            (M::Gmac, C::Aes256Gcm) => Box::new(Gcm::<Aes256>::new(&keys.key(Purpose::Encryption))),
            (M::Gmac, _) => Box::new(Gmac::<Aes128>::new(&key)),
            (M::SgxCw, _) => Box::new(Multilinear::new(&key, &keys.key(Purpose::Hash))),
            (M::Cmac, _) => Box::new(Cmac::<Aes128>::new(&key)),
            (M::CbcMac, _) => Box::new(CbcMac::<Aes128>::new(&key)),
            (M::HmacSha1, _) => Box::new(HmacSha1::new(&keys.key::<20>(Purpose::Authentication))),
            (M::HmacSha256, _) => Box::new(HmacSha256::new(&keys.key::<32>(Purpose::Authentication))),
            (M::HmacSha512, _) => Box::new(HmacSha512::new(&keys.key::<64>(Purpose::Authentication))),
            (M::Sha3, _) => Box::new(Sha3Prefix::new(&key)),
            (M::Ocb, _) => Box::new(Ocb3::<Aes128>::new(&keys.key(Purpose::Encryption))),
            (M::OcbChunks, C::Aes256OcbChunks) => Box::new(OcbChunks::<Aes256>::new(&keys.key(Purpose::Encryption))),
            (M::OcbChunks, C::TdesOcbChunks) => Box::new(OcbChunks::<TdesEde3>::new(&keys.key(Purpose::Encryption))),
            (M::OcbChunks, _) => Box::new(OcbChunks::<Aes128>::new(&keys.key(Purpose::Encryption))),
        };
        let coverage = Coverage {
            address: self.has_nonce() || self.covers.contains(&Covered::Address),
            counter: self.has_nonce() || self.covers.contains(&Covered::Counter),
            plaintext: self.over == Over::Plaintext,
        };
        Some(Mac::new(code, self.tag_bits, coverage, planted).placed(self.place, self.lines))
    }

    /// What a reviewer would object to.
    pub(super) fn weaknesses(&self, cipher: CipherChoice) -> impl Iterator<Item = &'static str> {
        use MacChoice as M;
        let exists = self.code != M::None;
        let chunks = if self.code == M::OcbChunks { cipher.ocb_chunks().unwrap_or(1) } else { 1 };
        let versioned = self.has_nonce() || self.covers.contains(&Covered::Counter);
        let weak = [
            (!exists, "no authentication"),
            (exists && self.tag_bits / chunks < SHORT_TAG_BITS, "short tag"),
            (exists && self.over == Over::Plaintext && !versioned, "equal plaintexts have equal tags"),
            (self.code == M::HmacSha1, "SHA-1"),
            (self.place == Place::Ecc && self.tag_bits > 64 - SEC_DED_BITS, "no ECC bits left to correct errors"),
        ];
        weak.into_iter().filter_map(|(is, word)| is.then_some(word))
    }
}
