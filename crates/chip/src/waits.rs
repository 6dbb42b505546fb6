//! What cores wait for: each time in which nothing retired is shared among what the trip of the line took that ended it.
//!
//! A trip is from the L2 that lacked the line to its arrival there. Much of it is hidden, behind work and behind other trips; what
//! is not hidden is shared in the proportion of the whole, since a core cannot say which part of a trip it did not see. So
//! the shares add up to the time lost, and what makes every trip longer by a tenth gets a tenth more of what is lost.

use derive_more::{AddAssign, Sub};
use machine::coherence::Domain;
use protection::execution::{Parts, ReadPart};
use units::{Duration, Time};

/// What the cores of a machine lost of their cycles, all of them together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, AddAssign, Sub)]
pub struct Waits {
    /// All cycles, until each core's latest retirement.
    pub cycles: u64,
    /// Nothing retired because a line was awaited: what that was taken up with, in femtoseconds.
    pub parts: Parts,
    /// There was nothing to execute, because other cores' part of the program had to come first, in femtoseconds.
    pub idle_fs: u64,
    /// The cores were switched to other processes, in femtoseconds.
    pub switching_fs: u64,
}

impl Waits {
    /// Of these cores, which lost so much to lines.
    pub fn of(cores: &Domain, parts: Parts) -> Waits {
        let mut waits = Waits { parts, ..Waits::default() };
        for node in cores.nodes().iter().map(|node| node.borrow()) {
            waits.cycles += node.counters().cycles;
            waits.idle_fs += node.idle().as_fs();
            waits.switching_fs += node.switching().as_fs();
        }
        waits
    }
}

/// One line's way to a core that asked for it.
#[derive(Clone, Copy, Debug)]
pub struct Trip {
    /// When the core's L2 asked.
    began: Time,
    /// What of it is known to be for something else than the way on the chip.
    parts: Parts,
}

impl Trip {
    /// A line was asked for then.
    pub fn begin(began: Time) -> Trip {
        Trip { began, parts: Parts::default() }
    }

    /// It waited for something on its way to the controller.
    pub fn waited(&mut self, part: ReadPart, time: Duration) {
        self.parts.add(part, time);
    }

    /// What its read took, or the rest of it after the first words.
    pub fn read(&mut self, parts: &Parts) {
        self.parts += *parts;
    }

    /// What a core lost whose line, or its first words, came at `at` at the end of this trip.
    pub fn lost(&self, lost: Duration, at: Time) -> Parts {
        let mut parts = self.parts;
        let trip = at.since(self.began);
        parts.add(ReadPart::OnChip, Duration::from_fs(trip.as_fs().saturating_sub(parts.total())));
        let mut shared = parts.share(lost.min(trip));
        // Before it left the L2: look-ups, and registers for misses that others had.
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

    /// A trip from 100 ns on, of which 10 went to a write-back, 40 to data and 20 to a counter.
    fn trip() -> Trip {
        let mut read = Parts::default();
        read.add(ReadPart::Data, Duration::from_ns(40));
        read.add(ReadPart::Counter, Duration::from_ns(20));
        let mut trip = Trip::begin(at(100));
        trip.waited(ReadPart::WriteBack, Duration::from_ns(10));
        trip.read(&read);
        trip
    }

    /// What a core lost so long for, in nanoseconds: write-backs, data, counter and the way on the chip, which are all of it.
    fn lost(trip: &Trip, lost: u64, arrival: u64) -> [u64; 4] {
        let lost = Duration::from_ns(lost);
        let parts = trip.lost(lost, at(arrival));
        let each =
            [ReadPart::WriteBack, ReadPart::Data, ReadPart::Counter, ReadPart::OnChip].map(|part| parts.of(part));
        assert_eq!((parts.total(), each.iter().sum()), (lost.as_fs(), lost.as_fs()));
        each.map(|fs| fs / 1_000_000)
    }

    #[test]
    fn what_is_lost_to_a_trip_is_shared_among_all_that_it_took_and_the_rest_of_it_was_on_the_chip() {
        assert_eq!(lost(&trip(), 100, 200), [10, 40, 20, 30]);
        assert_eq!(lost(&trip(), 50, 200), [5, 20, 10, 15]);
    }

    #[test]
    fn what_was_lost_before_the_trip_began_was_on_the_chip() {
        assert_eq!(lost(&trip(), 150, 200), [10, 40, 20, 80]);
    }

    #[test]
    fn the_rest_of_a_line_adds_what_it_waited_for_after_the_first_words() {
        let mut trip = trip();
        assert_eq!(lost(&trip, 50, 200), [5, 20, 10, 15]);
        // A hundred more, of which 60 for data and 20 for its counter.
        let mut rest = Parts::default();
        rest.add(ReadPart::Data, Duration::from_ns(60));
        rest.add(ReadPart::Counter, Duration::from_ns(20));
        trip.read(&rest);
        assert_eq!(lost(&trip, 100, 300), [5, 50, 20, 25]);
    }
}
