//! Intervals of a run: statistics for every N instructions, which show the phases of a program.
//!
//! An interval ends like a warm-up, with the event in which the programs together reach its last instruction. The core
//! does not stop at the end of an interval, so the division into intervals changes no event. One event may execute many
//! instructions, so an interval may have more instructions than requested. The end of each interval is computed from
//! the beginning of the run, so that these excesses do not add up. The statistics of an interval are the difference
//! between the counts at its two ends, so that their sum over all intervals is that of the run.

use super::{RunError, RunOptions};
use crate::record::{CoreTime, Interval, ReadTimes, ipc, read_latency_ns};
use crate::sampling::Detail;
use chip::counts::{Counts, Meters};
use protection::scheme::Permutations;
use units::{Clock, Time};

/// More intervals than a user would read in a table: each interval is one row of the table, and is kept in host memory
/// until the run ends.
const INTERVALS_MAX: u64 = 10_000;

/// Checks all conditions for counting a run of `programs` programs by interval that are known before the run.
///
/// # Errors
/// [`RunError::Interval`] with the rule that the options break.
pub fn check_interval(options: &RunOptions, programs: usize) -> Result<(), RunError> {
    let Some(length) = options.interval else { return Ok(()) };
    let refused = |rule: String| Err(RunError::Interval(rule));
    if length == 0 {
        return refused(
            "an interval of 0 instructions (--interval) has no end: expected 1 or more, as in 1M".to_owned(),
        );
    }
    if matches!(options.detail, Detail::Sampled(_)) {
        let rule = "a sampled run cannot be counted by interval (--interval): most of it has no time; use the measured \
                    units in its record, or run it with every instruction in detail";
        return refused(rule.to_owned());
    }
    // The length of a run with an unlimited budget is unknown in advance; the number of intervals is then checked
    // during the run.
    let counted = options
        .budget
        .saturating_sub(options.warm_up)
        .saturating_sub(options.start.untimed)
        .saturating_mul(programs as u64);
    if options.budget != u64::MAX && counted / length > INTERVALS_MAX {
        return Err(too_many(length));
    }
    Ok(())
}

/// The error for more intervals than the run keeps.
pub(super) fn too_many(length: u64) -> RunError {
    RunError::Interval(format!(
        "the run may have more than {INTERVALS_MAX} intervals of {length} instructions (--interval): make them longer, \
         or the run shorter"
    ))
}

/// Statistics at one moment of the run.
#[derive(Default)]
pub(super) struct CountedMoment {
    counts: Counts,
    /// Time of the latest retirement known at that moment.
    at: Time,
    /// True if the design speculates on the content of lines.
    speculates: bool,
    /// True if the design permutes lines.
    moves: bool,
    /// True if the stores of the design go through persist buffers.
    buffers: bool,
}

impl CountedMoment {
    /// Reads the statistics now.
    pub fn now(meters: &Meters) -> CountedMoment {
        let counts = meters.read();
        CountedMoment {
            at: meters.chip.cores.nodes()[0].borrow().start_of(counts.node.cycles),
            counts,
            speculates: meters.scheme.speculation().is_some(),
            moves: Permutations::of(&meters.scheme).is_some(),
            buffers: meters.chip.buffers.exist(),
        }
    }

    /// Instructions of all programs together.
    fn instructions(&self) -> u64 {
        self.counts.node.instructions
    }
}

/// Divides a run into intervals while it runs.
pub(super) struct Intervals {
    length: u64,
    /// Clock of the cores.
    clock: Clock,
    /// Number of instructions at which the first interval was due to begin.
    origin: u64,
    /// Statistics at the start of the open interval.
    begun: CountedMoment,
    /// Statistics at the end of the open interval. The interval is closed only if more instructions follow, because
    /// events after the last instruction of the run belong to its last interval.
    ended: Option<CountedMoment>,
    closed: Vec<Interval>,
}

impl Intervals {
    /// Creates intervals of `length` instructions. The first begins now, at instruction `origin` or at most a few
    /// instructions later.
    pub fn new(length: u64, clock: Clock, origin: u64, begun: CountedMoment) -> Intervals {
        Intervals { length, clock, origin, begun, ended: None, closed: Vec::new() }
    }

    /// The instruction at which the open interval ends, after `reached` instructions.
    pub fn due(&self, reached: u64) -> u64 {
        let whole = reached.saturating_sub(self.origin) / self.length;
        self.origin.saturating_add((whole + 1).saturating_mul(self.length))
    }

    /// Ends the open interval and begins the next.
    pub fn cut(&mut self, now: CountedMoment) {
        if let Some(end) = self.ended.replace(now) {
            self.close(end);
        }
    }

    fn close(&mut self, end: CountedMoment) {
        self.closed.push(between(&self.begun, &end, self.clock));
        self.begun = end;
    }

    /// Returns true if there are more intervals than the run keeps.
    pub fn is_full(&self) -> bool {
        self.closed.len() as u64 > INTERVALS_MAX
    }

    /// The error that ends the run when it has too many intervals.
    pub fn overflow(&self) -> RunError {
        too_many(self.length)
    }

    /// All intervals; the last one extends to the end of the run.
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
    fn the_number_of_run_intervals_is_limited_to_the_documented_maximum() {
        let clock = catalogue::machine("modern").unwrap().node.clock_mhz.clock();
        let mut intervals = Intervals::new(1, clock, 0, CountedMoment::default());
        // The first cut ends an interval, which stays open until another cut follows.
        (0..=INTERVALS_MAX).for_each(|_| intervals.cut(CountedMoment::default()));
        assert!(!intervals.is_full());
        intervals.cut(CountedMoment::default());
        assert!(intervals.is_full());
    }
}
