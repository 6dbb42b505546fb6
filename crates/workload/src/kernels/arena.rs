//! Memory of a kernel: a range of virtual addresses with its content.
//!
//! The kernels compute only on these bytes, so every value in the stream is correct by construction. The arena stores
//! 64-bit words, because the stream contains words. The host allocates a page at the first write to it, so a sparse
//! arena costs little memory.

use std::marker::PhantomData;
use std::ops::Range;
use units::LINE_BYTES;
use units::random::mix;

const WORD_BYTES: u64 = 8;
const WORDS_PER_LINE: usize = LINE_BYTES / WORD_BYTES as usize;
/// Lowest address of an arena: 64-bit Linux places anonymous mappings here, with room above for the largest arena.
const MAPPINGS: u64 = 0x7e00_0000_0000;
const LARGE_PAGE_BYTES: u64 = 2 << 20;

/// A value that one access transfers.
pub trait Scalar: Copy {
    /// Log2 of the size in bytes.
    const LOG2_BYTES: u8;
    /// Bytes of the value, little-endian.
    fn to_bits(self) -> u64;
    /// Returns the value of these bytes.
    fn from_bits(bits: u64) -> Self;
}

impl Scalar for u32 {
    const LOG2_BYTES: u8 = 2;
    fn to_bits(self) -> u64 {
        u64::from(self)
    }
    fn from_bits(bits: u64) -> u32 {
        bits as u32
    }
}

impl Scalar for u64 {
    const LOG2_BYTES: u8 = 3;
    fn to_bits(self) -> u64 {
        self
    }
    fn from_bits(bits: u64) -> u64 {
        bits
    }
}

impl Scalar for i64 {
    const LOG2_BYTES: u8 = 3;
    fn to_bits(self) -> u64 {
        self.cast_unsigned()
    }
    fn from_bits(bits: u64) -> i64 {
        bits.cast_signed()
    }
}

impl Scalar for f64 {
    const LOG2_BYTES: u8 = 3;
    fn to_bits(self) -> u64 {
        f64::to_bits(self)
    }
    fn from_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
}

/// Address of a value of a known type, aligned to its size.
#[derive(Clone, Copy, Debug)]
pub struct ValueAddress<T> {
    /// Virtual address in bytes.
    pub addr: u64,
    of: PhantomData<T>,
}

impl<T: Scalar> ValueAddress<T> {
    /// Returns the typed form of an address.
    pub fn at(addr: u64) -> ValueAddress<T> {
        ValueAddress { addr, of: PhantomData }
    }
}

/// Consecutive values of the same type.
#[derive(Clone, Copy, Debug)]
pub struct Array<T> {
    start: u64,
    of: PhantomData<T>,
}

impl<T: Scalar> Array<T> {
    /// Returns the address of element `index`.
    pub fn at(self, index: u64) -> ValueAddress<T> {
        ValueAddress::at(self.start + (index << T::LOG2_BYTES))
    }
}

/// Memory of one kernel.
pub struct Arena {
    base: u64,
    words: Vec<u64>,
    allocated: u64,
}

impl Arena {
    /// Creates an arena of `bytes` zero bytes, at an address that the seed determines.
    pub fn new(bytes: u64, seed: u64) -> Arena {
        let Range { start: base, end } = Arena::addresses(bytes, seed);
        Arena { base, words: vec![0; ((end - base) / WORD_BYTES) as usize], allocated: 0 }
    }

    /// Returns the addresses of an arena of `bytes` bytes, rounded up to complete lines.
    pub fn addresses(bytes: u64, seed: u64) -> Range<u64> {
        let base = MAPPINGS + (mix(!seed) >> 48) * LARGE_PAGE_BYTES;
        base..base + bytes.next_multiple_of(LINE_BYTES as u64)
    }

    /// Returns all addresses of the arena.
    pub fn range(&self) -> Range<u64> {
        self.base..self.base + self.words.len() as u64 * WORD_BYTES
    }

    /// Returns the number of lines.
    pub fn lines(&self) -> usize {
        self.words.len() / WORDS_PER_LINE
    }

    /// Allocates `count` values, starting at a new line.
    ///
    /// # Panics
    /// If the arena is full: the kernel requested too few bytes.
    pub fn array<T: Scalar>(&mut self, count: u64) -> Array<T> {
        let start = self.base + self.allocated;
        self.allocated += (count << T::LOG2_BYTES).next_multiple_of(LINE_BYTES as u64);
        assert!(self.base + self.allocated <= self.range().end, "the kernel's arena is too small for its arrays");
        Array { start, of: PhantomData }
    }

    /// Returns the value at `address`.
    pub fn read<T: Scalar>(&self, address: ValueAddress<T>) -> T {
        let (word, shift) = self.position(address);
        T::from_bits((self.words[word] >> shift) & mask::<T>())
    }

    /// Writes the value at `address`.
    pub fn write<T: Scalar>(&mut self, address: ValueAddress<T>, value: T) {
        let (word, shift) = self.position(address);
        let kept = self.words[word] & !(mask::<T>() << shift);
        self.words[word] = kept | value.to_bits() << shift;
    }

    /// Returns the index of the line that contains `addr`.
    pub fn line_of(&self, addr: u64) -> usize {
        (addr - self.base) as usize / LINE_BYTES
    }

    /// Returns the words of line number `line`.
    pub fn line(&self, line: usize) -> &[u64] {
        &self.words[line * WORDS_PER_LINE..][..WORDS_PER_LINE]
    }

    fn position<T: Scalar>(&self, address: ValueAddress<T>) -> (usize, u64) {
        let offset = address.addr.wrapping_sub(self.base);
        debug_assert_eq!(offset % (1 << T::LOG2_BYTES), 0, "{:#x} is not aligned", address.addr);
        // The shift is the constant zero for a whole word, so the compiler removes it.
        let shift = (offset & (WORD_BYTES - (1 << T::LOG2_BYTES))) * 8;
        ((offset / WORD_BYTES) as usize, shift)
    }
}

fn mask<T: Scalar>() -> u64 {
    u64::MAX >> (64 - (8 << T::LOG2_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_small_values_of_an_arena_are_stored_independently() {
        let mut arena = Arena::new(64, 1);
        let values = arena.array::<u32>(16);
        for index in 0..16 {
            arena.write(values.at(index), 0x1111_1111 * index as u32);
        }
        arena.write(values.at(3), 7);
        let read: Vec<u32> = (0..16).map(|index| arena.read(values.at(index))).collect();
        let expected: Vec<u32> = (0..16).map(|index| if index == 3 { 7 } else { 0x1111_1111 * index }).collect();
        assert_eq!(read, expected);
        assert_eq!(arena.line(0)[1], 0x0000_0007_2222_2222, "little-endian");
    }

    #[test]
    fn the_seed_decides_the_address_of_an_arena() {
        let base = |seed| Arena::new(64, seed).range().start;
        assert_eq!(base(1), base(1));
        assert_ne!(base(1), base(2));
        assert!((0..1000).all(|seed| base(seed) < 1 << 47 && base(seed) % LARGE_PAGE_BYTES == 0));
    }

    #[test]
    #[should_panic(expected = "too small")]
    fn an_arena_refuses_an_array_beyond_its_size() {
        Arena::new(128, 1).array::<u64>(17);
    }
}
