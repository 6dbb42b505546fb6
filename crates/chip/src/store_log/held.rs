//! A store, and what a line holds byte by byte as stores take effect in it.

use std::ops::Range;
use units::{LINE_BYTES, Line, LineAddr, VirtAddr, ZERO_LINE};

/// A store of a program, or a change from outside.
#[derive(Clone, Debug)]
pub struct Store {
    /// The core that executed it.
    pub core: usize,
    /// How many stores of its core came before it.
    pub number: u64,
    /// The instruction.
    pub pc: VirtAddr,
    /// Where it begins.
    pub address: VirtAddr,
    /// The line.
    pub line: LineAddr,
    /// Whether the kernel made it, and no instruction.
    pub from_outside: bool,
    /// Where in the line.
    pub(super) range: Range<usize>,
    pub(super) bytes: Line,
    /// How many the feeds have noted before it.
    pub(super) order: u64,
}

/// A line of which some bytes are known.
#[derive(Clone, Debug)]
pub(super) struct KnownBytes {
    pub(super) bytes: Line,
    pub(super) known: u64,
}

impl KnownBytes {
    pub(super) fn nothing() -> KnownBytes {
        KnownBytes { bytes: ZERO_LINE, known: 0 }
    }

    fn has(&self, place: usize) -> bool {
        self.known >> place & 1 == 1
    }

    pub(super) fn set(&mut self, place: usize, byte: u8) {
        self.bytes[place] = byte;
        self.known |= 1 << place;
    }

    /// The first byte in which this differs, if one is known to.
    pub(super) fn first_other(&self, content: &Line) -> Option<usize> {
        (0..LINE_BYTES).find(|place| self.has(*place) && self.bytes[*place] != content[*place])
    }
}

/// What a line holds for certain, byte by byte.
#[derive(Clone, Debug)]
pub struct Held {
    content: KnownBytes,
    /// The store that made each byte, by order from 1; 0 if none has.
    made: Box<[u64; LINE_BYTES]>,
    /// The latest store of a program that it holds.
    last: Option<Store>,
}

impl Held {
    pub(super) fn nothing() -> Held {
        Held { content: KnownBytes::nothing(), made: Box::new([0; LINE_BYTES]), last: None }
    }

    /// A store takes effect, but where a later one has the last word.
    pub fn take(&mut self, store: &Store) {
        for place in store.range.clone() {
            if self.made[place] < store.order {
                self.made[place] = store.order;
                self.content.set(place, store.bytes[place]);
            }
        }
        let is_later = self.last.as_ref().is_none_or(|last| last.order < store.order);
        if is_later && !store.from_outside {
            self.last = Some(store.clone());
        }
    }

    /// The program shows bytes that nothing was known of: they were there all the time.
    pub(super) fn fill(&mut self, content: &Line) {
        for (place, byte) in content.iter().enumerate() {
            if !self.content.has(place) {
                self.content.set(place, *byte);
            }
        }
    }

    /// Whether memory may have returned this.
    pub fn fits(&self, found: &Line) -> bool {
        self.content.first_other(found).is_none()
    }

    /// The first byte that memory should not have returned, if there is one, and what it should have been.
    pub fn first_wrong(&self, found: &Line) -> Option<(usize, u8)> {
        self.content.first_other(found).map(|place| (place, self.content.bytes[place]))
    }

    /// The latest store that it holds, if a program has stored to it.
    pub fn last(&self) -> Option<&Store> {
        self.last.as_ref()
    }
}
