//! Reports of campaigns: plain data for people, JSON and the Python binding.

use catalogue::{Attack, Design, End, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number of cases by end.
pub type Histogram = BTreeMap<End, u64>;

/// Sums of statistics over all trials of a row, by name.
pub type Counts = BTreeMap<String, u64>;

/// The first case of an end, with all data needed to reproduce it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Example {
    /// End of the case.
    pub verdict: End,
    /// Seed of this one trial.
    pub seed: u64,
    /// Number of the line under attack.
    pub line: u64,
    /// Flipped bit, counted from the start of its slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bit: Option<usize>,
    /// Level of the tree below which the attacker replayed all lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<usize>,
    /// Command that reproduces the case.
    pub replay: String,
}

/// One row: an attack on a design.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AttackOutcome {
    /// The attack of the row.
    pub attack: Attack,
    /// True if the attack assumes a fault that the design does not have. The end of the attack is then no weakness of
    /// the design.
    pub hypothetical: bool,
    /// Number of cases by end. Attacks that are tried at several levels count once for each level.
    pub histogram: Histogram,
    /// Sums over all trials; empty for attacks that count only ends.
    #[serde(skip_serializing_if = "Counts::is_empty")]
    pub counts: Counts,
    /// Worst end, over content and leakage; not-applicable if the design has no target for the attack.
    pub worst: End,
    /// Worst end at each level, from the lowest; empty for attacks without levels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worst_by_level: Vec<End>,
    /// Claim of the design; `None` if it makes no claim.
    pub claim: Option<End>,
    /// True if the worst end, at every level, is exactly the claim: neither worse nor better, on either axis.
    pub reached: bool,
    /// True if the trials do not contradict the claim. Either their worst end equals the claim; or it is better than
    /// the claim, but fewer than a hundred trials ran, so that they may have missed the claimed end.
    pub agrees: bool,
    /// First case of each end.
    pub examples: Vec<Example>,
}

impl AttackOutcome {
    /// Describes the disagreement of this row with its claim in one line, with the command that shows it; `None` if they
    /// agree.
    pub fn complaint(&self, design: &str) -> Option<String> {
        let claim = self.claim.map_or("nothing", End::name);
        let is_worse = |end: End| self.claim.is_none_or(|claim| end.is_worse_than(claim));
        let shown = self.examples.iter().max_by_key(|example| (is_worse(example.verdict), example.verdict));
        let replay = shown.map_or_else(String::new, |example| format!(": {}", example.replay));
        let stale = if self.claim.is_some() && !is_worse(self.worst) { " (better than claimed)" } else { "" };
        (!self.agrees).then(|| format!("{design}: {} claims {claim}, ended {}{stale}{replay}", self.attack, self.worst))
    }
}

/// All attacks on one design.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DesignReport {
    /// Name of the design.
    pub design: String,
    /// Summary of the design in one sentence.
    pub summary: String,
    /// Class and source of the design.
    pub source: String,
    /// Objections of a reviewer, a word each.
    pub weaknesses: Vec<&'static str>,
    /// Parts of the source that the model lacks, a sentence each.
    pub leaves_out: Vec<String>,
    /// Seed of the first trial of each row; later trials count up from it.
    pub seed: u64,
    /// Number of trials of each row.
    pub trials: u64,
    /// One row for every attack that ran, in the order of [`Attack::ALL`].
    pub rows: Vec<AttackOutcome>,
    /// True if all rows agree with their claims.
    pub agrees: bool,
}

impl DesignReport {
    /// Builds the report on a design from rows with this many trials from this seed on.
    pub fn of(design: &Design, seed: u64, trials: u64, rows: Vec<AttackOutcome>) -> DesignReport {
        DesignReport {
            design: design.name.clone(),
            summary: design.summary.clone(),
            source: design.source.clone(),
            weaknesses: design.parts.weaknesses(),
            leaves_out: design.leaves_out.clone(),
            seed,
            trials,
            agrees: rows.iter().all(|row| row.agrees),
            rows,
        }
    }

    /// Returns one complaint for each row that does not agree with its claim.
    pub fn complaints(&self) -> Vec<String> {
        self.rows.iter().filter_map(|row| row.complaint(&self.design)).collect()
    }
}

/// The flips of all bits of one kind of structure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ExhaustiveRow {
    /// Name of the structure: data, counter, tag, or a level of the tree.
    pub structure: String,
    /// Number of bits flipped, one at a time.
    pub flips: u64,
    /// Number of flips by verdict. A flip is harmless if no line in use depends on the bit.
    pub histogram: BTreeMap<Verdict, u64>,
    /// First case of each verdict: the slot and the bit in it.
    pub first_at: BTreeMap<Verdict, (u64, usize)>,
    /// Claim of the design about flips in this structure; `None` if it makes no claim.
    pub claim: Option<End>,
    /// True if the worst verdict is exactly the claim: neither worse nor better.
    pub agrees: bool,
}

impl ExhaustiveRow {
    /// Returns the worst verdict; `None` if no bit was flipped.
    pub fn worst(&self) -> Option<Verdict> {
        self.histogram.keys().next_back().copied()
    }
}

/// The flips of every stored bit of a small memory under one design.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ExhaustiveReport {
    /// Name of the design.
    pub design: String,
    /// Seed of the memory.
    pub seed: u64,
    /// Number of bits flipped, one at a time.
    pub flips: u64,
    /// One row for every kind of structure that the design stores.
    pub rows: Vec<ExhaustiveRow>,
    /// Worst verdict of all rows.
    pub worst: Verdict,
    /// True if all rows agree with the claims of the design.
    pub agrees: bool,
}
