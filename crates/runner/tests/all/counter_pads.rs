//! Reads in counter mode with fewer AES units than the line has blocks, against arithmetic that shares no code with the
//! simulator: the pads enter the units one by one, that of the requested block first.

use casemate_runner::explain::{LineValue, Lines, OnChipMetadata, RowState, Scenario, explain};

/// Nanoseconds of the machine `simplescalar-2005`: the counter is known, a block is computed, the first word of a row hit
/// arrives, and each later word follows.
const COUNTER: u64 = 1;
const BLOCK: u64 = 65;
const FIRST_WORD: u64 = 100;
const NEXT_WORD: u64 = 5;
/// Blocks in a line, and words in a block.
const BLOCKS: u64 = 4;
const WORDS: u64 = 2;

/// AES units, each free from some time on. A unit with idle work starts a block of it whenever it is free, so other
/// blocks enter only in its rhythm.
struct Units {
    free: Vec<u64>,
    interval: u64,
    has_idle_work: bool,
}

impl Units {
    /// Sends a block through the unit that takes it first; returns the time at which it is computed.
    fn compute(&mut self, ready: u64) -> u64 {
        let waits = |free: u64| ready.saturating_sub(free);
        let entry = |free: u64| match self.has_idle_work {
            true => free + waits(free).div_ceil(self.interval) * self.interval,
            false => free + waits(free),
        };
        let (unit, at) = self.free.iter().map(|free| entry(*free)).enumerate().min_by_key(|(_, at)| *at).unwrap();
        self.free[unit] = at + self.interval;
        at + BLOCK
    }
}

/// Nanoseconds until the requested block and the whole line are verified.
fn expected(units: usize, interval: u64, has_idle_work: bool) -> (u64, u64) {
    let mut units = Units { free: vec![COUNTER; units], interval, has_idle_work };
    let pads: Vec<u64> = (0..BLOCKS).map(|_| units.compute(COUNTER)).collect();
    let arrival = |block: u64| FIRST_WORD + NEXT_WORD * (WORDS * (block + 1) - 1);
    let mut opened: Vec<(u64, u64)> =
        (0..BLOCKS).map(|block| (arrival(block).max(pads[block as usize]), block)).collect();
    opened.sort_unstable();
    let verified: Vec<(u64, u64)> = opened.into_iter().map(|(at, block)| (block, units.compute(at))).collect();
    let first = verified.iter().find(|(block, _)| *block == 0).unwrap().1;
    (first, verified.iter().map(|(_, at)| *at).max().unwrap())
}

fn simulated(units: usize, interval: u64, values: usize, block: u64) -> (u64, u64) {
    let mut machine = catalogue::machine("simplescalar-2005").unwrap();
    (machine.engines.aes.units, machine.engines.aes.interval_ns) = (units, interval as f64);
    let mut design = catalogue::design("fvs-counter").unwrap();
    design.parts.speculation.values = values;
    let value: LineValue = "other".parse().unwrap();
    let scenario = Scenario { on_chip: OnChipMetadata::All, row: RowState::Hit, value, ..Scenario::default() };
    let read = explain(&machine, &design, scenario, Lines::At(0x123_5640 + 16 * block)).unwrap();
    let whole = |fs: u64| fs / 1_000_000;
    (whole(read.latency_fs), whole(read.rest_fs.unwrap_or(read.latency_fs)))
}

#[test]
fn the_requested_block_in_counter_mode_waits_for_its_own_pad_only() {
    for units in 1..=3 {
        for interval in [5, 12, 20, 31, 45] {
            for (values, has_idle_work) in [(0, false), (8, true)] {
                let block = (units as u64 + interval) % BLOCKS;
                assert_eq!(
                    simulated(units, interval, values, block),
                    expected(units, interval, has_idle_work),
                    "{units} units, interval {interval} ns, {values} values, block {block}"
                );
            }
        }
    }
}

#[test]
fn a_unit_that_a_line_needs_four_times_delays_the_requested_block_by_no_pad_of_another() {
    assert_eq!([simulated(1, 20, 8, 0).0, simulated(1, 31, 8, 0).0], [186, 190]);
}
