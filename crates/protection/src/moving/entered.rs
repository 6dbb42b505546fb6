//! The set of lines that memory holds. A line enters memory with its first read, as if at boot, or with the first
//! permutation after a store. Until then, permutations treat it as a blank. An attacker's change of its slot does not
//! alter this state.

use crate::record::SLOTS;
use rustc_hash::FxHashMap;
use units::LineAddr;

/// A bit for each line of a chunk.
type Lines = [u64; SLOTS / 64];

/// Lines that memory has, by chunk.
#[derive(Clone, Default)]
pub(super) struct Entered(FxHashMap<u64, Lines>);

/// Returns the chunk of a line, its word and its bit in that word.
fn indices(LineAddr(line): LineAddr) -> (u64, usize, u64) {
    let in_chunk = line % SLOTS as u64;
    (line / SLOTS as u64, (in_chunk / 64) as usize, 1 << (in_chunk % 64))
}

impl Entered {
    /// Returns whether memory has a line.
    pub fn has(&self, line: LineAddr) -> bool {
        let (chunk, word, bit) = indices(line);
        self.0.get(&chunk).is_some_and(|lines| lines[word] & bit != 0)
    }

    /// Notes that memory has a line from now on.
    pub fn note(&mut self, line: LineAddr) {
        let (chunk, word, bit) = indices(line);
        self.0.entry(chunk).or_default()[word] |= bit;
    }
}
