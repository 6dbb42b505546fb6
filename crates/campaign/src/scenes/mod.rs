//! Scenes: the attacks in which the victim acts too, while it is attacked or between two strokes.
//!
//! Each is a short text over a [`Stage`]. What the attacker does goes through [`crate::bus`] (bytes at rest) and
//! [`crate::tap`] (writes and addresses on their way), as an attacker with the same access could do it; what the victim
//! does is an ordinary read or write.

mod addresses;
mod alias;
mod bitmaps;
mod candidates;
mod cold_boot;
mod contexts;
mod copies;
mod histogram;
mod histories;
mod leaks;
mod nonce_repeat;
mod other_keys;
mod owners;
mod refusal;
mod system;
mod tags;
mod timing;
mod writes;

use crate::oracle::Wish;
use crate::victim::Victim;
use catalogue::{Attack, End, Verdict};
use protection::design::Parts;
use protection::moving::LINES_PER_CHUNK;
use protection::planted::Planted;
use std::ops::Range;
use units::LineAddr;
use units::random::Random;

pub use histogram::passes_for_random;
pub use nonce_repeat::change_of_tag;
pub use tags::{TAG_LENGTHS, tags_in_bound};

/// What a scene is given.
pub struct Stage<'a> {
    /// The design under attack.
    pub parts: &'a Parts,
    /// Whether firmware looks for aliases of addresses before memory is used.
    pub alias_check: bool,
    /// A memory with a past under it.
    pub victim: Victim,
    /// The attacker's choices.
    pub random: Random,
    /// The seed of the trial.
    pub seed: u64,
    /// A deliberate weakness, or none.
    pub planted: Planted,
}

/// How a scene ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The worst that came of it, both of what came out and of what leaked.
    pub end: End,
    /// The line that it was about.
    pub line: LineAddr,
    /// What was counted, by what it is.
    pub counts: Vec<(String, u64)>,
}

impl Ended {
    fn new(end: impl Into<End>, line: LineAddr) -> Ended {
        Ended { end: end.into(), line, counts: Vec::new() }
    }

    /// The same, if `leaks` with something learned of the plaintext as well.
    fn leaking(self, leaks: bool) -> Ended {
        Ended { end: self.end.leaking(leaks), ..self }
    }

    fn counting(mut self, what: impl Into<String>, number: u64) -> Ended {
        self.counts.push((what.into(), number));
        self
    }
}

/// A scene's text; it gives nothing if the design has nothing of the kind to attack.
pub type Scene = fn(Stage<'_>) -> Option<Ended>;

/// Attacks with their scenes.
type Scenes = &'static [(Attack, Scene)];

/// All scenes, by what they are about.
const SCENES: &[Scenes] = &[
    addresses::SCENES,
    alias::SCENES,
    bitmaps::SCENES,
    candidates::SCENES,
    cold_boot::SCENES,
    contexts::SCENES,
    copies::SCENES,
    histogram::SCENES,
    histories::SCENES,
    leaks::SCENES,
    nonce_repeat::SCENES,
    other_keys::SCENES,
    owners::SCENES,
    refusal::SCENES,
    system::SCENES,
    tags::SCENES,
    timing::SCENES,
    writes::SCENES,
];

/// The scene of an attack; nothing if it is a strike at memory at rest.
pub fn scene(attack: Attack) -> Option<Scene> {
    SCENES.iter().copied().flatten().find(|(row, _)| *row == attack).map(|(_, scene)| *scene)
}

/// The chunk of a line that moves.
fn chunk_of(line: LineAddr) -> u64 {
    line.0 / LINES_PER_CHUNK
}

/// The numbers of all lines of its chunk, and of all slots.
fn numbers_in_chunk(line: LineAddr) -> Range<u64> {
    let first = chunk_of(line) * LINES_PER_CHUNK;
    first..first + LINES_PER_CHUNK
}

impl Stage<'_> {
    /// One of the lines in use.
    fn any_line(&mut self) -> LineAddr {
        self.random.pick(&self.victim.oracle().lines()).unwrap_or(LineAddr(0))
    }

    /// A blank memory under the same design, with keys drawn from another seed.
    fn blank(&self, seed: u64) -> Victim {
        Victim::checked_blank(self.parts, seed, self.planted)
    }

    /// Writes a line and lets its metadata leave the chip. Whether all went without a report.
    fn writes_through(&mut self, line: LineAddr) -> bool {
        let content = self.random.line();
        self.victim.write(line, &content).is_none() & self.victim.flush().is_none()
    }

    /// The victim writes all lines of a chunk that moves.
    fn fill_chunk(&mut self, line: LineAddr) {
        for line in numbers_in_chunk(line).map(LineAddr) {
            let content = self.random.line();
            self.victim.write(line, &content);
        }
        self.victim.flush();
    }

    /// Whether keystream has served twice by now: the difference of what it hid is as good as known.
    fn reuses_keystream(&self) -> bool {
        self.victim.keystream_reuse().is_some()
    }

    /// How it ended if the victim got a report and stopped: what has leaked until then has leaked.
    fn reported(&self) -> End {
        End::from(Verdict::Detected).leaking(self.reuses_keystream())
    }

    /// The victim reads all its lines, `target` first: the worst that comes of it, and whether keystream has served twice.
    fn worst_read(&self, target: LineAddr, wish: Wish) -> End {
        let oracle = self.victim.oracle();
        let wished = oracle.wished_bytes(target, wish);
        let others = oracle.lines().into_iter().filter(|line| *line != target);
        let judge = |line| oracle.judge(line, &self.victim.read(line).0, wished.filter(|_| line == target));
        let reads = std::iter::once(target).chain(others).map(judge).max();
        End::from(reads.unwrap_or(Verdict::Harmless)).leaking(self.reuses_keystream())
    }
}
