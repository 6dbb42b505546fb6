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
use crate::report::{DesignReport, Example, Outcome};
use crate::scenes::{self, Stage};
use crate::tally::Tally;
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
    tally(design, attack, options).outcome(design, attack)
}

/// Runs some trials of a row, which may be part of more.
///
/// # Panics
/// As [`attack`].
pub fn tally(design: &Design, attack: Attack, options: &Options) -> Tally {
    let mut tally = Tally::default();
    for trial in 0..options.trials {
        run_trial(&mut tally, design, attack, options.seed.wrapping_add(trial), options.planted);
    }
    tally
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
    DesignReport::of(design, options.seed, options.trials, rows)
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

/// Carries out one trial of an attack, at each of its levels.
fn run_trial(tally: &mut Tally, design: &Design, attack: Attack, seed: u64, planted: Planted) {
    let new_victim = || {
        Victim::with_past(&design.parts, seed, planted)
            .unwrap_or_else(|rule| panic!("design {} was never checked: {rule}", design.name))
    };
    let victim = new_victim();
    if let Some(scene) = scenes::scene(attack) {
        let random = Random::new(seed ^ ATTACKER_SALT);
        let ended = scene(Stage { parts: &design.parts, victim, random, seed, planted });
        tally.note(0, ended.as_ref().map_or(Verdict::NotApplicable, |ended| ended.verdict));
        if let Some(ended) = ended {
            ended.counts.iter().for_each(|(what, number)| tally.count(what, *number));
            tally.show(example(design, attack, seed, ended.verdict, ended.line));
        }
        return;
    }
    let levels = attacker::levels(attack, victim.map().levels());
    note_strike(tally, design, attack, seed, levels.start, &victim);
    for level in levels.skip(1) {
        note_strike(tally, design, attack, seed, level, &new_victim());
    }
}

fn note_strike(tally: &mut Tally, design: &Design, attack: Attack, seed: u64, level: usize, victim: &Victim) {
    let ended = strike_and_judge(victim, attack, level, seed);
    tally.note(level, ended.map_or(Verdict::NotApplicable, |(_, verdict)| verdict));
    if let Some((strike, verdict)) = ended {
        let level = (attack == Attack::ReplayBelowLevel).then_some(level);
        tally.show(Example { bit: strike.bit, level, ..example(design, attack, seed, verdict, strike.target) });
    }
}

fn example(design: &Design, attack: Attack, seed: u64, verdict: Verdict, line: LineAddr) -> Example {
    let replay = format!("casemate attack {} --row {attack} --seed {seed} --trials 1", design.name);
    Example { verdict, seed, line: line.0, bit: None, level: None, replay }
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
