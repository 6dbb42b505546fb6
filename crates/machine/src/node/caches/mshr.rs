//! Miss-status holding registers, which limit the number of concurrent misses of a cache.
//!
//! A line from the next level occupies a register for a known time. A line from beyond the next level occupies a
//! register until the line arrives. Accesses are scheduled in program order but take place out of order: a store that
//! is written late must not block a register for a load at an earlier cycle. So a calendar contains the number of
//! registers that are busy for known times in each cycle.
//!
//! While registers wait for lines, the model books at most two successive accesses in advance on the other registers.
//! Later accesses stall: a line may arrive and free its register earlier, and its arrival time is not known yet.

/// Stored as the key of a register that waits for no line.
const NO_LINE: u64 = u64::MAX;
/// Number of hash buckets of lines, indexed by the low bits of the key.
const SHARES: u64 = 64;
/// Number of cycles that one word of the calendar covers.
const WORD: u64 = 64;
/// Number of calendar words; older words are overwritten.
const WORDS: u64 = 64;

/// The registers of one cache.
#[derive(Clone, Debug)]
pub(in crate::node) struct Mshrs {
    /// Key of the line that each register waits for, and the cycle since when it has waited.
    lines: Box<[(u64, u64)]>,
    shares: Box<[Share; SHARES as usize]>,
    outstanding: usize,
    /// Latest cycle at which a waiting register began to wait. From this cycle on, all waiting registers are busy.
    since: u64,
    calendar: Box<[BusyCounts; WORDS as usize]>,
    /// Latest cycle at which a known busy time ends.
    latest: u64,
    /// The latest arrival of a line.
    arrival: u64,
    /// The least number of cycles for which an access occupies a register.
    shortest: u64,
}

/// Hash bucket of the registers that wait for lines with equal low key bits. Up to 64 consecutive lines are in
/// different buckets, so their registers are found without a search.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    count: usize,
    /// Sum of the indices of the registers. If the bucket contains one register, the sum is its index.
    sum: usize,
}

/// One word of the calendar: the number of busy registers in each of its cycles.
#[derive(Clone, Debug)]
struct BusyCounts {
    number: u64,
    /// Number of registers that are busy in all cycles of the word. This number saves updates of `taken` for lines that
    /// are outstanding for many words.
    throughout: u16,
    /// Number of additional busy registers in each cycle.
    taken: [u16; WORD as usize],
}

impl BusyCounts {
    const fn free(number: u64) -> BusyCounts {
        BusyCounts { number, throughout: 0, taken: [0; WORD as usize] }
    }

    /// Adds one busy register in the cycles of this word from `first` to before `last`.
    #[inline]
    fn take(&mut self, first: u64, last: u64) {
        if last - first == WORD {
            self.throughout += 1;
        } else {
            self.taken[first as usize..last as usize].iter_mut().for_each(|taken| *taken += 1);
        }
    }
}

/// A register that is free at or after `start`.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct Vacancy {
    pub(in crate::node) start: u64,
}

impl Mshrs {
    /// Creates `count` registers; each use occupies a register for at least `shortest` cycles.
    pub(in crate::node) fn new(count: usize, shortest: u64) -> Mshrs {
        Mshrs {
            lines: vec![(NO_LINE, 0); count].into(),
            shares: Box::new([Share::default(); SHARES as usize]),
            outstanding: 0,
            since: 0,
            calendar: Box::new([const { BusyCounts::free(0) }; WORDS as usize]),
            latest: 0,
            arrival: 0,
            shortest,
        }
    }

    /// Returns the earliest known vacancy at or after `cycle`. Returns `None` if the vacancy depends on the arrival of
    /// an outstanding line.
    #[inline]
    pub(in crate::node) fn vacancy(&self, cycle: u64) -> Option<Vacancy> {
        let all = self.lines.len();
        if self.outstanding == all {
            return None;
        }
        let mut start = cycle;
        // Searches backwards: the access needs a register throughout the stretch, so it must start after the last cycle
        // in which all are busy.
        while let Some(full) = (start..self.latest.min(start + self.shortest)).rfind(|&at| self.takes(at, all)) {
            start = full + 1;
        }
        let foreseen = cycle.max(self.arrival) + 2 * self.shortest;
        (self.outstanding == 0 || start <= foreseen).then_some(Vacancy { start })
    }

    /// Returns a vacancy at `cycle` if a second register is free as well. Prefetches must leave one register for demand
    /// accesses.
    pub(in crate::node) fn spare(&self, cycle: u64) -> Option<Vacancy> {
        let all = self.lines.len();
        let mut taken_for = cycle..self.latest.min(cycle + self.shortest);
        let another = self.outstanding + 1 < all && !taken_for.any(|at| self.takes(at, all - 1));
        another.then_some(Vacancy { start: cycle })
    }

    /// Occupies a register until `end`.
    pub(in crate::node) fn take(&mut self, vacancy: Vacancy, end: u64) {
        self.latest = self.latest.max(end);
        let mut cycle = vacancy.start.max(end.saturating_sub(WORD * WORDS));
        while cycle < end {
            let (number, first) = (cycle / WORD, cycle % WORD);
            let last = WORD.min(end - number * WORD);
            let word = &mut self.calendar[(number % WORDS) as usize];
            if word.number < number {
                *word = BusyCounts::free(number);
            }
            if word.number == number {
                word.take(first, last);
            }
            cycle = (number + 1) * WORD;
        }
    }

    /// Occupies a register until the line with this key arrives; returns its index.
    pub(in crate::node) fn take_for(&mut self, vacancy: Vacancy, key: u64) -> usize {
        let Some(register) = self.first(NO_LINE) else { unreachable!("there was a vacancy") };
        self.lines[register] = (key, vacancy.start);
        self.since = self.since.max(vacancy.start);
        let share = &mut self.shares[(key % SHARES) as usize];
        (share.count, share.sum) = (share.count + 1, share.sum + register);
        self.outstanding += 1;
        register
    }

    /// Returns the register that waits for the line with this key.
    #[inline]
    pub(in crate::node) fn find(&self, key: u64) -> Option<usize> {
        match self.shares[(key % SHARES) as usize] {
            Share { count: 0, .. } => None,
            Share { count: 1, sum } => (self.lines[sum].0 == key).then_some(sum),
            _ => self.first(key),
        }
    }

    /// Frees the register of the line with this key, which arrived at `cycle`; returns its index.
    pub(in crate::node) fn arrived(&mut self, key: u64, cycle: u64) -> Option<usize> {
        let register = self.find(key)?;
        let (_, start) = std::mem::replace(&mut self.lines[register], (NO_LINE, 0));
        let share = &mut self.shares[(key % SHARES) as usize];
        (share.count, share.sum) = (share.count - 1, share.sum - register);
        self.outstanding -= 1;
        self.arrival = self.arrival.max(cycle);
        self.take(Vacancy { start }, cycle);
        Some(register)
    }

    /// Returns the number of registers that wait for their lines.
    pub(in crate::node) fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Returns true if at least `registers` registers are known to be busy in a cycle.
    #[inline]
    fn takes(&self, cycle: u64, registers: usize) -> bool {
        // The first test uses an upper bound of the count. It mostly fails, so the exact count is rarely needed.
        self.known(cycle) + self.outstanding >= registers && self.taken(cycle) >= registers
    }

    /// Returns the number of registers that are known to be busy in a cycle.
    fn taken(&self, cycle: u64) -> usize {
        let waits = |(line, since): &&(u64, u64)| *line != NO_LINE && *since <= cycle;
        let waiting = if self.since <= cycle { self.outstanding } else { self.lines.iter().filter(waits).count() };
        self.known(cycle) + waiting
    }

    /// Returns the number of registers that are busy in a cycle for known times.
    #[inline]
    fn known(&self, cycle: u64) -> usize {
        let word = &self.calendar[(cycle / WORD % WORDS) as usize];
        if word.number == cycle / WORD { (word.throughout + word.taken[(cycle % WORD) as usize]).into() } else { 0 }
    }

    /// Returns the first register with this key.
    fn first(&self, key: u64) -> Option<usize> {
        self.lines.iter().position(|(held, _)| *held == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(registers: &Mshrs, cycle: u64) -> Option<u64> {
        registers.vacancy(cycle).map(|vacancy| vacancy.start)
    }

    #[test]
    fn an_mshr_booked_for_later_is_free_before_its_booking() {
        let mut registers = Mshrs::new(1, 10);
        registers.take(Vacancy { start: 100 }, 110);
        assert_eq!([90, 91, 109, 110].map(|cycle| start(&registers, cycle)), [90, 110, 110, 110].map(Some));
    }

    #[test]
    fn no_more_mshrs_are_occupied_at_once_than_exist() {
        let mut registers = Mshrs::new(2, 10);
        registers.take(Vacancy { start: 50 }, 70);
        assert_eq!(start(&registers, 60), Some(60));
        registers.take(Vacancy { start: 60 }, 65);
        assert_eq!(start(&registers, 60), Some(65));
        assert!(registers.spare(60).is_none() && registers.spare(70).is_some());
    }

    #[test]
    fn an_mshr_occupied_for_long_is_unavailable_in_each_of_these_cycles() {
        let mut registers = Mshrs::new(1, 10);
        registers.take(Vacancy { start: 10 }, 300);
        assert_eq!(
            [0, 60, 64, 100, 127, 128, 299, 300].map(|cycle| start(&registers, cycle)),
            [0, 300, 300, 300, 300, 300, 300, 300].map(Some)
        );
    }

    #[test]
    fn a_prefetch_does_not_get_the_last_free_mshr() {
        let mut registers = Mshrs::new(2, 10);
        registers.take(Vacancy { start: 50 }, 200);
        assert_eq!(
            [30, 45, 100, 199, 200].map(|cycle| registers.spare(cycle).is_some()),
            [true, false, false, false, true]
        );
    }

    #[test]
    fn mshrs_are_booked_only_a_bounded_time_in_advance_while_a_line_is_awaited() {
        let mut registers = Mshrs::new(2, 10);
        registers.take_for(Vacancy { start: 0 }, 7);
        for expected in [0, 10, 20] {
            assert_eq!(start(&registers, 0), Some(expected));
            registers.take(Vacancy { start: expected }, expected + 10);
        }
        assert_eq!(start(&registers, 0), None);
        registers.arrived(7, 12);
        assert_eq!(start(&registers, 0), Some(12));
    }

    #[test]
    fn mshrs_of_lines_with_equal_low_address_bits_are_distinct() {
        let mut registers = Mshrs::new(4, 10);
        let keys = [7, 7 + SHARES, 8, 7 + 3 * SHARES];
        assert_eq!(keys.map(|key| registers.take_for(Vacancy { start: 0 }, key)), [0, 1, 2, 3]);
        assert_eq!(keys.map(|key| registers.find(key)), [0, 1, 2, 3].map(Some));
        assert_eq!(registers.arrived(keys[0], 20), Some(0));
        assert_eq!(keys.map(|key| registers.find(key)), [None, Some(1), Some(2), Some(3)]);
        assert_eq!(registers.arrived(keys[3], 20), Some(3));
        assert_eq!([7, keys[1], keys[3]].map(|key| registers.find(key)), [None, Some(1), None]);
    }

    #[test]
    fn an_mshr_that_awaits_its_line_is_free_at_the_arrival() {
        let mut registers = Mshrs::new(1, 10);
        let vacancy = registers.vacancy(5).unwrap();
        registers.take_for(vacancy, 7);
        assert_eq!((start(&registers, 500), registers.outstanding()), (None, 1));
        assert_eq!(registers.arrived(7, 90), Some(0));
        assert_eq!([20, 90].map(|cycle| start(&registers, cycle)), [90, 90].map(Some));
    }
}
