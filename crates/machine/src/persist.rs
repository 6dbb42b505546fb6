//! A buffer of lines that survives a loss of power on a battery: which lines it has, in which order they leave, and when.
//!
//! The persist buffer of BBB (HPCA 2021) and SecPB (HPCA 2023, section IV-B): an entry is a line, allocated by the first store
//! to it; later stores to the line go into the same entry. When as many entries as the upper watermark says are occupied,
//! the buffer drains down to the lower one. The paper gives three quarters for the upper one and leaves open the lower one and
//! which entry goes first; here the one that was allocated first does, because entries then leave in the order in which
//! their first stores came.
//!
//! Of several cores each has its own, and a line has an entry in one of them at most (section IV-C). A remote read flushes
//! the entry, and a remote write moves it into the buffer of the core that writes.
//!
//! This is the structure alone, without bytes and without time. A core has one ([`crate::node`]), and a campaign that cuts the
//! power asks the same one.

use crate::rule::rule;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use units::LineAddr;

/// How many entries a persist buffer has, and when it drains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PersistBufferConfig {
    /// Lines that it has room for.
    pub entries: u32,
    /// It begins to drain when so many entries are occupied, not counting those that are leaving.
    pub drain_from: u32,
    /// It stops when so many are left.
    pub drain_to: u32,
}

impl PersistBufferConfig {
    /// With watermarks as fractions of its entries: the upper one is rounded up and is at least one entry, the lower one is
    /// rounded down and is less than the upper one.
    ///
    /// # Errors
    /// The first rule broken, with the values that break it.
    pub fn of_fractions(entries: u32, drain_from: f64, drain_to: f64) -> Result<PersistBufferConfig, String> {
        for (key, found) in [("drain_from", drain_from), ("drain_to", drain_to)] {
            rule((0.0..=1.0).contains(&found), || format!("{key} is {found}: expected a fraction from 0 to 1"))?;
        }
        rule(drain_to < drain_from, || {
            format!("drain_to is {drain_to}: expected less than the {drain_from} of drain_from")
        })?;
        // 0.55 of 100 is a little more than 55 in binary.
        const INEXACT: f64 = 1e-9;
        let of = |fraction: f64| fraction * f64::from(entries);
        let from = ((of(drain_from) - INEXACT).ceil() as u32).max(1);
        let to = ((of(drain_to) + INEXACT).floor() as u32).min(from - 1);
        let config = PersistBufferConfig { entries, drain_from: from, drain_to: to };
        config.check()?;
        Ok(config)
    }

    /// One whose entries each take one store, and leave at once.
    pub fn leaving_at_once(entries: u32) -> PersistBufferConfig {
        PersistBufferConfig { entries, drain_from: 1, drain_to: 0 }
    }

    /// Whether entries leave as soon as they are allocated.
    pub fn leaves_at_once(&self) -> bool {
        *self == PersistBufferConfig::leaving_at_once(self.entries)
    }

    /// Whether there can be such a buffer.
    ///
    /// # Errors
    /// The first rule broken, with the values that break it.
    pub fn check(&self) -> Result<(), String> {
        let PersistBufferConfig { entries, drain_from, drain_to } = *self;
        rule(entries > 0, || format!("entries is {entries}: expected at least 1"))?;
        rule((1..=entries).contains(&drain_from), || {
            format!("drain_from is {drain_from}: expected 1 to the {entries} of entries")
        })?;
        rule(drain_to < drain_from, || {
            format!("drain_to is {drain_to}: expected less than the {drain_from} of drain_from")
        })
    }
}

/// What a store finds in the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finds {
    /// An entry of its line, which it goes into.
    Resident,
    /// Room for a new entry of its line, which it has allocated.
    Allocated,
    /// No entry of its line and no room for one: it has to come again when an entry has left.
    Full,
    /// An entry of its line that is leaving and takes no more stores: it has to come again when that has left.
    Leaving,
}

/// How far an entry has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// It takes stores.
    Resident,
    /// It was chosen to be drained, and keeps its room until it has left.
    Leaving,
}

/// The entries of a persist buffer.
#[derive(Clone, Debug)]
pub struct PersistBuffer {
    config: PersistBufferConfig,
    stages: FxHashMap<LineAddr, Stage>,
    /// Lines of the entries that are not leaving, in the order of their allocation.
    resident: VecDeque<LineAddr>,
    draining: bool,
}

impl PersistBuffer {
    /// An empty buffer.
    ///
    /// # Panics
    /// If the configuration does not pass its own [`PersistBufferConfig::check`].
    pub fn new(config: PersistBufferConfig) -> PersistBuffer {
        if let Err(broken) = config.check() {
            panic!("a persist buffer was built from an unchecked configuration: {broken}");
        }
        PersistBuffer { config, stages: FxHashMap::default(), resident: VecDeque::new(), draining: false }
    }

    /// A store to a line comes. It has gone into an entry if it finds one or room for one.
    pub fn store(&mut self, line: LineAddr) -> Finds {
        let is_full = self.len() == self.config.entries as usize;
        match self.stages.entry(line) {
            Entry::Occupied(entry) if *entry.get() == Stage::Leaving => Finds::Leaving,
            Entry::Occupied(_) => Finds::Resident,
            Entry::Vacant(_) if is_full => Finds::Full,
            Entry::Vacant(entry) => {
                entry.insert(Stage::Resident);
                self.resident.push_back(line);
                self.draining |= self.resident.len() >= self.config.drain_from as usize;
                Finds::Allocated
            }
        }
    }

    /// The entry that leaves next, if any has to: from now on it is leaving, until [`PersistBuffer::left`]. To be asked
    /// after every allocation, until there is none.
    pub fn next_to_drain(&mut self) -> Option<LineAddr> {
        self.draining &= self.resident.len() > self.config.drain_to as usize;
        let line = if self.draining { self.resident.pop_front() } else { None }?;
        self.stages.insert(line, Stage::Leaving);
        Some(line)
    }

    /// The entry of a line that was leaving has left.
    ///
    /// # Panics
    /// If it was not leaving.
    pub fn left(&mut self, line: LineAddr) {
        let stage = self.stages.remove(&line);
        assert_eq!(stage, Some(Stage::Leaving), "{line} left the persist buffer");
    }

    /// Another core reads the line, so its entry has to leave now: from here on it is leaving, until [`PersistBuffer::left`].
    /// Whether there was an entry that was not.
    pub fn flush(&mut self, line: LineAddr) -> bool {
        let is_resident = self.take_out(line);
        if is_resident {
            self.stages.insert(line, Stage::Leaving);
        }
        is_resident
    }

    /// Another core writes the line, and its buffer takes the entry over: this one has none any more. Whether there was an
    /// entry that was not leaving.
    pub fn give_up(&mut self, line: LineAddr) -> bool {
        let is_resident = self.take_out(line);
        if is_resident {
            self.stages.remove(&line);
        }
        is_resident
    }

    /// Takes an entry out of those that are not leaving; whether it was among them.
    fn take_out(&mut self, line: LineAddr) -> bool {
        let place = self.resident.iter().position(|resident| *resident == line);
        place.and_then(|place| self.resident.remove(place)).is_some()
    }

    /// Lines of the entries that are not leaving, in the order of their allocation.
    pub fn resident(&self) -> impl Iterator<Item = LineAddr> + '_ {
        self.resident.iter().copied()
    }

    /// Whether there is an entry of a line, be it that it is leaving.
    pub fn occupies(&self, line: LineAddr) -> bool {
        self.stages.contains_key(&line)
    }

    /// How many entries are occupied, with those that are leaving.
    pub fn len(&self) -> usize {
        self.stages.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }
}

#[cfg(test)]
mod tests;
