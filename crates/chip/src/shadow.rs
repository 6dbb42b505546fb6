//! What the program's memory holds in program order, as far as memory itself cannot say.
//!
//! Caches in this simulator keep tags only, so one component must know the plaintext of what is on the chip: the
//! *shadow*. The feed gives it lines and stores in program order, earlier than the simulated clock; a dirty line that
//! leaves the chip takes its content from here; a line that memory returns is checked and remembered again.
//!
//! A line that is not on the chip and holds nothing that memory lacks is forgotten, as on a real chip: what remains is the
//! ciphertext, in memory, and a fingerprint, at the observer. A simulated program thus costs its footprint once, not
//! twice. A store to a forgotten line is kept as the bytes that it wrote until memory returns the others.
//!
//! A recording shows a line when the program first touches it. If a prefetcher is sooner, memory starts up with zeros in
//! its place: a guess, which the first sight corrects. That is no change from outside, and the line is kept here until it
//! is written.
//!
//! Several cores have one shadow, and their stores reach it in the order in which the cores execute.

use crate::predictability::{Predictability, Predictions};
use machine::observer::{Observer, ObserverCounters};
use machine::sparse::Sparse;
use rustc_hash::FxHashSet;
use std::ops::Range;
use units::{LINE_BYTES, Line, LineAddr, ZERO_LINE};

/// All bytes of a line are known.
const WHOLE: u64 = u64::MAX;
/// Fewer lines than this are not worth forgetting.
const FEW_LINES: usize = 1 << 15;

/// One line.
struct Entry {
    bytes: Line,
    line: LineAddr,
    /// For each byte, whether it is known; no bit if the entry is free.
    known: u64,
    /// Whether it holds what memory lacks.
    ahead: bool,
}

/// The content of the lines on the chip and of those on their way, and the observer of everything else.
pub struct Shadow {
    /// For each line, one more than the index of its entry; nothing if it has none.
    places: Sparse<u32>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    observer: Observer,
    predictability: Predictability,
    /// Lines that were put into memory before their content was known.
    guessed: FxHashSet<LineAddr>,
    /// Of these, lines of which memory still has the guess, though their content is known.
    corrected: FxHashSet<LineAddr>,
    /// With more lines than this it is time to forget some.
    crowded_from: usize,
    keeps_all: bool,
}

impl Shadow {
    /// Of a memory of this many lines.
    pub fn new(lines: u64) -> Shadow {
        Shadow {
            places: Sparse::new(lines),
            entries: Vec::new(),
            free: Vec::new(),
            observer: Observer::new(lines),
            predictability: Predictability::default(),
            guessed: FxHashSet::default(),
            corrected: FxHashSet::default(),
            crowded_from: FEW_LINES,
            keeps_all: false,
        }
    }

    /// The same with tables of so many frequent values each, which watch what goes to memory and comes from it.
    #[must_use]
    pub fn watched_by(self, tables: &[usize]) -> Shadow {
        Shadow { predictability: Predictability::of(tables), ..self }
    }

    /// The program sees this content; whether that is a change that none of its own stores made.
    ///
    /// A line that has stores of its own to wait for merges with them: its content then counts as the program's.
    pub fn tell(&mut self, line: LineAddr, content: &Line) -> bool {
        let guessed = !self.guessed.is_empty() && self.guessed.remove(&line);
        if guessed {
            self.corrected.insert(line);
        }
        let Some(place) = self.place(line) else {
            let same = self.observer.has(line, content);
            if same != Some(true) {
                self.add(Entry { bytes: *content, line, known: WHOLE, ahead: true });
            }
            return same == Some(false) && !guessed;
        };
        let entry = &mut self.entries[place];
        let changed = entry.known == WHOLE && entry.bytes != *content;
        entry.ahead |= changed;
        (entry.bytes, entry.known) = (*content, WHOLE);
        changed && !guessed
    }

    /// The program stores `bytes` at `range` of the line.
    #[inline]
    pub fn store(&mut self, line: LineAddr, range: Range<usize>, bytes: &[u8]) {
        let place = match self.place(line) {
            Some(place) => place,
            None => self.add(Entry { bytes: ZERO_LINE, line, known: 0, ahead: true }),
        };
        let entry = &mut self.entries[place];
        entry.known |= mask(&range);
        entry.ahead = true;
        entry.bytes[range].copy_from_slice(bytes);
    }

    /// Whether the program should load `bytes` from `range` of the line. Once asked, nothing is forgotten any more.
    pub fn agrees(&mut self, line: LineAddr, range: Range<usize>, bytes: &[u8]) -> bool {
        self.keeps_all = true;
        self.place(line).is_some_and(|place| self.entries[place].bytes[range] == *bytes)
    }

    /// The plaintext of a line that goes to memory now. From here on memory has to return it. Bytes that the feed never
    /// gave are zero.
    pub fn put(&mut self, line: LineAddr) -> Line {
        let content = self.settle(line);
        self.predictability.written_back(&content);
        content
    }

    fn settle(&mut self, line: LineAddr) -> Line {
        if !self.corrected.is_empty() {
            self.corrected.remove(&line);
        }
        let content = match self.place(line) {
            Some(place) => {
                let entry = &mut self.entries[place];
                (entry.known, entry.ahead) = (WHOLE, false);
                entry.bytes
            }
            None => ZERO_LINE,
        };
        self.observer.put(line, &content);
        content
    }

    /// The plaintext of a line that memory is asked for although it was never put there.
    pub fn start_up(&mut self, line: LineAddr) -> Line {
        if self.place(line).is_none() {
            self.guessed.insert(line);
        }
        self.settle(line)
    }

    /// Memory returned a line: it is compared with what was put, and remembered, but for what was stored meanwhile.
    pub fn returned(&mut self, line: LineAddr, content: &Line) {
        self.observer.check(line, content);
        self.predictability.filled(content);
        let Some(place) = self.place(line) else {
            self.add(Entry { bytes: *content, line, known: WHOLE, ahead: false });
            return;
        };
        let Entry { bytes, known, .. } = &mut self.entries[place];
        if *known != WHOLE {
            let unknown = (0..LINE_BYTES).filter(|byte| *known >> byte & 1 == 0);
            unknown.for_each(|byte| bytes[byte] = content[byte]);
            *known = WHOLE;
        }
    }

    /// Whether it is time to forget lines.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.held() > self.crowded_from && !self.keeps_all
    }

    /// Forgets what memory has too, except lines that are on the chip.
    pub fn forget(&mut self, on_chip: impl Fn(LineAddr) -> bool) {
        // From the end, so that the places are taken again from the beginning.
        for (place, entry) in self.entries.iter_mut().enumerate().rev() {
            if entry.known != 0 && !entry.ahead && !on_chip(entry.line) {
                entry.known = 0;
                *self.places.entry(entry.line.0) = 0;
                self.free.push(place as u32);
            }
        }
        self.crowded_from = (self.held() + self.held() / 2).max(FEW_LINES);
    }

    /// Lines whose content memory once had, and that have another one now, because they were written to.
    pub fn newer_than_memory(&self) -> impl Iterator<Item = LineAddr> + '_ {
        let ahead = self.entries.iter().filter(|entry| entry.known == WHOLE && entry.ahead);
        let written = ahead.filter(|entry| !self.corrected.contains(&entry.line));
        written.filter(|entry| self.observer.has(entry.line, &entry.bytes) == Some(false)).map(|entry| entry.line)
    }

    /// What the observer has seen.
    pub fn observed(&self) -> ObserverCounters {
        self.observer.counters()
    }

    /// What the tables of frequent values would have predicted.
    pub fn predicted(&self) -> Predictions {
        self.predictability.seen()
    }

    /// Bytes of this process that the lines, their places and the fingerprints take.
    pub fn footprint_bytes(&self) -> u64 {
        let entries = self.entries.capacity() * size_of::<Entry>();
        entries as u64 + self.places.footprint_bytes() + self.observer.footprint_bytes()
    }

    fn held(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    #[inline]
    fn place(&self, line: LineAddr) -> Option<usize> {
        self.places.get(line.0).and_then(|place| (*place as usize).checked_sub(1))
    }

    fn add(&mut self, entry: Entry) -> usize {
        let line = entry.line.0;
        let place = match self.free.pop() {
            Some(place) => {
                self.entries[place as usize] = entry;
                place as usize
            }
            None => {
                self.entries.push(entry);
                self.entries.len() - 1
            }
        };
        *self.places.entry(line) = place as u32 + 1;
        place
    }
}

fn mask(range: &Range<usize>) -> u64 {
    (u64::MAX >> (u64::BITS as usize - range.len())) << range.start
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const LINE: LineAddr = LineAddr(3);

    #[test]
    fn a_store_to_a_forgotten_line_waits_for_the_other_bytes() {
        let mut shadow = Shadow::new(10);
        shadow.tell(LINE, &[7; 64]);
        let stored = shadow.put(LINE);
        shadow.forget(|_| false);
        assert_eq!(shadow.held(), 0);
        shadow.store(LINE, 8..10, &[1, 2]);
        shadow.returned(LINE, &stored);
        let mut expected = [7; 64];
        expected[8..10].copy_from_slice(&[1, 2]);
        assert_eq!(shadow.put(LINE), expected);
    }

    #[test]
    fn what_memory_lacks_and_what_is_on_the_chip_is_never_forgotten() {
        let mut shadow = Shadow::new(10);
        for line in 0..4 {
            shadow.tell(LineAddr(line), &[line as u8; 64]);
        }
        for line in 0..3 {
            shadow.put(LineAddr(line));
        }
        shadow.store(LineAddr(1), 0..1, &[9]);
        shadow.forget(|line| line == LineAddr(2));
        let kept = [0, 1, 2, 3].map(|line| shadow.place(LineAddr(line)).is_some());
        assert_eq!(kept, [false, true, true, true]);
    }

    #[test]
    fn a_line_is_newer_than_memory_from_its_store_until_it_is_put() {
        let mut shadow = Shadow::new(10);
        shadow.tell(LINE, &[7; 64]);
        let newer = |shadow: &Shadow| shadow.newer_than_memory().collect::<Vec<_>>();
        assert_eq!(newer(&shadow), [], "memory never had it");
        shadow.put(LINE);
        shadow.store(LINE, 0..1, &[8]);
        assert_eq!(newer(&shadow), [LINE]);
        shadow.put(LINE);
        assert_eq!(newer(&shadow), []);
    }

    #[test]
    fn a_change_from_outside_is_noticed_on_the_chip_and_off_it() {
        for forgotten in [false, true] {
            let mut shadow = Shadow::new(10);
            assert!(!shadow.tell(LINE, &[7; 64]), "the first sight of a line is no change");
            shadow.put(LINE);
            if forgotten {
                shadow.forget(|_| false);
            }
            assert!(!shadow.tell(LINE, &[7; 64]));
            assert!(shadow.tell(LINE, &[8; 64]));
            assert_eq!(shadow.put(LINE), [8; 64]);
        }
    }

    #[test]
    fn a_line_that_memory_was_asked_for_before_its_first_sight_did_not_change() {
        for forgotten in [false, true] {
            let mut shadow = Shadow::new(10);
            let guess = shadow.start_up(LINE);
            shadow.returned(LINE, &guess);
            if forgotten {
                shadow.forget(|_| false);
            }
            assert!(!shadow.tell(LINE, &[7; 64]), "this is its first sight");
            shadow.forget(|_| false);
            shadow.returned(LINE, &guess);
            assert!(shadow.tell(LINE, &[8; 64]), "and this a change");
            assert_eq!(shadow.put(LINE), [8; 64]);
            assert_eq!(shadow.observed().lines_wrong, 0);
        }
    }

    #[test]
    fn once_loads_are_compared_every_line_is_kept() {
        let mut shadow = Shadow::new(1 << 20);
        shadow.tell(LINE, &[7; 64]);
        assert!(shadow.agrees(LINE, 0..2, &[7, 7]) && !shadow.agrees(LINE, 0..2, &[7, 8]));
        for line in 0..2 * FEW_LINES as u64 {
            shadow.tell(LineAddr(line), &[1; 64]);
        }
        assert!(!shadow.is_crowded());
    }

    #[test]
    fn what_is_kept_follows_the_chip_and_not_the_program() {
        const ON_CHIP: u64 = 20_000;
        let mut shadow = Shadow::new(1 << 20);
        for line in 0..1 << 19 {
            shadow.tell(LineAddr(line), &[1; 64]);
            shadow.put(LineAddr(line));
            if shadow.is_crowded() {
                shadow.forget(|other| other.0 + ON_CHIP > line);
            }
        }
        assert!(shadow.held() <= FEW_LINES + 1, "{}", shadow.held());
        assert!(shadow.footprint_bytes() < 16 << 20, "{}", shadow.footprint_bytes());
    }

    #[derive(Clone, Debug)]
    enum Event {
        Store(u64, usize, u8),
        Evict(u64),
        Fetch(u64),
        Forget,
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            4 => (0..6u64, 0..60usize, any::<u8>()).prop_map(|(line, at, byte)| Event::Store(line, at, byte)),
            2 => (0..6u64).prop_map(Event::Evict),
            2 => (0..6u64).prop_map(Event::Fetch),
            1 => Just(Event::Forget),
        ]
    }

    proptest! {
        /// A chip that fetches, evicts and forgets as it likes against a flat memory.
        #[test]
        fn forgetting_never_loses_a_byte(events in proptest::collection::vec(event(), 1..200)) {
            let (mut shadow, mut flat) = (Shadow::new(10), BTreeMap::<u64, Line>::new());
            let (mut memory, mut chip) = (BTreeMap::<u64, Line>::new(), std::collections::BTreeSet::<u64>::new());
            for line in 0..6 {
                flat.insert(line, [line as u8; 64]);
                shadow.tell(LineAddr(line), &[line as u8; 64]);
            }
            for event in events.into_iter().chain((0..6).flat_map(|line| [Event::Fetch(line), Event::Evict(line)])) {
                match event {
                    Event::Store(line, at, byte) => {
                        shadow.store(LineAddr(line), at..at + 4, &[byte; 4]);
                        flat.get_mut(&line).unwrap()[at..at + 4].fill(byte);
                    }
                    Event::Fetch(line) if !chip.contains(&line) => {
                        let content = *memory.entry(line).or_insert_with(|| shadow.put(LineAddr(line)));
                        shadow.returned(LineAddr(line), &content);
                        chip.insert(line);
                    }
                    Event::Evict(line) if chip.remove(&line) => {
                        memory.insert(line, shadow.put(LineAddr(line)));
                    }
                    Event::Fetch(_) | Event::Evict(_) => {}
                    Event::Forget => shadow.forget(|line| chip.contains(&line.0)),
                }
            }
            prop_assert_eq!(&memory, &flat);
            prop_assert_eq!(shadow.observed().lines_wrong, 0);
        }
    }
}
