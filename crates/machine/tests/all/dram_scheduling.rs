//! Checks that the memory controller selects commands according to its configuration.

use casemate_machine::dram::{
    AddressMap, BusTurnaround, Completion, Dram, DramConfig, Kind, PagePolicy, QueueCounts, RowOutcome, Scheduler,
    Timing, WaitCause,
};
use units::{Cycles, Frequency, LineAddr, Time};

/// Distances in lines: a row has 128 lines, so the next bank group is 128 lines further on. The next bank of the group
/// is 512 lines further on, the next row of the same bank 2048.
const GROUP: u64 = 128;
const BANK: u64 = 512;
const ROW: u64 = 2048;

fn at(clock: u64) -> Time {
    Frequency::from_mhz(1600).clock().start_of(Cycles(clock))
}

fn channel(change: impl FnOnce(&mut DramConfig)) -> Dram {
    let mut config = DramConfig::ddr4_3200();
    change(&mut config);
    Dram::new(config)
}

/// Runs until no request waits.
fn finish(dram: &mut Dram) -> Vec<Completion> {
    let mut completions = Vec::new();
    let mut next = Some(Time::ZERO);
    while let Some(now) = next {
        next = dram.advance(now, &mut completions);
    }
    completions
}

/// Submits reads at one clock, numbered in order, and returns their tokens in the order of their answers.
fn order_of_answers(dram: &mut Dram, clock: u64, lines: &[u64]) -> Vec<u32> {
    for (token, &line) in (0..).zip(lines) {
        dram.submit(at(clock), LineAddr(line), Kind::Read, token);
    }
    finish(dram).iter().map(|completion| completion.token).collect()
}

/// A request of a scenario: its clock, its line and its kind.
type TestRequest = (u64, u64, Kind);

/// Returns the clock at which the last read of a scenario has its data.
fn last_data(timing: Timing, sequence: &[TestRequest]) -> u64 {
    last_data_of(channel(|config| config.timing = timing), sequence)
}

/// Same, for this channel.
fn last_data_of(mut dram: Dram, sequence: &[TestRequest]) -> u64 {
    for &(clock, line, kind) in sequence {
        dram.submit(at(clock), LineAddr(line), kind, 0);
    }
    let data = finish(&mut dram).into_iter().map(|completion| completion.at.as_fs() / 625_000);
    data.max().expect("a scenario holds a read")
}

#[test]
fn each_dram_timing_constraint_alone_delays_the_data_that_wait_for_it() {
    use Kind::{Read, Write};
    type Field = fn(&mut Timing) -> &mut u64;
    let scenarios: [(&str, Field, &[TestRequest], u64); 15] = [
        ("tRCD", |t| &mut t.trcd, &[(0, 0, Read)], 22 + 26),
        ("CL", |t| &mut t.cl, &[(0, 0, Read)], 22 + 26),
        ("tCCD_L", |t| &mut t.tccd_l, &[(0, 0, Read), (0, 1, Read)], 22 + 8 + 26),
        (
            "tCCD_S",
            |t| &mut t.tccd_s,
            &[(0, 0, Read), (4, GROUP, Read), (99, 1, Read), (99, GROUP + 1, Read)],
            103 + 26,
        ),
        ("tRRD_S", |t| &mut t.trrd_s, &[(0, 0, Read), (0, GROUP, Read)], 4 + 48),
        ("tRRD_L", |t| &mut t.trrd_l, &[(0, 0, Read), (0, BANK, Read)], 8 + 48),
        ("tRC", |t| &mut t.trc, &[(0, 0, Read), (0, ROW, Read)], 74 + 48),
        ("tRTP", |t| &mut t.trtp, &[(0, 0, Read), (100, 1, Read), (101, ROW, Read)], 112 + 70),
        ("tWR", |t| &mut t.twr, &[(0, 0, Write), (30, ROW, Read)], 22 + 16 + 4 + 24 + 70),
        ("tWTR_L", |t| &mut t.twtr_l, &[(0, 0, Write), (30, 1, Read)], 22 + 16 + 4 + 12 + 26),
        ("tWTR_S", |t| &mut t.twtr_s, &[(0, GROUP, Read), (100, 0, Write), (123, GROUP + 1, Read)], 122 + 24 + 26),
        ("tRTRS", |t| &mut t.trtrs, &[(0, 0, Read), (99, 1, Read), (99, 2, Write), (120, 3, Read)], 99 + 12 + 32 + 26),
        ("CWL", |t| &mut t.cwl, &[(0, 0, Write), (30, 1, Read)], 22 + 16 + 4 + 12 + 26),
        ("tREFI", |t| &mut t.trefi, &[(12_500, 0, Read)], 12_480 + 560 + 48),
        ("tRFC", |t| &mut t.trfc, &[(12_500, 0, Read)], 12_480 + 560 + 48),
    ];
    for (name, field, sequence, clock) in scenarios {
        let mut timing = Timing::DDR4_3200;
        assert_eq!(last_data(timing, sequence), clock, "{name}");
        *field(&mut timing) += 1;
        assert_eq!(last_data(timing, sequence), clock + 1, "{name}, one clock longer");
    }
}

#[test]
fn the_time_from_a_request_to_its_first_command_is_summed_up_for_each_kind() {
    use Kind::{Read, Write};
    /// Requests of a kind, and the clocks that they waited.
    type Waited = (u64, u64);
    let waits: [(&[TestRequest], [Waited; 2]); 4] = [
        (&[(0, 0, Read)], [(1, 0), (0, 0)]),
        // The first row must have been open for 52 clocks before it is closed for the second.
        (&[(0, 0, Read), (0, ROW, Read)], [(2, 52), (0, 0)]),
        // The row's last read is at 100, and it is closed 12 clocks after that.
        (&[(0, 0, Read), (100, 1, Read), (101, ROW, Read)], [(3, 11), (0, 0)]),
        // The write is on the bus from clock 38 to 42, and the row may be read another 12 clocks later.
        (&[(0, 0, Write), (30, 1, Read)], [(1, 24), (1, 0)]),
    ];
    for (sequence, expected) in waits {
        let mut dram = channel(|_| ());
        for &(clock, line, kind) in sequence {
            dram.submit(at(clock), LineAddr(line), kind, 0);
        }
        finish(&mut dram);
        let counts = dram.counts();
        let expected = expected.map(|(requests, clocks)| QueueCounts { requests, clocks });
        assert_eq!([counts.queues.reads, counts.queues.writes], expected, "{sequence:?}");
    }
}

#[test]
fn a_fifth_row_opens_only_after_tfaw() {
    let banks = [0, GROUP, 2 * GROUP, 3 * GROUP, BANK].map(|line| (0, line, Kind::Read));
    for tfaw in [36, 37] {
        assert_eq!(last_data(Timing { tfaw, ..Timing::DDR4_3200 }, &banks), tfaw + 48);
    }
}

#[test]
fn bursts_and_open_rows_last_for_their_configured_times() {
    for more in [0, 1] {
        let timing = Timing { burst_clocks: 4 + more, tccd_s: 4 + more, ..Timing::DDR4_3200 };
        assert_eq!(last_data(timing, &[(0, 0, Kind::Read)]), 22 + 22 + 4 + more);
        let timing = Timing { tras: 52 + more, trc: 74 + more, ..Timing::DDR4_3200 };
        assert_eq!(last_data(timing, &[(0, 0, Kind::Read), (0, ROW, Kind::Read)]), 52 + more + 22 + 48);
    }
}

#[test]
fn a_memory_queue_accepts_exactly_its_number_of_entries() {
    for places in [4, 5] {
        for kind in [Kind::Read, Kind::Write] {
            let mut dram = channel(|config| {
                (config.read_queue, config.write_queue) = (places, places);
                (config.drain_start, config.drain_stop) = (places, 1);
            });
            let taken = (0..).take_while(|&line| {
                let room = dram.has_room(kind);
                if room {
                    dram.submit(at(0), LineAddr(line * ROW), kind, line as u32);
                }
                room
            });
            assert_eq!(taken.count(), places, "{kind:?}");
        }
    }
}

#[test]
fn a_row_conflict_on_an_idle_bank_waits_for_trp() {
    for trp in [22, 23] {
        let timing = Timing { trp, trc: 75, ..Timing::DDR4_3200 };
        assert_eq!(last_data(timing, &[(0, 0, Kind::Read), (500, ROW, Kind::Read)]), 500 + trp + 48);
    }
}

#[test]
fn fr_fcfs_serves_open_row_requests_before_an_older_row_conflict() {
    let mut dram = channel(|_| {});
    assert_eq!(order_of_answers(&mut dram, 0, &[0, ROW, 1, 2]), [0, 2, 3, 1]);
}

#[test]
fn capped_fr_fcfs_lets_no_more_than_the_cap_overtake_an_older_request() {
    let mut dram = channel(|config| config.scheduler = Scheduler::FrFcfsCapped { cap: 2 });
    assert_eq!(order_of_answers(&mut dram, 0, &[0, ROW, 1, 2, 3, 4]), [0, 2, 3, 1, 4, 5]);
}

#[test]
fn the_fcfs_scheduler_keeps_the_order_of_requests() {
    let mut dram = channel(|config| config.scheduler = Scheduler::Fcfs);
    assert_eq!(order_of_answers(&mut dram, 0, &[0, ROW, 1, ROW + 1, GROUP]), [0, 1, 2, 3, 4]);
}

#[test]
fn an_idle_row_is_closed_exactly_after_its_time() {
    let config = |config: &mut DramConfig| config.page_policy = PagePolicy::OpenWithTimeout { idle_clocks: 200 };
    // The row is last used 22 clocks after its activate, and a closed bank needs tRP more before it opens again.
    for (clock, outcome) in [(222, RowOutcome::Hit), (223, RowOutcome::Closed)] {
        let mut dram = channel(config);
        dram.submit(at(0), LineAddr(0), Kind::Read, 0);
        finish(&mut dram);
        dram.submit(at(clock), LineAddr(1), Kind::Read, 1);
        assert_eq!(finish(&mut dram)[0].outcome, outcome, "at clock {clock}");
    }
}

#[test]
fn a_dram_completion_names_the_cause_of_its_wait() {
    let mut dram = channel(|_| {});
    for (token, line) in [(0, 0), (1, ROW), (2, 2 * ROW)] {
        dram.submit(at(0), LineAddr(line), Kind::Read, token);
    }
    let causes: Vec<WaitCause> = finish(&mut dram).iter().map(|completion| completion.waited_for).collect();
    assert_eq!(causes, [WaitCause::Nothing, WaitCause::Queue, WaitCause::Queue]);

    let mut dram = channel(|_| {});
    dram.submit(at(0), LineAddr(0), Kind::Read, 0);
    dram.advance(at(10), &mut Vec::new());
    dram.submit(at(10), LineAddr(ROW), Kind::Read, 1);
    assert_eq!(finish(&mut dram)[1].waited_for, WaitCause::BankBusy);
}

#[test]
fn a_dram_read_delayed_by_a_write_drain_names_it_as_the_cause() {
    let mut dram = channel(|_| {});
    for number in 0..26 {
        dram.submit(at(0), LineAddr(number * ROW), Kind::Write, 0);
    }
    dram.advance(at(0), &mut Vec::new());
    dram.submit(at(1), LineAddr(GROUP), Kind::Read, 1);
    assert_eq!(finish(&mut dram)[0].waited_for, WaitCause::WriteDrain);
}

#[test]
fn an_endless_stream_of_writes_does_not_starve_a_read() {
    let mut dram = channel(|config| config.address_map = AddressMap::BankGroupLow);
    let mut completions = Vec::new();
    let mut line = 0;
    let mut clock = 0;
    dram.submit(at(0), LineAddr(1 << 20), Kind::Read, 1);
    while completions.is_empty() {
        while dram.has_room(Kind::Write) {
            dram.submit(at(clock), LineAddr(line), Kind::Write, 0);
            line += 1;
        }
        clock += 1;
        dram.advance(at(clock), &mut completions);
        assert!(clock < 1_000, "the read still waits");
    }
}

/// A channel in which two writes end the turn of reads and one ends the turn of writes.
fn turning(turns: BusTurnaround, timing: Timing) -> Dram {
    channel(|config| {
        (config.timing, config.turns) = (timing, turns);
        (config.drain_start, config.drain_stop) = (2, 1);
    })
}

#[test]
fn a_read_with_its_row_opening_is_postponed_by_a_cancelling_bus_turnaround() {
    use Kind::{Read, Write};
    let sequence = [(0, 0, Read), (10, GROUP, Write), (10, 2 * GROUP, Write)];
    assert_eq!(last_data_of(turning(BusTurnaround::Finish, Timing::DDR4_3200), &sequence), 22 + 26);
    let written = 10 + 22 + 16 + 4;
    assert_eq!(
        last_data_of(turning(BusTurnaround::Cancel, Timing::DDR4_3200), &sequence),
        written + 4 + 26,
        "its row is open"
    );
}

#[test]
fn a_read_cancelled_by_a_bus_turnaround_activates_its_row_again() {
    use Kind::{Read, Write};
    let timing = Timing { tccd_s: 60, tccd_l: 60, ..Timing::DDR4_3200 };
    let sequence = [(0, 0, Read), (0, GROUP, Read), (50, 2 * GROUP, Write), (50, 3 * GROUP, Write)];
    assert_eq!(last_data_of(turning(BusTurnaround::Finish, timing), &sequence), 50 + 22 + 16 + 4 + 4 + 26);
    assert_eq!(last_data_of(turning(BusTurnaround::Cancel, timing), &sequence), 50 + 22 + 16 + 4 + 22 + 26);
}

#[test]
fn with_cancelling_turnarounds_a_request_keeps_its_queue_entry_until_its_column_command() {
    for (turns, room) in [(BusTurnaround::Finish, [true, true]), (BusTurnaround::Cancel, [false, true])] {
        let mut dram = channel(|config| (config.turns, config.read_queue) = (turns, 1));
        dram.submit(at(0), LineAddr(0), Kind::Read, 0);
        let found = [21, 22].map(|clock| {
            dram.advance(at(clock), &mut Vec::new());
            dram.has_room(Kind::Read)
        });
        assert_eq!(found, room, "{turns:?}");
    }
}
