//! Fields of bits in a line: bit `n` is bit `n % 8` of byte `n / 8`.

use units::Line;

/// The 64-bit word of a line with this index.
fn word(line: &Line, index: usize) -> u64 {
    u64::from_le_bytes(line.as_chunks().0[index])
}

fn set_word(line: &mut Line, index: usize, value: u64) {
    line.as_chunks_mut().0[index] = value.to_le_bytes();
}

/// The greatest value of a field of `width` bits, between 1 and 64.
pub(super) const fn max(width: u32) -> u64 {
    u64::MAX >> (u64::BITS - width)
}

/// The field of `width` bits, between 1 and 64, that begins at bit `start`.
pub(super) fn get(line: &Line, start: usize, width: u32) -> u64 {
    let (index, shift) = (start / 64, start as u32 % 64);
    let low = word(line, index) >> shift;
    let high = if shift + width > 64 { word(line, index + 1) << (64 - shift) } else { 0 };
    (low | high) & max(width)
}

/// Changes the field of `width` bits, between 1 and 64, that begins at bit `start`.
pub(super) fn set(line: &mut Line, start: usize, width: u32, value: u64) {
    debug_assert!(value <= max(width), "{value} does not fit {width} bits");
    let (index, shift) = (start / 64, start as u32 % 64);
    let low = word(line, index) & !(max(width) << shift) | value << shift;
    set_word(line, index, low);
    if shift + width > 64 {
        let high = word(line, index + 1) & !(max(width) >> (64 - shift)) | value >> (64 - shift);
        set_word(line, index + 1, high);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn setting_a_bit_field_of_a_counter_line_changes_exactly_its_bits(
            content in proptest::collection::vec(any::<u8>(), 64), start in 0usize..512, width in 1u32..=64, value: u64,
        ) {
            let start = start.min(512 - width as usize);
            let before: Line = content.try_into().unwrap();
            let value = value & max(width);
            let mut after = before;
            set(&mut after, start, width, value);
            for bit in 0..512 {
                let is_in = |line: &Line| line[bit / 8] >> (bit % 8) & 1;
                let expected = match bit.checked_sub(start) {
                    Some(offset) if offset < width as usize => (value >> offset & 1) as u8,
                    _ => is_in(&before),
                };
                prop_assert_eq!(is_in(&after), expected, "bit {}", bit);
            }
            prop_assert_eq!(get(&after, start, width), value);
        }
    }
}
