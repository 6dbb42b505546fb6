//! A second, naive implementation of the rule of morphable counters: see `plain.rs`.

use super::plain::{Cases, Outcome, Rule, put};
use units::Line;

pub enum Format {
    /// Few minors in use, each of `size` bits.
    Zcc { size: u128, major: u128 },
    /// Many minors in use, near the base of their half.
    Mcr { top: u128, bases: [u128; 2] },
}

pub struct Morphable {
    pub format: Format,
    pub minors: [u128; 128],
    pub cases: Cases,
}

/// The greatest size at which `used` minors fit 256 bits; `None` if even 4-bit minors do not.
fn size_for(used: usize) -> Option<u128> {
    [16, 8, 7, 6, 5, 4].into_iter().find(|size| used as u128 * size <= 256)
}

impl Morphable {
    fn write_zcc(&mut self, major: u128, position: usize) -> (&'static str, Outcome) {
        let size_before = size_for(self.minors.iter().filter(|minor| **minor != 0).count());
        self.minors[position] += 1;
        let used = self.minors.iter().filter(|minor| **minor != 0).count();
        let largest = *self.minors.iter().max().unwrap();
        let overflow = (Outcome::Renews(0..128), [0; 128], major + largest);
        let (case, (outcome, minors, major)) = match size_for(used) {
            Some(size) if largest < 1 << size => {
                self.format = Format::Zcc { size, major };
                let case = if size_before == Some(size) { "ZCC: grows" } else { "ZCC: size steps" };
                return (case, Outcome::Grows);
            }
            Some(_) if major + largest >= 1 << 57 => {
                self.minors[position] -= 1;
                return ("exhausted", Outcome::Exhausted);
            }
            Some(_) => {
                self.minors = [0; 128];
                self.format = Format::Zcc { size: 16, major: major + largest };
                let case = if size_before == size_for(used) { "ZCC: overflow" } else { "ZCC: overflow at a step" };
                return (case, Outcome::Renews(0..128));
            }
            None if largest >= 8 => ("ZCC: overflow, then MCR", overflow),
            None => ("ZCC: becomes MCR", (Outcome::Grows, self.minors, major)),
        };
        if major >= 1 << 56 {
            self.minors[position] -= 1;
            return ("exhausted on the way to MCR", Outcome::Exhausted);
        }
        self.minors = minors;
        self.format = Format::Mcr { top: major / 128, bases: [major % 128; 2] };
        (case, outcome)
    }

    fn write_mcr(&mut self, top: u128, mut bases: [u128; 2], position: usize) -> (&'static str, Outcome) {
        self.minors[position] += 1;
        if self.minors[position] < 8 {
            return ("MCR: grows", Outcome::Grows);
        }
        let set = position / 64;
        let positions = set * 64..set * 64 + 64;
        let minors = &mut self.minors[positions.clone()];
        let smallest = *minors.iter().min().unwrap();
        let (case, outcome) = if smallest > 0 {
            bases[set] += smallest;
            minors.iter_mut().for_each(|minor| *minor -= smallest);
            ("MCR: rebase", Outcome::Grows)
        } else {
            bases[set] += 8;
            minors.fill(0);
            ("MCR: set overflow", Outcome::Renews(positions))
        };
        self.format = Format::Mcr { top, bases };
        if bases[set] < 128 {
            return (case, outcome);
        }
        self.minors = [0; 128];
        self.format = Format::Zcc { size: 16, major: (top + 2) * 128 };
        let case = if smallest > 0 { "MCR: base overflow by rebase" } else { "MCR: base overflow by set overflow" };
        (case, Outcome::Renews(0..128))
    }
}

impl Rule for Morphable {
    fn positions(&self) -> usize {
        128
    }

    fn value(&self, position: usize) -> u128 {
        let base = match self.format {
            Format::Zcc { major, .. } => major,
            Format::Mcr { top, bases } => top * 128 + bases[position / 64],
        };
        base + self.minors[position]
    }

    fn write(&mut self, position: usize) -> Outcome {
        let (case, outcome) = match self.format {
            Format::Zcc { major, .. } => self.write_zcc(major, position),
            Format::Mcr { top, bases } => self.write_mcr(top, bases, position),
        };
        *self.cases.entry(case).or_default() += 1;
        outcome
    }

    fn picture(&self, mac: u64) -> Line {
        let mut line = [0; 64];
        put(&mut line, 448, 64, mac.into());
        match self.format {
            Format::Zcc { size, major } => {
                put(&mut line, 0, 1, 0);
                put(&mut line, 1, 6, size);
                put(&mut line, 7, 57, major);
                let mut start = 192;
                for (position, minor) in self.minors.iter().enumerate().filter(|(_, minor)| **minor != 0) {
                    put(&mut line, 64 + position, 1, 1);
                    put(&mut line, start, size as usize, *minor);
                    start += size as usize;
                }
            }
            Format::Mcr { top, bases } => {
                put(&mut line, 0, 1, 1);
                put(&mut line, 1, 49, top);
                put(&mut line, 50, 7, bases[0]);
                put(&mut line, 57, 7, bases[1]);
                for (position, minor) in self.minors.iter().enumerate() {
                    put(&mut line, 64 + position * 3, 3, *minor);
                }
            }
        }
        line
    }

    fn cases(&self) -> &Cases {
        &self.cases
    }
}
