//! Length of the memory lines of a machine, in contrast to the 64-byte lines of recordings.
//!
//! [`Line`] holds the bytes of a line of any length: a shorter line is at the beginning, followed by zeros. Recordings
//! contain lines of 64 bytes; each is one memory line, or several.

use crate::{Bytes, LINE_BYTES, Line, LineAddr, PAGE_BYTES, PhysAddr, ZERO_LINE};

/// The length of the memory lines of a machine: 64 bytes, or half of that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineLength {
    bytes: u8,
}

impl Default for LineLength {
    fn default() -> LineLength {
        LineLength::WHOLE
    }
}

impl LineLength {
    /// Same length as the lines of recordings.
    pub const WHOLE: LineLength = LineLength { bytes: LINE_BYTES as u8 };
    /// Half the length of recorded lines.
    pub const HALF: LineLength = LineLength { bytes: LINE_BYTES as u8 / 2 };

    /// Returns lines of `bytes` bytes, or `None` if no lines of this length exist.
    pub fn of(bytes: Bytes) -> Option<LineLength> {
        [LineLength::WHOLE, LineLength::HALF].into_iter().find(|length| length.bytes() as u64 == bytes.0)
    }

    /// Bytes of a line.
    #[inline]
    pub const fn bytes(self) -> usize {
        self.bytes as usize
    }

    /// Memory lines per line of a recording.
    #[inline]
    pub const fn per_recorded_line(self) -> u64 {
        (LINE_BYTES / self.bytes()) as u64
    }

    /// Memory lines in the smallest page.
    #[inline]
    pub const fn per_page(self) -> u64 {
        (PAGE_BYTES / self.bytes()) as u64
    }

    /// Returns the number of lines in a memory of this size.
    pub const fn lines_in(self, size: Bytes) -> u64 {
        size.0 / self.bytes as u64
    }

    /// Returns one bit for each byte of a line.
    pub const fn byte_mask(self) -> u64 {
        u64::MAX >> (LINE_BYTES - self.bytes())
    }

    /// Returns the line that holds a byte of memory.
    #[inline]
    pub const fn line_of(self, address: PhysAddr) -> LineAddr {
        LineAddr(address.0 / self.bytes as u64)
    }

    /// Returns the distance of an address, virtual or physical, from the start of its line, in bytes.
    #[inline]
    pub const fn offset(self, address: u64) -> usize {
        (address % self.bytes as u64) as usize
    }

    /// Returns the line that holds a byte of memory, and the byte's distance from its start.
    #[inline]
    pub const fn split(self, address: PhysAddr) -> (LineAddr, u8) {
        (self.line_of(address), self.offset(address.0) as u8)
    }

    /// The first byte of a line.
    #[inline]
    pub const fn start_of(self, line: LineAddr) -> PhysAddr {
        PhysAddr(line.0 * self.bytes as u64)
    }

    /// Splits a line of a recording into memory lines, the first at `start`, each with its part of `content`.
    pub fn parts(self, start: LineAddr, content: &Line) -> impl Iterator<Item = (LineAddr, Line)> + '_ {
        (start.0..).zip(content.chunks(self.bytes())).map(|(line, bytes)| {
            let mut part = ZERO_LINE;
            part[..bytes.len()].copy_from_slice(bytes);
            (LineAddr(line), part)
        })
    }

    /// Cuts a line to this length: the remaining bytes are zeros.
    pub fn cut(self, mut line: Line) -> Line {
        line[self.bytes()..].fill(0);
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_32_or_64_bytes() {
        assert_eq!(
            [32, 64].map(|bytes| LineLength::of(Bytes(bytes))),
            [Some(LineLength::HALF), Some(LineLength::WHOLE)]
        );
        assert_eq!([0, 16, 48, 128].map(|bytes| LineLength::of(Bytes(bytes))), [None; 4]);
    }

    #[test]
    fn a_recorded_64_byte_line_is_split_into_two_32_byte_lines() {
        let content = std::array::from_fn(|byte| byte as u8 + 1);
        let of = |length: LineLength| length.parts(LineAddr(6), &content).collect::<Vec<_>>();
        assert_eq!(of(LineLength::WHOLE), [(LineAddr(6), content)]);
        let short = of(LineLength::HALF);
        assert_eq!(short.iter().map(|(line, _)| line.0).collect::<Vec<_>>(), [6, 7]);
        assert_eq!(short[1].1[..32], content[32..]);
        assert_eq!(short[1].1[32..], [0; 32]);
    }

    #[test]
    fn addresses_map_to_the_32_or_64_byte_line_that_contains_them() {
        let length = LineLength::HALF;
        assert_eq!((length.line_of(PhysAddr(95)), length.offset(95)), (LineAddr(2), 31));
        assert_eq!(
            (length.start_of(LineAddr(3)), length.per_page(), length.byte_mask()),
            (PhysAddr(96), 128, 0xffff_ffff)
        );
        assert_eq!(LineLength::WHOLE.line_of(PhysAddr(95)), PhysAddr(95).line());
    }
}
