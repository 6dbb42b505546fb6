//! Bitmaps: they record the order of the words of a re-ordered line.
//!
//! The victim writes a line twice, with frequent words in other positions each time, so that its bitmap changes. The attacker
//! changes the bitmap line. The verified words are then released in another order, unless the tags of chunks cover the order
//! too. Half of the time the victim first writes a neighbour with its bitmap in the same line: the chip then reads, changes and
//! re-encrypts the attacker's content.

use super::{Ended, SceneInput, Scenes};
use crate::bus::{Bus, Structure};
use crate::oracle::Wish;
use catalogue::Attack;
use protection::verbs::Slot;
use units::random::Random;
use units::{LINE_BYTES, Line, LineAddr, WORD_BYTES};

/// Scenes of this file.
pub(super) const SCENES: Scenes = &[
    (Attack::SpoofBitmap, |stage| strike(stage, |bus, slot, random, _| bus.write(slot, &random.line()))),
    (Attack::FlipBitmap, |stage| {
        strike(stage, |bus, slot, random, _| bus.flip(slot, random.below(8 * ENCRYPTED_BYTES) as usize))
    }),
    (Attack::ReplayBitmap, |stage| strike(stage, |bus, slot, _, before| bus.write(slot, &before))),
];

/// Bytes of a bitmap line that are encrypted, or that contain the value under which they are encrypted.
const ENCRYPTED_BYTES: u64 = 56;
/// Writes after which a word is certainly among the frequent ones.
const REPEATS: usize = 4;

/// Runs a bitmap attack: the victim writes, the attacker strikes at the bitmap line with an earlier recording of it, and the
/// victim continues.
fn strike(mut stage: SceneInput<'_>, strike: impl Fn(&mut Bus<'_>, Slot, &mut Random, Line)) -> Option<Ended> {
    let target = stage.any_line();
    let (slot, _) = stage.victim.map().slot_bytes(Structure::Bitmap, target)?;
    let frequent = stage.random.word();
    for _ in 0..REPEATS {
        stage.victim.write(target, &alternating(frequent, frequent));
    }
    let (one, other) = (stage.random.word(), stage.random.word());
    stage.victim.write(target, &alternating(frequent, one));
    stage.victim.machine().flush();
    let before = stage.victim.attacked(|bus| bus.read(slot));
    stage.victim.write(target, &alternating(other, frequent));
    stage.victim.machine().flush();
    let mut random = stage.random.clone();
    stage.victim.attacked(|bus| strike(bus, slot, &mut random, before));
    stage.random = random;
    if stage.random.below(2) == 1 && !write_neighbour(&mut stage, target) {
        return Some(Ended::new(stage.reported(), target));
    }
    Some(Ended::new(stage.worst_read(target, Wish::None), target))
}

/// Writes another line with its bitmap in the same line, if one is in use; returns true if the chip reported no fault.
fn write_neighbour(stage: &mut SceneInput<'_>, target: LineAddr) -> bool {
    let slot = |line| stage.victim.map().slot_bytes(Structure::Bitmap, line);
    let lines = stage.victim.oracle().lines();
    let neighbour = lines.into_iter().find(|line| *line != target && slot(*line) == slot(target));
    neighbour.is_none_or(|neighbour| stage.writes_through(neighbour))
}

/// Returns a line of two alternating words.
fn alternating(even: u64, odd: u64) -> Line {
    let words = [even, odd].map(u64::to_le_bytes);
    let mut line = [0; LINE_BYTES];
    line.chunks_exact_mut(WORD_BYTES).zip(words.iter().cycle()).for_each(|(to, from)| to.copy_from_slice(from));
    line
}
