//! A page chunk record in memory: encrypted by AES-CBC with a randomly drawn initial vector, in five lines (Duc and
//! Keryell, ACSAC 2006, the end of section 2.4).
//!
//! ```text
//! byte 0         16                          304          320
//!     | vector    | 18 blocks of ciphertext   | spare: 0   |
//! ```

use super::content::{Record, TEXT_BYTES};
use crypto::{Aes128, BLOCK_BYTES, Cbc, Key};
use units::{LINE_BYTES, Line};

/// Bytes of a record with its initial vector.
pub(super) const SEALED_BYTES: usize = BLOCK_BYTES + TEXT_BYTES;
/// Metadata lines that a record takes.
pub const LEAF_LINES: usize = SEALED_BYTES.div_ceil(LINE_BYTES);

/// The adjacent lines of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Leaf([u8; LEAF_LINES * LINE_BYTES]);

impl Leaf {
    /// Leaf of a record that was never written.
    pub const BLANK: Leaf = Leaf([0; LEAF_LINES * LINE_BYTES]);

    /// Returns the leaf of these lines.
    pub fn of_lines(lines: &[Line]) -> Leaf {
        let mut leaf = Leaf::BLANK;
        leaf.0.chunks_exact_mut(LINE_BYTES).zip(lines).for_each(|(bytes, line)| bytes.copy_from_slice(line));
        leaf
    }

    /// Returns the lines of the leaf.
    pub fn lines(&self) -> impl Iterator<Item = Line> {
        let (lines, _) = self.0.as_chunks::<LINE_BYTES>();
        lines.iter().copied()
    }

    /// Returns whether the record was never written.
    pub fn is_blank(&self) -> bool {
        *self == Leaf::BLANK
    }

    /// Returns vector and ciphertext.
    pub fn sealed(&self) -> &[u8] {
        &self.0[..SEALED_BYTES]
    }

    /// Returns whether the unused bytes of the lines are zero.
    pub fn spare_is_zero(&self) -> bool {
        self.0[SEALED_BYTES..].iter().all(|byte| *byte == 0)
    }
}

/// Encryption of records, under a separate key.
pub(super) struct RecordCipher {
    cbc: Cbc<Aes128>,
}

impl RecordCipher {
    /// Number of blocks of a record.
    pub const BLOCKS: u32 = (TEXT_BYTES / BLOCK_BYTES) as u32;

    /// Expands the key of records.
    pub fn new(key: &Key) -> RecordCipher {
        RecordCipher { cbc: Cbc::new(key) }
    }

    /// Encrypts a record from a vector that was never used before.
    pub fn seal(&self, record: &Record, vector: &[u8; BLOCK_BYTES]) -> Leaf {
        let mut leaf = Leaf::BLANK;
        let (first, rest) = leaf.0[..SEALED_BYTES].split_at_mut(BLOCK_BYTES);
        first.copy_from_slice(vector);
        rest.copy_from_slice(&record.to_bytes());
        self.cbc.seal_text(vector, rest);
        leaf
    }

    /// Decrypts a record; `None` if the result is invalid.
    pub fn open(&self, leaf: &Leaf) -> Option<Record> {
        let (vector, rest) = leaf.sealed().split_first_chunk()?;
        let mut text: [u8; TEXT_BYTES] = rest.try_into().ok()?;
        self.cbc.open_text(vector, &mut text);
        Record::from_bytes(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::random::Random;

    #[test]
    fn an_encrypted_page_chunk_record_has_304_bytes_and_decrypts_only_under_its_key() {
        assert_eq!((SEALED_BYTES, LEAF_LINES), (304, 5));
        let (cipher, mut random) = (RecordCipher::new(&Key([9; 16])), Random::new(5));
        let record = Record::draw(&mut random);
        let leaf = cipher.seal(&record, &[3; 16]);
        assert_eq!(cipher.open(&leaf).as_ref(), Some(&record));
        assert_eq!(RecordCipher::new(&Key([8; 16])).open(&leaf), None, "another key opens nothing");
        assert_eq!(Leaf::of_lines(&leaf.lines().collect::<Vec<_>>()), leaf);
        assert!(leaf.spare_is_zero());
    }

    #[test]
    fn equal_page_chunk_records_under_different_initialisation_vectors_share_no_ciphertext_block() {
        let cipher = RecordCipher::new(&Key([9; 16]));
        let record = Record::draw(&mut Random::new(5));
        let [one, other] = [3, 4].map(|byte| cipher.seal(&record, &[byte; 16]));
        let blocks = |leaf: &Leaf| leaf.sealed().chunks(BLOCK_BYTES).map(<[u8]>::to_vec).collect::<Vec<_>>();
        assert!(blocks(&one).iter().all(|block| !blocks(&other).contains(block)));
    }
}
