//! A malicious operating system that holds contexts of processes: it reads them, changes them, and replays old ones.
//!
//! An old context with the matching memory rolls the whole process back. Only the chip's table of numbers prevents that.

use super::system::{Image, image, judged, put, whole_page};
use super::{Ended, SceneInput, Scenes};
use crate::processor::Processor;
use crate::system::Handler;
use catalogue::{Attack, End, Verdict};
use context::planted::PlantedContextBug;
use context::{Register, RegisterFile, RegisterSet};
use units::LineAddr;

/// Scenes of this file, each on a processor as designed.
pub(super) const SCENES: Scenes = &[
    (Attack::ContextSpy, |stage| played(stage, PlantedContextBug::NONE, spy)),
    (Attack::ContextForge, |stage| played(stage, PlantedContextBug::NONE, forge)),
    (Attack::ContextReplay, |stage| played(stage, PlantedContextBug::NONE, replay)),
    (Attack::ContextSwap, |stage| played(stage, PlantedContextBug::NONE, swap)),
];

/// An attack on a process that uses a line. It returns `None` if the processor refuses state without tampering.
type Act = fn(&mut SceneInput<'_>, &mut Processor, LineAddr) -> Option<End>;

/// Runs an attack on a processor, if the design has an operating system that could attack and lets contexts leave the chip.
fn played(mut stage: SceneInput<'_>, planted: PlantedContextBug, act: Act) -> Option<Ended> {
    let target = stage.any_line();
    Handler::of(stage.victim.machine(), target)?;
    let contexts = stage.parts.permutation?.contexts.filter(|contexts| contexts.outside > 0)?;
    let processor = Processor::boot(contexts, stage.seed, planted);
    let end = processor.ok().and_then(|mut processor| act(&mut stage, &mut processor, target));
    Some(Ended::new(end.unwrap_or(Verdict::Unrecoverable.into()), target))
}

/// Starts the process and returns its registers.
fn start(stage: &mut SceneInput<'_>, processor: &mut Processor, target: LineAddr) -> Option<RegisterFile> {
    processor.start(&Handler::of(stage.victim.machine(), target)?, &mut stage.random).ok()
}

/// Interrupts the process, exports its context and returns the bytes.
fn let_out(stage: &SceneInput<'_>, processor: &mut Processor, target: LineAddr) -> Option<Vec<u8>> {
    let handler = Handler::of(stage.victim.machine(), target)?;
    let frame = processor.interrupt(&handler, RegisterSet::NONE).ok()?;
    processor.let_out(stage.victim.machine(), target, frame.buffer).ok()
}

/// Imports a context; returns true if the processor accepts it.
fn comes_back(stage: &SceneInput<'_>, processor: &mut Processor, target: LineAddr, exported: &[u8]) -> bool {
    Handler::of(stage.victim.machine(), target).is_some_and(|handler| processor.bring_back(&handler, exported).is_ok())
}

/// Continues the process under an honest operating system; returns the end.
fn goes_on(stage: &SceneInput<'_>, target: LineAddr, honest: &Image) -> Option<End> {
    Some(judged(stage, target, honest, |handler| handler.serve())?.end)
}

fn spy(stage: &mut SceneInput<'_>, processor: &mut Processor, target: LineAddr) -> Option<End> {
    let registers = start(stage, processor, target)?;
    let visible = RegisterSet::from_bits(stage.random.word());
    let frame = processor.interrupt(&Handler::of(stage.victim.machine(), target)?, visible).ok()?;
    let exported = processor.let_out(stage.victim.machine(), target, frame.buffer).ok()?;
    let seen = [&frame.registers.as_bytes()[..], &exported].concat();
    let hidden = Register::all().filter(|register| !visible.contains(*register));
    let mut words = hidden.flat_map(|register| registers.get(register).chunks(8));
    let leaks = words.any(|word| word.len() == 8 && seen.windows(8).any(|bytes| bytes == word));
    Some(if leaks { Verdict::Leaked } else { Verdict::Hidden }.into())
}

fn forge(stage: &mut SceneInput<'_>, processor: &mut Processor, target: LineAddr) -> Option<End> {
    start(stage, processor, target)?;
    let exported = let_out(stage, processor, target)?;
    let mut forged = exported.clone();
    match stage.random.below(2) {
        0 => forged[stage.random.below(exported.len() as u64) as usize] ^= 1 << stage.random.below(8),
        _ => forged.truncate(stage.random.below(exported.len() as u64) as usize),
    }
    if comes_back(stage, processor, target, &forged) {
        return Some(Verdict::Forged.into());
    }
    comes_back(stage, processor, target, &exported).then_some(Verdict::Refused.into())
}

fn replay(stage: &mut SceneInput<'_>, processor: &mut Processor, target: LineAddr) -> Option<End> {
    start(stage, processor, target)?;
    // The context is exported and imported; the process writes, and its context is exported again.
    let old = let_out(stage, processor, target)?;
    let memory_then = whole_page(&stage.victim, target)?;
    comes_back(stage, processor, target, &old).then_some(())?;
    stage.fill_chunk(target);
    let new = let_out(stage, processor, target)?;
    let memory_now = whole_page(&stage.victim, target)?;
    // The attacker replays the old context, with or without the matching memory, or the new context twice.
    let way = stage.random.below(3);
    let twice = way == 2;
    if way == 1 {
        put(&stage.victim, &memory_then);
    }
    if twice {
        comes_back(stage, processor, target, &new).then_some(())?;
    }
    let is_taken =
        if twice { processor.unit().import(&new).is_ok() } else { comes_back(stage, processor, target, &old) };
    if is_taken {
        // The process then exists twice, or continues from an old state.
        return if twice { Some(Verdict::Stale.into()) } else { goes_on(stage, target, &memory_now) };
    }
    put(&stage.victim, &memory_now);
    (twice || comes_back(stage, processor, target, &new)).then_some(())?;
    (goes_on(stage, target, &memory_now)? == Verdict::Harmless).then_some(Verdict::Refused.into())
}

fn swap(stage: &mut SceneInput<'_>, processor: &mut Processor, target: LineAddr) -> Option<End> {
    start(stage, processor, target)?;
    let exported = let_out(stage, processor, target)?;
    // Another process has written the same page under other keys.
    let mut other = stage.blank(stage.seed ^ 1);
    other.write(target, &stage.random.line());
    other.machine().flush();
    let page = whole_page(&stage.victim, target)?;
    let slots: Vec<_> = page.iter().map(|(slot, _)| *slot).collect();
    put(&stage.victim, &image(&other, &slots));
    comes_back(stage, processor, target, &exported).then_some(())?;
    goes_on(stage, target, &page)
}

#[cfg(all(test, feature = "planted-bugs"))]
mod tests {
    use super::*;
    use crate::victim::Victim;
    use catalogue::design;
    use context::planted::Bug;
    use protection::planted::PlantedBug;
    use units::random::Random;

    /// Returns the worst end of a row in twelve trials on a processor with a weakness.
    fn worst(act: Act, planted: PlantedContextBug) -> End {
        let parts = &design("cryptopage-os").unwrap().parts;
        let ended = (1..=12).map(|seed| {
            let victim = Victim::with_past(parts, seed, PlantedBug::NONE).unwrap();
            let random = Random::new(!seed);
            let stage = SceneInput { parts, alias_check: false, victim, random, seed, planted: PlantedBug::NONE };
            played(stage, planted, act).unwrap().end
        });
        End::worst_of(ended).unwrap()
    }

    #[test]
    fn context_attacks_succeed_on_a_processor_with_the_matching_planted_bug() {
        assert_eq!(worst(spy, PlantedContextBug::new(Bug::RegisterNotBlanked)), Verdict::Leaked);
        assert_eq!(worst(replay, PlantedContextBug::new(Bug::NumberUnchecked)), Verdict::Stale);
        assert_eq!(worst(replay, PlantedContextBug::new(Bug::AcceptedTwice)), Verdict::Stale);
        assert_eq!(worst(replay, PlantedContextBug::new(Bug::RootNotExported)), Verdict::Unrecoverable);
    }

    #[test]
    fn context_attacks_fail_on_a_processor_without_planted_bugs() {
        assert_eq!(worst(spy, PlantedContextBug::NONE), Verdict::Hidden);
        assert_eq!(worst(forge, PlantedContextBug::NONE), Verdict::Refused);
        assert_eq!(worst(replay, PlantedContextBug::NONE), Verdict::Refused);
        assert_eq!(worst(swap, PlantedContextBug::NONE), Verdict::Detected);
    }
}
