//! What ciphertext shows an attacker that only reads it.
//!
//! A deterministic mode gives equal ciphertext for equal plaintext in the same place. That is enough to follow a secret that
//! changes, and to look up one of few values. How much was learned is counted in bits.
//!
//! It makes a difference where the attacker looks. On the bus everything is seen, the line's tag as well. Software sees
//! what the controller gives it: under SEV-SNP the hypervisor reads ciphertext (CipherLeaks), where ciphertext is hidden
//! it is refused, and a design without owners knows no other software.

use super::{Ended, Scenes, Stage};
use crate::bus::Structure;
use crate::victim::Victim;
use catalogue::{Attack, Verdict};
use protection::ownership::{Asker, Owner, Ownership};
use protection::verbs::Fault;
use std::collections::BTreeMap;
use units::{Line, LineAddr};

/// The attacks of this file.
pub(super) const SCENES: Scenes = &[
    (Attack::BusRepeat, bus_repeat),
    (Attack::BusDictionary, bus_dictionary),
    (Attack::SoftwareRepeat, software_repeat),
    (Attack::SoftwareDictionary, software_dictionary),
];

const LEARNED: &str = "bits learned";
/// Secret decisions in one trial.
const COINS: usize = 8;

/// All that memory shows of a line: its ciphertext and its tag, as far as they are seen.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Sight {
    data: Option<Line>,
    tag: Option<Vec<u8>>,
}

/// How the attacker looks at a line.
type Look = fn(&Victim, LineAddr) -> Sight;

fn bus_repeat(stage: Stage<'_>) -> Option<Ended> {
    Some(repeat(stage, on_the_bus))
}

fn bus_dictionary(stage: Stage<'_>) -> Option<Ended> {
    Some(dictionary(stage, on_the_bus))
}

fn software_repeat(stage: Stage<'_>) -> Option<Ended> {
    by_software(stage, repeat)
}

fn software_dictionary(stage: Stage<'_>) -> Option<Ended> {
    by_software(stage, dictionary)
}

/// The same by the hypervisor, if the design knows one and lets it read at all.
fn by_software(mut stage: Stage<'_>, scene: fn(Stage<'_>, Look) -> Ended) -> Option<Ended> {
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

fn through_the_controller(victim: &Victim, line: LineAddr) -> Sight {
    let (answer, _) = victim.read_as(line, Asker::of(Owner::HYPERVISOR, line));
    Sight { data: answer.released, tag: None }
}

fn on_the_bus(victim: &Victim, line: LineAddr) -> Sight {
    let tag = victim.map().place(Structure::Tag, line);
    victim.attacked(|bus| Sight {
        data: bus.read_place(Structure::Data, line),
        tag: tag.map(|(slot, bytes)| bus.read_cell(slot)[bytes].to_vec()),
    })
}

impl Sight {
    /// Whether either part is as in another sight.
    fn resembles(&self, other: &Sight) -> bool {
        (self.data.is_some() && self.data == other.data) || (self.tag.is_some() && self.tag == other.tag)
    }
}

/// The victim writes a line with what it held at first, or with something else, as secret coins fall.
fn repeat(mut stage: Stage<'_>, look: Look) -> Ended {
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
    // A guess that never says "the same" knows nothing, however the coins fell.
    let learned = if repeats > 0 && right == COINS as u64 { COINS as u64 } else { 0 };
    judged(target, learned)
}

/// One byte of a line that is otherwise known has 256 values. The attacker has each written once.
fn dictionary(mut stage: Stage<'_>, look: Look) -> Ended {
    let target = stage.any_line();
    let known = stage.random.line();
    let position = stage.random.below(known.len() as u64) as usize;
    let with = |byte: u8| {
        let mut line = known;
        line[position] = byte;
        line
    };
    let dictionary: BTreeMap<Sight, u8> =
        (0..=u8::MAX).map(|byte| (write_and_look(&mut stage.victim, target, &with(byte), look), byte)).collect();
    let secret = stage.random.word() as u8;
    let seen = write_and_look(&mut stage.victim, target, &with(secret), look);
    let found: Vec<u8> = dictionary.iter().filter(|(sight, _)| sight.resembles(&seen)).map(|(_, byte)| *byte).collect();
    judged(target, if found == [secret] { u64::from(u8::BITS) } else { 0 })
}

fn write_and_look(victim: &mut Victim, line: LineAddr, content: &Line, look: Look) -> Sight {
    victim.write(line, content);
    victim.flush();
    look(victim, line)
}

fn judged(target: LineAddr, learned: u64) -> Ended {
    let verdict = if learned > 0 { Verdict::Leaked } else { Verdict::Hidden };
    Ended::new(verdict, target).counting(LEARNED, learned)
}
