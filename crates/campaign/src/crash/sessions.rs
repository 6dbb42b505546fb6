//! Sessions, one after the other: what a machine begins with, and what those before have left.
//!
//! The first session begins with a new machine, whose lines are written once. Each later one begins when a fresh chip has recovered from
//! what a loss of power left of the one before. Keys and the ledger of keystream go on through all of them, and whoever sits on the bus
//! remembers every memory that there was.

use super::bench::Bench;
use super::shown::Changes;
use super::states::DeadMemory;
use super::workload::Workload;
use crate::bus::Recording;
use protection::domain::Queue;
use protection::ledger::Ledger;
use std::collections::BTreeMap;
use std::rc::Rc;
use units::random::Random;
use units::{Line, LineAddr};

/// A session that ended with a loss of power, after which memory came back.
pub struct Session {
    /// What lines held before.
    pub before: BTreeMap<LineAddr, Line>,
    /// What power left.
    pub left: DeadMemory,
    /// What lines hold then.
    pub contents: BTreeMap<LineAddr, Line>,
    /// The memories that there were, in order, the one that was left at last.
    pub memories: Vec<Recording>,
}

impl Session {
    /// The memory with which it began.
    pub fn first(&self) -> &Recording {
        &self.memories[0]
    }

    /// The memory that it left.
    pub fn last(&self) -> &Recording {
        &self.left.image
    }

    /// Whether a line ever held this.
    pub fn had(&self, line: LineAddr, bytes: &Line) -> bool {
        let stored = self.left.accepted.iter().flatten().any(|stored| *stored == (line, *bytes));
        stored || self.before.get(&line) == Some(bytes)
    }
}

/// A machine at the beginning of a session.
pub(super) struct Beginning {
    pub bench: Bench,
    /// Of what is stored, and when.
    pub random: Random,
    /// What lines hold.
    pub before: BTreeMap<LineAddr, Line>,
    /// The keystream that memory has shown.
    pub shown: Rc<Ledger>,
}

impl Beginning {
    /// The first session, or the one after these, on a bench that is switched on so.
    pub fn after(
        earlier: &[Rc<Session>],
        power_on: impl FnOnce() -> Bench,
        workload: &Workload,
        seed: u64,
    ) -> Beginning {
        let (mut bench, mut random) = (power_on(), Random::new(seed ^ (earlier.len() as u64) << 32));
        let Some(last) = earlier.last() else {
            let before = bench.prepare(workload, &mut random);
            let asked = Changes::among(bench.verbs.take_operations());
            let shown = asked.shown(&Rc::default(), Queue::Inside).pop().unwrap_or_default();
            return Beginning { bench, random, before, shown };
        };
        let shown = bench.recover(&last.left);
        Beginning { bench, random, before: last.contents.clone(), shown: Rc::new(shown) }
    }
}
