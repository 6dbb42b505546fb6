//! Every bit: each stored bit of a small memory is flipped by itself, spare bits too, and everything that depends on it
//! is read.
//!
//! The memory holds one full page and one line at the far end, so that two tree paths are in use, with all that guards
//! them. Blank slots are not flipped: nothing in use depends on them.

use crate::bus::{Recording, Structure};
use crate::oracle::Wish;
use crate::report::{ExhaustiveReport, ExhaustiveRow, Histogram};
use crate::victim::{DATA_LINES, TINY_CACHES, Victim};
use protection::design::Parts;
use protection::planted::Planted;
use protection::verbs::Slot;
use systems::{Design, Verdict};
use units::random::Random;
use units::{LINE_BYTES, LINES_PER_PAGE, LineAddr};

const SEED: u64 = 1;
const BITS_PER_LINE: usize = LINE_BYTES * 8;

/// Flips every stored bit of a small memory under a design. `progress` is told how many slots are done, and of how many.
///
/// # Panics
/// If the design's parts make no sense together, which [`Design::parse`] rules out; or if the memory does not work again
/// once all bits are back, which would be a bug in a scheme.
pub fn exhaustive(design: &Design, progress: &mut dyn FnMut(usize, usize)) -> ExhaustiveReport {
    let victim = small_memory(design);
    let stored = victim.attacked(|bus| bus.record());
    let slots: Vec<Slot> = stored.slots().map(|(slot, _)| slot).collect();
    let mut rows: Vec<ExhaustiveRow> = Vec::new();
    for (done, slot) in slots.iter().enumerate() {
        progress(done, slots.len());
        flip_each_bit(&victim, &stored, *slot, row_of(&mut rows, victim.map().structure(*slot)));
    }
    progress(slots.len(), slots.len());
    let restored = victim.oracle().lines().into_iter().all(|line| verdict(&victim, line, None) == Verdict::Harmless);
    assert!(restored, "the memory does not work again although every bit is back");
    ExhaustiveReport {
        design: design.name.clone(),
        seed: SEED,
        flips: rows.iter().map(|row| row.flips).sum(),
        worst: rows.iter().map(worst).max().unwrap_or(Verdict::NotApplicable),
        rows,
    }
}

fn small_memory(design: &Design) -> Victim {
    let parts = Parts { caches: TINY_CACHES, ..design.parts.clone() };
    let mut victim = Victim::blank(&parts, SEED, Planted::NONE)
        .unwrap_or_else(|rule| panic!("design {} was never checked: {rule}", design.name));
    let mut random = Random::new(SEED);
    for _ in 0..2 {
        for line in (0..LINES_PER_PAGE as u64).chain([DATA_LINES - 1]) {
            victim.write(LineAddr(line), &random.line());
        }
    }
    victim.flush();
    victim
}

fn flip_each_bit(victim: &Victim, stored: &Recording, slot: Slot, row: &mut ExhaustiveRow) {
    for bit in 0..BITS_PER_LINE {
        let affected = victim.attacked(|bus| {
            bus.flip(slot, bit);
            bus.affected_lines()
        });
        let judged = affected.into_iter().map(|line| verdict(victim, line, Some((slot, bit))));
        let ended = judged.max().unwrap_or(Verdict::Harmless);
        if row.histogram.is_empty() || ended > worst(row) {
            row.worst_at = (slot.0, bit);
        }
        *row.histogram.entry(ended).or_default() += 1;
        row.flips += 1;
        victim.attacked(|bus| stored.get(slot).into_iter().for_each(|content| bus.write(slot, content)));
        victim.flush();
    }
}

/// Reads a line after a flip; if the flip was in the line itself, the attacker wants exactly that bit to come out flipped.
fn verdict(victim: &Victim, line: LineAddr, flipped: Option<(Slot, usize)>) -> Verdict {
    let own =
        flipped.filter(|(slot, _)| victim.map().place(Structure::Data, line).is_some_and(|(own, _)| own == *slot));
    let wish = own.map_or(Wish::None, |(_, bit)| Wish::Flipped(bit));
    victim.oracle().judge(line, &victim.read(line).0, victim.oracle().wished_bytes(line, wish))
}

fn worst(row: &ExhaustiveRow) -> Verdict {
    row.histogram.keys().next_back().copied().unwrap_or(Verdict::NotApplicable)
}

fn row_of(rows: &mut Vec<ExhaustiveRow>, structure: Structure) -> &mut ExhaustiveRow {
    let name = structure.to_string();
    let index = rows.iter().position(|row| row.structure == name).unwrap_or_else(|| {
        rows.push(ExhaustiveRow { structure: name, flips: 0, histogram: Histogram::new(), worst_at: (0, 0) });
        rows.len() - 1
    });
    &mut rows[index]
}
