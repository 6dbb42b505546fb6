//! A process that is a copy of another has the pages that its parent had at a fork: it begins when the parent has come to that.

use crate::stream::Chunk;
use rustc_hash::FxHashSet;
use wire::word::{self, Birth, Control, Word};

/// A fork: the process, and how many times it was copied before, plus one.
type Fork = (u32, u32);

/// The forks that are to come.
pub(super) struct Births {
    /// Forks in chunks that no core is done with.
    ahead: FxHashSet<Fork>,
    /// The forks of the chunk that each core has.
    in_hand: Vec<Vec<Fork>>,
}

impl Births {
    /// For so many cores.
    pub fn new(cores: usize) -> Births {
        Births { ahead: FxHashSet::default(), in_hand: vec![Vec::new(); cores] }
    }

    /// A chunk is kept for its core.
    pub fn keep(&mut self, chunk: &Chunk) {
        self.ahead.extend(fork_of(chunk));
    }

    /// A core has this chunk now.
    pub fn hand_out(&mut self, core: usize, chunk: &Chunk) {
        self.in_hand[core].extend(fork_of(chunk));
    }

    /// A core asks for its next chunk: it is done with the one that it had. Returns whether a copy may begin that could not before.
    pub fn ask(&mut self, core: usize) -> bool {
        let (in_hand, ahead) = (&mut self.in_hand[core], &mut self.ahead);
        in_hand.drain(..).fold(false, |any, fork| any | ahead.remove(&fork))
    }

    /// Whether a chunk may be handed out: it is no beginning of a copy, or its parent has come to the fork.
    pub fn may_begin(&self, chunk: &Chunk) -> bool {
        let birth = birth_of(chunk);
        birth.is_none_or(|(birth, parent, fork)| birth != Birth::Fork || !self.ahead.contains(&(parent, fork)))
    }
}

/// How the process of a chunk began if the chunk is its first: from which other, and at which fork of that.
pub(super) fn birth_of(chunk: &Chunk) -> Option<(Birth, u32, u32)> {
    match word::parse(*chunk.words.first()?) {
        Word::Control { which: Some(Control::Process), detail, operand } => {
            Some((Birth::from_detail(detail), operand as u32, (operand >> 32) as u32))
        }
        _ => None,
    }
}

/// The fork at the end of a chunk, where the recorder publishes it: it is the word before that of the system call.
pub(super) fn fork_of(chunk: &Chunk) -> Option<Fork> {
    let words = chunk.words.len().checked_sub(2)?;
    match word::parse(chunk.words[words]) {
        Word::Control { which: Some(Control::Fork), operand, .. } => Some((chunk.strand.process, operand as u32)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Strand;

    #[test]
    fn a_copy_begins_when_its_parent_is_done_with_the_chunk_that_ends_with_the_fork() {
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
