//! Tracks the strands that have not ended, so that the missing last words of a strand are known to be missing.
//!
//! A strand sends a last word when it ends, and a program that replaces a process sends its first batch. Two kinds of
//! strands send neither: those that SIGKILL ends, and those that execute instructions after the limit of the recording.
//! Their latest stores are not in the recording, although other strands may have read them. A process may thus send its
//! end without the ends of its strands.

use super::births::birth_of;
use crate::stream::{Batch, Strand};
use rustc_hash::FxHashMap;
use wire::word::{self, Birth, Control, TraceWord};

/// Number of the last batch of each strand that has not ended.
#[derive(Default)]
pub(super) struct OpenStrands(FxHashMap<Strand, u64>);

impl OpenStrands {
    /// Notes the next batch of a recording, with its number. Returns true if the batch ends its strand.
    pub fn keep(&mut self, batch: &Batch, number: u64) -> bool {
        if let Some((Birth::Exec, replaced, _)) = birth_of(batch) {
            self.0.retain(|strand, _| strand.process != replaced);
        }
        let process = batch.strand.process;
        match batch.words.last().map(|last| word::parse(*last)) {
            Some(TraceWord::Control { which: Some(Control::Ended), .. }) => {
                self.0.remove(&batch.strand);
                return true;
            }
            Some(TraceWord::Control { which: Some(Control::Gone), operand, .. }) if operand == u64::from(process) => {}
            _ => {
                self.0.insert(batch.strand, number);
            }
        }
        false
    }

    /// Strands that have not ended, with the numbers of their last batches.
    pub fn all(&self) -> impl Iterator<Item = (Strand, u64)> + '_ {
        self.0.iter().map(|(strand, number)| (*strand, *number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(process: u32, thread: u32, last: u64) -> Batch {
        Batch { strand: Strand { process, thread }, words: vec![last], ..Batch::default() }
    }

    fn open_after(batches: &[Batch]) -> Vec<(u32, u32, u64)> {
        let mut open = OpenStrands::default();
        for (batch, number) in batches.iter().zip(1..) {
            open.keep(batch, number);
        }
        let mut all: Vec<_> = open.all().map(|(strand, number)| (strand.process, strand.thread, number)).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn a_strand_is_open_from_its_first_batch_until_its_last_word() {
        let ended = word::control(Control::Ended, 0, 0);
        assert_eq!(open_after(&[batch(0, 0, 7), batch(0, 1, 7), batch(0, 0, 7)]), [(0, 0, 3), (0, 1, 2)]);
        assert_eq!(open_after(&[batch(0, 0, 7), batch(0, 1, 7), batch(0, 0, ended)]), [(0, 1, 2)]);
    }

    #[test]
    fn the_end_of_a_process_ends_no_strand_and_its_replacement_ends_all() {
        let gone = |process: u64| word::control(Control::Gone, 0, process);
        let begun = [batch(0, 0, 7), batch(1, 0, 7), batch(1, 1, 7)];
        let then = |last| open_after(&[&begun[..], &[last]].concat());
        let ended = then(batch(1, 0, gone(1)));
        assert_eq!(ended, [(0, 0, 1), (1, 0, 2), (1, 1, 3)], "a limit has cut off the ends of its strands");
        let killed = then(batch(0, 0, gone(1)));
        assert_eq!(killed, [(0, 0, 4), (1, 0, 2), (1, 1, 3)], "its parent has seen that a signal ended it");
        assert_eq!(then(batch(2, 0, word::control(Control::Process, Birth::Exec as u8, 1))), [(0, 0, 1), (2, 0, 4)]);
    }
}
