//! What campaigns report: plain data, for people, JSON and the Python binding.

use catalogue::{Attack, Design, End, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How often it ended how.
pub type Histogram = BTreeMap<End, u64>;

/// What was counted in all trials of a row together, by what it is.
pub type Counts = BTreeMap<String, u64>;

/// The first case of an end, with all that is needed to see it again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Example {
    /// How it ended.
    pub verdict: End,
    /// The seed of this one trial.
    pub seed: u64,
    /// The line that the attack was about, as a line number.
    pub line: u64,
    /// The bit that was flipped, counted from the start of its slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bit: Option<usize>,
    /// The level of the tree below which everything was replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<usize>,
    /// The command that shows it again.
    pub replay: String,
}

/// One row: an attack on a design.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Outcome {
    /// What the attacker did.
    pub attack: Attack,
    /// Whether it assumes a fault that the design does not have, so that its end is none of the design's.
    pub hypothetical: bool,
    /// How often it ended how. Attacks that are tried at several levels count once for each.
    pub histogram: Histogram,
    /// What was counted, in all trials together; empty for attacks of which only the end matters.
    #[serde(skip_serializing_if = "Counts::is_empty")]
    pub counts: Counts,
    /// The worst end, both of what came out and of what leaked; not-applicable if there was nothing to attack.
    pub worst: End,
    /// The worst end at each level, from the lowest; empty for attacks that have no levels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worst_by_level: Vec<End>,
    /// What the design claims; nothing if it says nothing.
    pub claim: Option<End>,
    /// Whether the worst end, at every level, is exactly what is claimed: neither worse nor better, on either axis.
    pub reached: bool,
    /// Whether the trials do not contradict the claim: it was reached, or nothing was worse and they are fewer than a hundred,
    /// which may miss it.
    pub agrees: bool,
    /// The first case of each end.
    pub examples: Vec<Example>,
}

impl Outcome {
    /// What is wrong with this row in one line, with the command that shows it; nothing if it agrees with its claim.
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
    /// The design's name.
    pub design: String,
    /// What it is, in a sentence.
    pub summary: String,
    /// Its class and where it comes from.
    pub source: String,
    /// What a reviewer would object to, in a word each.
    pub weaknesses: Vec<&'static str>,
    /// What the source has and the model lacks, a sentence each.
    pub leaves_out: Vec<String>,
    /// The seed of the first trial of each row; the others follow.
    pub seed: u64,
    /// Trials of each row.
    pub trials: u64,
    /// A row for every attack that was carried out, in the order of [`Attack::ALL`].
    pub rows: Vec<Outcome>,
    /// Whether all rows agree with their claims.
    pub agrees: bool,
}

impl DesignReport {
    /// The report on a design whose rows had this many trials from this seed on.
    pub fn of(design: &Design, seed: u64, trials: u64, rows: Vec<Outcome>) -> DesignReport {
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

    /// What is wrong, a line for each row that does not agree with its claim.
    pub fn complaints(&self) -> Vec<String> {
        self.rows.iter().filter_map(|row| row.complaint(&self.design)).collect()
    }
}

/// The flips of all bits of one kind of structure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ExhaustiveRow {
    /// Data, counter, tag, or a level of the tree.
    pub structure: String,
    /// Bits flipped, each by itself.
    pub flips: u64,
    /// How often each verdict came out. Harmless are the bits that nothing in use depends on.
    pub histogram: BTreeMap<Verdict, u64>,
    /// The first case of each verdict: the slot and the bit in it.
    pub first_at: BTreeMap<Verdict, (u64, usize)>,
    /// What the design claims about flips in such a structure; nothing if it says nothing.
    pub claim: Option<End>,
    /// Whether the worst verdict is exactly what is claimed: neither worse nor better.
    pub agrees: bool,
}

impl ExhaustiveRow {
    /// The worst verdict; nothing if no bit was flipped.
    pub fn worst(&self) -> Option<Verdict> {
        self.histogram.keys().next_back().copied()
    }
}

/// The flips of every stored bit of a small memory under one design.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ExhaustiveReport {
    /// The design's name.
    pub design: String,
    /// The seed of the memory.
    pub seed: u64,
    /// Bits flipped, each by itself.
    pub flips: u64,
    /// A row for every kind of structure that the design stores.
    pub rows: Vec<ExhaustiveRow>,
    /// The worst verdict of all.
    pub worst: Verdict,
    /// Whether all rows agree with what the design claims.
    pub agrees: bool,
}
