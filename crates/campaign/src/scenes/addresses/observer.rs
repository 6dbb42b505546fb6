//! The observer of the bus: records the fills of a sequence, and scores the two known sequences against them.

use crate::tap::Crossed;
use crate::victim::Victim;
use crypto::BLOCK_BYTES;
use machine::dram::Kind;
use protection::moving::LINES_PER_PAGE_CHUNK;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use units::{Line, LineAddr, ZERO_LINE};

/// One access of a sequence.
#[derive(Clone, Copy)]
pub struct AccessStep {
    /// Line that is read or stored to.
    pub line: LineAddr,
    /// Content to store; `None` for a read.
    pub text: Option<Line>,
}

/// Lines that were used before a sequence, as the observer knows.
pub enum UsedLines {
    /// Every line of the page chunks.
    All,
    /// These lines, and no other line of the page chunks.
    These(FxHashSet<LineAddr>),
}

impl UsedLines {
    fn has(&self, line: LineAddr) -> bool {
        match self {
            UsedLines::All => true,
            UsedLines::These(lines) => lines.contains(&line),
        }
    }
}

/// A fill: the index of its access, the epoch and the slot in its page chunk.
#[derive(Clone, Copy)]
struct Fill {
    step: usize,
    /// Number of earlier permutations of its page chunk.
    epoch: usize,
    slot: u64,
    /// Position of the slot in the last sweep of writes over its page chunk, and whether this sweep wrote zeros to the
    /// slot.
    swept: Option<(u64, bool)>,
}

/// Data that an observer has collected.
#[derive(Default)]
pub struct Observed {
    fills: Vec<Fill>,
    /// All slots of data that crossed, in order.
    crossed: Vec<Crossed>,
    /// First blocks of all lines that crossed.
    blocks: FxHashSet<Block>,
}

/// A block of a line, in bytes.
type Block = [u8; BLOCK_BYTES];

fn first_block(line: &Line) -> Block {
    std::array::from_fn(|byte| line[byte])
}

fn chunk_of(line: LineAddr) -> u64 {
    line.0 / LINES_PER_PAGE_CHUNK
}

fn in_chunk(line: LineAddr) -> u64 {
    line.0 % LINES_PER_PAGE_CHUNK
}

/// Lets the victim run a sequence, and records the crossings.
pub fn watch(victim: &mut Victim, steps: &[AccessStep]) -> Observed {
    let (mut observed, mut epochs, mut sweeps) = (Observed::default(), BTreeMap::default(), BTreeMap::default());
    let data_lines = victim.map().data_lines();
    let slots_per_tag = victim.parts().permutation.map_or(1, |permutation| permutation.slots_per_tag);
    let is_data = |crossed: &Crossed| crossed.slot.0 < data_lines;
    victim.memory().tap().follow_slots();
    for (step, access) in steps.iter().enumerate() {
        // An observer ignores all reports.
        match &access.text {
            Some(text) => drop(victim.write(access.line, text)),
            None => drop(victim.read(access.line)),
        }
        let crossed: Vec<Crossed> = victim.memory().tap().take_followed().into_iter().filter(is_data).collect();
        observed.blocks.extend(crossed.iter().map(|crossed| first_block(&crossed.content)));
        observed.crossed.extend(&crossed);
        // A fill is the first read of an access, or the last. It reads as many slots as are under one tag; the first of them identifies
        // it.
        let fill = crossed.len().saturating_sub(slots_per_tag);
        let is_fill =
            |index: usize| index == if crossed.last().is_some_and(|last| last.kind == Kind::Read) { fill } else { 0 };
        for (index, Crossed { slot, kind, content }) in crossed.iter().enumerate() {
            let (chunk, slot) = (slot.0 / LINES_PER_PAGE_CHUNK, slot.0 % LINES_PER_PAGE_CHUNK);
            let sweep: &mut Vec<(u64, bool)> = sweeps.entry(chunk).or_default();
            if is_fill(index) && chunk == chunk_of(access.line) {
                let last = &sweep[sweep.len().saturating_sub(LINES_PER_PAGE_CHUNK as usize)..];
                let swept = last.iter().zip(0..).find(|((written, _), _)| *written == slot);
                let swept = swept.map(|((_, is_blank), position)| (position, *is_blank));
                let epoch = epochs.get(&chunk).copied().unwrap_or(0) / LINES_PER_PAGE_CHUNK as usize;
                observed.fills.push(Fill { step, epoch, slot, swept });
            }
            if *kind == Kind::Write {
                *epochs.entry(chunk).or_default() += 1;
                sweep.push((slot, *content == ZERO_LINE));
            }
        }
    }
    observed
}

/// A sequence, with the lines that were used before it.
type Program<'a> = (&'a [AccessStep], &'a UsedLines);

/// A way to guess which sequence the victim ran: the sequence with the higher score.
pub struct Strategy {
    /// Name of the strategy among the counts of the scene.
    pub name: &'static str,
    /// Score of a sequence against the observations.
    pub score: fn(&Observed, Program<'_>) -> i64,
}

/// All strategies; the last two compare data.
const STRATEGIES: [Strategy; 7] = [
    Strategy { name: "right by place", score: by_slot },
    Strategy { name: "right by differences", score: by_differences },
    Strategy { name: "right by repetitions", score: by_repetitions },
    Strategy { name: "right by nearness", score: by_nearness },
    Strategy { name: "right by the order of writes", score: by_sweep },
    Strategy { name: "right by content", score: by_content },
    Strategy { name: "right by blanks", score: by_blanks },
];

/// Returns the strategies of an observer that sees the content on the bus, or only addresses.
pub fn strategies(with_data: bool) -> &'static [Strategy] {
    if with_data { &STRATEGIES } else { &STRATEGIES[..STRATEGIES.len() - 2] }
}

/// Counts the lines in the slot with the same number.
fn by_slot(observed: &Observed, (steps, _): Program<'_>) -> i64 {
    observed.fills.iter().filter(|fill| fill.slot == in_chunk(steps[fill.step].line)).count() as i64
}

/// Counts pairs of lines of a page chunk that are as far apart as their slots: a rotation keeps the distance.
fn by_differences(observed: &Observed, (steps, _): Program<'_>) -> i64 {
    let apart = |one: u64, other: u64| one.wrapping_sub(other) % LINES_PER_PAGE_CHUNK;
    let fits = |one: &Fill, other: &Fill| {
        let [first, second] = [one, other].map(|fill| in_chunk(steps[fill.step].line));
        apart(one.slot, other.slot) == apart(first, second)
    };
    let of_one_epoch = pairs(&observed.fills, steps).filter(|(one, other)| one.epoch == other.epoch);
    of_one_epoch.filter(|(one, other)| fits(one, other)).count() as i64
}

/// Scores slots that repeat exactly when lines do: in one epoch, or in later ones if a permutation is used again.
fn by_repetitions(observed: &Observed, (steps, _): Program<'_>) -> i64 {
    let same_slot = pairs(&observed.fills, steps).filter(|(one, other)| one.slot == other.slot);
    same_slot.map(|(one, other)| if steps[one.step].line == steps[other.step].line { 1 } else { -1 }).sum()
}

/// Scores lines that are near the slot with the same number.
fn by_nearness(observed: &Observed, (steps, _): Program<'_>) -> i64 {
    let apart = |fill: &Fill| fill.slot.abs_diff(in_chunk(steps[fill.step].line));
    -observed.fills.iter().map(|fill| apart(fill) as i64).sum::<i64>()
}

/// Counts the lines that the last permutation wrote in their order.
fn by_sweep(observed: &Observed, (steps, _): Program<'_>) -> i64 {
    observed
        .fills
        .iter()
        .filter(|fill| fill.swept.is_some_and(|(position, _)| position == in_chunk(steps[fill.step].line)))
        .count() as i64
}

/// Counts texts that cross the bus in plaintext.
fn by_content(observed: &Observed, (steps, _): Program<'_>) -> i64 {
    let texts = steps.iter().filter_map(|step| step.text.as_ref());
    texts.filter(|text| observed.blocks.contains(&first_block(text))).count() as i64
}

/// Counts the fills from a slot that the last permutation left blank exactly if the line was unused.
fn by_blanks(observed: &Observed, (steps, used): Program<'_>) -> i64 {
    let is_used = |step: usize| {
        used.has(steps[step].line) || steps[..step].iter().any(|earlier| earlier.line == steps[step].line)
    };
    let fits = |fill: &&Fill| fill.swept.is_some_and(|(_, is_blank)| is_blank != is_used(fill.step));
    observed.fills.iter().filter(fits).count() as i64
}

/// A measure of how much a start resembles an earlier one, with its name among the counts of the scene.
pub type Resemblance = (&'static str, fn(&Observed, &Observed) -> usize);

/// All resemblances; the last compares data.
const RESEMBLANCES: [Resemblance; 3] = [
    ("right by fills", |one, other| alike(&one.fills, &other.fills, |fill| fill.slot)),
    ("right by the order", |one, other| {
        alike(&one.crossed, &other.crossed, |crossed| (crossed.slot, crossed.kind == Kind::Read))
    }),
    ("right by bytes", |one, other| alike(&one.crossed, &other.crossed, |crossed| first_block(&crossed.content))),
];

/// Returns the resemblances for an observer that sees the content on the bus, or only addresses.
pub fn resemblances(with_data: bool) -> &'static [Resemblance] {
    &RESEMBLANCES[..if with_data { 3 } else { 2 }]
}

/// Counts the items that are alike at the same position.
fn alike<T, K: PartialEq>(ones: &[T], others: &[T], key: impl Fn(&T) -> K) -> usize {
    ones.iter().zip(others).filter(|(one, other)| key(one) == key(other)).count()
}

/// Returns all pairs of fills in one page chunk.
fn pairs<'a>(fills: &'a [Fill], steps: &'a [AccessStep]) -> impl Iterator<Item = (&'a Fill, &'a Fill)> {
    let chunk = |fill: &Fill| chunk_of(steps[fill.step].line);
    let of_one_chunk = move |one: &&'a Fill, other: &&'a Fill| chunk(one) == chunk(other);
    fills.iter().enumerate().flat_map(move |(index, one)| {
        fills[..index].iter().filter(move |other| of_one_chunk(&one, other)).map(move |other| (one, other))
    })
}
