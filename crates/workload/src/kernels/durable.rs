//! Recovery of programs that survive a loss of power: it reads their operations from memory at the next start.
//!
//! A kernel with a recovery enforces the order of its stores by flushes and fences, and commits each operation by one
//! word. Its recovery reads the remaining memory as plaintext, and returns the operations that it finds, or an
//! inconsistency. It shares the layout with the kernel, but no code. The seed determines the expected operations, so a
//! check can compare them with the recovered ones.

use std::collections::BTreeMap;
use std::fmt;
use units::{LINE_BYTES, Line};

/// Reason why a program does not find its operations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Damage {
    /// Memory refuses the line at this address.
    Refused(u64),
    /// The content of memory is inconsistent; the text describes how.
    Inconsistent(String),
}

impl Damage {
    pub(super) fn found(how: String) -> Damage {
        Damage::Inconsistent(how)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Refused(addr) => write!(f, "memory refuses the line at {addr:#x}"),
            Damage::Inconsistent(how) => f.write_str(how),
        }
    }
}

/// An operation that the recovery has found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecoveredOperation {
    /// Number of the operation, from the first.
    pub number: u64,
    /// Words that the operation left in memory.
    pub words: Vec<u64>,
}

/// Content of memory after a loss of power, line by line.
pub struct Image<'a> {
    read: &'a mut dyn FnMut(u64) -> Option<Line>,
    lines: BTreeMap<u64, Line>,
}

impl<'a> Image<'a> {
    /// Creates an image that calls `read` with the address of a line; `None` means that memory refuses it. It reads
    /// each line once.
    pub fn new(read: &'a mut dyn FnMut(u64) -> Option<Line>) -> Image<'a> {
        Image { read, lines: BTreeMap::new() }
    }

    /// Returns the word at an address, which must be a multiple of eight.
    ///
    /// # Errors
    /// If memory refuses its line.
    pub fn word(&mut self, addr: u64) -> Result<u64, Damage> {
        let offset = addr as usize % LINE_BYTES;
        let start = addr - offset as u64;
        let line = match self.lines.get(&start) {
            Some(line) => line,
            None => {
                let line = (self.read)(start).ok_or(Damage::Refused(start))?;
                self.lines.entry(start).or_insert(line)
            }
        };
        let word = line[offset..]
            .first_chunk()
            .ok_or_else(|| Damage::found(format!("{addr:#x} is not the address of a word")))?;
        Ok(u64::from_le_bytes(*word))
    }
}

/// Recovery of a program after a loss of power.
pub trait Recovery: Send {
    /// Address of the word that commits each operation: the last word that the operation stores.
    fn commit_word(&self) -> u64;

    /// Returns the number of complete operations, from the first, and the words of each operation that memory still
    /// contains.
    ///
    /// # Errors
    /// If memory refuses a line that the recovery needs, or is inconsistent.
    fn recover(&self, image: &mut Image<'_>) -> Result<(u64, Vec<RecoveredOperation>), Damage>;

    /// Words that an operation should have left in memory.
    fn expected_words(&self, number: u64) -> Vec<u64>;
}
