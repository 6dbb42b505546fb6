//! Miss-status holding registers: how many lines may be under way into a cache at once.

use super::UNKNOWN;

/// In place of a line's key, of a register that waits for none.
const NO_LINE: u64 = u64::MAX;

/// The registers of one cache. Each is taken until a known cycle, or until its line arrives.
#[derive(Clone, Debug)]
pub(super) struct Mshrs {
    free_from: Box<[u64]>,
    lines: Box<[u64]>,
    outstanding: usize,
}

/// A register that may be taken from `start` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vacancy {
    register: usize,
    pub(super) start: u64,
}

impl Mshrs {
    pub(super) fn new(count: usize) -> Mshrs {
        Mshrs { free_from: vec![0; count].into(), lines: vec![NO_LINE; count].into(), outstanding: 0 }
    }

    /// The register to take at `cycle` or as soon after it as is known, or nothing if all wait for their lines.
    pub(super) fn vacancy(&self, cycle: u64) -> Option<Vacancy> {
        let mut register = 0;
        for (other, &free) in self.free_from.iter().enumerate() {
            if free <= cycle {
                return Some(Vacancy { register: other, start: cycle });
            }
            if free < self.free_from[register] {
                register = other;
            }
        }
        let start = self.free_from[register];
        (start != UNKNOWN).then_some(Vacancy { register, start })
    }

    /// A register that is free at `cycle`, if another one is free as well: prefetches leave one for what is asked for.
    pub(super) fn spare(&self, cycle: u64) -> Option<Vacancy> {
        let mut free = self.free_from.iter().enumerate().filter(|(_, free)| **free <= cycle);
        let register = free.next()?.0;
        free.next().map(|_| Vacancy { register, start: cycle })
    }

    /// Takes a register until `end`.
    pub(super) fn take(&mut self, vacancy: Vacancy, end: u64) {
        self.free_from[vacancy.register] = end;
    }

    /// Takes a register until the line of that key arrives; tells its number.
    pub(super) fn take_for(&mut self, vacancy: Vacancy, key: u64) -> usize {
        self.free_from[vacancy.register] = UNKNOWN;
        self.lines[vacancy.register] = key;
        self.outstanding += 1;
        vacancy.register
    }

    /// The register that waits for the line of that key.
    pub(super) fn find(&self, key: u64) -> Option<usize> {
        if self.outstanding == 0 {
            return None;
        }
        self.lines.iter().position(|&held| held == key)
    }

    /// Frees the register of the line of that key, which arrived at `cycle`; tells its number.
    pub(super) fn arrived(&mut self, key: u64, cycle: u64) -> Option<usize> {
        let register = self.find(key)?;
        self.lines[register] = NO_LINE;
        self.free_from[register] = cycle;
        self.outstanding -= 1;
        Some(register)
    }

    /// How many wait for their lines.
    pub(super) fn outstanding(&self) -> usize {
        self.outstanding
    }
}
