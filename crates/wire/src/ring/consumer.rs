//! The simulator's end of the ring: taking chunks, and knowing when there will be no more.

use super::{CHUNK_WORDS, RawChunk, Ring, SLOTS};
use crate::process::is_alive;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

/// How long a drawn ticket may stay unfilled before the simulator asks whether its holder still lives.
const PATIENCE: Duration = Duration::from_millis(200);

impl Ring {
    /// The next chunk, if there is one.
    pub fn take(&mut self) -> Option<RawChunk> {
        loop {
            let slot = self.slot(self.head);
            if slot.turn.load(Acquire) == self.head + 1 {
                break;
            }
            if !self.is_abandoned() {
                return None;
            }
            // The holder of this ticket died with it in hand, so no other producer will ever touch the slot in this round.
            self.release();
        }
        self.waiting_since = None;
        let slot = self.slot(self.head);
        let count = (slot.words.load(Relaxed) as usize).min(CHUNK_WORDS);
        let chunk = RawChunk {
            process: slot.process.load(Relaxed),
            thread: slot.thread.load(Relaxed),
            words: slot.data[..count].iter().map(|word| word.load(Relaxed)).collect(),
        };
        self.release();
        Some(chunk)
    }

    /// Frees the slot at the head for the next round and goes on to the next one.
    fn release(&mut self) {
        let slot = self.slot(self.head);
        slot.writer.store(0, Relaxed);
        slot.turn.store(self.head + SLOTS as u64, Release);
        self.head += 1;
        self.waiting_since = None;
    }

    /// Whether the next ticket was drawn by a producer that has died since.
    fn is_abandoned(&mut self) -> bool {
        if self.header().tail.0.load(Acquire) <= self.head {
            self.waiting_since = None;
            return false;
        }
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        if since.elapsed() < PATIENCE {
            return false;
        }
        let writer = self.slot(self.head).writer.load(Acquire);
        (writer != 0 && !is_alive(writer)) || !self.has_live_process()
    }

    /// Whether a process that announced itself is still alive.
    fn has_live_process(&self) -> bool {
        let pids = self.header().processes.iter().map(|entry| entry.load(Acquire) as u32);
        pids.filter(|pid| *pid != 0).any(is_alive)
    }

    /// Whether chunks are on their way.
    pub fn is_pending(&self) -> bool {
        self.header().tail.0.load(Acquire) > self.head
    }

    /// How many process images announced themselves.
    pub fn images(&self) -> u32 {
        self.header().images.load(Acquire)
    }

    /// Whether everything that was asked for is published.
    pub fn is_limit_reached(&self) -> bool {
        self.header().limit_reached.load(Acquire) != 0
    }

    /// Shows the producers that nothing more is wanted.
    pub fn stop(&self) {
        self.header().stop.store(1, Release);
    }
}
