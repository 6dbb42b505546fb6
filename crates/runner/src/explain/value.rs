//! The content of the line of an explained access, given as hexadecimal digits or a word.

use protection::design::SpeculationDesign;
use protection::speculation::Tracking;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;
use units::{LINE_BYTES, Line, LineLength, WORD_BYTES};

/// Names for the content of lines: zeros, or a value from or outside the table of frequent values.
const NAMED: [(&str, LineValue); 4] = [
    ("zeros", LineValue::of([0; LINE_BYTES])),
    ("frequent", LineValue { line: [0; LINE_BYTES], rank: Some(Rank::First) }),
    ("rarest", LineValue { line: [RAREST; LINE_BYTES], rank: Some(Rank::Last) }),
    ("other", LineValue { line: LineValue::USUAL.line, rank: Some(Rank::Nowhere) }),
];

/// Byte that is repeated in the least frequent value of a table.
const RAREST: u8 = 0x77;

/// The values of a table of this size when an access is explained, the most frequent first.
pub(super) fn table(values: usize) -> Vec<u64> {
    let rarest = u64::from_le_bytes([RAREST; 8]);
    (0..values.saturating_sub(1).max(1) as u64).chain([rarest]).take(values).collect()
}

/// The values in the table of frequent values of this speculation: the given list for a fixed table, otherwise a
/// default. Empty for a design without a table.
pub(super) fn table_of(speculation: &SpeculationDesign) -> Vec<u64> {
    match speculation.tracking {
        Tracking::Fixed => speculation.list.iter().map(|value| value.cast_unsigned()).collect(),
        _ => table(speculation.values),
    }
}

/// A position in the table of a speculation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rank {
    First,
    Last,
    Nowhere,
}

/// The content of a line. The user gives a whole line, a pattern that is repeated to fill the line, or a word. The
/// words are `zeros`, and `frequent`, `rarest` and `other`, which refer to the table of a speculation. The content is
/// printed as the whole line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LineValue {
    line: Line,
    /// Position of the value in the table of frequent values, if the user gave the value by its position.
    rank: Option<Rank>,
}

impl LineValue {
    /// The default content, a pattern that is neither zeros nor ones.
    pub const USUAL: LineValue = LineValue::of([0x5a; LINE_BYTES]);

    const fn of(line: Line) -> LineValue {
        LineValue { line, rank: None }
    }

    /// Returns the content for this table: replaces a position by the value at this position.
    pub(super) fn under(self, table: &[u64]) -> LineValue {
        let word = match self.rank {
            None => return self,
            Some(Rank::First) => table.first().copied(),
            Some(Rank::Last) => table.last().copied(),
            // Each candidate repeats one byte. At least one candidate is not in the table.
            Some(Rank::Nowhere) => {
                (self.line[0]..=u8::MAX).map(|byte| u64::from_le_bytes([byte; 8])).find(|word| !table.contains(word))
            }
        };
        word.map_or(self, |word| LineValue::of(std::array::from_fn(|at| word.to_le_bytes()[at % WORD_BYTES])))
    }

    /// Rejects content that is longer than a line of this length.
    ///
    /// # Errors
    /// A sentence with the number of digits that fit.
    pub(super) fn fits(self, length: LineLength) -> Result<(), String> {
        let (front, rest) = self.line.split_at(length.bytes());
        match rest.iter().zip(front).all(|(rest, front)| rest == front) {
            true => Ok(()),
            false => Err(format!(
                "value {self} is longer than a line of this machine: expected {} hexadecimal digits",
                2 * length.bytes()
            )),
        }
    }

    /// The bytes of the line.
    pub fn line(&self) -> Line {
        self.line
    }
}

impl Default for LineValue {
    fn default() -> LineValue {
        LineValue::USUAL
    }
}

impl fmt::Display for LineValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.line.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for LineValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({self})")
    }
}

impl FromStr for LineValue {
    type Err = String;

    fn from_str(text: &str) -> Result<LineValue, String> {
        if let Some((_, value)) = NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(*value);
        }
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let refused = |found: &str| {
            format!(
                "value '{text}' {found}: expected 'zeros', 'frequent', 'rarest', 'other', the {} hexadecimal digits of a line, or 2, 4, 8, 16, 32 or 64 \
                 that are repeated, as in 5a or 0123456789abcdef",
                2 * LINE_BYTES
            )
        };
        let nibbles: Option<Vec<u8>> =
            digits.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
        let nibbles = nibbles.ok_or_else(|| refused("is not hexadecimal"))?;
        let pattern: Vec<u8> =
            nibbles.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| 16 * byte + digit)).collect();
        if nibbles.len() % 2 != 0 || pattern.is_empty() || !LINE_BYTES.is_multiple_of(pattern.len()) {
            return Err(refused(&format!("has {} digits, which do not fill a line", nibbles.len())));
        }
        Ok(LineValue::of(std::array::from_fn(|at| pattern[at % pattern.len()])))
    }
}

impl Serialize for LineValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LineValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LineValue, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<Line, String> {
        text.parse().map(|value: LineValue| value.line())
    }

    #[test]
    fn a_short_hexadecimal_value_is_repeated_to_fill_an_explained_line() {
        assert_eq!(line("zeros").unwrap(), [0; LINE_BYTES]);
        assert_eq!(line("other").unwrap(), LineValue::USUAL.line());
        assert_eq!(line("A5").unwrap(), [0xa5; LINE_BYTES]);
        let eight = line("0x0123456789abcdef").unwrap();
        assert_eq!(eight[..9], [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01]);
        let whole: String = (0..64).map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(line(&whole).unwrap(), std::array::from_fn(|at| at as u8));
        assert_eq!(whole.parse::<LineValue>().unwrap().to_string(), whole);
    }

    #[test]
    fn frequent_rarest_and_other_select_line_values_by_the_frequent_value_table() {
        let word = |text: &str, table: &[u64]| {
            let value = text.parse::<LineValue>().unwrap().under(table);
            u64::from_le_bytes(value.line()[..8].try_into().unwrap())
        };
        let fixed =
            SpeculationDesign { tracking: Tracking::Fixed, list: vec![5, -2, 3], values: 4, ..Default::default() };
        let of_size = |values| SpeculationDesign { values, ..SpeculationDesign::default() };
        for (speculation, held) in [(of_size(1), 1), (of_size(2), 2), (of_size(8), 8), (of_size(64), 64), (fixed, 3)] {
            let table = table_of(&speculation);
            assert_eq!(table.len(), held);
            assert_eq!(table.last(), Some(&word("rarest", &table)));
            assert_eq!(table[0], word("frequent", &table));
            assert!(!table.contains(&word("other", &table)));
        }
        let usual = u64::from_le_bytes(LineValue::USUAL.line()[..8].try_into().unwrap());
        assert_ne!(word("other", &[usual]), usual);
        let nothing = table_of(&SpeculationDesign::default());
        assert_eq!((nothing.len(), word("frequent", &nothing)), (0, 0));
    }

    #[test]
    fn an_invalid_line_value_is_refused_with_the_valid_forms() {
        for (wrong, found) in [
            ("", "has 0 digits"),
            ("5", "has 1 digits"),
            ("123456", "has 6 digits"),
            ("00000000000000000", "has 17 digits"),
            (&"0".repeat(256), "has 256 digits"),
            ("hello", "is not hexadecimal"),
            ("+1", "is not hexadecimal"),
        ] {
            let said = line(wrong).unwrap_err();
            assert!(
                said.contains(found) && said.contains("expected 'zeros', 'frequent', 'rarest', 'other', the 128"),
                "{said}"
            );
        }
    }
}
