//! The timelines of the EMCC paper (MICRO 2022), from the latencies of the machine file and the simulator's code. The test compares each
//! with the sum in the paper's figure, taken from the machine file, and with the number that the paper prints. DRAM begins at its clock, so
//! each of its accesses may begin up to a clock later than the sum. The paper's figures omit the decoding of counters, although its Table I
//! lists it.

use casemate_runner::explain::{LineValue, Lines, Of, OnChipMetadata, RowState, Scenario, TimelineStart, explain};
use catalogue::Machine;
use machine::llc::Inclusion;
use units::Duration;

/// One clock of DDR4-3200.
const CLOCK_NS: f64 = 0.625;

/// A line whose counters are in the same rank, but in another group of banks: the paper's sums ignore both.
const LINE: Lines = Lines::At(0x10_0000_50c0);

const AT_CONTROLLER: Scenario = Scenario {
    of: Of::Read,
    on_chip: OnChipMetadata::Tree,
    row: RowState::Closed,
    start: TimelineStart::Controller,
    predicted: false,
    decoded: true,
    meets: None,
    value: LineValue::USUAL,
};
/// The last-level cache holds the counters.
const FROM_L2: Scenario = Scenario { on_chip: OnChipMetadata::LastLevel, start: TimelineStart::L2, ..AT_CONTROLLER };

fn machine() -> Machine {
    catalogue::machine("emcc-4core").unwrap()
}

/// One read of a machine under a design, in nanoseconds.
type Read = fn(&Machine, &str, Scenario) -> f64;

fn read(machine: &Machine, design: &str, scenario: Scenario) -> f64 {
    explain(machine, &catalogue::design(design).unwrap(), scenario, LINE).unwrap().latency_fs as f64 / 1e6
}

fn median(machine: &Machine, design: &str, scenario: Scenario) -> f64 {
    let lines = Lines::Sample { lines: 199, seed: 1, no_conflict: false };
    explain(machine, &catalogue::design(design).unwrap(), scenario, lines).unwrap().latency_fs as f64 / 1e6
}

/// Parts of the paper's figures, from the machine file, in nanoseconds.
struct Parts {
    cache: f64,
    last_level: f64,
    /// From the arrival of a counter line to the end of the pad: AES, and decoding unless it is omitted.
    aes: f64,
    row_hit: f64,
    row_closed: f64,
    /// From L2's miss to the arrival of the request at the controller, and back with the line.
    there: f64,
    back: f64,
    l2: f64,
    counter_in_l2: f64,
    /// From L2 to the last-level cache and back.
    hit: f64,
    /// From an L2 directly to the controller.
    past: f64,
}

fn parts(machine: &Machine, decoded: bool) -> Parts {
    let dram = machine.dram.as_ref().unwrap();
    let clocks = |clocks: u64| clocks as f64 * CLOCK_NS;
    let last_level = machine.llc.controller_latency_ns.unwrap();
    let look_up = machine.noc.as_ref().unwrap().lookup_ns;
    let way = (machine.llc.latency_ns - look_up) / 2.0;
    let path = machine.memory.path_ns / 2.0;
    Parts {
        cache: machine.engines.metadata_cache.latency_ns,
        last_level,
        aes: machine.engines.aes.latency_ns + if decoded { 0.0 } else { machine.engines.counter_decode_ns.unwrap() },
        row_hit: clocks(dram.timing.cl + dram.timing.burst_clocks),
        row_closed: clocks(dram.timing.trcd + dram.timing.cl + dram.timing.burst_clocks),
        there: way + look_up + path,
        back: path + way,
        l2: machine.node.l2.latency_cycles as f64 / 3.2,
        counter_in_l2: machine.at_l2.unwrap().counter_look_up_ns,
        hit: machine.llc.latency_ns,
        past: (last_level - look_up) / 2.0,
    }
}

/// Each figure by its sum, and as measured on the machine.
fn figures(machine: &Machine, decoded: bool, read: Read) -> [(&'static str, f64, f64); 8] {
    // Time by which a line is in L2 earlier under EMCC than under its baseline.
    let saved = |machine, scenario| read(machine, "morphable-llc", scenario) - read(machine, "emcc", scenario);
    let Parts { cache, last_level, aes, row_hit, row_closed, there, back, l2, counter_in_l2, hit, past } =
        parts(machine, decoded);
    let (at_controller, from_l2) = (Scenario { decoded, ..AT_CONTROLLER }, Scenario { decoded, ..FROM_L2 });
    let baseline = |dram: f64| there + dram.max(cache + last_level + aes) + back;
    let eager = |dram: f64| (there + dram + back).max(counter_in_l2 + hit + aes);
    let closed = |on_chip| Scenario { on_chip, ..at_controller };
    let row_open = Scenario { row: RowState::Hit, ..from_l2 };
    let nowhere = Scenario { on_chip: OnChipMetadata::Tree, ..from_l2 };
    let predicted = Scenario { predicted: true, ..from_l2 };
    let confirmed = l2 + there;
    [
        ("5, counters in the controller only", cache + row_closed + aes, read(machine, "morphable-ecc", at_controller)),
        (
            "5, counters in the last level too",
            cache + last_level + row_closed + aes,
            read(machine, "morphable-llc", at_controller),
        ),
        (
            "8, hit in the controller",
            row_closed.max(cache + aes),
            read(machine, "morphable-llc", closed(OnChipMetadata::Counter)),
        ),
        (
            "8, hit in the last level",
            row_closed.max(cache + last_level + aes),
            read(machine, "morphable-llc", closed(OnChipMetadata::LastLevel)),
        ),
        ("13, saved", baseline(row_hit) - eager(row_hit), saved(machine, row_open)),
        ("closed row, saved", baseline(row_closed) - eager(row_closed), saved(machine, from_l2)),
        // Both fetch the counters and compute the pad at the controller; only the way of the request for the counters
        // differs.
        ("10, saved", cache + last_level - cache.max(counter_in_l2), saved(machine, nowhere)),
        (
            "14, saved",
            (confirmed + cache + last_level + aes).max(past + row_closed) + back
                - ((past + row_closed).max(confirmed) + back).max(l2 + counter_in_l2 + hit + aes),
            saved(machine, predicted),
        ),
    ]
}

/// Values that the paper prints, in nanoseconds.
const PRINTED: [f64; 8] = [47.0, 66.0, 30.0, 36.0, 20.0, 6.0, 16.0, 22.0];

#[test]
fn explained_latencies_of_the_emcc_machine_equal_the_papers_figures() {
    for ((figure, sum, found), printed) in figures(&machine(), true, read).into_iter().zip(PRINTED) {
        assert!((found - sum).abs() < CLOCK_NS + 1e-6, "figure {figure}: {found} ns, and the sum is {sum}");
        assert!((found - printed).abs() < 1.0, "figure {figure}: {found} ns, and the paper prints {printed}");
    }
}

#[test]
fn median_latencies_of_the_emcc_machine_equal_the_papers_figures() {
    for ((figure, _, found), printed) in figures(&machine(), true, median).into_iter().zip(PRINTED) {
        assert!((found - printed).abs() < 1.0, "figure {figure}: {found} ns, and the paper prints {printed}");
    }
}

#[test]
fn counters_are_decoded_before_their_pad_begins_at_the_controller_and_in_l2s() {
    let with = |decode_ns| {
        let mut machine = machine();
        machine.engines.counter_decode_ns = Some(decode_ns);
        figures(&machine, false, read)
    };
    for decode_ns in [3.0, 20.0] {
        for (figure, sum, found) in with(decode_ns) {
            assert!(
                (found - sum).abs() < CLOCK_NS + 1e-6,
                "{decode_ns} ns, figure {figure}: {found} ns, and the sum is {sum}"
            );
        }
    }
    // A split counter needs no decoding.
    let split = |decoded| {
        read(&machine(), "sc64-bmt-llc", Scenario { on_chip: OnChipMetadata::Counter, decoded, ..AT_CONTROLLER })
    };
    assert_eq!(split(false), split(true));
}

#[test]
fn changed_machine_latencies_shift_the_emcc_latencies_by_computed_sums() {
    type Change = fn(&mut Machine);
    let changes: [(&str, Change); 7] = [
        ("controller to last level", |machine| machine.llc.controller_latency_ns = Some(29.0)),
        ("AES", |machine| machine.engines.aes.latency_ns = 25.0),
        ("counter cache", |machine| machine.engines.metadata_cache.latency_ns = 5.0),
        ("DRAM", |machine| machine.dram.as_mut().unwrap().timing.cl += 8),
        ("L2 for counters", |machine| machine.at_l2.as_mut().unwrap().counter_look_up_ns = 11.0),
        ("L2 to last level", |machine| machine.llc.latency_ns = 20.0),
        ("last level to controller", |machine| machine.memory.path_ns = 23.0),
    ];
    let before = figures(&machine(), true, read);
    for (name, change) in changes {
        let mut machine = machine();
        change(&mut machine);
        let after = figures(&machine, true, read);
        for (figure, sum, found) in after {
            assert!((found - sum).abs() < CLOCK_NS + 1e-6, "{name}: figure {figure}: {found} ns, and the sum is {sum}");
        }
        let moved = before.iter().zip(&after).filter(|(before, after)| (before.2 - after.2).abs() > 2.0 * CLOCK_NS);
        assert!(moved.count() > 0, "{name} moves no figure");
    }
}

#[test]
fn the_maximum_aes_wait_of_an_l2_equals_the_time_that_its_decryption_saves() {
    type Change = fn(&mut Machine);
    let changes: [Change; 5] = [
        |_| {},
        |machine| machine.engines.aes.latency_ns = 25.0,
        |machine| machine.llc.controller_latency_ns = Some(29.0),
        |machine| machine.dram.as_mut().unwrap().timing.cl += 8,
        // The prediction arrives before the L2 has missed.
        |machine| machine.node.l2.latency_cycles = 40,
    ];
    let parts = catalogue::design("emcc").unwrap().parts;
    let mut patiences = Vec::new();
    for change in changes {
        let mut machine = machine();
        change(&mut machine);
        let patience = machine.patience(&parts).unwrap();
        // The figures' sums start at the look-up, at which the prediction leaves.
        let saved = |name| figures(&machine, false, read).into_iter().find(|(figure, ..)| *figure == name).unwrap().2;
        for (name, found) in [("closed row, saved", patience.unpredicted), ("14, saved", patience.predicted)] {
            let (found, saved) = (found.as_ns_f64(), saved(name));
            assert!((found - saved).abs() < CLOCK_NS + 1e-6, "{name}: waits {found} ns, and {saved} are saved");
        }
        patiences.push(patience);
    }
    assert!(patiences[1..].iter().all(|changed| *changed != patiences[0]), "{patiences:?}");
    let mut stated = machine();
    stated.at_l2.as_mut().unwrap().patience_ns = Some(5.0);
    assert_eq!(stated.patience(&parts).unwrap().predicted, Duration::from_ns(5));
    assert_eq!(machine().patience(&catalogue::design("morphable-llc").unwrap().parts), None);
}

#[test]
fn aes_bandwidth_is_split_between_controller_and_l2s_and_stays_the_same_in_total() {
    // EMCC, section V: 4e8 accesses a second, half of them reads of five blocks and half writes of eight.
    let peak = 3.2e9 * 8.0 / 64.0 / 2.0 * (5.0 + 8.0);
    let near = |found: Option<f64>, expected: f64| (found.unwrap() / expected - 1.0).abs() < 1e-6;
    let under = |design: &str| machine().aes_bandwidth(&catalogue::design(design).unwrap().parts);
    let (baseline, emcc) = (under("morphable-llc"), under("emcc"));
    assert!(near(baseline.controller, peak) && near(baseline.total, 2.6e9) && baseline.each_l2.is_none());
    assert!(near(emcc.each_l2, 3.25e8) && near(emcc.controller, peak / 2.0) && emcc.total == baseline.total);
}

#[test]
fn a_machine_that_does_not_fit_a_design_is_refused_with_the_missing_part() {
    let refused = |machine: &Machine, design: &str, scenario| {
        explain(machine, &catalogue::design(design).unwrap(), scenario, LINE).unwrap_err()
    };
    assert!(refused(&catalogue::machine("modern").unwrap(), "emcc", FROM_L2).contains("a table [at_l2]"));
    let mut neither = machine();
    neither.llc.inclusion = Inclusion::Neither;
    assert!(refused(&neither, "emcc", FROM_L2).contains("llc.inclusion = \"victim\" or \"inclusive\""));
    let predicted = Scenario { predicted: true, ..AT_CONTROLLER };
    assert!(refused(&machine(), "emcc", predicted).contains("only an L2 predicts"));
}
