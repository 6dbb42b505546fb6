//! Tests of groups of reads: a group is transferred in the order of its reads, and every read is answered.

use super::oracle::{configs, judge};
use super::{Burst, BurstLength, Completion, Dram, DramConfig, Kind, ReadGroup, RowOutcome};
use proptest::prelude::*;
use units::{Cycles, LineAddr, Time};

/// A request of a test; its group is a number from 0 on.
#[derive(Clone, Copy, Debug)]
struct Offered {
    /// Clocks since the previous request.
    gap: u64,
    line: u64,
    words: u8,
    kind: Kind,
    group: Option<usize>,
}

impl Offered {
    /// A read of a whole line, together with the previous request.
    fn read(line: u64, group: Option<usize>) -> Offered {
        Offered { gap: 0, line, words: 8, kind: Kind::Read, group }
    }
}

/// Steps after which a channel counts as stuck.
const STEPS_MAX: u32 = 100_000;

fn numbered(group: usize) -> ReadGroup {
    (0..group).fold(ReadGroup::FIRST, |number, _| number.next())
}

/// Offers requests in order, each as soon as its queue has room. Returns the channel and the answers.
fn run(config: &DramConfig, sequence: &[Offered]) -> (Dram, Vec<Completion>) {
    let clock = config.clock_mhz.clock();
    let mut dram = Dram::new(config.clone());
    let mut completions = Vec::new();
    let (mut now, mut steps) = (Time::ZERO, 0);
    for (token, &Offered { gap, line, words, kind, group }) in sequence.iter().enumerate() {
        now += clock.span(Cycles(gap));
        while !dram.has_room(kind) {
            now = dram.advance(now, &mut completions).unwrap_or(now).max(now);
            steps += 1;
            assert!(steps < STEPS_MAX, "no request leaves a full queue");
        }
        let words = if config.bursts == BurstLength::Any { words } else { 8 };
        dram.submit(now, Burst { line: LineAddr(line), words, group: group.map(numbered) }, kind, token as u32);
    }
    while let Some(next) = dram.advance(now, &mut completions) {
        now = next;
        steps += 1;
        assert!(steps < STEPS_MAX, "requests wait for ever");
    }
    completions.sort_unstable_by_key(|completion| completion.token);
    (dram, completions)
}

/// Clocks at which the reads of a sequence have arrived, in order of the sequence.
fn arrivals(sequence: &[Offered]) -> Vec<u64> {
    let config = DramConfig::ddr4_3200();
    let (dram, completions) = run(&config, sequence);
    judge(&config, dram.log());
    let clock = config.clock_mhz.clock().period().as_fs();
    completions.iter().map(|completion| completion.at.as_fs() / clock).collect()
}

/// The last line of a row, and the first line of the next row, which is in the next bank group.
const ROW_END: u64 = 127;

/// A line arrives 22 + 22 + 4 clocks after the activate of its row, and 22 + 4 clocks after its column command. Column
/// commands of two bank groups are 4 clocks apart, activates too. Each clock has at most one command.
#[test]
fn a_read_of_a_group_in_an_open_row_waits_for_an_earlier_read_in_a_closed_row() {
    let later = |group| {
        let opener = Offered::read(ROW_END + 2, None);
        [opener, Offered { gap: 100, ..Offered::read(ROW_END, group) }, Offered::read(ROW_END + 1, group)]
    };
    assert_eq!(arrivals(&later(None)), [48, 148, 127], "the second read of two without a group overtakes");
    assert_eq!(arrivals(&later(Some(0))), [48, 148, 152]);
}

#[test]
fn the_row_of_a_later_read_of_a_group_opens_while_the_earlier_read_waits() {
    let both = |group| [Offered::read(ROW_END, group), Offered::read(ROW_END + 1, group)];
    assert_eq!(arrivals(&both(Some(0))), [48, 52]);
    assert_eq!(arrivals(&both(None)), arrivals(&both(Some(0))));
    let first_in_conflict = [
        Offered::read(ROW_END + 2, None),
        Offered { gap: 100, ..Offered::read(1 << 20, Some(0)) },
        Offered::read((1 << 20) + ROW_END + 1, Some(0)),
        Offered::read((2 << 20) + ROW_END + 1, Some(0)),
    ];
    // The third read needs another row of the second one's bank: tRAS, tRP, tRCD, CL and a burst after its activate.
    let found = arrivals(&first_in_conflict);
    assert_eq!(found[1], 148);
    assert!(found[1] < found[2] && found[2] < found[3], "{found:?}");
}

/// A younger read for another row must not close the row that an older read of a group will use.
#[test]
fn a_row_stays_open_for_the_oldest_read_of_its_bank_while_this_read_waits_for_its_group() {
    let other_row = ROW_END + 1 + (1 << 20);
    let (dram, completions) = run(
        &DramConfig::ddr4_3200(),
        &[
            Offered::read(ROW_END + 2, None),
            Offered { gap: 100, ..Offered::read(ROW_END, Some(0)) },
            Offered::read(ROW_END + 1, Some(0)),
            Offered::read(other_row, None),
        ],
    );
    let outcomes: Vec<RowOutcome> = completions.iter().map(|completion| completion.outcome).collect();
    assert_eq!(outcomes[..3], [RowOutcome::Closed, RowOutcome::Closed, RowOutcome::Hit]);
    assert_eq!((outcomes[3], dram.counts().activates), (RowOutcome::Conflict, 3));
}

#[test]
fn a_read_of_a_group_does_not_wait_for_one_that_a_waiting_write_has_answered() {
    let write = Offered { kind: Kind::Write, ..Offered::read(ROW_END, None) };
    // A read keeps the write in its queue.
    let busy = Offered::read(1 << 20, None);
    let found = arrivals(&[busy, write, Offered::read(ROW_END, Some(0)), Offered::read(ROW_END + 1, Some(0))]);
    assert_eq!(found[1], 1, "answered by the write");
    assert_eq!(found[2], arrivals(&[busy, write, Offered::read(ROW_END + 1, None)])[1]);
}

#[test]
fn two_groups_do_not_wait_for_each_other() {
    let opener = Offered::read(ROW_END + 2, None);
    let found = arrivals(&[
        opener,
        Offered { gap: 100, ..Offered::read(ROW_END, Some(0)) },
        Offered::read(ROW_END + 1, Some(1)),
        Offered::read(ROW_END + 3, Some(1)),
    ]);
    assert_eq!(found, [48, 148, 127, 135], "the second group has its row open");
}

/// A read or write, or the first of a group of reads with the gaps before the others and the distance of their lines.
type Piece = (Offered, Vec<u64>, u64);

/// Returns the requests of a piece. If there are several, they are the group with this number.
fn group_of((first, gaps, distance): Piece, number: usize) -> Vec<Offered> {
    if first.kind == Kind::Write || gaps.is_empty() {
        return vec![first];
    }
    let first = Offered { group: Some(number), ..first };
    let lines = (1..).map(|nth| first.line + nth * distance);
    let later = gaps.into_iter().zip(lines).map(|(gap, line)| Offered { gap, line, ..first });
    std::iter::once(first).chain(later).collect()
}

/// Random sequences, in which two pieces at a time take turns, so that groups overlap.
fn sequences() -> impl Strategy<Value = Vec<Offered>> {
    let gap = prop_oneof![6 => 0..4u64, 2 => 0..200u64, 1 => 0..4_000u64];
    let line = prop_oneof![4 => 0..1_024u64, 3 => (0..64u64).prop_map(|row| row << 7), 2 => 0..(1u64 << 28)];
    let kind = prop_oneof![3 => Just(Kind::Read), 1 => Just(Kind::Write)];
    let first =
        (gap, line, 1..=8u8, kind).prop_map(|(gap, line, words, kind)| Offered { gap, line, words, kind, group: None });
    let gaps = prop::collection::vec(prop_oneof![3 => Just(0), 1 => 0..50u64], 0..5);
    let distance = prop_oneof![5 => 1..6u64, 1 => Just(1 << 17)];
    prop::collection::vec((first, gaps, distance), 1..120).prop_map(|pieces| {
        let mut turns: Vec<_> = (0..).zip(pieces).map(|(number, piece)| group_of(piece, number)).collect();
        let mut mixed = Vec::new();
        while !turns.is_empty() {
            let turn = mixed.len() % 2 % turns.len();
            mixed.push(turns[turn].remove(0));
            if turns[turn].is_empty() {
                turns.remove(turn);
            }
        }
        mixed
    })
}

fn busy_configs() -> impl Strategy<Value = DramConfig> {
    (configs(), any::<bool>()).prop_map(|(mut config, refreshes_often)| {
        if refreshes_often {
            config.timing.trefi = 2 * (config.timing.trfc + config.timing.trc);
        }
        config
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_group_of_random_reads_arrives_in_order_and_every_read_is_answered(
        config in busy_configs(),
        sequence in sequences(),
    ) {
        let (dram, completions) = run(&config, &sequence);
        judge(&config, dram.log());
        let reads = (0..).zip(&sequence).filter(|(_, offered)| offered.kind == Kind::Read);
        let answered: Vec<u32> = completions.iter().map(|completion| completion.token).collect();
        prop_assert_eq!(answered, reads.map(|(token, _)| token).collect::<Vec<u32>>());
        let mut last = std::collections::HashMap::new();
        for completion in completions.iter().filter(|completion| completion.burst) {
            let waited = completion.at.since(completion.arrived).as_fs() / config.clock_mhz.clock().period().as_fs();
            prop_assert!(waited < 8 * config.timing.trefi, "a read took {} clocks", waited);
            let Some(group) = sequence[completion.token as usize].group else { continue };
            if let Some(before) = last.insert(group, completion.at) {
                prop_assert!(before < completion.first_at, "{:?} overtakes, after {}", completion, before);
            }
        }
    }

    #[test]
    fn reads_that_are_alone_in_their_groups_are_served_as_without_groups(
        config in busy_configs(),
        sequence in sequences(),
    ) {
        let with = |group: fn(usize) -> Option<usize>| {
            let alone = |(number, offered): (usize, &Offered)| Offered { group: group(number), ..*offered };
            let (dram, completions) = run(&config, &sequence.iter().enumerate().map(alone).collect::<Vec<_>>());
            (dram.log().to_vec(), completions)
        };
        prop_assert_eq!(with(Some), with(|_| None));
    }
}
