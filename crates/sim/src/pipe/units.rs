//! Occupancy of the units of a pipe: the time from which each is free, and later reservations.

use ::units::{Duration, Time};

/// The units of a pipe.
#[derive(Debug)]
pub(super) struct PipeUnits {
    interval: Duration,
    /// Time from which each unit is free.
    next_free: Vec<Time>,
    /// Reserved start times of links of chains, at which their units are free anyway. Other items may enter before
    /// these times.
    reserved: Vec<(usize, Time)>,
}

impl PipeUnits {
    /// Creates `count` units, each of which accepts an item every `interval`.
    pub fn new(count: usize, interval: Duration) -> PipeUnits {
        PipeUnits { interval, next_free: vec![Time::ZERO; count], reserved: Vec::new() }
    }

    /// Enters an item into the unit that is free first, as soon as it has a free interval.
    #[inline]
    pub fn enter(&mut self, ready: Time) -> Time {
        let (start, unit) = if self.reserved.is_empty() {
            let unit = first_free(&self.next_free);
            (self.next_free[unit].max(ready), unit)
        } else {
            self.earliest(ready)
        };
        self.take(unit, start);
        start
    }

    /// Starts an item in a unit.
    pub fn take(&mut self, unit: usize, start: Time) {
        self.next_free[unit] = start + self.interval;
    }

    /// Reserves an interval for an item that is ready at `ready`. Other items may enter before it.
    pub fn reserve(&mut self, ready: Time) -> Time {
        let (start, unit) = self.earliest(ready);
        self.reserved.push((unit, start));
        start
    }

    /// Removes reserved intervals that are over by now, or that end before their unit is free again.
    #[inline]
    pub fn forget_past(&mut self, now: Time) {
        if self.reserved.is_empty() {
            return;
        }
        let PipeUnits { interval, ref mut next_free, ref mut reserved } = *self;
        reserved.retain(|(unit, start)| {
            let (end, free) = (*start + interval, &mut next_free[*unit]);
            if end <= now {
                *free = end.max(*free);
            }
            end > *free
        });
    }

    /// Returns the reserved intervals, for tests.
    #[cfg(test)]
    pub fn reserved(&self) -> &[(usize, Time)] {
        &self.reserved
    }

    /// Returns the earliest start of an item that is ready at `ready`, and the first unit that can accept the item.
    pub fn earliest(&self, ready: Time) -> (Time, usize) {
        let free = self.next_free.iter().enumerate();
        free.map(|(unit, free)| (self.between_reserved(unit, ready.max(*free)), unit)).min().unwrap_or((ready, 0))
    }

    /// Returns the first time from `start` on at which a unit has an unreserved interval.
    fn between_reserved(&self, unit: usize, mut start: Time) -> Time {
        let meets = |start: Time| {
            let mut of_unit = self.reserved.iter().filter(|(of, _)| *of == unit).map(|(_, other)| *other);
            of_unit.find(|other| *other < start + self.interval && start < *other + self.interval)
        };
        while let Some(other) = meets(start) {
            start = other + self.interval;
        }
        start
    }
}

fn first_free(units: &[Time]) -> usize {
    let mut free = 0;
    for unit in 1..units.len() {
        if units[unit] < units[free] {
            free = unit;
        }
    }
    free
}
