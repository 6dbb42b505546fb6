//! Encryption of data lines: which mode, and what it must know.
//!
//! # Contract
//! `open(seal(x)) == x` for the same place and counter. A mode either needs only the counter to start working
//! ([`Cipher::works_ahead`]), so that its time hides behind the fetch, or it must wait for the ciphertext.

use crate::counter::Counter;
use crate::planted::{Bug, Planted};
use crypto::{BLOCKS_PER_LINE, Key, Nonce, PadCipher, Xts};
use units::{Line, LineAddr};

enum Mode {
    Plain,
    Counter(Box<PadCipher>),
    Xts(Box<Xts>),
}

/// The encryption part of a scheme.
pub struct Cipher {
    mode: Mode,
    planted: Planted,
}

impl Cipher {
    /// No encryption.
    pub fn plain() -> Cipher {
        Cipher { mode: Mode::Plain, planted: Planted::NONE }
    }

    /// AES-128 in counter mode.
    pub fn counter_mode(key: &Key, planted: Planted) -> Cipher {
        Cipher { mode: Mode::Counter(Box::new(PadCipher::new(key))), planted }
    }

    /// XTS-AES-128.
    pub fn xts(data: &Key, tweak: &Key) -> Cipher {
        Cipher { mode: Mode::Xts(Box::new(Xts::new(data, tweak))), planted: Planted::NONE }
    }

    /// Whether decryption can start before the ciphertext is there.
    pub fn works_ahead(&self) -> bool {
        matches!(self.mode, Mode::Counter(_))
    }

    /// Whether each word can be decrypted without the others.
    pub fn works_by_word(&self) -> bool {
        matches!(self.mode, Mode::Plain | Mode::Counter(_))
    }

    /// Blocks of AES that one line takes, the encryption of the tweak included.
    pub fn blocks(&self) -> u32 {
        match self.mode {
            Mode::Plain => 0,
            Mode::Counter(_) => BLOCKS_PER_LINE as u32,
            Mode::Xts(_) => BLOCKS_PER_LINE as u32 + 1,
        }
    }

    /// The nonce that hides a line, if the mode has one: what the ledger of pads must never see twice.
    pub fn nonce(&self, line: LineAddr, counter: Counter) -> Option<Nonce> {
        self.works_ahead().then(|| {
            let line = if self.planted.has(Bug::PadWithoutAddress) { LineAddr(0) } else { line };
            Nonce::new(line, counter.0)
        })
    }

    /// Encrypts.
    pub fn seal(&self, line: LineAddr, counter: Counter, plaintext: &Line) -> Line {
        match &self.mode {
            Mode::Xts(xts) => xts.encrypt(line, plaintext),
            _ => self.under_pad(line, counter, plaintext),
        }
    }

    /// Decrypts.
    pub fn open(&self, line: LineAddr, counter: Counter, ciphertext: &Line) -> Line {
        match &self.mode {
            Mode::Xts(xts) => xts.decrypt(line, ciphertext),
            _ => self.under_pad(line, counter, ciphertext),
        }
    }

    fn under_pad(&self, line: LineAddr, counter: Counter, text: &Line) -> Line {
        match (&self.mode, self.nonce(line, counter)) {
            (Mode::Counter(cipher), Some(nonce)) => {
                let pad = cipher.pad(&nonce);
                std::array::from_fn(|byte| text[byte] ^ pad[byte])
            }
            _ => *text,
        }
    }
}
