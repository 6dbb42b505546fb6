//! Lengths of tags: the keys in a file, and the limits of code and place.
//!
//! A file gives the bits of a line's tag, or the bits of each chunk's tag if chunks have separate tags. If a file gives
//! neither, a line's tag has [`DEFAULT_BITS`] bits.

use super::ciphers::CipherChoice;
use super::keys::Keys;
use super::macs::{DEFAULT_BITS, MacChoice, MacDesign};
use crate::mac::TagLocation;
use crate::planted::PlantedBug;
use crypto::ALL_GIVE_BITS;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::RangeInclusive;

/// Permitted values of `tag_bits`.
const LINE_BITS: RangeInclusive<u32> = 1..=256;

impl<'de> Deserialize<'de> for MacDesign {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MacDesign, D::Error> {
        let said = MacDesign::deserialize(deserializer)?;
        let line = said.tag_bits.or(said.chunk_tag_bits.is_none().then_some(DEFAULT_BITS));
        Ok(MacDesign { tag_bits: line, ..said })
    }
}

impl Serialize for MacDesign {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        MacDesign::serialize(self, serializer)
    }
}

impl MacDesign {
    /// Returns the rule that the length of tags breaks, if any. Call it after [`MacDesign::broken_rule`], which checks
    /// the code.
    pub(super) fn broken_length(&self, cipher: CipherChoice) -> Option<String> {
        if let (Some(line), Some(chunk)) = (self.tag_bits, self.chunk_tag_bits) {
            return Some(format!(
                "mac.tag_bits = {line} is the length of a line's tag and mac.chunk_tag_bits = {chunk} that of each chunk's: leave \
                 one of them out"
            ));
        }
        match self.chunk_tag_bits {
            Some(bits) => self.broken_length_of_chunks(cipher, bits),
            None => self.broken_length_of_lines(cipher),
        }
        .or_else(|| self.broken_room(cipher))
    }

    fn broken_length_of_chunks(&self, cipher: CipherChoice, bits: u32) -> Option<String> {
        if self.code != MacChoice::OcbChunks {
            return Some(format!(
                "mac.chunk_tag_bits = {bits} is for a code with a tag for each chunk, which is \"ocb-chunks\": set mac.code = \
                 \"ocb-chunks\", or give the length of a line's tag as mac.tag_bits"
            ));
        }
        let block = self.whole_bits(cipher) / self.chunks(cipher);
        (!(1..=block).contains(&bits)).then(|| {
            format!(
                "mac.chunk_tag_bits = {bits}: expected 1 to {block} for a chunk of this cipher; set mac.chunk_tag_bits \
                 = {}",
                bits.clamp(1, block)
            )
        })
    }

    fn broken_length_of_lines(&self, cipher: CipherChoice) -> Option<String> {
        let bits = self.line_bits(cipher);
        if !LINE_BITS.contains(&bits) {
            let (least, most) = LINE_BITS.into_inner();
            let longest = most.min(self.whole_bits(cipher));
            return Some(format!(
                "mac.tag_bits = {bits} must be between {least} and {most}: set mac.tag_bits = {}",
                bits.clamp(least, longest)
            ));
        }
        let chunks = self.chunks(cipher);
        if bits < chunks {
            return Some(format!(
                "mac.tag_bits = {bits} leaves some of the {chunks} chunks of a line without a tag: set mac.tag_bits = {chunks}, or \
                 mac.chunk_tag_bits = 1"
            ));
        }
        let whole = if bits > ALL_GIVE_BITS { self.whole_bits(cipher) } else { bits };
        (bits > whole).then(|| {
            let longer = if bits <= 160 { "hmac-sha1" } else { "hmac-sha256" };
            format!(
                "mac.tag_bits = {bits}, and the tags of this mac.code have up to {whole}: set mac.tag_bits = {whole} or mac.code = \
                 \"{longer}\""
            )
        })
    }

    /// Returns the rule that a tag breaks if it is longer than the room in its place.
    fn broken_room(&self, cipher: CipherChoice) -> Option<String> {
        let (bits, room, chunks) = (self.line_bits(cipher), self.place.room_bits(), self.chunks(cipher));
        let location = match self.place {
            TagLocation::Ecc => "\"ecc\"",
            TagLocation::Inline => "\"beside\"",
            TagLocation::Region => "\"region\"",
        };
        (self.code != MacChoice::None && bits > room).then(|| {
            let shorter = match self.chunk_tag_bits {
                Some(_) => format!("mac.chunk_tag_bits = {}", room / chunks),
                None => format!("mac.tag_bits = {room}"),
            };
            format!(
                "mac.place = {location} has room for {room} bits of a line's tag, and this tag has {bits}: set \
                 {shorter} or mac.place = \"region\""
            )
        })
    }

    /// Bits of an untruncated tag of the authentication code; without a code, the maximum of all codes.
    fn whole_bits(&self, cipher: CipherChoice) -> u32 {
        self.code(cipher, Keys::new(0, PlantedBug::NONE)).map_or(*LINE_BITS.end(), |code| code.whole_bits())
    }
}
