//! Keeps the content of lines after all stores in program order: for lines on the chip, and for lines that memory
//! lacks.
//!
//! Caches in this simulator keep tags only, so one component must know the plaintext of lines on the chip: the
//! *shadow*. The feed passes lines and stores to the shadow in program order, before the simulated clock reaches them.
//! A dirty line that leaves the chip takes its content from the shadow. The shadow checks a line that memory returns,
//! and stores its content again.
//!
//! The shadow drops (forgets) a line that is not on the chip, once memory has its content. A real system then has only
//! the ciphertext, in memory. The observer additionally stores a fingerprint of the plaintext. The footprint of a
//! simulated program thus occupies host memory once, not twice. If a store hits a forgotten line, the shadow keeps only
//! the written bytes until memory returns the other bytes.
//!
//! A recording shows a line when the program first touches it. If a prefetcher reads the line earlier, memory boots
//! with zeros in its slot. These zeros are a guess, which the content that the recording shows later corrects. This
//! correction does not count as a change from outside, and the shadow keeps the line until it is written to memory.
//!
//! Memory boots with the content of a line before the program's first store, since that store may still be in a core's
//! window or in a cache. The shadow therefore keeps the original content from the first store to a line until memory
//! has the line.
//!
//! Several cores have one shadow, and their stores reach it in the order in which the cores execute.

mod entries;
mod known;
pub(crate) mod persisted;
#[cfg(test)]
mod tests;

use crate::load_values::order::LoadOrder;
use crate::predictability::Predictability;
use crate::store_log::StoreLog;
use entries::{ShadowEntries, ShadowEntry};
use known::KnownLines;
use machine::observer::ObserverCounts;
use persisted::{Persisted, remember_before};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use units::{LINE_BYTES, Line, LineAddr, ZERO_LINE};

/// Mask for a line with all bytes known.
const WHOLE: u64 = u64::MAX;
/// Number of lines up to which the shadow forgets no line.
const FEW_LINES: usize = 1 << 15;
/// Distance, in lines, at which `forget` prefetches table entries into the host's caches.
const HOST_PREFETCH_DISTANCE: usize = 8;

/// Content of the lines on the chip and on their way to or from it, and the observer of all other lines.
pub struct Shadow {
    known: KnownLines,
    pub(crate) entries: ShadowEntries,
    predictability: Predictability,
    /// Lines that memory booted with before their content was known.
    guessed: FxHashSet<LineAddr>,
    /// Guessed lines with content that is known now, but that memory still has as guessed.
    corrected: FxHashSet<LineAddr>,
    /// Contents before the first store, of lines that memory does not have yet.
    before_stores: FxHashMap<LineAddr, Line>,
    /// True if the recording shows pages with their content: lines that the recording did not send then contain zeros,
    /// and these zeros are not a guess.
    pub(crate) knows_pages: bool,
    /// Number of lines above which the shadow should forget some lines.
    crowded_from: usize,
    /// Order of accesses to lines, if loads are compared; the shadow then forgets no line.
    pub(crate) loads: Option<LoadOrder>,
    /// Stores that wait for acceptance by persist buffers or caches, if the machine has them.
    pub(crate) persisted: Option<Persisted>,
    /// Independent account of stores, with which the memory after a loss of power is judged, if there is one.
    pub(crate) log: Option<Box<StoreLog>>,
}

impl Shadow {
    /// Creates the shadow of a memory of `lines` lines.
    pub fn new(lines: u64) -> Shadow {
        Shadow {
            known: KnownLines::new(lines),
            entries: ShadowEntries::default(),
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

    /// Adds one table of frequent values per size in `tables`, which watch lines to and from memory. If
    /// `compares_loads` is true, also adds the comparison of loaded values with the shadow.
    #[must_use]
    pub fn observing(self, tables: &[usize], compares_loads: bool) -> Shadow {
        let loads = compares_loads.then(LoadOrder::default);
        Shadow { predictability: Predictability::of(tables), loads, ..self }
    }

    /// Adds an account of stores, with which the memory after a loss of power is judged.
    #[must_use]
    pub fn logged(self, log: StoreLog) -> Shadow {
        Shadow { log: Some(Box::new(log)), ..self }
    }

    /// The account of stores, if there is one.
    pub fn log(&self) -> Option<&StoreLog> {
        self.log.as_deref()
    }

    /// Notes the content that the program sees. Returns true if the content was changed from outside and not by stores
    /// of the program.
    ///
    /// If the shadow knows only the stored bytes of the line, the content replaces these bytes and counts as the result
    /// of the program's stores.
    pub fn show(&mut self, line: LineAddr, content: &Line) -> bool {
        let guessed = !self.guessed.is_empty() && self.guessed.remove(&line);
        if guessed {
            self.corrected.insert(line);
        }
        let Some(index) = self.known.index(line) else {
            if self.knows_pages && *content == ZERO_LINE && !self.known.is_in_memory(line) {
                return false;
            }
            let same = self.known.went_down_as(line, content);
            if same != Some(true) || self.loads.is_some() {
                self.add(ShadowEntry { bytes: *content, line, known: WHOLE, unwritten: same != Some(true) });
            }
            return same == Some(false) && !guessed;
        };
        if let Some(before) = self.before_stores.get_mut(&line) {
            *before = *content;
        }
        let entry = &mut self.entries[index];
        let changed = entry.known == WHOLE && entry.bytes != *content;
        entry.unwritten |= changed;
        (entry.bytes, entry.known) = (*content, WHOLE);
        changed && !guessed
    }

    /// Applies a store of `bytes` at `range` of the line.
    #[inline]
    pub fn store(&mut self, line: LineAddr, range: Range<usize>, bytes: &[u8]) {
        if self.persisted.is_some() {
            remember_before(self, line);
        }
        let index = match self.known.index(line) {
            Some(index) => index,
            None => {
                // The other bytes of a forgotten line arrive later from memory, unless the line contains zeros.
                let known = if self.content(line).is_some() { WHOLE } else { 0 };
                self.add(ShadowEntry { bytes: ZERO_LINE, line, known, unwritten: true })
            }
        };
        let entry = &mut self.entries[index];
        if !self.known.is_in_memory(line) {
            self.before_stores.entry(line).or_insert(entry.bytes);
        }
        entry.known |= mask(&range);
        entry.unwritten = true;
        entry.bytes[range].copy_from_slice(bytes);
    }

    /// Content of a line, if the shadow knows all of it, or knows that it holds zeros.
    pub fn content(&self, line: LineAddr) -> Option<Line> {
        let Some(index) = self.known.index(line) else {
            return (self.known.went_down_as(line, &ZERO_LINE) != Some(false)).then_some(ZERO_LINE);
        };
        let entry = &self.entries[index];
        (entry.known == WHOLE).then_some(entry.bytes)
    }

    /// Order of accesses to lines, if loads are compared.
    pub fn load_order(&self) -> Option<&LoadOrder> {
        self.loads.as_ref()
    }

    /// Returns the plaintext of a line that is written to memory now. Memory must return it from here on. Bytes that
    /// the feed never passed are zero.
    pub fn put(&mut self, line: LineAddr) -> Line {
        let accepted = self.persisted.as_mut().and_then(|persisted| persisted.written_back(line));
        let content = self.settle(line, accepted);
        self.predictability.written_back(&content);
        content
    }

    /// Notes that memory has a line from now on: with the content `accepted` if it is given, otherwise with all stores.
    fn settle(&mut self, line: LineAddr, accepted: Option<Line>) -> Line {
        if !self.corrected.is_empty() {
            self.corrected.remove(&line);
        }
        if !self.before_stores.is_empty() {
            self.before_stores.remove(&line);
        }
        let content = match self.known.index(line) {
            Some(index) => {
                let entry = &mut self.entries[index];
                entry.known = WHOLE;
                // Stores that no persist buffer or cache has accepted are not written back.
                let content = accepted.unwrap_or(entry.bytes);
                entry.unwritten = content != entry.bytes;
                content
            }
            None => ZERO_LINE,
        };
        self.known.goes_down(line, &content);
        content
    }

    /// Returns the plaintext with which memory boots a line that was never written to it: the content before the
    /// program's first store.
    pub fn start_up(&mut self, line: LineAddr) -> Line {
        let index = self.known.index(line);
        if index.is_none() && !self.knows_pages {
            self.guessed.insert(line);
            self.log.iter_mut().for_each(|log| log.in_memory.guessed(line));
        }
        let before = self.before_stores.remove(&line);
        // A persist buffer may already have accepted some stores: memory boots with those stores and without the
        // waiting stores.
        let accepted = self.persisted.as_ref().and_then(|persisted| persisted.content(line));
        let Some(content) = accepted.or(before) else { return self.settle(line, None) };
        if let Some(index) = index {
            let entry = &mut self.entries[index];
            (entry.known, entry.unwritten) = (WHOLE, entry.bytes != content);
        }
        self.known.goes_down(line, &content);
        content
    }

    /// Compares a line that memory returned with the line as written. Stores its content, except for bytes that the
    /// program has since stored to.
    pub fn returned(&mut self, line: LineAddr, content: &Line) {
        self.known.comes_up(line, content);
        self.log.iter_mut().for_each(|log| log.in_memory.returned(line));
        self.predictability.filled(content);
        if let Some(persisted) = &mut self.persisted {
            persisted.filled(line, content);
        }
        let Some(index) = self.known.index(line) else {
            self.add(ShadowEntry { bytes: *content, line, known: WHOLE, unwritten: false });
            return;
        };
        let ShadowEntry { bytes, known, .. } = &mut self.entries[index];
        if *known != WHOLE {
            let unknown = (0..LINE_BYTES).filter(|byte| *known >> byte & 1 == 0);
            unknown.for_each(|byte| bytes[byte] = content[byte]);
            *known = WHOLE;
        }
    }

    /// True if the shadow should forget lines.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.entries.held() > self.crowded_from && self.loads.is_none()
    }

    /// Forgets lines of [`ShadowEntries::written_lines`] that are not on the chip. In the order of that list, new lines reuse
    /// low indices first.
    pub fn forget(&mut self, lines: &[LineAddr]) {
        for (position, line) in lines.iter().enumerate() {
            if let Some(next) = lines.get(position + HOST_PREFETCH_DISTANCE) {
                self.known.prefetch_host(*next);
            }
            let Some(index) = self.known.index(*line) else { continue };
            self.entries[index].known = 0;
            self.known.set_index(*line, None);
            self.entries.free(index);
        }
        self.crowded_from = (self.entries.held() + self.entries.held() / 2).max(FEW_LINES);
    }

    /// Lines with stores of the program that are newer than the content in memory.
    pub fn newer_than_memory(&self) -> impl Iterator<Item = LineAddr> + '_ {
        let unwritten = self.entries.iter().filter(|entry| entry.known == WHOLE && entry.unwritten);
        let written = unwritten.filter(|entry| !self.corrected.contains(&entry.line));
        written.filter(|entry| self.known.went_down_as(entry.line, &entry.bytes) == Some(false)).map(|entry| entry.line)
    }

    /// Prefetches the table entry of a line into the host's caches.
    pub fn prefetch_host(&self, line: LineAddr) {
        self.known.prefetch_host(line);
    }

    /// Statistics of the observer.
    pub fn observed(&self) -> ObserverCounts {
        self.known.observed()
    }

    /// The tables of frequent values that watch lines to and from memory.
    pub fn predictability(&self) -> &Predictability {
        &self.predictability
    }

    /// Bytes of host memory that the lines, their indices and the fingerprints occupy.
    pub fn footprint_bytes(&self) -> u64 {
        self.entries.footprint_bytes() + self.known.footprint_bytes()
    }

    fn add(&mut self, entry: ShadowEntry) -> usize {
        let line = entry.line;
        let index = self.entries.add(entry);
        self.known.set_index(line, Some(index));
        index
    }
}

fn mask(range: &Range<usize>) -> u64 {
    (u64::MAX >> (u64::BITS as usize - range.len())) << range.start
}
