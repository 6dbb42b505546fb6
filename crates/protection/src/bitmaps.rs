//! The bitmaps of re-ordered lines where they lie in memory: those of forty-eight lines together, encrypted (section 3.2.2).
//!
//! ```text
//! byte 0         16        32        48       56     64
//!      | group 0 | group 1 | group 2 | value  |      |
//!      | 16 lines| 16 lines| 16 lines| 64 bit |      |
//! ```
//! The paper encrypts "bitmaps of several memory blocks together" and leaves the rest open. Here a group is a block of 128 bits, with the
//! bitmaps of sixteen lines. A line of three is encrypted as the design encrypts data, under a random value of its own instead of a
//! counter: drawn each time that it leaves the chip, so that nothing that an attacker puts back makes one serve twice. The value lies
//! with the line and takes a quarter of it. On the chip bitmaps are plain; a change is a read, if they are not there, and a write when
//! they leave. A line of bitmaps that was never written is zeros: no line was re-ordered.
//!
//! Nothing vouches for it here. Where bitmaps are *bound*, the tags of a line's chunks do; where they are *loose*, as in the
//! paper, whoever changes them changes the order of words that are verified.

use crate::cipher::Cipher;
use crate::codec::BlockWork;
use crate::counter::Counter;
use crate::placement::{DataSlot, Placement};
use crate::planted::{Bug, Planted};
use crate::slot::Slot;
use crate::speculation::Bitmap;
use crate::verbs::{Keystream, Verbs};
use std::cell::RefCell;
use units::random::Random;
use units::{Line, LineAddr, WORD_BYTES, ZERO_LINE};

/// Lines of data whose bitmaps share a line.
pub(crate) const LINES_PER_LINE: u64 = 48;
/// Where the value lies behind them.
const VALUE: std::ops::Range<usize> = LINES_PER_LINE as usize..LINES_PER_LINE as usize + WORD_BYTES;

/// The bitmap of a line in its line of bitmaps.
pub(crate) fn read(bitmaps: &Line, line: LineAddr) -> Bitmap {
    Bitmap(bitmaps[position(line)])
}

/// Changes it.
pub(crate) fn write(bitmaps: &mut Line, line: LineAddr, bitmap: Bitmap) {
    bitmaps[position(line)] = bitmap.0;
}

fn position(line: LineAddr) -> usize {
    (line.0 % LINES_PER_LINE) as usize
}

/// What encrypts lines of bitmaps as they leave the chip, and decrypts them as they come.
#[derive(Clone)]
pub(crate) struct BitmapCipher {
    cipher: Cipher,
    work: BlockWork,
    /// The chip's random numbers, for values.
    draws: RefCell<Random>,
    planted: Planted,
}

impl BitmapCipher {
    /// The design's own encryption, with values from these random numbers.
    pub fn new(cipher: Cipher, draws: Random, planted: Planted) -> BitmapCipher {
        BitmapCipher { work: BlockWork::of_encryption(&cipher), cipher, draws: RefCell::new(draws), planted }
    }

    /// Waits for the blocks that a line takes which has come, or leaves: the value is with the line.
    pub async fn work<V: Verbs>(&self, verbs: &V, leaves: bool) {
        if leaves { self.work.to_seal(verbs).await } else { self.work.to_open(verbs, None).await }
    }

    /// A line that has come, decrypted.
    pub fn open(&self, slot: Slot, stored: &Line) -> Line {
        if *stored == ZERO_LINE {
            return ZERO_LINE;
        }
        let mut value = [0; WORD_BYTES];
        value.copy_from_slice(&stored[VALUE]);
        let mut sealed = *stored;
        sealed[LINES_PER_LINE as usize..].fill(0);
        without_rest(self.cipher.open(place(slot), version(u64::from_le_bytes(value)), &sealed))
    }

    /// A line that leaves, encrypted under a value that is drawn now, and the pad that hides it, if one does.
    pub fn seal(&self, slot: Slot, bitmaps: &Line) -> (Line, Option<Keystream>) {
        let drawn = self.draws.borrow_mut().word().max(1);
        let value = if self.planted.has(Bug::BitmapValueRepeats) { 1 } else { drawn };
        let (at, version) = (place(slot), version(value));
        let mut sealed = without_rest(self.cipher.seal(at, version, bitmaps));
        sealed[VALUE].copy_from_slice(&value.to_le_bytes());
        (sealed, self.cipher.nonce(at, version).map(|nonce| Keystream::Pad(nonce, *bitmaps)))
    }
}

/// What nonces bind: the slot, which no line of data has.
fn place(slot: Slot) -> DataSlot {
    Placement::Fixed.in_slot(slot)
}

fn version(value: u64) -> Counter {
    Counter(value.into())
}

/// The bitmaps of a line alone.
fn without_rest(mut line: Line) -> Line {
    line[LINES_PER_LINE as usize..].fill(0);
    line
}
