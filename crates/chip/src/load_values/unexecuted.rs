//! The part of each strand that a run has not executed: its stores may explain differences between loaded and recorded
//! values.

use super::accessor::Accessor;
use rustc_hash::FxHashMap;
use workload::stream::Strand;

/// For each strand, the batch after which the part begins that the simulation has not executed.
#[derive(Default, Debug)]
pub struct UnexecutedBatches(FxHashMap<(u32, Option<Strand>), u64>);

impl UnexecutedBatches {
    /// Notes a batch of a program that was not executed to its end. The batch began after batch `after` was published.
    /// `strand` is `None` if the strand has executed nothing.
    pub fn note(&mut self, program: u32, strand: Option<Strand>, after: u64) {
        self.0.entry((program, strand)).and_modify(|first| *first = after.min(*first)).or_insert(after);
    }

    /// True if another strand has left out a batch that may have begun before this load in the recording.
    pub(super) fn may_explain(&self, load: &Accessor) -> bool {
        let precedes = |(&(program, strand), &after): (&(u32, Option<Strand>), &u64)| {
            program == load.program && strand != Some(load.strand) && after < load.stretch.number
        };
        self.0.iter().any(precedes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::Stretch;

    #[test]
    fn an_unexecuted_batch_of_another_strand_explains_differences_of_later_loads() {
        let strand = |thread| Strand { process: 0, thread };
        let load = Accessor { program: 0, strand: strand(1), stretch: Stretch { after: 6, number: 7 } };
        let explains = |of, after| {
            let mut batches = UnexecutedBatches::default();
            batches.note(0, of, after + 9);
            batches.note(0, of, after);
            batches.may_explain(&load)
        };
        assert!(explains(Some(strand(0)), 5));
        assert!(explains(Some(strand(0)), 6), "the batches overlap");
        assert!(!explains(Some(strand(0)), 7), "the batch follows the load");
        assert!(explains(None, 5), "a strand has not begun");
        assert!(!explains(Some(strand(1)), 5), "it is the strand's own");
    }
}
