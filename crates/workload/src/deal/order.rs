//! Order of a recording's batches: the number of each batch, and the batch after which its execution began.
//!
//! A strand publishes a batch before it begins the next one. A system call starts each thread, and the process
//! publishes the call before it executes it. The first batch of the n-th thread therefore began after the n-th call of
//! this kind, or later. A process that is a copy began after the batch that ends with the fork. A process that replaces
//! another began after the last batch of the replaced one. Recordings without forks do not show after which batch a
//! process began.

use super::births::{birth_of, fork_of};
use crate::source::Stretch;
use crate::stream::{Batch, Strand};
use rustc_hash::FxHashMap;
use wire::word::{self, Birth, Control, TraceWord};

/// Calls that start threads, as Linux numbers them on x86-64: `clone` and `clone3`.
const STARTS: [u64; 2] = [56, 435];

/// State that numbers the batches of a recording.
#[derive(Default)]
pub(super) struct BatchOrder {
    batches: u64,
    /// Last batch of each strand.
    last: FxHashMap<Strand, u64>,
    /// Batches of each process that end with a call that starts a thread.
    starts: FxHashMap<u32, Vec<u64>>,
    /// Batches that end with a fork, by process and number of the fork in that process, from one. Without the forks that a
    /// batch of the child has followed.
    forks: FxHashMap<(u32, u32), u64>,
}

impl BatchOrder {
    /// Numbers the next batch.
    pub fn number(&mut self, batch: &Batch) -> Stretch {
        self.batches += 1;
        let (strand, number) = (batch.strand, self.batches);
        let after = match self.last.insert(strand, number) {
            Some(last) => last,
            None => self.start_of(batch),
        };
        if let Some(fork) = fork_of(batch) {
            self.forks.insert(fork, number);
        }
        if batch.words.last().is_some_and(|last| starts_thread(*last)) {
            self.starts.entry(strand.process).or_default().push(number);
        }
        Stretch { after, number }
    }

    /// Batches that end with a call that starts a strand, if no batch of this strand has followed. A call that failed
    /// counts too.
    pub fn unbegun(&self) -> impl Iterator<Item = u64> + '_ {
        let has_begun = |process, thread| self.last.contains_key(&Strand { process, thread });
        let threads = self.starts.iter().flat_map(move |(process, starts)| {
            (1..).zip(starts).filter(move |(thread, _)| !has_begun(*process, *thread)).map(|(_, number)| *number)
        });
        threads.chain(self.forks.values().copied())
    }

    fn start_of(&mut self, batch: &Batch) -> u64 {
        let Strand { process, thread } = batch.strand;
        if let Some(nth) = (thread as usize).checked_sub(1) {
            let starts = self.starts.get(&process);
            return starts.and_then(|starts| starts.get(nth).copied()).unwrap_or(0);
        }
        let Some((birth, parent, fork)) = birth_of(batch) else { return 0 };
        let after = match birth {
            Birth::First => None,
            Birth::Fork => self.forks.remove(&(parent, fork)),
            Birth::Exec => self.last.iter().filter(|(strand, _)| strand.process == parent).map(|(_, last)| *last).max(),
        };
        after.unwrap_or(0)
    }
}

fn starts_thread(word: u64) -> bool {
    matches!(word::parse(word), TraceWord::Control { which: Some(Control::Syscall), operand, .. } if STARTS.contains(&operand))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(process: u32, thread: u32, words: &[u64]) -> Batch {
        Batch { strand: Strand { process, thread }, words: words.to_vec(), ..Batch::default() }
    }

    #[test]
    fn a_thread_is_ordered_after_the_system_call_that_started_it() {
        let mut order = BatchOrder::default();
        let start = [word::control(Control::Syscall, 0, STARTS[0])];
        let mut number = |process, thread, words: &[u64]| {
            let Stretch { after, number } = order.number(&batch(process, thread, words));
            (after, number)
        };
        assert_eq!(number(0, 0, &[]), (0, 1));
        assert_eq!(number(0, 0, &start), (1, 2));
        assert_eq!(number(0, 0, &start), (2, 3));
        assert_eq!(number(0, 2, &[]), (3, 4));
        assert_eq!(number(0, 1, &[]), (2, 5));
        assert_eq!(number(0, 1, &[]), (5, 6));
        assert_eq!(number(1, 0, &[]), (0, 7), "the recording does not say when this process began");
        let fork = [word::control(Control::Fork, 0, 1), word::control(Control::Syscall, 0, 57)];
        assert_eq!(number(1, 0, &fork), (7, 8));
        assert_eq!(number(1, 0, &[]), (8, 9));
        assert_eq!(number(2, 0, &[word::control(Control::Process, Birth::Fork as u8, 1 << 32 | 1)]), (8, 10));
        assert_eq!(number(3, 0, &[word::control(Control::Process, Birth::Exec as u8, 1)]), (9, 11));
    }

    #[test]
    fn a_strand_is_unbegun_from_the_call_that_starts_it_to_its_first_batch() {
        let mut order = BatchOrder::default();
        let mut unbegun_after = |process, thread, words: &[u64]| {
            order.number(&batch(process, thread, words));
            let mut all: Vec<_> = order.unbegun().collect();
            all.sort_unstable();
            all
        };
        let start = [word::control(Control::Syscall, 0, STARTS[0])];
        let fork = [word::control(Control::Fork, 0, 1), word::control(Control::Syscall, 0, 57)];
        assert_eq!(unbegun_after(0, 0, &[]), [0; 0]);
        assert_eq!(unbegun_after(0, 0, &start), [2]);
        assert_eq!(unbegun_after(0, 0, &fork), [2, 3]);
        assert_eq!(unbegun_after(0, 1, &[]), [3]);
        assert_eq!(unbegun_after(1, 0, &[word::control(Control::Process, Birth::Fork as u8, 1 << 32)]), [0; 0]);
    }

    #[test]
    fn recorded_batches_overlap_unless_one_was_published_before_the_other_began() {
        let stretch = |after, number| Stretch { after, number };
        assert!(stretch(1, 5).overlaps(&stretch(2, 3)) && stretch(2, 3).overlaps(&stretch(1, 5)));
        assert!(!stretch(1, 2).overlaps(&stretch(2, 3)) && !stretch(2, 3).overlaps(&stretch(1, 2)));
    }
}
