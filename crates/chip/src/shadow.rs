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
//! Memory boots with the content before the program's first store: stores that are still on their way to memory, in the core's
//! window or in a cache, are no part of it. So the shadow keeps that content from a line's first store until memory has the line.
//!
//! Several cores have one shadow, and their stores reach it in the order in which the cores execute.

mod entries;
mod known;
pub(crate) mod persisted;
#[cfg(test)]
mod tests;

use crate::load_values::order::LoadOrder;
use crate::predictability::{Predictability, Predictions};
use crate::store_log::StoreLog;
use entries::{Entries, Entry};
use known::KnownLines;
use machine::observer::ObserverCounters;
use persisted::{Persisted, remember_before};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use units::{LINE_BYTES, Line, LineAddr, ZERO_LINE};

/// All bytes of a line are known.
const WHOLE: u64 = u64::MAX;
/// Fewer lines than this are not worth forgetting.
const FEW_LINES: usize = 1 << 15;
/// While one is forgotten, the host is asked for what is known of the one that comes so many later.
const FORGOTTEN_AHEAD: usize = 8;

/// The content of the lines on the chip and of those on their way, and the observer of everything else.
pub struct Shadow {
    known: KnownLines,
    entries: Entries,
    predictability: Predictability,
    /// Lines that were put into memory before their content was known.
    guessed: FxHashSet<LineAddr>,
    /// Of these, lines of which memory still has the guess, though their content is known.
    corrected: FxHashSet<LineAddr>,
    /// The content before their first stores of lines that memory does not have yet.
    before_stores: FxHashMap<LineAddr, Line>,
    /// Whether the recording shows pages with their content: then lines that it has not sent hold zeros, and are no guess.
    pub(crate) knows_pages: bool,
    /// With more lines than this it is time to forget some.
    crowded_from: usize,
    /// The order of accesses to lines, if loads are compared: then no line is forgotten.
    pub(crate) loads: Option<LoadOrder>,
    /// What of the stores a persist buffer has accepted, if there is one.
    pub(crate) persisted: Option<Persisted>,
    /// An account of stores apart from all this, if a loss of power is to be judged.
    pub(crate) log: Option<Box<StoreLog>>,
}

impl Shadow {
    /// Of a memory of this many lines.
    pub fn new(lines: u64) -> Shadow {
        Shadow {
            known: KnownLines::new(lines),
            entries: Entries::default(),
            predictability: Predictability::default(),
            guessed: FxHashSet::default(),
            corrected: FxHashSet::default(),
            before_stores: FxHashMap::default(),
            knows_pages: false,
            crowded_from: FEW_LINES,
            loads: None,
            persisted: None,
            log: None,
        }
    }

    /// The same with tables of so many frequent values each, which watch what goes to memory and comes from it; and one that compares
    /// the values that programs load with its content, if that is asked for.
    #[must_use]
    pub fn observing(self, tables: &[usize], compares_loads: bool) -> Shadow {
        let loads = compares_loads.then(LoadOrder::default);
        Shadow { predictability: Predictability::of(tables), loads, ..self }
    }

    /// The same with an account of stores by which a loss of power is judged.
    #[must_use]
    pub fn logged(self, log: StoreLog) -> Shadow {
        Shadow { log: Some(Box::new(log)), ..self }
    }

    /// The account of stores, if there is one.
    pub fn log(&self) -> Option<&StoreLog> {
        self.log.as_deref()
    }

    /// The program sees this content; whether that is a change that none of its own stores made.
    ///
    /// A line that has stores of its own to wait for merges with them: its content then counts as the program's.
    pub fn tell(&mut self, line: LineAddr, content: &Line) -> bool {
        let guessed = !self.guessed.is_empty() && self.guessed.remove(&line);
        if guessed {
            self.corrected.insert(line);
        }
        let Some(place) = self.known.place(line) else {
            if self.knows_pages && *content == ZERO_LINE && !self.known.is_in_memory(line) {
                return false;
            }
            let same = self.known.went_down_as(line, content);
            if same != Some(true) || self.loads.is_some() {
                self.add(Entry { bytes: *content, line, known: WHOLE, ahead: same != Some(true) });
            }
            return same == Some(false) && !guessed;
        };
        if let Some(before) = self.before_stores.get_mut(&line) {
            *before = *content;
        }
        let entry = &mut self.entries[place];
        let changed = entry.known == WHOLE && entry.bytes != *content;
        entry.ahead |= changed;
        (entry.bytes, entry.known) = (*content, WHOLE);
        changed && !guessed
    }

    /// The program stores `bytes` at `range` of the line.
    #[inline]
    pub fn store(&mut self, line: LineAddr, range: Range<usize>, bytes: &[u8]) {
        if self.persisted.is_some() {
            remember_before(self, line);
        }
        let place = match self.known.place(line) {
            Some(place) => place,
            None => {
                // A forgotten line waits for its other bytes, unless it holds zeros.
                let known = if self.content(line).is_some() { WHOLE } else { 0 };
                self.add(Entry { bytes: ZERO_LINE, line, known, ahead: true })
            }
        };
        let entry = &mut self.entries[place];
        if !self.known.is_in_memory(line) {
            self.before_stores.entry(line).or_insert(entry.bytes);
        }
        entry.known |= mask(&range);
        entry.ahead = true;
        entry.bytes[range].copy_from_slice(bytes);
    }

    /// The content of a line, if the shadow has all of it, or knows that it holds zeros.
    pub fn content(&self, line: LineAddr) -> Option<Line> {
        let Some(place) = self.known.place(line) else {
            return (self.known.went_down_as(line, &ZERO_LINE) != Some(false)).then_some(ZERO_LINE);
        };
        let entry = &self.entries[place];
        (entry.known == WHOLE).then_some(entry.bytes)
    }

    /// The order of accesses to lines, if loads are compared.
    pub fn load_order(&self) -> Option<&LoadOrder> {
        self.loads.as_ref()
    }

    /// The plaintext of a line that goes to memory now. From here on memory has to return it. Bytes that the feed never
    /// gave are zero.
    pub fn put(&mut self, line: LineAddr) -> Line {
        let accepted = self.persisted.as_mut().and_then(|persisted| persisted.written_back(line));
        let content = self.settle(line, accepted);
        self.predictability.written_back(&content);
        content
    }

    /// Memory has a line from now on, as all stores have made it, or those that were accepted.
    fn settle(&mut self, line: LineAddr, accepted: Option<Line>) -> Line {
        if !self.corrected.is_empty() {
            self.corrected.remove(&line);
        }
        if !self.before_stores.is_empty() {
            self.before_stores.remove(&line);
        }
        let content = match self.known.place(line) {
            Some(place) => {
                let entry = &mut self.entries[place];
                entry.known = WHOLE;
                // Stores that were not accepted are not written back.
                let content = accepted.unwrap_or(entry.bytes);
                entry.ahead = content != entry.bytes;
                content
            }
            None => ZERO_LINE,
        };
        self.known.goes_down(line, &content);
        content
    }

    /// The plaintext of a line that memory is asked for although it was never put there: its content before the program's
    /// first store to it.
    pub fn start_up(&mut self, line: LineAddr) -> Line {
        let place = self.known.place(line);
        if place.is_none() && !self.knows_pages {
            self.guessed.insert(line);
            self.log.iter_mut().for_each(|log| log.guessed(line));
        }
        let before = self.before_stores.remove(&line);
        // A persist buffer may have accepted stores already: memory has those, and not the ones that wait.
        let accepted = self.persisted.as_ref().and_then(|persisted| persisted.content(line));
        let Some(content) = accepted.or(before) else { return self.settle(line, None) };
        if let Some(place) = place {
            let entry = &mut self.entries[place];
            (entry.known, entry.ahead) = (WHOLE, entry.bytes != content);
        }
        self.known.goes_down(line, &content);
        content
    }

    /// Memory returned a line: it is compared with what was put, and remembered, but for what was stored meanwhile.
    pub fn returned(&mut self, line: LineAddr, content: &Line) {
        self.known.comes_up(line, content);
        self.predictability.filled(content);
        if let Some(persisted) = &mut self.persisted {
            persisted.filled(line, content);
        }
        let Some(place) = self.known.place(line) else {
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
        self.entries.held() > self.crowded_from && self.loads.is_none()
    }

    /// Forgets what memory has too, except lines that are on the chip.
    pub fn forget(&mut self, on_chip: impl Fn(LineAddr) -> bool) {
        // From the end, so that the places are taken again from the beginning.
        for place in (0..self.entries.len()).rev() {
            if let Some(next) = place.checked_sub(FORGOTTEN_AHEAD) {
                self.known.look_ahead(self.entries[next].line);
            }
            let entry = &mut self.entries[place];
            if entry.known != 0 && !entry.ahead && !on_chip(entry.line) {
                entry.known = 0;
                self.known.set_place(entry.line, None);
                self.entries.free(place);
            }
        }
        self.crowded_from = (self.entries.held() + self.entries.held() / 2).max(FEW_LINES);
    }

    /// Lines whose content memory once had, and that have another one now, because they were written to.
    pub fn newer_than_memory(&self) -> impl Iterator<Item = LineAddr> + '_ {
        let ahead = self.entries.iter().filter(|entry| entry.known == WHOLE && entry.ahead);
        let written = ahead.filter(|entry| !self.corrected.contains(&entry.line));
        written.filter(|entry| self.known.went_down_as(entry.line, &entry.bytes) == Some(false)).map(|entry| entry.line)
    }

    /// Asks the host for what is known of a line.
    pub fn look_ahead(&self, line: LineAddr) {
        self.known.look_ahead(line);
    }

    /// What the observer has seen.
    pub fn observed(&self) -> ObserverCounters {
        self.known.observed()
    }

    /// What the tables of frequent values would have predicted.
    pub fn predicted(&self) -> Predictions {
        self.predictability.seen()
    }

    /// Bytes of this process that the lines, their places and the fingerprints take.
    pub fn footprint_bytes(&self) -> u64 {
        self.entries.footprint_bytes() + self.known.footprint_bytes()
    }

    fn add(&mut self, entry: Entry) -> usize {
        let line = entry.line;
        let place = self.entries.add(entry);
        self.known.set_place(line, Some(place));
        place
    }
}

fn mask(range: &Range<usize>) -> u64 {
    (u64::MAX >> (u64::BITS as usize - range.len())) << range.start
}
