//! Software that accesses memory through the controller: another tenant, or the hypervisor.
//!
//! A design without a table of owners models one tenant with its machine. Other software on the machine, and the access
//! control against it, are outside the design's description, so these rows do not apply to it. With a table, all software
//! without the tenant's keys counts as other software: it reads ciphertext, if it is allowed to read.
//!
//! Only the last scene touches the bus: it writes an entry into the table in memory.

use super::{Ended, SceneInput, Scenes};
use crate::bus::Structure;
use crate::oracle::{ReadResult, Wish};
use catalogue::{Attack, End, Verdict};
use protection::ownership::{Asker, Owner, Ownership};
use protection::verbs::Fault;
use units::{LINES_PER_PAGE, Line, LineAddr};

/// Scenes of this file.
pub(super) const SCENES: Scenes = &[
    (Attack::ForeignRead, foreign_read),
    (Attack::ForeignWrite, foreign_write),
    (Attack::RemapPage, remap_page),
    (Attack::SpoofOwner, spoof_owner),
];

/// Reads as other software, sometimes after the hypervisor has given the page away.
fn foreign_read(mut stage: SceneInput<'_>) -> Option<Ended> {
    let (target, asker) = other_owner(&mut stage)?;
    if stage.random.below(2) == 1 {
        stage.victim.machine().assign(target, asker);
    }
    Some(Ended::new(read_by(&stage, target, asker).0, target))
}

/// Writes as other software; then the victim reads.
fn foreign_write(mut stage: SceneInput<'_>) -> Option<Ended> {
    let (target, asker) = other_owner(&mut stage)?;
    let forgery = stage.random.line();
    let refused = stage.victim.machine().write_as(target, &forgery, asker).map(judge_fault);
    stage.victim.machine().flush();
    let read = stage.worst_read(target, Wish::Bytes(forgery));
    Some(Ended::new(refused.map_or(read, |refused| End::from(refused).worst(read)), target))
}

/// Maps one of the victim's pages to the frame of another, sometimes after an update of the table to match.
fn remap_page(mut stage: SceneInput<'_>) -> Option<Ended> {
    let (target, _) = other_owner(&mut stage)?;
    let frame = page_elsewhere(&mut stage, target)?;
    if stage.random.below(2) == 1 {
        stage.victim.machine().assign(frame, Asker::of(Owner::TENANT, target));
    }
    Some(Ended::new(remapped_read(&stage, target, frame), target))
}

/// Changes the table on the bus so that an attack on owners passes. No tree and no tag covers the table, so this also works
/// in designs with both.
fn spoof_owner(mut stage: SceneInput<'_>) -> Option<Ended> {
    let (target, asker) = other_owner(&mut stage)?;
    stage.victim.machine().flush();
    if stage.random.below(2) == 1 {
        return replayed_as_owner(stage, target, asker);
    }
    let frame = page_elsewhere(&mut stage, target)?;
    let end = with_entry(&stage, frame, Asker::of(Owner::TENANT, target), || remapped_read(&stage, target, frame))?;
    Some(Ended::new(end, target))
}

/// Picks one of the victim's lines at the same position of another page.
fn page_elsewhere(stage: &mut SceneInput<'_>, target: LineAddr) -> Option<LineAddr> {
    let (page, position) = split(target);
    let lines = stage.victim.oracle().lines().into_iter();
    let elsewhere: Vec<LineAddr> = lines.filter(|line| split(*line).0 != page && split(*line).1 == position).collect();
    stage.random.pick(&elsewhere)
}

/// Reads as the victim, with the target's page mapped to the frame's page; returns the verdict.
fn remapped_read(stage: &SceneInput<'_>, target: LineAddr, frame: LineAddr) -> Verdict {
    let (answer, fault) = stage.victim.read_as(frame, Asker::of(Owner::TENANT, target));
    let oracle = stage.victim.oracle();
    let wished = oracle.wished_bytes(target, Wish::ContentOf(frame));
    fault.map_or(oracle.judge(target, &answer, wished), judge_fault)
}

/// The attacker becomes the page's owner for a moment and reads it. Once the victim has written the page again, the attacker
/// becomes the owner again and puts back the old bytes. It restores the table each time, so that the victim observes no
/// change.
fn replayed_as_owner(mut stage: SceneInput<'_>, target: LineAddr, asker: Asker) -> Option<Ended> {
    let (read, old) = with_entry(&stage, target, asker, || read_by(&stage, target, asker))?;
    let quiet = stage.writes_through(target);
    let refused = match old {
        Some(old) => {
            with_entry(&stage, target, asker, || stage.victim.machine().write_as(target, &old, asker))?.map(judge_fault)
        }
        None => None,
    };
    let after = if quiet { stage.worst_read(target, Wish::None) } else { stage.reported() };
    let ends = [Some(End::from(read)), refused.map(End::from), Some(after)];
    Some(Ended::new(End::worst_of(ends.into_iter().flatten())?, target))
}

/// Runs `act` while the table in memory contains the asker as owner of a line's page.
fn with_entry<R>(stage: &SceneInput<'_>, line: LineAddr, asker: Asker, act: impl FnOnce() -> R) -> Option<R> {
    let (slot, bytes) = stage.victim.map().slot_bytes(Structure::Owner, line)?;
    let before = stage.victim.attacked(|bus| bus.read_cell(slot));
    let distance = asker.guest_page.wrapping_sub(split(line).0);
    let entry = [u64::from(asker.owner.0), distance].map(u64::to_le_bytes).concat();
    stage.victim.attacked(|bus| bus.write_bytes(slot, bytes.clone(), &entry));
    let done = act();
    stage.victim.machine().flush();
    stage.victim.attacked(|bus| bus.write_bytes(slot, bytes.clone(), &before[bytes]));
    Some(done)
}

/// Picks a line in use and other software that requests it; `None` if the design has no owners.
fn other_owner(stage: &mut SceneInput<'_>) -> Option<(LineAddr, Asker)> {
    if stage.parts.ownership == Ownership::None {
        return None;
    }
    let target = stage.any_line();
    let owner = stage.random.pick(&[Owner::HYPERVISOR, Owner::NEIGHBOUR])?;
    Some((target, Asker::of(owner, target)))
}

fn split(line: LineAddr) -> (u64, u64) {
    (line.0 / LINES_PER_PAGE as u64, line.0 % LINES_PER_PAGE as u64)
}

/// Reads a line as software without the right to; returns the verdict, and the released bytes if any.
fn read_by(stage: &SceneInput<'_>, target: LineAddr, asker: Asker) -> (Verdict, Option<Line>) {
    let (ReadResult { released, .. }, fault) = stage.victim.read_as(target, asker);
    let verdict = match (released, fault) {
        (Some(bytes), _) if stage.victim.oracle().current(target) == Some(&bytes) => Verdict::Leaked,
        (_, Some(fault)) => judge_fault(fault),
        _ => Verdict::Hidden,
    };
    (verdict, released)
}

fn judge_fault(fault: Fault) -> Verdict {
    if matches!(fault, Fault::Refused(_)) { Verdict::Refused } else { Verdict::Detected }
}
