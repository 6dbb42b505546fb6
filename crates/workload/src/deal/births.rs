//! Delays each forked process until its parent reaches the fork, because the copy starts with the pages of that moment.

use crate::stream::Batch;
use rustc_hash::FxHashSet;
use wire::word::{self, Birth, Control, TraceWord};

/// Number of the parent process, and number of the fork in that process, from one.
type Fork = (u32, u32);

/// Forks that their processes have not reached.
pub(super) struct Births {
    /// Forks in batches that no core has completed.
    announced: FxHashSet<Fork>,
    /// Forks in the current batch of each core.
    in_hand: Vec<Vec<Fork>>,
}

impl Births {
    /// Returns an empty state for `cores` cores.
    pub fn new(cores: usize) -> Births {
        Births { announced: FxHashSet::default(), in_hand: vec![Vec::new(); cores] }
    }

    /// Notes the fork of a batch that the dealer keeps for its core.
    pub fn keep(&mut self, batch: &Batch) {
        self.announced.extend(fork_of(batch));
    }

    /// Notes that the dealer hands this batch to the core.
    pub fn hand_out(&mut self, core: usize, batch: &Batch) {
        self.in_hand[core].extend(fork_of(batch));
    }

    /// Notes that a core requests its next batch and so has completed the previous one. Returns true if a forked
    /// process may begin now.
    pub fn ask(&mut self, core: usize) -> bool {
        let (in_hand, announced) = (&mut self.in_hand[core], &mut self.announced);
        in_hand.drain(..).fold(false, |any, fork| any | announced.remove(&fork))
    }

    /// True if a core may start the batch: the batch does not begin a copy, or the parent has reached the fork.
    pub fn may_begin(&self, batch: &Batch) -> bool {
        let birth = birth_of(batch);
        birth.is_none_or(|(birth, parent, fork)| birth != Birth::Fork || !self.announced.contains(&(parent, fork)))
    }
}

/// Returns the origin of the process if the batch is its first: kind, parent process, and number of the fork in the
/// parent.
pub(super) fn birth_of(batch: &Batch) -> Option<(Birth, u32, u32)> {
    match word::parse(*batch.words.first()?) {
        TraceWord::Control { which: Some(Control::Process), detail, operand } => {
            Some((Birth::from_detail(detail), operand as u32, (operand >> 32) as u32))
        }
        _ => None,
    }
}

/// Returns the fork at the end of a batch. The recorder writes it directly before the word of the system call.
pub(super) fn fork_of(batch: &Batch) -> Option<Fork> {
    let words = batch.words.len().checked_sub(2)?;
    match word::parse(batch.words[words]) {
        TraceWord::Control { which: Some(Control::Fork), operand, .. } => Some((batch.strand.process, operand as u32)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Strand;

    #[test]
    fn a_forked_process_begins_after_its_parents_batch_with_the_fork() {
        let batch = |process, words| Batch { strand: Strand { process, thread: 0 }, words, ..Batch::default() };
        let fork = batch(0, vec![word::control(Control::Fork, 0, 1), word::control(Control::Syscall, 0, 57)]);
        let birth = |fork: u64| batch(1, vec![word::control(Control::Process, Birth::Fork as u8, fork << 32)]);
        let mut births = Births::new(2);
        births.keep(&fork);
        assert_eq!(
            (births.may_begin(&birth(1)), births.may_begin(&birth(2)), births.may_begin(&fork)),
            (false, true, true)
        );
        births.hand_out(0, &fork);
        births.ask(1);
        assert!(!births.may_begin(&birth(1)));
        births.ask(0);
        assert!(births.may_begin(&birth(1)));
    }
}
