//! What ciphertext tells whoever only reads it.
//!
//! A deterministic mode gives equal ciphertext for equal plaintext in the same place. That is enough to follow a secret that
//! changes, and to look up one of few values. The attacker also looks at the line's tag. How much was learned is counted in
//! bits.

use super::{Ended, Stage};
use crate::bus::Structure;
use crate::victim::Victim;
use std::collections::BTreeMap;
use systems::Verdict;
use units::{Line, LineAddr};

const LEARNED: &str = "bits learned";
/// Secret decisions in one trial.
const COINS: usize = 8;

/// All that memory shows of a line: its ciphertext and its tag.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Sight {
    data: Option<Line>,
    tag: Option<Vec<u8>>,
}

fn look(victim: &Victim, line: LineAddr) -> Sight {
    let tag = victim.map().place(Structure::Tag, line);
    victim.attacked(|bus| Sight {
        data: bus.read_place(Structure::Data, line),
        tag: tag.map(|(slot, bytes)| bus.read_cell(slot)[bytes].to_vec()),
    })
}

impl Sight {
    /// Whether either part is as in another sight.
    fn resembles(&self, other: &Sight) -> bool {
        self.data == other.data || (self.tag.is_some() && self.tag == other.tag)
    }
}

/// The victim writes a line with what it held at first, or with something else, as secret coins fall.
pub fn ciphertext_repeat(mut stage: Stage<'_>) -> Option<Ended> {
    let target = stage.any_line();
    let held = stage.random.line();
    let first = write_and_look(&mut stage.victim, target, &held);
    let mut right = 0;
    let mut repeats = 0;
    for _ in 0..COINS {
        let other = stage.random.line();
        let same = stage.random.below(2) == 1;
        let seen = write_and_look(&mut stage.victim, target, if same { &held } else { &other });
        let guess = seen.resembles(&first);
        repeats += u64::from(guess);
        right += u64::from(guess == same);
    }
    // A guess that never says "the same" knows nothing, however the coins fell.
    let learned = if repeats > 0 && right == COINS as u64 { COINS as u64 } else { 0 };
    Some(judged(target, learned))
}

/// One byte of a line that is otherwise known has 256 values. The attacker has each written once.
pub fn ciphertext_dictionary(mut stage: Stage<'_>) -> Option<Ended> {
    let target = stage.any_line();
    let known = stage.random.line();
    let position = stage.random.below(known.len() as u64) as usize;
    let with = |byte: u8| {
        let mut line = known;
        line[position] = byte;
        line
    };
    let dictionary: BTreeMap<Sight, u8> =
        (0..=u8::MAX).map(|byte| (write_and_look(&mut stage.victim, target, &with(byte)), byte)).collect();
    let secret = stage.random.word() as u8;
    let seen = write_and_look(&mut stage.victim, target, &with(secret));
    let found: Vec<u8> = dictionary.iter().filter(|(sight, _)| sight.resembles(&seen)).map(|(_, byte)| *byte).collect();
    Some(judged(target, if found == [secret] { u64::from(u8::BITS) } else { 0 }))
}

fn write_and_look(victim: &mut Victim, line: LineAddr, content: &Line) -> Sight {
    victim.write(line, content);
    victim.flush();
    look(victim, line)
}

fn judged(target: LineAddr, learned: u64) -> Ended {
    let verdict = if learned > 0 { Verdict::Leaked } else { Verdict::Hidden };
    Ended::new(verdict, target).counting(LEARNED, learned)
}
