//! The rows of the table: what a loss of power is combined with.

use super::history::History;
use super::revival::{Revival, changes_of_recovery};
use super::states::{self, DeadMemory};
use super::workload::LINES;
use super::{CrashOptions, states::SUBSETS_MAX};
use crate::attacker::{self, Strike};
use crate::bus::{Bus, Map, Recording};
use crate::scenes::scene;
use protection::verbs::Slot;
use systems::{Attack, Design, Loss, Verdict};
use units::random::Random;
use units::{Line, LineAddr};

/// Losses of power during recovery, one inside the other.
const DEPTH_MAX: usize = 3;
/// Memories that a loss during recovery left, of which each level goes on with so many.
const GOES_ON_WITH: usize = 4;

/// How one case ended.
pub struct Case {
    /// What came of it.
    pub verdict: Verdict,
    /// How many things had been asked of memory when power failed.
    pub point: usize,
    /// What happened, in words.
    pub story: String,
}

/// All cases of a row over one history.
pub fn cases(loss: Loss, design: &Design, history: &History, left: &[DeadMemory], options: &CrashOptions) -> Vec<Case> {
    let survives = design.parts.persistence.exists();
    match loss {
        Loss::PowerLoss => left.iter().map(|dead| power_loss(history, dead)).collect(),
        _ if !survives => Vec::new(),
        Loss::LossInRecovery => left.iter().flat_map(|dead| loss_in_recovery(history, dead)).collect(),
        Loss::PadReuseAfterLoss => left.iter().map(|dead| pad_reuse(history, dead, options.seed)).collect(),
        Loss::TamperingWhileOff => {
            let few = [left.len() / 2, left.len() - 1].into_iter().filter_map(|index| left.get(index));
            few.flat_map(|dead| tampering(history, left, dead, options.seed)).collect()
        }
    }
}

fn power_loss(history: &History, dead: &DeadMemory) -> Case {
    let revival = Revival::of(history, dead);
    let verdict = revival.judge(history, history.progress(dead.point), false);
    let refused = if revival.alarmed() { ", recovery refused the memory" } else { "" };
    Case { verdict, point: dead.point, story: format!("power failed{refused}") }
}

/// Recovers, with losses on the way; then once more, which must change nothing.
fn loss_in_recovery(history: &History, dead: &DeadMemory) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut now = vec![dead.clone()];
    for depth in 1..=DEPTH_MAX {
        let next: Vec<DeadMemory> = now.iter().flat_map(|before| left_by_recovery(history, before)).collect();
        for left in &next {
            cases.push(Case { verdict: recovers_twice(history, dead.point, left), ..story_of(dead, depth) });
        }
        let step = next.len().div_ceil(GOES_ON_WITH).max(1);
        now = next.into_iter().rev().step_by(step).collect();
    }
    cases
}

fn story_of(dead: &DeadMemory, depth: usize) -> Case {
    let story = format!("power failed, and {depth} times more during recovery");
    Case { verdict: Verdict::Harmless, point: dead.point, story }
}

/// What a loss during recovery can leave.
fn left_by_recovery(history: &History, before: &DeadMemory) -> Vec<DeadMemory> {
    let changes = changes_of_recovery(history, before);
    let slots = history.layout.total_lines();
    let start = || (before.image.media(slots), before.registers.clone());
    states::states_of(&changes, start, SUBSETS_MAX / 16, history.seed).states
}

fn recovers_twice(history: &History, point: usize, left: &DeadMemory) -> Verdict {
    let once = Revival::of(history, left);
    let settled = DeadMemory { point, image: once.image(), registers: once.registers() };
    let again = Revival::of(history, &settled);
    if (again.image(), again.registers()) != (settled.image, settled.registers) {
        return Verdict::Garbled;
    }
    again.judge(history, history.progress(point), false)
}

/// Under one pad, what two ciphertexts differ in is what two texts differ in.
fn pad_reuse(history: &History, dead: &DeadMemory, seed: u64) -> Case {
    let mut random = Random::new(!seed);
    let revival = Revival::of(history, dead);
    let mut leaked = false;
    for line in LINES {
        let mut pairs = known_pairs(history, dead, &revival, line);
        let text = random.line();
        pairs.push((text, revival.write(line, &text)));
        leaked |= pairs.iter().enumerate().any(|(index, one)| {
            pairs[..index].iter().any(|other| one.0 != other.0 && xor(&one.0, &other.0) == xor(&one.1, &other.1))
        });
    }
    let verdict = if leaked { Verdict::Leaked } else { Verdict::Hidden };
    Case { verdict, point: dead.point, story: "power failed, and every line was written again".to_owned() }
}

/// Texts of a line with the ciphertexts that memory ever held of them: before, and at the end.
fn known_pairs(history: &History, dead: &DeadMemory, revival: &Revival, line: LineAddr) -> Vec<(Line, Line)> {
    let slot = Slot(line.0);
    let before = history.before.get(&line).zip(history.memory.get(slot));
    let at_the_end = revival.read(line).released.zip(dead.image.get(slot));
    let before = before.map(|(text, stored)| (*text, stored));
    before.into_iter().chain(at_the_end).map(|(text, stored)| (text, stored.examine())).collect()
}

fn xor(one: &Line, other: &Line) -> Line {
    std::array::from_fn(|byte| one[byte] ^ other[byte])
}

/// Attacks a dead memory in every way; the attacker remembers those that it could have seen before.
fn tampering(history: &History, left: &[DeadMemory], dead: &DeadMemory, seed: u64) -> Vec<Case> {
    let seen: Vec<Recording> = std::iter::once(&history.memory)
        .chain(left.iter().filter(|earlier| earlier.point < dead.point).map(|earlier| &earlier.image))
        .cloned()
        .collect();
    let mut random = Random::new(seed ^ dead.point as u64);
    let mut cases = Vec::new();
    for attack in Attack::ALL.iter().copied().filter(|attack| scene(*attack).is_none()) {
        for level in attacker::levels(attack, history.layout.levels().len()) {
            let mut media = dead.image.media(history.layout.total_lines());
            let mut bus = Bus::new(&mut media, Map::new(&history.layout), &LINES, &seen);
            let Some(Strike { target, .. }) = attacker::strike(attack, level, &mut bus, &mut random) else { continue };
            let image = Recording::of(&media);
            cases.extend(after_tampering(history, dead, image, &format!("{attack} on line {target}")));
        }
    }
    for image in seen {
        cases.extend(after_tampering(history, dead, image, "an old image was put back"));
    }
    cases
}

/// What came of it, if the memory is another one than it was.
fn after_tampering(history: &History, dead: &DeadMemory, image: Recording, what: &str) -> Option<Case> {
    if image == dead.image {
        return None;
    }
    let tampered = DeadMemory { image, ..dead.clone() };
    let verdict = Revival::of(history, &tampered).judge(history, history.progress(dead.point), true);
    Some(Case { verdict, point: dead.point, story: format!("power failed, and then: {what}") })
}
