//! A malicious operating system that loads records of pages for the processor.
//!
//! The victim's process has run; its records and nodes have left the chip. The process reads a line, and the processor raises the
//! exception for the line's page. Each attack is a way to handle this exception. The process must then read the content that it wrote
//! last, or no content: the security exception aborts it, or it waits for ever. After a refusal an honest operating system must be able to
//! serve the process.

use super::{Ended, SceneInput, Scenes, chunk_of, numbers_in_chunk};
use crate::system::{Handler, Service};
use crate::victim::Victim;
use catalogue::{Attack, Verdict};
use protection::moving::LINES_PER_PAGE_CHUNK;
use protection::record::{LEAF_LINES, LoadNode, NodeName};
use protection::verbs::{Fault, Slot, Untrusted};
use units::random::Random;
use units::{Line, LineAddr};

/// Scenes of this file.
pub(super) const SCENES: Scenes = &[
    (Attack::OsWrongNode, wrong_node),
    (Attack::OsWrongPlace, wrong_position),
    (Attack::OsSwappedSiblings, swapped_siblings),
    (Attack::OsParentInBuffer, parent_in_buffer),
    (Attack::OsStalePath, stale_path),
    (Attack::OsWrongAddress, wrong_address),
    (Attack::OsNoService, no_service),
    (Attack::OsReplayOverSwitch, replay_over_switch),
    (Attack::OsOtherPage, other_page),
    (Attack::OsSwappedPages, swapped_pages),
];

/// Slots of memory with their content.
pub(super) type Image = Vec<(Slot, Untrusted)>;

/// Loads the whole path of the missing record.
fn load_path(handler: &Handler<'_>) {
    for name in handler.record().path() {
        handler.load_node(handler.address_of(name), name);
    }
}

/// Checks the loaded nodes, from a depth down to the record.
fn check_from(handler: &Handler<'_>, depth: usize) -> Result<(), Fault> {
    (depth..=handler.record().depth).try_for_each(|depth| handler.hash_check(depth).map(|_| ()))
}

/// Loads a path from the record upwards as an honest system does, except where `lie` replaces the address or name of a node; then checks
/// the path downwards.
fn walk(
    handler: &Handler<'_>,
    record: NodeName,
    lie: impl Fn(NodeName) -> Option<(Slot, NodeName)>,
) -> Result<(), Fault> {
    let mut first = 1;
    for name in record.path() {
        let (address, claimed) = lie(name).unwrap_or((handler.address_of(name), name));
        if handler.load_node(address, claimed) == LoadNode::OnChip {
            first = name.depth + 1;
            break;
        }
    }
    check_from(handler, first)
}

/// Returns the slots of a node and of its sibling.
fn slots_of(handler: &Handler<'_>, name: NodeName) -> Vec<Slot> {
    let lines = if name == handler.record() { 2 * LEAF_LINES as u64 } else { 1 };
    let first = handler.address_of(name).0;
    (first..first + lines).map(Slot).collect()
}

pub(super) fn image(victim: &Victim, slots: &[Slot]) -> Image {
    slots.iter().map(|slot| (*slot, victim.memory().get(*slot))).collect()
}

pub(super) fn put(victim: &Victim, image: &Image) {
    image.iter().for_each(|(slot, content)| victim.memory().put(*slot, *content));
}

/// The process reads a line of a page without its record on the chip, under a malicious operating system. `honest` is the memory before
/// the attack.
pub(super) fn judged(
    stage: &SceneInput<'_>,
    target: LineAddr,
    honest: &Image,
    lie: impl FnMut(&Handler<'_>) -> Result<(), Fault>,
) -> Option<Ended> {
    let victim = &stage.victim;
    let handler = Handler::of(victim.machine(), target)?;
    let verdict = match handler.access(lie, || victim.read(target).0) {
        Service::Done(answer) => victim.oracle().judge(target, &answer, None),
        // A processor that also raises the exception for an honest system has not detected the attack.
        Service::Aborted if serves_honestly(victim, &handler, target, honest) => Verdict::Detected,
        Service::Aborted => Verdict::Unrecoverable,
        Service::Denied => {
            // The system can refuse service, and no more: an honest system then serves the process.
            if serves_honestly(victim, &handler, target, honest) { Verdict::Refused } else { Verdict::Unrecoverable }
        }
    };
    Some(Ended::new(verdict, target).leaking(stage.reuses_keystream()))
}

/// Restores the honest memory. Returns whether an honest system then serves the process with the right line.
fn serves_honestly(victim: &Victim, handler: &Handler<'_>, target: LineAddr, honest: &Image) -> bool {
    put(victim, honest);
    handler.switch_process();
    match handler.access(|handler| handler.serve(), || victim.read(target).0) {
        Service::Done(answer) => victim.oracle().judge(target, &answer, None) == Verdict::Harmless,
        Service::Aborted | Service::Denied => false,
    }
}

/// Stops the process, so that its records are only in memory.
fn stopped(stage: &mut SceneInput<'_>) -> Option<LineAddr> {
    let target = stage.any_line();
    stage.victim.machine().flush();
    Handler::of(stage.victim.machine(), target)?.switch_process();
    Some(target)
}

/// Picks any node of the missing record's path.
fn any_name(handler: &Handler<'_>, random: &mut Random) -> NodeName {
    random.pick(&handler.record().path().collect::<Vec<_>>()).unwrap_or(handler.record())
}

fn wrong_node(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stopped(&mut stage)?;
    let handler = Handler::of(stage.victim.machine(), target)?;
    let name = any_name(&handler, &mut stage.random);
    let honest = image(&stage.victim, &slots_of(&handler, name));
    let (slot, content) = *honest.first()?;
    let mut bytes: Line = content.examine();
    match stage.random.below(2) {
        0 => bytes[stage.random.below(40) as usize] ^= 1 << stage.random.below(8),
        _ => bytes = stage.random.line(),
    }
    stage.victim.memory().put(slot, bytes.into());
    judged(&stage, target, &honest, |handler| walk(handler, handler.record(), |_| None))
}

fn wrong_position(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stopped(&mut stage)?;
    let handler = Handler::of(stage.victim.machine(), target)?;
    let name = any_name(&handler, &mut stage.random);
    let elsewhere = NodeName { position: stage.random.below(1 << name.depth), ..name };
    let deeper = NodeName { depth: name.depth + 1, position: name.position * 2 };
    let lie = match stage.random.below(4) {
        0 => (handler.address_of(name), elsewhere),
        1 => (handler.address_of(elsewhere), name),
        2 => (handler.address_of(name), if name.depth < handler.record().depth { deeper } else { name.parent() }),
        _ => (handler.address_of(if name.depth > 1 { name.parent() } else { elsewhere }), name),
    };
    judged(&stage, target, &Vec::new(), |handler| walk(handler, handler.record(), |met| (met == name).then_some(lie)))
}

fn swapped_siblings(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stopped(&mut stage)?;
    let handler = Handler::of(stage.victim.machine(), target)?;
    let name = any_name(&handler, &mut stage.random);
    let honest = image(&stage.victim, &slots_of(&handler, name));
    let swapped: Image = match &honest[..] {
        [(slot, content)] => {
            let mut bytes = content.examine();
            bytes[..40].rotate_left(20);
            vec![(*slot, bytes.into())]
        }
        records => {
            let (left, right) = records.split_at(LEAF_LINES);
            let contents = right.iter().chain(left).map(|(_, content)| *content);
            records.iter().map(|(slot, _)| *slot).zip(contents).collect()
        }
    };
    put(&stage.victim, &swapped);
    judged(&stage, target, &honest, |handler| walk(handler, handler.record(), |_| None))
}

/// Replays an old page with the path of its time. The record is checked while its parents are only in the verification buffer.
fn parent_in_buffer(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stopped(&mut stage)?;
    let before = whole_page(&stage.victim, target)?;
    stage.fill_chunk(target);
    let handler = Handler::of(stage.victim.machine(), target)?;
    handler.switch_process();
    let honest = whole_page(&stage.victim, target)?;
    put(&stage.victim, &before);
    judged(&stage, target, &honest, |handler| {
        load_path(handler);
        handler.hash_check(handler.record().depth).map(|_| ())
    })
}

/// Replays a part of the page's path from before its last permutation.
fn stale_path(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stopped(&mut stage)?;
    let (before, whole) = (whole_path(&stage.victim, target)?, whole_page(&stage.victim, target)?);
    stage.fill_chunk(target);
    Handler::of(stage.victim.machine(), target)?.switch_process();
    let honest = whole_page(&stage.victim, target)?;
    // One line, the lines up to some depth with the record, or all lines with the data.
    let all = before.len();
    let stale: Image = match stage.random.below(3) {
        0 => vec![*stage.random.pick(&before).as_ref()?],
        1 => before[..2 * LEAF_LINES + stage.random.below((all - 2 * LEAF_LINES) as u64 + 1) as usize].to_vec(),
        _ => whole,
    };
    put(&stage.victim, &stale);
    judged(&stage, target, &honest, |handler| walk(handler, handler.record(), |_| None))
}

/// Returns the slots of a line's page.
fn frame(line: LineAddr) -> Vec<Slot> {
    numbers_in_chunk(line).map(Slot).collect()
}

/// Returns the content of a page and of its path.
pub(super) fn whole_page(victim: &Victim, target: LineAddr) -> Option<Image> {
    Some([whole_path(victim, target)?, image(victim, &frame(target))].concat())
}

/// Returns the stored content of the path of a page, from the record upwards.
fn whole_path(victim: &Victim, target: LineAddr) -> Option<Image> {
    let handler = Handler::of(victim.machine(), target)?;
    Some(handler.record().path().flat_map(|name| image(victim, &slots_of(&handler, name))).collect())
}

fn wrong_address(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stopped(&mut stage)?;
    let handler = Handler::of(stage.victim.machine(), target)?;
    let name = any_name(&handler, &mut stage.random);
    let data = stage.victim.map().data_slot(target);
    // The same node of a process with other keys, copied to an unused slot.
    let other = stage.blank(stage.seed ^ 1);
    let free = LineAddr(stage.victim.map().data_lines() - LINES_PER_PAGE_CHUNK);
    let copied = Slot(free.0);
    let address = match stage.random.below(4) {
        0 => data,
        1 => {
            for (offset, slot) in slots_of(&handler, name).into_iter().enumerate() {
                stage.victim.memory().put(Slot(copied.0 + offset as u64), other.memory().get(slot));
            }
            copied
        }
        2 => Slot(u64::MAX - 8),
        _ => Slot(free.0 + LINES_PER_PAGE_CHUNK / 2),
    };
    judged(&stage, target, &Vec::new(), |handler| {
        walk(handler, handler.record(), |met| (met == name).then_some((address, name)))
    })
}

fn no_service(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stopped(&mut stage)?;
    let (way, loads) = (stage.random.below(3), stage.random.below(10) as usize);
    judged(&stage, target, &Vec::new(), |handler| match way {
        0 => Ok(()),
        1 => {
            handler.record().path().take(loads.min(handler.record().depth - 1)).for_each(|name| {
                handler.load_node(handler.address_of(name), name);
            });
            Ok(())
        }
        _ => check_from(handler, 1),
    })
}

fn replay_over_switch(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stopped(&mut stage)?;
    let before = whole_page(&stage.victim, target)?;
    let handler = Handler::of(stage.victim.machine(), target)?;
    // The system loads the path, and perhaps checks it, while it is right.
    load_path(&handler);
    if stage.random.below(2) == 0 && (1..handler.record().depth).any(|depth| handler.hash_check(depth).is_err()) {
        return Some(Ended::new(Verdict::Unrecoverable, target));
    }
    handler.switch_process();
    stage.fill_chunk(target);
    let handler = Handler::of(stage.victim.machine(), target)?;
    handler.switch_process();
    let honest = whole_page(&stage.victim, target)?;
    let replays = stage.random.below(2) == 0;
    if replays {
        put(&stage.victim, &before);
    }
    judged(&stage, target, &honest, |handler| {
        if replays {
            return walk(handler, handler.record(), |_| None);
        }
        // The system continues with the nodes that it loaded before the switch.
        check_from(handler, 1)
    })
}

/// Loads the record of another page, in every second trial with the lines of that page in the frame of this one.
fn other_page(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stopped(&mut stage)?;
    let other = another_page(&mut stage, target)?;
    let [honest, lines] = [target, other].map(|line| image(&stage.victim, &frame(line)));
    if stage.random.below(2) == 0 {
        put(&stage.victim, &placed(&honest, &lines));
    }
    judged(&stage, target, &honest, |handler| walk(handler, handler.record_of(other), |_| None))
}

/// Returns the contents of an image in the slots of another.
fn placed(slots: &[(Slot, Untrusted)], contents: &[(Slot, Untrusted)]) -> Image {
    slots.iter().zip(contents).map(|((slot, _), (_, content))| (*slot, *content)).collect()
}

/// Picks a line in use of another page.
fn another_page(stage: &mut SceneInput<'_>, target: LineAddr) -> Option<LineAddr> {
    let lines = stage.victim.oracle().lines();
    let others: Vec<LineAddr> = lines.into_iter().filter(|line| chunk_of(*line) != chunk_of(target)).collect();
    stage.random.pick(&others)
}

/// Exchanges the frames of two pages: their lines, and the record stored with them.
fn swapped_pages(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stopped(&mut stage)?;
    let other = another_page(&mut stage, target)?;
    let honest = image(&stage.victim, &[frame(target), frame(other)].concat());
    let (one, two) = honest.split_at(LINES_PER_PAGE_CHUNK as usize);
    let swapped = [placed(one, two), placed(two, one)].concat();
    put(&stage.victim, &swapped);
    let brings_others = stage.random.below(2) == 0;
    judged(&stage, target, &honest, |handler| {
        if brings_others {
            // The record of the other frame, under the name of the page's record.
            let of_frame = handler.record_of(other);
            walk(handler, handler.record(), |met| {
                (met == handler.record()).then(|| (handler.address_of(of_frame), met))
            })
        } else {
            walk(handler, handler.record(), |_| None)
        }
    })
}
