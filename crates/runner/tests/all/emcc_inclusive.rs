//! Reads that L2s decrypt and verify over an inclusive last-level cache (EMCC, MICRO 2022, section IV-F, "Inclusive
//! Cache Hierarchy"). This cache holds these lines encrypted until an L2 writes a decrypted copy back.

use crate::common::kernel;
use crate::threads::Threads;
use casemate_runner::{Record, RunControl, RunOptions, run, run_together};
use catalogue::Machine;
use machine::llc::Inclusion;
use units::{Bytes, LINE_BYTES};

/// EMCC's machine with `cores` cores over an inclusive last-level cache. L2s are so small that little work fills them.
fn machine(cores: usize, llc: Bytes) -> Machine {
    let mut machine = catalogue::machine("emcc-4core").unwrap();
    machine.llc.inclusion = Inclusion::Inclusive;
    (machine.llc.size, machine.node.l2.size) = (llc, Bytes(128 << 10));
    machine.cores = cores;
    machine.noc.as_mut().unwrap().core_tiles.truncate(cores);
    machine
}

/// Smaller than the data of the programs: every line is evicted.
const SMALL: Bytes = Bytes(512 << 10);
/// Larger than the data of the programs: no line is evicted.
const LARGE: Bytes = Bytes(8 << 20);

fn options(machine: Machine, design: &str, budget: u64) -> RunOptions {
    let design = catalogue::design(design).unwrap();
    RunOptions { seed: 7, ledger: true, ..RunOptions::new(machine, design, budget) }
}

/// Copies of a kernel that reads and writes all over a memory, each on a separate core.
fn copies(machine: Machine, design: &str) -> Record {
    let copies = (0..machine.cores as u64).map(|copy| kernel("gups", &[("footprint", "8 MB")], copy)).collect();
    run_together(&options(machine, design, 30_000), copies, |_| RunControl::GoOn).unwrap()
}

/// The same kernel as the threads of one process.
fn threads(machine: Machine, design: &str) -> Record {
    let threads = Threads::of("gups", &[("footprint", "1 MB")], machine.cores);
    run(&options(machine, design, 200_000), threads, |_| RunControl::GoOn).unwrap()
}

/// Checks that an L2 gives each line that it decrypted to the last-level cache at most once.
fn assert_consistent(record: &Record) {
    let (llc, released) = (record.llc, record.protection.released_in_l2);
    assert!(record.checks.passed, "{:?}", record.checks);
    assert_eq!(record.checks.lines.lines_checked, llc.misses);
    assert!(llc.from_cores_unverified + llc.clean_writebacks <= released, "{released} lines, {llc:?}");
    assert!(llc.from_cores_unverified <= llc.from_cores, "{llc:?}");
}

#[test]
fn with_an_inclusive_llc_every_line_is_verified_once_in_l2s_or_at_the_controller() {
    for (cores, llc) in [(1, SMALL), (1, LARGE), (4, SMALL), (4, LARGE)] {
        let record = copies(machine(cores, llc), "emcc");
        assert_consistent(&record);
        let (released, misses) = (record.protection.released_in_l2, record.llc.misses);
        assert!(released > misses / 10 && released < misses, "{cores} cores, {llc}: {released} of {misses}");
    }
}

#[test]
fn an_unverified_llc_line_is_served_by_the_l2_that_decrypted_it() {
    for llc in [SMALL, LARGE] {
        let record = threads(machine(4, llc), "emcc");
        assert_consistent(&record);
        assert!(record.llc.from_cores_unverified > 100, "{llc}: {:?}", record.llc);
    }
    // The last-level cache holds plaintext of the lines that the controller decrypts.
    let record = threads(machine(4, LARGE), "morphable-llc");
    let from = (record.llc.from_cores > 1_000, record.llc.from_cores_unverified);
    assert_eq!((from, record.checks.passed), ((true, 0), true));
}

#[test]
fn a_clean_copy_of_an_unverified_line_is_written_back() {
    for cores in [1, 4] {
        let machine = machine(cores, LARGE);
        let places = machine.node.l2.size.0 / LINE_BYTES as u64 * cores as u64;
        // Only loads, four times through more data than an L2 holds.
        let settings = [("footprint", "1 MB"), ("work", "0"), ("steps", "65_536")];
        let chases = |design| {
            let copies = (0..cores as u64).map(|copy| kernel("chase", &settings, copy)).collect();
            run_together(&options(machine.clone(), design, u64::MAX), copies, |_| RunControl::GoOn).unwrap()
        };
        let record = chases("emcc");
        assert_consistent(&record);
        let (llc, released) = (record.llc, record.protection.released_in_l2);
        assert!(released > 4 * places, "{released} lines, {places} places");
        assert!(llc.clean_writebacks >= released - places, "{released} lines, {llc:?}");
        assert!(llc.hits > 2 * llc.misses, "later it answers with them: {llc:?}");
        let at_controller = chases("morphable-llc").llc;
        assert_eq!((at_controller.clean_writebacks, at_controller.misses), (0, llc.misses), "others leave silently");
    }
}

#[test]
fn a_victim_llc_has_no_unverified_line() {
    let mut machine = machine(4, SMALL);
    machine.llc.inclusion = Inclusion::Victim;
    let llc = threads(machine, "emcc").llc;
    assert_eq!((llc.from_cores_unverified, llc.clean_writebacks, llc.stranded), (0, 0, 0), "{llc:?}");
    assert!(llc.from_cores > 100, "{llc:?}");
}

#[test]
fn equal_emcc_runs_with_an_inclusive_llc_have_equal_event_hashes() {
    let [first, second] = [(); 2].map(|()| threads(machine(4, SMALL), "emcc"));
    assert_eq!((&first.event_hash, first.cycles, first.llc), (&second.event_hash, second.cycles, second.llc));
}
