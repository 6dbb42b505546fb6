//! Programs that outlive a loss of power: what each of them finds in its memory when it starts again.
//!
//! Such a kernel stores in an order that it enforces by flushes and fences, and commits each operation by one word. Its
//! recovery reads the memory that was left, as plaintext, and says which operations are there, or what is inconsistent. It
//! shares the layout with the kernel and no code. What it was asked to do follows from the seed: what was recovered can be
//! compared with that.

use std::collections::BTreeMap;
use std::fmt;
use units::{LINE_BYTES, Line};

/// Why a program does not find its operations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Damage {
    /// Memory refuses the line at this address.
    Refused(u64),
    /// What memory has is inconsistent: how, in words.
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

/// An operation whose effect a program has found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    /// Which, counted from the first.
    pub number: u64,
    /// What it left.
    pub words: Vec<u64>,
}

/// What memory has after a loss of power, line by line.
pub struct Image<'a> {
    read: &'a mut dyn FnMut(u64) -> Option<Line>,
    lines: BTreeMap<u64, Line>,
}

impl<'a> Image<'a> {
    /// A memory that is read so: by the address of the line, which may be refused. Each line is read once.
    pub fn new(read: &'a mut dyn FnMut(u64) -> Option<Line>) -> Image<'a> {
        Image { read, lines: BTreeMap::new() }
    }

    /// The word at an address, which is a multiple of eight.
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
        let word = line[offset..].first_chunk().ok_or_else(|| Damage::found(format!("{addr:#x} is no word")))?;
        Ok(u64::from_le_bytes(*word))
    }
}

/// How a program starts again.
pub trait Recovery: Send {
    /// The address of the word that each operation is committed by, the last that it stores.
    fn commit_word(&self) -> u64;

    /// How many operations are there, from the first, and what those left of which the program still has anything.
    ///
    /// # Errors
    /// If memory refuses a line that it needs, or is inconsistent.
    fn recover(&self, image: &mut Image<'_>) -> Result<(u64, Vec<Held>), Damage>;

    /// What an operation was to leave.
    fn asked_for(&self, number: u64) -> Vec<u64>;
}
