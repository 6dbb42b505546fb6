//! The simulator's end of the ring: takes batches, and detects when no more batches will arrive.

use super::{BATCH_WORDS, RawBatch, Ring, SLOTS};
use crate::process::is_alive;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

/// Time that a drawn ticket may stay unfilled before the simulator checks if its holder is still alive.
const PATIENCE: Duration = Duration::from_millis(200);

impl Ring {
    /// Takes the next batch, if it is published.
    pub fn take(&mut self) -> Option<RawBatch> {
        loop {
            let slot = self.slot(self.head);
            if slot.turn.load(Acquire) == self.head + 1 {
                break;
            }
            if !self.is_abandoned() {
                return None;
            }
            // The holder of this ticket died before it filled the slot, so no producer will write the slot in this
            // round.
            self.release();
        }
        self.waiting_since = None;
        let slot = self.slot(self.head);
        let count = (slot.words.load(Relaxed) as usize).min(BATCH_WORDS);
        let batch = RawBatch {
            process: slot.process.load(Relaxed),
            thread: slot.thread.load(Relaxed),
            words: slot.data[..count].iter().map(|word| word.load(Relaxed)).collect(),
        };
        self.release();
        Some(batch)
    }

    /// Frees the slot at the head for the next round, and moves the head to the next slot.
    fn release(&mut self) {
        let slot = self.slot(self.head);
        slot.writer.store(0, Relaxed);
        slot.turn.store(self.head + SLOTS as u64, Release);
        self.head += 1;
        self.waiting_since = None;
    }

    /// Returns true if the producer that drew the next ticket has died since.
    fn is_abandoned(&mut self) -> bool {
        if self.header().tickets.0.drawn() <= self.head {
            self.waiting_since = None;
            return false;
        }
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        if since.elapsed() < PATIENCE {
            return false;
        }
        let writer = self.slot(self.head).writer.load(Acquire);
        let holder = if writer != 0 { Some(writer) } else { self.header().tickets.0.holder(self.head) };
        holder.is_some_and(|process| !is_alive(process)) || !self.has_live_process()
    }

    /// Returns true if a process that announced itself is still alive.
    fn has_live_process(&self) -> bool {
        let pids = self.header().processes.iter().map(|entry| entry.load(Acquire) as u32);
        pids.filter(|pid| *pid != 0).any(is_alive)
    }

    /// Returns true if producers have drawn tickets that are not read yet.
    pub fn is_pending(&self) -> bool {
        self.header().tickets.0.drawn() > self.head
    }

    /// Returns the number of process images that have announced themselves.
    pub fn images(&self) -> u32 {
        self.header().images.load(Acquire)
    }

    /// Returns true if all requested instructions are published.
    pub fn is_limit_reached(&self) -> bool {
        self.header().limit_reached.load(Acquire) != 0
    }

    /// Notifies the producers that the simulator wants no more batches.
    pub fn stop(&self) {
        self.header().stop.store(1, Release);
    }
}
