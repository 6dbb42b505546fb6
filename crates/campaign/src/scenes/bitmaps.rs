//! Bitmaps: what says in which order the words of a re-ordered line are put back.
//!
//! The victim writes a line twice, with frequent words in other places each time, so that its bitmap changes. The attacker changes
//! the line of bitmaps. What is verified then lies in another order, unless the tags of chunks vouch for that too. Half of the
//! time the victim first writes a neighbour, whose bitmap shares the line: what the attacker left there is read, changed and
//! encrypted anew by the chip itself.

use super::{Ended, Scenes, Stage};
use crate::bus::{Bus, Structure};
use crate::oracle::Wish;
use catalogue::Attack;
use protection::verbs::Slot;
use units::random::Random;
use units::{LINE_BYTES, Line, LineAddr, WORD_BYTES};

/// The attacks of this file.
pub(super) const SCENES: Scenes = &[
    (Attack::SpoofBitmap, |stage| strike(stage, |bus, slot, random, _| bus.write(slot, &random.line()))),
    (Attack::FlipBitmap, |stage| {
        strike(stage, |bus, slot, random, _| bus.flip(slot, random.below(8 * ENCRYPTED_BYTES) as usize))
    }),
    (Attack::ReplayBitmap, |stage| strike(stage, |bus, slot, _, before| bus.write(slot, &before))),
];

/// What of a line of bitmaps is encrypted, or is the value that it is encrypted under.
const ENCRYPTED_BYTES: u64 = 56;
/// Writes after which a word is certainly among the frequent ones.
const REPEATS: usize = 4;

/// The victim writes; the attacker strikes at its bitmaps, of which there is a recording; the victim goes on.
fn strike(mut stage: Stage<'_>, strike: impl Fn(&mut Bus<'_>, Slot, &mut Random, Line)) -> Option<Ended> {
    let target = stage.any_line();
    let (slot, _) = stage.victim.map().place(Structure::Bitmap, target)?;
    let frequent = stage.random.word();
    for _ in 0..REPEATS {
        stage.victim.write(target, &alternating(frequent, frequent));
    }
    let (one, other) = (stage.random.word(), stage.random.word());
    stage.victim.write(target, &alternating(frequent, one));
    stage.victim.flush();
    let before = stage.victim.attacked(|bus| bus.read(slot));
    stage.victim.write(target, &alternating(other, frequent));
    stage.victim.flush();
    let mut random = stage.random.clone();
    stage.victim.attacked(|bus| strike(bus, slot, &mut random, before));
    stage.random = random;
    if stage.random.below(2) == 1 && !write_neighbour(&mut stage, target) {
        return Some(Ended::new(stage.reported(), target));
    }
    Some(Ended::new(stage.worst_read(target, Wish::None), target))
}

/// Writes another line whose bitmap shares the line, if one is in use. Whether that went without a report.
fn write_neighbour(stage: &mut Stage<'_>, target: LineAddr) -> bool {
    let slot = |line| stage.victim.map().place(Structure::Bitmap, line);
    let lines = stage.victim.oracle().lines();
    let neighbour = lines.into_iter().find(|line| *line != target && slot(*line) == slot(target));
    neighbour.is_none_or(|neighbour| stage.writes_through(neighbour))
}

/// A line of two words, one after the other.
fn alternating(even: u64, odd: u64) -> Line {
    let words = [even, odd].map(u64::to_le_bytes);
    let mut line = [0; LINE_BYTES];
    line.chunks_exact_mut(WORD_BYTES).zip(words.iter().cycle()).for_each(|(to, from)| to.copy_from_slice(from));
    line
}
