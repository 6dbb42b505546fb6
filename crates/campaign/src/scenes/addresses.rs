//! Leakage by the addresses on the bus: an observer decides which of two known programs ran.
//!
//! A game has two sequences of accesses to known page chunks. They are equal in kinds, page chunks and cache sets, so that fills and
//! permutations occur at the same positions in both. A secret coin chooses one, and the victim runs it. The observer knows both. It sees
//! the order in which slots cross the bus, with reads and writes, and guesses. It has several strategies, each for another mistake of
//! schemes that hide addresses. In a row about data the observer also knows the texts of both sequences and sees the content on the bus.
//!
//! If the design permutes lines, there are further kinds of games. In one of them, the machine starts a program again with the same keys,
//! and the observer compares this start with earlier starts that it has recorded. In another one, in rows about data, pages were used in
//! part. The observer then also knows the lines that were used before, and compares them with the slots that are blank.
//!
//! A trial has games of one kind, by its seed. They are so many that chance hardly ever guesses all but one. The scene models an order,
//! not a time.

mod observer;

use super::{Ended, SceneInput, Scenes};
use crate::victim::Victim;
use catalogue::{Attack, Verdict};
use machine::cache::Replacement;
use machine::llc::{Inclusion, Llc, WayReservation};
use observer::{AccessStep, Strategy, UsedLines, resemblances, strategies, watch};
use protection::design::{Parts, Seeds};
use protection::moving::{BackgroundStart, LINES_PER_PAGE_CHUNK, SmallCache};
use protection::scheme::Permutations;
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
/// Number of page chunks that the sequences access.
const CHUNKS: u64 = 3;
/// Cache of a victim with moving lines.
const SETS: usize = SmallCache::USUAL.0;
const WAYS: usize = SmallCache::USUAL.1;
/// Lines of a page chunk and a set that are accessed: few, so that lines repeat.
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

/// Names of an observer's strategies, with the games that each has guessed right.
type Guesses = Vec<(String, usize)>;

/// A kind of games, with the end of its names in the report.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GameKind {
    OnUsedPages,
    WithEarlierStart,
    OnPagesUsedInPart,
}

impl GameKind {
    /// Returns the kind of games of this trial.
    fn of_trial(seed: u64, parts: &Parts, with_data: bool) -> GameKind {
        let all = [GameKind::OnUsedPages, GameKind::WithEarlierStart, GameKind::OnPagesUsedInPart];
        let kinds = match (&parts.permutation, with_data) {
            (None, _) => 1,
            (Some(_), false) => 2,
            (Some(_), true) => 3,
        };
        all[(seed % kinds) as usize]
    }

    fn name(self) -> &'static str {
        match self {
            GameKind::OnUsedPages => "",
            GameKind::WithEarlierStart => " with an earlier start",
            GameKind::OnPagesUsedInPart => " on pages used in part",
        }
    }
}

fn play(mut stage: SceneInput<'_>, with_data: bool) -> Option<Ended> {
    let parts = stage.victim.parts().clone();
    let kind = GameKind::of_trial(stage.seed, &parts, with_data);
    let (guesses, counts) = match kind {
        GameKind::OnUsedPages => on_used_pages(&mut stage, &parts, with_data)?,
        GameKind::WithEarlierStart => (with_earlier_start(&mut stage, &parts, with_data)?, Vec::new()),
        GameKind::OnPagesUsedInPart => (on_pages_used_in_part(&mut stage, &parts)?, Vec::new()),
    };
    let best = guesses.iter().map(|(_, right)| *right).max().unwrap_or(0);
    let verdict = if best >= SURE { Verdict::Leaked } else { Verdict::Hidden };
    let ended = Ended::new(verdict, stage.any_line()).counting(format!("games{}", kind.name()), GAMES as u64);
    let named = |ended: Ended, (name, right)| ended.counting(format!("{name}{}", kind.name()), right as u64);
    let ended = guesses.into_iter().fold(ended, named);
    Some(counts.into_iter().fold(ended, |ended, (what, number)| ended.counting(what, number)))
}

/// Plays games on page chunks with all lines in memory. Also returns counts for the report.
fn on_used_pages(
    stage: &mut SceneInput<'_>,
    parts: &Parts,
    with_data: bool,
) -> Option<(Guesses, Vec<(&'static str, u64)>)> {
    let mut victim = Victim::blank(parts, stage.seed, stage.planted).ok()?;
    // The page chunks of the sequences must be within memory.
    let last = (victim.map().data_lines() / LINES_PER_PAGE_CHUNK).checked_sub(CHUNKS)?;
    let first = (stage.any_line().0 / LINES_PER_PAGE_CHUNK / CHUNKS * CHUNKS).min(last);
    for line in first * LINES_PER_PAGE_CHUNK..(first + CHUNKS) * LINES_PER_PAGE_CHUNK {
        victim.write(LineAddr(line), &stage.random.line());
    }
    let mut guesses = Guesses::new();
    let (mut fills, mut with_eight) = (0, 0);
    for _ in 0..GAMES {
        victim.machine().flush();
        let counted = |victim: &Victim| {
            Permutations::of(victim.machine().scheme()).map(Permutations::counted).unwrap_or_default()
        };
        let before = counted(&victim);
        play_game(&mut victim, first, &UsedLines::All, &mut stage.random, strategies(with_data), &mut guesses);
        let done = counted(&victim) - before;
        fills += done.fills;
        with_eight += u64::from(done.permutations >= 8);
    }
    Some((guesses, vec![("lines brought", fills), ("games with eight permutations", with_eight)]))
}

/// Plays one game on the page chunks from `first` on, and counts the strategies that guess the program.
fn play_game(
    victim: &mut Victim,
    first: u64,
    used: &UsedLines,
    random: &mut Random,
    strategies: &[Strategy],
    guesses: &mut Guesses,
) {
    let sequences = two_sequences(first, background_of(victim.parts()), random);
    let secret = random.below(2) as usize;
    let observed = watch(victim, &sequences[secret]);
    guesses.resize_with(strategies.len(), Default::default);
    for ((name, right), strategy) in guesses.iter_mut().zip(strategies) {
        let [one, other] = sequences.each_ref().map(|steps| (strategy.score)(&observed, (steps, used)));
        *name = strategy.name.into();
        *right += usize::from(usize::from(other > one) == secret);
    }
}

/// Plays games on a machine that boots, each on new page chunks. A program has stored to half of the lines that the
/// sequences access, at random, so that the sequences also contain first reads of unused lines. The observer knows these
/// lines.
fn on_pages_used_in_part(stage: &mut SceneInput<'_>, parts: &Parts) -> Option<Guesses> {
    let mut victim = Victim::booting(parts, &[], stage.seed, stage.planted).ok()?;
    let mut guesses = Guesses::new();
    for first in (0..GAMES as u64).map(|game| game * CHUNKS) {
        let accessed =
            (first..first + CHUNKS).flat_map(|chunk| (0..LINES * SETS as u64).map(move |line| (chunk, line)));
        let lines = accessed.map(|(chunk, line)| LineAddr(chunk * LINES_PER_PAGE_CHUNK + line));
        let stored: FxHashSet<LineAddr> = lines.filter(|_| stage.random.below(2) == 0).collect();
        for line in &stored {
            victim.write(*line, &stage.random.line());
        }
        victim.machine().flush();
        let used = UsedLines::These(stored);
        play_game(&mut victim, first, &used, &mut stage.random, strategies(true), &mut guesses);
    }
    Some(guesses)
}

/// Plays games on a machine that starts anew for each, with the same keys. The observer has recorded one earlier start of
/// each program, and guesses the program of the start that is more like this one. The recordings begin when every page has
/// been permuted: until then all starts have the same records.
fn with_earlier_start(stage: &mut SceneInput<'_>, parts: &Parts, with_data: bool) -> Option<Guesses> {
    let sequences = two_sequences(0, background_of(parts), &mut stage.random);
    let image: Vec<(LineAddr, Line)> = (0..CHUNKS * LINES_PER_PAGE_CHUNK)
        .step_by(SETS / 2)
        .map(|line| (LineAddr(line), stage.random.line()))
        .collect();
    let mut starts = 0;
    let mut start = |program: usize| {
        let seeds = Seeds::started_again(stage.seed, starts);
        starts += 1;
        let mut victim = Victim::blank(parts, seeds, stage.planted).ok()?;
        for (line, text) in &image {
            victim.write(*line, text);
        }
        victim.machine().flush();
        Some(watch(&mut victim, &sequences[program]))
    };
    let recorded = [start(0)?, start(1)?];
    let mut guesses: Guesses = resemblances(with_data).iter().map(|(name, _)| ((*name).into(), 0)).collect();
    for _ in 0..GAMES {
        let secret = stage.random.below(2) as usize;
        let observed = start(secret)?;
        for ((_, right), (_, resembles)) in guesses.iter_mut().zip(resemblances(with_data)) {
            let [one, other] = recorded.each_ref().map(|recorded| resembles(&observed, recorded));
            *right += usize::from(usize::from(other > one) == secret);
        }
    }
    Some(guesses)
}

/// Returns the moment at which the design's permutations begin in the background.
fn background_of(parts: &Parts) -> BackgroundStart {
    parts.permutation.map_or_else(BackgroundStart::default, |permutation| permutation.ahead)
}

/// Draws two sequences with fills and permutations at the same positions, for a chip that begins with an empty cache.
fn two_sequences(first: u64, background: BackgroundStart, random: &mut Random) -> [Vec<AccessStep>; 2] {
    loop {
        let plan: Vec<(u64, u64, bool)> = (0..ACCESSES)
            .map(|_| (first + random.below(CHUNKS), random.below(SETS as u64), random.below(4) == 0))
            .collect();
        let sequences = [(); 2].map(|()| sequence(&plan, random));
        let [one, other] = sequences.each_ref().map(|steps| hits_and_permutations(steps, background));
        if one == other {
            return sequences;
        }
    }
}

/// Draws a sequence from a plan of page chunks, sets and stores.
fn sequence(plan: &[(u64, u64, bool)], random: &mut Random) -> Vec<AccessStep> {
    let mut recent: BTreeMap<u64, Vec<u64>> = BTreeMap::default();
    let mut draw = |&(chunk, set, stores): &(u64, u64, bool)| {
        let recent = recent.entry(set).or_default();
        let line = loop {
            let line = chunk * LINES_PER_PAGE_CHUNK + random.below(LINES) * SETS as u64 + set;
            if !recent.iter().rev().take(APART).any(|earlier| *earlier == line) {
                break line;
            }
        };
        recent.push(line);
        AccessStep { line: LineAddr(line), text: stores.then(|| random.line()) }
    };
    plan.iter().map(&mut draw).collect()
}

/// Returns, for each access, whether it hits and the page chunks that are permuted for it and after it, according to the locks of the
/// cache.
fn hits_and_permutations(steps: &[AccessStep], background: BackgroundStart) -> Vec<(bool, Vec<u64>)> {
    let mut cache = Llc::new(SETS, WAYS, Replacement::Lru, Inclusion::Inclusive).locking(LINES_PER_PAGE_CHUNK);
    let access = |step: &AccessStep| {
        let (line, stores) = (step.line, step.text.is_some());
        let hit = if stores { cache.locked_lines().store(line) } else { cache.look_up(line) };
        let (mut locked, mut permuted) = (cache.locked_lines(), Vec::new());
        if !hit {
            while !matches!(locked.reserve(line), WayReservation::Reserved(_)) {
                permuted.extend(locked.chunk_with_most(line));
                locked.unlock(*permuted.last().unwrap_or(&0));
            }
            locked.enter(line, stores);
            let (lines, all) = locked.locked();
            let in_advance = match background {
                BackgroundStart::WaysLeft(ways) if locked.unlocked_ways(line) <= ways => locked.chunk_with_most(line),
                BackgroundStart::LockedShare(share) if lines * 1000 >= all * usize::from(share) => {
                    locked.chunk_with_most_of_all()
                }
                _ => None,
            };
            if let Some(chunk) = in_advance {
                locked.unlock(chunk);
                permuted.push(chunk);
            }
        }
        (hit, permuted)
    };
    steps.iter().map(access).collect()
}
