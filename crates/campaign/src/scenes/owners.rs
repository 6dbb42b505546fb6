//! Software that goes through the controller: another tenant, or the hypervisor.
//!
//! Nothing here touches the bus but the last, and no cipher helps against the rest: the controller decrypts for whoever may
//! ask. Where a design keeps no owners, everybody may.

use super::{Ended, Stage};
use crate::bus::Structure;
use crate::oracle::{Answer, Wish};
use protection::ownership::{Asker, Owner};
use protection::verbs::Fault;
use systems::{End, Verdict};
use units::{LINES_PER_PAGE, LineAddr};

/// Reads as somebody else; now and then after the hypervisor has given the page away.
pub fn foreign_read(mut stage: Stage<'_>) -> Option<Ended> {
    let target = stage.any_line();
    let asker = Asker::of(somebody_else(&mut stage), target);
    if stage.random.below(2) == 1 {
        stage.victim.assign(target, asker);
    }
    Some(Ended::new(read_by(&stage, target, asker), target))
}

/// Writes as somebody else; then the victim reads.
pub fn foreign_write(mut stage: Stage<'_>) -> Option<Ended> {
    let target = stage.any_line();
    let asker = Asker::of(somebody_else(&mut stage), target);
    let forgery = stage.random.line();
    let refused = stage.victim.write_as(target, &forgery, asker).map(judge_fault);
    stage.victim.flush();
    let read = stage.worst_read(target, Wish::Bytes(forgery));
    Some(Ended::new(refused.map_or(read, |refused| End::from(refused).worst(read)), target))
}

/// Maps one of the victim's pages where another of them should be; now and then after telling the table so.
pub fn remap_page(mut stage: Stage<'_>) -> Option<Ended> {
    let target = stage.any_line();
    let (page, position) = split(target);
    let elsewhere: Vec<LineAddr> = stage.victim.oracle().lines();
    let elsewhere: Vec<LineAddr> =
        elsewhere.into_iter().filter(|line| split(*line).0 != page && split(*line).1 == position).collect();
    let frame = stage.random.pick(&elsewhere)?;
    let asker = Asker { owner: Owner::TENANT, guest_page: page };
    if stage.random.below(2) == 1 {
        stage.victim.assign(frame, asker);
    }
    let (answer, fault) = stage.victim.read_as(frame, asker);
    let oracle = stage.victim.oracle();
    let wished = oracle.wished_bytes(target, Wish::ContentOf(frame));
    Some(Ended::new(fault.map_or(oracle.judge(target, &answer, wished), judge_fault), target))
}

/// Makes itself the owner of a page, on the bus, and then asks for it.
pub fn spoof_owner(mut stage: Stage<'_>) -> Option<Ended> {
    let target = stage.any_line();
    let asker = Asker::of(somebody_else(&mut stage), target);
    let (slot, bytes) = stage.victim.map().place(Structure::Owner, target)?;
    let mut entry = [0; size_of::<units::Line>()];
    entry[bytes.start..bytes.start + size_of_val(&asker.owner.0)].copy_from_slice(&asker.owner.0.to_le_bytes());
    stage.victim.attacked(|bus| bus.write_bytes(slot, bytes.clone(), &entry[bytes]));
    Some(Ended::new(read_by(&stage, target, asker), target))
}

fn somebody_else(stage: &mut Stage<'_>) -> Owner {
    stage.random.pick(&[Owner::HYPERVISOR, Owner::NEIGHBOUR]).unwrap_or(Owner::HYPERVISOR)
}

fn split(line: LineAddr) -> (u64, u64) {
    (line.0 / LINES_PER_PAGE as u64, line.0 % LINES_PER_PAGE as u64)
}

/// What somebody learns who may not read a line.
fn read_by(stage: &Stage<'_>, target: LineAddr, asker: Asker) -> Verdict {
    let (Answer { released, .. }, fault) = stage.victim.read_as(target, asker);
    match (released, fault) {
        (Some(bytes), _) if stage.victim.oracle().current(target) == Some(&bytes) => Verdict::Leaked,
        (_, Some(fault)) => judge_fault(fault),
        _ => Verdict::Hidden,
    }
}

fn judge_fault(fault: Fault) -> Verdict {
    if matches!(fault, Fault::Refused(_)) { Verdict::Refused } else { Verdict::Detected }
}
