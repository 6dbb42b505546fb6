//! Losses of power on the whole machine: compares the recovered memory with an account of the programs' stores.

use crate::common::swept::{an_eighth, every_one, share_of_tests, side_by_side};
use crate::common::{kernel, machine_for};
use crate::threads::Threads;
use casemate_runner::power_loss::{At, LossOptions, LossOutcome, count_events, lose_power};
use casemate_runner::{RunControl, RunError, RunOptions};
use catalogue::Design;
use cost::Energy;
use protection::planted::PlantedBug;
use std::sync::atomic::{AtomicU64, Ordering};
use units::random::Random;
use units::{Bytes, Time};
use workload::Source;

const BATTERIES: [&str; 11] = [
    "secpb-cobcm",
    "secpb-obcm",
    "secpb-bcm",
    "secpb-cm",
    "secpb-m",
    "secpb-nogap",
    "secpb-cm-dbmf",
    "secpb-cm-sbmf",
    "bbb",
    "eadr",
    "secure-eadr",
];
const AT_CONTROLLER: [&str; 5] = ["plp-sp", "plp-pipelined", "plp-coalesced", "plp-sp-dbmf", "plp-sp-sbmf"];
const OF_ONE_CORE: [&str; 4] = ["gups", "stream", "log", "stores"];
const OF_TWO_CORES: [&str; 3] = ["two-gups", "two-logs", "two-stores"];

/// A short program that stores to the same lines again and again, or from two cores.
fn source(workload: &str, seed: u64) -> Box<dyn Source> {
    match workload {
        "gups" => kernel("gups", &[("footprint", "1MB")], seed),
        "stream" => kernel("stream", &[("footprint", "6MB")], seed),
        "log" => kernel("log", &[("footprint", "64KB")], seed),
        "stores" => kernel("stores", &[("footprint", "4KB")], seed),
        "two-gups" => Threads::of("gups", &[("footprint", "64KB")], 2),
        "two-logs" => Threads::of("log", &[("footprint", "16KB")], 2),
        _ => Threads::of("stores", &[("footprint", "4KB")], 2),
    }
}

/// A run on a machine with 64 MB of memory, and with caches so small that they evict lines all the time.
fn options(design: Design, workload: &str, seed: u64) -> RunOptions {
    let mut machine = machine_for(&design.name);
    machine.memory.size = Bytes(64 << 20);
    (machine.node.l1d.size, machine.node.l1d.ways) = (Bytes(4 << 10), 4);
    (machine.node.l2.size, machine.node.l2.ways) = (Bytes(16 << 10), 4);
    (machine.llc.size, machine.llc.ways) = (Bytes(64 << 10), 4);
    machine.cores = if workload.starts_with("two") { 2 } else { 1 };
    RunOptions { seed, ledger: true, ..RunOptions::new(machine, design, 10_000) }
}

/// A program under a design, with losses of power at random events.
struct Cuts {
    options: RunOptions,
    workload: &'static str,
    events: u64,
    random: Random,
}

impl Cuts {
    fn of(design: Design, workload: &'static str, seed: u64) -> Cuts {
        let options = options(design, workload, seed);
        let events = count_events(&options, vec![source(workload, seed)], |_| RunControl::GoOn).unwrap();
        Cuts { options, workload, events, random: Random::new(seed) }
    }

    fn cut(&self, at: At, battery: Option<Energy>) -> LossOutcome {
        let sources = vec![source(self.workload, self.options.seed)];
        lose_power(&self.options, sources, LossOptions { at, battery, planted: PlantedBug::NONE }, |_| RunControl::GoOn).unwrap()
    }

    fn somewhere(&mut self) -> At {
        At::Events(self.random.below(self.events + 1))
    }
}

fn named(design: &str) -> Design {
    catalogue::design(design).unwrap()
}

/// Cuts the power `times` times for each pair of design and workload. Returns the number of losses.
fn nothing_is_lost(pairs: Vec<(&'static str, &'static str)>, times: u64, seed: u64) -> u64 {
    let losses = AtomicU64::new(0);
    side_by_side(pairs, |(design, workload)| {
        let mut cuts = Cuts::of(named(design), workload, seed);
        for _ in 0..times {
            let at = cuts.somewhere();
            let loss = cuts.cut(at, None);
            assert!(loss.passed(), "{design}, {workload}, seed {seed}, {at:?}: {loss:?}");
            losses.fetch_add(1, Ordering::Relaxed);
        }
    });
    losses.into_inner()
}

fn pairs() -> Vec<(&'static str, &'static str)> {
    let workloads = || OF_ONE_CORE.into_iter().chain(OF_TWO_CORES);
    let designs = BATTERIES.into_iter().chain(AT_CONTROLLER);
    designs.flat_map(|design| workloads().map(move |workload| (design, workload))).collect()
}

#[test]
fn memory_recovers_exactly_the_accepted_stores_after_any_loss_of_power() {
    let share = share_of_tests();
    let chosen = an_eighth(pairs(), share);
    let times = if every_one() { 100 } else { 8 };
    assert_eq!(nothing_is_lost(chosen.clone(), times, share), times * chosen.len() as u64);
}

/// If the design accepts a store after a fence, memory contains all lines that the program flushed before the fence.
#[test]
fn a_fence_makes_earlier_flushed_lines_durable() {
    let programs = vec![("plp-coalesced", "log"), ("plp-coalesced", "two-logs")];
    assert_eq!(nothing_is_lost(programs, 20, share_of_tests()), 40);
}

#[test]
fn every_store_is_accepted_at_the_end_of_a_program_under_persistent_designs() {
    for (design, workload) in pairs() {
        let end = Cuts::of(named(design), workload, 1).cut(At::Time(Time::NEVER), None);
        assert!(end.passed() && end.stores.accepted == end.stores.executed, "{design}, {workload}: {end:?}");
    }
}

#[test]
#[ignore = "an hour: `make campaign`"]
fn a_hundred_thousand_power_losses_in_runs_lose_no_accepted_store() {
    let (pairs, mut losses) = (pairs(), 0);
    for seed in 1.. {
        losses += nothing_is_lost(pairs.clone(), 100, seed);
        if losses >= 100_000 {
            break;
        }
    }
}

/// A loss has no effect for a store of the value that memory already has, and for a store that a later one overwrites.
#[test]
fn a_battery_energy_one_operation_too_small_loses_a_store() {
    let (mut short, mut losing) = (0, 0);
    for design in BATTERIES {
        let mut cuts = Cuts::of(named(design), "gups", 1);
        for _ in 0..4 {
            let at = cuts.somewhere();
            let needed = cuts.cut(at, None).battery.unwrap().needed;
            if needed == Energy::default() {
                continue;
            }
            assert!(cuts.cut(at, Some(needed)).passed(), "{design}, {at:?}: the whole battery");
            let loss = cuts.cut(at, Some(Energy::of_femtojoules(needed.femtojoules() - 1)));
            assert!(loss.battery.unwrap().died_after.is_some(), "{design}, {at:?}: {loss:?}");
            short += 1;
            losing += usize::from(!loss.passed());
        }
    }
    assert!(short >= 36 && losing * 10 >= short * 9, "{losing} of {short}");
}

#[test]
fn the_persist_buffer_without_metadata_drain_shows_the_recoverability_gap() {
    let mut cuts = Cuts::of(named("bbb-gap"), "stores", 1);
    let at: Vec<At> = (0..4).map(|_| cuts.somewhere()).collect();
    let losses: Vec<LossOutcome> = at.into_iter().map(|at| cuts.cut(at, None)).collect();
    let loss = losses.iter().find(|loss| !loss.passed()).unwrap();
    let mismatch = &loss.mismatches[0];
    assert!(mismatch.line.is_some() && (1..=2).contains(&mismatch.session), "{mismatch:?}");
}

#[test]
fn power_fails_at_the_requested_instruction_or_time() {
    let cuts = Cuts::of(named("secpb-cobcm"), "gups", 1);
    let loss = cuts.cut(At::Instructions(4_000), None);
    assert!((4_000..4_600).contains(&loss.at.instructions), "{loss:?}");
    let time = Time::from_fs(loss.at.time_fs);
    assert_eq!(cuts.cut(At::Time(time), None).at.time_fs, loss.at.time_fs);
}

#[test]
fn a_loss_under_a_volatile_design_or_with_a_warm_up_is_refused() {
    let refused = |design: &str, warm_up| {
        let options = RunOptions { warm_up, ..options(named(design), "gups", 1) };
        let losing = LossOptions { at: At::Events(1), battery: None, planted: PlantedBug::NONE };
        match lose_power(&options, vec![source("gups", 1)], losing, |_| RunControl::GoOn) {
            Err(RunError::PowerLoss(rule)) => rule,
            other => panic!("{other:?}"),
        }
    };
    assert!(refused("sc64-bmt", 0).contains("keeps no data over a loss of power"));
    assert!(refused("secpb-cobcm", 100).contains("--warm-up"));
}
