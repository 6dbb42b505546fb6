//! A second implementation of the rules of each organisation: naive, over wide integers, one field at a time.
//!
//! This implementation shares no code with the tested one. A rule returns the outcome of one more write, and the 512
//! bits after it.

use std::collections::BTreeMap;
use std::ops::Range;
use units::Line;

/// Outcome of one more write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    Grows,
    Renews(Range<usize>),
    Exhausted,
}

/// Number of times that each case of a rule occurred.
pub type Cases = BTreeMap<&'static str, u64>;

/// A naive organisation of counters.
pub trait Rule {
    fn positions(&self) -> usize;
    fn value(&self, position: usize) -> u128;
    /// Executes one more write of a position.
    fn write(&mut self, position: usize) -> Outcome;
    /// Returns the counter line with this MAC.
    fn picture(&self, mac: u64) -> Line;
    fn cases(&self) -> &Cases;
}

/// Writes `width` bits from bit `start` on, the lowest bit first.
pub fn put(line: &mut Line, start: usize, width: usize, value: u128) {
    assert!(value < 1 << width);
    for bit in 0..width {
        let (byte, mask) = ((start + bit) / 8, 1 << ((start + bit) % 8));
        line[byte] = if value >> bit & 1 == 1 { line[byte] | mask } else { line[byte] & !mask };
    }
}

/// Eight separate wide counters.
pub struct Monolithic {
    pub counters: [u128; 8],
    pub cases: Cases,
}

impl Rule for Monolithic {
    fn positions(&self) -> usize {
        8
    }

    fn value(&self, position: usize) -> u128 {
        self.counters[position]
    }

    fn write(&mut self, position: usize) -> Outcome {
        if self.counters[position] == (1 << 56) - 1 {
            *self.cases.entry("exhausted").or_default() += 1;
            return Outcome::Exhausted;
        }
        *self.cases.entry("grows").or_default() += 1;
        self.counters[position] += 1;
        Outcome::Grows
    }

    fn picture(&self, mac: u64) -> Line {
        let mut line = [0; 64];
        for (position, counter) in self.counters.iter().enumerate() {
            put(&mut line, position * 56, 56, *counter);
        }
        put(&mut line, 448, 56, mac.into());
        line
    }

    fn cases(&self) -> &Cases {
        &self.cases
    }
}

/// A major counter and minor counters.
pub struct Split {
    pub major: u128,
    pub minors: Vec<u128>,
    pub minor_bits: usize,
    pub mac_bits: usize,
    pub cases: Cases,
}

impl Rule for Split {
    fn positions(&self) -> usize {
        self.minors.len()
    }

    fn value(&self, position: usize) -> u128 {
        self.major * (1 << self.minor_bits) + self.minors[position]
    }

    fn write(&mut self, position: usize) -> Outcome {
        let end = 1 << self.minor_bits;
        let (case, outcome) = if self.minors[position] + 1 < end {
            self.minors[position] += 1;
            ("grows", Outcome::Grows)
        } else if self.major + 1 == 1 << 64 || (self.major + 1) * end == 1 << 72 {
            ("exhausted", Outcome::Exhausted)
        } else {
            self.major += 1;
            self.minors.fill(0);
            ("minor overflow", Outcome::Renews(0..self.minors.len()))
        };
        *self.cases.entry(case).or_default() += 1;
        outcome
    }

    fn picture(&self, mac: u64) -> Line {
        let mut line = [0; 64];
        put(&mut line, 0, 64, self.major);
        for (position, minor) in self.minors.iter().enumerate() {
            put(&mut line, 64 + position * self.minor_bits, self.minor_bits, *minor);
        }
        put(&mut line, 512 - self.mac_bits, self.mac_bits, mac.into());
        line
    }

    fn cases(&self) -> &Cases {
        &self.cases
    }
}
