//! Refusals of a design: the chip must refuse before any release, for as long as the tampering lasts, and never without
//! tampering.

use super::{Ended, SceneInput, Scenes};
use crate::bus::Structure;
use crate::honest::{Finding, honest};
use crate::oracle::Wish;
use crate::victim::{DATA_LINES, Victim};
use catalogue::{Attack, Verdict};
use protection::verbs::Slot;
use units::{LINE_BYTES, LineAddr};

/// Scenes of this file.
pub(super) const SCENES: Scenes = &[
    (Attack::UseBeforeVerify, use_before_verify),
    (Attack::BlindedCorruption, blinded_corruption),
    (Attack::FalseAlarm, false_alarm),
    (Attack::Denial, denial),
];

/// Accesses of one trial without an attacker: 10^5 trials make 10^8.
const HONEST_ACCESSES: u64 = 1_000;
/// Reads of a line that stays tampered with.
const INSISTENCE: u64 = 4;

/// Flips a bit of a structure that the design verifies. The first released word becomes the address of another read, and no
/// design here delays that read. Data that the core used before the verdict refused it has reached the address bus only.
fn use_before_verify(mut stage: SceneInput<'_>) -> Option<Ended> {
    if !stage.parts.has_tags() {
        return None;
    }
    let target = stage.any_line();
    let (slot, bit) = any_bit(&mut stage, target)?;
    stage.victim.attacked(|bus| bus.flip(slot, bit));
    stage.victim.memory().take_refused();
    let (answer, _) = stage.victim.read(target);
    let used = stage.victim.memory().take_refused();
    let early = answer.reported && (answer.released.is_some() || used.is_some());
    let followed = answer.released.or(used).filter(|_| early).map(|bytes| {
        let word = bytes[..8].iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        stage.victim.read(LineAddr(word % DATA_LINES))
    });
    let in_data = slot == stage.victim.map().data_slot(target);
    let wish = if in_data && bit < LINE_BYTES * 8 { Wish::Flipped(bit) } else { Wish::None };
    let wished = stage.victim.oracle().wished_bytes(target, wish);
    let verdict = stage.victim.oracle().judge(target, &answer, wished);
    let ended = Ended::new(verdict, target)
        .leaking(followed.is_some())
        .counting("released before the verdict", u64::from(early));
    Some(ended.counting("reached the address bus", u64::from(followed.is_some())))
}

/// Picks a bit of the line's data or tag; if nodes verify counters, also of the counters and nodes.
fn any_bit(stage: &mut SceneInput<'_>, line: LineAddr) -> Option<(Slot, usize)> {
    let map = stage.victim.map();
    let nodes = (0..map.levels()).map(Structure::Node);
    let counters = nodes.clone().take(1).map(|_| Structure::Counter);
    let kinds = [Structure::Data, Structure::Tag].into_iter().chain(counters).chain(nodes);
    let places: Vec<_> = kinds.filter_map(|kind| map.slot_bytes(kind, line)).collect();
    let (slot, bytes) = places.get(stage.random.below(places.len() as u64) as usize)?;
    Some((*slot, bytes.start * 8 + stage.random.below(bytes.len() as u64 * 8) as usize))
}

/// The first word of a line is a privilege that the victim has denied, stored as zero. Any other value grants it.
fn blinded_corruption(mut stage: SceneInput<'_>) -> Option<Ended> {
    const WORD: std::ops::Range<usize> = 0..8;
    let target = stage.any_line();
    let mut content = stage.random.line();
    content[WORD].fill(0);
    stage.victim.write(target, &content);
    stage.victim.machine().flush();
    let bit = stage.random.below(WORD.len() as u64 * 8) as usize;
    stage.victim.attacked(|bus| bus.flip_bit_of(Structure::Data, target, bit));
    let (answer, _) = stage.victim.read(target);
    let granted = answer.released.is_some_and(|bytes| bytes[WORD].iter().any(|byte| *byte != 0));
    let verdict = stage.victim.oracle().judge(target, &answer, answer.released.filter(|_| granted));
    Some(Ended::new(verdict, target).counting("control words that were not zero", u64::from(granted)))
}

/// Runs ordinary work with caches so small that they load and evict metadata all the time.
fn false_alarm(stage: SceneInput<'_>) -> Option<Ended> {
    let report = honest(stage.parts, HONEST_ACCESSES, stage.seed, stage.planted).ok()?;
    let verdict = match report.finding {
        None => Verdict::Harmless,
        Some(Finding::WrongValue) => Verdict::Garbled,
        Some(Finding::PadReuse | Finding::MaskReuse) => Verdict::Leaked,
        Some(_) => Verdict::Detected,
    };
    Some(Ended::new(verdict, LineAddr(0)).counting("honest accesses", report.accesses))
}

/// All designs here refuse each access that meets tampering and serve the other lines; the scene counts both. The line must
/// release no wrong content, however often the victim reads it.
fn denial(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stage.any_line();
    let slot_bytes = stage.victim.map().slot_bytes(Structure::Data, target)?;
    let before = stage.victim.attacked(|bus| bus.read(slot_bytes.0));
    let bit = stage.random.below(LINE_BYTES as u64 * 8) as usize;
    stage.victim.attacked(|bus| bus.flip(slot_bytes.0, bit));
    let oracle = stage.victim.oracle();
    let judge = |victim: &Victim, line| oracle.judge(line, &victim.read(line).0, None);
    if judge(&stage.victim, target) != Verdict::Detected {
        return None;
    }
    let again: Vec<Verdict> = (0..INSISTENCE).map(|_| judge(&stage.victim, target)).collect();
    let others = oracle.lines().into_iter().filter(|line| *line != target);
    let served = others.filter(|line| judge(&stage.victim, *line) == Verdict::Harmless).count();
    stage.victim.attacked(|bus| bus.write(slot_bytes.0, &before));
    let recovered = judge(&stage.victim, target) == Verdict::Harmless;
    let refused = again.iter().filter(|verdict| **verdict == Verdict::Detected).count();
    let ended = Ended::new(again.into_iter().max()?, target).counting("reads of the line refused", refused as u64);
    let ended = ended.counting("reads of other lines served", served as u64);
    Some(ended.counting("lines that work again once restored", u64::from(recovered)))
}
