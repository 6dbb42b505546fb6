//! Writes of a process into the memory of another process. The kernel makes them without notice to the written process,
//! so the recorder of the writing process posts each of them here.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Number of the latest writes that are kept.
const KEPT: usize = 256;

/// A write, for the recorder of the written process.
#[repr(C)]
struct RemoteWrite {
    /// Number of the write plus one, when the other fields are complete.
    turn: AtomicU64,
    pid: AtomicU32,
    address: AtomicU64,
    bytes: AtomicU64,
}

/// The latest writes of processes into each other's memory.
#[repr(C)]
pub struct RemoteWrites {
    posted: AtomicU64,
    latest: [RemoteWrite; KEPT],
}

impl RemoteWrites {
    /// Posts a write of some bytes at an address of a process, after the kernel has made it.
    pub fn post(&self, pid: u32, address: u64, bytes: u64) {
        let number = self.posted.fetch_add(1, AcqRel);
        let entry = &self.latest[number as usize % KEPT];
        entry.turn.store(0, Relaxed);
        entry.pid.store(pid, Relaxed);
        entry.address.store(address, Relaxed);
        entry.bytes.store(bytes, Relaxed);
        entry.turn.store(number + 1, Release);
    }

    /// Returns the number of writes so far.
    #[inline]
    pub fn posted(&self) -> u64 {
        self.posted.load(Acquire)
    }

    /// Returns the address and the bytes of each write into a process since the first `seen` writes, or `None` if some
    /// of them are not kept any more, or not complete yet.
    pub fn since(&self, seen: u64, posted: u64, pid: u32) -> Option<Vec<(u64, u64)>> {
        if posted.saturating_sub(seen) > KEPT as u64 {
            return None;
        }
        let mut found = Vec::new();
        for number in seen..posted {
            let entry = &self.latest[number as usize % KEPT];
            let is_complete = || entry.turn.load(Acquire) == number + 1;
            if !is_complete() {
                return None;
            }
            let write = (entry.pid.load(Relaxed), entry.address.load(Relaxed), entry.bytes.load(Relaxed));
            if !is_complete() {
                return None;
            }
            if write.0 == pid {
                found.push((write.1, write.2));
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use crate::ring::{RecordingSettings, Ring};

    #[test]
    fn each_process_finds_the_posted_writes_into_its_own_memory_until_they_are_overwritten() {
        let ring = Ring::create(RecordingSettings::default()).unwrap();
        let writes = &ring.between_processes().remote_writes;
        writes.post(7, 0x1000, 8);
        writes.post(8, 0x2000, 16);
        writes.post(7, 0x3000, 24);
        assert_eq!(writes.since(0, writes.posted(), 7), Some(vec![(0x1000, 8), (0x3000, 24)]));
        assert_eq!(writes.since(1, writes.posted(), 7), Some(vec![(0x3000, 24)]));
        assert_eq!(writes.since(0, writes.posted(), 9), Some(Vec::new()));
        (0..256).for_each(|_| writes.post(8, 0, 1));
        assert_eq!(writes.since(0, writes.posted(), 7), None, "the first writes are lost");
        assert_eq!(writes.since(3, writes.posted(), 7), Some(Vec::new()));
    }
}
