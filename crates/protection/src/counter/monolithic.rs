//! Monolithic counters: eight counters of 56 bits in a line (Gueron, IACR ePrint 2016/204: the Memory Encryption Engine
//! of SGX).
//!
//! ```text
//! bit 0         56         112               448       504     512
//!     | counter | counter  | ... | counter 7 | MAC     | spare |
//!     | 56 bit  | 56 bit   |     | 56 bit    | 56 bit  | 8 bit |
//! ```
//! Counters share no bits, so they are never renewed. A counter at its maximum is exhausted, but 2^56 writes of one
//! line take years at any rate that memory allows.

use super::{Age, Increment, WRITES_LEFT, bits};
use crate::planted::{Bug, PlantedBug};
use units::{Line, ZERO_LINE};

pub(super) const POSITIONS: usize = 8;
const COUNTER_BITS: u32 = 56;
/// First bit of the MAC, and its length in bits.
pub(super) const MAC_FIELD: (usize, u32) = (POSITIONS * COUNTER_BITS as usize, 56);

/// First bit of the counter of a position, and its length in bits.
pub(super) fn field(position: usize) -> (usize, u32) {
    (position * COUNTER_BITS as usize, COUNTER_BITS)
}

pub(super) fn read(line: &Line, position: usize) -> u128 {
    bits::get(line, position * COUNTER_BITS as usize, COUNTER_BITS).into()
}

pub(super) fn next(line: &Line, position: usize, planted: PlantedBug) -> Increment {
    let start = position * COUNTER_BITS as usize;
    let counter = bits::get(line, start, COUNTER_BITS);
    if counter == bits::max(COUNTER_BITS) && !planted.has(Bug::ExhaustedWraps) {
        return Increment::Exhausted;
    }
    let mut next = *line;
    bits::set(&mut next, start, COUNTER_BITS, (counter + 1) & bits::max(COUNTER_BITS));
    Increment::Advanced(next)
}

pub(super) fn aged(age: Age) -> Line {
    let mut line = ZERO_LINE;
    if age == Age::BeforeExhaustion {
        for position in 0..POSITIONS {
            let start = position * COUNTER_BITS as usize;
            bits::set(&mut line, start, COUNTER_BITS, bits::max(COUNTER_BITS) - WRITES_LEFT);
        }
    }
    line
}
