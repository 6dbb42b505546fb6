//! Histories: the victim continues after the attack. It writes, reads for the first time, overflows and restarts after a
//! reset.
//!
//! Replayed metadata causes harm later: an old counter is harmless until a write uses its pad again, and a forged
//! counter until a line is put into memory under it. So the scene judges every read immediately, and at the end checks
//! the ledger for keystream that was used twice.

use super::{Ended, SceneInput, Scenes};
use crate::attacker;
use crate::bus::{Recording, Structure};
use crate::victim::Victim;
use catalogue::{Attack, Verdict};
use protection::counter::{Age, WRITES_LEFT};
use protection::verbs::Slot;
use units::LineAddr;
use units::random::Random;

/// Scenes of this file.
pub(super) const SCENES: Scenes = &[
    (Attack::RollbackThenWrite, rollback_then_write),
    (Attack::RollbackThenOverflow, rollback_then_overflow),
    (Attack::RollbackThenReboot, rollback_then_reboot),
    (Attack::ForgedBoot, forged_boot),
    (Attack::TamperedHistory, tampered_history),
];

/// Steps of a long history.
const STEPS: usize = 24;
/// Separates the keys of the next boot from those of the last.
const NEXT_BOOT: u64 = 0x4e87_b007;

/// Replays old counters, with or without the structures below and above them; then the victim continues to write.
fn rollback_then_write(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stage.any_line();
    bring_back_part(&mut stage, target)?;
    Some(goes_on(stage, target, 2))
}

/// Like [`rollback_then_write`], in a group just before its overflow: the renewal meets the replayed counters.
fn rollback_then_overflow(mut stage: SceneInput<'_>) -> Option<Ended> {
    let group = stage.any_line().0 / GROUP_LINES * GROUP_LINES;
    let lines: Vec<LineAddr> = [0, 1, 2, 9, 40].map(|line| LineAddr(group + line)).into();
    let victim = Victim::booting(stage.victim.parts(), &lines, stage.seed, stage.planted).ok()?;
    stage.victim = victim;
    stage.victim.machine().age(lines[0], Age::BeforeRenewal);
    let (target, hot) = (stage.random.pick(&lines)?, lines[stage.random.below(2) as usize]);
    let mut recordings = Vec::new();
    for _ in 0..2 {
        // The last line gets into memory during or after the renewal.
        for line in &lines[..4] {
            stage.writes_or_reads(*line);
        }
        stage.victim.machine().flush();
        recordings.push(stage.victim.attacked(|bus| bus.record()));
    }
    stage.writes_or_reads(target);
    stage.victim.machine().flush();
    let recording = one_of(&mut stage.random, &recordings)?;
    bring_back(&mut stage, recording, target);
    Some(goes_on(stage, hot, 2 * WRITES_LEFT))
}

/// Switches the machine off, replays old bytes and switches it on again; then the victim continues to write.
fn rollback_then_reboot(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stage.any_line();
    // Content that is not in memory by then is lost with the power.
    for line in stage.victim.oracle().lines() {
        stage.victim.read(line);
    }
    stage.victim.machine().flush();
    stage.victim.loses_power();
    bring_back_part(&mut stage, target)?;
    let image = stage.victim.attacked(|bus| bus.record());
    let seed = stage.seed ^ NEXT_BOOT;
    stage.victim = stage.victim.restarted(stage.parts, seed, stage.planted, image.slots());
    Some(goes_on(stage, target, 2))
}

/// Changes the counters of a line that is not in memory yet, lets the victim read the line for the first time, and restores
/// the counters. The victim then writes the line, and the attacker replays the state after the first read.
fn forged_boot(mut stage: SceneInput<'_>) -> Option<Ended> {
    let neighbour = stage.any_line();
    let target = LineAddr(neighbour.0 ^ (2 + stage.random.below(4)));
    // This line has the target's position in another group, so that its counter now equals a later counter of the target.
    let later = LineAddr(target.0 ^ stage.victim.map().lines_each(Structure::Counter));
    let victim = Victim::booting(stage.victim.parts(), &[target, neighbour, later], stage.seed, stage.planted).ok()?;
    stage.victim = victim;
    for _ in 0..1 + stage.random.below(3) {
        stage.writes_through(neighbour);
        stage.writes_through(later);
    }
    let before = stage.victim.attacked(|bus| bus.record());
    tamper_with_counter(&mut stage, target, later)?;
    let first = stage.judged_read(target);
    stage.victim.machine().flush();
    let booted = stage.victim.attacked(|bus| bus.record());
    put_back(&stage, &before, &[Structure::Counter], target);
    let mut worst = first;
    for _ in 0..1 + stage.random.below(3) {
        stage.writes_through(target);
        worst = worst.max(stage.judged_read(target));
    }
    let moved = [Structure::Data, Structure::Tag, Structure::Counter];
    let parts = &moved[..1 + stage.random.below(moved.len() as u64) as usize];
    stage.victim.machine().flush();
    put_back(&stage, &booted, parts, target);
    worst = worst.max(stage.judged_read(target));
    Some(ended(&mut stage, worst, target))
}

/// Strikes at random steps and replays old bytes, while the victim writes, reads and evicts its metadata.
fn tampered_history(mut stage: SceneInput<'_>) -> Option<Ended> {
    let lines = stage.victim.oracle().lines();
    let mut recordings = vec![stage.victim.attacked(|bus| bus.record())];
    let (mut worst, target) = (Verdict::Harmless, stage.any_line());
    for _ in 0..STEPS {
        // The history concentrates on the target; its group shares counters with it.
        let line = if stage.random.below(2) == 0 { target } else { stage.random.pick(&lines)? };
        match stage.random.below(8) {
            0 => {
                stage.victim.machine().flush();
                let attack = stage.random.pick(&STRIKES)?;
                let mut random = Random::new(stage.random.word());
                stage.victim.attacked(|bus| attacker::strike(attack, 0, bus, &mut random));
            }
            1 => {
                let recording = one_of(&mut stage.random, &recordings)?;
                bring_back(&mut stage, recording, line);
            }
            2 => recordings.push(stage.victim.attacked(|bus| bus.record())),
            3 => {
                stage.victim.machine().flush();
            }
            4 | 5 => worst = worst.max(stage.judged_read(line)),
            _ => {
                let content = stage.random.line();
                stage.victim.write(line, &content);
            }
        }
    }
    Some(ended(&mut stage, worst, target))
}

/// Strikes that are judged without a wish: any other content is wrong, whatever the attacker meant.
const STRIKES: [Attack; 8] = [
    Attack::FlipData,
    Attack::FlipTag,
    Attack::FlipCounter,
    Attack::FlipNode,
    Attack::ReplayData,
    Attack::ReplayDataTag,
    Attack::ReplayDataTagCounter,
    Attack::SwapSiblings,
];

/// Lines of a group; the first of them share a counter line under every organisation.
const GROUP_LINES: u64 = 64;

impl SceneInput<'_> {
    /// Reads a line and judges the released content.
    fn judged_read(&self, line: LineAddr) -> Verdict {
        self.victim.oracle().judge(line, &self.victim.read(line).0, None)
    }

    /// Writes or reads a line; either puts it into memory.
    fn writes_or_reads(&mut self, line: LineAddr) {
        let content = self.random.line();
        if self.random.below(4) == 0 {
            self.victim.read(line);
        } else {
            self.victim.write(line, &content);
        }
    }
}

/// The victim reads or writes the target, and writes it again and again; then it reads all lines.
fn goes_on(mut stage: SceneInput<'_>, target: LineAddr, writes: u64) -> Ended {
    let reads_first = stage.random.below(2) == 0;
    let mut worst = if reads_first { stage.judged_read(target) } else { Verdict::Harmless };
    for _ in 0..1 + stage.random.below(writes) {
        let content = stage.random.line();
        stage.victim.write(target, &content);
        worst = worst.max(stage.judged_read(target));
    }
    ended(&mut stage, worst, target)
}

/// Ends a history: the victim reads all lines that it ever wrote.
fn ended(stage: &mut SceneInput<'_>, worst: Verdict, target: LineAddr) -> Ended {
    stage.victim.machine().flush();
    let last = stage.worst_read(target, crate::oracle::Wish::None);
    Ended::new(last.worst(worst.into()), target)
}

/// Replays a part of one of the victim's recordings, chosen at random.
fn bring_back_part(stage: &mut SceneInput<'_>, target: LineAddr) -> Option<()> {
    let recordings = stage.victim.attacked(|bus| bus.recordings().to_vec());
    let recording = one_of(&mut stage.random, &recordings)?;
    bring_back(stage, recording, target);
    Some(())
}

fn one_of<'a>(random: &mut Random, recordings: &'a [Recording]) -> Option<&'a Recording> {
    let all: Vec<&Recording> = recordings.iter().collect();
    random.pick(&all)
}

/// Replays a random part of a line: its counters, its data and tag, all three, or all structures below some level of the
/// tree.
fn bring_back(stage: &mut SceneInput<'_>, recording: &Recording, target: LineAddr) {
    let parts: &[Structure] = match stage.random.below(4) {
        0 => &[Structure::Counter],
        1 => &[Structure::Data, Structure::Tag],
        2 => &[Structure::Data, Structure::Tag, Structure::Counter],
        _ => {
            let level = stage.random.below(stage.victim.map().levels() as u64 + 1) as usize;
            return put_back_below(stage, recording, level);
        }
    };
    put_back(stage, recording, parts, target);
}

/// Puts back these parts of a line from a recording.
fn put_back(stage: &SceneInput<'_>, recording: &Recording, parts: &[Structure], target: LineAddr) {
    for part in parts {
        stage.victim.attacked(|bus| attacker::bring_back(bus, recording, *part, target));
    }
}

/// Puts back all slots except the nodes from `level` upwards.
fn put_back_below(stage: &SceneInput<'_>, recording: &Recording, level: usize) {
    let is_above = |slot: Slot| matches!(stage.victim.map().structure(slot), Structure::Node(at) if at >= level);
    let below = recording.slots().filter(|(slot, _)| !is_above(*slot));
    stage.victim.attacked(|bus| below.for_each(|(slot, content)| bus.put(slot, content)));
}

/// Changes the counters of a line: one bit, all bits, or to those of the line `later` with its higher counter.
fn tamper_with_counter(stage: &mut SceneInput<'_>, target: LineAddr, later: LineAddr) -> Option<()> {
    let (slot, bytes) = stage.victim.map().slot_bytes(Structure::Counter, target)?;
    let bit = stage.random.below(bytes.len() as u64 * 8) as usize;
    let forged = stage.random.line();
    match stage.random.below(4) {
        0 => stage.victim.attacked(|bus| bus.write(slot, &forged)),
        1 => stage.victim.attacked(|bus| bus.flip(slot, bit)),
        _ => {
            let counters = stage.victim.attacked(|bus| bus.read_structure(Structure::Counter, later))?;
            stage.victim.attacked(|bus| bus.write(slot, &counters));
        }
    }
    Some(())
}
