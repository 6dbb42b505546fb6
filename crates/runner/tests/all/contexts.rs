//! Switches of processes in whole runs: the structures that they empty, their cost, and the correctness of all lines.

use crate::common::kernel;
use crate::threads::Threads;
use casemate_runner::{Record, RunControl, RunError, RunOptions, run, run_planted};
use catalogue::{ClockInterrupt, Design, Machine, design};
use protection::design::ContextsDesign;
use protection::moving::{MovingCounts, PermutationTime};
#[cfg(feature = "planted-bugs")]
use protection::planted::ChipBug;
use protection::planted::PlantedBug;
use units::Bytes;
use workload::Source;

const PROCESSES: usize = 3;

fn machine() -> Machine {
    catalogue::machine("cryptopage-2006").unwrap()
}

fn with_contexts(contexts: Option<ContextsDesign>) -> Design {
    let mut design = design("cryptopage-os").unwrap();
    design.parts.permutation.as_mut().unwrap().contexts = contexts;
    design
}

/// Programs with a small working set each; the core runs their batches in turn.
fn processes() -> Box<dyn Source> {
    let settings = [("footprint", "256KB")];
    Threads::as_processes(["gups", "chase", "stream"].map(|name| kernel(name, &settings, 1)).into())
}

fn ran(machine: Machine, design: Design, source: Box<dyn Source>, instructions: u64) -> Result<Record, RunError> {
    let options = RunOptions { seed: 7, ledger: true, ..RunOptions::new(machine, design, instructions) };
    run(&options, source, |_| RunControl::GoOn)
}

/// Checks a run; returns its counters of permutations and its cycles in switches.
fn counted(record: &Record) -> (MovingCounts, f64) {
    assert!(record.checks.passed, "{:?}", record.checks);
    assert_eq!(record.checks.pad_reused, Some(false));
    let moving = record.moving.unwrap();
    assert_eq!((moving.twice, moving.incomplete), (0, 0));
    (moving, record.core_time.switching_cycles)
}

#[test]
fn every_line_reads_right_with_any_number_of_context_buffers() {
    let mut permuted = Vec::new();
    for buffers in 1..=PROCESSES {
        let contexts = ContextsDesign { buffers, outside: 4 };
        let record = ran(machine(), with_contexts(Some(contexts)), processes(), 60_000).unwrap();
        let (moving, switching) = counted(&record);
        assert!(moving.switches > 4, "{moving:?}");
        assert!(switching > 0.0 && switching < record.core_time.cycles as f64);
        assert_eq!(moving.contexts.out > 0, buffers < PROCESSES, "{buffers} buffers: {moving:?}");
        assert!(moving.contexts.back <= moving.contexts.out);
        permuted.push(moving.contexts.chunks_permuted);
    }
    assert!(permuted[0] > permuted[1] && permuted[1] >= permuted[2] && permuted[2] == 0, "{permuted:?}");
}

#[test]
fn context_switches_cause_more_page_chunk_record_walks() {
    let through = |contexts| counted(&ran(machine(), with_contexts(contexts), processes(), 60_000).unwrap());
    let (apart, switching) = through(Some(ContextsDesign { buffers: PROCESSES, outside: 0 }));
    let (shared, none) = through(None);
    assert!(apart.walks.records > shared.walks.records, "{apart:?} and {shared:?}");
    assert_eq!((shared.switches, none), (0, 0.0));
    assert!(switching > 0.0);
}

#[test]
fn a_single_process_is_never_switched() {
    let source = kernel("gups", &[("footprint", "256KB")], 1);
    let (moving, switching) = counted(&ran(machine(), design("cryptopage-os").unwrap(), source, 20_000).unwrap());
    assert_eq!((moving.switches, switching), (0, 0.0));
}

#[test]
fn clock_interrupts_occur_at_their_interval_and_take_their_configured_cycles() {
    let away = 2_000;
    for name in ["none", "cryptopage-os"] {
        let mut machine = machine();
        let through = |machine| {
            let source = kernel("gups", &[("footprint", "256KB")], 1);
            ran(machine, design(name).unwrap(), source, 40_000).unwrap()
        };
        let before = through(machine.clone());
        machine.clock_interrupt = Some(ClockInterrupt { every_us: 10, away_cycles: away });
        let after = through(machine.clone());
        let period = machine.node.clock_mhz.clock().period().as_fs();
        let interval = 10_000_000_000 / period;
        let switching = after.core_time.switching_cycles as u64;
        let interrupts = after.moving.map_or(switching / away, |moving| moving.switches);
        // The last interval has not ended, and an interrupt that falls into a switch is lost: under `none`, no switch is longer.
        let (most, least) = (after.cycles / interval, if name == "none" { after.cycles / interval - 2 } else { 3 });
        assert!(interrupts > 2, "{name}: {interrupts}");
        assert!((least..=most).contains(&interrupts), "{name}: {interrupts} of {most}");
        assert!((interrupts * away..interrupts * (away + 200)).contains(&switching), "{name}: {switching} cycles");
        let work = (before.core_time.at_work_cycles, after.core_time.at_work_cycles);
        assert!(name != "none" || (work.0 - work.1).abs() < work.0 / 20.0, "{name}: {work:?} cycles at work");
        let longer = after.cycles - before.cycles;
        assert!(longer >= interrupts * away, "{name}: {longer} cycles for {interrupts} interrupts");
        assert!(name != "none" || longer < interrupts * (away + 1_000), "{name}: {longer} cycles");
    }
}

#[test]
fn a_run_with_more_processes_than_contexts_names_the_key_to_change() {
    let contexts = ContextsDesign { buffers: 1, outside: 1 };
    let refused = ran(machine(), with_contexts(Some(contexts)), processes(), 60_000).unwrap_err().to_string();
    assert!(refused.contains("it has 1 entries") && refused.contains("permutation.contexts.outside"), "{refused}");
}

/// Runs a program that leaves the chip while lines that it stored to are in the L1D. The last-level cache is so small that
/// their page chunks were permuted, so the cache does not lock them.
fn ran_with_stores_above(planted: PlantedBug) -> Record {
    let mut machine = machine();
    (machine.llc.size, machine.llc.ways) = (Bytes(8 << 10), 2);
    let mut design = with_contexts(Some(ContextsDesign { buffers: 1, outside: 4 }));
    design.parts.permutation.as_mut().unwrap().time = PermutationTime::Charged;
    let options = RunOptions { seed: 7, ledger: true, ..RunOptions::new(machine, design, 30_000) };
    let stored = [("gups", [("footprint", "256KB")]), ("stores", [("footprint", "4KB")])];
    let programs = stored.map(|(name, settings)| kernel(name, &settings, 1)).into();
    run_planted(&options, Threads::as_processes(programs), planted).unwrap()
}

#[test]
fn stores_in_private_caches_are_in_memory_when_their_context_has_left() {
    let (moving, _) = counted(&ran_with_stores_above(PlantedBug::NONE));
    assert!(moving.contexts.out > 0 && moving.contexts.chunks_permuted > 0, "{moving:?}");
}

#[cfg(feature = "planted-bugs")]
#[test]
fn a_cache_that_does_not_lock_stores_above_loses_stores_when_a_context_leaves() {
    let record = ran_with_stores_above(PlantedBug::new(ChipBug::StoresAboveUnlocked.into()));
    assert!(record.checks.lines_lost > 0, "{:?}", record.checks);
    assert_eq!((record.checks.lines.lines_wrong, record.checks.pad_reused), (0, Some(false)));
}
