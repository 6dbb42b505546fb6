//! Which lines memory has. A line gets there as if booting had put it there, when it is first read, or with the first permutation after
//! a store; until then it moves as a blank. What an attacker makes of its slot changes nothing about that.

use crate::record::SLOTS;
use rustc_hash::FxHashMap;
use units::LineAddr;

/// A bit for each line of a chunk.
type Lines = [u64; SLOTS / 64];

/// Lines that memory has, by chunk.
#[derive(Clone, Default)]
pub(super) struct Entered(FxHashMap<u64, Lines>);

/// The chunk of a line, its word and its bit there.
fn place(LineAddr(line): LineAddr) -> (u64, usize, u64) {
    let in_chunk = line % SLOTS as u64;
    (line / SLOTS as u64, (in_chunk / 64) as usize, 1 << (in_chunk % 64))
}

impl Entered {
    /// Whether memory has a line.
    pub fn has(&self, line: LineAddr) -> bool {
        let (chunk, word, bit) = place(line);
        self.0.get(&chunk).is_some_and(|lines| lines[word] & bit != 0)
    }

    /// Memory has a line from now on.
    pub fn note(&mut self, line: LineAddr) {
        let (chunk, word, bit) = place(line);
        self.0.entry(chunk).or_default()[word] |= bit;
    }
}
