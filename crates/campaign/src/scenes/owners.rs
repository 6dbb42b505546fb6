//! Software that goes through the controller: another tenant, or the hypervisor.
//!
//! A design without a table of owners models one tenant with its machine to itself: what else runs there, and what keeps it
//! off, is access control that the design does not describe. So these rows do not apply to it. Where there is a table,
//! other software is all that does not have the tenant's keys: it reads ciphertext, if it is let.
//!
//! Nothing here touches the bus but the last, which writes itself into the table there.

use super::{Ended, Scenes, Stage};
use crate::bus::Structure;
use crate::oracle::{Answer, Wish};
use catalogue::{Attack, End, Verdict};
use protection::ownership::{Asker, Owner, Ownership};
use protection::verbs::Fault;
use units::{LINES_PER_PAGE, Line, LineAddr};

/// The attacks of this file.
pub(super) const SCENES: Scenes = &[
    (Attack::ForeignRead, foreign_read),
    (Attack::ForeignWrite, foreign_write),
    (Attack::RemapPage, remap_page),
    (Attack::SpoofOwner, spoof_owner),
];

/// Reads as other software; now and then after the hypervisor has given the page away.
fn foreign_read(mut stage: Stage<'_>) -> Option<Ended> {
    let (target, asker) = somebody_else(&mut stage)?;
    if stage.random.below(2) == 1 {
        stage.victim.assign(target, asker);
    }
    Some(Ended::new(read_by(&stage, target, asker).0, target))
}

/// Writes as other software; then the victim reads.
fn foreign_write(mut stage: Stage<'_>) -> Option<Ended> {
    let (target, asker) = somebody_else(&mut stage)?;
    let forgery = stage.random.line();
    let refused = stage.victim.write_as(target, &forgery, asker).map(judge_fault);
    stage.victim.flush();
    let read = stage.worst_read(target, Wish::Bytes(forgery));
    Some(Ended::new(refused.map_or(read, |refused| End::from(refused).worst(read)), target))
}

/// Maps one of the victim's pages where another of them should be; now and then after telling the table so.
fn remap_page(mut stage: Stage<'_>) -> Option<Ended> {
    let (target, _) = somebody_else(&mut stage)?;
    let frame = page_elsewhere(&mut stage, target)?;
    if stage.random.below(2) == 1 {
        stage.victim.assign(frame, Asker::of(Owner::TENANT, target));
    }
    Some(Ended::new(remapped_read(&stage, target, frame), target))
}

/// Writes into the table, on the bus, what lets an attack on owners through. No tree and no tag covers the table, so it
/// serves over those as well.
fn spoof_owner(mut stage: Stage<'_>) -> Option<Ended> {
    let (target, asker) = somebody_else(&mut stage)?;
    stage.victim.flush();
    if stage.random.below(2) == 1 {
        return replayed_as_owner(stage, target, asker);
    }
    let frame = page_elsewhere(&mut stage, target)?;
    let end = with_entry(&stage, frame, Asker::of(Owner::TENANT, target), || remapped_read(&stage, target, frame))?;
    Some(Ended::new(end, target))
}

/// One of the victim's lines at the same place of another page.
fn page_elsewhere(stage: &mut Stage<'_>, target: LineAddr) -> Option<LineAddr> {
    let (page, position) = split(target);
    let lines = stage.victim.oracle().lines().into_iter();
    let elsewhere: Vec<LineAddr> = lines.filter(|line| split(*line).0 != page && split(*line).1 == position).collect();
    stage.random.pick(&elsewhere)
}

/// What the victim reads whose page of the target is mapped to that of the frame.
fn remapped_read(stage: &Stage<'_>, target: LineAddr, frame: LineAddr) -> Verdict {
    let (answer, fault) = stage.victim.read_as(frame, Asker::of(Owner::TENANT, target));
    let oracle = stage.victim.oracle();
    let wished = oracle.wished_bytes(target, Wish::ContentOf(frame));
    fault.map_or(oracle.judge(target, &answer, wished), judge_fault)
}

/// The attacker is the page's owner for a moment and reads it; once the victim has written it anew, it is once more and puts
/// back what it read. Each time the table then says again what it said, so that the victim notices nothing.
fn replayed_as_owner(mut stage: Stage<'_>, target: LineAddr, asker: Asker) -> Option<Ended> {
    let (read, old) = with_entry(&stage, target, asker, || read_by(&stage, target, asker))?;
    let quiet = stage.writes_through(target);
    let refused = match old {
        Some(old) => with_entry(&stage, target, asker, || stage.victim.write_as(target, &old, asker))?.map(judge_fault),
        None => None,
    };
    let after = if quiet { stage.worst_read(target, Wish::None) } else { stage.reported() };
    let ends = [Some(End::from(read)), refused.map(End::from), Some(after)];
    Some(Ended::new(End::worst_of(ends.into_iter().flatten())?, target))
}

/// Does something while the table in memory says that the page of a line is the asker's.
fn with_entry<R>(stage: &Stage<'_>, line: LineAddr, asker: Asker, act: impl FnOnce() -> R) -> Option<R> {
    let (slot, bytes) = stage.victim.map().place(Structure::Owner, line)?;
    let before = stage.victim.attacked(|bus| bus.read_cell(slot));
    let distance = asker.guest_page.wrapping_sub(split(line).0);
    let entry = [u64::from(asker.owner.0), distance].map(u64::to_le_bytes).concat();
    stage.victim.attacked(|bus| bus.write_bytes(slot, bytes.clone(), &entry));
    let done = act();
    stage.victim.flush();
    stage.victim.attacked(|bus| bus.write_bytes(slot, bytes.clone(), &before[bytes]));
    Some(done)
}

/// One of the lines in use, and other software that asks for it; nothing if the design knows none.
fn somebody_else(stage: &mut Stage<'_>) -> Option<(LineAddr, Asker)> {
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

/// What software learns that may not read a line, and the bytes that came out, if any did.
fn read_by(stage: &Stage<'_>, target: LineAddr, asker: Asker) -> (Verdict, Option<Line>) {
    let (Answer { released, .. }, fault) = stage.victim.read_as(target, asker);
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
