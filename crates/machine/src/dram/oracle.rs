//! A slow, simple checker of command sequences, for tests only.
//!
//! The checker states the DDR standard as minimum distances between pairs of commands and compares every command with
//! all recent commands. It shares no state with the checked devices.

use super::config::DramConfig;
use super::{Burst, BurstLength, Dram, Kind};
use proptest::prelude::*;
use units::{Cycles, LineAddr, Time};

/// Type of an issued command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DramCommand {
    Activate,
    Precharge,
    Column(Kind),
    Refresh,
}

/// A command, its clock, and its bank (its rank, for a refresh).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Issued {
    at: u64,
    target: usize,
    command: DramCommand,
    /// Clocks for which the burst of a column command occupies the bus; zero for other commands.
    on_bus: u64,
}

impl Issued {
    pub fn activate(at: u64, target: usize) -> Issued {
        Issued { at, target, command: DramCommand::Activate, on_bus: 0 }
    }

    pub fn precharge(at: u64, target: usize) -> Issued {
        Issued { at, target, command: DramCommand::Precharge, on_bus: 0 }
    }

    pub fn column(at: u64, target: usize, kind: Kind, on_bus: u64) -> Issued {
        Issued { at, target, command: DramCommand::Column(kind), on_bus }
    }

    pub fn refresh(at: u64, target: usize) -> Issued {
        Issued { at, target, command: DramCommand::Refresh, on_bus: 0 }
    }
}

/// Returns the minimum number of clocks from `first` to `second` in the standard.
fn distance(config: &DramConfig, first: Issued, second: Issued) -> u64 {
    use DramCommand::{Activate, Column, Precharge, Refresh};
    use Kind::{Read, Write};
    let (t, o) = (&config.timing, &config.organisation);
    let in_group = o.banks_per_group as usize;
    let in_rank = in_group * o.bank_groups as usize;
    let rank = |issued: Issued| if issued.command == Refresh { issued.target } else { issued.target / in_rank };
    let same_rank = rank(first) == rank(second);
    let same_bank = first.target == second.target;
    let same_group = first.target / in_group == second.target / in_group;
    let near = |long: u64, short: u64, far: u64| match (same_group, same_rank) {
        (true, _) => long,
        (false, true) => short,
        (false, false) => far,
    };
    let written = t.cwl + first.on_bus;
    // Idle clocks of a device between two bursts, for any burst length.
    let (rest_l, rest_s) = (t.tccd_l - t.burst_clocks, t.tccd_s - t.burst_clocks);
    match (first.command, second.command) {
        (Activate, Activate) if same_bank => t.trc,
        (Activate, Activate) if same_rank => near(t.trrd_l, t.trrd_s, 0),
        (Activate, Precharge) if same_bank => t.tras,
        (Activate, Column(_)) if same_bank => t.trcd,
        (Activate, Refresh) if same_rank => t.trc,
        (Precharge, Activate) if same_bank => t.trp,
        (Precharge, Refresh) if same_rank => t.trp,
        (Column(Read), Precharge) if same_bank => t.trtp,
        (Column(Write), Precharge) if same_bank => written + t.twr,
        (Column(Read), Column(Read)) | (Column(Write), Column(Write)) => first.on_bus + near(rest_l, rest_s, t.trtrs),
        (Column(Read), Column(Write)) => (t.cl + first.on_bus + t.trtrs).saturating_sub(t.cwl),
        (Column(Write), Column(Read)) => {
            near(written + t.twtr_l, written + t.twtr_s, (written + t.trtrs).saturating_sub(t.cl))
        }
        (Refresh, _) if same_rank => t.trfc,
        _ => 0,
    }
}

/// Panics at the first command that the standard forbids.
pub(super) fn judge(config: &DramConfig, log: &[Issued]) {
    let in_rank = (config.organisation.bank_groups * config.organisation.banks_per_group) as usize;
    let horizon = config.timing.trfc.max(200);
    let mut log = log.to_vec();
    log.sort_by_key(|issued| issued.at);
    for (number, &second) in log.iter().enumerate() {
        let mut activates = 0;
        for &first in log[..number].iter().rev().take_while(|first| first.at + horizon > second.at) {
            let wait = distance(config, first, second);
            assert!(second.at >= first.at + wait, "{second:?} is less than {wait} clocks after {first:?}");
            let one_command = first.at < second.at
                || (first.command, second.command) == (DramCommand::Precharge, DramCommand::Precharge);
            assert!(one_command, "{first:?} and {second:?} share the command bus");
            let both_activate = (first.command, second.command) == (DramCommand::Activate, DramCommand::Activate);
            if both_activate && first.target / in_rank == second.target / in_rank {
                activates += 1;
                assert!(
                    activates < 4 || second.at >= first.at + config.timing.tfaw,
                    "five activates in tFAW: {second:?}"
                );
            }
        }
    }
}

/// A request of a generated test: clocks since the previous request, line, number of words, true for a write.
type TestRequest = (u64, u64, u8, bool);

fn requests() -> impl Strategy<Value = Vec<TestRequest>> {
    let gap = prop_oneof![4 => 0..6u64, 2 => 0..200u64, 1 => 0..30_000u64];
    let line = prop_oneof![3 => 0..64u64, 3 => (0..64u64).prop_map(|row| row << 9), 2 => 0..(1u64 << 28)];
    proptest::collection::vec((gap, line, 1..=8u8, any::<bool>()), 1..400)
}

pub(super) fn configs() -> impl Strategy<Value = DramConfig> {
    use super::{AddressMap, PagePolicy, Scheduler};
    let map =
        prop_oneof![Just(AddressMap::RowBankGroupColumn), Just(AddressMap::BankGroupLow), Just(AddressMap::XorBanks)];
    let scheduler =
        prop_oneof![Just(Scheduler::FrFcfs), Just(Scheduler::FrFcfsCapped { cap: 2 }), Just(Scheduler::Fcfs)];
    let page = prop_oneof![Just(PagePolicy::Open), Just(PagePolicy::OpenWithTimeout { idle_clocks: 150 })];
    (map, scheduler, page, 0..2u32, 1..40usize).prop_map(|(address_map, scheduler, page_policy, ranks, queue)| {
        let mut config = DramConfig { address_map, scheduler, page_policy, ..DramConfig::ddr4_3200() };
        config.organisation.ranks = 1 << ranks;
        if queue % 3 == 0 {
            config.bursts = BurstLength::Any;
            (config.timing.burst_clocks, config.timing.tccd_s, config.timing.tccd_l) = (8, 8, 9);
        }
        (config.read_queue, config.write_queue) = (queue, queue);
        (config.drain_start, config.drain_stop) = (queue.div_ceil(2), queue.div_ceil(2) / 2);
        config
    })
}

/// Runs requests to the end. Returns the channel and, for each request, the number of answers and the latency.
fn run(config: &DramConfig, sequence: &[TestRequest]) -> (Dram, Vec<(u32, u64)>) {
    let clock = config.clock_mhz.clock();
    let mut dram = Dram::new(config.clone());
    let mut completions = Vec::new();
    let mut now = Time::ZERO;
    for (token, &(gap, line, words, write)) in sequence.iter().enumerate() {
        let kind = if write { Kind::Write } else { Kind::Read };
        now += clock.span(Cycles(gap));
        while !dram.has_room(kind) {
            now = dram.advance(now, &mut completions).unwrap_or(now).max(now);
        }
        let words = if config.bursts == BurstLength::Any { words } else { 8 };
        dram.submit(now, Burst { words, ..LineAddr(line).into() }, kind, token as u32);
    }
    while let Some(next) = dram.advance(now, &mut completions) {
        now = next;
    }
    let mut answers = vec![(0, 0); sequence.len()];
    for completion in completions {
        let answer = &mut answers[completion.token as usize];
        answer.0 += 1;
        answer.1 = completion.at.since(completion.arrived).as_fs() / clock.period().as_fs();
    }
    (dram, answers)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_requests_lead_only_to_legal_dram_commands(config in configs(), sequence in requests()) {
        let (dram, _) = run(&config, &sequence);
        judge(&config, dram.log());
    }

    #[test]
    fn every_random_dram_read_completes_exactly_once_and_in_bounded_time(config in configs(), sequence in requests()) {
        let (_, answers) = run(&config, &sequence);
        for (answer, &(.., write)) in answers.iter().zip(&sequence) {
            prop_assert_eq!(answer.0, u32::from(!write));
            prop_assert!(answer.1 < 4 * config.timing.trefi, "a read took {} clocks", answer.1);
        }
    }

    #[test]
    fn equal_requests_lead_to_equal_dram_commands_and_statistics(config in configs(), sequence in requests()) {
        let (first, second) = (run(&config, &sequence), run(&config, &sequence));
        prop_assert_eq!(first.0.log(), second.0.log());
        prop_assert_eq!(first.0.counts(), second.0.counts());
    }
}

#[test]
#[should_panic(expected = "is less than 22 clocks after")]
fn the_dram_protocol_checker_finds_an_illegal_command() {
    judge(&DramConfig::ddr4_3200(), &[Issued::activate(100, 3), Issued::column(121, 3, Kind::Read, 4)]);
}
