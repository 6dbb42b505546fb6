//! Several cores: do they share memory coherently, do their runs repeat exactly, and do they reach the bandwidth of
//! their network?

use crate::common::kernel;
use crate::threads::Threads;
use casemate_runner::{Record, RunControl, RunError, RunOptions, ValuesVerdict, run, run_together};
use catalogue::Machine;
use machine::llc::Inclusion;
use units::Bytes;

fn machine() -> Machine {
    catalogue::machine("emcc-4core").unwrap()
}

fn options(machine: Machine, design: &str, budget: u64) -> RunOptions {
    RunOptions { seed: 7, ..RunOptions::new(machine, catalogue::design(design).unwrap(), budget) }
}

const PROGRAMS: [(&str, &[(&str, &str)]); 3] = [
    ("gups", &[("footprint", "16 MB")]),
    ("bfs", &[("scale", "14")]),
    ("hashjoin", &[("build", "1 MB"), ("probe", "4 MB")]),
];

fn threads(machine: Machine, design: &str) -> Record {
    let (name, settings) = ("gups", [("footprint", "1 MB")]);
    run(&options(machine, design, 200_000), Threads::of(name, &settings, 4), |_| RunControl::GoOn).unwrap()
}

fn of_inclusion(inclusion: Inclusion) -> Machine {
    let mut machine = machine();
    machine.llc.inclusion = inclusion;
    // Small enough to be full, and not much larger than the private caches.
    (machine.llc.size, machine.node.l2.size) = (units::Bytes(512 << 10), units::Bytes(128 << 10));
    machine
}

#[test]
fn four_copies_of_a_program_read_the_values_that_they_wrote() {
    for (name, settings) in PROGRAMS {
        let copies = (0..4).map(|_| kernel(name, settings, 1)).collect();
        let record = run_together(&options(machine(), "sc64-bmt", 100_000), copies, |_| RunControl::GoOn).unwrap();
        assert!(record.checks.passed, "{name}: {:?}", record.checks);
        assert_eq!(record.cores.iter().map(|core| core.instructions).collect::<Vec<_>>(), [100_000; 4], "{name}");
        assert_eq!((record.llc.from_cores, record.llc.upgrades), (0, 0), "{name}: nothing is shared");
        assert_eq!((record.configuration.other_programs.len(), record.feed.processes), (3, 4));
    }
}

#[test]
fn threads_that_share_lines_lose_no_store_under_any_llc_inclusion() {
    for inclusion in [Inclusion::Neither, Inclusion::Inclusive, Inclusion::Victim] {
        let record = threads(of_inclusion(inclusion), "sc64-bmt");
        assert!(record.checks.passed, "{inclusion:?}: {:?}", record.checks);
        assert!(record.cores.iter().all(|core| core.instructions > 20_000), "{inclusion:?}: all work");
        let llc = record.llc;
        assert!(llc.from_cores > 1_000 && llc.upgrades > 100 && llc.probes > llc.from_cores, "{inclusion:?}: {llc:?}");
    }
}

#[test]
fn equal_multi_core_runs_have_equal_records() {
    let (first, second) = (threads(machine(), "sc64-bmt"), threads(machine(), "sc64-bmt"));
    assert_eq!((&first.event_hash, first.cycles), (&second.event_hash, second.cycles));
    assert_eq!(Record { host: second.host.clone(), ..first }, second);
}

#[test]
fn a_program_of_one_thread_leaves_the_other_cores_idle() {
    let record = run(&options(machine(), "none", 100_000), kernel("gups", &[], 1), |_| RunControl::GoOn).unwrap();
    assert_eq!(record.cores.iter().map(|core| core.instructions).collect::<Vec<_>>(), [100_000, 0, 0, 0]);
}

#[test]
fn more_programs_than_cores_are_refused() {
    let programs = (0..5).map(|_| kernel("gups", &[], 1)).collect();
    let refused = run_together(&options(machine(), "none", 1_000), programs, |_| RunControl::GoOn);
    let Err(error @ RunError::TooManyPrograms { .. }) = refused else { panic!("five programs ran on four cores") };
    assert!(error.to_string().contains("'emcc-4core' has 4"), "{error}");
}

#[test]
fn other_programs_on_the_machine_slow_a_program_down() {
    let copies = |count| (0..count).map(|_| kernel("gups", &[("footprint", "64 MB")], 1)).collect();
    let cycles = |count| {
        let record = run_together(&options(machine(), "none", 100_000), copies(count), |_| RunControl::GoOn).unwrap();
        record.cores[0].cycles
    };
    // A single copy runs on one of four cores.
    assert!(cycles(1) < cycles(4));
}

#[test]
fn the_transfer_time_of_a_mesh_link_bounds_the_rate_of_llc_hits() {
    let cycles = |line_ns: f64| {
        let mut machine = machine();
        if let Some(noc) = &mut machine.noc {
            noc.line_ns = line_ns;
        }
        (machine.node.l1d.prefetcher, machine.node.l2.prefetcher) = (None, None);
        // The whole array is in the last-level cache after the first pass, but no line of it is in L2 at its next use.
        (machine.llc.size, machine.node.l2.size) = (units::Bytes(8 << 20), units::Bytes(64 << 10));
        let stream = kernel("stream", &[("footprint", "2 MB"), ("passes", "4")], 1);
        run(&options(machine, "none", u64::MAX), stream, |_| RunControl::GoOn).unwrap()
    };
    for line_ns in [39.0, 40.0] {
        let record = cycles(line_ns);
        let lines = record.node.l2.misses as f64;
        let (least, took) = (lines * line_ns * 1e6, record.time_fs as f64);
        assert!(took >= least && took < 1.02 * least, "{line_ns} ns a line: {took} fs for {lines} lines");
    }
}

/// The last reads of a run evict dirty lines to memory, and the run may end while one of them is under way.
#[test]
fn a_line_in_flight_to_memory_at_the_end_of_a_run_is_not_lost() {
    let mut small = machine();
    (small.llc.size, small.node.l2.size) = (Bytes(512 << 10), Bytes(128 << 10));
    for budget in (90_080..90_240).step_by(40) {
        let copies = (0..4).map(|copy| kernel("gups", &[("footprint", "8 MB")], copy)).collect();
        let record = run_together(&options(small.clone(), "none", budget), copies, |_| RunControl::GoOn).unwrap();
        assert!(record.checks.passed, "{budget}: {:?}", record.checks);
    }
}

#[test]
fn load_differences_from_thread_order_are_reported_and_are_no_error() {
    let settings = [("footprint", "1 MB"), ("load_values", "yes")];
    let options = options(machine(), "none", 200_000);
    let record = run(&options, Threads::of("gups", &settings, 4), |_| RunControl::GoOn).unwrap();
    let values = record.checks.load_values.unwrap();
    assert!(values.different > 0, "they all write the same lines");
    assert_eq!((values.verdict, values.threads, values.processes), (ValuesVerdict::OtherOrder, 4, 1));
    assert!(!values.first.is_empty() && values.first.iter().all(|wrong| wrong.address.0 != 0 && wrong.bytes > 0));
    assert!(record.checks.passed);
    let alone = run(&options, kernel("gups", &settings, 1), |_| RunControl::GoOn).unwrap();
    assert_eq!(alone.checks.load_values.map(|values| (values.different, values.threads)), Some((0, 1)));
}
