//! Histories over several sessions, with an attacker at run time, on battery and while power is off.

use crate::common::swept::{an_eighth, share_of_tests, side_by_side};
use casemate_campaign::crash::over_sessions::{SearchLimits, SearchReport, drawn, search};
use catalogue::{Design, Verdict, design, designs};
use protection::planted::PlantedBug;
use std::collections::BTreeMap;

/// Carries out histories of a design, and returns the number of each verdict.
fn verdicts(design: &Design, histories: u64, planted: PlantedBug) -> BTreeMap<Verdict, u64> {
    let setup = drawn::setup(&design.parts, 1, planted);
    let mut found = BTreeMap::new();
    for seed in 0..histories {
        for case in drawn::carry_out(&design.parts, &setup, seed).cases {
            *found.entry(case.verdict).or_default() += 1;
        }
    }
    found
}

fn of_class_c5() -> Vec<Design> {
    designs().into_iter().filter(|design| design.design_class == "C5").collect()
}

#[test]
fn no_history_over_three_sessions_releases_old_data_or_reuses_a_pad_under_class_c5() {
    side_by_side(an_eighth(of_class_c5(), share_of_tests()), |design| {
        let found = verdicts(&design, 400, PlantedBug::NONE);
        assert!(found.keys().all(|verdict| *verdict <= Verdict::Detected), "{}: {found:?}", design.name);
        assert!(found[&Verdict::Detected] > 100 && found[&Verdict::Harmless] > 10, "{}: {found:?}", design.name);
    });
}

#[test]
fn a_history_over_several_sessions_is_determined_by_its_seed() {
    let design = design("secpb-cm").unwrap();
    let setup = drawn::setup(&design.parts, 1, PlantedBug::NONE);
    let story = |seed| drawn::carry_out(&design.parts, &setup, seed).cases[0].story.clone();
    assert_eq!(story(3), story(3));
    assert_ne!(story(3), story(4));
}

fn searched(name: &str, limits: SearchLimits, planted: PlantedBug) -> SearchReport {
    search(&design(name).unwrap().parts, limits, planted, &mut |_| true)
}

#[test]
fn a_search_through_all_histories_of_five_steps_finds_no_harm() {
    for name in ["secpb-cobcm", "secpb-nogap"] {
        let report = searched(name, SearchLimits { actions: 5, attacks: 2 }, PlantedBug::NONE);
        assert_eq!((report.depth, &report.finding), (5, &None), "{name}");
        assert!(report.states > 1_000 && report.steps > report.states as u64, "{name}: {report:?}");
    }
}

#[cfg(feature = "planted-bugs")]
mod planted {
    use super::*;
    use protection::planted::SessionBug;

    #[test]
    fn histories_over_sessions_find_an_unregistered_drain_in_a_stopped_renewal() {
        let bug = PlantedBug::new(SessionBug::DrainedInRenewalUnregistered.into());
        let found = verdicts(&design("secpb-cobcm").unwrap(), 4_000, bug);
        assert!(found.contains_key(&Verdict::Stale) && found.contains_key(&Verdict::Leaked), "{found:?}");
    }

    #[test]
    fn histories_over_sessions_find_a_renewal_that_forgets_lost_lines() {
        for name in ["secpb-cobcm", "secpb-nogap"] {
            let found = verdicts(&design(name).unwrap(), 6_000, PlantedBug::new(SessionBug::RenewalFindsLost.into()));
            assert!(found.contains_key(&Verdict::Stale), "{name}: {found:?}");
        }
    }

    #[test]
    fn a_search_of_five_steps_finds_both_holes_of_stopped_renewals_and_lost_lines() {
        let limits = SearchLimits { actions: 5, attacks: 2 };
        for bug in [SessionBug::DrainedInRenewalUnregistered, SessionBug::RenewalFindsLost] {
            let report = searched("secpb-cobcm", limits, PlantedBug::new(bug.into()));
            let (story, verdict) = report.finding.unwrap_or_else(|| panic!("{bug:?} is not found"));
            assert!(verdict > Verdict::Detected, "{bug:?}: {story}");
        }
    }
}

#[test]
#[ignore = "ten minutes for each design: `make campaign`"]
fn a_search_of_ten_minutes_through_histories_of_nine_steps_finds_no_harm() {
    for name in ["secpb-cobcm", "secpb-nogap"] {
        let begun = std::time::Instant::now();
        let in_time = &mut |_: &SearchReport| begun.elapsed().as_secs() < 600;
        let limits = SearchLimits { actions: 9, attacks: 3 };
        let report = search(&design(name).unwrap().parts, limits, PlantedBug::NONE, in_time);
        println!("{name}: all histories of {} steps, {} states, {} steps", report.depth, report.states, report.steps);
        assert_eq!(report.finding, None, "{name}");
    }
}
