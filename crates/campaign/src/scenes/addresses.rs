//! What the addresses on the bus show: which of two programs ran, though both were known beforehand.
//!
//! A game: two sequences of accesses to known chunks, equal in kinds, chunks and sets of the cache, so that lines are brought and chunks
//! are permuted at the same positions of both. A secret coin chooses one, which the victim runs. The observer knows both, sees which
//! slots cross in which order, and whether they are read or written, and guesses. It has several strategies, each for another mistake
//! of those who hide addresses; a row that is about data as well knows the texts of both, and sees what crosses.
//!
//! A trial is so many games that chance hardly ever guesses all but one. There is an order here, and no time.

use super::{Ended, Scenes, Stage, chunk_of};
use crate::tap::Crossed;
use crate::victim::Victim;
use catalogue::{Attack, Verdict};
use crypto::BLOCK_BYTES;
use machine::cache::Replacement;
use machine::dram::Kind;
use machine::llc::{Inclusion, Llc, Way};
use protection::moving::{LINES_PER_CHUNK, SmallCache};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use units::random::Random;
use units::{Line, LineAddr};

/// The attacks of this file.
pub(super) const SCENES: Scenes =
    &[(Attack::AddressPattern, address_pattern), (Attack::AddressAndData, address_and_data)];

/// Games of a trial.
const GAMES: usize = 24;
/// Guesses that chance gets right in fewer than two of a million trials.
const SURE: usize = 23;
/// Chunks that the sequences go to.
const CHUNKS: u64 = 3;
/// The cache of a victim whose lines move.
const SETS: usize = SmallCache::USUAL.0;
const WAYS: usize = SmallCache::USUAL.1;
/// Lines of a chunk and a set that are accessed: few, so that lines come again.
const LINES: u64 = 8;
/// Accesses of a sequence: enough for eight permutations and more.
const ACCESSES: usize = 160;
/// A line is not accessed again before so many others of its set: fewer than [`LINES`].
const APART: usize = 6;

fn address_pattern(stage: Stage<'_>) -> Option<Ended> {
    play(stage, false)
}

fn address_and_data(stage: Stage<'_>) -> Option<Ended> {
    play(stage, true)
}

/// An access of a sequence.
#[derive(Clone, Copy)]
struct AccessStep {
    line: LineAddr,
    /// What it stores, if it does.
    text: Option<Line>,
}

/// A line that was brought: when, of which access, and from which slot of its chunk.
#[derive(Clone, Copy)]
struct Fill {
    step: usize,
    /// Permutations of its chunk before.
    epoch: usize,
    slot: u64,
    /// The position of the slot in the last sweep of writes over its chunk.
    swept: Option<u64>,
}

/// What an observer has.
#[derive(Default)]
struct Observed {
    fills: Vec<Fill>,
    /// The first blocks of all that crossed.
    blocks: FxHashSet<Block>,
}

/// A block of a line.
type Block = [u8; BLOCK_BYTES];

fn first_block(line: &Line) -> Block {
    std::array::from_fn(|byte| line[byte])
}

fn in_chunk(line: LineAddr) -> u64 {
    line.0 % LINES_PER_CHUNK
}

fn play(mut stage: Stage<'_>, with_data: bool) -> Option<Ended> {
    let parts = stage.victim.parts().clone();
    let mut victim = Victim::blank(&parts, stage.seed, stage.planted).ok()?;
    // Where memory ends there are fewer.
    let last = (victim.map().data_lines() / LINES_PER_CHUNK).checked_sub(CHUNKS)?;
    let first = (stage.any_line().0 / LINES_PER_CHUNK / CHUNKS * CHUNKS).min(last);
    for line in first * LINES_PER_CHUNK..(first + CHUNKS) * LINES_PER_CHUNK {
        victim.write(LineAddr(line), &stage.random.line());
    }
    let strategies = if with_data { &STRATEGIES[..] } else { &STRATEGIES[..STRATEGIES.len() - 1] };
    let (mut right, mut fills, mut with_eight) = (vec![0_usize; strategies.len()], 0, 0);
    for _ in 0..GAMES {
        let sequences = two_sequences(first, &mut stage.random);
        victim.flush();
        let before = victim.moved().unwrap_or_default();
        let secret = stage.random.below(2) as usize;
        let observed = watch(&mut victim, &sequences[secret]);
        let done = victim.moved().unwrap_or_default() - before;
        fills += done.fills;
        with_eight += u64::from(done.permutations >= 8);
        for (right, (_, score)) in right.iter_mut().zip(strategies) {
            let guess = usize::from(score(&observed, &sequences[1]) > score(&observed, &sequences[0]));
            *right += usize::from(guess == secret);
        }
    }
    let best = right.iter().copied().max().unwrap_or(0);
    let verdict = if best >= SURE { Verdict::Leaked } else { Verdict::Hidden };
    let ended = Ended::new(verdict, LineAddr(first * LINES_PER_CHUNK)).counting("games", GAMES as u64);
    let by_strategy = strategies.iter().zip(&right);
    let ended = by_strategy.fold(ended, |ended, ((name, _), right)| ended.counting(*name, *right as u64));
    Some(ended.counting("lines brought", fills).counting("games with eight permutations", with_eight))
}

/// Two sequences of which the chip brings lines and permutes chunks at the same positions, if it begins with an empty cache.
fn two_sequences(first: u64, random: &mut Random) -> [Vec<AccessStep>; 2] {
    loop {
        let plan: Vec<(u64, u64, bool)> = (0..ACCESSES)
            .map(|_| (first + random.below(CHUNKS), random.below(SETS as u64), random.below(4) == 0))
            .collect();
        let sequences = [(); 2].map(|()| sequence(&plan, random));
        let [one, other] = sequences.each_ref().map(|steps| hits_and_permutations(steps));
        if one == other {
            return sequences;
        }
    }
}

/// A sequence by a plan of chunks, sets and stores.
fn sequence(plan: &[(u64, u64, bool)], random: &mut Random) -> Vec<AccessStep> {
    let mut recent: BTreeMap<u64, Vec<u64>> = BTreeMap::default();
    let mut draw = |&(chunk, set, stores): &(u64, u64, bool)| {
        let recent = recent.entry(set).or_default();
        let line = loop {
            let line = chunk * LINES_PER_CHUNK + random.below(LINES) * SETS as u64 + set;
            if !recent.iter().rev().take(APART).any(|earlier| *earlier == line) {
                break line;
            }
        };
        recent.push(line);
        AccessStep { line: LineAddr(line), text: stores.then(|| random.line()) }
    };
    plan.iter().map(&mut draw).collect()
}

/// For each access whether it is a hit, and the chunks that are permuted for it and after it, by the locks of a cache alone.
fn hits_and_permutations(steps: &[AccessStep]) -> Vec<(bool, Vec<u64>)> {
    let mut cache = Llc::new(SETS, WAYS, Replacement::Lru, Inclusion::Inclusive).locking(LINES_PER_CHUNK);
    let access = |step: &AccessStep| {
        let (line, stores) = (step.line, step.text.is_some());
        let hit = if stores { cache.locked_lines().store(line) } else { cache.look_up(line) };
        let (mut locked, mut permuted) = (cache.locked_lines(), Vec::new());
        if !hit {
            while !matches!(locked.reserve(line, |_| false), Way::Reserved(_)) {
                permuted.extend(locked.chunk_with_most(line));
                locked.unlock(*permuted.last().unwrap_or(&0));
            }
            locked.enter(line, stores);
            if locked.unlocked_ways(line) <= 1 {
                let chunk = locked.chunk_with_most(line).unwrap_or(0);
                locked.unlock(chunk);
                permuted.push(chunk);
            }
        }
        (hit, permuted)
    };
    steps.iter().map(access).collect()
}

impl Victim {
    /// Carries out an access, whatever is reported.
    fn carry_out(&mut self, step: &AccessStep) {
        match &step.text {
            Some(text) => drop(self.write(step.line, text)),
            None => drop(self.read(step.line)),
        }
    }
}

/// Lets the victim run a sequence, and writes down what crosses.
fn watch(victim: &mut Victim, steps: &[AccessStep]) -> Observed {
    let (mut observed, mut epochs, mut sweeps) = (Observed::default(), BTreeMap::default(), BTreeMap::default());
    let data_lines = victim.map().data_lines();
    let slots_per_tag = victim.parts().permutation.map_or(1, |permutation| permutation.slots_per_tag);
    let is_data = |crossed: &Crossed| crossed.slot.0 < data_lines;
    victim.tap().follow_slots();
    for (step, access) in steps.iter().enumerate() {
        victim.carry_out(access);
        let crossed: Vec<Crossed> = victim.tap().take_followed().into_iter().filter(is_data).collect();
        observed.blocks.extend(crossed.iter().map(|crossed| first_block(&crossed.content)));
        // A fill is the first read of an access, or the last: so many slots as are under one tag, of which it is known by the first.
        let fill = crossed.len().saturating_sub(slots_per_tag);
        let is_fill =
            |index: usize| index == if crossed.last().is_some_and(|last| last.kind == Kind::Read) { fill } else { 0 };
        for (index, Crossed { slot, kind, .. }) in crossed.iter().enumerate() {
            let (chunk, slot) = (slot.0 / LINES_PER_CHUNK, slot.0 % LINES_PER_CHUNK);
            let sweep: &mut Vec<u64> = sweeps.entry(chunk).or_default();
            if is_fill(index) && chunk == chunk_of(access.line) {
                let swept =
                    sweep.iter().rev().take(LINES_PER_CHUNK as usize).rev().position(|written| *written == slot);
                let epoch = epochs.get(&chunk).copied().unwrap_or(0) / LINES_PER_CHUNK as usize;
                observed.fills.push(Fill { step, epoch, slot, swept: swept.map(|position| position as u64) });
            }
            if *kind == Kind::Write {
                *epochs.entry(chunk).or_default() += 1;
                sweep.push(slot);
            }
        }
    }
    observed
}

/// How well a sequence fits what was observed.
type Score = fn(&Observed, &[AccessStep]) -> i64;

/// The strategies; the last looks at data.
const STRATEGIES: [(&str, Score); 6] = [
    ("right by place", in_its_place),
    ("right by differences", by_differences),
    ("right by repetitions", by_repetitions),
    ("right by nearness", by_nearness),
    ("right by the order of writes", by_sweep),
    ("right by content", by_content),
];

/// Lines whose place is their own number.
fn in_its_place(observed: &Observed, steps: &[AccessStep]) -> i64 {
    observed.fills.iter().filter(|fill| fill.slot == in_chunk(steps[fill.step].line)).count() as i64
}

/// Two lines of a chunk that are as far apart as their slots: a rotation keeps that.
fn by_differences(observed: &Observed, steps: &[AccessStep]) -> i64 {
    let apart = |one: u64, other: u64| one.wrapping_sub(other) % LINES_PER_CHUNK;
    let fits = |one: &Fill, other: &Fill| {
        let [first, second] = [one, other].map(|fill| in_chunk(steps[fill.step].line));
        apart(one.slot, other.slot) == apart(first, second)
    };
    let of_one_epoch = pairs(&observed.fills, steps).filter(|(one, other)| one.epoch == other.epoch);
    of_one_epoch.filter(|(one, other)| fits(one, other)).count() as i64
}

/// Slots that come again when lines do, and only then: in one epoch, or in the next if a permutation serves again.
fn by_repetitions(observed: &Observed, steps: &[AccessStep]) -> i64 {
    let same_slot = pairs(&observed.fills, steps).filter(|(one, other)| one.slot == other.slot);
    same_slot.map(|(one, other)| if steps[one.step].line == steps[other.step].line { 1 } else { -1 }).sum()
}

/// Lines that lie near their own number.
fn by_nearness(observed: &Observed, steps: &[AccessStep]) -> i64 {
    let apart = |fill: &Fill| fill.slot.abs_diff(in_chunk(steps[fill.step].line));
    -observed.fills.iter().map(|fill| apart(fill) as i64).sum::<i64>()
}

/// Lines that were written in their order by the last permutation.
fn by_sweep(observed: &Observed, steps: &[AccessStep]) -> i64 {
    observed.fills.iter().filter(|fill| fill.swept == Some(in_chunk(steps[fill.step].line))).count() as i64
}

/// Texts that cross as they are.
fn by_content(observed: &Observed, steps: &[AccessStep]) -> i64 {
    let texts = steps.iter().filter_map(|step| step.text.as_ref());
    texts.filter(|text| observed.blocks.contains(&first_block(text))).count() as i64
}

/// All pairs of lines of one chunk that were brought.
fn pairs<'a>(fills: &'a [Fill], steps: &'a [AccessStep]) -> impl Iterator<Item = (&'a Fill, &'a Fill)> {
    let chunk = |fill: &Fill| chunk_of(steps[fill.step].line);
    let of_one_chunk = move |one: &&'a Fill, other: &&'a Fill| chunk(one) == chunk(other);
    fills.iter().enumerate().flat_map(move |(index, one)| {
        fills[..index].iter().filter(move |other| of_one_chunk(&one, other)).map(move |other| (one, other))
    })
}
