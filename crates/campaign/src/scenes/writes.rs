//! Writes that an interposer drops, holds back, repeats or exchanges.
//!
//! The victim writes one line twice, and its metadata leaves the chip after each write. The interposer meddles with what
//! the first write sends (for a drop, with the second alone), either with all of it or with one slot. Then the victim reads
//! on. A report while it writes ends the scene: the victim stops then. A counter that comes late is the worst of it:
//! the second write finds the old one, and what nothing makes fresh goes out under a pad that was used.

use super::{Ended, Scenes, Stage};
use crate::oracle::Wish;
use crate::tap::Meddling;
use catalogue::Attack;
use protection::verbs::Slot;
use units::LineAddr;

/// The attacks of this file.
pub(super) const SCENES: Scenes = &[
    (Attack::DropWrite, drop_write),
    (Attack::DelayWrite, delay_write),
    (Attack::DuplicateWrite, duplicate_write),
    (Attack::ReorderWrites, reorder_writes),
];

fn drop_write(mut stage: Stage<'_>) -> Option<Ended> {
    let target = stage.any_line();
    let quiet = stage.writes_through(target);
    let only = any_slot(&mut stage, target);
    stage.victim.tap().meddle(Meddling::Drop, only);
    let quiet = quiet & stage.writes_through(target);
    Some(judged(&stage, target, quiet))
}

fn delay_write(stage: Stage<'_>) -> Option<Ended> {
    meddled_once(stage, Meddling::Delay)
}

fn duplicate_write(stage: Stage<'_>) -> Option<Ended> {
    meddled_once(stage, Meddling::Duplicate)
}

fn reorder_writes(mut stage: Stage<'_>) -> Option<Ended> {
    let target = stage.any_line();
    let only = any_slot(&mut stage, target);
    stage.victim.tap().meddle(Meddling::Reorder, only);
    let quiet = stage.writes_through(target) & stage.writes_through(target);
    Some(judged(&stage, target, quiet))
}

/// Meddles with the first of two writes, and lets go after the second.
fn meddled_once(mut stage: Stage<'_>, meddling: Meddling) -> Option<Ended> {
    let target = stage.any_line();
    let only = any_slot(&mut stage, target);
    stage.victim.tap().meddle(meddling, only);
    let first = stage.writes_through(target);
    stage.victim.tap().meddle(Meddling::Pass, None);
    let quiet = first & stage.writes_through(target);
    Some(judged(&stage, target, quiet))
}

/// A slot that the write of a line concerns, or nothing, which means all.
fn any_slot(stage: &mut Stage<'_>, line: LineAddr) -> Option<Slot> {
    if stage.parts.permutation.is_some() && stage.random.below(2) == 0 {
        // Whichever line comes to lie in its slot, the victim knows it.
        stage.fill_chunk(line);
        return Some(stage.victim.data_slot(line));
    }
    let map = stage.victim.map();
    let slots: Vec<Option<Slot>> = map
        .path()
        .filter_map(|structure| map.place(structure, line).map(|(slot, _)| Some(slot)))
        .chain([None, None])
        .collect();
    stage.random.pick(&slots).flatten()
}

fn judged(stage: &Stage<'_>, target: LineAddr, quiet: bool) -> Ended {
    stage.victim.let_go();
    let end = if quiet { stage.worst_read(target, Wish::None) } else { stage.reported() };
    Ended::new(end, target)
}
