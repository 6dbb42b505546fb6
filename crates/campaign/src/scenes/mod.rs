//! Scenes: the attacks in which the victim also acts, during the attack or between two strikes.
//!
//! Each scene is a short function over a [`SceneInput`]. The attacker acts through [`crate::bus`] (bytes at rest) and
//! [`crate::tap`] (writes and addresses in flight), as an attacker with the same access could. The victim uses ordinary
//! reads and writes.

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
use protection::moving::LINES_PER_PAGE_CHUNK;
use protection::planted::PlantedBug;
use std::ops::Range;
use units::LineAddr;
use units::random::Random;

pub use histogram::passes_for_random;
pub use nonce_repeat::change_of_tag;
pub use tags::{TAG_LENGTHS, tags_in_bound};

/// Input of a scene.
pub struct SceneInput<'a> {
    /// The design under attack.
    pub parts: &'a Parts,
    /// True if firmware searches for aliases of addresses before memory is used.
    pub alias_check: bool,
    /// A memory with a past under the design.
    pub victim: Victim,
    /// Random numbers for the attacker's choices.
    pub random: Random,
    /// Seed of the trial.
    pub seed: u64,
    /// A deliberate weakness, if any.
    pub planted: PlantedBug,
}

/// Result of a scene.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// Worst end, over content and leakage.
    pub end: End,
    /// Line that was under attack.
    pub line: LineAddr,
    /// Counts of the scene, by name.
    pub counts: Vec<(String, u64)>,
}

impl Ended {
    fn new(end: impl Into<End>, line: LineAddr) -> Ended {
        Ended { end: end.into(), line, counts: Vec::new() }
    }

    /// Adds a leak of plaintext to the end if `leaks` is set.
    fn leaking(self, leaks: bool) -> Ended {
        Ended { end: self.end.leaking(leaks), ..self }
    }

    fn counting(mut self, what: impl Into<String>, number: u64) -> Ended {
        self.counts.push((what.into(), number));
        self
    }
}

/// Function of a scene; it returns `None` if the design has no structure to attack.
pub type Scene = fn(SceneInput<'_>) -> Option<Ended>;

/// Attacks with their scenes.
type Scenes = &'static [(Attack, Scene)];

/// All scenes, by subject.
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

/// Returns the scene of an attack; `None` if it is a strike at memory at rest.
pub fn scene(attack: Attack) -> Option<Scene> {
    SCENES.iter().copied().flatten().find(|(row, _)| *row == attack).map(|(_, scene)| *scene)
}

/// Returns the index of a moving line's page chunk.
fn chunk_of(line: LineAddr) -> u64 {
    line.0 / LINES_PER_PAGE_CHUNK
}

/// Returns the numbers of all lines of its page chunk, which are also those of its slots.
fn numbers_in_chunk(line: LineAddr) -> Range<u64> {
    let first = chunk_of(line) * LINES_PER_PAGE_CHUNK;
    first..first + LINES_PER_PAGE_CHUNK
}

impl SceneInput<'_> {
    /// Picks one of the lines in use.
    fn any_line(&mut self) -> LineAddr {
        self.random.pick(&self.victim.oracle().lines()).unwrap_or(LineAddr(0))
    }

    /// Creates a blank memory under the same design, with keys drawn from another seed.
    fn blank(&self, seed: u64) -> Victim {
        Victim::checked_blank(self.parts, seed, self.planted)
    }

    /// Writes a line and evicts its metadata from the chip; returns true if neither was reported.
    fn writes_through(&mut self, line: LineAddr) -> bool {
        let content = self.random.line();
        self.victim.write(line, &content).is_none() & self.victim.machine().flush().is_none()
    }

    /// Writes all lines of a page chunk that moves.
    fn fill_chunk(&mut self, line: LineAddr) {
        for line in numbers_in_chunk(line).map(LineAddr) {
            let content = self.random.line();
            self.victim.write(line, &content);
        }
        self.victim.machine().flush();
    }

    /// Returns true if keystream was used twice: the difference of the two texts is then as good as known.
    fn reuses_keystream(&self) -> bool {
        self.victim.memory().keystream_reuse().is_some()
    }

    /// Returns the end for a victim that stops at a report. A leak before the report remains a leak.
    fn reported(&self) -> End {
        End::from(Verdict::Detected).leaking(self.reuses_keystream())
    }

    /// Reads all lines of the victim, `target` first. Returns the worst end, including a reuse of keystream.
    fn worst_read(&self, target: LineAddr, wish: Wish) -> End {
        let oracle = self.victim.oracle();
        let wished = oracle.wished_bytes(target, wish);
        let others = oracle.lines().into_iter().filter(|line| *line != target);
        let judge = |line| oracle.judge(line, &self.victim.read(line).0, wished.filter(|_| line == target));
        let reads = std::iter::once(target).chain(others).map(judge).max();
        End::from(reads.unwrap_or(Verdict::Harmless)).leaking(self.reuses_keystream())
    }
}
