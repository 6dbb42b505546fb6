//! The verdict: compares the recovered memory with the account of stores.

use super::Moment;
use super::battery::SurvivingMemory;
use super::prefix::{Fit, first_without};
use super::recovery::Recovered;
use crate::run::RunError;
use chip::store_log::{CertainContent, Store, StoreLog, Surviving};
use protection::design::Parts;
use protection::verbs::Fault;
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use units::random::Random;
use units::{Line, LineAddr, Time, ZERO_LINE};
use workload::Persistent;

/// Number of mismatches to list; further mismatches are only counted.
pub(super) const LISTED_MAX: usize = 20;
/// Number of stores in the second session.
const STORES_AFTER: usize = 64;
/// Separates the random stores of the second session from all other draws of the same seed.
const AFTER: u64 = 0x0af7_e400;

/// A kind of mismatch: of one line, of the whole memory, or in the acceptance of stores.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wrong {
    /// Recovery reported a fault, so the whole memory is refused.
    MemoryRefused(String),
    /// The chip does not release the line, although no attacker tampered with it.
    Refused,
    /// A byte of the line is wrong.
    Byte {
        /// Offset of the first wrong byte in the line.
        offset: usize,
        /// Value of the byte according to the account.
        expected: u8,
        /// Value of the byte in memory.
        found: u8,
    },
    /// Memory contains a store, but not an earlier store of the same core.
    Overtaken,
    /// The machine reported tampering, although there was no attacker.
    FalseAlarm(String),
    /// A store reached the point at which stores are accepted (buffer, cache or controller), but was never accepted.
    NeverAccepted,
    /// A store was accepted before an earlier store of its program.
    AcceptedEarly,
}

impl Display for Wrong {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::MemoryRefused(fault) => write!(f, "recovery refused the memory: {fault}"),
            Wrong::Refused => f.write_str("the line is refused"),
            Wrong::Byte { offset, expected, found } => {
                write!(f, "byte {offset} is {found:#04x}: expected {expected:#04x}")
            }
            Wrong::Overtaken => f.write_str("memory contains it, but not an earlier store"),
            Wrong::FalseAlarm(fault) => write!(f, "the machine reported tampering without an attacker: {fault}"),
            Wrong::NeverAccepted => f.write_str("its core continued, but it was never accepted"),
            Wrong::AcceptedEarly => f.write_str("it was accepted before an earlier store"),
        }
    }
}

/// A line that is wrong after a loss of power.
#[derive(Clone, Debug, Serialize)]
pub struct Mismatch {
    /// Number of losses of power so far, including this one.
    pub session: u32,
    /// Number of the line; absent if the mismatch is not about a single line.
    pub line: Option<u64>,
    /// Number of the latest store that should be in memory, in the program of its core, counted from 0.
    pub store: Option<u64>,
    /// Core that executed the store.
    pub core: Option<usize>,
    /// Address of the store instruction.
    pub pc: Option<u64>,
    /// Address to which the store wrote.
    pub address: Option<u64>,
    /// Kind of the mismatch, with its values.
    pub wrong: Wrong,
    /// The mismatch in words.
    pub words: String,
}

impl Mismatch {
    pub(super) fn new(session: u32, line: Option<LineAddr>, store: Option<&Store>, wrong: Wrong) -> Mismatch {
        let words = wrong.to_string();
        Mismatch {
            session,
            line: line.map(|line| line.0),
            store: store.map(|store| store.number),
            core: store.map(|store| store.core),
            pc: store.map(|store| store.pc.0),
            address: store.map(|store| store.address.0),
            wrong,
            words,
        }
    }
}

/// All mismatches, and the numbers of compared and wrong lines.
pub(super) struct Judged {
    pub lines_compared: usize,
    pub wrong: usize,
    pub mismatches: Vec<Mismatch>,
    pub pad_used_twice: bool,
}

/// Compares memory with the account, and collects mismatches.
pub(super) struct Judge<'a> {
    parts: &'a Parts,
    log: &'a StoreLog,
    persistent: Persistent,
    judged: Judged,
    /// Content of the lines that were read after the first session.
    found: Vec<(LineAddr, Line)>,
}

impl<'a> Judge<'a> {
    /// A judge that has compared no line yet.
    pub fn new(parts: &'a Parts, log: &'a StoreLog, persistent: Persistent) -> Judge<'a> {
        let judged = Judged { lines_compared: 0, wrong: 0, mismatches: Vec::new(), pad_used_twice: false };
        Judge { parts, log, persistent, judged, found: Vec::new() }
    }

    /// Returns the mismatches and counts of all comparisons.
    pub fn end(self) -> Judged {
        self.judged
    }

    fn add(&mut self, mismatch: Mismatch) {
        self.judged.wrong += 1;
        if self.judged.mismatches.len() < LISTED_MAX {
            self.judged.mismatches.push(mismatch);
        }
    }

    /// Checks that the machine has reported no tampering.
    pub fn alarm(&mut self, fault: Option<Fault>) {
        if let Some(fault) = fault {
            self.add(Mismatch::new(1, None, None, Wrong::FalseAlarm(fault.to_string())));
        }
    }

    /// Checks that stores were accepted in order, and that all stores that had reached their point of acceptance before
    /// the loss were accepted. If the programs had ended, all their stores must be accepted.
    pub fn acceptance(&mut self, at: Moment) {
        let log = self.log;
        for store in log.overtaking() {
            self.add(Mismatch::new(1, Some(store.line), Some(store), Wrong::AcceptedEarly));
        }
        let never_accepted: Vec<&Store> = if at.ended {
            log.not_accepted().collect()
        } else if self.parts.persistence.has_battery() {
            log.left_out(Time::from_fs(at.time_fs)).collect()
        } else {
            Vec::new()
        };
        for store in never_accepted {
            self.add(Mismatch::new(1, Some(store.line), Some(store), Wrong::NeverAccepted));
        }
    }

    /// Compares the memory after the first recovery.
    pub fn first_session(&mut self, recovered: &Recovered) {
        if let Some(fault) = recovered.fault {
            self.add(Mismatch::new(1, None, None, Wrong::MemoryRefused(fault.to_string())));
            return;
        }
        let mut fits = Vec::new();
        let mut there = vec![0; self.log.counts().count()];
        for (line, surviving) in self.log.surviving() {
            if let Some(last) = surviving.held.last_shown() {
                there[last.core] = there[last.core].max(last.number + 1);
            }
            if self.persistent.is_all() || surviving.is_stored_to() || surviving.before.is_changed {
                fits.extend(self.line(recovered, line, surviving));
            }
        }
        if self.parts.persistence.takes_each_store()
            && let Some(index) = first_without(&fits, there)
        {
            let store = fits[index].stores.last().cloned();
            let line = store.as_ref().map(|store| store.line);
            self.add(Mismatch::new(1, line, store.as_ref(), Wrong::Overtaken));
        }
        self.judged.pad_used_twice |= recovered.has_used_a_pad_twice();
    }

    /// Compares one line. Returns the stores under way to the line, with the numbers of these stores that match its
    /// content.
    fn line(&mut self, recovered: &Recovered, line: LineAddr, surviving: Surviving) -> Option<Fit> {
        let Surviving { held, under_way: stores, from_outside, before } = surviving;
        if recovered.is_blank(line) && held.last().is_none() && !before.is_there {
            return Some(Fit { stores, counts: vec![0] });
        }
        self.judged.lines_compared += 1;
        let Some(found) = recovered.read(line) else {
            self.add(Mismatch::new(1, Some(line), held.last(), Wrong::Refused));
            return None;
        };
        self.found.push((line, found));
        let counts = counts_that_fit(&held, (&stores, &from_outside), &found);
        if counts.is_empty() && held.last().is_none() && found == ZERO_LINE && before.is_guessed {
            // A simulated prefetcher read the line before the recording showed its content, so memory booted with
            // zeros. The program has never seen these zeros, so they are not an error of the design.
            return Some(Fit { stores, counts: vec![0] });
        }
        if counts.is_empty() {
            let newest = with(&held, stores.iter().chain(&from_outside));
            let (offset, expected) = newest.first_wrong(&found).unwrap_or((0, found[0]));
            let wrong = Wrong::Byte { offset, expected, found: found[offset] };
            self.add(Mismatch::new(1, Some(line), newest.last(), wrong));
            return None;
        }
        Some(Fit { stores, counts })
    }

    /// Continues the recovered machine: it executes more stores, power fails again, `recover` switches a fresh chip on,
    /// and the judge compares the memory once more.
    ///
    /// # Errors
    /// The errors of [`Recovered::of`].
    pub fn second_session(
        &mut self,
        seed: u64,
        recovered: &Recovered,
        recover: impl FnOnce(&SurvivingMemory) -> Result<Recovered, RunError>,
    ) -> Result<(), RunError> {
        if recovered.fault.is_some() {
            return Ok(());
        }
        let mut random = Random::new(seed ^ AFTER);
        let mut expected = std::mem::take(&mut self.found);
        let mut stores = Vec::new();
        for _ in 0..STORES_AFTER.min(expected.len()) {
            let index = random.below(expected.len() as u64) as usize;
            expected[index].1 = random.line();
            stores.push(expected[index]);
        }
        let again = recover(&recovered.goes_on(self.parts, &stores))?;
        if let Some(fault) = again.fault {
            self.add(Mismatch::new(2, None, None, Wrong::MemoryRefused(fault.to_string())));
        }
        for (line, expected) in expected {
            self.judged.lines_compared += 1;
            let wrong = match again.read(line) {
                None => Wrong::Refused,
                Some(found) => match (0..found.len()).find(|index| found[*index] != expected[*index]) {
                    None => continue,
                    Some(offset) => Wrong::Byte { offset, expected: expected[offset], found: found[offset] },
                },
            };
            self.add(Mismatch::new(2, Some(line), None, wrong));
        }
        self.judged.pad_used_twice |= again.has_used_a_pad_twice();
        Ok(())
    }
}

/// The values of n for which `found` is the content of the line after its first n stores under way, with any number of
/// the changes from outside. The time grows with the number of stores: each store is applied once to the content of each
/// number of changes. The order of application does not matter, because the latest change of a byte wins.
fn counts_that_fit(held: &CertainContent, (stores, from_outside): (&[Store], &[Store]), found: &Line) -> Vec<usize> {
    let mut contents = vec![held.clone()];
    for change in from_outside {
        contents.push(with(contents.last().unwrap_or(held), [change]));
    }
    let fits = |contents: &[CertainContent]| contents.iter().any(|content| content.fits(found));
    let mut counts = Vec::new();
    counts.extend(fits(&contents).then_some(0));
    for (index, store) in stores.iter().enumerate() {
        contents.iter_mut().for_each(|content| content.take(store));
        counts.extend(fits(&contents).then_some(index + 1));
    }
    counts
}

/// The certain content of the line after these further stores.
fn with<'a>(held: &CertainContent, stores: impl IntoIterator<Item = &'a Store>) -> CertainContent {
    let mut held = held.clone();
    stores.into_iter().for_each(|store| held.take(store));
    held
}
