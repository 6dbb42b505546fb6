//! What recovery has brought back, against the account of stores.

use super::Moment;
use super::prefix::{Fit, first_without};
use super::recovery::Recovered;
use crate::run::{RunError, RunOptions};
use chip::store_log::{Held, Store, StoreLog, Surviving};
use protection::design::Parts;
use protection::verbs::Fault;
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use units::random::Random;
use units::{Line, LineAddr, Time, ZERO_LINE};
use workload::Persistent;

/// How many mismatches are told one by one.
const TOLD: usize = 20;
/// Stores of the second session.
const STORES_AFTER: usize = 64;
/// Sets what the second session stores apart from everything else.
const AFTER: u64 = 0x0af7_e400;

/// What is wrong with a line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wrong {
    /// Recovery refused the whole memory.
    MemoryRefused(String),
    /// It is refused, though nobody has tampered.
    Refused,
    /// It holds something else.
    Byte {
        /// The first byte that is wrong.
        offset: usize,
        /// What it should be.
        expected: u8,
        /// What it is.
        found: u8,
    },
    /// A store is there, and one before it in the program of its core is not.
    Overtaken,
    /// The machine took something for tampering, and nobody has tampered.
    FalseAlarm(String),
    /// A store had come to where stores are accepted, and never was.
    NeverAccepted,
    /// A store was accepted before one that comes first in its program.
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
            Wrong::Overtaken => f.write_str("it is there, and a store before it is not"),
            Wrong::FalseAlarm(fault) => write!(f, "the machine alarmed, though nobody tampered: {fault}"),
            Wrong::NeverAccepted => f.write_str("its core went on, and it was never accepted"),
            Wrong::AcceptedEarly => f.write_str("it was accepted before one that comes first"),
        }
    }
}

/// A line that is wrong after a loss of power.
#[derive(Clone, Debug, Serialize)]
pub struct Mismatch {
    /// How many losses of power there had been, this one included.
    pub session: u32,
    /// The line; nothing if it is about no single line.
    pub line: Option<u64>,
    /// The latest store that should be there, by its number in the program of its core, counted from 0.
    pub store: Option<u64>,
    /// That core.
    pub core: Option<usize>,
    /// The address of the instruction that stored.
    pub pc: Option<u64>,
    /// The address that it stored to.
    pub address: Option<u64>,
    /// What is wrong, by name and with its values.
    pub wrong: Wrong,
    /// The same in words.
    pub words: String,
}

impl Mismatch {
    fn new(session: u32, line: Option<LineAddr>, store: Option<&Store>, wrong: Wrong) -> Mismatch {
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

/// All that was found.
pub(super) struct Judged {
    pub lines_compared: usize,
    pub wrong: usize,
    pub mismatches: Vec<Mismatch>,
    pub pad_used_twice: bool,
}

/// Compares, and keeps what it finds.
pub(super) struct Judge<'a> {
    parts: &'a Parts,
    log: &'a StoreLog,
    persistent: Persistent,
    judged: Judged,
    /// What lines held after the first session, as read.
    found: Vec<(LineAddr, Line)>,
}

impl<'a> Judge<'a> {
    /// Nothing is found so far.
    pub fn new(parts: &'a Parts, log: &'a StoreLog, persistent: Persistent) -> Judge<'a> {
        let judged = Judged { lines_compared: 0, wrong: 0, mismatches: Vec::new(), pad_used_twice: false };
        Judge { parts, log, persistent, judged, found: Vec::new() }
    }

    /// All that was found.
    pub fn end(self) -> Judged {
        self.judged
    }

    fn tell(&mut self, mismatch: Mismatch) {
        self.judged.wrong += 1;
        if self.judged.mismatches.len() < TOLD {
            self.judged.mismatches.push(mismatch);
        }
    }

    /// Whether the machine has taken something for tampering.
    pub fn alarm(&mut self, fault: Option<Fault>) {
        if let Some(fault) = fault {
            self.tell(Mismatch::new(1, None, None, Wrong::FalseAlarm(fault.to_string())));
        }
    }

    /// Whether stores were accepted in order, and all that had come when power failed; of programs that had ended, all.
    pub fn acceptance(&mut self, at: Moment) {
        let log = self.log;
        for store in log.overtaking() {
            self.tell(Mismatch::new(1, Some(store.line), Some(store), Wrong::AcceptedEarly));
        }
        let never_accepted: Vec<&Store> = if at.ended {
            log.not_accepted().collect()
        } else if self.parts.persistence.has_battery() {
            log.left_out(Time::from_fs(at.time_fs)).collect()
        } else {
            Vec::new()
        };
        for store in never_accepted {
            self.tell(Mismatch::new(1, Some(store.line), Some(store), Wrong::NeverAccepted));
        }
    }

    /// Compares what the first recovery has brought back.
    pub fn first_session(&mut self, recovered: &Recovered) {
        if let Some(fault) = recovered.fault {
            self.tell(Mismatch::new(1, None, None, Wrong::MemoryRefused(fault.to_string())));
            return;
        }
        let mut fits = Vec::new();
        let mut there = vec![0; self.log.counts().count()];
        for (line, surviving) in self.log.surviving() {
            if let Some(last) = surviving.held.last() {
                there[last.core] = there[last.core].max(last.number + 1);
            }
            if self.persistent.is_all() || surviving.is_stored_to() {
                fits.extend(self.line(recovered, line, surviving));
            }
        }
        if self.parts.persistence.takes_each_store()
            && let Some(place) = first_without(&fits, there)
        {
            let store = fits[place].stores.last().cloned();
            let line = store.as_ref().map(|store| store.line);
            self.tell(Mismatch::new(1, line, store.as_ref(), Wrong::Overtaken));
        }
        self.judged.pad_used_twice |= recovered.has_used_a_pad_twice();
    }

    /// Compares one line: which of the stores that were under way to it are there.
    fn line(&mut self, recovered: &Recovered, line: LineAddr, surviving: Surviving) -> Option<Fit> {
        let Surviving { held, under_way: stores, from_outside } = surviving;
        if recovered.is_blank(line) && held.last().is_none() {
            return Some(Fit { stores, counts: vec![0] });
        }
        self.judged.lines_compared += 1;
        let Some(found) = recovered.read(line) else {
            self.tell(Mismatch::new(1, Some(line), held.last(), Wrong::Refused));
            return None;
        };
        self.found.push((line, found));
        let counts = counts_that_fit(&held, (&stores, &from_outside), &found);
        if counts.is_empty() && held.last().is_none() && found == ZERO_LINE && self.log.was_guessed(line) {
            // A prefetcher was sooner than the recording: memory has zeros, of which the program has seen nothing.
            return Some(Fit { stores, counts: vec![0] });
        }
        if counts.is_empty() {
            let newest = with(&held, stores.iter().chain(&from_outside));
            let (offset, expected) = newest.first_wrong(&found).unwrap_or((0, found[0]));
            let wrong = Wrong::Byte { offset, expected, found: found[offset] };
            self.tell(Mismatch::new(1, Some(line), newest.last(), wrong));
            return None;
        }
        Some(Fit { stores, counts })
    }

    /// The machine goes on with what it recovered: more stores, and power fails once more.
    ///
    /// # Errors
    /// As of [`Recovered::of`].
    pub fn second_session(&mut self, options: &RunOptions, recovered: &Recovered) -> Result<(), RunError> {
        if recovered.fault.is_some() {
            return Ok(());
        }
        let mut random = Random::new(options.seed ^ AFTER);
        let mut expected = std::mem::take(&mut self.found);
        let mut stores = Vec::new();
        for _ in 0..STORES_AFTER.min(expected.len()) {
            let place = random.below(expected.len() as u64) as usize;
            expected[place].1 = random.line();
            stores.push(expected[place]);
        }
        let again = Recovered::of(options, &recovered.goes_on(self.parts, &stores))?;
        if let Some(fault) = again.fault {
            self.tell(Mismatch::new(2, None, None, Wrong::MemoryRefused(fault.to_string())));
        }
        for (line, expected) in expected {
            self.judged.lines_compared += 1;
            let wrong = match again.read(line) {
                None => Wrong::Refused,
                Some(found) => match (0..found.len()).find(|place| found[*place] != expected[*place]) {
                    None => continue,
                    Some(offset) => Wrong::Byte { offset, expected: expected[offset], found: found[offset] },
                },
            };
            self.tell(Mismatch::new(2, Some(line), None, wrong));
        }
        self.judged.pad_used_twice |= again.has_used_a_pad_twice();
        Ok(())
    }
}

/// How many of these stores a line may have, that holds `found`, with any number of these changes from outside.
fn counts_that_fit(held: &Held, (stores, from_outside): (&[Store], &[Store]), found: &Line) -> Vec<usize> {
    let fits = |count: &usize| {
        let with_stores = with(held, &stores[..*count]);
        (0..=from_outside.len()).any(|changes| with(&with_stores, &from_outside[..changes]).fits(found))
    };
    (0..=stores.len()).filter(fits).collect()
}

/// A line with these as well.
fn with<'a>(held: &Held, stores: impl IntoIterator<Item = &'a Store>) -> Held {
    let mut held = held.clone();
    stores.into_iter().for_each(|store| held.take(store));
    held
}
