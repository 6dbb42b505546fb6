//! Sizes in the form that users write: `64`, `32 KB`, `8MB`, `4 GiB`. All units are powers of 1024, as in the papers.

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Bytes(pub u64);

/// Error of a text that is not a size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseBytesError(String);

impl fmt::Display for ParseBytesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not a size: expected a whole number and a unit, as in \"64 KB\" or \"8 GB\"", self.0)
    }
}

impl std::error::Error for ParseBytesError {}

const UNITS: [(&str, u64); 4] = [("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10), ("B", 1)];

impl FromStr for Bytes {
    type Err = ParseBytesError;

    fn from_str(text: &str) -> Result<Bytes, ParseBytesError> {
        let refused = || ParseBytesError(text.to_owned());
        let trimmed = text.trim();
        let digits = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
        let count: u64 = trimmed[..digits].parse().map_err(|_| refused())?;
        let unit = trimmed[digits..].trim().to_ascii_uppercase().replace("IB", "B");
        let scale = match unit.as_str() {
            "" => 1,
            unit => UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(refused)?.1,
        };
        count.checked_mul(scale).map(Bytes).ok_or_else(refused)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, scale) =
            UNITS.into_iter().find(|(_, scale)| self.0 >= *scale && self.0.is_multiple_of(*scale)).unwrap_or(("B", 1));
        write!(f, "{} {name}", self.0 / scale)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        deserializer.deserialize_str(SizeVisitor)
    }
}

/// Reads a size, and says in an error what a size looks like.
struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size in quotes, as in \"64 KB\"")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Bytes, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_back_as_written() {
        for text in ["64 B", "32 KB", "8 MB", "16 GB"] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
        assert_eq!("4GiB".parse::<Bytes>().unwrap(), Bytes(4 << 30));
    }

    #[test]
    fn a_text_that_is_not_a_size_is_refused() {
        for text in ["", "KB", "-1", "3.5 MB", "12 parsecs", "99999999999 GB"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }
}
