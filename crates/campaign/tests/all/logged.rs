//! Does a long campaign that was stopped continue from its log, and end as if it had not been stopped?

use casemate_campaign::{LogError, LoggedReport, Options, Plan, attack_rows, run_logged};
use catalogue::Attack;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const ROWS: [Attack; 3] = [Attack::FlipData, Attack::ShortTags, Attack::Denial];
const TRIALS: u64 = 350;

/// Returns the path of a separate log for each test.
fn log(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.jsonl", std::process::id()));
    fs::remove_file(&path).ok();
    path
}

fn plan(trials: u64) -> Plan {
    let designs = ["xts", "ctr-mac"].map(|name| catalogue::design(name).unwrap()).into();
    Plan { designs, attacks: ROWS.into(), seed: 5, trials, budget: None }
}

fn run(trials: u64, log: &Path) -> LoggedReport {
    run_logged(&plan(trials), log, &mut |_| ()).unwrap()
}

#[test]
fn a_campaign_resumed_from_its_log_has_the_result_of_a_single_run() {
    let log = log("pieces");
    let first = run(120, &log);
    assert_eq!((first.resumed, first.added, first.complete), (0, 6 * 120, true));
    let second = run(TRIALS, &log);
    assert_eq!((second.resumed, second.added, second.complete), (6 * 120, 6 * (TRIALS - 120), true));
    let options = Options { trials: TRIALS, seed: 5, ..Options::default() };
    for (report, design) in second.reports.iter().zip(plan(TRIALS).designs) {
        assert_eq!(*report, attack_rows(&design, &ROWS, &options, &mut |_, _| ()));
    }
    let third = run(TRIALS, &log);
    assert_eq!((third.resumed, third.added, &third.reports), (6 * TRIALS, 0, &second.reports));
}

#[test]
fn a_campaign_reruns_trials_of_a_truncated_log_and_refuses_a_foreign_log() {
    let log = log("cut");
    let whole = run(TRIALS, &log);
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, &text[..text.len() - 20]).unwrap();
    let again = run(TRIALS, &log);
    assert!(0 < again.added && again.added < 6 * TRIALS);
    assert_eq!(again.reports, whole.reports);
    fs::write(&log, "nothing of the kind\n").unwrap();
    let error = run_logged(&plan(TRIALS), &log, &mut |_| ()).unwrap_err();
    assert!(matches!(error, LogError::Line(_, 1, _)) && error.to_string().contains("cut-"), "{error}");
}

#[test]
fn a_campaign_refuses_a_device_as_log_without_reading_from_it() {
    // A read of this device would never end.
    let error = run_logged(&plan(1), Path::new("/dev/zero"), &mut |_| ()).unwrap_err().to_string();
    assert_eq!(error, "/dev/zero: it is a pipe or a device: expected a regular file");
}

#[test]
fn a_campaign_ignores_log_entries_of_another_design_configuration_or_seed() {
    let log = log("other");
    run(100, &log);
    let mut other = plan(100);
    other.designs[1].parts.mac.tag_bits = Some(48);
    other.seed = 6;
    assert_eq!(run_logged(&other, &log, &mut |_| ()).unwrap().resumed, 0);
    other.seed = 5;
    assert_eq!(run_logged(&other, &log, &mut |_| ()).unwrap().resumed, 300, "xts is as it was");
}

#[test]
fn a_time_budget_ends_a_campaign_and_a_budget_of_zero_only_reads_its_log() {
    let log = log("budget");
    let endless = Plan { budget: Some(Duration::from_millis(50)), ..plan(u64::MAX) };
    let report = run_logged(&endless, &log, &mut |_| ()).unwrap();
    assert!(report.added > 0 && !report.complete);
    let nothing = Plan { budget: Some(Duration::ZERO), ..plan(u64::MAX) };
    let read = run_logged(&nothing, &log, &mut |_| ()).unwrap();
    assert_eq!((read.resumed, read.added, read.reports), (report.added, 0, report.reports));
}

#[test]
fn an_interrupted_campaign_keeps_the_trials_of_its_complete_batches() {
    let log = log("unwound");
    let mut pieces = 0;
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        run_logged(&plan(TRIALS), &log, &mut |_| {
            pieces += 1;
            if pieces == 3 {
                std::panic::resume_unwind(Box::new("Ctrl-C"));
            }
        })
    }));
    assert!(unwound.is_err());
    assert_eq!(run(TRIALS, &log).resumed, 3 * 100);
}

#[test]
fn a_campaign_of_one_attack_runs_all_its_trials() {
    let log = log("alone");
    let alone =
        Plan { attacks: vec![Attack::FlipData], designs: vec![catalogue::design("none").unwrap()], ..plan(1_000) };
    let report = run_logged(&alone, &log, &mut |_| ()).unwrap();
    assert_eq!((report.added, report.complete), (1_000, true));
}
