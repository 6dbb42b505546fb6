//! Leakage by ciphertext to an attacker that only reads it.
//!
//! A deterministic mode gives equal ciphertext for equal plaintext at the same address. That is enough to follow a secret
//! that changes, and to look up one of few values. The scenes count the leak in bits.
//!
//! The observation point makes a difference. On the bus the attacker sees all bytes, including the line's tag. Software sees
//! only the output of the controller. Under SEV-SNP the hypervisor reads ciphertext (CipherLeaks); where ciphertext is
//! hidden the controller refuses it, and a design without owners has no other software.

use super::{Ended, SceneInput, Scenes};
use crate::bus::Structure;
use crate::victim::Victim;
use catalogue::{Attack, Verdict};
use protection::ownership::{Asker, Owner, Ownership};
use protection::verbs::Fault;
use std::collections::BTreeMap;
use units::{Line, LineAddr};

/// Scenes of this file.
pub(super) const SCENES: Scenes = &[
    (Attack::BusRepeat, bus_repeat),
    (Attack::BusDictionary, bus_dictionary),
    (Attack::SoftwareRepeat, software_repeat),
    (Attack::SoftwareDictionary, software_dictionary),
];

const LEARNED: &str = "bits learned";
/// Number of secret decisions in one trial.
const COINS: usize = 8;

/// Visible state of a line in memory: its ciphertext and its tag, if they are visible.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct VisibleLine {
    data: Option<Line>,
    tag: Option<Vec<u8>>,
}

/// Function by which the attacker observes a line.
type Look = fn(&Victim, LineAddr) -> VisibleLine;

fn bus_repeat(stage: SceneInput<'_>) -> Option<Ended> {
    Some(repeat(stage, on_the_bus))
}

fn bus_dictionary(stage: SceneInput<'_>) -> Option<Ended> {
    Some(dictionary(stage, on_the_bus))
}

fn software_repeat(stage: SceneInput<'_>) -> Option<Ended> {
    by_software(stage, repeat)
}

fn software_dictionary(stage: SceneInput<'_>) -> Option<Ended> {
    by_software(stage, dictionary)
}

/// Runs the scene as the hypervisor, if the design has one and allows it to read.
fn by_software(mut stage: SceneInput<'_>, scene: fn(SceneInput<'_>, Look) -> Ended) -> Option<Ended> {
    if stage.parts.ownership == Ownership::None {
        return None;
    }
    let line = stage.any_line();
    let (_, fault) = stage.victim.read_as(line, Asker::of(Owner::HYPERVISOR, line));
    if matches!(fault, Some(Fault::Refused(_))) {
        return Some(Ended::new(Verdict::Refused, line));
    }
    Some(scene(stage, through_the_controller))
}

fn through_the_controller(victim: &Victim, line: LineAddr) -> VisibleLine {
    let (answer, _) = victim.read_as(line, Asker::of(Owner::HYPERVISOR, line));
    VisibleLine { data: answer.released, tag: None }
}

fn on_the_bus(victim: &Victim, line: LineAddr) -> VisibleLine {
    let tag = victim.map().slot_bytes(Structure::Tag, line);
    victim.attacked(|bus| VisibleLine {
        data: bus.read_structure(Structure::Data, line),
        tag: tag.map(|(slot, bytes)| bus.read_cell(slot)[bytes].to_vec()),
    })
}

impl VisibleLine {
    /// Returns true if either part equals that of another sight.
    fn resembles(&self, other: &VisibleLine) -> bool {
        (self.data.is_some() && self.data == other.data) || (self.tag.is_some() && self.tag == other.tag)
    }
}

/// The victim writes a line with its first content, or with another, as secret coins decide.
fn repeat(mut stage: SceneInput<'_>, look: Look) -> Ended {
    let target = stage.any_line();
    let held = stage.random.line();
    let first = write_and_look(&mut stage.victim, target, &held, look);
    let mut right = 0;
    let mut repeats = 0;
    for _ in 0..COINS {
        let other = stage.random.line();
        let same = stage.random.below(2) == 1;
        let seen = write_and_look(&mut stage.victim, target, if same { &held } else { &other }, look);
        let guess = seen.resembles(&first);
        repeats += u64::from(guess);
        right += u64::from(guess == same);
    }
    // A guess that never answers "the same" contains no information, even if all coins match.
    let learned = if repeats > 0 && right == COINS as u64 { COINS as u64 } else { 0 };
    judged(target, learned)
}

/// One byte of an otherwise known line has 256 values. The attacker makes the victim write each once.
fn dictionary(mut stage: SceneInput<'_>, look: Look) -> Ended {
    let target = stage.any_line();
    let known = stage.random.line();
    let position = stage.random.below(known.len() as u64) as usize;
    let with = |byte: u8| {
        let mut line = known;
        line[position] = byte;
        line
    };
    let dictionary: BTreeMap<VisibleLine, u8> =
        (0..=u8::MAX).map(|byte| (write_and_look(&mut stage.victim, target, &with(byte), look), byte)).collect();
    let secret = stage.random.word() as u8;
    let seen = write_and_look(&mut stage.victim, target, &with(secret), look);
    let found: Vec<u8> = dictionary.iter().filter(|(sight, _)| sight.resembles(&seen)).map(|(_, byte)| *byte).collect();
    judged(target, if found == [secret] { u64::from(u8::BITS) } else { 0 })
}

fn write_and_look(victim: &mut Victim, line: LineAddr, content: &Line, look: Look) -> VisibleLine {
    victim.write(line, content);
    victim.machine().flush();
    look(victim, line)
}

fn judged(target: LineAddr, learned: u64) -> Ended {
    let verdict = if learned > 0 { Verdict::Leaked } else { Verdict::Hidden };
    Ended::new(verdict, target).counting(LEARNED, learned)
}
