//! Losses of power on the whole machine: compares the recovered memory with an account of the programs' stores.

use crate::common::swept::{an_eighth, every_one, share_of_tests, side_by_side};
use crate::common::{kernel, machine_for};
use crate::past_caches::PastCaches;
use crate::threads::Threads;
#[cfg(feature = "planted-bugs")]
use casemate_runner::power_loss::Wrong;
use casemate_runner::power_loss::{At, LossOptions, LossOutcome, count_events, lose_power};
use casemate_runner::{RunControl, RunError, RunOptions};
use catalogue::Design;
use cost::Energy;
#[cfg(feature = "planted-bugs")]
use protection::planted::ChipBug;
use protection::planted::PlantedBug;
use std::sync::atomic::{AtomicU64, Ordering};
use units::random::Random;
use units::{Bytes, Time};
use workload::Source;

/// Designs with persist buffers, whose contents a battery drains.
const BUFFERS: [&str; 9] = [
    "secpb-cobcm",
    "secpb-obcm",
    "secpb-bcm",
    "secpb-cm",
    "secpb-m",
    "secpb-nogap",
    "secpb-cm-dbmf",
    "secpb-cm-sbmf",
    "bbb",
];
/// Designs with durable caches, which a battery empties.
const CACHES: [&str; 2] = ["eadr", "secure-eadr"];
const AT_CONTROLLER: [&str; 5] = ["plp-sp", "plp-pipelined", "plp-coalesced", "plp-sp-dbmf", "plp-sp-sbmf"];
const OF_ONE_CORE: [&str; 4] = ["gups", "stream", "log", "stores"];
const OF_TWO_CORES: [&str; 3] = ["two-gups", "two-logs", "two-stores"];
/// Its stores past the caches leave some lines complete and some incomplete. Persist buffers receive them like other
/// stores.
const PAST_CACHES: &str = "past-caches";

/// A short program that stores to the same lines again and again, or from two cores.
fn source(workload: &str, seed: u64) -> Box<dyn Source> {
    match workload {
        "gups" => kernel("gups", &[("footprint", "1MB")], seed),
        "stream" => kernel("stream", &[("footprint", "6MB")], seed),
        "log" => kernel("log", &[("footprint", "64KB")], seed),
        "stores" => kernel("stores", &[("footprint", "4KB")], seed),
        PAST_CACHES => {
            let settings = [("footprint", "128KB"), ("rate", "833"), ("per_line", "75")];
            PastCaches::of(kernel("stores", &settings, seed))
        }
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
    planted: PlantedBug,
}

impl Cuts {
    fn of(design: Design, workload: &'static str, seed: u64) -> Cuts {
        let options = options(design, workload, seed);
        let events = count_events(&options, vec![source(workload, seed)], |_| RunControl::GoOn).unwrap();
        Cuts { options, workload, events, random: Random::new(seed), planted: PlantedBug::NONE }
    }

    fn cut(&self, at: At, battery: Option<Energy>) -> LossOutcome {
        let sources = vec![source(self.workload, self.options.seed)];
        let losing = LossOptions { battery, planted: self.planted, ..LossOptions::new(at) };
        lose_power(&self.options, sources, losing, |_| RunControl::GoOn).unwrap()
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

fn workloads() -> impl Iterator<Item = &'static str> {
    OF_ONE_CORE.into_iter().chain(OF_TWO_CORES)
}

/// Pairs of design and workload without durable caches. The number of workloads has no factor in common with the number of
/// shares, so each share has all workloads.
fn pairs_without_caches() -> Vec<(&'static str, &'static str)> {
    let designs = BUFFERS.into_iter().chain(AT_CONTROLLER);
    designs.flat_map(|design| workloads().map(move |workload| (design, workload))).collect()
}

fn pairs_of_caches() -> Vec<(&'static str, &'static str)> {
    CACHES
        .into_iter()
        .flat_map(|design| workloads().chain([PAST_CACHES]).map(move |workload| (design, workload)))
        .collect()
}

fn pairs() -> Vec<(&'static str, &'static str)> {
    [pairs_without_caches(), pairs_of_caches()].concat()
}

/// Each share covers all workloads of durable caches, since few moments of few workloads have lines on all their ways to
/// memory.
#[test]
fn memory_recovers_exactly_the_accepted_stores_after_any_loss_of_power() {
    let share = share_of_tests();
    let chosen = [an_eighth(pairs_without_caches(), share), pairs_of_caches()].concat();
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
    for design in BUFFERS.into_iter().chain(CACHES) {
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
        let losing = LossOptions::new(At::Events(1));
        match lose_power(&options, vec![source("gups", 1)], losing, |_| RunControl::GoOn) {
            Err(RunError::PowerLoss(rule)) => rule,
            other => panic!("{other:?}"),
        }
    };
    assert!(refused("sc64-bmt", 0).contains("keeps no data over a loss of power"));
    assert!(refused("secpb-cobcm", 100).contains("--warm-up"));
}

/// Each bug of the battery, with a workload in which the battery leaves lines behind, and one in which it does not.
#[cfg(feature = "planted-bugs")]
const LEFT_BEHIND: [(ChipBug, &str, &str); 2] =
    [(ChipBug::CombiningLinesForgotten, PAST_CACHES, "gups"), (ChipBug::LinesOnTheWayForgotten, "gups", PAST_CACHES)];

#[cfg(feature = "planted-bugs")]
#[test]
fn a_battery_that_leaves_lines_behind_loses_their_stores_in_every_share() {
    assert_eq!(LEFT_BEHIND.map(|(bug, ..)| bug), ChipBug::OF_BATTERIES);
    for (bug, workload, other) in LEFT_BEHIND {
        for (design, share) in CACHES.into_iter().flat_map(|design| (0..8).map(move |share| (design, share))) {
            let losses = |workload, times| {
                let cuts = Cuts::of(named(design), workload, share);
                let mut cuts = Cuts { planted: PlantedBug::new(bug.into()), ..cuts };
                let moments: Vec<At> = (0..times).map(|_| cuts.somewhere()).collect();
                moments.into_iter().map(|at| cuts.cut(at, None)).collect::<Vec<_>>()
            };
            let failed: Vec<_> = losses(workload, 8).into_iter().filter(|loss| !loss.passed()).collect();
            assert!(!failed.is_empty(), "{bug:?}, {design}, {workload}, share {share}");
            for loss in failed {
                let first = &loss.mismatches[0];
                let is_lost = matches!(first.wrong, Wrong::Byte { .. } | Wrong::Refused);
                assert!(is_lost && first.session == 1 && first.store.is_some(), "{bug:?}, {design}: {first:?}");
            }
            assert!(losses(other, 2).iter().all(LossOutcome::passed), "{bug:?}, {design}, {other}, share {share}");
        }
    }
}
