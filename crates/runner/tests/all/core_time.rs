//! The cores' cycles by use: the slowdown of a design appears as additional waiting cycles, and a slower unit lengthens
//! only the waiting for this unit.

use crate::common::swept::{an_eighth, share_of_tests, side_by_side, swept};
use crate::common::{kernel, machine_for, record, record_on};
use crate::reads::check_parts;
use crate::threads::Threads;
use casemate_runner::{CoreTime, Record, RunControl, RunOptions, run};
use catalogue::{Design, Machine};
use protection::execution::ReadPart;
use std::collections::BTreeMap;
use workload::Source;

const WORKLOADS: [&str; 6] = ["gups", "chase", "stream", "btree", "hashjoin", "bfs"];

/// Checks that the parts add up to all cycles, and that no part is negative.
fn check(name: &str, record: &Record) {
    let CoreTime { cycles, at_work_cycles: work, idle_cycles: idle, switching_cycles, waiting_cycles: waiting } =
        &record.core_time;
    assert_eq!(*cycles, record.cores.iter().map(|core| core.cycles).sum::<u64>(), "{name}");
    let parts: f64 = waiting.values().sum();
    assert!((work + idle + parts - *cycles as f64).abs() < 1.0, "{name}");
    assert_eq!(*switching_cycles, 0.0, "{name}: a kernel is one process");
    assert!(*work > 0.0 && *idle >= 0.0 && waiting.values().all(|part| *part >= 0.0), "{name}");
    assert!(parts < *cycles as f64, "{name}");
}

/// Checks that the slowdown of designs equals their additional waiting. A core's work stays nearly the same: only in
/// `bfs`, longer waits hide more of the work, up to 4 in 100 cycles. The parts of each read must also add up to its
/// latency.
fn check_slowdown(workload: &str, designs: &[Design], instructions: u64) {
    let mut unprotected: BTreeMap<String, CoreTime> = BTreeMap::new();
    for Design { name: design, .. } in designs {
        let machine = machine_for(design);
        let after = record_on(machine.clone(), workload, design, instructions);
        let name = format!("{workload} under {design}");
        check(&name, &after);
        check_parts(&name, &machine, &after);
        // EMCC's reference has four cores.
        if design == "emcc" {
            continue;
        }
        let baseline = || record_on(machine.clone(), workload, "none", instructions).core_time;
        let before = unprotected.entry(machine.name.clone()).or_insert_with(baseline);
        let after = &after.core_time;
        let slower = after.cycles as f64 - before.cycles as f64;
        let waits: f64 = after.waiting_cycles.iter().map(|(part, cycles)| cycles - before.waiting_cycles[part]).sum();
        let tolerated = 0.02 * before.cycles as f64 + 0.08 * slower.abs();
        assert!((slower - waits).abs() < tolerated, "{name}: {slower} slower, {waits} waited");
    }
}

#[test]
fn the_slowdown_of_a_sample_of_designs_equals_their_additional_waiting_cycles() {
    let designs = an_eighth(swept(), share_of_tests());
    let of_workload = |turn: usize| designs.iter().skip(turn).step_by(WORKLOADS.len()).cloned().collect();
    let shares: Vec<(usize, Vec<Design>)> = (0..WORKLOADS.len()).map(|turn| (turn, of_workload(turn))).collect();
    side_by_side(shares, |(turn, designs)| check_slowdown(WORKLOADS[turn], &designs, 60_000));
}

#[test]
#[ignore = "two hundred runs: in make test-long"]
fn the_slowdown_of_every_design_on_every_workload_equals_its_additional_waiting_cycles() {
    side_by_side(WORKLOADS.to_vec(), |workload| check_slowdown(workload, &catalogue::designs(), 100_000));
}

/// The additional time of each cause on a changed machine, in thousandths of all cycles. The function lists only
/// changes of at least ten thousandths that are also at least a tenth of the largest change. Refreshes and rows differ
/// in a longer run, and a longer wait hides other waits.
fn longer(design: &str, change: impl Fn(&mut Machine)) -> Vec<(ReadPart, i64)> {
    // A chain of reads, so that no wait is hidden.
    let [plain, changed] = [record("chase", design, 40_000, |_| ()), record("chase", design, 40_000, change)];
    let (plain, changed) = (plain.core_time, changed.core_time);
    let thousandths = |(part, cycles): (ReadPart, &f64)| {
        (part, (1e3 * (changed.waiting_cycles[part] - cycles) / plain.cycles as f64).round() as i64)
    };
    let all: Vec<_> = plain.waiting_cycles.iter().map(thousandths).collect();
    let most = all.iter().map(|(_, by)| by.abs()).max().unwrap_or_default();
    all.into_iter().filter(|(_, by)| by.abs() >= 10.max(most / 10)).collect()
}

#[test]
fn a_lengthened_latency_increases_only_the_waiting_cycles_of_its_part() {
    let slow_aes = longer("ecb", |machine| machine.engines.aes.latency_ns += 25.0);
    assert!(matches!(slow_aes[..], [(ReadPart::Engine, 100..)]), "{slow_aes:?}");
    let half_rate = |interval_ns: f64| {
        move |machine: &mut Machine| (machine.engines.aes.units, machine.engines.aes.interval_ns) = (1, interval_ns)
    };
    let (full, half) = (longer("ecb", half_rate(10.0)), longer("ecb", half_rate(20.0)));
    assert!(
        matches!(full[..], [(ReadPart::Engine, 100..)]) && matches!(half[..], [(ReadPart::Engine, 200..)]),
        "{half:?}"
    );
    let slow_hash = longer("sc64-bmt", |machine| machine.engines.hash.latency_ns += 25.0);
    assert!(matches!(slow_hash[..], [(ReadPart::Tree, 10..)]), "{slow_hash:?}");
    assert_eq!(longer("none", |machine| machine.engines.aes.latency_ns += 25.0), []);
}

/// A chain of reads on the machine of 2005, which delivers the requested words first.
fn in_beats(design: &str, change: impl Fn(&mut Machine)) -> CoreTime {
    let on_it = |machine: &mut Machine| {
        *machine = catalogue::machine("simplescalar-2005").unwrap();
        change(machine);
    };
    record("chase", design, 40_000, on_it).core_time
}

#[test]
fn delayed_critical_words_count_as_waiting_cycles_and_not_as_work() {
    for (design, part) in [("none", ReadPart::OnChip), ("ctr-only", ReadPart::OnChip)] {
        let [plain, longer] = [0.0, 100.0].map(|more| in_beats(design, |machine| machine.memory.path_ns += more));
        let slower = longer.cycles as f64 - plain.cycles as f64;
        let waited = longer.waiting_cycles[part] - plain.waiting_cycles[part];
        assert!(slower > 0.2 * plain.cycles as f64, "{design}: {slower} of {}", plain.cycles);
        assert!((waited / slower - 1.0).abs() < 0.05, "{design}: {waited} of {slower}");
    }
}

#[test]
fn the_on_chip_path_has_its_share_of_the_waiting_cycles() {
    // The look-up in the last-level cache is most of a trip, and trips overlap.
    let record = record("gups", "none", 60_000, |machine| machine.llc.latency_ns = 120.0);
    let waits = &record.core_time.waiting_cycles;
    let share = waits[ReadPart::OnChip] / waits.values().sum::<f64>();
    let trips = record.node.l2_data_misses;
    let trip_ns = trips.cycles as f64 / trips.lines as f64 / 4.0;
    let expected = 1.0 - record.reads.as_ref().unwrap().mean_ns / trip_ns;
    assert!(expected > 0.5 && (share - expected).abs() < 0.05, "{share} of {expected}");
}

#[test]
fn waits_for_a_write_back_buffer_count_as_waiting_cycles_of_write_backs() {
    let buffers = |buffers: usize| {
        record("gups", "none", 60_000, |machine| {
            (machine.node.l2.size, machine.llc.size) = (units::Bytes(64 << 10), units::Bytes(128 << 10));
            machine.llc.writeback_buffers = buffers;
        })
        .core_time
    };
    let [many, one] = [32, 1].map(buffers);
    let share = |time: &CoreTime| time.waiting_cycles[ReadPart::WriteBack] / time.cycles as f64;
    assert!(share(&one) > 0.01 && share(&many) == 0.0, "{} and {}", share(&one), share(&many));
}

fn threads(source: Box<dyn Source>, instructions: u64) -> Record {
    let machine = catalogue::machine("emcc-4core").unwrap();
    let options = RunOptions { seed: 7, ..RunOptions::new(machine, catalogue::design("none").unwrap(), instructions) };
    run(&options, source, |_| RunControl::GoOn).unwrap()
}

#[test]
fn the_cycles_of_threads_on_four_cores_are_accounted_for_completely() {
    let record = threads(Threads::of("gups", &[("footprint", "1 MB")], 4), 200_000);
    check("four threads", &record);
    assert!(record.cores.iter().all(|core| core.cycles > 10_000), "{:?}", record.cores);
}

#[test]
fn a_thread_that_waits_for_a_slower_one_is_idle() {
    // One thread finds all its lines in L1, the other thread never finds a line.
    let gups = |footprint| kernel("gups", &[("footprint", footprint)], 1);
    let record = threads(Threads::among(vec![gups("16 KB"), gups("64 MB")]), 3_000_000);
    check("two threads", &record);
    // Cycles for which the front end was delayed: a small part of them passes while the window empties.
    let executed = record.cores.iter().filter(|core| core.instructions > 0);
    let lost: u64 = executed.map(|core| core.lost_cycles.idle).sum();
    let idle = record.core_time.idle_cycles;
    assert!(lost > 10_000 && (0.95..=1.0).contains(&(idle / lost as f64)), "{idle} of {lost}");
}
