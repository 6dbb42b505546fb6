//! A revival: a fresh chip recovers the memory that a loss of power left. This module reads the content of its lines
//! and continues the program. The ledger of pads continues as well: from the keystream that memory had shown, through
//! recovery, to the last write.

use super::history::History;
use super::shown::Changes;
use super::states::DeadMemory;
use super::workload::DATA_LINES;
use crate::bus::Recording;
use crate::oracle::ReadResult;
use crate::victim::memory_of;
use catalogue::Verdict;
use protection::design::{Point, Seeds};
use protection::domain::Registers;
use protection::execution::{Functional, RecordedMemory, Untimed, run_now};
use protection::ledger::Ledger;
use protection::scheme::{DurableCaches, PersistBufferHandle, Scheme};
use std::collections::BTreeMap;
use std::rc::Rc;
use units::random::Random;
use units::{Line, LineAddr, Words};

/// Separates the keys of a volatile machine after a loss of power from those before.
pub(super) const OTHER_KEYS: u64 = 0x0ff0_ff0f;

/// Separates the start-up content of a machine from all other random numbers.
const START_UP: u64 = 0x57a7_7ab0;

/// Content of the lines.
pub type Contents = BTreeMap<LineAddr, Line>;

/// A new machine on which recovery has run after a loss of power.
pub struct Revival {
    scheme: Scheme,
    memory: Functional,
    alarmed: bool,
}

impl Revival {
    /// Recovers the machine of a history from the memory that was left.
    ///
    /// # Panics
    /// If the design's parts do not fit together.
    pub fn of(history: &History, left: &DeadMemory) -> Revival {
        let (scheme, memory) = switched_on(history, left);
        run_now(scheme.recover(&memory.verbs(), &left.registers));
        let alarmed = memory.take_fault().is_some();
        Revival { scheme, memory, alarmed }
    }

    /// Cuts the power again before recovery has begun, or right after it has ended, whatever its result. Returns the state after the
    /// battery has done its work; without a battery, the state at the loss.
    pub fn fails_again(history: &History, left: &DeadMemory, recovered: bool) -> DeadMemory {
        let (scheme, memory) = switched_on(history, left);
        if recovered {
            run_now(scheme.recover(&memory.verbs(), &left.registers));
        }
        match history.parts.persistence.point {
            Point::Controller => {}
            Point::Buffer => run_now(PersistBufferHandle::of(&scheme).drain_on_battery(&memory.verbs())),
            Point::Caches => run_now(DurableCaches::of(&scheme).drain_on_battery(&memory.verbs(), Vec::new())),
        }
        let image = Recording::of(&memory.media.borrow());
        let shown = Rc::new(memory.ledger().clone());
        DeadMemory { image, registers: memory.registers(), shown, ..left.clone() }
    }

    /// Returns true if recovery reported that it cannot trust the memory.
    pub fn alarmed(&self) -> bool {
        self.alarmed
    }

    /// Records the current content of the memory.
    pub fn image(&self) -> Recording {
        Recording::of(&self.memory.media.borrow())
    }

    /// Returns the current content of the registers.
    pub fn registers(&self) -> Registers {
        self.memory.registers()
    }

    /// Reads a line and returns the answer.
    pub fn read(&self, line: LineAddr) -> ReadResult {
        run_now(self.scheme.read(&self.memory.verbs(), line));
        let reported = self.memory.take_fault().is_some();
        let released = self.memory.take_released().map(|(_, plaintext)| plaintext.bytes);
        ReadResult { released, words: Words::ALL, reported }
    }

    /// Writes a line; returns true if the chip reported a fault.
    fn write(&self, line: LineAddr, content: &Line) -> bool {
        run_now(self.scheme.write(&self.memory.verbs(), line, content));
        self.memory.take_fault().is_some()
    }

    /// Returns the keystream that memory has shown since the machine was new.
    pub fn shown(&self) -> Rc<Ledger> {
        Rc::new(self.memory.ledger().clone())
    }

    /// Continues the program, whatever was reported: it writes every line once more and reads all lines. Returns the worst verdict
    /// on a line, and whether a pad has hidden two texts since the machine was new.
    pub fn goes_on(&self, history: &History, random: &mut Random) -> (Verdict, bool) {
        let mut written = Vec::new();
        for line in history.before.keys() {
            let (before, text) = (self.read(*line).released, random.line());
            let refused = self.write(*line, &text);
            written.push((*line, before.filter(|_| refused), text));
        }
        let ended = written.into_iter().map(|(line, before, text)| match self.read(line) {
            ReadResult { released: None, reported: true, .. } => Verdict::Detected,
            ReadResult { released: None, .. } => Verdict::Garbled,
            ReadResult { released: Some(bytes), .. } if bytes == text => Verdict::Harmless,
            // A refused write did not happen.
            ReadResult { released, .. } if released == before => Verdict::Detected,
            ReadResult { released: Some(bytes), .. } if history.had(line, &bytes) => Verdict::Stale,
            ReadResult { .. } => Verdict::Garbled,
        });
        (ended.max().unwrap_or(Verdict::Harmless), self.memory.ledger().reuse().is_some())
    }

    /// Returns the content of all lines; `None` if one of them is refused.
    pub fn contents(&self, history: &History) -> Option<Contents> {
        history.before.keys().map(|line| Some((*line, self.read(*line).released?))).collect()
    }

    /// Judges the content of all lines, if memory may hold any of these. Without an attacker a refusal is a loss.
    pub fn judge(&self, history: &History, allowed: &[Contents], tampered: bool) -> Verdict {
        let answers: BTreeMap<LineAddr, ReadResult> =
            history.before.keys().map(|line| (*line, self.read(*line))).collect();
        let is_whole = |content: &Contents| {
            answers.iter().all(|(line, answer)| !answer.reported && answer.released == content.get(line).copied())
        };
        if allowed.iter().any(is_whole) {
            return Verdict::Harmless;
        }
        let refused = if tampered { Verdict::Detected } else { Verdict::Unrecoverable };
        let worst = answers.iter().map(|(line, answer)| match answer.released {
            None if answer.reported => refused,
            None => Verdict::Garbled,
            Some(bytes) if allowed.iter().any(|content| content.get(line) == Some(&bytes)) => Verdict::Harmless,
            Some(bytes) if history.had(*line, &bytes) => Verdict::Stale,
            Some(_) => Verdict::Garbled,
        });
        match worst.max() {
            // Every line is right, but no allowed content has this combination.
            None | Some(Verdict::Harmless) => Verdict::Stale,
            Some(worst) => worst,
        }
    }
}

/// Returns the changes of recovery to memory, in order.
///
/// # Panics
/// If the design's parts do not fit together.
pub fn changes_of_recovery(history: &History, left: &DeadMemory) -> Changes {
    let (scheme, memory) = switched_on(history, left);
    let recorded = RecordedMemory::new(memory);
    run_now(scheme.recover(&recorded.verbs(), &left.registers));
    Changes::among(recorded.take_operations())
}

/// Creates a fresh chip over the state that outlives power.
fn switched_on(history: &History, left: &DeadMemory) -> (Scheme, Functional) {
    let durable = history.parts.persistence.exists();
    let seeds = if durable { Seeds::started_again(history.seed, 1) } else { (history.seed ^ OTHER_KEYS).into() };
    let scheme = history
        .parts
        .build_with(memory_of(&history.parts, DATA_LINES), seeds, history.planted)
        .unwrap_or_else(|rule| panic!("these parts were never checked: {rule}"));
    let slots = scheme.layout().total_lines();
    let memory = if durable { Functional::booting(slots, history.seed ^ START_UP) } else { Functional::new(slots) };
    memory.media.replace(left.image.media(slots));
    memory.go_on_with(left.registers.clone());
    if durable {
        memory.carry(left.shown.as_ref().clone());
    }
    (scheme, memory)
}
