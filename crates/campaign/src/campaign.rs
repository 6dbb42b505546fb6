//! Campaigns: each attack runs many times, each time on a separate victim, and the campaign compares its ends with the
//! claims of the design. A *row* of a campaign is one attack on one design.
//!
//! # Fairness
//! The attacker strikes between two accesses, while the metadata caches are empty. It may read and write every byte in
//! memory, and remembers earlier content; it cannot reach the chip. Then the victim reads the target line, and after it
//! every other line that depends on a changed slot. The worst verdict of these reads counts.
//!
//! # Seeds
//! Trial `i` of a row has the seed `seed + i` and depends on no other state, so that any single trial can run separately.
//!
//! # One past for all rows
//! A victim's past depends on the design and the seed, not on the attack, and takes longer than most attacks. So the
//! campaign runs all rows for one seed before the next seed. It creates the past once, and each row, and each level of
//! a row, gets a copy of the victim. A copy cannot be distinguished from a fresh victim, which a test checks.

use crate::attacker::{self, Strike};
use crate::report::{AttackOutcome, DesignReport, Example};
use crate::scenes::{self, SceneInput};
use crate::tally::Tally;
use crate::victim::Victim;
use catalogue::{Attack, Design, End};
use protection::planted::PlantedBug;
use units::LineAddr;
use units::random::Random;

/// Options of a campaign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Number of trials of each row.
    pub trials: u64,
    /// Seed of the first trial.
    pub seed: u64,
    /// A deliberate weakness, if any.
    pub planted: PlantedBug,
}

impl Default for Options {
    fn default() -> Options {
        Options { trials: 100, seed: 1, planted: PlantedBug::NONE }
    }
}

/// Separates the attacker's choices from those of the victim, which has the same seed.
const ATTACKER_SALT: u64 = 0xa77a_c4e2;

/// Runs one row: an attack on a design.
///
/// # Panics
/// If the design's parts do not fit together, which [`Design::parse`] rules out.
pub fn attack(design: &Design, attack: Attack, options: &Options) -> AttackOutcome {
    tallies(design, &[attack], options, &mut |_| true).swap_remove(0).outcome(design, attack)
}

/// Runs a range of trials of several rows, and tallies each row separately. After each trial, `go_on` receives the
/// number of finished trials of every row; if it returns false, the run ends early.
///
/// # Panics
/// The same as for [`attack`].
pub fn tallies(
    design: &Design,
    attacks: &[Attack],
    options: &Options,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Vec<Tally> {
    tallies_of(design, attacks, &|_, _| true, options, go_on)
}

/// Like [`tallies`], for the trials that `has` selects for each row.
fn tallies_of(
    design: &Design,
    attacks: &[Attack],
    has: &dyn Fn(Attack, u64) -> bool,
    options: &Options,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Vec<Tally> {
    let mut tallies = vec![Tally::default(); attacks.len()];
    for trial in 0..options.trials {
        let seed = options.seed.wrapping_add(trial);
        let one = TrialInputs { design, seed, planted: options.planted };
        let past = one.victim();
        for (tally, attack) in tallies.iter_mut().zip(attacks).filter(|(_, attack)| has(**attack, trial)) {
            one.run(tally, *attack, &|| past.twin());
        }
        if !go_on(trial + 1) {
            break;
        }
    }
    tallies
}

/// Returns true if a row has this trial when several rows run: a row with many games a trial has every fourth only.
fn has_trial(attack: Attack, trial: u64) -> bool {
    let plays = matches!(attack, Attack::AddressPattern | Attack::AddressAndData);
    !plays || trial.is_multiple_of(4)
}

/// Runs every row of a design. `progress` receives the number of finished trials of all rows, and their total.
///
/// # Panics
/// The same as for [`attack`].
pub fn attack_design(design: &Design, options: &Options, progress: &mut dyn FnMut(usize, usize)) -> DesignReport {
    attack_rows(design, Attack::ALL, options, progress)
}

/// Runs some rows of a design. `progress` receives the number of finished trials of these rows, and their total.
///
/// # Panics
/// The same as for [`attack`].
pub fn attack_rows(
    design: &Design,
    attacks: &[Attack],
    options: &Options,
    progress: &mut dyn FnMut(usize, usize),
) -> DesignReport {
    let is_alone = attacks.len() == 1;
    let has = |attack, trial| is_alone || has_trial(attack, trial);
    let tallies = tallies_of(design, attacks, &has, options, &mut |done| {
        progress(done as usize, options.trials as usize);
        true
    });
    let rows = attacks.iter().zip(tallies).map(|(attack, tally)| tally.outcome(design, *attack)).collect();
    DesignReport::of(design, options.seed, options.trials, rows)
}

/// Runs every row of every design. `progress` receives the number of finished trials of all rows of all designs, and their
/// total.
///
/// # Panics
/// The same as for [`attack`].
pub fn attack_all(designs: &[Design], options: &Options, progress: &mut dyn FnMut(usize, usize)) -> Vec<DesignReport> {
    let attack_one = |(index, design)| {
        attack_design(design, options, &mut |done, of| progress(index * of + done, designs.len() * of))
    };
    designs.iter().enumerate().map(attack_one).collect()
}

/// Inputs of a trial, the same for all attacks.
#[derive(Clone, Copy)]
struct TrialInputs<'a> {
    design: &'a Design,
    seed: u64,
    planted: PlantedBug,
}

impl TrialInputs<'_> {
    /// Creates the victim with its past, before any attack.
    fn victim(&self) -> Victim {
        Victim::with_past(&self.design.parts, self.seed, self.planted)
            .unwrap_or_else(|rule| panic!("design {} was never checked: {rule}", self.design.name))
    }

    /// Carries out an attack, with a separate victim for each of its levels.
    fn run(&self, tally: &mut Tally, attack: Attack, victim: &dyn Fn() -> Victim) {
        let (seed, planted, alias_check) = (self.seed, self.planted, self.design.alias_check);
        let first = victim();
        if let Some(scene) = scenes::scene(attack) {
            let random = Random::new(seed ^ ATTACKER_SALT);
            let ended =
                scene(SceneInput { parts: &self.design.parts, alias_check, victim: first, random, seed, planted });
            tally.note(0, ended.as_ref().map_or(End::NONE, |ended| ended.end));
            if let Some(ended) = ended {
                ended.counts.iter().for_each(|(what, number)| tally.count(what, *number));
                tally.show(ended.end, || example(self.design, attack, seed, ended.end, ended.line));
            }
            return;
        }
        let levels = attacker::levels(attack, first.map().levels());
        note_strike(tally, self.design, attack, seed, levels.start, &first);
        for level in levels.skip(1) {
            note_strike(tally, self.design, attack, seed, level, &victim());
        }
    }
}

fn note_strike(tally: &mut Tally, design: &Design, attack: Attack, seed: u64, level: usize, victim: &Victim) {
    let ended = strike_and_judge(victim, attack, level, seed);
    tally.note(level, ended.map_or(End::NONE, |(_, end)| end));
    if let Some((strike, end)) = ended {
        tally.show(end, || {
            let level = (attack == Attack::ReplayBelowLevel).then_some(level);
            Example { bit: strike.bit, level, ..example(design, attack, seed, end, strike.target) }
        });
    }
}

fn example(design: &Design, attack: Attack, seed: u64, verdict: End, line: LineAddr) -> Example {
    let replay = format!("casemate attack {} --row {attack} --replay {seed}", design.called());
    Example { verdict, seed, line: line.0, bit: None, level: None, replay }
}

/// Strikes once and reads all affected lines; `None` if the design has no structure to attack.
fn strike_and_judge(victim: &Victim, attack: Attack, level: usize, seed: u64) -> Option<(Strike, End)> {
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
    Some((strike, worst.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One design of each kind of state on the chip: copies in L2s, a shared cache, tuples, random draws, a forest, versions.
    const DESIGNS: [&str; 8] =
        ["none", "cryptopage-fixed", "dbmf", "emcc", "merkle-full", "morphable", "plp-sp", "sc64-bmt-speculative"];

    #[test]
    fn a_cloned_victim_yields_the_same_attack_outcome_as_a_freshly_built_one() {
        for design in DESIGNS.map(|name| catalogue::design(name).unwrap()) {
            // An odd seed has tiny caches, an even one those of the design.
            for seed in [11, 12] {
                let trial = TrialInputs { design: &design, seed, planted: PlantedBug::NONE };
                let past = trial.victim();
                for attack in Attack::ALL {
                    let ended = |victim: &dyn Fn() -> Victim| {
                        let mut tally = Tally::default();
                        trial.run(&mut tally, *attack, victim);
                        tally
                    };
                    assert_eq!(ended(&|| past.twin()), ended(&|| trial.victim()), "{}, {attack}, {seed}", design.name);
                }
            }
        }
    }
}
