//! The built-in check of a run.

use super::bench::AssembledMachine;
use crate::record::{CandidateCheck, Checks};
use chip::counts::Meters;
use chip::load_values::unexecuted::UnexecutedBatches;
use chip::load_values::{LoadValues, Verdict};
use workload::Source;

impl<S: Source + 'static> AssembledMachine<S> {
    pub(super) fn checks(&self) -> Checks {
        let Meters { chip, memory, .. } = &self.meters;
        let lines = chip.shadow.observed();
        let false_alarm = chip.scheme.fault_reported();
        let pad_reused = memory.ledger_is_on().then(|| memory.keystream_reuse().is_some());
        // A run that ended in an alarm may have stores under way.
        let lines_lost = if false_alarm.is_some() { 0 } else { chip.lost_lines() };
        let lines_stranded = chip.llc.counts().stranded;
        let load_values = self.load_values();
        let values_wrong = load_values.as_ref().is_some_and(|values| values.verdict == Verdict::Wrong);
        let nothing_wrong = lines.lines_wrong + lines_lost + lines_stranded == 0 && false_alarm.is_none();
        let candidates = self.candidates();
        let moving = self.meters.scheme.counted().moving;
        let nothing_wrong = nothing_wrong && moving.twice + moving.incomplete == 0;
        let nothing_wrong = nothing_wrong && candidates.is_none_or(|candidates| candidates.disagreeing == 0);
        let passed = nothing_wrong && lines.lines_checked > 0 && pad_reused != Some(true) && !values_wrong;
        Checks {
            lines,
            lines_lost,
            lines_stranded,
            false_alarm,
            pad_reused,
            candidates,
            load_values,
            compared: self.fed().map(|fed| fed.load_values_checked).collect(),
            not_compared: Vec::new(),
            passed,
        }
    }

    fn candidates(&self) -> Option<CandidateCheck> {
        let counted = self.meters.scheme.speculation()?.counted();
        Some(CandidateCheck { lines: counted.computed_lines, disagreeing: counted.disagreeing })
    }

    /// The part of each strand that the run has not executed, because a limit has stopped the run or a signal has ended
    /// the strand.
    fn unexecuted(&self) -> UnexecutedBatches {
        let mut first = UnexecutedBatches::default();
        for (index, team) in self.teams.iter().enumerate() {
            let dealer = team.dealer.borrow();
            let of_team = self.programs.iter().skip(index).step_by(self.teams.len());
            let begun: Vec<_> = of_team.filter_map(|program| program.borrow().begun_batch()).collect();
            let begun = begun.into_iter().map(|(strand, stretch)| (Some(strand), stretch.after));
            for (strand, after) in dealer.unexecuted().into_iter().chain(begun) {
                first.note(index as u32, strand, after);
            }
        }
        first
    }

    fn load_values(&self) -> Option<LoadValues> {
        let programs: Vec<_> = self.fed().collect();
        let shadow = self.meters.shadow.borrow();
        LoadValues::of(&programs, shadow.load_order()?, &self.unexecuted())
    }
}
