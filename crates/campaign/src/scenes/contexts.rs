//! An operating system that has contexts of processes in its hands: it looks at them, changes them, and brings back old ones.
//!
//! An old context with the memory that fits it is the whole process rolled back: the chip's table of numbers alone stands against that.

use super::system::{image, judged, put, whole_page};
use super::{Ended, Scenes, Stage};
use crate::processor::Processor;
use crate::system::Handler;
use catalogue::{Attack, Verdict};
use context::planted::Planted;
use context::{Register, RegisterSet};
use units::LineAddr;

/// The attacks of this file.
pub(super) const SCENES: Scenes = &[
    (Attack::ContextSpy, spy),
    (Attack::ContextForge, forge),
    (Attack::ContextReplay, replay),
    (Attack::ContextSwap, swap),
];

/// The processor with the victim's process running, and a line that it uses.
fn running(stage: &mut Stage<'_>) -> Option<(Processor, LineAddr)> {
    let target = stage.any_line();
    let handler = Handler::of(&stage.victim, target)?;
    let mut processor = Processor::boot(stage.seed, Planted::NONE).ok()?;
    processor.start(&handler, &mut stage.random).ok()?;
    Some((processor, target))
}

/// Interrupts the process, and lets its context out. Gives its bytes.
fn let_out(stage: &Stage<'_>, processor: &mut Processor, target: LineAddr) -> Option<Vec<u8>> {
    let handler = Handler::of(&stage.victim, target)?;
    let frame = processor.interrupt(&handler, RegisterSet::NONE).ok()?;
    processor.let_out(&stage.victim, target, frame.buffer).ok()
}

fn spy(mut stage: Stage<'_>) -> Option<Ended> {
    let target = stage.any_line();
    let handler = Handler::of(&stage.victim, target)?;
    let mut processor = Processor::boot(stage.seed, Planted::NONE).ok()?;
    let registers = processor.start(&handler, &mut stage.random).ok()?;
    let visible = RegisterSet::from_bits(stage.random.word());
    let frame = processor.interrupt(&handler, visible).ok()?;
    let exported = processor.let_out(&stage.victim, target, frame.buffer).ok()?;
    let seen = [&frame.registers.as_bytes()[..], &exported].concat();
    let hidden = Register::all().filter(|register| !visible.contains(*register));
    let mut words = hidden.flat_map(|register| registers.get(register).chunks(8));
    let leaks = words.any(|word| word.len() == 8 && seen.windows(8).any(|bytes| bytes == word));
    Some(Ended::new(if leaks { Verdict::Leaked } else { Verdict::Hidden }, target))
}

fn forge(mut stage: Stage<'_>) -> Option<Ended> {
    let (mut processor, target) = running(&mut stage)?;
    let exported = let_out(&stage, &mut processor, target)?;
    let mut forged = exported.clone();
    match stage.random.below(2) {
        0 => forged[stage.random.below(exported.len() as u64) as usize] ^= 1 << stage.random.below(8),
        _ => forged.truncate(stage.random.below(exported.len() as u64) as usize),
    }
    let handler = Handler::of(&stage.victim, target)?;
    let verdict = match processor.bring_back(&handler, &forged) {
        Ok(()) => Verdict::Forged,
        Err(_) if processor.bring_back(&handler, &exported).is_ok() => Verdict::Refused,
        Err(_) => Verdict::Unrecoverable,
    };
    Some(Ended::new(verdict, target))
}

fn replay(mut stage: Stage<'_>) -> Option<Ended> {
    let (mut processor, target) = running(&mut stage)?;
    // The context goes out and comes back; the process writes, and its context goes out again.
    let old = let_out(&stage, &mut processor, target)?;
    let memory_then = whole_page(&stage.victim, target)?;
    processor.bring_back(&Handler::of(&stage.victim, target)?, &old).ok()?;
    stage.fill_chunk(target);
    let new = let_out(&stage, &mut processor, target)?;
    let memory_now = whole_page(&stage.victim, target)?;
    match stage.random.below(3) {
        // Alone; with the memory that fits it; the same one twice.
        0 => {}
        1 => put(&stage.victim, &memory_then),
        _ => processor.bring_back(&Handler::of(&stage.victim, target)?, &new).ok()?,
    }
    let handler = Handler::of(&stage.victim, target)?;
    let twice = processor.unit().running().is_ok();
    let replayed = if twice { processor.unit().import(&new).map(|_| ()) } else { processor.bring_back(&handler, &old) };
    if replayed.is_ok() {
        return judged(&stage, target, &memory_now, |handler| handler.serve());
    }
    put(&stage.victim, &memory_now);
    if !twice && processor.bring_back(&handler, &new).is_err() {
        return Some(Ended::new(Verdict::Unrecoverable, target));
    }
    // It goes on where it was.
    let goes_on = judged(&stage, target, &memory_now, |handler| handler.serve())?;
    let verdict = if goes_on.end == Verdict::Harmless { Verdict::Refused } else { Verdict::Unrecoverable };
    Some(Ended::new(verdict, target))
}

fn swap(mut stage: Stage<'_>) -> Option<Ended> {
    let (mut processor, target) = running(&mut stage)?;
    let exported = let_out(&stage, &mut processor, target)?;
    // Another process has written the same page under keys of its own.
    let mut other = stage.blank(stage.seed ^ 1);
    other.write(target, &stage.random.line());
    other.flush();
    let page = whole_page(&stage.victim, target)?;
    let slots: Vec<_> = page.iter().map(|(slot, _)| *slot).collect();
    put(&stage.victim, &image(&other, &slots));
    processor.bring_back(&Handler::of(&stage.victim, target)?, &exported).ok()?;
    judged(&stage, target, &page, |handler| handler.serve())
}
