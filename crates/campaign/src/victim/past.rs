//! The past of a victim: its reads and writes before an attack.

use super::{Victim, data_lines, with_tiny_caches};
use protection::counter::Age;
use protection::design::Parts;
use protection::planted::PlantedBug;
use units::random::Random;
use units::{LINES_PER_PAGE, LineAddr};

/// Rounds of writing before the attack. The memory is recorded after each but the last.
const ROUNDS: usize = 3;
/// Distances between pages in use: neighbours below one node, and pages with paths that part at a higher node. `with_past` adds pages
/// in the other half of the memory: only the highest bit of their numbers differs, and their paths part at the root.
const PAGE_DISTANCES: [u64; 3] = [0, 1, 1 << 3];
/// Distances between lines in use of a page: itself, one that shares the tag line, one that does not.
const LINE_DISTANCES: [u64; 3] = [0, 1, 1 << 3];

/// State of a line before the attack.
#[derive(Clone, Copy)]
enum Past {
    /// The line is not in memory yet.
    Untouched,
    /// The line was read, and contains its start-up content.
    Read,
    /// The line was written in every round.
    Written,
}

impl Past {
    /// Draws a past. On a machine that boots, about a quarter of the lines are untouched and a quarter were read.
    fn drawn(boots: bool, random: &mut Random) -> Past {
        match if boots { random.below(4) } else { u64::MAX } {
            0 => Past::Untouched,
            1 => Past::Read,
            _ => Past::Written,
        }
    }
}

impl Victim {
    /// Creates a memory with a past. Odd seeds run with tiny caches, even ones with those of the design; every second pair boots.
    ///
    /// # Errors
    /// The rule that the composition breaks.
    pub fn with_past(parts: &Parts, seed: u64, planted: PlantedBug) -> Result<Victim, String> {
        let parts = if seed % 2 == 1 { with_tiny_caches(parts) } else { parts.clone() };
        let mut random = Random::new(seed);
        let pages = data_lines(&parts) / LINES_PER_PAGE as u64;
        let (page, line) = (random.below(pages), random.below(LINES_PER_PAGE as u64));
        let at = |(page_distance, line_distance): (u64, u64)| {
            LineAddr((page ^ page_distance) * LINES_PER_PAGE as u64 + (line ^ line_distance))
        };
        let page_distances = PAGE_DISTANCES.into_iter().chain([pages / 2]);
        let places = page_distances.flat_map(|page| LINE_DISTANCES.map(|line| (page, line)));
        let lines: Vec<LineAddr> = places.map(at).collect();
        let boots = seed / 2 % 2 == 1;
        let mut victim =
            if boots { Victim::booting(&parts, &lines, seed, planted)? } else { Victim::blank(&parts, seed, planted)? };
        if boots && random.below(2) == 0 {
            victim.machine.age(lines[0], Age::BeforeRenewal);
        }
        let pasts: Vec<Past> = lines.iter().map(|_| Past::drawn(boots, &mut random)).collect();
        let mut recordings = Vec::new();
        for round in 1..=ROUNDS {
            for (line, past) in lines.iter().zip(&pasts) {
                victim.live(*line, *past, &mut random);
            }
            victim.machine.flush();
            if round < ROUNDS {
                recordings.push(victim.attacked(|bus| bus.record()));
            }
        }
        Ok(Victim { recordings: recordings.into(), ..victim })
    }

    /// Carries out one round of a line's past.
    fn live(&mut self, line: LineAddr, past: Past, random: &mut Random) {
        match past {
            Past::Untouched => {}
            Past::Read => {
                self.read(line);
            }
            // Once or twice, so that some lines share a counter value and some do not.
            Past::Written => {
                for _ in 0..1 + random.below(2) {
                    self.write(line, &random.line());
                }
            }
        }
    }
}
