//! Leakage by addresses on the bus, over many games: an observer guesses which of two programs ran. If a design
//! permutes lines, the guesses are no better than chance; in other designs, all guesses are right.

use crate::common::swept::every_one;
use casemate_campaign::{AttackOutcome, Options, attack};
use catalogue::{Attack, Verdict, design};
use protection::design::PermutationDesign;
use protection::moving::PermutationTime;
use protection::planted::{PageChunkBug, PlantedBug};

/// Standard deviations by which a share of right guesses may differ from one half.
const DEVIATIONS: f64 = 4.5;

fn played(name: &str, row: Attack, trials: u64) -> AttackOutcome {
    attack(&design(name).unwrap(), row, &Options { trials, ..Options::default() })
}

/// Returns the right guesses of each strategy, with the number of games.
fn guesses(outcome: &AttackOutcome) -> Vec<(String, u64, u64)> {
    let right = outcome.counts.iter().filter(|(what, _)| what.starts_with("right by "));
    right.map(|(what, right)| (what.clone(), *right, outcome.counts[games_of(what)])).collect()
}

/// Returns the name under which the games of a strategy are counted.
fn games_of(strategy: &str) -> &'static str {
    let kinds = ["games with an earlier start", "games on pages used in part"];
    kinds.into_iter().find(|games| strategy.ends_with(&games["games".len()..])).unwrap_or("games")
}

/// Returns the strategies with guesses that are not those of a coin.
fn better_than_chance(outcome: &AttackOutcome) -> Vec<(String, u64, u64)> {
    let is_chance = |right: u64, games: u64| {
        let (right, games) = (right as f64, games as f64);
        (right - games / 2.0).abs() <= DEVIATIONS * games.sqrt() / 2.0
    };
    guesses(outcome).into_iter().filter(|(_, right, games)| !is_chance(*right, *games)).collect()
}

/// Plays 10^4 games of each kind with CASEMATE_SWEEPS=all, else 96 or 144.
fn no_strategy_guesses_better_than_a_coin(name: &str, row: Attack) {
    let outcome = played(name, row, if every_one() { 1260 } else { 12 });
    assert_eq!(better_than_chance(&outcome), [], "{name}, {row}");
    assert_eq!(outcome.counts["games with eight permutations"], outcome.counts["games"], "{name}, {row}");
}

// One test for each design, so that long games run in parallel.
#[test]
fn the_address_pattern_of_cryptopage_does_not_reveal_which_program_runs() {
    no_strategy_guesses_better_than_a_coin("cryptopage", Attack::AddressPattern);
}

#[test]
fn addresses_and_data_of_cryptopage_on_the_bus_do_not_reveal_which_program_runs() {
    no_strategy_guesses_better_than_a_coin("cryptopage", Attack::AddressAndData);
}

#[test]
fn the_address_pattern_of_cryptopage_basic_does_not_reveal_which_program_runs() {
    no_strategy_guesses_better_than_a_coin("cryptopage-basic", Attack::AddressPattern);
}

#[test]
fn the_address_pattern_of_hide_does_not_reveal_which_program_runs() {
    no_strategy_guesses_better_than_a_coin("hide", Attack::AddressPattern);
}

#[test]
fn fixed_addresses_or_plaintext_data_reveal_the_program_in_99_percent_of_games() {
    let nearly_always = |outcome: &AttackOutcome, strategy: &str| {
        let (right, games) = (outcome.counts[strategy], outcome.counts["games"]);
        assert!(right * 100 >= games * 99, "{strategy}: {right} of {games}");
    };
    for name in ["none", "sc64-bmt", "xts"] {
        nearly_always(&played(name, Attack::AddressPattern, 4), "right by place");
    }
    nearly_always(&played("hide", Attack::AddressAndData, 4), "right by content");
}

/// A design with free permutations is the same design on the bus: only its time differs.
#[test]
fn each_row_ends_equally_whatever_the_time_of_permutations() {
    let charged = design("cryptopage").unwrap();
    for time in [PermutationTime::Free, PermutationTime::IdleBus] {
        let mut other = charged.clone();
        other.parts.permutation = other.parts.permutation.map(|own| PermutationDesign { time, ..own });
        for row in [Attack::DuplicateWrite, Attack::ReorderWrites, Attack::DropWrite, Attack::AddressPattern] {
            let options = Options { trials: 6, ..Options::default() };
            let [before, after] = [&charged, &other].map(|design| attack(design, row, &options));
            assert_eq!((before.worst, before.counts), (after.worst, after.counts), "{row}, {time:?}");
        }
    }
}

/// A chip that draws its random numbers from the seed of its keys draws the same at every start. With other draws at each
/// start, the same games are those of a coin.
#[test]
fn an_observer_of_equal_draws_recognises_the_program_of_every_start() {
    let planted = PlantedBug::new(PageChunkBug::DrawsFromKeys.into());
    for (row, measures) in [(Attack::AddressPattern, 2), (Attack::AddressAndData, 3)] {
        let options = Options { trials: 2, planted, ..Options::default() };
        let outcome = attack(&design("cryptopage").unwrap(), row, &options);
        let better = better_than_chance(&outcome);
        assert!(better.iter().all(|(what, right, games)| what.ends_with("an earlier start") && right == games));
        assert_eq!((better.len(), outcome.worst), (measures, Verdict::Leaked.into()), "{row}: {better:?}");
    }
}

/// Permutations that write unused lines as blanks show, at each fill, whether the line was used before. Without blanks,
/// the same games are those of a coin (`addresses_and_data_of_cryptopage_...`).
#[test]
fn an_observer_of_blank_slots_is_right_in_every_game_on_pages_used_in_part() {
    let planted = PlantedBug::new(PageChunkBug::UnusedLinesBlank.into());
    for name in ["cryptopage", "cryptopage-os", "cryptopage-basic"] {
        let options = Options { trials: 2, planted, ..Options::default() };
        let outcome = attack(&design(name).unwrap(), Attack::AddressAndData, &options);
        let right = outcome.counts["right by blanks on pages used in part"];
        assert_eq!(
            (right, outcome.worst),
            (outcome.counts["games on pages used in part"], Verdict::Leaked.into()),
            "{name}"
        );
        let others = better_than_chance(&outcome);
        assert_eq!(others.len(), 1, "{name}: {others:?}");
    }
}
