//! Reach of an attacker on the memory bus: every byte in memory, the map of the memory, and recordings of earlier bytes.
//!
//! The bus has no access to the chip: no key, no cache, no root. Attacks use only [`Bus`], so they cannot cheat, even by
//! mistake.

mod map;

pub use map::{Map, SlotMap, Structure};

use protection::media::Media;
use protection::verbs::{Slot, Untrusted};
use std::collections::BTreeSet;
use std::ops::Range;
use units::{LINE_BYTES, Line, LineAddr, ZERO_LINE};

/// Bytes of a line and of as many spare bits as any design has.
pub const CELL_BYTES: usize = LINE_BYTES + size_of::<u128>();

/// Content of memory at one moment, in the order of slots; in a design that permutes lines, also the slots of lines at
/// that moment.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Recording(Vec<(Slot, Untrusted)>, Option<SlotMap>);

impl Recording {
    /// Records all slots that were ever written to.
    pub fn of(media: &Media) -> Recording {
        Recording(media.written_slots().map(|(slot, _)| (slot, media.read(slot))).collect(), None)
    }

    /// Returns a memory of this many slots with the recorded content.
    pub fn media(&self, slots: u64) -> Media {
        let mut media = Media::new(slots);
        self.0.iter().for_each(|(slot, content)| media.store(*slot, *content));
        media
    }

    /// Returns the content of a slot, if the slot had been written to.
    pub fn get(&self, slot: Slot) -> Option<Untrusted> {
        let index = self.0.binary_search_by_key(&slot, |(recorded, _)| *recorded).ok()?;
        Some(self.0[index].1)
    }

    /// Returns all slots with their content, in order.
    pub fn slots(&self) -> impl Iterator<Item = (Slot, Untrusted)> {
        self.0.iter().copied()
    }
}

/// Access of an attacker to the bus.
pub struct Bus<'a> {
    media: &'a mut Media,
    map: Map<'a>,
    lines: &'a [LineAddr],
    recordings: &'a [Recording],
    changed: BTreeSet<Slot>,
}

impl<'a> Bus<'a> {
    /// Attaches to a memory. `lines` are the data lines with observed traffic, `recordings` the recordings of it.
    pub fn new(media: &'a mut Media, map: Map<'a>, lines: &'a [LineAddr], recordings: &'a [Recording]) -> Bus<'a> {
        Bus { media, map, lines, recordings, changed: BTreeSet::new() }
    }

    /// Returns the map of the memory.
    pub fn map(&self) -> Map<'a> {
        self.map
    }

    /// Returns the data lines in use.
    pub fn lines(&self) -> &'a [LineAddr] {
        self.lines
    }

    /// Returns the recordings from earlier moments, oldest first.
    pub fn recordings(&self) -> &'a [Recording] {
        self.recordings
    }

    /// Returns true if memory contains a line of data.
    pub fn has(&self, line: LineAddr) -> bool {
        self.map.slot_bytes(Structure::Data, line).is_some_and(|(slot, _)| !self.media.is_blank(slot))
    }

    /// Returns the line in a slot.
    pub fn read(&self, slot: Slot) -> Line {
        self.media.read(slot).examine()
    }

    /// Returns the whole content of a slot: the line and its spare bits.
    pub fn read_cell(&self, slot: Slot) -> [u8; CELL_BYTES] {
        cell(self.media.read(slot))
    }

    /// Returns the line in the slot that serves a data line, if the design has this structure.
    pub fn read_structure(&self, structure: Structure, line: LineAddr) -> Option<Line> {
        self.map.slot_bytes(structure, line).map(|(slot, _)| self.read(slot))
    }

    /// Records the current content of memory.
    pub fn record(&self) -> Recording {
        Recording(Recording::of(self.media).0, self.map.table())
    }

    /// Replaces the line in a slot; its spare bits do not change.
    pub fn write(&mut self, slot: Slot, content: &Line) {
        self.media.write(slot, content);
        self.changed.insert(slot);
    }

    /// Replaces the whole content of a slot.
    pub fn put(&mut self, slot: Slot, content: Untrusted) {
        self.media.store(slot, content);
        self.changed.insert(slot);
    }

    /// Replaces some bytes of a slot's cell.
    pub fn write_bytes(&mut self, slot: Slot, bytes: Range<usize>, source: &[u8]) {
        let mut cell = self.read_cell(slot);
        cell[bytes].copy_from_slice(source);
        let (mut line, mut spare_bits) = (ZERO_LINE, [0; CELL_BYTES - LINE_BYTES]);
        line.copy_from_slice(&cell[..LINE_BYTES]);
        spare_bits.copy_from_slice(&cell[LINE_BYTES..]);
        self.put(slot, Untrusted::with(line, u128::from_le_bytes(spare_bits)));
    }

    /// Flips one bit of a slot; bits beyond the line are its spare bits.
    pub fn flip(&mut self, slot: Slot, bit: usize) {
        let byte = bit / 8;
        let flipped = self.read_cell(slot)[byte] ^ 1 << (bit % 8);
        self.write_bytes(slot, byte..byte + 1, &[flipped]);
    }

    /// Flips one bit of the slot that serves a line, if the design has this structure.
    pub fn flip_bit_of(&mut self, structure: Structure, line: LineAddr, bit: usize) {
        if let Some((slot, _)) = self.map.slot_bytes(structure, line) {
            self.flip(slot, bit);
        }
    }

    /// Returns all data lines in use that depend on a changed slot when they are read.
    pub fn affected_lines(&self) -> Vec<LineAddr> {
        let affected = |line: &LineAddr| self.changed.iter().any(|slot| self.map.is_served(*slot, *line));
        self.lines.iter().copied().filter(affected).collect()
    }
}

/// Returns a line and its spare bits as bytes.
pub fn cell(content: Untrusted) -> [u8; CELL_BYTES] {
    let mut cell = [0; CELL_BYTES];
    cell[..LINE_BYTES].copy_from_slice(&content.examine());
    cell[LINE_BYTES..].copy_from_slice(&content.spare_bits().to_le_bytes());
    cell
}

/// Flips one bit of a line; bit 0 is the lowest of the first byte.
pub fn flip(line: &mut Line, bit: usize) {
    line[bit / 8] ^= 1 << (bit % 8);
}
