//! Bugs that appear only with concurrent events: a crowd finds them, on a machine where every transfer takes time.

use crate::common::crowd::{Scene, crowd};
use crate::common::with_caches;
use casemate_campaign::honest;
use protection::design::Parts;
use protection::planted::{Bug, PlantedBug};
use protection::tree::ForestDesign;

/// Bugs that are caught here.
pub const BUGS: [Bug; 7] = [
    Bug::BootUnderNextCounter,
    Bug::OutdatedCopyEnters,
    Bug::VoidCountersServe,
    Bug::FoldLosesNews,
    Bug::RenewalLetsOthersIn,
    Bug::EarlyFetchUnchecked,
    Bug::UnreadyGathered,
];

/// Number of crowds, enough to find each of the bugs.
const SEEDS: u64 = 12;

fn parts(bug: Bug) -> Parts {
    let named = |name| catalogue::design(name).unwrap().parts;
    match bug {
        Bug::BootUnderNextCounter | Bug::RenewalLetsOthersIn | Bug::EarlyFetchUnchecked => named("sc64-bmt"),
        Bug::UnreadyGathered => named("plp-coalesced"),
        Bug::FoldLosesNews => {
            let mut parts = named("dbmf");
            // The number of roots is so small that they change all the time.
            parts.tree.forest = Some(ForestDesign::Dynamic { entries: 2, period: 3, threshold: 0 });
            parts
        }
        _ => named("emcc"),
    }
}

/// Returns the errors of crowds with this bug, or without one.
fn wrongs(bug: Bug, planted: PlantedBug) -> Vec<String> {
    let parts = parts(bug);
    let crowds = (0..SEEDS).map(|seed| crowd(&with_caches(&parts, seed), Scene { seed, planted, ..Scene::default() }));
    crowds.filter_map(Result::err).collect()
}

#[test]
fn concurrent_accesses_expose_planted_bugs_that_ignore_changes_of_lines_in_flight() {
    for bug in BUGS {
        let found = wrongs(bug, PlantedBug::new(bug));
        assert!(found.len() as u64 > SEEDS / 2, "{bug:?}: {} of {SEEDS}", found.len());
        assert!(
            found.iter().all(|wrong| ["a false alarm", "another version"].iter().any(|word| wrong.contains(word))),
            "{bug:?}: {found:?}"
        );
    }
}

#[test]
fn concurrent_accesses_without_a_planted_bug_read_right_on_the_same_designs() {
    for bug in [Bug::BootUnderNextCounter, Bug::OutdatedCopyEnters, Bug::FoldLosesNews, Bug::UnreadyGathered] {
        assert_eq!(wrongs(bug, PlantedBug::NONE), Vec::<String>::new());
    }
}

#[test]
fn planted_concurrency_bugs_remain_unnoticed_in_sequential_accesses() {
    for bug in [Bug::OutdatedCopyEnters, Bug::VoidCountersServe, Bug::FoldLosesNews] {
        assert_eq!(honest(&parts(bug), 2_000, 1, PlantedBug::new(bug)).unwrap().finding, None, "{bug:?}");
    }
}
