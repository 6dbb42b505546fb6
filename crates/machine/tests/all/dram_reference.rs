//! Latencies of single accesses to an idle DRAM channel, exact to the clock. The expected values are those of two
//! public simulators.
//!
//! `casemate validate` and `runner/tests/all/validation.rs` compare whole streams with these simulators.

use casemate_machine::dram::{Completion, Dram, DramConfig, Kind, RowOutcome, WaitCause};
use units::{Cycles, Frequency, LineAddr, Time};

/// CL and half of a burst of eight, for DDR4-3200 22-22-22.
const HIT: u64 = 26;
/// Latency of a closed bank: additionally tRCD.
const CLOSED: u64 = HIT + 22;
/// Latency of a row conflict: additionally tRP.
const CONFLICT: u64 = CLOSED + 22;

/// Reads one line on an idle channel and returns the answer and its latency in clocks.
fn lone_read(dram: &mut Dram, clock: u64, line: u64) -> (Completion, u64) {
    let memory_clock = Frequency::from_mhz(1600).clock();
    let now = memory_clock.start_of(Cycles(clock));
    dram.submit(now, LineAddr(line), Kind::Read, 7);
    let mut completions = Vec::new();
    let mut next = Some(now);
    while let Some(now) = next {
        next = dram.advance(now, &mut completions);
    }
    let [completion] = completions[..] else { panic!("one read has {} answers", completions.len()) };
    (completion, completion.at.since(completion.arrived).as_fs() / memory_clock.period().as_fs())
}

#[test]
fn a_single_dram_read_takes_the_idle_latency_of_a_row_hit_miss_or_conflict() {
    let mut dram = Dram::new(DramConfig::ddr4_3200());
    for (clock, line, outcome, clocks) in [
        (0, 0, RowOutcome::Closed, CLOSED),
        (1_000, 1, RowOutcome::Hit, HIT),
        (2_000, 1 << 11, RowOutcome::Conflict, CONFLICT),
        (20_000, 1 << 11, RowOutcome::Closed, CLOSED),
    ] {
        let (completion, latency) = lone_read(&mut dram, clock, line);
        assert_eq!((completion.outcome, latency), (outcome, clocks));
        assert_eq!((completion.waited_for, completion.token), (WaitCause::Nothing, 7));
    }
    assert_eq!(dram.counts().refreshes, 1);
    assert_eq!(dram.counts().read_latency.as_fs(), (26 + 48 + 70 + 48) * 625_000);
}

#[test]
fn a_dram_read_during_a_refresh_waits_for_its_end() {
    let mut dram = Dram::new(DramConfig::ddr4_3200());
    let (completion, latency) = lone_read(&mut dram, 12_480 + 100, 0);
    assert_eq!((latency, completion.waited_for), (560 - 100 + 48, WaitCause::Refresh));
}

#[test]
fn an_idle_dram_channel_needs_no_calls_and_still_counts_refreshes() {
    let mut dram = Dram::new(DramConfig::ddr4_3200());
    lone_read(&mut dram, 0, 0);
    let mut completions = Vec::new();
    assert_eq!(dram.advance(Time::from_fs(625_000 * 12_480 * 1_000_000), &mut completions), None);
    assert_eq!(dram.counts().refreshes, 1_000_000);
}

#[test]
fn every_rank_of_an_idle_channel_is_refreshed_when_it_is_due() {
    for ranks in [1, 2, 4, 8] {
        let mut config = DramConfig::ddr4_3200();
        config.organisation.ranks = ranks;
        let interval = config.timing.trefi;
        // From the first interval on the ranks refresh in turn, each a fraction of an interval after the previous rank.
        for turn in 0..3 * ranks {
            let mut dram = Dram::new(config.clone());
            lone_read(&mut dram, 0, 0);
            let due = interval + turn * interval / ranks;
            // The row that was read must be closed before the refresh.
            dram.advance(Time::from_fs(625_000 * (due + CONFLICT)), &mut Vec::new());
            assert_eq!(dram.counts().refreshes, turn + 1, "of {ranks} ranks");
            let (_, latency) = lone_read(&mut dram, due + 1_000, 0);
            assert_eq!(latency, CLOSED, "its rank was refreshed in time, in turn {turn}");
        }
    }
}

#[test]
fn a_request_between_two_clock_edges_is_accepted_at_the_next_edge() {
    let mut dram = Dram::new(DramConfig::ddr4_3200());
    let mut completions = Vec::new();
    dram.submit(Time::from_fs(1), LineAddr(0), Kind::Read, 0);
    assert_eq!(dram.advance(Time::from_fs(1), &mut completions), Some(Time::from_fs(625_000)));
    dram.advance(Time::from_fs(625_000), &mut completions);
    assert!(completions.is_empty(), "an activate answers nothing");
    while let Some(next) = dram.advance(Time::from_fs(625_000), &mut completions) {
        dram.advance(next, &mut completions);
    }
    assert_eq!(completions[0].at, Time::from_fs(49 * 625_000));
}

#[test]
fn queued_dram_writes_forward_data_to_reads_and_merge_writes_of_their_line() {
    let mut dram = Dram::new(DramConfig::ddr4_3200());
    let line = LineAddr(3);
    let requests =
        [(line, Kind::Write, 0), (line, Kind::Write, 0), (line, Kind::Read, 5), (LineAddr(9), Kind::Read, 6)];
    let bursts = requests.map(|(line, kind, token)| dram.submit(Time::ZERO, line, kind, token));
    assert_eq!(bursts, [true, false, false, true]);
    let mut completions = Vec::new();
    let mut next = Some(Time::ZERO);
    while let Some(now) = next {
        next = dram.advance(now, &mut completions);
    }
    assert_eq!((completions[0].token, completions[0].at.as_fs()), (5, 625_000));
    assert_eq!(completions.iter().map(|answer| answer.burst).collect::<Vec<_>>(), [false, true]);
    let counts = dram.counts();
    assert_eq!((counts.writes, counts.merged, counts.forwarded, counts.activates), (2, 1, 1, 1));
    // One write and one read have each transferred a line.
    assert_eq!(counts.data_bus_busy_clocks, 8);
}

#[test]
fn a_full_dram_read_queue_has_no_room_until_a_command_issues() {
    let mut dram = Dram::new(DramConfig::ddr4_3200());
    for row in 0..32 {
        assert!(dram.has_room(Kind::Read));
        dram.submit(Time::ZERO, LineAddr(row << 11), Kind::Read, row as u32);
    }
    assert!(!dram.has_room(Kind::Read) && dram.has_room(Kind::Write));
    dram.advance(Time::ZERO, &mut Vec::new());
    assert!(dram.has_room(Kind::Read));
}
