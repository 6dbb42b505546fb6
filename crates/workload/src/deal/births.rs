//! Delays each forked process until its parent reaches the fork, because the copy starts with the pages of that moment.

use crate::stream::Chunk;
use rustc_hash::FxHashSet;
use wire::word::{self, Birth, Control, TraceWord};

/// Number of the parent process, and number of the fork in that process, from one.
type Fork = (u32, u32);

/// Forks that their processes have not reached.
pub(super) struct Births {
    /// Forks in chunks that no core has completed.
    announced: FxHashSet<Fork>,
    /// Forks in the current chunk of each core.
    in_hand: Vec<Vec<Fork>>,
}

impl Births {
    /// Returns an empty state for `cores` cores.
    pub fn new(cores: usize) -> Births {
        Births { announced: FxHashSet::default(), in_hand: vec![Vec::new(); cores] }
    }

    /// Notes the fork of a chunk that the dealer keeps for its core.
    pub fn keep(&mut self, chunk: &Chunk) {
        self.announced.extend(fork_of(chunk));
    }

    /// Notes that the dealer hands this chunk to the core.
    pub fn hand_out(&mut self, core: usize, chunk: &Chunk) {
        self.in_hand[core].extend(fork_of(chunk));
    }

    /// Notes that a core requests its next chunk and so has completed the previous one. Returns true if a forked
    /// process may begin now.
    pub fn ask(&mut self, core: usize) -> bool {
        let (in_hand, announced) = (&mut self.in_hand[core], &mut self.announced);
        in_hand.drain(..).fold(false, |any, fork| any | announced.remove(&fork))
    }

    /// True if a core may start the chunk: the chunk does not begin a copy, or the parent has reached the fork.
    pub fn may_begin(&self, chunk: &Chunk) -> bool {
        let birth = birth_of(chunk);
        birth.is_none_or(|(birth, parent, fork)| birth != Birth::Fork || !self.announced.contains(&(parent, fork)))
    }
}

/// Returns the origin of the process if the chunk is its first: kind, parent process, and number of the fork in the
/// parent.
pub(super) fn birth_of(chunk: &Chunk) -> Option<(Birth, u32, u32)> {
    match word::parse(*chunk.words.first()?) {
        TraceWord::Control { which: Some(Control::Process), detail, operand } => {
            Some((Birth::from_detail(detail), operand as u32, (operand >> 32) as u32))
        }
        _ => None,
    }
}

/// Returns the fork at the end of a chunk. The recorder writes it directly before the word of the system call.
pub(super) fn fork_of(chunk: &Chunk) -> Option<Fork> {
    let words = chunk.words.len().checked_sub(2)?;
    match word::parse(chunk.words[words]) {
        TraceWord::Control { which: Some(Control::Fork), operand, .. } => Some((chunk.strand.process, operand as u32)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Strand;

    #[test]
    fn a_forked_process_begins_after_its_parents_chunk_with_the_fork() {
        let chunk = |process, words| Chunk { strand: Strand { process, thread: 0 }, words, ..Chunk::default() };
        let fork = chunk(0, vec![word::control(Control::Fork, 0, 1), word::control(Control::Syscall, 0, 57)]);
        let birth = |fork: u64| chunk(1, vec![word::control(Control::Process, Birth::Fork as u8, fork << 32)]);
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
