//! Implementations of AES-128-GCM that are measured: our kernel over memory lines, and RustCrypto's `aes-gcm` over
//! complete buffers.
//!
//! `aes-gcm` selects its instructions at run time. Since version 0.10, its portable code can be selected only for the
//! whole build. Version 0.9 has the portable code as a feature, which is the only reason to use version 0.9. The
//! measurements show the portable Rust code next to the same crates with the processor's instructions. (A known defect
//! of version 0.9 does not affect a measurement: a buffer holds plaintext after a wrong tag.)

use aes_gcm::aead::AeadInOut;
use aes_gcm_soft::aead::{AeadInPlace, NewAead};
use crypto::Key;
use crypto::batch::{GcmLines, GcmNonce, GcmTag, Instructions};
use serde::{Deserialize, Serialize};
use strum::{Display, VariantArray};
use units::LINE_BYTES;

const KEY: Key = Key(*b"sixteen byte key");

/// Implementation that is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Display, Deserialize, Serialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum AeadEngine {
    /// The line kernel with AVX-512, VAES and VPCLMULQDQ.
    LinesVaes,
    /// The line kernel with AES-NI and PCLMULQDQ.
    LinesAesni,
    /// The line kernel's portable path: it uses RustCrypto's crates with the instructions that they detect.
    LinesPortable,
    /// `aes-gcm` over a buffer, with the instructions that it detects.
    Buffer,
    /// `aes-gcm` over a buffer, only in portable code.
    BufferSoft,
}

impl AeadEngine {
    /// Bytes of a unit with a nonce and a tag, or `None` if the complete message is the unit.
    pub fn unit(self) -> Option<usize> {
        match self {
            AeadEngine::LinesVaes | AeadEngine::LinesAesni | AeadEngine::LinesPortable => Some(LINE_BYTES),
            AeadEngine::Buffer | AeadEngine::BufferSoft => None,
        }
    }

    /// Description of the engine, in one line.
    pub fn summary(self) -> &'static str {
        match self {
            AeadEngine::LinesVaes => "our line kernel, VAES and AVX-512: each line with nonce and tag, four at once",
            AeadEngine::LinesAesni => "our line kernel, AES-NI: each line with nonce and tag, one after the other",
            AeadEngine::LinesPortable => "our line kernel's portable path: RustCrypto's crates with what they find",
            AeadEngine::Buffer => "RustCrypto's aes-gcm with what it finds: one nonce and tag for the buffer",
            AeadEngine::BufferSoft => "RustCrypto's aes-gcm in portable code alone: one nonce and tag for the buffer",
        }
    }

    /// True if this processor can run the engine.
    pub fn is_available(self) -> bool {
        self.expanded().is_some()
    }

    /// Returns the engine with its key expanded, if this processor can run it.
    pub(crate) fn expanded(self) -> Option<Box<dyn Aead>> {
        let lines = |on| {
            let kernel = GcmLines::with(on, &KEY)?;
            Some(Box::new(LineAead { kernel, fits: vec![false; crate::SIZE_MAX / LINE_BYTES] }) as Box<dyn Aead>)
        };
        match self {
            AeadEngine::LinesVaes => lines(Instructions::Vaes),
            AeadEngine::LinesAesni => lines(Instructions::AesNi),
            AeadEngine::LinesPortable => lines(Instructions::Portable),
            AeadEngine::Buffer => Some(Box::new(BufferAead(KEY.cipher()))),
            AeadEngine::BufferSoft => Some(Box::new(Soft(aes_gcm_soft::Aes128Gcm::new(&KEY.0.into())))),
        }
    }
}

/// Seals and opens one message in place, with as many nonces and tags as it has units.
pub(crate) trait Aead {
    fn seal(&mut self, nonces: &[GcmNonce], text: &mut [u8], tags: &mut [GcmTag]);
    /// Decrypts the message; returns true if all tags fit.
    fn open(&mut self, nonces: &[GcmNonce], text: &mut [u8], tags: &[GcmTag]) -> bool;
}

/// Seals units of `unit` bytes by `aes-gcm`: the reference for all engines.
pub(crate) fn reference(nonces: &[GcmNonce], text: &mut [u8], tags: &mut [GcmTag], unit: usize) {
    let mut buffer = BufferAead(KEY.cipher());
    for ((nonce, text), tag) in nonces.iter().zip(text.chunks_mut(unit)).zip(tags) {
        buffer.seal(&[*nonce], text, std::slice::from_mut(tag));
    }
}

/// Engine that seals each line under its nonce.
struct LineAead {
    kernel: GcmLines,
    /// Room for the verdicts of the longest message.
    fits: Vec<bool>,
}

impl Aead for LineAead {
    fn seal(&mut self, nonces: &[GcmNonce], text: &mut [u8], tags: &mut [GcmTag]) {
        self.kernel.seal(nonces, text.as_chunks_mut().0, tags);
    }

    fn open(&mut self, nonces: &[GcmNonce], text: &mut [u8], tags: &[GcmTag]) -> bool {
        let fits = &mut self.fits[..tags.len()];
        self.kernel.open(nonces, text.as_chunks_mut().0, tags, fits);
        fits.iter().all(|fits| *fits)
    }
}

/// Engine that seals the complete buffer under one nonce.
struct BufferAead(aes_gcm::Aes128Gcm);

impl Aead for BufferAead {
    fn seal(&mut self, nonces: &[GcmNonce], text: &mut [u8], tags: &mut [GcmTag]) {
        let made = self.0.encrypt_inout_detached((&nonces[0]).into(), &[], text.into());
        tags[0] = made.expect("a message is not too long").into();
    }

    fn open(&mut self, nonces: &[GcmNonce], text: &mut [u8], tags: &[GcmTag]) -> bool {
        self.0.decrypt_inout_detached((&nonces[0]).into(), &[], text.into(), (&tags[0]).into()).is_ok()
    }
}

/// Like [`BufferAead`], but in portable code.
struct Soft(aes_gcm_soft::Aes128Gcm);

impl Aead for Soft {
    fn seal(&mut self, nonces: &[GcmNonce], text: &mut [u8], tags: &mut [GcmTag]) {
        let made = self.0.encrypt_in_place_detached((&nonces[0]).into(), &[], text);
        tags[0] = made.expect("a message is not too long").into();
    }

    fn open(&mut self, nonces: &[GcmNonce], text: &mut [u8], tags: &[GcmTag]) -> bool {
        self.0.decrypt_in_place_detached((&nonces[0]).into(), &[], text, (&tags[0]).into()).is_ok()
    }
}
