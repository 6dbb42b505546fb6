//! Encryption of data lines: a mode of [`crypto`], with a nonce from the line's place and version.
//!
//! # Contract
//! `open(seal(x)) == x` for the same place and counter. Work that needs only the counter
//! overlaps with the fetch; other work waits for the ciphertext ([`Cipher::uses`]).

use crate::counter::Counter;
use crate::memo::{Memo, Message};
use crate::placement::DataSlot;
use crate::planted::{Bug, Planted};
use crypto::{LineCipher, Nonce, Order, Uses};
use std::cell::Cell;
use std::rc::Rc;
use units::{Line, LineLength};

/// Lines that addresses of 32 bits reach.
const LINES_OF_4_GB: u64 = (1 << 32) / units::LINE_BYTES as u64;

/// Inputs of a mode from a line's place and version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// The line's place only.
    Place,
    /// The line's place, and its version if the design has counters.
    PlaceAndVersion,
    /// The line's place and version, which must never repeat together.
    FreshNonce,
}

/// The encryption part of a scheme. Copies share the mode with its expanded keys.
#[derive(Clone)]
pub struct Cipher {
    mode: Option<Rc<dyn LineCipher>>,
    uses: Option<Uses>,
    told: Told,
    length: LineLength,
    planted: Planted,
    computed: Rc<Cell<u64>>,
    memo: Rc<Memo<Line>>,
}

impl Cipher {
    /// A design without encryption.
    pub fn plain() -> Cipher {
        Cipher {
            mode: None,
            uses: None,
            told: Told::Place,
            length: LineLength::WHOLE,
            planted: Planted::NONE,
            computed: Rc::default(),
            memo: Rc::default(),
        }
    }

    /// A mode, with the inputs that it takes from a line.
    pub fn new(mode: Box<dyn LineCipher>, told: Told, planted: Planted) -> Cipher {
        Cipher {
            uses: Some(mode.uses()),
            mode: Some(planted.weakened(mode).into()),
            told,
            length: LineLength::WHOLE,
            planted,
            computed: Rc::default(),
            memo: Rc::default(),
        }
    }

    /// Returns the same mode for lines of this length, without the blocks behind their end. Returns `None` for shorter lines
    /// if the mode chains its blocks.
    pub fn for_lines_of(self, length: LineLength) -> Option<Cipher> {
        let shorter = |uses: Uses| Uses { of_line: uses.of_line / length.per_recorded_line() as u32, ..uses };
        let stands_alone = self.uses.is_none_or(|uses| uses.order != Order::Chained);
        let uses = self.uses.map(shorter);
        (length == LineLength::WHOLE || stands_alone).then_some(Cipher { length, uses, ..self })
    }

    /// Returns the length of lines.
    pub fn length(&self) -> LineLength {
        self.length
    }

    /// Returns true if each word can be decrypted without the other words of its line.
    pub fn works_by_word(&self) -> bool {
        self.uses.is_none_or(|uses| uses.order == Order::Ahead)
    }

    /// Returns the block cipher's uses to seal or open a line, or `None` without encryption.
    pub fn uses(&self) -> Option<Uses> {
        self.uses
    }

    /// Returns the nonce of a line if it must be fresh: the ledger of pads must never see it twice.
    pub fn nonce(&self, at: DataSlot, counter: Counter) -> Option<Nonce> {
        (self.told == Told::FreshNonce).then(|| self.what_is_told(at, counter))
    }

    fn what_is_told(&self, at: DataSlot, counter: Counter) -> Nonce {
        let place = if self.planted.has(Bug::PadWithoutAddress) { 0 } else { at.bound() };
        let place = if self.planted.has(Bug::PadAddressTruncated) { place % 64 } else { place };
        let place = if self.planted.has(Bug::PlaceWithoutHighBits) { place % LINES_OF_4_GB } else { place };
        let counter = if self.told == Told::Place { Counter::default() } else { counter };
        let counter = if self.planted.has(Bug::PadWithoutCounter) { Counter::default() } else { counter };
        let counter = if self.planted.has(Bug::PadCounterTruncated) { Counter(counter.0 % 128) } else { counter };
        Nonce::new(place, counter.0)
    }

    /// Encrypts a line of data.
    pub fn seal(&self, at: DataSlot, counter: Counter, plaintext: &Line) -> Line {
        #[cfg(test)]
        crate::work_done::blocks(self.uses.map_or(0, |uses| uses.blocks()));
        let Some(mode) = &self.mode else { return *plaintext };
        self.count();
        self.length.cut(mode.seal(&self.what_is_told(at, counter), plaintext))
    }

    /// Encrypts candidates for the chunks of a line at the given offsets.
    pub fn seal_candidates(&self, at: DataSlot, counter: Counter, candidates: &Line) -> Line {
        #[cfg(test)]
        crate::work_done::blocks(self.uses.map_or(0, |uses| uses.of_line));
        let Some(mode) = &self.mode else { return *candidates };
        self.count();
        mode.seal(&self.what_is_told(at, counter), candidates)
    }

    /// Notes the plaintext of a line that will be decrypted soon.
    pub fn learn(&self, at: DataSlot, counter: Counter, plaintext: &Line, ciphertext: &Line) {
        if self.mode.is_some() {
            self.memo
                .learn(&Message { place: at.bound(), version: counter.0, bitmap: 0, text: *ciphertext }, *plaintext);
        }
    }

    /// Decrypts a line of data.
    pub fn open(&self, at: DataSlot, counter: Counter, ciphertext: &Line) -> Line {
        #[cfg(test)]
        crate::work_done::blocks(self.uses.map_or(0, |uses| uses.blocks()));
        let Some(mode) = &self.mode else { return *ciphertext };
        let message = Message { place: at.bound(), version: counter.0, bitmap: 0, text: *ciphertext };
        self.memo.known(&message).unwrap_or_else(|| {
            self.count();
            self.length.cut(mode.open(&self.what_is_told(at, counter), ciphertext))
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
