//! Programs with their recovery code survive losses of power, if the machine and the programs follow their rules.

use casemate_campaign::crash::programs::script::Choice;
use casemate_campaign::{ProgramOptions, ProgramReport, survive};
use catalogue::{End, Verdict, design};
use protection::planted::{Bug, PlantedBug};

const PROGRAMS: [&str; 2] = ["log", "btree"];

fn choice(name: &str, settings: &[(&str, &str)]) -> Choice {
    let settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    Choice { name: name.to_owned(), settings }
}

fn lived(under: &str, program: &str, settings: &[(&str, &str)], losses: u64, planted: PlantedBug) -> ProgramReport {
    let options = ProgramOptions { program: choice(program, settings), losses, seed: 1, planted };
    survive(&design(under).unwrap(), &options, &mut |_, _| {}).unwrap()
}

fn ends(report: &ProgramReport) -> Vec<End> {
    report.histogram.keys().copied().collect()
}

#[test]
fn log_and_b_tree_recover_every_committed_operation_after_each_of_1000_power_losses() {
    for under in ["secpb-cobcm", "secpb-nogap", "secure-eadr"] {
        for program in PROGRAMS {
            let report = lived(under, program, &[], 1000, PlantedBug::NONE);
            assert_eq!(report.complaint(), None);
            assert_eq!((report.losses, ends(&report)), (1000, vec![Verdict::Harmless.into()]), "{under}, {program}");
            assert!(report.lives > 10 && 2 * report.operations > report.losses, "{report:?}");
        }
    }
}

#[test]
fn programs_survive_power_losses_as_other_durable_designs_claim() {
    for under in [
        "secpb-bcm",
        "secpb-m",
        "secpb-cm-dbmf",
        "bbb",
        "eadr",
        "plp-sp",
        "plp-sp-dbmf",
        "plp-pipelined",
        "plp-coalesced",
    ] {
        for program in PROGRAMS {
            // A fence at the controller takes longer, and most losses occur before it.
            let losses = if under.starts_with("plp") { 400 } else { 60 };
            let report = lived(under, program, &[], losses, PlantedBug::NONE);
            assert_eq!(report.complaint(), None);
            assert!(report.lives > 1, "{under}, {program}: lives that come to no end say nothing new: {report:?}");
        }
    }
}

#[test]
fn strict_persistency_exposes_a_log_that_commits_before_storing() {
    for under in ["secpb-cobcm", "secpb-nogap", "bbb", "plp-sp"] {
        let report = lived(under, "log", &[("order", "commit-first")], 200, PlantedBug::NONE);
        assert_eq!(ends(&report), [Verdict::Harmless, Verdict::Garbled].map(End::from), "{under}");
        let example = report.example.as_ref().unwrap();
        assert!(example.story.contains("its recovery reports: record"), "{}", example.story);
        let replay = format!("casemate crash {under} --program log --set order=commit-first --losses");
        assert!(example.replay.starts_with(&replay) && report.complaint().is_some(), "{}", example.replay);
    }
}

/// A buffer keeps the order of the program, and so does strict persistency. Under epoch persistency only fences separate stores.
#[test]
fn a_log_without_fences_fails_only_under_epoch_persistency() {
    let unfenced = [("order", "unfenced")];
    for under in ["secpb-cobcm", "secpb-nogap", "plp-sp", "plp-pipelined"] {
        assert_eq!(lived(under, "log", &unfenced, 100, PlantedBug::NONE).complaint(), None);
    }
    let report = lived("plp-coalesced", "log", &unfenced, 100, PlantedBug::NONE);
    assert!(report.worst == Verdict::Garbled || report.worst == Verdict::Stale, "{report:?}");
    assert!(report.complaint().is_some());
}

#[test]
fn programs_lose_data_on_designs_that_lose_metadata_or_caches_with_the_power() {
    for program in PROGRAMS {
        let gap = lived("bbb-gap", program, &[], 60, PlantedBug::NONE);
        // Counters are lost with the power, so their pads are used again.
        let both = End::from(Verdict::Unrecoverable).leaking(true);
        assert_eq!((gap.worst, gap.complaint()), (both, None), "{program}");
        let volatile = lived("sc64-bmt", program, &[], 20, PlantedBug::NONE);
        assert_eq!((volatile.worst, volatile.complaint()), (Verdict::Unrecoverable.into(), None), "{program}");
        let plain = lived("none", program, &[], 60, PlantedBug::NONE);
        assert!(plain.worst > End::from(Verdict::Unrecoverable), "the program's recovery alone finds it: {plain:?}");
    }
}

/// Every line reads as written, so only the ledger detects the leak. The pads of a life stay in the ledger over its losses.
#[test]
fn a_reused_pad_counts_as_a_leak_even_if_the_program_recovers_all_operations() {
    for under in ["secpb-cobcm", "secpb-nogap"] {
        let report = lived(under, "log", &[], 20, PlantedBug::new(Bug::NotCounted));
        assert_eq!(report.worst, Verdict::Leaked, "{under}: {:?}", report.histogram);
        assert!(report.complaint().is_some());
    }
}

/// A program does not use counters or tags. Either it finds that operations are missing or invalid, or memory refuses a line.
#[test]
fn program_recovery_exposes_planted_bugs_of_persistent_designs() {
    let (refused, wrong) = ([Verdict::Unrecoverable].as_slice(), [Verdict::Garbled, Verdict::Stale].as_slice());
    let cases = [
        ("secpb-cobcm", Bug::BatteryStopsEarly, refused),
        ("secpb-m", Bug::CiphertextOfOlderText, wrong),
        ("secpb-cobcm", Bug::DrainedEntryWritten, wrong),
        ("secpb-bcm", Bug::BatteryStopsEarly, refused),
        ("secpb-cm", Bug::BatteryStopsEarly, refused),
        ("secpb-cobcm", Bug::BatteryMovesData, refused),
        ("secpb-nogap", Bug::TagOfOlderText, refused),
        ("secure-eadr", Bug::DirtyLineForgotten, wrong),
        ("secure-eadr", Bug::MetadataNotFlushed, refused),
        ("secure-eadr", Bug::MetadataBeforeLines, refused),
        ("secure-eadr", Bug::RootNotSaved, refused),
        ("plp-sp", Bug::CounterNotPersisted, refused),
    ];
    for (under, bug, expected) in cases {
        for program in PROGRAMS {
            // A store seldom arrives just as its entry leaves.
            let losses = if bug == Bug::DrainedEntryWritten { 400 } else { 100 };
            let report = lived(under, program, &[], losses, PlantedBug::new(bug));
            let found = ends(&report);
            let is_expected = expected.iter().any(|verdict| found.contains(&End::from(*verdict)));
            assert!(is_expected, "{bug:?} under {under}: {program} ends {found:?}");
            assert!(report.complaint().is_some());
        }
    }
}

/// Lives without protection end garbled, stale and otherwise; the first of them need not be the worst.
#[test]
fn the_example_in_a_program_report_has_the_worst_verdict() {
    let report = lived("none", "log", &[], 200, PlantedBug::NONE);
    assert!(ends(&report).len() > 2, "{:?}", report.histogram);
    assert_eq!(report.example.unwrap().end, report.worst);
}

#[test]
fn the_replay_command_of_a_failed_program_life_reproduces_its_failure() {
    let first = lived("bbb-gap", "log", &[], 40, PlantedBug::NONE).example.unwrap();
    let mut words = first.replay.split(' ').skip_while(|word| *word != "--losses").skip(1);
    let losses = words.next().unwrap().parse().unwrap();
    let seed = words.nth(1).unwrap().parse().unwrap();
    let options = ProgramOptions { program: choice("log", &[]), losses, seed, planted: PlantedBug::NONE };
    let again = survive(&design("bbb-gap").unwrap(), &options, &mut |_, _| {}).unwrap();
    assert_eq!((again.lives, again.example), (1, Some(first)));
}
