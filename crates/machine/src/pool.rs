//! Pools of identical units, booked by the cycle.
//!
//! Instructions are booked in program order but start out of order: an instruction with late operands must not block
//! the unit for a younger instruction that is ready now. So a pool of identical units is a calendar with the number of
//! busy units in each cycle. One bit per cycle marks a full cycle, so the search for the first free cycle skips 64 full
//! cycles in one step.

/// Cycles in one word of the calendar.
const WORD: u64 = 64;
/// Number of calendar words: bookings are exact within 4096 cycles of the latest booking. Older words are overwritten,
/// and a request for a cycle in an overwritten word is granted.
const WORDS: u64 = 64;

#[derive(Clone, Debug)]
struct CalendarWord {
    number: u64,
    full: u64,
    taken: [u8; WORD as usize],
}

impl CalendarWord {
    const fn free(number: u64) -> CalendarWord {
        CalendarWord { number, full: 0, taken: [0; WORD as usize] }
    }

    /// Returns the first cycle of this word at or after `from` that is not full; `None` if all these cycles are full.
    /// `from` must be in this word.
    #[inline]
    fn first_free(&self, from: u64) -> Option<u64> {
        let free = !self.full >> (from % WORD);
        (free != 0).then(|| from + u64::from(free.trailing_zeros()))
    }

    /// Takes one of `count` units in a cycle of this word.
    #[inline]
    fn take(&mut self, cycle: u64, count: u8) {
        let bit = cycle % WORD;
        let taken = &mut self.taken[bit as usize];
        *taken = taken.saturating_add(1);
        if *taken >= count {
            self.full |= 1 << bit;
        }
    }
}

/// A pool of identical units.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    calendar: Box<[CalendarWord; WORDS as usize]>,
    count: u8,
    latency: u64,
    /// Cycles after a start until the unit can start again.
    occupancy: u64,
}

impl Pool {
    /// Creates `count` units that take `latency` cycles for each operation. Pipelined units can start another operation
    /// in the next cycle.
    pub(crate) fn new(count: u8, latency: u64, pipelined: bool) -> Pool {
        let occupancy = if pipelined { 1 } else { latency };
        Pool { calendar: Box::new([const { CalendarWord::free(0) }; WORDS as usize]), count, latency, occupancy }
    }

    /// Creates `count` ports that each take one access in every cycle; later stages have separate latencies.
    pub(crate) fn ports(count: u8) -> Pool {
        Pool::new(count, 0, true)
    }

    /// Returns the number of units.
    pub(crate) fn count(&self) -> usize {
        self.count.into()
    }

    /// Returns the cycle at which work that is ready at `ready` is done.
    #[inline]
    pub(crate) fn complete(&mut self, ready: u64) -> u64 {
        self.start(ready) + self.latency
    }

    /// Books the first free start at or after `ready`, and returns it.
    #[inline]
    pub(crate) fn start(&mut self, ready: u64) -> u64 {
        // The common case: an operation occupies a unit for one cycle, and the word of `ready` has a free cycle.
        let count = self.count;
        if self.occupancy == 1
            && let Some(word) = self.word(ready / WORD)
            && let Some(start) = word.first_free(ready)
        {
            word.take(start, count);
            return start;
        }
        self.start_anywhere(ready)
    }

    #[inline(never)]
    fn start_anywhere(&mut self, ready: u64) -> u64 {
        let start = self.free_from(ready);
        self.book(start);
        start
    }

    /// Returns the first cycle at or after `ready` in which work could start.
    #[inline]
    pub(crate) fn free_from(&mut self, ready: u64) -> u64 {
        let mut start = self.first_free(ready);
        if self.occupancy > 1 {
            while let Some(later) = self.first_full(start + 1, start + self.occupancy) {
                start = self.first_free(later);
            }
        }
        start
    }

    /// Books a start in a cycle that is free.
    #[inline]
    pub(crate) fn book(&mut self, start: u64) {
        for cycle in start..start + self.occupancy {
            self.take(cycle);
        }
    }

    /// Extends the booking of work that was started in `start`, as if it had been started in `later`.
    pub(crate) fn hold(&mut self, start: u64, later: u64) {
        for cycle in start + self.occupancy..later + self.occupancy {
            self.take(cycle);
        }
    }

    /// Returns the first cycle from `from` to before `until` in which all units are busy.
    #[inline]
    fn first_full(&mut self, from: u64, until: u64) -> Option<u64> {
        let mut cycle = from;
        while cycle < until {
            let full = self.word(cycle / WORD).map_or(0, |word| word.full >> (cycle % WORD));
            if full != 0 {
                return Some(cycle + u64::from(full.trailing_zeros())).filter(|full| *full < until);
            }
            cycle = (cycle / WORD + 1) * WORD;
        }
        None
    }

    #[inline]
    fn first_free(&mut self, from: u64) -> u64 {
        let mut cycle = from;
        loop {
            let Some(word) = self.word(cycle / WORD) else { return cycle };
            if let Some(free) = word.first_free(cycle) {
                return free;
            }
            cycle = (cycle / WORD + 1) * WORD;
        }
    }

    #[inline]
    fn take(&mut self, cycle: u64) {
        let count = self.count;
        if let Some(word) = self.word(cycle / WORD) {
            word.take(cycle, count);
        }
    }

    /// Returns the word with this number, or `None` if it was overwritten.
    #[inline]
    fn word(&mut self, number: u64) -> Option<&mut CalendarWord> {
        let word = &mut self.calendar[(number % WORDS) as usize];
        if word.number < number {
            *word = CalendarWord::free(number);
        }
        (word.number == number).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_functional_unit_booked_for_later_is_free_in_earlier_cycles() {
        let mut pool = Pool::new(1, 1, true);
        assert_eq!(pool.start(1000), 1000);
        assert_eq!(pool.start(10), 10);
        assert_eq!(pool.start(10), 11);
    }

    #[test]
    fn a_pool_of_units_finds_the_next_free_cycle_after_many_full_ones() {
        let mut pool = Pool::new(2, 1, true);
        for n in 0..1000 {
            assert_eq!(pool.start(5), 5 + n / 2);
        }
    }

    #[test]
    fn an_unpipelined_unit_is_busy_for_its_whole_latency() {
        let mut pool = Pool::new(1, 4, false);
        assert_eq!(pool.start(0), 0);
        assert_eq!(pool.start(1), 4);
        assert_eq!(pool.start(20), 20);
        assert_eq!(pool.start(17), 24, "four cycles do not fit between 17 and 20");
        assert_eq!(pool.start(9), 9);
    }

    #[test]
    fn a_delayed_operation_occupies_its_unit_until_it_continues() {
        let mut pool = Pool::new(1, 1, true);
        assert_eq!(pool.start(10), 10);
        pool.hold(10, 14);
        assert_eq!([9, 11, 11].map(|ready| pool.start(ready)), [9, 15, 16]);
    }
}
