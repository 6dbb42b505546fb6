//! What is known of each line of memory, wherever it is: its place among the lines on the chip, and what it went down with.
//!
//! Both in one table, since whatever is asked of a line asks for both: what lies together is brought to the host's caches
//! together.

use machine::observer::{Fingerprint, Observer, ObserverCounters};
use machine::sparse::Sparse;
use units::{Line, LineAddr};

/// What is known of one line.
#[derive(Clone, Copy, Default)]
struct KnownLine {
    /// One more than its place; nothing if it has none.
    place: u32,
    /// Of what it went down with last, if it did.
    went_down: Option<Fingerprint>,
}

/// All lines, and the observer of what comes up of them.
pub(super) struct KnownLines {
    lines: Sparse<KnownLine, 128>,
    observer: Observer,
}

impl KnownLines {
    /// Of a memory of this many lines.
    pub fn new(lines: u64) -> KnownLines {
        KnownLines { lines: Sparse::new(lines), observer: Observer::default() }
    }

    /// Asks the host for what is known of a line.
    pub fn look_ahead(&self, line: LineAddr) {
        self.lines.look_ahead(line.0);
    }

    /// The place of a line, if it has one.
    #[inline]
    pub fn place(&self, line: LineAddr) -> Option<usize> {
        (self.lines.get(line.0).place as usize).checked_sub(1)
    }

    /// Gives a line this place, or none.
    pub fn set_place(&mut self, line: LineAddr, place: Option<usize>) {
        self.lines.entry(line.0).place = place.map_or(0, |place| place as u32 + 1);
    }

    /// A line goes down with this content, and has to come up with it.
    pub fn goes_down(&mut self, line: LineAddr, content: &Line) {
        self.lines.entry(line.0).went_down = Some(Fingerprint::of(content));
    }

    /// Whether memory has the line.
    #[inline]
    pub fn is_in_memory(&self, line: LineAddr) -> bool {
        self.lines.get(line.0).went_down.is_some()
    }

    /// Whether this is what the line went down with last, or nothing if it never did.
    pub fn went_down_as(&self, line: LineAddr, content: &Line) -> Option<bool> {
        self.lines.get(line.0).went_down.map(|went_down| went_down == Fingerprint::of(content))
    }

    /// A line comes up: the observer compares it.
    pub fn comes_up(&mut self, line: LineAddr, content: &Line) {
        self.observer.check(self.lines.get(line.0).went_down, content);
    }

    /// What the observer has seen.
    pub fn observed(&self) -> ObserverCounters {
        self.observer.counters()
    }

    /// Bytes of this process that the table takes.
    pub fn footprint_bytes(&self) -> u64 {
        self.lines.footprint_bytes()
    }
}
