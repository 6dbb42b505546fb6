//! Contract of every persistent design. Recovery restores all writes that had returned, whatever nodes memory holds. It
//! refuses a memory with counters for which the root register does not vouch.

use super::design::{DATA_LINES, SchemeMemory};
use super::{Checked, hold};
use crate::counter::{Age, WRITES_LEFT};
use crate::design::{Parts, Step};
use crate::domain::Registers;
use crate::execution::{Functional, Operation, RecordedMemory, Untimed, run_now};
use crate::media::Media;
use crate::planted::PlantedBug;
use crate::verbs::{Fault, Slot};
use std::collections::BTreeMap;
use units::random::Random;
use units::{Line, LineAddr, ZERO_LINE};

/// Parts of the data, as many as the children of a full line of the root. Each part has a line in use, in its first
/// group or in a later one, except for `UNUSED`.
const EIGHTHS: u64 = 8;
const UNUSED: u64 = 5;

fn line_in(eighth: u64) -> LineAddr {
    LineAddr(eighth * (DATA_LINES / EIGHTHS) + eighth * 64 + eighth)
}

/// Expected text of each line.
type Content = BTreeMap<LineAddr, Line>;

/// A memory as a loss of power leaves it, with an older image and the expected texts.
struct Dead {
    media: Media,
    old: Media,
    registers: Registers,
    content: Content,
}

impl Dead {
    fn of(parts: &Parts, planted: PlantedBug) -> Result<Dead, String> {
        let memory = SchemeMemory::new(parts, planted)?;
        let mut random = Random::new(1);
        let mut write_all = || -> Result<(Media, Content), String> {
            let lines = (0..EIGHTHS).filter(|eighth| *eighth != UNUSED).map(line_in);
            let content: Content = lines.map(|line| (line, random.line())).collect();
            content.iter().try_for_each(|(line, text)| memory.write(*line, text))?;
            let media = memory.functional.media.borrow().clone();
            Ok((media, content))
        };
        let ((old, _), (media, content)) = (write_all()?, write_all()?);
        Ok(Dead { media, old, registers: memory.functional.registers(), content })
    }
}

/// Returns a new chip over this memory, and the fault that its recovery reports.
fn revived(
    parts: &Parts,
    planted: PlantedBug,
    media: Media,
    registers: &Registers,
) -> Result<(SchemeMemory, Option<Fault>), String> {
    let memory = SchemeMemory::new(parts, planted)?;
    memory.functional.media.replace(media);
    memory.functional.go_on_with(registers.clone());
    run_now(memory.scheme.recover(&memory.functional.verbs(), registers));
    let fault = memory.functional.take_fault();
    Ok((memory, fault))
}

/// Checks a composition against the contract of recovery.
pub fn check(parts: &Parts, planted: PlantedBug) -> Checked {
    let dead = Dead::of(parts, planted)?;
    let (memory, fault) = revived(parts, planted, dead.media.clone(), &dead.registers)?;
    hold(fault.is_none(), || format!("recovery refuses what was left: {fault:?}"))?;
    roots(&memory, &dead.registers)?;
    reads(&memory, &dead.content, "after recovery")?;
    counters(parts, planted, &dead)?;
    nodes(parts, planted, &dead)?;
    // An early root is ahead of memory and needs the battery, which a list of operations does not model: see `buffer`.
    if parts.persistence.early.has(Step::Root) { Ok(()) } else { renewal(parts, planted) }
}

/// The chip has the roots of its registers. A root that was never registered is blank.
fn roots(memory: &SchemeMemory, registers: &Registers) -> Checked {
    let registered = |slot: &Slot| registers.forest.get(slot).copied().unwrap_or(ZERO_LINE);
    let (root, kept) = memory.fixed().on_chip(|chip| {
        let kept = chip.forest.roots().into_iter().map(|slot| (slot, chip.forest.node(slot).copied()));
        (chip.root.clone(), kept.collect::<Vec<_>>())
    });
    let is_blank = registers.root.is_empty() && root.iter().all(|line| *line == ZERO_LINE);
    hold(root == registers.root || is_blank, || "the chip's root is not the register's".into())?;
    let all_kept = registers.forest.keys().all(|slot| kept.iter().any(|(root, _)| root == slot));
    let right = kept.iter().all(|(slot, content)| *content == Some(registered(slot)));
    hold(all_kept && right, || "the roots of the chip's forest are not their registers'".into())
}

fn reads(memory: &SchemeMemory, content: &Content, when: &str) -> Checked {
    content.iter().try_for_each(|(line, text)| {
        hold(memory.read(*line) == Some(*text), || format!("line {line} does not read as it was written {when}"))
    })
}

/// Recovery refuses old counters and forged ones, below each child of the root.
fn counters(parts: &Parts, planted: PlantedBug, dead: &Dead) -> Checked {
    let scheme = parts.build_with(DATA_LINES, 1, planted)?;
    for eighth in 0..EIGHTHS {
        let slot = scheme.fixed().unwrap().counter_slot(line_in(eighth)).ok_or("there are no counters")?;
        let old = dead.old.read(slot);
        let forged = if old.is_blank() { Random::new(eighth).line() } else { old.examine() };
        let mut media = dead.media.clone();
        media.write(slot, &forged);
        let (_, fault) = revived(parts, planted, media, &dead.registers)?;
        hold(fault == Some(Fault::Root), || format!("recovery takes other counters at {slot}: {fault:?}"))?;
    }
    Ok(())
}

/// Recovery rebuilds the nodes, whatever memory holds: those above lines in use, and those above lines that are used
/// later.
fn nodes(parts: &Parts, planted: PlantedBug, dead: &Dead) -> Checked {
    let scheme = parts.build_with(DATA_LINES, 1, planted)?;
    for level in scheme.layout().levels() {
        let mut media = dead.media.clone();
        level.slots().for_each(|slot| media.write(slot, &Random::new(slot.0).line()));
        let (memory, fault) = revived(parts, planted, media, &dead.registers)?;
        hold(fault.is_none(), || format!("recovery refuses other nodes at {}: {fault:?}", level.role))?;
        reads(&memory, &dead.content, &format!("after recovery from other nodes at {}", level.role))?;
        let unused = line_in(UNUSED);
        memory.write(unused, &[9; 64]).map_err(|alarm| format!("other nodes at {} stay: {alarm}", level.role))?;
        hold(memory.read(unused) == Some([9; 64]), || "a line does not read as it was written".into())?;
    }
    Ok(())
}

/// Recovery completes a re-encryption that stops after any operation, up to the last line of the group.
fn renewal(parts: &Parts, planted: PlantedBug) -> Checked {
    let scheme = parts.build_with(DATA_LINES, 1, planted)?;
    let recorded = RecordedMemory::new(Functional::new(scheme.layout().total_lines()));
    run_now(scheme.age(&recorded.verbs(), LineAddr(0), Age::BeforeRenewal));
    let mut content = Content::new();
    let last = scheme.fixed().unwrap().lines_per_counter_line().ok_or("there are no counters")? - 1;
    for line in (0..12).chain([last]).map(LineAddr) {
        content.insert(line, [line.0 as u8; 64]);
        run_now(scheme.write(&recorded.verbs(), line, &[line.0 as u8; 64]));
    }
    for turn in 0..=2 * WRITES_LEFT {
        recorded.take_operations();
        let (media, registers) = (recorded.memory().media.borrow().clone(), recorded.memory().registers());
        let before = content.insert(LineAddr(0), [100 + turn as u8; 64]);
        run_now(scheme.write(&recorded.verbs(), LineAddr(0), &[100 + turn as u8; 64]));
        if scheme.counted().renewals.groups == 0 {
            continue;
        }
        let operations = recorded.take_operations();
        for point in 0..=operations.len() {
            let (media, registers, begun) = left(&operations[..point], (media.clone(), registers.clone()));
            let mut expected = content.clone();
            expected.extend(before.filter(|_| !begun).map(|text| (LineAddr(0), text)));
            let (memory, fault) = revived(parts, planted, media, &registers)?;
            hold(fault.is_none(), || format!("recovery refuses a memory in the middle of a renewal: {fault:?}"))?;
            reads(&memory, &expected, "after recovery in the middle of a renewal")?;
        }
        return Ok(());
    }
    Err("the scene is not set: no counter overflows".into())
}

/// Returns the state after these operations: all sent lines arrive, and the open tuple is lost. The flag is true if the
/// first tuple is complete.
fn left(operations: &[Operation], (mut media, registers): (Media, Registers)) -> (Media, Registers, bool) {
    let (mut registers, mut open) = (registers, Vec::new());
    let mut begun = false;
    for operation in operations {
        match operation {
            Operation::Store(_, slot, content) => media.store(*slot, *content),
            Operation::Persist(_, slot, content) => open.push((*slot, *content)),
            Operation::Complete(now) => {
                open.drain(..).for_each(|(slot, content)| media.store(slot, content));
                registers.set(now);
                begun = true;
            }
            _ => {}
        }
    }
    (media, registers, begun)
}

#[test]
fn recovery_returns_exactly_the_durable_lines() {
    for parts in super::durable() {
        assert_eq!(check(&parts, PlantedBug::NONE), Ok(()), "{parts:?}");
    }
}
