//! Frequent values: words that a victim's lines contain again and again, so that a table on its chip learns them.

use protection::design::Parts;
use protection::speculation::Tracking;
use units::random::Random;
use units::{Line, WORD_BYTES};

/// Most frequent values of real programs: zeros, ones, small numbers, characters, halves of addresses.
pub const VALUES: [u64; 8] =
    [0, u64::MAX, 1, 2, 0x2020_2020_2020_2020, 0x0000_7fff_0000_0000, 0x3ff0_0000_0000_0000, 0x0000_0001_0000_0001];

/// Returns at most `most` values. A design's table certainly contains them after some lines of only these values, if the
/// design has a table.
pub fn values(parts: &Parts, most: usize) -> Vec<u64> {
    let speculation = &parts.speculation;
    if speculation.exists() && speculation.tracking == Tracking::Fixed {
        return speculation.list.iter().take(most).map(|value| value.cast_unsigned()).collect();
    }
    let room = if speculation.exists() { speculation.values } else { most };
    VALUES.into_iter().take(most.min(room)).collect()
}

/// Returns a line of only these values, each word drawn evenly.
pub fn line_of(values: &[u64], random: &mut Random) -> Line {
    let mut line = random.line();
    for word in line.chunks_exact_mut(WORD_BYTES) {
        word.copy_from_slice(&random.pick(values).unwrap_or_default().to_le_bytes());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attacks_target_the_values_of_a_fixed_or_learning_frequent_value_table() {
        let mut parts = catalogue::design("fvs-tdes").unwrap().parts;
        assert_eq!(values(&parts, 4), VALUES[..4]);
        parts.speculation.values = 2;
        assert_eq!(values(&parts, 4), VALUES[..2]);
        (parts.speculation.tracking, parts.speculation.list) = (Tracking::Fixed, vec![-1, 9]);
        assert_eq!(values(&parts, 4), [u64::MAX, 9]);
        assert_eq!(values(&catalogue::design("none").unwrap().parts, 8), VALUES);
    }
}
