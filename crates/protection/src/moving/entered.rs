//! The set of lines that memory holds. A line enters memory with its first read, as if at boot, or with the first
//! permutation of its page chunk. From the first permutation on, memory thus holds all lines of a page chunk. An
//! attacker's change of a slot does not alter this state.

use crate::record::SLOTS;
use rustc_hash::{FxHashMap, FxHashSet};
use units::LineAddr;

/// A bit for each line of a page chunk.
type Lines = [u64; SLOTS / 64];

/// Lines that memory has.
#[derive(Clone, Default)]
pub(super) struct Entered {
    by_chunk: FxHashMap<u64, Lines>,
    /// Lines that boot although memory has them; empty unless this bug is planted.
    boot_again: FxHashSet<LineAddr>,
}

/// Returns the page chunk of a line, its word and its bit in that word.
fn indices(LineAddr(line): LineAddr) -> (u64, usize, u64) {
    let in_chunk = line % SLOTS as u64;
    (line / SLOTS as u64, (in_chunk / 64) as usize, 1 << (in_chunk % 64))
}

impl Entered {
    /// Returns whether memory has a line.
    pub fn has(&self, line: LineAddr) -> bool {
        let (chunk, word, bit) = indices(line);
        self.by_chunk.get(&chunk).is_some_and(|lines| lines[word] & bit != 0)
    }

    /// Notes that memory has a line from now on.
    pub fn note(&mut self, line: LineAddr) {
        let (chunk, word, bit) = indices(line);
        self.by_chunk.entry(chunk).or_default()[word] |= bit;
    }

    /// Lets a line boot once more.
    pub fn boot_again(&mut self, line: LineAddr) {
        self.boot_again.insert(line);
    }

    /// Returns whether a line boots once more, the first time.
    pub fn takes_again(&mut self, line: LineAddr) -> bool {
        !self.boot_again.is_empty() && self.boot_again.remove(&line)
    }
}
