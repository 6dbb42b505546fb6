//! Observers of memory at times when memory lacks durable stores (SecPB, HPCA 2023, section III-B).
//!
//! A store in a buffer entry is durable before memory holds it. Until all entries have left and their tuples are
//! complete, memory lacks some durable stores: the paper's *sec-sync* gap. Reads through the controller never see the
//! gap, since the controller looks into the buffer. An observer that reads memory without the buffer, as a crash
//! recovery does, is *blocked* until the gap is closed, or let in with a *warning*.
//!
//! After a loss of power the battery closes the gap. After the crash of an application the controller closes it, on line
//! power, while other programs run. It drains the entries of all processes (*drain-all*, the paper's choice), so that
//! entries need no process tags.

use super::PersistBufferHandle;
use crate::planted::Bug;
use crate::verbs::Verbs;

/// Rule for the admission of an observer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Observers {
    /// The observer waits until memory is consistent.
    Blocked,
    /// The observer is admitted at once, with a warning if memory is not consistent.
    Warned,
}

/// State of memory, as reported to an observer that is let in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObservedState {
    /// Memory holds every accepted store, with its tuple.
    Consistent,
    /// The warning: memory still lacks stores to this number of lines.
    Behind {
        /// Number of entries that have not left the buffer.
        entries: usize,
    },
}

impl PersistBufferHandle<'_> {
    /// Lets an observer in, for example the recovery of a crashed application. Memory stays behind if the chip has halted,
    /// or if the oldest entry cannot leave because an attacker tampered with its metadata.
    pub async fn admit<V: Verbs>(&self, verbs: &V, observers: Observers) -> ObservedState {
        while observers == Observers::Blocked && !self.has_halted() {
            // Other programs may store during the drain.
            let (oldest, accepted) = (self.lines().first().copied(), self.accepted());
            let Some(line) = oldest else { break };
            self.drain(verbs, line).await;
            if self.lines().first().copied() == oldest && self.accepted() == accepted {
                break;
            }
        }
        let halted = self.has_halted() && self.planted().has(Bug::HaltedIsConsistent);
        match self.lines().len() {
            _ if halted => ObservedState::Consistent,
            0 => ObservedState::Consistent,
            entries => ObservedState::Behind { entries },
        }
    }
}
