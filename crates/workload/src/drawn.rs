//! Content of memory for traces that have none: lines and stored words drawn from a seed.
//!
//! Memory holds a drawn line when it is first touched, and stores write drawn words:
//! [`Values::Seeded`](crate::Values) says so of the program.

use crate::stream::Chunk;
use rustc_hash::FxHashMap;
use units::LINE_BYTES;
use units::random::mix;
use wire::word::{self, Control, LineCause};

/// Bytes of one access.
pub(crate) const ACCESS_BYTES: u64 = 8;
/// Lines marked together: as many as a word has bits.
const LINES_PER_GROUP: u64 = 64;

/// The draws of one trace.
pub(crate) struct Drawn {
    seed: u64,
    /// Lines that were touched before: a bit for each, by group.
    told: FxHashMap<u64, u64>,
    stores: u64,
}

impl Drawn {
    pub(crate) fn new(seed: u64) -> Drawn {
        Drawn { seed, told: FxHashMap::default(), stores: 0 }
    }

    /// Sends the content of the line of `address` if it is touched for the first time; returns the address of the access.
    pub(crate) fn touch(&mut self, address: u64, chunk: &mut Chunk) -> u64 {
        let address = address % word::ADDRESS_END / ACCESS_BYTES * ACCESS_BYTES;
        let line = address / LINE_BYTES as u64;
        let (told, bit) = (self.told.entry(line / LINES_PER_GROUP).or_default(), 1 << (line % LINES_PER_GROUP));
        if *told & bit == 0 {
            *told |= bit;
            chunk.words.push(word::control(Control::Line, LineCause::FirstTouch as u8, line * LINE_BYTES as u64));
            chunk.words.extend((0..8).map(|index| mix(self.seed ^ mix(line * 8 + index))));
        }
        address
    }

    /// A store of a drawn word to an address that was touched.
    pub(crate) fn store(&mut self, address: u64, chunk: &mut Chunk) {
        self.stores += 1;
        chunk.words.extend([word::access(true, 3, true, 0, address), mix(self.seed ^ mix(self.stores))]);
    }
}
