//! Streams of writes that reach the corner cases of counters: phases of one pattern each, of many lengths.

use units::random::Random;

#[derive(Clone, Copy)]
enum Pattern {
    /// Any position, at random.
    Uniform,
    /// One position again and again.
    Hot(usize),
    /// Two positions in turn.
    TwoHot(usize, usize),
    /// All positions in turn, so that all counters stay about equal.
    Sweep,
    /// Any of the first N positions: as many as a size of a format holds, or one more.
    Few(usize),
    /// One position most of the time, otherwise any: minors in use that differ greatly.
    Skewed(usize),
    /// All positions but one. The minor of this one stays at zero, which prevents rebasing.
    AllButOne(usize),
}

/// An endless stream of positions.
pub struct Writes {
    random: Random,
    positions: usize,
    pattern: Pattern,
    left: u64,
    turn: usize,
}

impl Writes {
    pub fn new(seed: u64, positions: usize) -> Writes {
        Writes { random: Random::new(seed), positions, pattern: Pattern::Sweep, left: 0, turn: 0 }
    }

    fn any(&mut self) -> usize {
        self.random.below(self.positions as u64) as usize
    }

    fn new_phase(&mut self) {
        const EDGES: [usize; 14] = [1, 15, 16, 17, 31, 32, 33, 36, 37, 42, 43, 51, 64, 65];
        self.pattern = match self.random.below(7) {
            0 => Pattern::Uniform,
            1 => Pattern::Hot(self.any()),
            2 => Pattern::TwoHot(self.any(), self.any()),
            3 => Pattern::Sweep,
            4 => Pattern::Few(self.random.pick(&EDGES).unwrap_or(1).min(self.positions)),
            5 => Pattern::Skewed(self.any()),
            _ => Pattern::AllButOne(self.any()),
        };
        // Lengths of all magnitudes, so that a pattern can begin in the middle of another one.
        let magnitude = self.random.below(12);
        self.left = 1 + self.random.below(1 << magnitude);
    }
}

impl Iterator for Writes {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            self.new_phase();
        }
        self.left -= 1;
        self.turn += 1;
        Some(match self.pattern {
            Pattern::Uniform => self.any(),
            Pattern::Hot(position) => position,
            Pattern::TwoHot(one, other) => [one, other][self.turn % 2],
            Pattern::Sweep => self.turn % self.positions,
            Pattern::Few(few) => self.random.below(few as u64) as usize,
            Pattern::Skewed(hot) if self.random.below(8) > 0 => hot,
            Pattern::Skewed(_) => self.any(),
            Pattern::AllButOne(spared) => match self.turn % self.positions {
                position if position == spared => (spared + 1) % self.positions,
                position => position,
            },
        })
    }
}
