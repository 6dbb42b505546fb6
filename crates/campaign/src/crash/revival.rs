//! A revival: a fresh chip over a memory that a loss of power left behind, and what its lines then read as.

use super::history::History;
use super::states::{DeadMemory, changes_memory};
use super::workload::DATA_LINES;
use crate::bus::Recording;
use crate::oracle::Answer;
use protection::domain::Registers;
use protection::scheme::Scheme;
use protection::verbs::{Slot, Verbs};
use protection::ways::{Explained, Functional, Operation, run_now};
use std::collections::BTreeMap;
use systems::Verdict;
use units::{Line, LineAddr};

/// Sets the keys of a volatile machine after a loss of power apart from those before.
const OTHER_KEYS: u64 = 0x0ff0_ff0f;

/// A machine after a loss of power.
pub struct Revival {
    scheme: Scheme,
    memory: Functional,
    alarmed: bool,
}

impl Revival {
    /// The machine of a history recovers from what was left.
    ///
    /// # Panics
    /// If the design's parts make no sense together.
    pub fn of(history: &History, left: &DeadMemory) -> Revival {
        let (scheme, memory) = switched_on(history, left);
        run_now(scheme.recover(&memory, &left.registers));
        let alarmed = memory.take_fault().is_some();
        Revival { scheme, memory, alarmed }
    }

    /// Whether recovery reported that it cannot trust the memory.
    pub fn alarmed(&self) -> bool {
        self.alarmed
    }

    /// The memory as it is now.
    pub fn image(&self) -> Recording {
        Recording::of(&self.memory.media.borrow())
    }

    /// The registers as they are now.
    pub fn registers(&self) -> Registers {
        self.memory.registers()
    }

    /// Reads a line.
    pub fn read(&self, line: LineAddr) -> Answer {
        run_now(self.scheme.read(&self.memory, line));
        let reported = self.memory.take_fault().is_some();
        let released = self.memory.take_released().map(|(_, plaintext)| plaintext.bytes);
        Answer { released, reported }
    }

    /// Writes a line; returns what memory now holds in its place.
    pub fn write(&self, line: LineAddr, content: &Line) -> Line {
        run_now(self.scheme.write(&self.memory, line, content));
        self.memory.take_fault();
        self.memory.media.borrow().read(Slot(line.0)).examine()
    }

    /// Judges what all lines read as, if so many writes had returned, and so many had begun. Without an attacker a refusal
    /// is a loss.
    pub fn judge(&self, history: &History, (returned, begun): (usize, usize), tampered: bool) -> Verdict {
        let allowed: Vec<BTreeMap<LineAddr, Line>> =
            (returned..=begun).map(|writes| history.content_after(writes)).collect();
        let answers: BTreeMap<LineAddr, Answer> = history.before.keys().map(|line| (*line, self.read(*line))).collect();
        let is_whole = |content: &BTreeMap<LineAddr, Line>| {
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
            Some(bytes) if was_ever(history, *line, &bytes) => Verdict::Stale,
            Some(_) => Verdict::Garbled,
        });
        match worst.max() {
            // Every line by itself is right, and yet they never were so together.
            None | Some(Verdict::Harmless) => Verdict::Stale,
            Some(worst) => worst,
        }
    }
}

/// What recovery changes in memory, in order.
///
/// # Panics
/// If the design's parts make no sense together.
pub fn changes_of_recovery(history: &History, left: &DeadMemory) -> Vec<Operation> {
    let (scheme, memory) = switched_on(history, left);
    let memory = Explained::new(memory);
    run_now(scheme.recover(&memory, &left.registers));
    memory.take_operations().into_iter().filter(changes_memory).collect()
}

/// A fresh chip, with what outlives power.
fn switched_on(history: &History, left: &DeadMemory) -> (Scheme, Functional) {
    let keys = if history.parts.persistence.exists() { history.seed } else { history.seed ^ OTHER_KEYS };
    let scheme = history
        .parts
        .build_with(DATA_LINES, keys, history.planted)
        .unwrap_or_else(|rule| panic!("these parts were never checked: {rule}"));
    let slots = scheme.layout().total_lines();
    let memory = Functional::new(slots);
    memory.media.replace(left.image.media(slots));
    memory.complete(left.registers.clone());
    (scheme, memory)
}

fn was_ever(history: &History, line: LineAddr, bytes: &Line) -> bool {
    let written = history.writes.iter().any(|write| write.line == line && write.content == *bytes);
    written || history.before.get(&line) == Some(bytes)
}
