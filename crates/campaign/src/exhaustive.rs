//! Exhaustive flips: the run flips each stored bit of a small memory, including spare bits, one at a time, and reads
//! all lines that depend on the bit.
//!
//! The memory contains one full page and one line at the far end, so that two tree paths are in use, with their metadata.
//! It is large enough for a tree to store three levels. Blank slots are not flipped, because no line depends on them. A
//! permutation also puts lines into memory that no program has used: after a flip in such a slot, the run reads its line.
//!
//! Flips of bits that no tag, tree or cipher covers are harmless, since reads release the right bytes. Examples are the
//! tag entry of a line that was never written, and a field that no check and no cipher reads. The report contains their
//! number, so that a bit that should be covered cannot hide among them.

use crate::bus::{Recording, Structure};
use crate::oracle::Wish;
use crate::report::{ExhaustiveReport, ExhaustiveRow};
use crate::victim::{DATA_LINES, Victim, with_tiny_caches};
use catalogue::{Attack, Design, End, Verdict};
use protection::design::TreeKind;
use protection::planted::PlantedBug;
use protection::verbs::Slot;
use std::collections::BTreeMap;
use std::ops::Range;
use units::random::Random;
use units::{LINE_BYTES, LINES_PER_PAGE, LineAddr};

const SEED: u64 = 1;
const BITS_PER_LINE: usize = LINE_BYTES * 8;
/// Least number of tree levels in memory.
const STORED_LEVELS: usize = 3;

/// Flips every stored bit of a small memory under a design. `progress` receives the number of finished slots and their
/// total.
///
/// # Panics
/// If the design's parts do not fit together, which [`Design::parse`] rules out. Also if the memory does not work again
/// after all bits are restored, which would be a bug in a scheme.
pub fn exhaustive(design: &Design, progress: &mut dyn FnMut(usize, usize)) -> ExhaustiveReport {
    exhaustive_with(design, PlantedBug::NONE, progress)
}

/// Like [`exhaustive`], with a deliberate weakness, if any.
///
/// # Panics
/// The same as for [`exhaustive`].
pub fn exhaustive_with(
    design: &Design,
    planted: PlantedBug,
    progress: &mut dyn FnMut(usize, usize),
) -> ExhaustiveReport {
    let victim = small_memory(design, planted);
    let stored = victim.attacked(|bus| bus.record());
    let slots: Vec<Slot> = stored.slots().map(|(slot, _)| slot).collect();
    let mut rows: Vec<ExhaustiveRow> = Vec::new();
    for (done, slot) in slots.iter().enumerate() {
        progress(done, slots.len());
        let structure = victim.map().structure(*slot);
        let bits = if structure == Structure::Data { 8 * victim.map().line_bytes() } else { BITS_PER_LINE };
        flip_each_bit(&victim, &stored, *slot, 0..bits, row_of(&mut rows, design, structure));
        if let Some(bytes) = tag_with(&victim, *slot).filter(|_| structure == Structure::Data) {
            let row = row_of(&mut rows, design, Structure::Tag);
            flip_each_bit(&victim, &stored, *slot, 8 * bytes.start..8 * bytes.end, row);
        }
    }
    progress(slots.len(), slots.len());
    let restored = victim.oracle().lines().into_iter().all(|line| verdict(&victim, line, None) == Verdict::Harmless);
    assert!(restored, "the memory does not work again although every bit is back");
    rows.iter_mut().for_each(|row| row.agrees = row.claim == row.worst().map(End::from));
    ExhaustiveReport {
        design: design.name.clone(),
        seed: SEED,
        flips: rows.iter().map(|row| row.flips).sum(),
        worst: rows.iter().filter_map(ExhaustiveRow::worst).max().unwrap_or(Verdict::NotApplicable),
        agrees: rows.iter().all(|row| row.agrees),
        rows,
    }
}

fn small_memory(design: &Design, planted: PlantedBug) -> Victim {
    let parts = with_tiny_caches(&design.parts);
    let sizes = (DATA_LINES.ilog2()..).map(|bits| 1 << bits);
    let memories = sizes.map(|lines| (lines, Victim::checked_blank_of(&parts, lines, SEED, planted)));
    let is_deep = |victim: &Victim| victim.map().levels() >= STORED_LEVELS || parts.tree.kind == TreeKind::None;
    let found = memories.into_iter().find(|(_, victim)| is_deep(victim));
    let (lines, mut victim) = found.unwrap_or_else(|| unreachable!("every tree grows with its memory"));
    let mut random = Random::new(SEED);
    for _ in 0..2 {
        for line in (0..LINES_PER_PAGE as u64).chain([lines - 1]) {
            victim.write(LineAddr(line), &random.line());
        }
    }
    victim.machine().flush();
    victim
}

/// Returns the bytes of the tag stored with the data in a slot, if any.
fn tag_with(victim: &Victim, slot: Slot) -> Option<Range<usize>> {
    let line = LineAddr(victim.map().lines_served(slot).start);
    victim.map().slot_bytes(Structure::Tag, line).filter(|(of_tag, _)| *of_tag == slot).map(|(_, bytes)| bytes)
}

fn flip_each_bit(victim: &Victim, stored: &Recording, slot: Slot, bits: Range<usize>, row: &mut ExhaustiveRow) {
    let is_unused = |line: &LineAddr| victim.oracle().current(*line).is_none();
    let unused = victim.machine().line_moved_to(slot).filter(is_unused);
    for bit in bits {
        let affected = victim.attacked(|bus| {
            bus.flip(slot, bit);
            bus.affected_lines()
        });
        let judged = affected.into_iter().chain(unused).map(|line| verdict(victim, line, Some((slot, bit))));
        let ended = judged.max().unwrap_or(Verdict::Harmless);
        row.first_at.entry(ended).or_insert((slot.0, bit));
        *row.histogram.entry(ended).or_default() += 1;
        row.flips += 1;
        victim.attacked(|bus| stored.get(slot).into_iter().for_each(|content| bus.put(slot, content)));
        victim.machine().flush();
    }
}

/// Reads a line after a flip. For a flip in the line, the attacker wants exactly that bit to be flipped in the released
/// bytes.
fn verdict(victim: &Victim, line: LineAddr, flipped: Option<(Slot, usize)>) -> Verdict {
    let own = flipped.filter(|(slot, bit)| {
        *bit < BITS_PER_LINE && victim.map().slot_bytes(Structure::Data, line).is_some_and(|(own, _)| own == *slot)
    });
    let wish = own.map_or(Wish::None, |(_, bit)| Wish::Flipped(bit));
    victim.oracle().judge(line, &victim.read(line).0, victim.oracle().wished_bytes(line, wish))
}

fn row_of<'a>(rows: &'a mut Vec<ExhaustiveRow>, design: &Design, structure: Structure) -> &'a mut ExhaustiveRow {
    let name = structure.to_string();
    let index = rows.iter().position(|row| row.structure == name).unwrap_or_else(|| {
        let claim = design.claims.about(flip_of(structure));
        let (histogram, first_at) = (BTreeMap::new(), BTreeMap::new());
        rows.push(ExhaustiveRow { structure: name, flips: 0, histogram, first_at, claim, agrees: false });
        rows.len() - 1
    });
    &mut rows[index]
}

/// Returns the attack that flips one bit of this structure.
fn flip_of(structure: Structure) -> Attack {
    match structure {
        Structure::Data => Attack::FlipData,
        Structure::Tag => Attack::FlipTag,
        Structure::Counter => Attack::FlipCounter,
        Structure::Node(_) => Attack::FlipNode,
        Structure::Owner => Attack::FlipOwner,
        Structure::Bitmap => Attack::FlipBitmap,
        Structure::Context => Attack::ContextForge,
    }
}
