//! Campaigns: each attack, many times, on a fresh victim each time, compared with what the design claims.
//!
//! # Fairness
//! The attacker strikes between two accesses, while the metadata caches are empty. It may read and write every byte in
//! memory and remembers earlier ones; the chip is out of its reach. Then the victim reads every line whose reading depends
//! on something that was changed, the target first, and the worst verdict counts.
//!
//! # Seeds
//! Trial `i` of a row has the seed `seed + i` and depends on nothing else, so that any trial can be run alone.

use crate::attacker::{self, Strike};
use crate::report::{DesignReport, Example, Histogram, Outcome};
use crate::victim::Victim;
use protection::planted::Planted;
use systems::{Attack, Design, Verdict};
use units::LineAddr;
use units::random::Random;

/// How a campaign is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Trials of each row.
    pub trials: u64,
    /// The seed of the first trial.
    pub seed: u64,
    /// A deliberate weakness, or none.
    pub planted: Planted,
}

impl Default for Options {
    fn default() -> Options {
        Options { trials: 100, seed: 1, planted: Planted::NONE }
    }
}

/// Sets the attacker's choices apart from those of the victim, which has the same seed.
const ATTACKER_SALT: u64 = 0xa77a_c4e2;

/// Runs one row: an attack on a design.
///
/// # Panics
/// If the design's parts make no sense together, which [`Design::parse`] rules out.
pub fn attack(design: &Design, attack: Attack, options: &Options) -> Outcome {
    let mut row = Row { design, attack, histogram: Histogram::new(), worst_by_level: Vec::new(), examples: Vec::new() };
    for trial in 0..options.trials {
        row.run_trial(options.seed.wrapping_add(trial), options.planted);
    }
    row.finish()
}

/// Runs every row of a design. `progress` is told how many rows are done, and of how many.
///
/// # Panics
/// As [`attack`].
pub fn attack_design(design: &Design, options: &Options, progress: &mut dyn FnMut(usize, usize)) -> DesignReport {
    attack_rows(design, Attack::ALL, options, progress)
}

/// Runs some rows of a design. `progress` is told how many of them are done, and of how many.
///
/// # Panics
/// As [`attack`].
pub fn attack_rows(
    design: &Design,
    attacks: &[Attack],
    options: &Options,
    progress: &mut dyn FnMut(usize, usize),
) -> DesignReport {
    let mut rows = Vec::new();
    for row in attacks {
        progress(rows.len(), attacks.len());
        rows.push(attack(design, *row, options));
    }
    progress(rows.len(), attacks.len());
    DesignReport {
        design: design.name.clone(),
        summary: design.summary.clone(),
        source: design.source.clone(),
        weaknesses: design.parts.weaknesses(),
        seed: options.seed,
        trials: options.trials,
        agrees: rows.iter().all(|row| row.agrees),
        rows,
    }
}

/// Runs every row of every design. `progress` is told how many rows of all are done, and of how many.
///
/// # Panics
/// As [`attack`].
pub fn attack_all(designs: &[Design], options: &Options, progress: &mut dyn FnMut(usize, usize)) -> Vec<DesignReport> {
    let attack_one = |(index, design)| {
        attack_design(design, options, &mut |done, of| progress(index * of + done, designs.len() * of))
    };
    designs.iter().enumerate().map(attack_one).collect()
}

/// A row in the making.
struct Row<'a> {
    design: &'a Design,
    attack: Attack,
    histogram: Histogram,
    worst_by_level: Vec<Verdict>,
    examples: Vec<Example>,
}

impl Row<'_> {
    fn run_trial(&mut self, seed: u64, planted: Planted) {
        let new_victim = || {
            Victim::with_past(&self.design.parts, seed, planted)
                .unwrap_or_else(|rule| panic!("design {} was never checked: {rule}", self.design.name))
        };
        let victim = new_victim();
        let levels = attacker::levels(self.attack, victim.map().levels());
        self.note(seed, levels.start, strike_and_judge(&victim, self.attack, levels.start, seed));
        for level in levels.skip(1) {
            self.note(seed, level, strike_and_judge(&new_victim(), self.attack, level, seed));
        }
    }

    fn note(&mut self, seed: u64, level: usize, ended: Option<(Strike, Verdict)>) {
        let verdict = ended.map_or(Verdict::NotApplicable, |(_, verdict)| verdict);
        *self.histogram.entry(verdict).or_default() += 1;
        self.worst_by_level.resize(self.worst_by_level.len().max(level + 1), Verdict::NotApplicable);
        self.worst_by_level[level] = self.worst_by_level[level].max(verdict);
        if let Some((strike, verdict)) = ended
            && self.examples.iter().all(|example| example.verdict != verdict)
        {
            let (design, row) = (&self.design.name, self.attack);
            self.examples.push(Example {
                verdict,
                seed,
                line: strike.target.0,
                bit: strike.bit,
                level: (row == Attack::ReplayBelowLevel).then_some(level),
                replay: format!("casemate attack {design} --row {row} --seed {seed} --trials 1"),
            });
        }
    }

    fn finish(self) -> Outcome {
        let claim = self.design.claims.about(self.attack);
        let agrees = !self.worst_by_level.is_empty() && self.worst_by_level.iter().all(|worst| claim == Some(*worst));
        let has_levels = self.attack == Attack::ReplayBelowLevel;
        Outcome {
            attack: self.attack,
            worst: self.worst_by_level.iter().copied().max().unwrap_or(Verdict::NotApplicable),
            histogram: self.histogram,
            worst_by_level: if has_levels { self.worst_by_level } else { Vec::new() },
            claim,
            agrees,
            examples: self.examples,
        }
    }
}

/// Strikes once and reads everything affected; nothing if the design has nothing of the kind to attack.
fn strike_and_judge(victim: &Victim, attack: Attack, level: usize, seed: u64) -> Option<(Strike, Verdict)> {
    let mut random = Random::new(seed ^ ATTACKER_SALT);
    let (strike, affected) = victim.attacked(|bus| {
        let strike = attacker::strike(attack, level, bus, &mut random)?;
        Some((strike, bus.affected_lines()))
    })?;
    let wished = victim.oracle().wished_bytes(strike.target, strike.wish);
    let others = affected.into_iter().filter(|line| *line != strike.target);
    let judge = |line: LineAddr| {
        let wished = wished.filter(|_| line == strike.target);
        victim.oracle().judge(line, &victim.read(line).0, wished)
    };
    let worst = std::iter::once(strike.target).chain(others).map(judge).max()?;
    Some((strike, worst))
}
