//! AES-128-GCM over many independent lines at once, at the speed of the processor.
//!
//! A call to a cipher for one line spends most of its time waiting: ten rounds of AES follow each other, and so do the
//! steps of the hash. Lines do not depend on each other, so a call with several lines keeps the units of the processor
//! busy. The format is [`Gcm`](crate::Gcm)'s: no additional data, 64 bytes, a 96-bit nonce, a 128-bit tag. So the
//! number of blocks is fixed, the block of lengths is a constant, and the line's four products share one reduction.
//!
//! Three implementations give the same bytes; the constructor chooses one of them when it expands the key. `unsafe` is
//! allowed in this module only, for two reasons: to call code compiled for instructions that were found on this
//! processor, and to load and store vectors.

#[cfg(target_arch = "x86_64")]
mod aesni;
mod hash_key;
mod portable;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod vaes;

use crate::{Domain, Key, Nonce};
use units::Line;

/// A 96-bit nonce of GCM.
pub type GcmNonce = [u8; 12];
/// A whole tag of GCM.
pub type GcmTag = [u8; 16];

/// The instructions that an implementation needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instructions {
    /// AVX-512 with VAES and VPCLMULQDQ: four lines at once.
    Vaes,
    /// AES-NI and PCLMULQDQ: line after line, the blocks of each at once.
    AesNi,
    /// The instructions that RustCrypto's crates choose for this processor.
    Portable,
}

impl Instructions {
    /// All implementations, the fastest first.
    pub const ALL: [Instructions; 3] = [Instructions::Vaes, Instructions::AesNi, Instructions::Portable];
}

/// AES-128-GCM under one key, over lines of fixed format.
pub struct GcmLines {
    kernel: Kernel,
}

enum Kernel {
    #[cfg(target_arch = "x86_64")]
    Vaes(Box<vaes::Vaes>),
    #[cfg(target_arch = "x86_64")]
    AesNi(Box<aesni::AesNi>),
    Portable(Box<portable::Portable>),
}

impl GcmLines {
    /// Returns the fastest implementation that this processor can run.
    pub fn new(key: &Key) -> GcmLines {
        let mut fastest_first = Instructions::ALL.into_iter().filter_map(|on| GcmLines::with(on, key));
        fastest_first.next().expect("the portable one runs everywhere")
    }

    /// Returns this implementation, if the processor can run it.
    pub fn with(instructions: Instructions, key: &Key) -> Option<GcmLines> {
        let kernel = match instructions {
            #[cfg(target_arch = "x86_64")]
            Instructions::Vaes => Kernel::Vaes(Box::new(vaes::Vaes::new(key)?)),
            #[cfg(target_arch = "x86_64")]
            Instructions::AesNi => Kernel::AesNi(Box::new(aesni::AesNi::new(key)?)),
            #[cfg(not(target_arch = "x86_64"))]
            Instructions::Vaes | Instructions::AesNi => return None,
            Instructions::Portable => Kernel::Portable(Box::new(portable::Portable::new(key))),
        };
        Some(GcmLines { kernel })
    }

    /// Encrypts each line under its nonce, in place, and makes its tag.
    ///
    /// # Panics
    /// If there are not as many nonces and tags as lines.
    pub fn seal(&self, nonces: &[GcmNonce], lines: &mut [Line], tags: &mut [GcmTag]) {
        assert!(nonces.len() == lines.len() && tags.len() == lines.len(), "one nonce and one tag for each line");
        match &self.kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Vaes(kernel) => kernel.seal(nonces, lines, tags),
            #[cfg(target_arch = "x86_64")]
            Kernel::AesNi(kernel) => kernel.seal(nonces, lines, tags),
            Kernel::Portable(kernel) => kernel.seal(nonces, lines, tags),
        }
    }

    /// Verifies each line under its nonce and decrypts it, in place. A line with a wrong tag is refused: it becomes
    /// zeros, and its entry in `fits` is false.
    ///
    /// # Panics
    /// If there are not as many nonces, tags and verdicts as lines.
    pub fn open(&self, nonces: &[GcmNonce], lines: &mut [Line], tags: &[GcmTag], fits: &mut [bool]) {
        assert!(nonces.len() == lines.len() && tags.len() == lines.len(), "one nonce and one tag for each line");
        assert_eq!(fits.len(), lines.len(), "one verdict for each line");
        match &self.kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Vaes(kernel) => kernel.open(nonces, lines, tags, fits),
            #[cfg(target_arch = "x86_64")]
            Kernel::AesNi(kernel) => kernel.open(nonces, lines, tags, fits),
            Kernel::Portable(kernel) => kernel.open(nonces, lines, tags, fits),
        }
    }
}

/// Returns the nonce under which [`Gcm`](crate::Gcm) seals this line: its number and the lower 56 bits of its counter.
pub fn gcm_nonce(nonce: &Nonce) -> GcmNonce {
    let [packed @ .., _, _, _, _] = nonce.block(Domain::Pad, 0);
    packed
}
