//! Functional units and ports, booked by the cycle.
//!
//! Instructions are booked in program order but start out of order: one whose operands come late must not keep the unit
//! from a younger one that is ready now. So a pool of alike units is a calendar: for each cycle, how many are taken. A
//! bit per cycle says "all taken", so the search for the first free cycle passes over 64 full ones in one step.

use super::config::{FunctionalUnit, NodeConfig};
use workload::instruction::Class;

/// Cycles in one word of the calendar.
const WORD: u64 = 64;
/// Words of calendar kept: bookings are exact within 4096 cycles of the latest one. What is older is forgotten, and a
/// request for a forgotten cycle is granted.
const WORDS: u64 = 64;

#[derive(Clone, Debug)]
struct Word {
    number: u64,
    full: u64,
    taken: [u8; WORD as usize],
}

impl Word {
    const fn free(number: u64) -> Word {
        Word { number, full: 0, taken: [0; WORD as usize] }
    }
}

/// A number of alike units.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    calendar: Box<[Word]>,
    count: u8,
    latency: u64,
    /// Cycles for which one start keeps a unit from starting again.
    occupancy: u64,
}

impl Pool {
    pub(super) fn new(unit: &FunctionalUnit) -> Pool {
        Pool {
            calendar: vec![Word::free(0); WORDS as usize].into(),
            count: unit.count,
            latency: unit.latency_cycles,
            occupancy: if unit.pipelined { 1 } else { unit.latency_cycles },
        }
    }

    /// `count` ports that take one access each in every cycle; what follows has a latency of its own.
    pub(super) fn ports(count: u8) -> Pool {
        Pool::new(&FunctionalUnit { count, latency_cycles: 0, pipelined: true })
    }

    /// When work that is ready at `ready` is done.
    #[inline]
    pub(super) fn complete(&mut self, ready: u64) -> u64 {
        self.start(ready) + self.latency
    }

    /// Books the first free start at or after `ready`.
    #[inline]
    pub(super) fn start(&mut self, ready: u64) -> u64 {
        let mut start = self.first_free(ready);
        if self.occupancy == 1 {
            self.take(start);
            return start;
        }
        while let Some(later) = self.obstacle(start) {
            start = self.first_free(later);
        }
        for cycle in start..start + self.occupancy {
            self.take(cycle);
        }
        start
    }

    /// The first cycle after `start` by which work started then would be in the way of a later booking.
    fn obstacle(&mut self, start: u64) -> Option<u64> {
        (start + 1..start + self.occupancy).find(|&cycle| self.first_free(cycle) != cycle)
    }

    #[inline]
    fn first_free(&mut self, from: u64) -> u64 {
        let mut cycle = from;
        loop {
            let Some(word) = self.word(cycle / WORD) else { return cycle };
            let free = !word.full >> (cycle % WORD);
            if free != 0 {
                return cycle + u64::from(free.trailing_zeros());
            }
            cycle = (cycle / WORD + 1) * WORD;
        }
    }

    #[inline]
    fn take(&mut self, cycle: u64) {
        let count = self.count;
        if let Some(word) = self.word(cycle / WORD) {
            let bit = cycle % WORD;
            let taken = &mut word.taken[bit as usize];
            *taken += 1;
            if *taken >= count {
                word.full |= 1 << bit;
            }
        }
    }

    /// The word of that number, or nothing if it is forgotten.
    #[inline]
    fn word(&mut self, number: u64) -> Option<&mut Word> {
        let word = &mut self.calendar[(number % WORDS) as usize];
        if word.number < number {
            *word = Word::free(number);
        }
        (word.number == number).then_some(word)
    }
}

/// All units of one core.
#[derive(Clone, Debug)]
pub(super) struct Units {
    int_alu: Pool,
    int_mul: Pool,
    int_div: Pool,
    fp_add: Pool,
    fp_mul: Pool,
    fp_div: Pool,
    branch: Pool,
    issue: Option<Pool>,
    completion: Option<Pool>,
    serial_latency: u64,
    pub(super) load_ports: Pool,
    pub(super) store_ports: Pool,
}

impl Units {
    pub(super) fn new(config: &NodeConfig) -> Units {
        let units = &config.units;
        Units {
            int_alu: Pool::new(&units.int_alu),
            int_mul: Pool::new(&units.int_mul),
            int_div: Pool::new(&units.int_div),
            fp_add: Pool::new(&units.fp_add),
            fp_mul: Pool::new(&units.fp_mul),
            fp_div: Pool::new(&units.fp_div),
            branch: Pool::new(&units.branch),
            issue: config.issue_width.map(Pool::ports),
            completion: config.complete_width.map(Pool::ports),
            serial_latency: config.serial_latency_cycles,
            load_ports: Pool::ports(config.load_ports),
            store_ports: Pool::ports(config.store_ports),
        }
    }

    /// When an instruction that is ready at `ready` starts, whatever its class.
    #[inline]
    pub(super) fn issue(&mut self, ready: u64) -> u64 {
        self.issue.as_mut().map_or(ready, |issue| issue.start(ready))
    }

    /// When an instruction that is done at `done` completes, whatever its class.
    #[inline]
    pub(super) fn completion(&mut self, done: u64) -> u64 {
        self.completion.as_mut().map_or(done, |completion| completion.start(done))
    }

    /// When work of this class whose operands are there at `ready` is done.
    #[inline]
    pub(super) fn complete(&mut self, class: Class, ready: u64) -> u64 {
        let pool = match class {
            Class::Nop => return ready + 1,
            Class::Serial => return ready + self.serial_latency,
            Class::IntAlu => &mut self.int_alu,
            Class::IntMul => &mut self.int_mul,
            Class::IntDiv => &mut self.int_div,
            Class::FpAdd => &mut self.fp_add,
            Class::FpMul => &mut self.fp_mul,
            Class::FpDiv => &mut self.fp_div,
            Class::Branch => &mut self.branch,
        };
        pool.complete(ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(count: u8, latency_cycles: u64, pipelined: bool) -> Pool {
        Pool::new(&FunctionalUnit { count, latency_cycles, pipelined })
    }

    #[test]
    fn a_late_booking_leaves_earlier_cycles_free() {
        let mut pool = pool(1, 1, true);
        assert_eq!(pool.start(1000), 1000);
        assert_eq!(pool.start(10), 10);
        assert_eq!(pool.start(10), 11);
    }

    #[test]
    fn the_search_passes_over_full_words() {
        let mut pool = pool(2, 1, true);
        for n in 0..1000 {
            assert_eq!(pool.start(5), 5 + n / 2);
        }
    }

    #[test]
    fn an_unpipelined_unit_is_taken_until_it_is_done() {
        let mut pool = pool(1, 4, false);
        assert_eq!(pool.start(0), 0);
        assert_eq!(pool.start(1), 4);
        assert_eq!(pool.start(20), 20);
        assert_eq!(pool.start(17), 24, "four cycles do not fit between 17 and 20");
        assert_eq!(pool.start(9), 9);
    }
}
