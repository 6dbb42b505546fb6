//! Turns of reads and writes on the data bus.
//!
//! A change of the bus direction is expensive. So writes wait until many have gathered, or until no read waits, and are
//! then drained down to a low mark. With these two marks only, a stream that writes as fast as the channel drains would
//! delay all reads without end. Therefore a drain during which reads wait ends after one full queue of writes, and the
//! reads that waited then are served before the next drain.

/// The state of the write drain.
#[derive(Clone, Debug)]
pub(crate) struct Drain {
    start: usize,
    stop: usize,
    patience: usize,
    writing: bool,
    written_before_reads: usize,
    reads_owed: usize,
}

impl Drain {
    /// Creates a drain that starts with reads. Writes have their turn from `start` waiting writes down to `stop`, for
    /// at most `patience` writes while reads wait.
    pub fn new(start: usize, stop: usize, patience: usize) -> Drain {
        Drain { start, stop, patience, writing: false, written_before_reads: 0, reads_owed: 0 }
    }

    /// Returns true if writes have their turn.
    pub fn writing(&self) -> bool {
        self.writing
    }

    /// Updates the turn for these numbers of waiting reads and writes.
    pub fn update(&mut self, reads: usize, writes: usize) {
        if reads == 0 {
            self.reads_owed = 0;
            self.written_before_reads = 0;
        }
        if !self.writing {
            self.writing = reads == 0 || (writes >= self.start && self.reads_owed == 0);
            self.written_before_reads = 0;
        } else if reads > 0 {
            let exhausted = self.written_before_reads >= self.patience;
            self.writing = writes > self.stop && !exhausted;
            self.reads_owed = if exhausted { reads } else { 0 };
        }
    }

    /// Records that a read has left the queue.
    pub fn read_served(&mut self) {
        self.reads_owed = self.reads_owed.saturating_sub(1);
    }

    /// Records that a write has left the queue.
    pub fn write_served(&mut self) {
        self.written_before_reads += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain() -> Drain {
        let mut drain = Drain::new(26, 6, 32);
        drain.update(1, 0);
        drain
    }

    #[test]
    fn the_write_queue_drains_from_the_high_watermark_down_to_the_low_watermark() {
        let mut drain = drain();
        for (reads, writes, writing) in [(5, 25, false), (5, 26, true), (5, 7, true), (5, 6, false), (5, 25, false)] {
            drain.update(reads, writes);
            assert_eq!(drain.writing(), writing, "{reads} reads, {writes} writes");
        }
    }

    #[test]
    fn writes_are_served_while_no_read_waits() {
        let mut drain = drain();
        drain.update(0, 1);
        assert!(drain.writing());
        drain.update(1, 1);
        assert!(!drain.writing());
    }

    #[test]
    fn an_endless_stream_of_writes_does_not_block_waiting_reads() {
        let mut drain = drain();
        for _ in 0..32 {
            drain.update(3, 32);
            assert!(drain.writing());
            drain.write_served();
        }
        for reads in [3, 2, 1] {
            drain.update(reads + 1, 32);
            assert!(!drain.writing());
            drain.read_served();
        }
        drain.read_served();
        drain.update(1, 32);
        assert!(drain.writing());
    }
}
