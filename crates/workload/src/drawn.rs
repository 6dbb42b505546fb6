//! Draws the content of memory and the stored words from a seed, for traces without values.
//!
//! Each line of memory has drawn content at its first access, and stores write drawn words:
//! [`Values::Seeded`](crate::Values) marks the program.

use crate::stream::Batch;
use rustc_hash::FxHashMap;
use units::LINE_BYTES;
use units::random::mix;
use wire::word::{self, Control, LineCause};

/// Bytes of an access.
pub(crate) const ACCESS_BYTES: u64 = 8;
/// Lines in a group: one for each bit of a word.
const LINES_PER_GROUP: u64 = 64;

/// Drawn content of one trace.
pub(crate) struct SeededContent {
    seed: u64,
    /// Lines that were accessed before: one bit per line, by group.
    drawn: FxHashMap<u64, u64>,
    stores: u64,
}

impl SeededContent {
    pub(crate) fn new(seed: u64) -> SeededContent {
        SeededContent { seed, drawn: FxHashMap::default(), stores: 0 }
    }

    /// Sends the content of the line at its first access; returns the aligned address of the access.
    pub(crate) fn touch(&mut self, address: u64, batch: &mut Batch) -> u64 {
        let address = address % word::ADDRESS_END / ACCESS_BYTES * ACCESS_BYTES;
        let line = address / LINE_BYTES as u64;
        let (drawn, bit) = (self.drawn.entry(line / LINES_PER_GROUP).or_default(), 1 << (line % LINES_PER_GROUP));
        if *drawn & bit == 0 {
            *drawn |= bit;
            batch.words.push(word::control(Control::Line, LineCause::FirstTouch as u8, line * LINE_BYTES as u64));
            batch.words.extend((0..8).map(|index| mix(self.seed ^ mix(line * 8 + index))));
        }
        address
    }

    /// Emits a store of a drawn word. `address` is a result of `touch`.
    pub(crate) fn store(&mut self, address: u64, batch: &mut Batch) {
        self.stores += 1;
        batch.words.extend([word::access(true, 3, true, 0, address), mix(self.seed ^ mix(self.stores))]);
    }
}
