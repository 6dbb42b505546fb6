//! Tampering while power is off on the whole machine: an attacker flips a bit in each of some stored lines.

use crate::common::{kernel, machine_for};
use casemate_runner::power_loss::{At, LossOptions, LossOutcome, TamperOutcome, lose_power};
use casemate_runner::{RunControl, RunError, RunOptions};
use catalogue::Verdict;
use std::collections::BTreeSet;
use units::Bytes;

/// Designs that detect tampering while power is off.
const DETECTING: [&str; 8] = [
    "secpb-cobcm",
    "secpb-nogap",
    "secpb-m",
    "secpb-cm-dbmf",
    "plp-sp",
    "plp-pipelined",
    "plp-coalesced",
    "secure-eadr",
];
/// Instructions before the loss.
const INSTRUCTIONS: u64 = 4_000;

fn options(design: &str, seed: u64) -> RunOptions {
    let mut machine = machine_for(design);
    machine.memory.size = Bytes(64 << 20);
    (machine.llc.size, machine.llc.ways) = (Bytes(64 << 10), 4);
    RunOptions { seed, ..RunOptions::new(machine, catalogue::design(design).unwrap(), 10_000) }
}

fn lost(design: &str, seed: u64, loss: LossOptions) -> Result<LossOutcome, RunError> {
    // Without flushes, the counters of epochs stay on the chip.
    let workload = if design == "plp-coalesced" { "log" } else { "gups" };
    let source = kernel(workload, &[("footprint", "64KB")], seed);
    lose_power(&options(design, seed), vec![source], loss, |_| RunControl::GoOn)
}

fn struck(lines: u64) -> LossOptions {
    LossOptions { tamper: Some(lines), ..LossOptions::new(At::Instructions(INSTRUCTIONS)) }
}

fn tampered(design: &str, seed: u64, lines: u64) -> TamperOutcome {
    let loss = lost(design, seed, struck(lines)).unwrap();
    let tamper = loss.tamper.clone().unwrap();
    assert_eq!(tamper.changed.values().sum::<u64>(), lines, "{design}: {tamper:?}");
    assert_eq!(loss.passed(), tamper.as_claimed, "{design}: the memory was right before: {loss:?}");
    tamper
}

/// Number of lines that memory stores at the loss.
fn stored(design: &str, seed: u64) -> u64 {
    tampered(design, seed, 1).stored
}

#[test]
fn designs_of_class_c5_return_no_wrong_line_after_flips_in_any_stored_lines() {
    for design in DETECTING {
        let (mut detected, mut kinds) = (0, BTreeSet::new());
        for seed in 1..=3 {
            let all = stored(design, seed);
            for lines in [1, 2, all / 8, all] {
                let tamper = tampered(design, seed, lines);
                assert!(tamper.as_claimed && tamper.lines_wrong == 0, "{design}, {lines} lines: {tamper:?}");
                detected += usize::from(tamper.end == Verdict::Detected);
                kinds.extend(tamper.changed.into_keys());
            }
        }
        assert!(detected >= 6, "{design}: {detected} of 12 detected");
        let expected = ["counters", "data", "tags"];
        assert!(expected.iter().all(|kind| kinds.contains(kind)), "{design}: {kinds:?}");
    }
}

#[test]
fn flips_in_all_lines_of_an_unprotected_memory_read_wrong_without_a_report() {
    for design in ["eadr", "bbb"] {
        let tamper = tampered(design, 1, stored(design, 1));
        assert_eq!((tamper.lines_right, tamper.lines_refused), (0, 0), "{design}: {tamper:?}");
        assert_eq!(tamper.lines_wrong as u64, tamper.changed["data"], "{design}: each line has one wrong bit");
        assert_eq!(tamper.end, Verdict::Garbled, "{design}");
        assert!(tamper.as_claimed, "{design} claims {:?}", tamper.claim);
    }
}

/// A flip of one line of data concerns this line; every other line reads right.
#[test]
fn one_flipped_line_of_data_is_refused_alone() {
    let of_data = |seed| {
        let tamper = tampered("secpb-cobcm", seed, 1);
        tamper.changed.contains_key("data").then_some(tamper)
    };
    let tamper = (1..20).find_map(of_data).unwrap();
    assert_eq!((tamper.lines_refused, tamper.lines_wrong), (1, 0), "{tamper:?}");
    assert!(tamper.lines_right > 10 && tamper.recovery_fault.is_none(), "{tamper:?}");
}

#[test]
fn the_seed_draws_the_changed_lines_and_more_lines_than_stored_are_refused() {
    let [one, again] = [1, 1].map(|seed| tampered("plp-sp", seed, 5));
    assert_eq!((one.changed, one.lines_refused), (again.changed, again.lines_refused));
    let all = one.stored;
    let error = lost("plp-sp", 1, struck(all + 1)).unwrap_err().to_string();
    let expected = format!("expected a number from 1 to {all}, as in --tamper {all}");
    assert!(error.starts_with(&format!("--tamper {}: under plp-sp, memory stored {all} lines", all + 1)), "{error}");
    assert!(error.ends_with(&expected), "{error}");
    let error = lost("sc64-bmt", 1, struck(1)).unwrap_err().to_string();
    assert!(error.contains("design sc64-bmt keeps no data over a loss of power"), "{error}");
}

#[cfg(feature = "planted-bugs")]
#[test]
fn a_chip_that_leaves_the_end_of_a_line_unchecked_ends_worse_than_claimed() {
    use protection::planted::{Bug, PlantedBug};
    let planted = PlantedBug::new(Bug::TagWithoutLastBlock);
    for design in ["secpb-cobcm", "plp-sp", "secure-eadr"] {
        let end = |seed, planted| {
            let loss = lost(design, seed, LossOptions { planted, ..struck(1) }).unwrap();
            assert_eq!(loss.wrong, 0, "{design}: the memory was right before: {loss:?}");
            (loss.passed(), loss.tamper.unwrap().end)
        };
        let seed = (1..40).find(|seed| end(*seed, planted).1 != Verdict::Detected && !end(*seed, planted).0).unwrap();
        assert_eq!(end(seed, planted), (false, Verdict::Garbled.into()), "{design}");
        assert_eq!(end(seed, PlantedBug::NONE), (true, Verdict::Detected.into()), "{design}");
    }
}
