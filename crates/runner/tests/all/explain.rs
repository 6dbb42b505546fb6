//! An explained read is of the design and the machine, not of the line that happens to be read: what one line has, its
//! metadata in the bank of another access or not, is luck that a sample separates.

use casemate_runner::explain::{Explanation, Lines, OnChip, Row, Scenario, explain};
use catalogue::Machine;
use protection::layout::Layout;
use protection::slot::Kind;
use protection::verbs::Slot;
use units::random::Random;
use units::{Bytes, LINE_BYTES, LineAddr};

/// The default machine with so much memory.
fn machine(name: &str, gigabytes: u64) -> Machine {
    let mut machine = catalogue::machine(name).unwrap();
    machine.memory.size = Bytes(gigabytes << 30);
    machine
}

fn read(gigabytes: u64, scenario: Scenario, lines: Lines) -> Explanation {
    explain(&machine("modern", gigabytes), &catalogue::design("sc64-bmt").unwrap(), scenario, lines).unwrap()
}

#[test]
fn the_median_read_is_the_same_on_memories_whose_regions_start_at_powers_of_two_and_elsewhere() {
    // As many levels of tree in all of them.
    for on_chip in [OnChip::Nothing, OnChip::Tree, OnChip::Counter] {
        let scenario = Scenario { on_chip, ..Scenario::default() };
        let medians = [2, 3, 4].map(|gigabytes| read(gigabytes, scenario, Lines::default()).latency_fs as f64 / 1e6);
        let apart = medians.iter().map(|median| (median / medians[0] - 1.0).abs()).fold(0.0, f64::max);
        assert!(apart < 0.03, "{on_chip:?}: {medians:?} ns");
    }
}

#[test]
fn single_lines_differ_and_the_median_of_many_lies_between_them() {
    let scenario = Scenario::default();
    let all = read(4, scenario, Lines::default());
    let spread = all.spread.unwrap();
    let order = [spread.shortest_fs, spread.p5_fs, all.latency_fs, spread.p95_fs, spread.longest_fs];
    assert!(order.is_sorted() && spread.p5_fs < spread.p95_fs, "{order:?}");
    // The line that is drawn, by itself.
    let alone = read(4, scenario, Lines::At(all.address));
    assert_eq!((alone.latency_fs, &alone.spans, alone.spread), (all.latency_fs, &all.spans, None));
    // In the middle of a memory whose regions start at powers of two, most of a line's metadata is in one bank.
    let middle = |gigabytes: u64| {
        let line = Lines::At((gigabytes << 29) + 323 * LINE_BYTES as u64);
        read(gigabytes, scenario, line).latency_fs as f64 / all.latency_fs as f64
    };
    assert!(middle(4) > 1.3 && middle(3) < 1.0, "{} {}", middle(4), middle(3));
}

#[test]
fn the_same_seed_gives_the_same_lines_and_another_others_with_nearly_the_same_median() {
    let sample = |seed| read(4, Scenario::default(), Lines::Sample { lines: 499, seed });
    let (first, again, other) = (sample(1), sample(1), sample(2));
    assert_eq!(first, again);
    assert_ne!(first.address, other.address);
    let apart = first.latency_fs as f64 / other.latency_fs as f64 - 1.0;
    assert!(apart.abs() < 0.05, "{apart}");
}

#[test]
fn a_row_of_one_line_is_as_it_was_asked_for() {
    let at = |row| read(4, Scenario { row, on_chip: OnChip::All, ..Scenario::default() }, Lines::At(0x1234_5640));
    let [hit, closed, conflict] = [Row::Hit, Row::Closed, Row::Conflict].map(|row| at(row).latency_fs);
    assert!(hit < closed && closed < conflict, "{hit} {closed} {conflict}");
}

/// The slots that a read of a line asks memory for when nothing is on the chip.
fn slots(layout: &Layout, line: u64) -> Vec<Slot> {
    let share = |region: &protection::layout::Region, of: u64| region.slot(line / of);
    let counters = layout.region(Kind::Counters).unwrap();
    let tags = layout.region(Kind::Tags).unwrap();
    let mut slots =
        vec![layout.data_slot(LineAddr(line)).slot(), share(&counters, counters.serves), share(&tags, tags.serves)];
    let mut lines = counters.serves;
    for level in layout.levels() {
        lines *= level.serves;
        slots.push(share(level, lines));
    }
    slots
}

/// Whether the starts of regions are to be spread was asked, and this is the answer: they need not be. A region that starts
/// at a multiple of all banks' rows puts its first lines into the bank of another's first lines, but which bank a line of
/// metadata is in depends on other bits of its line's address than the line's own does. Evened out over the memory, two
/// accesses of a read meet no more often than if their banks were drawn.
#[test]
fn the_accesses_of_a_read_meet_in_a_bank_no_more_often_than_chance_has_it() {
    const LINES: usize = 20_000;
    for (name, gigabytes) in [("modern", 2), ("modern", 3), ("modern", 4), ("modern-ddr5", 3), ("modern-ddr5", 4)] {
        let machine = machine(name, gigabytes);
        let memory = machine.memory_config();
        let organisation = machine.dram.as_ref().unwrap().organisation;
        let banks = (organisation.banks() * memory.channels as u64) as f64;
        let data_lines = machine.memory.size.0 / LINE_BYTES as u64;
        for design in ["sc64-bmt", "sc128-tree"] {
            let scheme = catalogue::design(design).unwrap().parts.build(data_lines, 1).unwrap();
            let layout = scheme.layout();
            let mut random = Random::new(7);
            let count = slots(layout, 0).len();
            let mut met = vec![vec![0; count]; count];
            for _ in 0..LINES {
                let rows: Vec<_> = slots(layout, random.below(data_lines))
                    .iter()
                    .map(|slot| memory.row(layout.shape().lines(*slot).0).unwrap())
                    .collect();
                for (one, other) in (0..count).flat_map(|one| (0..one).map(move |other| (one, other))) {
                    met[one][other] += usize::from(rows[one].conflicts_with(&rows[other]));
                }
            }
            let most = met.concat().into_iter().max().unwrap() as f64 / LINES as f64;
            assert!(most < 1.3 / banks, "{name}, {gigabytes} GB, {design}: {most} of {met:?}");
        }
    }
}
