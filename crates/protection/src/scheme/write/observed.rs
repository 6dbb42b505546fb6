//! What observers of memory get while it is behind what is durable (SecPB, HPCA 2023, section III-B).
//!
//! An entry is durable before memory has it. Until all entries have left and their tuples are complete, memory by itself is not
//! yet what it is to be: the paper's *sec-sync* gap. Reads through the controller never see that, since it looks into the
//! buffer. An observer that looks at memory by itself, as a crash recovery does, is *blocked* until the gap is closed, or let in
//! with a *warning*.
//!
//! After a loss of power the battery closes the gap. After the crash of an application the controller does, on line power, while others go
//! on: all entries leave, of whatever process (*drain-all*, the paper's choice), so that entries need no tags of processes.

use super::PersistBuffer;
use crate::planted::Bug;
use crate::verbs::Verbs;

/// How an observer of memory is let in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Observers {
    /// When memory is consistent.
    Blocked,
    /// At once, with a warning if it is not.
    Warned,
}

/// What an observer that was let in is told of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// It has every store that was accepted, with its tuple.
    Consistent,
    /// The warning: stores to so many lines are to come.
    Behind {
        /// Entries that have not left.
        entries: usize,
    },
}

impl PersistBuffer<'_> {
    /// Lets an observer in, such as the recovery of an application that has crashed. A chip that has halted stays behind, and so
    /// does one whose oldest entry cannot leave, since its metadata was tampered with.
    pub async fn admit<V: Verbs>(&self, verbs: &V, observers: Observers) -> Sight {
        while observers == Observers::Blocked && !self.has_halted() {
            // Others may store meanwhile.
            let (oldest, accepted) = (self.lines().first().copied(), self.accepted());
            let Some(line) = oldest else { break };
            self.drain(verbs, line).await;
            if self.lines().first().copied() == oldest && self.accepted() == accepted {
                break;
            }
        }
        let halted = self.has_halted() && self.planted().has(Bug::HaltedIsConsistent);
        match self.lines().len() {
            _ if halted => Sight::Consistent,
            0 => Sight::Consistent,
            entries => Sight::Behind { entries },
        }
    }
}
