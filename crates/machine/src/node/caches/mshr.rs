//! Miss-status holding registers: how many lines may be under way into a cache at once.
//!
//! A line from the next level takes a register for a known time, one from further away until it arrives. Accesses are
//! scheduled in program order but happen out of order: a store that is written late must not keep a register from a load
//! that comes before it. So known times are kept in a calendar, which says for each cycle how many registers they take.
//!
//! While lines are awaited, no more than two are booked one after the other on what registers are left: by then another
//! register may be free, which is known only when its line has arrived.

/// In place of a line's key, of a register that waits for none.
const NO_LINE: u64 = u64::MAX;
/// Into so many shares the lines are divided by the end of their keys.
const SHARES: u64 = 64;
/// Cycles in one word of the calendar.
const WORD: u64 = 64;
/// Words of calendar kept; what is older is forgotten.
const WORDS: u64 = 64;

/// The registers of one cache.
#[derive(Clone, Debug)]
pub(in crate::node) struct Mshrs {
    /// Which line each register waits for, and since when.
    lines: Box<[(u64, u64)]>,
    shares: Box<[Share; SHARES as usize]>,
    outstanding: usize,
    /// The latest cycle since which any register has waited: in those from then on, all that wait are taken.
    since: u64,
    calendar: Box<[Word; WORDS as usize]>,
    /// The latest end of a known time.
    latest: u64,
    /// The latest arrival of a line.
    arrival: u64,
    /// The least time for which a register is taken.
    shortest: u64,
}

/// The registers that wait for lines whose keys end alike: lines that follow each other are found without a search.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    count: usize,
    /// The sum of their numbers: that of the one if there is one.
    sum: usize,
}

/// How many registers are taken in each of some cycles.
#[derive(Clone, Debug)]
struct Word {
    number: u64,
    /// By so many in all of its cycles: a line is under way through many words.
    throughout: u16,
    /// By so many more in each.
    taken: [u16; WORD as usize],
}

impl Word {
    const fn free(number: u64) -> Word {
        Word { number, throughout: 0, taken: [0; WORD as usize] }
    }

    /// Takes one more register in the cycles of this word from `first` to before `last`.
    #[inline]
    fn take(&mut self, first: u64, last: u64) {
        if last - first == WORD {
            self.throughout += 1;
        } else {
            self.taken[first as usize..last as usize].iter_mut().for_each(|taken| *taken += 1);
        }
    }
}

/// A register that may be taken from `start` on.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct Vacancy {
    pub(in crate::node) start: u64,
}

impl Mshrs {
    /// So many registers, each of which is taken for no less than `shortest` cycles.
    pub(in crate::node) fn new(count: usize, shortest: u64) -> Mshrs {
        Mshrs {
            lines: vec![(NO_LINE, 0); count].into(),
            shares: Box::new([Share::default(); SHARES as usize]),
            outstanding: 0,
            since: 0,
            calendar: Box::new([const { Word::free(0) }; WORDS as usize]),
            latest: 0,
            arrival: 0,
            shortest,
        }
    }

    /// The register to take at `cycle` or as soon after it as is known, or nothing if it has to be seen which line arrives
    /// first.
    #[inline]
    pub(in crate::node) fn vacancy(&self, cycle: u64) -> Option<Vacancy> {
        let all = self.lines.len();
        if self.outstanding == all {
            return None;
        }
        let mut start = cycle;
        // From the end: no start before the last full cycle of a stretch is possible.
        while let Some(full) = (start..self.latest.min(start + self.shortest)).rfind(|&at| self.takes(at, all)) {
            start = full + 1;
        }
        let foreseen = cycle.max(self.arrival) + 2 * self.shortest;
        (self.outstanding == 0 || start <= foreseen).then_some(Vacancy { start })
    }

    /// A register that is free at `cycle`, if another one is free as well: prefetches leave one for what is asked for.
    pub(in crate::node) fn spare(&self, cycle: u64) -> Option<Vacancy> {
        let all = self.lines.len();
        let mut taken_for = cycle..self.latest.min(cycle + self.shortest);
        let another = self.outstanding + 1 < all && !taken_for.any(|at| self.takes(at, all - 1));
        another.then_some(Vacancy { start: cycle })
    }

    /// Takes a register until `end`.
    pub(in crate::node) fn take(&mut self, vacancy: Vacancy, end: u64) {
        self.latest = self.latest.max(end);
        let mut cycle = vacancy.start.max(end.saturating_sub(WORD * WORDS));
        while cycle < end {
            let (number, first) = (cycle / WORD, cycle % WORD);
            let last = WORD.min(end - number * WORD);
            let word = &mut self.calendar[(number % WORDS) as usize];
            if word.number < number {
                *word = Word::free(number);
            }
            if word.number == number {
                word.take(first, last);
            }
            cycle = (number + 1) * WORD;
        }
    }

    /// Takes a register until the line of that key arrives; returns its number.
    pub(in crate::node) fn take_for(&mut self, vacancy: Vacancy, key: u64) -> usize {
        let Some(register) = self.first(NO_LINE) else { unreachable!("there was a vacancy") };
        self.lines[register] = (key, vacancy.start);
        self.since = self.since.max(vacancy.start);
        let share = &mut self.shares[(key % SHARES) as usize];
        (share.count, share.sum) = (share.count + 1, share.sum + register);
        self.outstanding += 1;
        register
    }

    /// The register that waits for the line of that key.
    #[inline]
    pub(in crate::node) fn find(&self, key: u64) -> Option<usize> {
        match self.shares[(key % SHARES) as usize] {
            Share { count: 0, .. } => None,
            Share { count: 1, sum } => (self.lines[sum].0 == key).then_some(sum),
            _ => self.first(key),
        }
    }

    /// Frees the register of the line of that key, which arrived at `cycle`; returns its number.
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

    /// How many wait for their lines.
    pub(in crate::node) fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Whether at least so many registers are taken in a cycle, as far as is known.
    #[inline]
    fn takes(&self, cycle: u64, registers: usize) -> bool {
        // Most often not even with all that wait, and when each began to wait is not looked at.
        self.known(cycle) + self.outstanding >= registers && self.taken(cycle) >= registers
    }

    /// How many registers are taken in a cycle, as far as is known.
    fn taken(&self, cycle: u64) -> usize {
        let waits = |(line, since): &&(u64, u64)| *line != NO_LINE && *since <= cycle;
        let waiting = if self.since <= cycle { self.outstanding } else { self.lines.iter().filter(waits).count() };
        self.known(cycle) + waiting
    }

    /// How many registers are taken in a cycle for known times.
    #[inline]
    fn known(&self, cycle: u64) -> usize {
        let word = &self.calendar[(cycle / WORD % WORDS) as usize];
        if word.number == cycle / WORD { (word.throughout + word.taken[(cycle % WORD) as usize]).into() } else { 0 }
    }

    /// The first register that holds that key.
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
    fn a_register_that_is_taken_late_is_free_before_that() {
        let mut registers = Mshrs::new(1, 10);
        registers.take(Vacancy { start: 100 }, 110);
        assert_eq!([90, 91, 109, 110].map(|cycle| start(&registers, cycle)), [90, 110, 110, 110].map(Some));
    }

    #[test]
    fn as_many_registers_are_taken_at_once_as_there_are() {
        let mut registers = Mshrs::new(2, 10);
        registers.take(Vacancy { start: 50 }, 70);
        assert_eq!(start(&registers, 60), Some(60));
        registers.take(Vacancy { start: 60 }, 65);
        assert_eq!(start(&registers, 60), Some(65));
        assert!(registers.spare(60).is_none() && registers.spare(70).is_some());
    }

    #[test]
    fn a_register_that_is_taken_for_long_is_taken_in_every_cycle_of_it() {
        let mut registers = Mshrs::new(1, 10);
        registers.take(Vacancy { start: 10 }, 300);
        assert_eq!(
            [0, 60, 64, 100, 127, 128, 299, 300].map(|cycle| start(&registers, cycle)),
            [0, 300, 300, 300, 300, 300, 300, 300].map(Some)
        );
    }

    #[test]
    fn a_prefetch_gets_no_register_that_is_the_last_one_for_a_known_time() {
        let mut registers = Mshrs::new(2, 10);
        registers.take(Vacancy { start: 50 }, 200);
        assert_eq!(
            [30, 45, 100, 199, 200].map(|cycle| registers.spare(cycle).is_some()),
            [true, false, false, false, true]
        );
    }

    #[test]
    fn what_is_far_off_is_left_open_while_a_line_is_awaited() {
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
    fn lines_whose_keys_end_alike_are_kept_apart() {
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
    fn a_register_that_waits_for_its_line_is_free_when_that_has_come() {
        let mut registers = Mshrs::new(1, 10);
        let vacancy = registers.vacancy(5).unwrap();
        registers.take_for(vacancy, 7);
        assert_eq!((start(&registers, 500), registers.outstanding()), (None, 1));
        assert_eq!(registers.arrived(7, 90), Some(0));
        assert_eq!([20, 90].map(|cycle| start(&registers, cycle)), [90, 90].map(Some));
    }
}
