//! The choices of cipher and mode, and the requirements of each choice on the other parts of a design.

use super::keys::{KeyPurpose, Keys};
use crate::cipher::{Cipher, NonceInputs};
use crate::codec::has_offset;
use crate::planted::PlantedBug;
use crate::spilled::spilled;
use crate::verbs::Slot;
use crypto::{
    Aes128, Aes192, Aes256, BlockOrder, Cbc, CounterMode, Ecb, Gcm, Key, LineCipher, Ocb3, OcbChunks, TdesEde3, Uses,
    Xts,
};
use serde::{Deserialize, Serialize};
use strum::VariantArray;
use units::Line;

/// Choice of the encryption of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum CipherChoice {
    /// No encryption of data.
    None,
    /// AES-128 in counter mode.
    Aes128Counter,
    /// AES-192 in counter mode.
    Aes192Counter,
    /// AES-256 in counter mode.
    Aes256Counter,
    /// Triple-DES in counter mode.
    TdesCounter,
    /// AES-128 in Galois/counter mode: counter mode, and `mac.code = "gmac"` under the same key.
    Aes128Gcm,
    /// AES-256 in Galois/counter mode.
    Aes256Gcm,
    /// AES-128 in OCB3 over whole lines.
    Aes128Ocb,
    /// AES-128 in OCB, each 128-bit chunk separately.
    Aes128OcbChunks,
    /// AES-256 in OCB, each 128-bit chunk separately.
    Aes256OcbChunks,
    /// Triple-DES in OCB, each 64-bit chunk separately.
    TdesOcbChunks,
    /// XTS-AES-128, tweaked by the address.
    Aes128Xts,
    /// XTS-AES-256, tweaked by the address.
    Aes256Xts,
    /// AES-128 in cipher block chaining. The initial vector is the encrypted address, with the counter if the design
    /// has counters.
    Aes128Cbc,
    /// Triple-DES in cipher block chaining.
    TdesCbc,
    /// AES-128 in electronic codebook mode.
    Aes128Ecb,
    /// Triple-DES in electronic codebook mode.
    TdesEcb,
}

impl CipherChoice {
    /// Inputs of the mode for a line: address, and version if the mode uses it.
    pub(crate) fn nonce_inputs(self) -> NonceInputs {
        use CipherChoice as C;
        match self {
            C::Aes128Counter | C::Aes192Counter | C::Aes256Counter | C::TdesCounter => NonceInputs::FreshNonce,
            C::Aes128Gcm | C::Aes256Gcm => NonceInputs::FreshNonce,
            C::Aes128Ocb | C::Aes128OcbChunks | C::Aes256OcbChunks | C::TdesOcbChunks => NonceInputs::FreshNonce,
            C::Aes128Cbc | C::TdesCbc => NonceInputs::AddressAndVersion,
            C::None | C::Aes128Xts | C::Aes256Xts | C::Aes128Ecb | C::TdesEcb => NonceInputs::Address,
        }
    }

    /// Returns whether the block cipher is Triple-DES, for which a machine needs separate units.
    pub fn is_tdes(self) -> bool {
        use CipherChoice as C;
        matches!(self, C::TdesCounter | C::TdesOcbChunks | C::TdesCbc | C::TdesEcb)
    }

    /// Returns whether the mode is counter mode, without an authentication code that shares the cipher's key.
    pub(super) fn is_counter_mode(self) -> bool {
        use CipherChoice as C;
        matches!(self, C::Aes128Counter | C::Aes192Counter | C::Aes256Counter | C::TdesCounter)
    }

    /// Returns whether the mode and GMAC are combined under one key.
    pub(super) fn is_gcm(self) -> bool {
        matches!(self, CipherChoice::Aes128Gcm | CipherChoice::Aes256Gcm)
    }

    /// Number of chunks of a line that OCB encrypts separately, if the mode does so.
    pub(crate) fn ocb_chunks(self) -> Option<u32> {
        match self {
            CipherChoice::Aes128OcbChunks => Some(OcbChunks::<Aes128>::chunks()),
            CipherChoice::Aes256OcbChunks => Some(OcbChunks::<Aes256>::chunks()),
            CipherChoice::TdesOcbChunks => Some(OcbChunks::<TdesEde3>::chunks()),
            _ => None,
        }
    }

    /// Number of chunks of a line that an authentication code over chunks can authenticate: the chunks of OCB, or the
    /// blocks of counter mode.
    pub(crate) fn tagged_chunks(self) -> Option<u32> {
        let of_counter_mode =
            if self.is_tdes() { OcbChunks::<TdesEde3>::chunks() } else { OcbChunks::<Aes128>::chunks() };
        self.ocb_chunks().or(self.is_counter_mode().then_some(of_counter_mode))
    }

    /// Returns whether the mode decrypts each chunk of a line separately, as soon as the chunk arrives.
    pub(super) fn opens_by_chunks(self) -> bool {
        self.uses().is_some_and(|uses| uses.order == BlockOrder::Parallel)
    }

    /// Returns whether the nonce determines a first offset of a line, without its text, and all blocks of the line are
    /// masked with it.
    pub(super) fn has_offsets(self) -> bool {
        self.uses().is_some_and(has_offset)
    }

    fn uses(self) -> Option<Uses> {
        self.build(Keys::new(0, PlantedBug::NONE), PlantedBug::NONE).uses()
    }

    /// Builds the cipher from these keys.
    pub(crate) fn build(self, keys: Keys, planted: PlantedBug) -> Cipher {
        use CipherChoice as C;
        let (short, long) = (keys.key(KeyPurpose::Encryption), keys.key(KeyPurpose::Encryption));
        let middle = keys.key(KeyPurpose::Encryption);
        let mode: Box<dyn LineCipher> = match self {
            C::None => return Cipher::plain(),
            C::Aes128Counter => Box::new(CounterMode::<Aes128>::new(&short)),
            C::Aes192Counter => Box::new(CounterMode::<Aes192>::new(&middle)),
            C::Aes256Counter => Box::new(CounterMode::<Aes256>::new(&long)),
            C::TdesCounter => Box::new(CounterMode::<TdesEde3>::new(&middle)),
            C::Aes128Gcm => Box::new(Gcm::<Aes128>::new(&short)),
            C::Aes256Gcm => Box::new(Gcm::<Aes256>::new(&long)),
            C::Aes128Ocb => Box::new(Ocb3::<Aes128>::new(&short)),
            C::Aes128OcbChunks => Box::new(OcbChunks::<Aes128>::new(&short)),
            C::Aes256OcbChunks => Box::new(OcbChunks::<Aes256>::new(&long)),
            C::TdesOcbChunks => Box::new(OcbChunks::<TdesEde3>::new(&middle)),
            C::Aes128Xts => Box::new(Xts::<Aes128>::new(&short, &keys.key(KeyPurpose::Tweak))),
            C::Aes256Xts => Box::new(Xts::<Aes256>::new(&long, &keys.key(KeyPurpose::Tweak))),
            C::Aes128Cbc => Box::new(Cbc::<Aes128>::new(&short)),
            C::TdesCbc => Box::new(Cbc::<TdesEde3>::new(&middle)),
            C::Aes128Ecb => Box::new(Ecb::<Aes128>::new(&short)),
            C::TdesEcb => Box::new(Ecb::<TdesEde3>::new(&middle)),
        };
        Cipher::new(mode, self.nonce_inputs(), planted)
    }

    /// Returns the parts of the key that a planted bug stores in memory, with their slots.
    pub(super) fn spilled(self, keys: Keys, planted: PlantedBug, data_lines: u64) -> Box<[(Slot, Line)]> {
        use CipherChoice as C;
        let key: Key<32> = keys.key(KeyPurpose::Encryption);
        let (bytes, is_aes) = match self {
            C::None => return Box::default(),
            _ if self.is_tdes() => (24, false),
            C::Aes192Counter => (24, true),
            C::Aes256Counter | C::Aes256Gcm | C::Aes256OcbChunks | C::Aes256Xts => (32, true),
            _ => (16, true),
        };
        spilled(planted, &key.0[..bytes], is_aes, data_lines)
    }

    /// Returns the weak choices that a reviewer would object to; `versioned` is true if the design has counters.
    pub(crate) fn weaknesses(self, versioned: bool) -> impl Iterator<Item = &'static str> {
        use CipherChoice as C;
        let deterministic = self != C::None && (self.nonce_inputs() == NonceInputs::Address || !versioned);
        let weak = [
            (self == C::None, "no encryption"),
            (deterministic, "deterministic encryption"),
            (matches!(self, C::Aes128Ecb | C::TdesEcb), "equal blocks look equal"),
            (self.is_tdes(), "64-bit blocks"),
        ];
        weak.into_iter().filter_map(|(is, word)| is.then_some(word))
    }
}
