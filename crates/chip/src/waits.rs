//! Divides the time in which cores retired no instruction among the parts of a trip: the trip of the line that ended
//! the wait.
//!
//! A trip is the time from the L2's miss to the arrival of the line in the L2. Work of the core and other trips hide
//! much of this time. The account divides the lost time, which is not hidden, in proportion to the parts of the whole
//! trip, since a core cannot observe which part was hidden. The shares thus add up to the lost time. A part that makes
//! up a tenth of each trip is charged with a tenth of the lost time.

use derive_more::{AddAssign, Sub};
use machine::coherence::CoherenceDomain;
use protection::execution::{ReadPart, ReadPartTimes};
use units::{Duration, Time};

/// Cycles that all cores of a machine lost, summed over the cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, AddAssign, Sub)]
pub struct LostCycleTotals {
    /// Core cycles until each core's latest retirement, summed over the cores.
    pub cycles: u64,
    /// Time without retirement because a core waited for a line, by part of the trip, in femtoseconds.
    pub parts: ReadPartTimes,
    /// Time without instructions to execute, in femtoseconds, because other cores had to execute their part of the
    /// program first.
    pub idle_fs: u64,
    /// Time in switches to other processes, in femtoseconds.
    pub switching_fs: u64,
}

impl LostCycleTotals {
    /// Collects the waits of all cores; `parts` is the time that the cores lost to lines.
    pub fn of(cores: &CoherenceDomain, parts: ReadPartTimes) -> LostCycleTotals {
        let mut waits = LostCycleTotals { parts, ..LostCycleTotals::default() };
        for node in cores.nodes().iter().map(|node| node.borrow()) {
            waits.cycles += node.counts().cycles;
            waits.idle_fs += node.idle().as_fs();
            waits.switching_fs += node.switching().as_fs();
        }
        waits
    }
}

/// Trip of one line to the core that requested it.
#[derive(Clone, Copy, Debug)]
pub struct RequestTrip {
    /// Time of the request of the core's L2.
    began: Time,
    /// Parts of the trip other than the time on the chip.
    parts: ReadPartTimes,
}

impl RequestTrip {
    /// Begins a trip at the time of the request.
    pub fn begin(began: Time) -> RequestTrip {
        RequestTrip { began, parts: ReadPartTimes::default() }
    }

    /// Adds time that the line waited on its way to the controller.
    pub fn waited(&mut self, part: ReadPart, time: Duration) {
        self.parts.add(part, time);
    }

    /// Adds the parts of the memory read, or of the remaining read after the first words.
    pub fn read(&mut self, parts: &ReadPartTimes) {
        self.parts += *parts;
    }

    /// Divides the time `lost` of a core among the parts of this trip; the line, or its first words, arrived at `at`.
    pub fn lost(&self, lost: Duration, at: Time) -> ReadPartTimes {
        let mut parts = self.parts;
        let trip = at.since(self.began);
        parts.add(ReadPart::OnChip, Duration::from_fs(trip.as_fs().saturating_sub(parts.total())));
        let mut shared = parts.share(lost.min(trip));
        // Time before the request left the L2: look-ups, and waits for miss registers that other misses occupied.
        shared.add(ReadPart::OnChip, Duration::from_fs(lost.as_fs().saturating_sub(trip.as_fs())));
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::ZERO + Duration::from_ns(ns)
    }

    /// A trip that begins at 100 ns: 10 ns of waiting for a write-back, 40 ns for data and 20 ns for an encryption
    /// counter.
    fn trip() -> RequestTrip {
        let mut read = ReadPartTimes::default();
        read.add(ReadPart::Data, Duration::from_ns(40));
        read.add(ReadPart::Counter, Duration::from_ns(20));
        let mut trip = RequestTrip::begin(at(100));
        trip.waited(ReadPart::WriteBack, Duration::from_ns(10));
        trip.read(&read);
        trip
    }

    /// Parts of a lost time, in nanoseconds: write-backs, data, counter and the way on the chip; they add up to the
    /// whole lost time.
    fn lost(trip: &RequestTrip, lost: u64, arrival: u64) -> [u64; 4] {
        let lost = Duration::from_ns(lost);
        let parts = trip.lost(lost, at(arrival));
        let each =
            [ReadPart::WriteBack, ReadPart::Data, ReadPart::Counter, ReadPart::OnChip].map(|part| parts.of(part));
        assert_eq!((parts.total(), each.iter().sum()), (lost.as_fs(), lost.as_fs()));
        each.map(|fs| fs / 1_000_000)
    }

    #[test]
    fn stall_time_of_a_memory_trip_is_divided_among_its_parts_in_proportion() {
        assert_eq!(lost(&trip(), 100, 200), [10, 40, 20, 30]);
        assert_eq!(lost(&trip(), 50, 200), [5, 20, 10, 15]);
    }

    #[test]
    fn stall_time_before_a_memory_trip_began_is_charged_to_the_chip() {
        assert_eq!(lost(&trip(), 150, 200), [10, 40, 20, 80]);
    }

    #[test]
    fn waits_for_later_words_of_a_line_change_the_division_of_stall_time() {
        let mut trip = trip();
        assert_eq!(lost(&trip, 50, 200), [5, 20, 10, 15]);
        // Another 100 ns: 60 for data and 20 for its counter.
        let mut rest = ReadPartTimes::default();
        rest.add(ReadPart::Data, Duration::from_ns(60));
        rest.add(ReadPart::Counter, Duration::from_ns(20));
        trip.read(&rest);
        assert_eq!(lost(&trip, 100, 300), [5, 50, 20, 25]);
    }
}
