//! The planted bugs that store a key in memory: the cold-boot attack finds keys of every size, expanded or not.

use casemate_campaign::{Options, attack};
use catalogue::{Attack, Verdict};
use protection::design::CipherChoice;
use protection::planted::{Bug, PlantedBug};

/// Bugs that only a stolen module reveals.
pub const BUGS: [Bug; 2] = [Bug::ScheduleSpilled, Bug::KeySpilled];

const TRIALS: u64 = 12;

/// Returns the end of the row with this cipher in a design with a tree, and the value of this count.
fn stolen(cipher: CipherChoice, planted: PlantedBug, counted: &str) -> (Verdict, u64) {
    let mut design = catalogue::design("sc64-bmt").unwrap();
    design.parts.cipher = cipher;
    let outcome = attack(&design, Attack::ColdBoot, &Options { trials: TRIALS, seed: 1, planted });
    (outcome.worst.verdict(), outcome.counts[counted])
}

#[test]
fn round_keys_in_memory_are_found_for_every_size_of_aes() {
    for cipher in [CipherChoice::Aes128Counter, CipherChoice::Aes192Counter, CipherChoice::Aes256Counter] {
        let found = |planted| stolen(cipher, planted, "key schedules found");
        assert_eq!(found(PlantedBug::new(Bug::ScheduleSpilled)), (Verdict::Leaked, TRIALS), "{cipher:?}");
        assert_eq!(found(PlantedBug::NONE), (Verdict::Hidden, 0), "{cipher:?}");
    }
}

#[test]
fn the_attack_finds_an_unexpanded_key_of_aes_or_triple_des_in_memory() {
    let aes = [CipherChoice::Aes128Counter, CipherChoice::Aes192Counter, CipherChoice::Aes256Counter];
    for cipher in aes.into_iter().chain([CipherChoice::TdesCounter]) {
        let found = |planted| stolen(cipher, planted, "keys found");
        assert_eq!(found(PlantedBug::new(Bug::KeySpilled)), (Verdict::Leaked, TRIALS), "{cipher:?}");
        assert_eq!(found(PlantedBug::NONE), (Verdict::Hidden, 0), "{cipher:?}");
    }
}

#[test]
fn the_data_and_tag_replay_attack_does_not_find_a_key_in_memory() {
    for bug in BUGS {
        let design = catalogue::design("sc64-bmt").unwrap();
        let options = Options { trials: TRIALS, seed: 1, planted: PlantedBug::new(bug) };
        assert!(attack(&design, Attack::ReplayDataTag, &options).agrees, "{bug:?}");
    }
}

/// The ledger survives the reset if the keys do: in the new boot each pad serves only once, so a new ledger would not show
/// the reuse.
#[test]
fn keys_kept_across_a_reset_reuse_the_pads_of_the_previous_boot() {
    let design = catalogue::design("ctr-only").unwrap();
    let leaks = |planted| {
        attack(&design, Attack::RollbackThenReboot, &Options { trials: TRIALS, seed: 1, planted }).worst.leaks()
    };
    assert!(leaks(PlantedBug::new(Bug::KeysSurviveReset)));
    assert!(!leaks(PlantedBug::NONE));
}
