//! Times of phase-change memory, and a check that no request is lost.

use super::*;
use crate::dram::WaitCause;
use proptest::prelude::*;
use units::Frequency;

const CLOCK: Duration = Duration::from_fs(833_000);
const BURST: Duration = Duration::from_fs(4 * 833_000);
const READ: Duration = Duration::from_ns(55);
const WRITE: Duration = Duration::from_ns(150);

/// Runs all events and returns the answers in the order of their tokens.
fn finish(pcm: &mut Pcm, mut now: Time) -> Vec<Completion> {
    let mut answers = Vec::new();
    while let Some(next) = pcm.advance(now, &mut answers) {
        assert!(next > now, "asked to be called again at once");
        now = next;
    }
    answers.sort_by_key(|answer| answer.token);
    answers
}

fn at(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

#[test]
fn a_single_pcm_read_takes_the_read_time_of_the_bank_and_a_burst() {
    let mut pcm = Pcm::new(PcmConfig::secpb());
    pcm.submit(at(10), LineAddr(3), Kind::Read, 0);
    let answer = finish(&mut pcm, at(10))[0];
    assert_eq!(answer.at, at(10) + READ + BURST);
    assert_eq!(answer.first_at, at(10) + READ + Duration::from_fs(BURST.as_fs() / 8));
    assert_eq!((answer.outcome, answer.waited_for), (RowOutcome::Closed, WaitCause::Nothing));
}

#[test]
fn each_lengthened_pcm_timing_parameter_delays_a_read_by_that_amount() {
    let last_read = |change: fn(&mut PcmConfig)| {
        let mut config = PcmConfig::secpb();
        change(&mut config);
        let mut pcm = Pcm::new(config);
        // The read finds its bank writing.
        pcm.submit(Time::ZERO, LineAddr(0), Kind::Write, 0);
        finish(&mut pcm, Time::ZERO);
        pcm.submit(at(100), LineAddr(17), Kind::Read, 1);
        finish(&mut pcm, at(100))[0].at
    };
    let plain = Time::ZERO + BURST + WRITE + READ + BURST;
    assert_eq!(last_read(|_| {}), plain);
    assert_eq!(last_read(|c| c.read_ns += 1.0), plain + Duration::from_ns(1));
    assert_eq!(last_read(|c| c.write_ns += 1.0), plain + Duration::from_ns(1));
    assert_eq!(last_read(|c| c.burst_clocks += 1), plain + CLOCK + CLOCK, "once for each transfer");
}

#[test]
fn a_memory_queue_accepts_exactly_its_number_of_entries() {
    for places in [4, 5] {
        for kind in [Kind::Read, Kind::Write] {
            let config = PcmConfig { read_queue: places, write_pending_queue: places, ..PcmConfig::secpb() };
            let mut pcm = Pcm::new(config);
            let taken = (0..).take_while(|&line| {
                let room = pcm.has_room(kind);
                if room {
                    pcm.submit(Time::ZERO, LineAddr(line), kind, line as u32);
                }
                room
            });
            assert_eq!(taken.count(), places, "{kind:?}");
        }
    }
}

#[test]
fn pcm_reads_of_one_bank_are_serial_and_of_two_banks_share_only_the_bus() {
    let mut pcm = Pcm::new(PcmConfig::secpb());
    for (token, line) in [0, 1, 17].into_iter().enumerate() {
        pcm.submit(Time::ZERO, LineAddr(line), Kind::Read, token as u32);
    }
    let answers = finish(&mut pcm, Time::ZERO);
    assert_eq!(answers[0].at, Time::ZERO + READ + BURST);
    // Line 17 is in line 0's bank, line 1 in another one.
    assert_eq!(answers[1].at, Time::ZERO + READ + BURST + BURST);
    assert_eq!(answers[2].at, Time::ZERO + READ + READ + BURST);
    assert_eq!(answers[2].waited_for, WaitCause::Queue);
}

#[test]
fn a_pcm_read_waits_for_the_write_of_its_bank_to_end() {
    let begun = Time::ZERO + BURST;
    for (arrives, begins) in [(begun + Duration::from_ns(149), begun + WRITE), (begun + WRITE, begun + WRITE)] {
        let mut pcm = Pcm::new(PcmConfig::secpb());
        pcm.submit(Time::ZERO, LineAddr(0), Kind::Write, 0);
        finish(&mut pcm, Time::ZERO);
        pcm.submit(arrives, LineAddr(17), Kind::Read, 1);
        assert_eq!(finish(&mut pcm, arrives)[0].at, begins + READ + BURST);
    }
}

#[test]
fn the_write_pending_queue_accepts_32_writes_and_the_next_after_a_transfer() {
    let mut pcm = Pcm::new(PcmConfig::secpb());
    for line in 0..32 {
        assert!(pcm.has_room(Kind::Write), "write {line}");
        pcm.submit(Time::ZERO, LineAddr(line), Kind::Write, 0);
    }
    assert!(!pcm.has_room(Kind::Write));
    pcm.advance(Time::ZERO, &mut Vec::new());
    assert!(pcm.has_room(Kind::Write), "the bus was free for one of them");
    pcm.submit(Time::ZERO, LineAddr(32), Kind::Write, 0);
    let just_before = Time::from_fs(BURST.as_fs() - 1);
    pcm.advance(just_before, &mut Vec::new());
    assert!(!pcm.has_room(Kind::Write));
    pcm.advance(Time::ZERO + BURST, &mut Vec::new());
    assert!(pcm.has_room(Kind::Write));
}

#[test]
fn writes_to_one_pcm_bank_fill_the_memory_queue_and_then_the_write_pending_queue() {
    let mut pcm = Pcm::new(PcmConfig::secpb());
    // All lines are in bank 0: bank 0 is writing one line, 128 writes are queued in the memory device, 32 are pending.
    let lines: Vec<u64> = (0..).filter(|line| pcm.bank_of(LineAddr(*line)) == 0).take(162).collect();
    let mut accepted = 0;
    let now = at(140);
    for step in 0..=140 {
        pcm.advance(at(step), &mut Vec::new());
        while accepted < lines.len() && pcm.has_room(Kind::Write) && step < 140 {
            pcm.submit(at(step), LineAddr(lines[accepted]), Kind::Write, 0);
            accepted += 1;
        }
    }
    // In 140 ns the bus has transferred 42 writes. Only the first of them is being written by its bank.
    assert_eq!(accepted, 42 + 32);
    let end = at(1_000);
    let mut time = now;
    while time < end {
        time += Duration::from_ns(1);
        pcm.advance(time, &mut Vec::new());
        while accepted < lines.len() && pcm.has_room(Kind::Write) {
            pcm.submit(time, LineAddr(lines[accepted]), Kind::Write, 0);
            accepted += 1;
        }
    }
    // One bank finishes a write every 150 ns: six are complete by now and the seventh is in progress. At most 7 + 128 +
    // 32 writes have been accepted.
    assert_eq!(accepted, 162);
    assert_eq!(pcm.waiting[Kind::Write as usize] + pcm.pending.len(), 162 - 7);
}

#[test]
fn pcm_reads_of_pending_writes_are_forwarded_and_of_queued_writes_need_only_the_bus() {
    let mut pcm = Pcm::new(PcmConfig::secpb());
    for (token, line) in [0, 1, 17].into_iter().enumerate() {
        pcm.submit(Time::ZERO, LineAddr(line), Kind::Write, token as u32);
    }
    pcm.advance(Time::ZERO, &mut Vec::new());
    pcm.submit(Time::ZERO, LineAddr(17), Kind::Read, 0);
    // Line 17 is transferred third and then waits for line 0's bank.
    let later = at(100);
    let mut answers = Vec::new();
    pcm.advance(later, &mut answers);
    assert_eq!(answers[0].at, Time::ZERO + CLOCK);
    pcm.submit(later, LineAddr(17), Kind::Read, 1);
    assert_eq!(finish(&mut pcm, later)[0].at, later + BURST);
    assert_eq!(pcm.counts().forwarded, 2);
}

#[test]
fn repeated_writes_to_a_pending_line_merge_into_one_write() {
    let mut pcm = Pcm::new(PcmConfig::secpb());
    for _ in 0..3 {
        pcm.submit(Time::ZERO, LineAddr(5), Kind::Write, 0);
    }
    finish(&mut pcm, Time::ZERO);
    assert_eq!((pcm.counts().writes, pcm.counts().merged), (3, 2));
    assert_eq!(pcm.counts().data_bus_busy_clocks, 4);
}

#[test]
fn a_read_forwarded_from_the_controller_needs_no_burst_and_from_the_pcm_queue_needs_one() {
    let mut pcm = Pcm::new(PcmConfig::secpb());
    let submit = |pcm: &mut Pcm, kind, token| pcm.submit(Time::ZERO, LineAddr(5), kind, token);
    assert_eq!([Kind::Write, Kind::Write, Kind::Read].map(|kind| submit(&mut pcm, kind, 0)), [true, false, false]);
    let mut answers = Vec::new();
    let transferred = Time::ZERO + BURST;
    pcm.advance(transferred, &mut answers);
    assert!(!answers[0].burst, "the controller answered");
    // The write is now in the queue of the memory device, or a bank is writing it. So the data of a read cross the bus.
    assert!(pcm.submit(transferred, LineAddr(5), Kind::Read, 1));
    assert!(pcm.submit(transferred, LineAddr(5), Kind::Write, 2));
    assert!(finish(&mut pcm, transferred)[0].burst);
}

#[test]
fn impossible_values_are_refused_by_name() {
    type Change = fn(&mut PcmConfig);
    let changes: [(Change, &str); 8] = [
        (|c| c.banks = 12, "banks"),
        (|c| c.banks = 128, "banks"),
        (|c| c.read_ns = 0.0, "read_ns"),
        (|c| c.write_ns = f64::NAN, "write_ns"),
        (|c| c.write_pending_queue = 0, "write_pending_queue"),
        (|c| c.drain_start = 129, "drain_start"),
        (|c| c.drain_stop = 109, "drain_stop"),
        (|c| c.clock_mhz = Frequency::from_mhz(0), "clock_mhz"),
    ];
    for (change, name) in changes {
        let mut config = PcmConfig::secpb();
        change(&mut config);
        assert!(config.check().unwrap_err().starts_with(name), "{name}");
    }
}

/// A request of a generated test: nanoseconds since the previous request, line, true for a write.
fn requests() -> impl Strategy<Value = Vec<(u64, u64, bool)>> {
    let gap = prop_oneof![4 => 0..3u64, 2 => 0..200u64, 1 => 0..5_000u64];
    let line = prop_oneof![3 => 0..8u64, 3 => 0..64u64, 2 => 0..(1u64 << 27)];
    proptest::collection::vec((gap, line, any::<bool>()), 1..500)
}

fn configs() -> impl Strategy<Value = PcmConfig> {
    (0..5u32, 1..20usize, 1..20usize, 1..10usize).prop_map(|(banks, reads, writes, pending)| PcmConfig {
        banks: 1 << banks,
        read_queue: reads,
        write_queue: writes,
        write_pending_queue: pending,
        drain_start: writes.div_ceil(2),
        drain_stop: writes.div_ceil(2) / 2,
        ..PcmConfig::secpb()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_read_is_answered_once_and_within_a_bound(config in configs(), sequence in requests()) {
        let mut pcm = Pcm::new(config.clone());
        let (mut now, mut answers) = (Time::ZERO, Vec::new());
        for (token, &(gap, line, write)) in sequence.iter().enumerate() {
            let kind = if write { Kind::Write } else { Kind::Read };
            now += Duration::from_ns(gap);
            while !pcm.has_room(kind) {
                now = pcm.advance(now, &mut answers).unwrap_or(now).max(now);
            }
            pcm.submit(now, LineAddr(line), kind, token as u32);
        }
        answers.extend(finish(&mut pcm, now));
        answers.sort_by_key(|answer| answer.token);
        let expected: Vec<u32> = (0..).zip(&sequence).filter(|(_, a)| !a.2).map(|(token, _)| token).collect();
        prop_assert_eq!(answers.iter().map(|a| a.token).collect::<Vec<_>>(), expected);
        // In the worst case, all earlier reads and two drains of the whole write queue precede a request, all in the
        // same bank.
        let worst = config.read_queue as u64 * 60 + (3 * config.write_queue as u64 + 2) * 160;
        for answer in &answers {
            let latency = answer.at.since(answer.arrived);
            prop_assert!(latency <= Duration::from_ns(worst), "a read took {latency:?} of at most {worst} ns");
        }
        prop_assert_eq!(pcm.waiting, [0, 0]);
        prop_assert!(pcm.pending.is_empty());
    }

    #[test]
    fn the_pcm_bus_and_each_bank_serve_one_line_at_a_time(sequence in requests()) {
        let mut pcm = Pcm::new(PcmConfig { read_queue: 1_000, ..PcmConfig::secpb() });
        let mut now = Time::ZERO;
        for (token, &(gap, line, _)) in sequence.iter().enumerate() {
            now += Duration::from_ns(gap);
            pcm.submit(now, LineAddr(line), Kind::Read, token as u32);
        }
        let mut answers = finish(&mut pcm, now);
        answers.sort_by_key(|answer| answer.at);
        for pair in answers.windows(2) {
            prop_assert!(pair[1].at >= pair[0].at + BURST);
        }
        for bank in 0..16 {
            let of_bank: Vec<_> =
                answers.iter().filter(|a| pcm.bank_of(LineAddr(sequence[a.token as usize].1)) == bank).collect();
            let span = of_bank.last().map_or(0, |last| last.at.as_fs());
            prop_assert!(span >= of_bank.len() as u64 * READ.as_fs());
        }
    }
}
