//! The tally of a row: the ends of its trials so far, compared with the claim.
//!
//! Tallies of consecutive trials add up, so a row can run in pieces, on other days, with the same result as one run.

use crate::report::{AttackOutcome, Counts, Example, Histogram};
use crate::scenes;
use catalogue::{Attack, Design, End, Verdict};
use serde::{Deserialize, Serialize};

/// Number of trials that reach the worst end of a row. If all of them end better than claimed, the claim is false; fewer
/// trials may miss it.
const ENOUGH_TRIALS: u64 = 100;

/// Results of some trials of an attack on a design.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    histogram: Histogram,
    worst_by_level: Vec<End>,
    counts: Counts,
    examples: Vec<Example>,
}

impl Tally {
    /// Records the end of one trial, at a level for attacks with levels.
    pub fn note(&mut self, level: usize, end: End) {
        *self.histogram.entry(end).or_default() += 1;
        self.worst_by_level.resize(self.worst_by_level.len().max(level + 1), End::NONE);
        self.worst_by_level[level] = self.worst_by_level[level].worst(end);
    }

    /// Adds a count under a name.
    pub fn count(&mut self, what: &str, number: u64) {
        *self.counts.entry(what.to_owned()).or_default() += number;
    }

    /// Keeps an example if it is the first with this end; only then is it created.
    pub fn show(&mut self, end: End, example: impl FnOnce() -> Example) {
        if self.examples.iter().all(|known| known.verdict != end) {
            self.examples.push(example());
        }
    }

    /// Adds the results of later trials.
    pub fn add(&mut self, later: Tally) {
        for (end, number) in later.histogram {
            *self.histogram.entry(end).or_default() += number;
        }
        let levels = self.worst_by_level.len().max(later.worst_by_level.len());
        self.worst_by_level.resize(levels, End::NONE);
        for (worst, other) in self.worst_by_level.iter_mut().zip(later.worst_by_level) {
            *worst = worst.worst(other);
        }
        later.counts.into_iter().for_each(|(what, number)| self.count(&what, number));
        later.examples.into_iter().for_each(|example| self.show(example.verdict, || example));
    }

    /// Number of trials so far.
    fn trials(&self) -> u64 {
        self.histogram.values().sum::<u64>() / (self.worst_by_level.len() as u64).max(1)
    }

    /// Compares the results with the claim of a design.
    pub fn outcome(mut self, design: &Design, attack: Attack) -> AttackOutcome {
        let claim = design.claims.about(attack);
        if attack == Attack::ShortTags && !scenes::tags_in_bound(&self.counts) {
            // One trial shows no rate: only all trials together are out of bound.
            self.worst_by_level.iter_mut().for_each(|worst| *worst = Verdict::Forged.into());
        }
        let reached = !self.worst_by_level.is_empty() && self.worst_by_level.iter().all(|worst| claim == Some(*worst));
        let is_better = |worst: &End| claim.is_some_and(|claim| !worst.is_worse_than(claim));
        let may_be_reached = self.trials() < ENOUGH_TRIALS && self.worst_by_level.iter().all(is_better);
        let has_levels = attack == Attack::ReplayBelowLevel;
        AttackOutcome {
            attack,
            hypothetical: attack.is_hypothetical(),
            worst: End::worst_of(self.worst_by_level.iter().copied()).unwrap_or(End::NONE),
            histogram: self.histogram,
            counts: self.counts,
            worst_by_level: if has_levels { self.worst_by_level } else { Vec::new() },
            claim,
            reached,
            agrees: reached || may_be_reached,
            examples: self.examples,
        }
    }
}
