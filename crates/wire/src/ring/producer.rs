//! The recorder's end of the ring: publishes batches and draws instructions.

use super::{BATCH_WORDS, BetweenProcesses, ClosedRing, Phase, Ring};
use crate::process::is_alive;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::Duration;

/// Instructions that a thread may draw at once, so that threads rarely contend for the shared counter.
const GRANT_MAX: u64 = 1 << 16;
/// Instructions that a strand draws at once if the program has several: it then looks whether another strand is due.
const TURN_MAX: u64 = 20_000;
/// Fewest instructions that a thread draws, unless fewer are left.
const GRANT_MIN: u64 = 1 << 8;
/// A thread draws at most the instructions left divided by this number. A recording lacks the instructions that a thread
/// has drawn and not executed at its end.
const SHARES: u64 = 16;
/// Naps of a producer between two checks that the simulator is still alive.
const NAPS_PER_LOOK: u32 = 256;
const NAP: Duration = Duration::from_micros(50);

impl Ring {
    /// Announces a process. Returns the number of its image.
    pub fn join(&self, pid: u32) -> u32 {
        let header = self.header();
        let image = header.images.fetch_add(1, AcqRel);
        let now = (u64::from(image) + 1) << 32 | u64::from(pid);
        let takes = |entry: &AtomicU64, may: &dyn Fn(u32) -> bool| {
            let old = entry.load(Relaxed);
            may(old as u32) && entry.compare_exchange(old, now, AcqRel, Relaxed).is_ok()
        };
        let mine = header.processes.iter().any(|entry| takes(entry, &|old| old == pid));
        // Processes beyond this many at once are recorded as usual, but the simulator does not wait for their end.
        let _ = mine || header.processes.iter().any(|entry| takes(entry, &|old| old == 0 || !is_alive(old)));
        image
    }

    /// Returns the last image of a process. It may have ended meanwhile.
    pub fn image_of(&self, pid: u32) -> Option<u32> {
        let entries = self.header().processes.iter().map(|entry| entry.load(Acquire));
        let found = entries.into_iter().find(|entry| *entry as u32 == pid)?;
        ((found >> 32) as u32).checked_sub(1)
    }

    /// Returns the state that the recorders of all processes share.
    pub fn between_processes(&self) -> &BetweenProcesses {
        &self.header().between
    }

    /// Publishes a batch. Waits for a free slot, and fails if the ring is stopped.
    pub fn publish(&self, process: u32, thread: u32, words: &[u64]) -> Result<(), ClosedRing> {
        debug_assert!(words.len() <= BATCH_WORDS);
        if self.is_stopped() {
            return Err(ClosedRing);
        }
        let ticket = self.header().tickets.0.draw(std::process::id());
        let slot = self.slot(ticket);
        let mut naps = 0;
        while slot.turn.load(Acquire) != ticket {
            if self.is_stopped() {
                return Err(ClosedRing);
            }
            naps += 1;
            if naps % NAPS_PER_LOOK == 0 {
                self.look_after_consumer();
            }
            std::thread::sleep(NAP);
        }
        slot.writer.store(std::process::id(), Relaxed);
        slot.process.store(process, Relaxed);
        slot.thread.store(thread, Relaxed);
        slot.words.store(words.len() as u32, Relaxed);
        for (to, word) in slot.data.iter().zip(words) {
            to.store(*word, Relaxed);
        }
        slot.turn.store(ticket + 1, Release);
        Ok(())
    }

    /// Draws instructions. Returns their number and their treatment.
    pub fn draw(&self) -> (u64, Phase) {
        let header = self.header();
        // A thread that has reached the limit records no more, although another thread may give instructions back.
        if self.is_stopped() || header.limit_reached.load(Acquire) != 0 {
            return (GRANT_MAX, Phase::Done);
        }
        if header.marked_region != 0 && header.inside_region.load(Acquire) == 0 {
            return (TURN_MAX, Phase::Outside);
        }
        let end = header.skip.saturating_add(header.limit);
        let mut granted = header.granted.0.load(Acquire);
        loop {
            let (boundary, phase) =
                if granted < header.skip { (header.skip, Phase::Pass) } else { (end, Phase::Record) };
            if granted >= end {
                self.look_after_consumer();
                return (GRANT_MAX, Phase::Done);
            }
            let left = boundary - granted;
            let most = if header.between.baton.is_shared() { TURN_MAX } else { GRANT_MAX };
            let count = left.min((left / SHARES).clamp(GRANT_MIN, most));
            match header.granted.0.compare_exchange_weak(granted, granted + count, AcqRel, Acquire) {
                Ok(_) => return (count, phase),
                Err(now) => granted = now,
            }
        }
    }

    /// Gives back drawn instructions that were not executed.
    pub fn give_back(&self, count: u64) {
        self.header().granted.0.fetch_sub(count, AcqRel);
    }

    /// Enters or leaves the marked region, because a thread executes a marker.
    pub fn toggle_region(&self) {
        self.header().inside_region.fetch_xor(1, AcqRel);
    }

    /// Notes that all requested instructions have been published.
    pub fn reach_limit(&self) {
        self.header().limit_reached.store(1, Release);
    }

    /// Returns true if the simulator wants no more batches, so that the program must end.
    pub fn is_stopped(&self) -> bool {
        self.header().stop.load(Acquire) != 0
    }

    /// Stops the ring if the simulator is dead: a simulator that was killed cannot stop the ring itself.
    fn look_after_consumer(&self) {
        if !is_alive(self.header().consumer) {
            self.header().stop.store(1, Release);
        }
    }
}
