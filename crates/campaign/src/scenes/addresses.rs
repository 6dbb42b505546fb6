//! Leakage by the addresses on the bus: an observer decides which of two known programs ran.
//!
//! A game has two sequences of accesses to known chunks. They are equal in kinds, chunks and cache sets, so that fills and permutations
//! occur at the same positions in both. A secret coin chooses one, and the victim runs it. The observer knows both. It sees the order in
//! which slots cross the bus, with reads and writes, and guesses. It has several strategies, each for another mistake of schemes that
//! hide addresses. In a row about data the observer also knows the texts of both sequences and sees the content on the bus.
//!
//! A trial has enough games that chance hardly ever guesses all but one. The scene models an order, not a time.

use super::{Ended, SceneInput, Scenes, chunk_of};
use crate::tap::Crossed;
use crate::victim::Victim;
use catalogue::{Attack, Verdict};
use crypto::BLOCK_BYTES;
use machine::cache::Replacement;
use machine::dram::Kind;
use machine::llc::{Inclusion, Llc, WayReservation};
use protection::moving::{LINES_PER_CHUNK, SmallCache};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use units::random::Random;
use units::{Line, LineAddr};

/// Scenes of this file.
pub(super) const SCENES: Scenes =
    &[(Attack::AddressPattern, address_pattern), (Attack::AddressAndData, address_and_data)];

/// Number of games in a trial.
const GAMES: usize = 24;
/// Right guesses that chance reaches in fewer than two of a million trials.
const SURE: usize = 23;
/// Number of chunks that the sequences access.
const CHUNKS: u64 = 3;
/// Cache of a victim with moving lines.
const SETS: usize = SmallCache::USUAL.0;
const WAYS: usize = SmallCache::USUAL.1;
/// Lines of a chunk and a set that are accessed: few, so that lines repeat.
const LINES: u64 = 8;
/// Accesses of a sequence: enough for at least eight permutations.
const ACCESSES: usize = 160;
/// Other lines of its set that are accessed before a line repeats: fewer than [`LINES`].
const APART: usize = 6;

fn address_pattern(stage: SceneInput<'_>) -> Option<Ended> {
    play(stage, false)
}

fn address_and_data(stage: SceneInput<'_>) -> Option<Ended> {
    play(stage, true)
}

/// One access of a sequence.
#[derive(Clone, Copy)]
struct AccessStep {
    line: LineAddr,
    /// Content to store; `None` for a read.
    text: Option<Line>,
}

/// A fill: the index of its access, the epoch and the slot in its chunk.
#[derive(Clone, Copy)]
struct Fill {
    step: usize,
    /// Number of earlier permutations of its chunk.
    epoch: usize,
    slot: u64,
    /// Position of the slot in the last sweep of writes over its chunk.
    swept: Option<u64>,
}

/// Data that an observer has collected.
#[derive(Default)]
struct Observed {
    fills: Vec<Fill>,
    /// First blocks of all lines that crossed.
    blocks: FxHashSet<Block>,
}

/// A block of a line, in bytes.
type Block = [u8; BLOCK_BYTES];

fn first_block(line: &Line) -> Block {
    std::array::from_fn(|byte| line[byte])
}

fn in_chunk(line: LineAddr) -> u64 {
    line.0 % LINES_PER_CHUNK
}

fn play(mut stage: SceneInput<'_>, with_data: bool) -> Option<Ended> {
    let parts = stage.victim.parts().clone();
    let mut victim = Victim::blank(&parts, stage.seed, stage.planted).ok()?;
    // The chunks of the sequences must be within memory.
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

/// Draws two sequences with fills and permutations at the same positions, for a chip that begins with an empty cache.
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

/// Draws a sequence from a plan of chunks, sets and stores.
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

/// Returns, for each access, whether it hits and the chunks that are permuted for it and after it, according to the locks of the cache.
fn hits_and_permutations(steps: &[AccessStep]) -> Vec<(bool, Vec<u64>)> {
    let mut cache = Llc::new(SETS, WAYS, Replacement::Lru, Inclusion::Inclusive).locking(LINES_PER_CHUNK);
    let access = |step: &AccessStep| {
        let (line, stores) = (step.line, step.text.is_some());
        let hit = if stores { cache.locked_lines().store(line) } else { cache.look_up(line) };
        let (mut locked, mut permuted) = (cache.locked_lines(), Vec::new());
        if !hit {
            while !matches!(locked.reserve(line, |_| false), WayReservation::Reserved(_)) {
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
    /// Carries out an access and ignores all reports.
    fn carry_out(&mut self, step: &AccessStep) {
        match &step.text {
            Some(text) => drop(self.write(step.line, text)),
            None => drop(self.read(step.line)),
        }
    }
}

/// Lets the victim run a sequence, and records the crossings.
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
        // A fill is the first read of an access, or the last. It reads as many slots as are under one tag; the first of them identifies
        // it.
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

/// Score of a sequence against the observations.
type Score = fn(&Observed, &[AccessStep]) -> i64;

/// Strategies of the observer; the last compares data.
const STRATEGIES: [(&str, Score); 6] = [
    ("right by place", by_slot),
    ("right by differences", by_differences),
    ("right by repetitions", by_repetitions),
    ("right by nearness", by_nearness),
    ("right by the order of writes", by_sweep),
    ("right by content", by_content),
];

/// Counts the lines in the slot with the same number.
fn by_slot(observed: &Observed, steps: &[AccessStep]) -> i64 {
    observed.fills.iter().filter(|fill| fill.slot == in_chunk(steps[fill.step].line)).count() as i64
}

/// Counts pairs of lines of a chunk that are as far apart as their slots: a rotation keeps the distance.
fn by_differences(observed: &Observed, steps: &[AccessStep]) -> i64 {
    let apart = |one: u64, other: u64| one.wrapping_sub(other) % LINES_PER_CHUNK;
    let fits = |one: &Fill, other: &Fill| {
        let [first, second] = [one, other].map(|fill| in_chunk(steps[fill.step].line));
        apart(one.slot, other.slot) == apart(first, second)
    };
    let of_one_epoch = pairs(&observed.fills, steps).filter(|(one, other)| one.epoch == other.epoch);
    of_one_epoch.filter(|(one, other)| fits(one, other)).count() as i64
}

/// Scores slots that repeat exactly when lines do: in one epoch, or in later ones if a permutation is used again.
fn by_repetitions(observed: &Observed, steps: &[AccessStep]) -> i64 {
    let same_slot = pairs(&observed.fills, steps).filter(|(one, other)| one.slot == other.slot);
    same_slot.map(|(one, other)| if steps[one.step].line == steps[other.step].line { 1 } else { -1 }).sum()
}

/// Scores lines that are near the slot with the same number.
fn by_nearness(observed: &Observed, steps: &[AccessStep]) -> i64 {
    let apart = |fill: &Fill| fill.slot.abs_diff(in_chunk(steps[fill.step].line));
    -observed.fills.iter().map(|fill| apart(fill) as i64).sum::<i64>()
}

/// Counts the lines that the last permutation wrote in their order.
fn by_sweep(observed: &Observed, steps: &[AccessStep]) -> i64 {
    observed.fills.iter().filter(|fill| fill.swept == Some(in_chunk(steps[fill.step].line))).count() as i64
}

/// Counts texts that cross the bus in plaintext.
fn by_content(observed: &Observed, steps: &[AccessStep]) -> i64 {
    let texts = steps.iter().filter_map(|step| step.text.as_ref());
    texts.filter(|text| observed.blocks.contains(&first_block(text))).count() as i64
}

/// Returns all pairs of fills in one chunk.
fn pairs<'a>(fills: &'a [Fill], steps: &'a [AccessStep]) -> impl Iterator<Item = (&'a Fill, &'a Fill)> {
    let chunk = |fill: &Fill| chunk_of(steps[fill.step].line);
    let of_one_chunk = move |one: &&'a Fill, other: &&'a Fill| chunk(one) == chunk(other);
    fills.iter().enumerate().flat_map(move |(index, one)| {
        fills[..index].iter().filter(move |other| of_one_chunk(&one, other)).map(move |other| (one, other))
    })
}
