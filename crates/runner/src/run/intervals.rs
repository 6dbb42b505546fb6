//! A run by interval: what was counted in each so many instructions, for the phases of a program.
//!
//! An interval ends as a warm-up does, with the event in which the programs together have come so far: nothing is held up for it, so
//! no event changes. A core takes many instructions in one event, so an interval has some more than asked for; where the next one
//! ends is counted from the beginning, so that these do not add up. Each interval is the difference of what was counted at
//! its two ends, so that all of them add up to the run.

use super::{RunError, RunOptions};
use crate::record::{CoreTime, Interval, ReadTimes, ipc, read_latency_ns};
use crate::sampling::Detail;
use chip::counts::{Counts, Meters};
use units::{Clock, Time};

/// More than a table has that is looked at: each is a row, and stays in memory until the run ends.
const INTERVALS_MAX: u64 = 10_000;

/// Whether a run of so many programs can be counted by intervals as it is to be, as far as that is known before it runs.
///
/// # Errors
/// [`RunError::Interval`].
pub fn check_interval(options: &RunOptions, programs: usize) -> Result<(), RunError> {
    let Some(length) = options.interval else { return Ok(()) };
    let refused = |rule: String| Err(RunError::Interval(rule));
    if length == 0 {
        return refused(
            "an interval of 0 instructions (--interval) has no end: expected 1 or more, as in 1M".to_owned(),
        );
    }
    if matches!(options.detail, Detail::Sampled(_)) {
        let rule = "a sampled run is not counted by interval (--interval): most of it has no time; its record has each unit that was measured, or run it with every instruction in detail";
        return refused(rule.to_owned());
    }
    // A budget without an end says nothing: then what comes is counted.
    let counted = options.budget.saturating_sub(options.warm_up).saturating_mul(programs as u64);
    if options.budget != u64::MAX && counted / length > INTERVALS_MAX {
        return Err(too_many(length));
    }
    Ok(())
}

/// There are more intervals than are kept.
pub(super) fn too_many(length: u64) -> RunError {
    RunError::Interval(format!(
        "there would be more than {INTERVALS_MAX} intervals of {length} instructions (--interval): make them longer, or the run shorter"
    ))
}

/// What had been counted at one moment of the run.
#[derive(Default)]
pub(super) struct CountedMoment {
    counts: Counts,
    /// When the latest retirement was that was known.
    at: Time,
    /// Whether the design speculates on what lines hold.
    speculates: bool,
    /// Whether its lines move.
    moves: bool,
    /// Whether its stores go through persist buffers.
    buffers: bool,
}

impl CountedMoment {
    /// This one.
    pub fn now(meters: &Meters) -> CountedMoment {
        let counts = meters.read();
        CountedMoment {
            at: meters.chip.cores.nodes()[0].borrow().start_of(counts.node.cycles),
            counts,
            speculates: meters.scheme.cryptography().speculation().is_some(),
            moves: meters.scheme.moving().is_some(),
            buffers: meters.chip.has_buffers(),
        }
    }

    /// Instructions of all programs together.
    fn instructions(&self) -> u64 {
        self.counts.node.instructions
    }
}

/// Takes a run apart as it goes on.
pub(super) struct Intervals {
    length: u64,
    /// The cores' clock.
    clock: Clock,
    /// With how many instructions the first was to begin.
    origin: u64,
    /// When the one that is open began.
    begun: CountedMoment,
    /// When it ended, if instructions follow: what comes after the last of them is part of it.
    ended: Option<CountedMoment>,
    closed: Vec<Interval>,
}

impl Intervals {
    /// Intervals of so many instructions, the first of which begins at this moment, with so many instructions or as few more
    /// as there were.
    pub fn new(length: u64, clock: Clock, origin: u64, begun: CountedMoment) -> Intervals {
        Intervals { length, clock, origin, begun, ended: None, closed: Vec::new() }
    }

    /// With how many instructions the open one ends, when there have been so many.
    pub fn due(&self, reached: u64) -> u64 {
        let whole = reached.saturating_sub(self.origin) / self.length;
        self.origin.saturating_add((whole + 1).saturating_mul(self.length))
    }

    /// The open one ends, and the next begins.
    pub fn cut(&mut self, now: CountedMoment) {
        if let Some(end) = self.ended.replace(now) {
            self.close(end);
        }
    }

    fn close(&mut self, end: CountedMoment) {
        self.closed.push(between(&self.begun, &end, self.clock));
        self.begun = end;
    }

    /// Whether there are more than are kept.
    pub fn is_full(&self) -> bool {
        self.closed.len() as u64 > INTERVALS_MAX
    }

    /// Why the run does not go on when there are.
    pub fn overflow(&self) -> RunError {
        too_many(self.length)
    }

    /// All of them, the last until the run ended.
    pub fn until(mut self, end: CountedMoment) -> Vec<Interval> {
        if let Some(last) = self.ended.take()
            && last.instructions() < end.instructions()
        {
            self.close(last);
        }
        self.close(end);
        self.closed
    }
}

fn between(begun: &CountedMoment, ended: &CountedMoment, clock: Clock) -> Interval {
    let counts = ended.counts - begun.counts;
    let (instructions, cycles) = (counts.node.instructions, counts.node.cycles);
    Interval {
        start: begun.instructions(),
        start_fs: begun.at.as_fs(),
        instructions,
        cycles,
        time_fs: ended.at.since(begun.at).as_fs(),
        ipc: ipc(instructions, cycles),
        read_latency_ns: read_latency_ns(&counts.llc),
        reads: ReadTimes::of(&counts.protection.reads).map(ReadTimes::without_histogram),
        dram_bytes: counts.dram_bytes(),
        core_time: CoreTime::of(&counts.waits, clock),
        node: counts.node,
        persist_buffer: ended.buffers.then_some(counts.persist),
        llc: counts.llc,
        protection: counts.protection,
        metadata_caches: counts.metadata_caches(),
        renewals: counts.scheme.renewals,
        speculation: ended.speculates.then_some(counts.scheme.speculation),
        moving: ended.moves.then_some(counts.scheme.moving),
        dram: counts.dram,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_intervals_are_kept_as_are_said_to_be_and_one_more_is_too_many() {
        let clock = catalogue::machine("modern").unwrap().node.clock_mhz.clock();
        let mut intervals = Intervals::new(1, clock, 0, CountedMoment::default());
        // The first cut ends one, which is open until something follows.
        (0..=INTERVALS_MAX).for_each(|_| intervals.cut(CountedMoment::default()));
        assert!(!intervals.is_full());
        intervals.cut(CountedMoment::default());
        assert!(intervals.is_full());
    }
}
