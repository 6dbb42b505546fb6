//! Named checks for planted bugs, and their possible findings.

use casemate_campaign::bus::{Bus, Structure};
use casemate_campaign::victim::Victim;
use casemate_campaign::{
    AttackOutcome, Finding, Options, ageing, attack, exhaustive_with, honest, overflow, tamper_before_overflow,
};
use catalogue::{Attack, Design, End, Verdict};
use protection::counter::Age;
use protection::planted::PlantedBug;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use units::{LINE_BYTES, Line, LineAddr, ZERO_LINE};

/// A named check of a design.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Check {
    /// Row of a campaign, with this many trials, compared with its claim.
    Row(Attack, u64),
    /// An honest run: false alarms, wrong values, reused pads.
    Honest,
    /// A page with a hot line that overflows three times.
    Overflow,
    /// Two groups written at random from before a renewal on: each change of format, each kind of overflow.
    Ageing,
    /// A bit flipped before a page is re-encrypted.
    TamperBeforeOverflow,
    /// Equal counter lines in different slots must have different tags in their parent.
    EqualNodes,
    /// Equal blocks of a line must look different in memory.
    EqualBlocks,
    /// Every flip of the bits of a structure; counts the unnoticed ones.
    EveryBit(&'static str),
    /// Data and tag of another line at this distance that was written as often.
    SpliceFrom(u64),
    /// A flipped bit of data, and zeros for its tag.
    ZeroTag,
    /// Zeros for a line of data.
    ZeroLine,
    /// The tags of a line's first two chunks are exchanged.
    SwappedTags,
    /// A line's first two chunks are exchanged, with their tags.
    SwappedChunks,
    /// Zeros for a counter line; then its line of data is written.
    ZeroCounters,
    /// A line of zeros, and then one that opens to a known text if the zeros have shown the mask of XTS.
    ChosenCiphertext,
}

/// Finding of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    Nothing,
    /// End of a row that differs from its claim; for rows with levels, the end at each level.
    Ended(End, Vec<End>),
    /// Error of the honest run.
    Dishonest(Finding),
    /// Writes at which pages were re-encrypted, and the write at which a pad was reused.
    Overflowed(Vec<u64>, Option<u64>),
    /// The attacker can see that two nodes, or two blocks, are equal.
    Alike,
    /// Number of bits of a structure with unnoticed flips, and the worst verdict of a flip.
    Unnoticed(u64, Verdict),
}

const HONEST_ACCESSES: u64 = 2_000;
/// Enough for counters to become uniform, to be rebased and to overflow on both sides.
const AGEING_WRITES: u64 = 6_000;
/// Three overflows of a 7-bit counter that was already advanced to one when the page was filled.
pub const OVERFLOW_WRITES: u64 = 127 + 128 + 128;

pub fn run(check: Check, design: &Design, planted: PlantedBug) -> Found {
    let parts = &design.parts;
    match check {
        Check::Row(row, trials) => {
            let outcome = attacked(design, row, &Options { trials, seed: 1, planted });
            if outcome.agrees { Found::Nothing } else { Found::Ended(outcome.worst, outcome.worst_by_level) }
        }
        Check::Honest => match honest(parts, HONEST_ACCESSES, 1, planted).unwrap().finding {
            Some(finding) => Found::Dishonest(finding),
            None => Found::Nothing,
        },
        Check::Overflow => {
            let report = overflow(parts, OVERFLOW_WRITES, 1, planted).unwrap();
            match (report.renewals.as_slice(), report.pad_reuse, report.readable) {
                ([127, 255, 383], None, true) => Found::Nothing,
                _ => Found::Overflowed(report.renewals, report.pad_reuse),
            }
        }
        Check::Ageing => match ageing(parts, Age::BeforeRenewal, AGEING_WRITES, 1, planted).unwrap().finding {
            Some(finding) => Found::Dishonest(finding),
            None => Found::Nothing,
        },
        Check::TamperBeforeOverflow => match tamper_before_overflow(parts, OVERFLOW_WRITES, 1, planted).unwrap() {
            Verdict::Detected => Found::Nothing,
            other => Found::Ended(other.into(), Vec::new()),
        },
        Check::EqualNodes => equal_nodes(design, planted),
        Check::EqualBlocks => equal_blocks(design, planted),
        Check::EveryBit(structure) => every_bit(design, structure, planted),
        Check::SpliceFrom(distance) => tampered(design, planted, |bus, line| {
            for part in [Structure::Data, Structure::Tag] {
                let (slot, bytes) = bus.map().slot_bytes(part, line).unwrap();
                let (from, source) = bus.map().slot_bytes(part, LineAddr(line.0 + distance)).unwrap();
                let content = bus.read(from);
                bus.write_bytes(slot, bytes, &content[source]);
            }
        }),
        Check::ZeroTag => tampered(design, planted, |bus, line| {
            bus.flip_bit_of(Structure::Data, line, 77);
            let (slot, bytes) = bus.map().slot_bytes(Structure::Tag, line).unwrap();
            bus.write_bytes(slot, bytes.clone(), &vec![0; bytes.len()]);
        }),
        Check::ZeroLine => tampered(design, planted, |bus, line| {
            let (slot, bytes) = bus.map().slot_bytes(Structure::Data, line).unwrap();
            bus.write_bytes(slot, bytes.clone(), &vec![0; bytes.len()]);
        }),
        Check::SwappedTags => tampered(design, planted, |bus, line| swap_chunks(bus, Structure::Tag, line)),
        Check::SwappedChunks => tampered(design, planted, |bus, line| {
            swap_chunks(bus, Structure::Data, line);
            swap_chunks(bus, Structure::Tag, line);
        }),
        Check::ZeroCounters => zero_counters(design, planted),
        Check::ChosenCiphertext => chosen_ciphertext(design, planted),
    }
}

/// Outcome of an attack.
pub fn attacked(design: &Design, row: Attack, options: &Options) -> AttackOutcome {
    static OUTCOMES: Shared<AttackOutcome> = Shared::new();
    OUTCOMES.get(format!("{row:?} {options:?} {design:?}"), || attack(design, row, options))
}

/// Results by the text of their inputs. The tests of this process share one run of equal inputs.
struct Shared<T>(Mutex<BTreeMap<String, Arc<OnceLock<T>>>>);

impl<T: Clone> Shared<T> {
    const fn new() -> Shared<T> {
        Shared(Mutex::new(BTreeMap::new()))
    }

    fn get(&self, inputs: String, run: impl FnOnce() -> T) -> T {
        let result = self.0.lock().unwrap().entry(inputs).or_default().clone();
        result.get_or_init(run).clone()
    }
}

/// Lines of a small memory that were written once, and so have equal counters.
const WRITTEN: [LineAddr; 4] = [LineAddr(3), LineAddr(3 + 1), LineAddr(3 + 8), LineAddr(3 + 64)];

fn written_once(design: &Design, planted: PlantedBug) -> Victim {
    let mut victim = Victim::blank(&design.parts, 1, planted).unwrap();
    for line in WRITTEN {
        victim.write(line, &[line.0 as u8; 64]);
    }
    victim.machine().flush();
    victim
}

/// Returns the verdict on the first line after tampering.
fn tampered(design: &Design, planted: PlantedBug, tamper: impl FnOnce(&mut Bus<'_>, LineAddr)) -> Found {
    let victim = written_once(design, planted);
    victim.attacked(|bus| tamper(bus, WRITTEN[0]));
    match victim.oracle().judge(WRITTEN[0], &victim.read(WRITTEN[0]).0, None) {
        Verdict::Detected => Found::Nothing,
        other => Found::Ended(other.into(), Vec::new()),
    }
}

/// Exchanges the parts of the first two of eight chunks in a line or in its entry of tags. In memory a tag is stored from its
/// lowest byte up, with the first chunk's tag at its top.
fn swap_chunks(bus: &mut Bus<'_>, structure: Structure, line: LineAddr) {
    let (slot, bytes) = bus.map().slot_bytes(structure, line).unwrap();
    let width = bytes.len() / 8;
    let mut content = bus.read(slot)[bytes.clone()].to_vec();
    if structure == Structure::Tag {
        content.reverse();
    }
    let (first, rest) = content.split_at_mut(width);
    first.swap_with_slice(&mut rest[..width]);
    if structure == Structure::Tag {
        content.reverse();
    }
    bus.write_bytes(slot, bytes, &content);
}

/// Checks a line with four equal blocks.
fn equal_blocks(design: &Design, planted: PlantedBug) -> Found {
    let victim = written_once(design, planted);
    let stored = victim.attacked(|bus| bus.read_structure(Structure::Data, WRITTEN[0])).unwrap();
    if stored[..16] == stored[16..32] { Found::Alike } else { Found::Nothing }
}

/// A write under counters that are zero again must be refused: it would use the pad of the first write.
fn zero_counters(design: &Design, planted: PlantedBug) -> Found {
    let mut victim = written_once(design, planted);
    victim.attacked(|bus| {
        let (slot, _) = bus.map().slot_bytes(Structure::Counter, WRITTEN[0]).unwrap();
        bus.write(slot, &[0; 64]);
    });
    let refused = victim.write(WRITTEN[0], &[200; 64]).is_some();
    match (refused, victim.memory().keystream_reuse()) {
        (true, None) => Found::Nothing,
        (_, reuse) => Found::Overflowed(Vec::new(), reuse.map(|_| 1)),
    }
}

/// With one key for data and tweaks, a line of zeros opens to its address, which is known, and its mask (Rogaway, ASIACRYPT
/// 2004, section 6). An attacker with the mask can choose lines that open to a known text.
fn chosen_ciphertext(design: &Design, planted: PlantedBug) -> Found {
    let (target, victim) = (WRITTEN[0], written_once(design, planted));
    let read_as = |content: Line| {
        victim.attacked(|bus| bus.write(victim.map().data_slot(target), &content));
        victim.read(target).0
    };
    let block = |line: &Line| line.first_chunk().map_or(0, |block| u128::from_le_bytes(*block));
    let opened = read_as(ZERO_LINE).released.unwrap_or(ZERO_LINE);
    let slot_bytes = u128::from(target.0);
    let mut masks = [block(&opened) ^ slot_bytes; LINE_BYTES / 16];
    for index in 1..masks.len() {
        let before = masks[index - 1];
        masks[index] = before << 1 ^ if before >> 127 == 1 { 0x87 } else { 0 };
    }
    let line =
        |block: u128| -> Line { std::array::from_fn(|byte| (block ^ masks[byte / 16]).to_le_bytes()[byte % 16]) };
    match victim.oracle().judge(target, &read_as(line(masks[0])), Some(line(slot_bytes))) {
        Verdict::Forged => Found::Ended(Verdict::Forged.into(), Vec::new()),
        _ => Found::Nothing,
    }
}

/// Counts the bits of a structure that affect no access, beyond those that serve no line in use.
fn every_bit(design: &Design, structure: &str, planted: PlantedBug) -> Found {
    let (found, control) = (harmless(design, structure, planted), harmless_without_a_bug(design, structure));
    if found == control { Found::Nothing } else { Found::Unnoticed(found.0 - control.0, found.1) }
}

/// Returns the number of bits of a structure that affect no access, and the worst verdict of a flip.
fn harmless(design: &Design, structure: &str, planted: PlantedBug) -> (u64, Verdict) {
    let report = exhaustive_with(design, planted, &mut |_, _| ());
    let row = report.rows.into_iter().find(|row| row.structure == structure).unwrap();
    (row.histogram.get(&Verdict::Harmless).copied().unwrap_or(0), row.worst().unwrap())
}

/// Like [`harmless`], without a bug.
fn harmless_without_a_bug(design: &Design, structure: &str) -> (u64, Verdict) {
    static COUNTED: Shared<(u64, Verdict)> = Shared::new();
    let key = format!("{structure} {:?}", design.parts);
    COUNTED.get(key, || harmless(design, structure, PlantedBug::NONE))
}

/// Two pages with one write each, to the same line of each, have equal neighbouring counter lines.
fn equal_nodes(design: &Design, planted: PlantedBug) -> Found {
    let mut victim = Victim::blank(&design.parts, 1, planted).unwrap();
    let lines = [LineAddr(3), LineAddr(64 + 3)];
    for line in lines {
        victim.write(line, &[line.0 as u8; 64]);
    }
    victim.machine().flush();
    let [first, second] = lines.map(|line| victim.attacked(|bus| bus.read_structure(Structure::Counter, line)));
    assert!(first.is_some() && first == second, "the scene is set: equal counters");
    let node = victim.attacked(|bus| bus.read_structure(Structure::Node(0), lines[0])).unwrap();
    let entry = |child: usize| &node[8 * child..8 * child + 8];
    if entry(0) == entry(1) { Found::Alike } else { Found::Nothing }
}
