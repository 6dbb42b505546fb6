//! Two dependent reads as seen by a probe at the pins: the probe learns when the first is released, to a clock of the bus.

use casemate_runner::explain::{
    DependentReads, LineValue, Lines, OnChipMetadata, Scenario, between_fetches, explain, frequent_values,
};
use catalogue::Design;
use protection::planted::PlantedBug;
use units::{LINE_BYTES, Line, LineAddr};

/// Lines in different banks; the metadata of the first is in other banks.
const FIRST: LineAddr = LineAddr(0x123_5640 / 64);
const SECOND: LineAddr = LineAddr(0x0a0_0400 / 64);
/// One clock of the memory's bus; a fetch begins at a clock.
const CLOCK_FS: u64 = 5_000_000;

fn design(name: &str, values: usize) -> Design {
    let mut design = catalogue::design(name).unwrap();
    design.parts.speculation.values = values;
    design
}

fn between(design: &Design, content: Line) -> u64 {
    let machine = catalogue::machine("simplescalar-2005").unwrap();
    let reads = DependentReads { first: FIRST, content, second: SECOND };
    between_fetches(&machine, &design.parts, reads, PlantedBug::NONE).unwrap().as_fs()
}

fn released(design: &Design, value: &str) -> u64 {
    let machine = catalogue::machine("simplescalar-2005").unwrap();
    let value: LineValue = value.parse().unwrap();
    let scenario = Scenario { on_chip: OnChipMetadata::All, value, ..Scenario::default() };
    explain(&machine, design, scenario, Lines::At(FIRST.0 * LINE_BYTES as u64)).unwrap().latency_fs
}

#[test]
fn a_dependent_fetch_begins_at_the_next_bus_clock_after_the_release_of_the_first() {
    let clock_after = |fs: u64| fs.div_ceil(CLOCK_FS) * CLOCK_FS;
    for (name, values) in [("fvs-tdes", 8), ("fvs-tdes", 0), ("fvs-aes-plain", 8), ("fvs-counter", 8), ("sc64-bmt", 0)]
    {
        let design = design(name, values);
        for value in ["frequent", "other"] {
            let content: LineValue = value.parse().unwrap();
            // Both fetches take the same time, because both rows are closed.
            let (seen, expected) = (between(&design, content.line()), clock_after(released(&design, value)));
            assert_eq!(seen, expected, "{name}, {values} values, {value}");
        }
    }
}

#[test]
fn rarer_frequent_values_are_released_later_and_other_values_last() {
    // A pair of the rarest value is the last of 64 candidates; four units encrypt one candidate each in 6.4 ns.
    let table = frequent_values(8);
    let filled = |word: u64| std::array::from_fn(|byte| word.to_le_bytes()[byte % 8]);
    let seen = [table[0], table[4], table[7], 0x5a5a].map(|word| between(&design("fvs-aes-plain", 8), filled(word)));
    assert!(seen.is_sorted() && seen[0] < seen[2] && seen[2] < seen[3], "{seen:?}");
}

#[test]
fn dependent_reads_need_two_different_lines_within_memory() {
    let (machine, parts) = (catalogue::machine("simplescalar-2005").unwrap(), design("fvs-tdes", 8).parts);
    let lines = 1 << 24;
    for (first, second) in [(5, 5), (lines, 5), (5, lines)] {
        let reads = DependentReads { first: LineAddr(first), content: [0; 64], second: LineAddr(second) };
        let said = between_fetches(&machine, &parts, reads, PlantedBug::NONE).unwrap_err();
        assert!(said.contains("are not two different lines of the memory's 16777216"), "{said}");
    }
}
