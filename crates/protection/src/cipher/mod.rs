//! Encryption of data lines: a mode of [`crypto`], with a nonce from the line's address and version.
//!
//! # Contract
//! `open(seal(x)) == x` for the same address and counter. Work that needs only the counter overlaps with the fetch;
//! other work waits for the ciphertext ([`Cipher::uses`]).

use crate::counter::Counter;
use crate::memo::{MacInput, Memo};
use crate::placement::DataSlot;
use crate::planted::{Bug, PlantedBug};
use crypto::{BlockOrder, LineCipher, Nonce, Uses};
use std::cell::Cell;
use std::rc::Rc;
use units::{Line, LineLength};

/// Lines that addresses of 32 bits reach.
const LINES_OF_4_GB: u64 = (1 << 32) / units::LINE_BYTES as u64;

/// Inputs that a mode takes from a line's address and version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NonceInputs {
    /// The line's address only.
    Address,
    /// The line's address, and its version if the design has counters.
    AddressAndVersion,
    /// The line's address and version. The pair of both must never repeat.
    FreshNonce,
}

/// The encryption part of a scheme. Copies share the mode with its expanded keys.
#[derive(Clone)]
pub struct Cipher {
    mode: Option<Rc<dyn LineCipher>>,
    uses: Option<Uses>,
    inputs: NonceInputs,
    length: LineLength,
    planted: PlantedBug,
    computed: Rc<Cell<u64>>,
    memo: Rc<Memo<Line>>,
}

impl Cipher {
    /// A design without encryption.
    pub fn plain() -> Cipher {
        Cipher {
            mode: None,
            uses: None,
            inputs: NonceInputs::Address,
            length: LineLength::WHOLE,
            planted: PlantedBug::NONE,
            computed: Rc::default(),
            memo: Rc::default(),
        }
    }

    /// A mode, with the inputs that it takes from a line.
    pub fn new(mode: Box<dyn LineCipher>, inputs: NonceInputs, planted: PlantedBug) -> Cipher {
        Cipher {
            uses: Some(mode.uses()),
            mode: Some(planted.weakened(mode).into()),
            inputs,
            length: LineLength::WHOLE,
            planted,
            computed: Rc::default(),
            memo: Rc::default(),
        }
    }

    /// Returns the same mode for lines of this length, without the cipher blocks after the end of the line. Returns
    /// `None` for shorter lines if the mode chains its blocks.
    pub fn for_lines_of(self, length: LineLength) -> Option<Cipher> {
        let shorter = |uses: Uses| Uses { of_line: uses.of_line / length.per_recorded_line() as u32, ..uses };
        let is_unchained = self.uses.is_none_or(|uses| uses.order != BlockOrder::Chained);
        let uses = self.uses.map(shorter);
        (length == LineLength::WHOLE || is_unchained).then_some(Cipher { length, uses, ..self })
    }

    /// Returns the length of lines.
    pub fn length(&self) -> LineLength {
        self.length
    }

    /// Returns true if each word can be decrypted without the other words of its line.
    pub fn works_by_word(&self) -> bool {
        self.uses.is_none_or(|uses| uses.order == BlockOrder::Early)
    }

    /// Returns the block cipher operations that encrypt or decrypt a line, or `None` without encryption.
    pub fn uses(&self) -> Option<Uses> {
        self.uses
    }

    /// Returns the nonce of a line if the mode requires a fresh nonce, which the ledger of pads must never record
    /// twice.
    pub fn nonce(&self, at: DataSlot, counter: Counter) -> Option<Nonce> {
        (self.inputs == NonceInputs::FreshNonce).then(|| self.nonce_of(at, counter))
    }

    fn nonce_of(&self, at: DataSlot, counter: Counter) -> Nonce {
        let line_number = if self.planted.has(Bug::PadWithoutAddress) { 0 } else { at.bound() };
        let line_number = if self.planted.has(Bug::PadAddressTruncated) { line_number % 64 } else { line_number };
        let line_number =
            if self.planted.has(Bug::AddressWithoutHighBits) { line_number % LINES_OF_4_GB } else { line_number };
        let counter = if self.inputs == NonceInputs::Address { Counter::default() } else { counter };
        let counter = if self.planted.has(Bug::PadWithoutCounter) { Counter::default() } else { counter };
        let counter = if self.planted.has(Bug::PadCounterTruncated) { Counter(counter.0 % 128) } else { counter };
        Nonce::new(line_number, counter.0)
    }

    /// Encrypts a line of data.
    pub fn seal(&self, at: DataSlot, counter: Counter, plaintext: &Line) -> Line {
        #[cfg(test)]
        crate::work_done::blocks(self.uses.map_or(0, |uses| uses.blocks()));
        let Some(mode) = &self.mode else { return *plaintext };
        self.count();
        self.length.cut(mode.seal(&self.nonce_of(at, counter), plaintext))
    }

    /// Encrypts candidates for the chunks of a line at the given offsets.
    pub fn seal_candidates(&self, at: DataSlot, counter: Counter, candidates: &Line) -> Line {
        #[cfg(test)]
        crate::work_done::blocks(self.uses.map_or(0, |uses| uses.of_line));
        let Some(mode) = &self.mode else { return *candidates };
        self.count();
        mode.seal(&self.nonce_of(at, counter), candidates)
    }

    /// Notes the plaintext of a line that will be decrypted soon.
    pub fn learn(&self, at: DataSlot, counter: Counter, plaintext: &Line, ciphertext: &Line) {
        if self.mode.is_some() {
            self.memo.learn(
                &MacInput { line_number: at.bound(), version: counter.0, bitmap: 0, text: *ciphertext },
                *plaintext,
            );
        }
    }

    /// Decrypts a line of data.
    pub fn open(&self, at: DataSlot, counter: Counter, ciphertext: &Line) -> Line {
        #[cfg(test)]
        crate::work_done::blocks(self.uses.map_or(0, |uses| uses.blocks()));
        let Some(mode) = &self.mode else { return *ciphertext };
        let message = MacInput { line_number: at.bound(), version: counter.0, bitmap: 0, text: *ciphertext };
        self.memo.known(&message).unwrap_or_else(|| {
            self.count();
            self.length.cut(mode.open(&self.nonce_of(at, counter), ciphertext))
        })
    }

    /// Returns the number of lines encrypted or decrypted so far.
    pub fn computed(&self) -> u64 {
        self.computed.get()
    }

    fn count(&self) {
        self.computed.set(self.computed.get() + 1);
    }
}
