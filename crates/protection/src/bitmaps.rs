//! The bitmaps of re-ordered lines in memory. One encrypted bitmap line holds the bitmaps of forty-eight data lines
//! (Shi and Lee, Computing Frontiers 2007, section 3.2.2).
//!
//! ```text
//! byte 0         16        32        48       56     64
//!      | group 0 | group 1 | group 2 | value  |      |
//!      | 16 lines| 16 lines| 16 lines| 64 bit |      |
//! ```
//! The paper encrypts "bitmaps of several memory blocks together" and leaves the details open. Here a group is a block
//! of 128 bits, with the bitmaps of sixteen lines. A line of three groups is encrypted as the design encrypts data,
//! under a random value instead of a counter. The chip draws a new value each time that the bitmap line leaves the
//! chip. So a replay by an attacker cannot make the chip use a value twice. The value is stored in the last quarter of
//! the line. On the chip, bitmaps are not encrypted. To change a bitmap, the controller first fetches its bitmap
//! line if the chip does not hold it. The controller writes the line to memory when it leaves the chip. A bitmap
//! line that was never written is all zeros: its data lines are not re-ordered.
//!
//! This module does not authenticate bitmaps. If bitmaps are *bound*, the tags of a data line's chunks also
//! authenticate its bitmap. If bitmaps are *loose*, as in the paper, an attacker who changes a bitmap changes the order
//! of verified words.

use crate::cipher::Cipher;
use crate::codec::BlockWork;
use crate::counter::Counter;
use crate::placement::{DataSlot, Placement};
use crate::planted::{Bug, PlantedBug};
use crate::slot::{Role, Slot};
use crate::speculation::Bitmap;
use crate::verbs::{Keystream, Verbs};
use std::cell::RefCell;
use units::random::Random;
use units::{Line, LineAddr, WORD_BYTES, ZERO_LINE};

/// Lines of data with bitmaps in one line.
pub(crate) const LINES_PER_LINE: u64 = 48;
/// Position of the random value, behind the bitmaps.
const VALUE: std::ops::Range<usize> = LINES_PER_LINE as usize..LINES_PER_LINE as usize + WORD_BYTES;

/// Returns the bitmap of a line in its bitmap line.
pub(crate) fn read(bitmaps: &Line, line: LineAddr) -> Bitmap {
    Bitmap(bitmaps[position(line)])
}

/// Changes the bitmap of a line in its bitmap line.
pub(crate) fn write(bitmaps: &mut Line, line: LineAddr, bitmap: Bitmap) {
    bitmaps[position(line)] = bitmap.0;
}

fn position(line: LineAddr) -> usize {
    (line.0 % LINES_PER_LINE) as usize
}

/// Encrypts bitmap lines as they leave the chip, and decrypts them as they arrive.
#[derive(Clone)]
pub(crate) struct BitmapCipher {
    cipher: Cipher,
    work: BlockWork,
    /// The chip's random numbers, for values.
    draws: RefCell<Random>,
    /// True if memory has bitmaps of all lines from before the machine began.
    begins_ordered: bool,
    /// True if a miss of a bitmap line also fetches the next bitmap line.
    prefetches_next: bool,
    planted: PlantedBug,
}

impl BitmapCipher {
    /// Returns the encryption of bitmaps by the design's cipher, with values drawn from these random numbers.
    pub fn new(cipher: Cipher, draws: Random, prefetches_next: bool, planted: PlantedBug) -> BitmapCipher {
        let work = BlockWork::new(cipher.uses(), None, 0, false);
        BitmapCipher { work, cipher, draws: RefCell::new(draws), begins_ordered: false, prefetches_next, planted }
    }

    /// Begins with bitmaps in memory: from now on, the decryption of every bitmap line takes time.
    pub fn begin_ordered(&mut self) {
        self.begins_ordered = true;
    }

    /// Changes a bitmap line in memory as if booting had written the change. Takes no time.
    pub fn boot<V: Verbs>(&self, verbs: &V, slot: Slot, change: impl Fn(&mut Line)) {
        verbs.boot(slot, Role::Bitmap, |stored| {
            let mut bitmaps = self.opened(slot, &stored.examine());
            change(&mut bitmaps);
            let (sealed, keystream) = self.seal(slot, &bitmaps);
            verbs.spend(slot, || keystream);
            sealed.into()
        });
    }

    /// Returns whether a miss of a bitmap line also fetches the next bitmap line.
    pub fn prefetches_next(&self) -> bool {
        self.prefetches_next
    }

    /// Decrypts a bitmap line that has arrived. Takes no time if the line was never written, unless memory begins
    /// with bitmaps.
    pub async fn open<V: Verbs>(&self, verbs: &V, slot: Slot, stored: &Line) -> Line {
        if self.begins_ordered || *stored != ZERO_LINE {
            self.work.to_open(verbs, None).await;
        }
        self.opened(slot, stored)
    }

    fn opened(&self, slot: Slot, stored: &Line) -> Line {
        if *stored == ZERO_LINE {
            return ZERO_LINE;
        }
        let mut value = [0; WORD_BYTES];
        value.copy_from_slice(&stored[VALUE]);
        without_rest(self.cipher.open(data_slot(slot), version(u64::from_le_bytes(value)), &without_rest(*stored)))
    }

    /// Waits for the cipher blocks of a bitmap line that leaves the chip.
    pub async fn to_seal<V: Verbs>(&self, verbs: &V) {
        self.work.to_seal(verbs).await;
    }

    /// Encrypts a line that leaves, under a value that is drawn now. Returns it with the pad that hides it, if the mode uses pads.
    pub fn seal(&self, slot: Slot, bitmaps: &Line) -> (Line, Option<Keystream>) {
        let drawn = self.draws.borrow_mut().word().max(1);
        let value = if self.planted.has(Bug::BitmapValueRepeats) { 1 } else { drawn };
        let (at, version) = (data_slot(slot), version(value));
        let mut sealed = without_rest(self.cipher.seal(at, version, bitmaps));
        sealed[VALUE].copy_from_slice(&value.to_le_bytes());
        (sealed, self.cipher.nonce(at, version).map(|nonce| Keystream::Pad(nonce, *bitmaps)))
    }
}

/// Returns the address in the nonces: the number of the slot, which no line of data has.
fn data_slot(slot: Slot) -> DataSlot {
    Placement::Fixed.in_slot(slot)
}

fn version(value: u64) -> Counter {
    Counter(value.into())
}

/// Returns the bitmaps of a bitmap line, with all other bytes zero.
fn without_rest(mut line: Line) -> Line {
    line[LINES_PER_LINE as usize..].fill(0);
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::NonceInputs;
    use crypto::{Aes128, Key, OcbChunks};
    use units::LINE_BYTES;

    fn cipher() -> BitmapCipher {
        let mode = Box::new(OcbChunks::<Aes128>::new(&Key([3; 16])));
        BitmapCipher::new(
            Cipher::new(mode, NonceInputs::FreshNonce, PlantedBug::NONE),
            Random::new(5),
            false,
            PlantedBug::NONE,
        )
    }

    #[test]
    fn frequent_value_bitmaps_of_48_lines_share_a_line_with_one_byte_each() {
        let mut bitmaps = ZERO_LINE;
        (0..LINES_PER_LINE).for_each(|line| write(&mut bitmaps, LineAddr(96 + line), Bitmap(line as u8)));
        assert!((0..LINES_PER_LINE).all(|line| read(&bitmaps, LineAddr(96 + line)) == Bitmap(line as u8)));
        assert_eq!(bitmaps[LINES_PER_LINE as usize..], [0; LINE_BYTES - LINES_PER_LINE as usize]);
    }

    #[test]
    fn encrypted_bitmap_lines_decrypt_to_the_written_ones_and_differ_at_each_encryption() {
        let (cipher, mut bitmaps) = (cipher(), ZERO_LINE);
        write(&mut bitmaps, LineAddr(7), Bitmap(0b101));
        let sealed: Vec<Line> = (0..50).map(|_| cipher.seal(Slot(9), &bitmaps).0).collect();
        for (number, line) in sealed.iter().enumerate() {
            assert_eq!(cipher.opened(Slot(9), line), bitmaps);
            let groups = |line: &Line| [0, 16, 32].map(|start| line[start..start + 16].to_vec());
            let alike =
                sealed[..number].iter().any(|other| (0..3).any(|group| groups(other)[group] == groups(line)[group]));
            assert!(!alike, "no group looks as it did before");
        }
        assert_ne!(cipher.opened(Slot(8), &sealed[0]), bitmaps, "nor does it serve in another slot");
        assert_eq!(cipher.opened(Slot(9), &ZERO_LINE), ZERO_LINE, "it was never written");
    }
}
