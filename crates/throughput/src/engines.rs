//! What can seal and open: our kernel over lines, and RustCrypto's `aes-gcm` over whole buffers.
//!
//! `aes-gcm` chooses its instructions when it runs, and since version 0.10 its portable code is a choice of the whole build.
//! Version 0.9 has it as a feature, and is here for that alone: it is the portable Rust of today's figures, measured next to
//! what the same crates make of the processor. (Its known fault, that a buffer holds plaintext after a wrong tag, plays no
//! part in a measurement.)

use aes_gcm::aead::AeadInOut;
use aes_gcm_soft::aead::{AeadInPlace, NewAead};
use crypto::Key;
use crypto::batch::{GcmLines, GcmNonce, GcmTag, Instructions};
use serde::{Deserialize, Serialize};
use strum::{Display, VariantArray};
use units::LINE_BYTES;

const KEY: Key = Key(*b"sixteen byte key");

/// Code that a measurement runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Display, Deserialize, Serialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Engine {
    /// The line kernel with AVX-512, VAES and VPCLMULQDQ.
    LinesVaes,
    /// The line kernel with AES-NI and PCLMULQDQ.
    LinesAesni,
    /// The line kernel's portable path, which stands on RustCrypto's crates and takes what these find.
    LinesPortable,
    /// `aes-gcm` over a buffer, with what it finds.
    Buffer,
    /// `aes-gcm` over a buffer, in portable code alone.
    BufferSoft,
}

impl Engine {
    /// What each message consists of: lines with a nonce and a tag each, or nothing smaller than itself.
    pub fn unit(self) -> Option<usize> {
        match self {
            Engine::LinesVaes | Engine::LinesAesni | Engine::LinesPortable => Some(LINE_BYTES),
            Engine::Buffer | Engine::BufferSoft => None,
        }
    }

    /// What it is, in words.
    pub fn summary(self) -> &'static str {
        match self {
            Engine::LinesVaes => "our line kernel, VAES and AVX-512: each line with nonce and tag, four at once",
            Engine::LinesAesni => "our line kernel, AES-NI: each line with nonce and tag, one after the other",
            Engine::LinesPortable => "our line kernel's portable path: RustCrypto's crates with what they find",
            Engine::Buffer => "RustCrypto's aes-gcm with what it finds: one nonce and tag for the buffer",
            Engine::BufferSoft => "RustCrypto's aes-gcm in portable code alone: one nonce and tag for the buffer",
        }
    }

    /// Whether this processor can run it.
    pub fn is_available(self) -> bool {
        self.expanded().is_some()
    }

    /// With its key expanded, if this processor can run it.
    pub(crate) fn expanded(self) -> Option<Box<dyn Aead>> {
        let lines = |on| {
            let kernel = GcmLines::with(on, &KEY)?;
            Some(Box::new(Lines { kernel, fits: vec![false; crate::SIZE_MAX / LINE_BYTES] }) as Box<dyn Aead>)
        };
        match self {
            Engine::LinesVaes => lines(Instructions::Vaes),
            Engine::LinesAesni => lines(Instructions::AesNi),
            Engine::LinesPortable => lines(Instructions::Portable),
            Engine::Buffer => Some(Box::new(Buffer(KEY.cipher()))),
            Engine::BufferSoft => Some(Box::new(Soft(aes_gcm_soft::Aes128Gcm::new(&KEY.0.into())))),
        }
    }
}

/// Seals and opens one message in place, with as many nonces and tags as it has units.
pub(crate) trait Aead {
    fn seal(&mut self, nonces: &[GcmNonce], text: &mut [u8], tags: &mut [GcmTag]);
    /// Whether all tags fit.
    fn open(&mut self, nonces: &[GcmNonce], text: &mut [u8], tags: &[GcmTag]) -> bool;
}

/// Seals units of so many bytes as `aes-gcm` does: what all engines are held to.
pub(crate) fn reference(nonces: &[GcmNonce], text: &mut [u8], tags: &mut [GcmTag], unit: usize) {
    let mut buffer = Buffer(KEY.cipher());
    for ((nonce, text), tag) in nonces.iter().zip(text.chunks_mut(unit)).zip(tags) {
        buffer.seal(&[*nonce], text, std::slice::from_mut(tag));
    }
}

/// Each line under its nonce.
struct Lines {
    kernel: GcmLines,
    /// Room for the verdicts of the longest message.
    fits: Vec<bool>,
}

impl Aead for Lines {
    fn seal(&mut self, nonces: &[GcmNonce], text: &mut [u8], tags: &mut [GcmTag]) {
        self.kernel.seal(nonces, text.as_chunks_mut().0, tags);
    }

    fn open(&mut self, nonces: &[GcmNonce], text: &mut [u8], tags: &[GcmTag]) -> bool {
        let fits = &mut self.fits[..tags.len()];
        self.kernel.open(nonces, text.as_chunks_mut().0, tags, fits);
        fits.iter().all(|fits| *fits)
    }
}

/// The whole buffer under its nonce.
struct Buffer(aes_gcm::Aes128Gcm);

impl Aead for Buffer {
    fn seal(&mut self, nonces: &[GcmNonce], text: &mut [u8], tags: &mut [GcmTag]) {
        let made = self.0.encrypt_inout_detached((&nonces[0]).into(), &[], text.into());
        tags[0] = made.expect("a message is not too long").into();
    }

    fn open(&mut self, nonces: &[GcmNonce], text: &mut [u8], tags: &[GcmTag]) -> bool {
        self.0.decrypt_inout_detached((&nonces[0]).into(), &[], text.into(), (&tags[0]).into()).is_ok()
    }
}

/// The same by portable code.
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
