//! Tampering while power is off: an attacker flips one bit in each of some lines that memory stores, of any kind, before
//! a fresh chip recovers the memory. The verdict compares each line with its content without the attacker.

use super::battery::SurvivingMemory;
use super::recovery::{ReadAnswer, Recovered};
use super::verdict::{LISTED_MAX, Mismatch, Wrong};
use crate::run::{RunError, RunOptions};
use catalogue::{End, Verdict};
use protection::layout::Layout;
use protection::slot::{Kind, Slot, Untrusted};
use serde::Serialize;
use std::collections::BTreeMap;
use units::random::Random;
use units::{LINE_BYTES, Line, LineAddr};

/// Separates the bits that the attacker flips from all other draws of the same seed.
const TAMPER: u64 = 0x7a3b_e200;

/// Outcome of tampering while power is off.
#[derive(Clone, Debug, Serialize)]
pub struct TamperOutcome {
    /// Number of lines that memory stored, of all kinds.
    pub stored: u64,
    /// Number of changed lines of each kind.
    pub changed: BTreeMap<&'static str, u64>,
    /// The fault that recovery reported, if any.
    pub recovery_fault: Option<String>,
    /// Number of stored lines of data that read as without the attacker.
    pub lines_right: usize,
    /// Number of stored lines of data that the chip refused, with a report.
    pub lines_refused: usize,
    /// Number of stored lines of data that read wrong, or that the chip did not release without a report.
    pub lines_wrong: usize,
    /// The first wrong lines.
    pub mismatches: Vec<Mismatch>,
    /// The end of the attack, in the words of campaigns.
    pub end: End,
    /// Claim of the design for row `tampering-while-off`.
    pub claim: Option<End>,
    /// True if the end is not worse than the claim; without a claim, if the design stopped the attack.
    pub as_claimed: bool,
}

/// Memory that an attacker has changed, and the changes.
pub(super) struct Tampered {
    pub memory: SurvivingMemory,
    /// Lines of data that memory stores.
    lines: Vec<LineAddr>,
    stored: u64,
    changed: BTreeMap<&'static str, u64>,
}

impl Tampered {
    /// Flips one bit in each of `lines` lines that memory stores under a design. The seed of the run draws the lines and
    /// the bits.
    ///
    /// # Errors
    /// [`RunError::PowerLoss`] if memory stores fewer lines.
    pub fn of(left: &SurvivingMemory, layout: &Layout, lines: u64, options: &RunOptions) -> Result<Tampered, RunError> {
        let mut memory = left.clone();
        let mut slots: Vec<Slot> = memory.media.written_slots().map(|(slot, _)| slot).collect();
        let stored = slots.len() as u64;
        if lines > stored {
            return Err(too_many(lines, stored, &options.design.name));
        }
        let is_data = |slot: &Slot| layout.role_and_index(*slot).0.kind() == Kind::Data;
        let data = slots.iter().copied().filter(is_data).map(|slot| layout.line_in(slot).line()).collect();
        let mut random = Random::new(options.seed ^ TAMPER);
        random.shuffle(&mut slots);
        let mut changed = BTreeMap::new();
        for slot in slots.into_iter().take(lines as usize) {
            let kind = layout.role_and_index(slot).0.kind();
            let bit = random.below(bits(layout, kind)) as usize;
            memory.media.store(slot, flipped(memory.media.read(slot), bit));
            *changed.entry(kind.name()).or_default() += 1;
        }
        Ok(Tampered { memory, lines: data, stored, changed })
    }

    /// Reads all stored lines of data from the recovered memory, and compares each with its content in the memory that
    /// was recovered `without` the attacker. A pad that two texts share is a leak if only the attacker caused it.
    pub fn judge(&self, recovered: &Recovered, without: &Recovered, claim: Option<End>) -> TamperOutcome {
        let leaked_before = without.has_used_a_pad_twice();
        let (mut right, mut refused, mut wrong, mut mismatches) = (0, 0, 0, Vec::new());
        for line in &self.lines {
            // A line that is wrong without the attacker has its own mismatch.
            let Some(expected) = without.read(*line) else { continue };
            match read(recovered, *line, &expected) {
                Ok(()) => right += 1,
                Err(None) => refused += 1,
                Err(Some(kind)) => {
                    wrong += 1;
                    if mismatches.len() < LISTED_MAX {
                        mismatches.push(Mismatch::new(1, Some(*line), None, kind));
                    }
                }
            }
        }
        let verdict = match (wrong, refused, recovered.fault) {
            (0, 0, None) => Verdict::Harmless,
            (0, ..) => Verdict::Detected,
            _ => Verdict::Garbled,
        };
        let end = End::from(verdict).leaking(recovered.has_used_a_pad_twice() && !leaked_before);
        TamperOutcome {
            stored: self.stored,
            changed: self.changed.clone(),
            recovery_fault: recovered.fault.map(|fault| fault.to_string()),
            lines_right: right,
            lines_refused: refused,
            lines_wrong: wrong,
            mismatches,
            end,
            claim,
            as_claimed: claim.map_or(end.is_stopped(), |claim| !end.is_worse_than(claim)),
        }
    }
}

/// Reads a line, which had the content `expected` without the attacker.
///
/// # Errors
/// `None` if the chip refuses the line with a report, otherwise the mismatch.
fn read(recovered: &Recovered, line: LineAddr, expected: &Line) -> Result<(), Option<Wrong>> {
    match recovered.answer(line) {
        ReadAnswer { reported: true, .. } => Err(None),
        ReadAnswer { released: None, .. } => Err(Some(Wrong::Refused)),
        ReadAnswer { released: Some(found), .. } => {
            match (0..found.len()).find(|index| found[*index] != expected[*index]) {
                Some(offset) => Err(Some(Wrong::Byte { offset, expected: expected[offset], found: found[offset] })),
                None => Ok(()),
            }
        }
    }
}

/// Number of bits in a slot of this kind, with the spare bits that hold a tag.
fn bits(layout: &Layout, kind: Kind) -> u64 {
    let bytes = match kind {
        Kind::Data if layout.tags_with_data() => layout.shape().length.bytes() + layout.tag_bytes(),
        Kind::Data => layout.shape().length.bytes(),
        _ => LINE_BYTES,
    };
    8 * bytes as u64
}

fn flipped(content: Untrusted, bit: usize) -> Untrusted {
    let (mut line, mut spare) = (content.examine(), content.spare_bits());
    match line.get_mut(bit / 8) {
        Some(byte) => *byte ^= 1 << (bit % 8),
        None => spare ^= 1 << (bit - 8 * LINE_BYTES),
    }
    Untrusted::with(line, spare)
}

fn too_many(lines: u64, stored: u64, design: &str) -> RunError {
    let stored_under = format!("--tamper {lines}: under {design}, memory stored");
    RunError::PowerLoss(match stored {
        0 => format!("{stored_under} no line when power failed: expected a later loss, as in --power-loss 1M"),
        1 => format!("{stored_under} 1 line when power failed: expected --tamper 1"),
        _ => format!(
            "{stored_under} {stored} lines when power failed: expected a number from 1 to {stored}, as in --tamper \
             {stored}"
        ),
    })
}
