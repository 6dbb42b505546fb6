//! Encryption of data lines: a mode of [`crypto`], and what it is told of a line's place and version.
//!
//! # Contract
//! `open(seal(x)) == x` for the same place and counter. A mode either needs only the counter to start working
//! ([`Cipher::works_ahead`]), so that its time hides behind the fetch, or it must wait for the ciphertext.

use crate::counter::Counter;
use crate::planted::{Bug, Planted};
use crypto::{LineCipher, Nonce};
use units::{Line, LineAddr};

/// The encryption part of a scheme.
pub struct Cipher {
    mode: Option<Box<dyn LineCipher>>,
    /// Whether the version enters; without it the mode is deterministic.
    versioned: bool,
    planted: Planted,
}

impl Cipher {
    /// No encryption.
    pub fn plain() -> Cipher {
        Cipher { mode: None, versioned: false, planted: Planted::NONE }
    }

    /// A mode under a line's place and version.
    pub fn versioned(mode: impl LineCipher + 'static, planted: Planted) -> Cipher {
        Cipher { mode: Some(Box::new(mode)), versioned: true, planted }
    }

    /// A mode under a line's place alone.
    pub fn by_place(mode: impl LineCipher + 'static) -> Cipher {
        Cipher { mode: Some(Box::new(mode)), versioned: false, planted: Planted::NONE }
    }

    /// Whether decryption can start before the ciphertext is there.
    pub fn works_ahead(&self) -> bool {
        self.mode.as_ref().is_some_and(|mode| mode.works_ahead())
    }

    /// Whether each word can be decrypted without the others.
    pub fn works_by_word(&self) -> bool {
        self.mode.is_none() || self.works_ahead()
    }

    /// Uses of the block cipher that one line takes, the encryption of tweaks and nonces included.
    pub fn blocks(&self) -> u32 {
        self.mode.as_ref().map_or(0, |mode| mode.blocks())
    }

    /// The nonce that hides a line, if the mode has a keystream: what the ledger of pads must never see twice.
    pub fn nonce(&self, line: LineAddr, counter: Counter) -> Option<Nonce> {
        self.works_ahead().then(|| self.told(line, counter))
    }

    /// What the mode is told of a line.
    fn told(&self, line: LineAddr, counter: Counter) -> Nonce {
        let line = if self.planted.has(Bug::PadWithoutAddress) { LineAddr(0) } else { line };
        let counter = if self.versioned { counter } else { Counter::default() };
        Nonce::new(line, counter.0)
    }

    /// Encrypts.
    pub fn seal(&self, line: LineAddr, counter: Counter, plaintext: &Line) -> Line {
        self.mode.as_ref().map_or(*plaintext, |mode| mode.seal(&self.told(line, counter), plaintext))
    }

    /// Decrypts.
    pub fn open(&self, line: LineAddr, counter: Counter, ciphertext: &Line) -> Line {
        self.mode.as_ref().map_or(*ciphertext, |mode| mode.open(&self.told(line, counter), ciphertext))
    }
}
