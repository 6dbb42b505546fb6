//! Sequences of sessions: the state in which a session begins, and the memories of earlier sessions.
//!
//! The first session begins with a new machine after one write to each line. Each later session begins when a fresh chip has recovered
//! from the memory that a loss of power left of the session before. Keys and the ledger of keystream survive all sessions, and an
//! attacker on the bus remembers every earlier memory.

use super::bench::Bench;
use super::shown::Changes;
use super::states::DeadMemory;
use super::workload::Workload;
use crate::bus::Recording;
use protection::domain::WritePendingQueue;
use protection::ledger::Ledger;
use std::collections::BTreeMap;
use std::rc::Rc;
use units::random::Random;
use units::{Line, LineAddr};

/// A session that ended with a loss of power from which memory recovered.
pub struct Session {
    /// Content of the lines before the session.
    pub before: BTreeMap<LineAddr, Line>,
    /// State that the loss of power left.
    pub left: DeadMemory,
    /// Content of the lines after recovery.
    pub contents: BTreeMap<LineAddr, Line>,
    /// All memories of the session, in order, ending with the one that was left.
    pub memories: Vec<Recording>,
}

impl Session {
    /// Returns the memory with which the session began.
    pub fn first(&self) -> &Recording {
        &self.memories[0]
    }

    /// Returns the memory that the session left.
    pub fn last(&self) -> &Recording {
        &self.left.image
    }

    /// Returns true if a line had this content in the session.
    pub fn had(&self, line: LineAddr, bytes: &Line) -> bool {
        let stored = self.left.accepted.iter().flatten().any(|stored| *stored == (line, *bytes));
        stored || self.before.get(&line) == Some(bytes)
    }
}

/// A machine at the beginning of a session.
pub(super) struct Beginning {
    pub bench: Bench,
    /// Random numbers for contents and times of stores.
    pub random: Random,
    /// Content of the lines at the beginning.
    pub before: BTreeMap<LineAddr, Line>,
    /// Keystream that memory has shown.
    pub shown: Rc<Ledger>,
}

impl Beginning {
    /// Creates the machine for the first session, or for the one after `earlier`, on a bench from `power_on`.
    pub fn after(
        earlier: &[Rc<Session>],
        power_on: impl FnOnce() -> Bench,
        workload: &Workload,
        seed: u64,
    ) -> Beginning {
        let (mut bench, mut random) = (power_on(), Random::new(seed ^ (earlier.len() as u64) << 32));
        let Some(last) = earlier.last() else {
            let before = bench.prepare(workload, &mut random);
            let changes = Changes::among(bench.records.take_operations());
            let shown = changes.shown(&Rc::default(), WritePendingQueue::Inside).pop().unwrap_or_default();
            return Beginning { bench, random, before, shown };
        };
        let shown = bench.recover(&last.left);
        Beginning { bench, random, before: last.contents.clone(), shown: Rc::new(shown) }
    }
}
