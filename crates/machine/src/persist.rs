//! A battery-backed buffer of lines that survives a loss of power: its entries, and the times and the order of their
//! drains.
//!
//! This is the persist buffer of BBB (HPCA 2021) and SecPB (HPCA 2023, section IV-B). An entry contains a line and is
//! allocated by the first store to it; later stores to the line enter the same entry. When the number of occupied
//! entries reaches the upper watermark, the buffer drains down to the lower watermark. The SecPB paper sets the upper
//! watermark to three quarters of the entries. It does not define the lower watermark and the order of draining. This
//! model drains the oldest allocation first, so that entries leave in the order of their first stores.
//!
//! Each core has a separate buffer, and a line has an entry in at most one of them (section IV-C). A read of another
//! core flushes the entry. A write of another core moves the entry into the buffer of the writing core.
//!
//! The model contains only the structure, without bytes and time. Each core of the timed model ([`crate::node`])
//! contains one buffer, and the campaigns that simulate a loss of power use the same type.

use crate::rule::rule;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use units::LineAddr;

/// Number of entries of a persist buffer, and its watermarks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PersistBufferConfig {
    /// Capacity of the buffer, in lines.
    pub entries: u32,
    /// Upper watermark: number of occupied entries, without those that are leaving, at which draining begins.
    pub drain_from: u32,
    /// Lower watermark: remaining entries at which draining stops.
    pub drain_to: u32,
}

impl PersistBufferConfig {
    /// Creates a configuration with watermarks as fractions of its entries. The upper watermark is rounded up and is at
    /// least one entry. The lower watermark is rounded down and is less than the upper one.
    ///
    /// # Errors
    /// The first rule broken, with the values that break it.
    pub fn of_fractions(entries: u32, drain_from: f64, drain_to: f64) -> Result<PersistBufferConfig, String> {
        for (key, found) in [("drain_from", drain_from), ("drain_to", drain_to)] {
            rule((0.0..=1.0).contains(&found), || format!("{key} is {found}: expected a fraction from 0 to 1"))?;
        }
        rule(drain_to < drain_from, || {
            format!("drain_to is {drain_to}: expected less than drain_from, which is {drain_from}")
        })?;
        // In binary floating point, 0.55 times 100 is slightly more than 55.
        const INEXACT: f64 = 1e-9;
        let of = |fraction: f64| fraction * f64::from(entries);
        let from = ((of(drain_from) - INEXACT).ceil() as u32).max(1);
        let to = ((of(drain_to) + INEXACT).floor() as u32).min(from - 1);
        let config = PersistBufferConfig { entries, drain_from: from, drain_to: to };
        config.check()?;
        Ok(config)
    }

    /// Creates a configuration in which each entry receives one store and leaves at once.
    pub fn leaving_at_once(entries: u32) -> PersistBufferConfig {
        PersistBufferConfig { entries, drain_from: 1, drain_to: 0 }
    }

    /// Returns true if entries leave as soon as they are allocated.
    pub fn leaves_at_once(&self) -> bool {
        *self == PersistBufferConfig::leaving_at_once(self.entries)
    }

    /// Checks that the configuration is valid.
    ///
    /// # Errors
    /// The first rule broken, with the values that break it.
    pub fn check(&self) -> Result<(), String> {
        let PersistBufferConfig { entries, drain_from, drain_to } = *self;
        rule(entries > 0, || format!("entries is {entries}: expected at least 1"))?;
        rule((1..=entries).contains(&drain_from), || {
            format!("drain_from is {drain_from}: expected 1 to {entries} entries")
        })?;
        rule(drain_to < drain_from, || {
            format!("drain_to is {drain_to}: expected less than drain_from, which is {drain_from}")
        })
    }
}

/// Result of a store's look-up in the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finds {
    /// The line has an entry, which receives the store.
    Resident,
    /// The line had no entry; the store has allocated a new one.
    Allocated,
    /// The line has no entry and the buffer has no room: the store must retry when an entry has left.
    Full,
    /// The entry of the line is leaving and accepts no more stores: the store must retry when the entry has left.
    Leaving,
}

/// State of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PersistEntryState {
    /// The entry accepts stores.
    Resident,
    /// The entry was chosen for draining, and occupies its room until it has left.
    Leaving,
}

/// The entries of a persist buffer.
#[derive(Clone, Debug)]
pub struct PersistBuffer {
    config: PersistBufferConfig,
    stages: FxHashMap<LineAddr, PersistEntryState>,
    /// Lines of the entries that are not leaving, in the order of their allocation.
    resident: VecDeque<LineAddr>,
    draining: bool,
}

impl PersistBuffer {
    /// Creates an empty buffer.
    ///
    /// # Panics
    /// If the configuration does not pass [`PersistBufferConfig::check`].
    pub fn new(config: PersistBufferConfig) -> PersistBuffer {
        if let Err(broken) = config.check() {
            panic!("a persist buffer was built from an unchecked configuration: {broken}");
        }
        PersistBuffer { config, stages: FxHashMap::default(), resident: VecDeque::new(), draining: false }
    }

    /// Stores to a line: into its entry, or into a newly allocated entry if the buffer has room.
    pub fn store(&mut self, line: LineAddr) -> Finds {
        let is_full = self.len() == self.config.entries as usize;
        match self.stages.entry(line) {
            Entry::Occupied(entry) if *entry.get() == PersistEntryState::Leaving => Finds::Leaving,
            Entry::Occupied(_) => Finds::Resident,
            Entry::Vacant(_) if is_full => Finds::Full,
            Entry::Vacant(entry) => {
                entry.insert(PersistEntryState::Resident);
                self.resident.push_back(line);
                self.draining |= self.resident.len() >= self.config.drain_from as usize;
                Finds::Allocated
            }
        }
    }

    /// Chooses the next entry to drain, or `None` if no entry must drain. The chosen entry is leaving until
    /// [`PersistBuffer::left`]. Call this after every allocation, until it returns `None`.
    pub fn next_to_drain(&mut self) -> Option<LineAddr> {
        self.draining &= self.resident.len() > self.config.drain_to as usize;
        let line = if self.draining { self.resident.pop_front() } else { None }?;
        self.stages.insert(line, PersistEntryState::Leaving);
        Some(line)
    }

    /// Records that the leaving entry of a line has left.
    ///
    /// # Panics
    /// If the entry was not leaving.
    pub fn left(&mut self, line: LineAddr) {
        let stage = self.stages.remove(&line);
        assert_eq!(stage, Some(PersistEntryState::Leaving), "{line} left the persist buffer");
    }

    /// Starts the drain of the entry of a line that another core reads. The entry is leaving until
    /// [`PersistBuffer::left`]. Returns false if the line has no entry or it was leaving already.
    pub fn flush(&mut self, line: LineAddr) -> bool {
        let is_resident = self.take_out(line);
        if is_resident {
            self.stages.insert(line, PersistEntryState::Leaving);
        }
        is_resident
    }

    /// Removes the entry of a line that another core writes, since that core's buffer takes the entry over. Returns
    /// false if the line has no entry or the entry was leaving.
    pub fn give_up(&mut self, line: LineAddr) -> bool {
        let is_resident = self.take_out(line);
        if is_resident {
            self.stages.remove(&line);
        }
        is_resident
    }

    /// Removes an entry from those that are not leaving; returns false if the line has no entry of this kind.
    fn take_out(&mut self, line: LineAddr) -> bool {
        let index = self.resident.iter().position(|resident| *resident == line);
        index.and_then(|index| self.resident.remove(index)).is_some()
    }

    /// Returns the lines of the entries that are not leaving, in the order of their allocation.
    pub fn resident(&self) -> impl Iterator<Item = LineAddr> + '_ {
        self.resident.iter().copied()
    }

    /// Returns true if the line has an entry, even if it is leaving.
    pub fn occupies(&self, line: LineAddr) -> bool {
        self.stages.contains_key(&line)
    }

    /// Returns the number of occupied entries, including those that are leaving.
    pub fn len(&self) -> usize {
        self.stages.len()
    }

    /// Returns true if no entry is occupied.
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }
}

#[cfg(test)]
mod tests;
