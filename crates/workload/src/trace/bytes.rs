//! Encodes numbers as bytes; small numbers take few bytes.

/// Appends seven bits per byte, the lowest first; the top bit is set if more bytes follow.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number; numbers of small absolute value take few bytes.
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, (value << 1 ^ value >> 63) as u64);
}

/// Reader of numbers and bytes. Each method returns `None` if too few bytes are left.
pub struct ByteReader<'a>(pub &'a [u8]);

impl<'a> ByteReader<'a> {
    /// Reads `count` bytes unchanged.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    /// Reads a single byte.
    #[inline]
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// Reads a number of [`put_varint`].
    #[inline]
    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Reads a number of [`put_signed`].
    #[inline]
    pub fn signed(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads a number of `count` bytes, at most eight, little-endian.
    pub fn little_endian(&mut self, count: usize) -> Option<u64> {
        let mut value = [0; 8];
        value.get_mut(..count)?.copy_from_slice(self.take(count)?);
        Some(u64::from_le_bytes(value))
    }

    /// Reads a section: its length, then its bytes.
    pub fn section(&mut self) -> Option<ByteReader<'a>> {
        let count = usize::try_from(self.varint()?).ok()?;
        self.take(count).map(ByteReader)
    }
}
