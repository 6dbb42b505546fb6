//! Writes that an interposer drops, delays, repeats or exchanges.
//!
//! The victim writes one line twice, and its metadata leaves the chip after each write. The interposer meddles with the
//! lines sent by the first write (for a drop, only by the second), either with all of them or with one slot. Then the
//! victim reads all lines. If the chip reports a fault during the writes, the victim stops and the scene ends. A late
//! counter is the worst case: the second write finds the old counter, and if no tree makes it fresh, the line is sent under
//! a used pad.

use super::{Ended, SceneInput, Scenes};
use crate::oracle::Wish;
use crate::tap::Meddling;
use catalogue::Attack;
use protection::verbs::Slot;
use units::LineAddr;

/// Scenes of this file.
pub(super) const SCENES: Scenes = &[
    (Attack::DropWrite, drop_write),
    (Attack::DelayWrite, delay_write),
    (Attack::DuplicateWrite, duplicate_write),
    (Attack::ReorderWrites, reorder_writes),
];

fn drop_write(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stage.any_line();
    let quiet = stage.writes_through(target);
    let only = any_slot(&mut stage, target);
    stage.victim.memory().tap().meddle(Meddling::Drop, only);
    let quiet = quiet & stage.writes_through(target);
    Some(judged(&stage, target, quiet))
}

fn delay_write(stage: SceneInput<'_>) -> Option<Ended> {
    meddled_once(stage, Meddling::Delay)
}

fn duplicate_write(stage: SceneInput<'_>) -> Option<Ended> {
    meddled_once(stage, Meddling::Duplicate)
}

fn reorder_writes(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stage.any_line();
    let only = any_slot(&mut stage, target);
    stage.victim.memory().tap().meddle(Meddling::Reorder, only);
    let quiet = stage.writes_through(target) & stage.writes_through(target);
    Some(judged(&stage, target, quiet))
}

/// Meddles with the first of two writes, and lets go after the second.
fn meddled_once(mut stage: SceneInput<'_>, meddling: Meddling) -> Option<Ended> {
    let target = stage.any_line();
    let only = any_slot(&mut stage, target);
    stage.victim.memory().tap().meddle(meddling, only);
    let first = stage.writes_through(target);
    stage.victim.memory().tap().meddle(Meddling::Pass, None);
    let quiet = first & stage.writes_through(target);
    Some(judged(&stage, target, quiet))
}

/// Picks a slot that the write of a line changes, or `None` for all slots.
fn any_slot(stage: &mut SceneInput<'_>, line: LineAddr) -> Option<Slot> {
    if stage.parts.permutation.is_some() && stage.random.below(2) == 0 {
        // After this the oracle knows every line that can move to the slot.
        stage.fill_chunk(line);
        return Some(stage.victim.map().data_slot(line));
    }
    let map = stage.victim.map();
    let slots: Vec<Option<Slot>> = map
        .path()
        .filter_map(|structure| map.slot_bytes(structure, line).map(|(slot, _)| Some(slot)))
        .chain([None, None])
        .collect();
    stage.random.pick(&slots).flatten()
}

fn judged(stage: &SceneInput<'_>, target: LineAddr, quiet: bool) -> Ended {
    stage.victim.memory().let_go();
    let end = if quiet { stage.worst_read(target, Wish::None) } else { stage.reported() };
    Ended::new(end, target)
}
