//! Morphable counters: 128 to a line, in one of two formats (Saileshwar et al., MICRO 2018, sections 4 and 5).
//!
//! ```text
//! ZCC, zero counter compression: few positions are used, and those may count far.
//! bit 0    1      7          64         192                   448   512
//!     | 0  | size | major    | in use   | minors of the used  | MAC |
//!     |    | 6    | 57 bit   | 128 bits | 256 bit             | 64  |
//!
//! MCR, minor counter rebasing: many positions are used, about equally.
//! bit 0    1          50      57      64                      448   512
//!     | 1  | top      | base 0| base 1| minor 0 ... minor 127 | MAC |
//!     |    | 49 bit   | 7 bit | 7 bit | 3 bit each            | 64  |
//! ```
//! The effective counter is `major + minor` in ZCC and `top * 128 + base of the half + minor` in MCR, where a half is 64
//! positions. The paper gives the lengths; the order of the fields is ours.
//!
//! ```text
//! write in ZCC: minor + 1
//!   at most 64 in use, and all fit the size for so many:  written so          (16 8 7 6 5 4 bits for 16 32 36 42 51 64)
//!   at most 64 in use, one does not fit:                  overflow: major + largest, all minors 0, all 128 renewed
//!   65 in use, all below 8:                               MCR: both bases major mod 128, minors kept, none renewed
//!   65 in use, one is not:                                overflow, then MCR
//! write in MCR: minor + 1
//!   below 8:                                              written so
//!   8, none in its half 0:                                rebase: base + smallest, minors - smallest, none renewed
//!   8, one is 0:                                          set overflow: base + 8, minors of the half 0, its 64 renewed
//!   8, and the base would pass 127:                       ZCC: major (top + 2) * 128, all minors 0, all 128 renewed
//! ```
//! *Largest* includes the minor of the current write. If another minor is the largest, its position keeps its effective
//! counter, and its line gets the same ciphertext again. Base 127 and minor 7 reach into the next block of 128; for
//! this reason the major is `(top + 2) * 128`.
//!
//! A major of ZCC may have one bit more than MCR has room for. A line that would then have to change to MCR is
//! exhausted.

use super::{Age, Increment, WRITES_LEFT, bits};
use crate::planted::{Bug, PlantedBug};
use units::Line;

pub(super) const POSITIONS: usize = 128;
/// First bit of the MAC, and its length in bits.
pub(super) const MAC_FIELD: (usize, u32) = (448, 64);

const FORMAT: usize = 0;
const SIZE: (usize, u32) = (1, 6);
const MAJOR: (usize, u32) = (7, 57);
const IN_USE: usize = 64;
const MINORS_USED: usize = 192;
const MINORS_USED_BITS: u64 = 256;
/// Sizes of minors in ZCC, and the maximum number of minors of each size.
const SIZES: [(u32, usize); 6] = [(16, 16), (8, 32), (7, 36), (6, 42), (5, 51), (4, 64)];

const TOP: (usize, u32) = (1, 49);
const BASE_BITS: u32 = 7;
const BASES: [usize; 2] = [50, 57];
const MINORS: usize = 64;
const MINOR_BITS: u32 = 3;
const MINOR_END: u64 = 1 << MINOR_BITS;
/// Positions that share a base.
const HALF: usize = POSITIONS / BASES.len();

type Minors = [u64; POSITIONS];
const NO_MINORS: Minors = [0; POSITIONS];

pub(super) fn read(line: &Line, position: usize) -> u128 {
    if is_uniform(line) {
        let start = (field(line, TOP) << BASE_BITS) + bits::get(line, BASES[position / HALF], BASE_BITS);
        return (start + uniform_minor(line, position)).into();
    }
    u128::from(field(line, MAJOR)) + u128::from(used_minor(line, position))
}

pub(super) fn next(line: &Line, position: usize, planted: PlantedBug) -> Increment {
    if is_uniform(line) { next_uniform(line, position, planted) } else { next_sparse(line, position, planted) }
}

fn field(line: &Line, (start, width): (usize, u32)) -> u64 {
    bits::get(line, start, width)
}

fn is_uniform(line: &Line) -> bool {
    bits::get(line, FORMAT, 1) == 1
}

/// Bitmap of positions in use, which have a minor above zero. Bit `n` is position `n`.
fn in_use(line: &Line) -> u128 {
    u128::from(bits::get(line, IN_USE, 64)) | u128::from(bits::get(line, IN_USE + 64, 64)) << 64
}

/// First bit and size of the minor of a position in use. `None` if the position is not in use, or if the minor is not
/// within its field, as in forged lines.
fn used_minor_bits(line: &Line, position: usize) -> Option<(usize, u32)> {
    let (in_use, size) = (in_use(line), field(line, SIZE));
    let rank = (in_use & ((1 << position) - 1)).count_ones();
    let start = u64::from(rank) * size;
    let fits_field = in_use >> position & 1 == 1 && size > 0 && start + size <= MINORS_USED_BITS;
    fits_field.then_some((MINORS_USED + start as usize, size as u32))
}

fn used_minor(line: &Line, position: usize) -> u64 {
    used_minor_bits(line, position).map_or(0, |bits_of_minor| field(line, bits_of_minor))
}

fn uniform_minor(line: &Line, position: usize) -> u64 {
    bits::get(line, MINORS + position * MINOR_BITS as usize, MINOR_BITS)
}

fn set_uniform_minor(line: &mut Line, position: usize, minor: u64) {
    bits::set(line, MINORS + position * MINOR_BITS as usize, MINOR_BITS, minor);
}

fn next_sparse(line: &Line, position: usize, planted: PlantedBug) -> Increment {
    if let Some((start, size)) = used_minor_bits(line, position)
        && field(line, (start, size)) < bits::max(size)
    {
        let mut next = *line;
        bits::set(&mut next, start, size, field(line, (start, size)) + 1);
        return Increment::Advanced(next);
    }
    let mut minors: Minors = std::array::from_fn(|position| used_minor(line, position));
    minors[position] += 1;
    let used = minors.iter().filter(|minor| **minor > 0).count();
    let largest = minors.iter().copied().fold(0, u64::max);
    let step = if planted.has(Bug::MorphableLargestBeforeWrite) { largest - 1 } else { largest };
    let size = SIZES.iter().find(|(_, most)| used <= *most).map(|(size, _)| *size);
    let major = field(line, MAJOR);
    let renewed = match size {
        Some(size) if largest <= bits::max(size) => {
            let mut next = sparse(line, major, size, &minors);
            if planted.has(Bug::ZccSizeNotStepped) && field(line, SIZE) > 0 {
                bits::set(&mut next, SIZE.0, SIZE.1, field(line, SIZE));
            }
            return Increment::Advanced(next);
        }
        None if largest < MINOR_END => {
            return uniform(line, major, &minors).map_or(Increment::Exhausted, Increment::Advanced);
        }
        None if planted.has(Bug::MorphableToUniformKeepsMajor) => uniform(line, major, &NO_MINORS),
        None => uniform(line, major + step, &NO_MINORS),
        Some(_) if major + step > bits::max(MAJOR.1) => None,
        Some(_) => Some(sparse(line, major + step, SIZES[0].0, &NO_MINORS)),
    };
    renewed.map_or(Increment::Exhausted, |next| Increment::Renewed(next, 0..POSITIONS))
}

fn next_uniform(line: &Line, position: usize, planted: PlantedBug) -> Increment {
    let mut next = *line;
    let minor = uniform_minor(line, position) + 1;
    if minor < MINOR_END {
        set_uniform_minor(&mut next, position, minor);
        return Increment::Advanced(next);
    }
    let half = position / HALF;
    let positions = half * HALF..(half + 1) * HALF;
    let smallest = positions.clone().map(|position| uniform_minor(line, position)).fold(minor, u64::min);
    let step = if smallest > 0 { smallest } else { minor };
    let base = bits::get(line, BASES[half], BASE_BITS) + step;
    let wraps = planted.has(Bug::MorphableBaseWraps);
    if base > bits::max(BASE_BITS) && !wraps {
        let blocks = if planted.has(Bug::MorphableNextBlockOnly) { 1 } else { 2 };
        let major = (field(line, TOP) + blocks) << BASE_BITS;
        return Increment::Renewed(sparse(line, major, SIZES[0].0, &NO_MINORS), 0..POSITIONS);
    }
    let loses_base = smallest > 0 && planted.has(Bug::MorphableRebaseLosesBase);
    if !loses_base {
        bits::set(&mut next, BASES[half], BASE_BITS, base & bits::max(BASE_BITS));
    }
    if smallest > 0 {
        for position in positions {
            set_uniform_minor(&mut next, position, uniform_minor(line, position) - smallest);
        }
        let written = minor - u64::from(planted.has(Bug::MorphableRebaseLosesWrite));
        set_uniform_minor(&mut next, position, written - smallest);
        return Increment::Advanced(next);
    }
    let cleared = if planted.has(Bug::SetOverflowForgetsOtherHalf) { 0..POSITIONS } else { positions.clone() };
    for position in cleared {
        set_uniform_minor(&mut next, position, 0);
    }
    Increment::Renewed(next, positions)
}

/// A line in ZCC, with the MAC of `line`.
fn sparse(line: &Line, major: u64, size: u32, minors: &Minors) -> Line {
    let mut next = blank(line);
    bits::set(&mut next, SIZE.0, SIZE.1, size.into());
    bits::set(&mut next, MAJOR.0, MAJOR.1, major);
    let used = minors.iter().enumerate().filter(|(_, minor)| **minor > 0);
    for (rank, (position, minor)) in used.enumerate() {
        bits::set(&mut next, IN_USE + position, 1, 1);
        bits::set(&mut next, MINORS_USED + rank * size as usize, size, *minor);
    }
    next
}

/// A line in MCR, with the MAC of `line`; `None` if MCR has too few bits for the major.
fn uniform(line: &Line, major: u64, minors: &Minors) -> Option<Line> {
    let top = major >> BASE_BITS;
    if top > bits::max(TOP.1) {
        return None;
    }
    let mut next = blank(line);
    bits::set(&mut next, FORMAT, 1, 1);
    bits::set(&mut next, TOP.0, TOP.1, top);
    for base in BASES {
        bits::set(&mut next, base, BASE_BITS, major & bits::max(BASE_BITS));
    }
    for (position, minor) in minors.iter().enumerate() {
        set_uniform_minor(&mut next, position, *minor);
    }
    Some(next)
}

/// A line of zeros with the MAC of `line`.
fn blank(line: &Line) -> Line {
    let mut blank = units::ZERO_LINE;
    blank[MAC_FIELD.0 / 8..].copy_from_slice(&line[MAC_FIELD.0 / 8..]);
    blank
}

/// Before a renewal, as many minors are in use as the second smallest size allows, all at their maximum. One more minor
/// in use requires the smallest size, which is too small for the other minors. Before exhaustion, as many minors are in
/// use as the smallest size allows, under the last possible major.
pub(super) fn aged(age: Age) -> Line {
    let [.., (size, most), (smallest_size, most_of_all)] = SIZES;
    let in_use = |count: usize, minor: u64| std::array::from_fn(|position| if position < count { minor } else { 0 });
    match age {
        Age::BeforeRenewal => sparse(&units::ZERO_LINE, 0, size, &in_use(most, bits::max(size))),
        Age::BeforeExhaustion => {
            let (major, minor) =
                (bits::max(MAJOR.1) - bits::max(smallest_size), bits::max(smallest_size) - WRITES_LEFT);
            sparse(&units::ZERO_LINE, major, smallest_size, &in_use(most_of_all, minor))
        }
    }
}
