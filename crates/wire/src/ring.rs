//! The ring: a fixed number of batches in shared memory, filled by every thread of every recorded process and emptied
//! by one simulator.
//!
//! A producer fills a private batch and then publishes it: it draws a ticket, waits until the slot of that ticket is
//! free, copies the batch, and marks the slot. The simulator reads batches in the order of their tickets. When all
//! slots are full, the program waits; the program is delayed in no other way. The `turn` of a slot states its owner:
//! ticket `t` while the slot is free for `t`, `t + 1` when it holds that batch, `t + slots` when the batch has been
//! read.
//!
//! The header contains the sizes, and [`Ring::open`] checks them, so that it refuses and does not misread another
//! version.

mod baton;
mod consumer;
mod objects;
mod producer;
mod queue;
mod remote;
mod tickets;
mod wakes;

pub use baton::{Baton, BatonState, StrandId};
pub use objects::ObjectSet;
pub use remote::RemoteWrites;

use crate::host::Host;
use crate::segment::Segment;
use std::ffi::{CStr, OsStr};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Release;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Instant;
use tickets::Tickets;

/// Words in one batch: 64 KB with the header of its slot.
pub const BATCH_WORDS: usize = 8192 - 8;
const SLOTS: usize = 64;
const MAGIC: u64 = u64::from_le_bytes(*b"casemate");
const VERSION: u32 = 5;
const PROCESSES: usize = 1024;
/// Name under which the kernel shows the memory of a ring.
pub const LABEL: &CStr = c"casemate-ring";

/// Settings of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecordingSettings {
    /// Instructions to let pass before recording begins.
    pub skip: u64,
    /// Instructions to record; `u64::MAX` for all.
    pub limit: u64,
    /// True if the values of loads are recorded too.
    pub load_values: bool,
    /// True if `skip` and `limit` count only the instructions between pairs of markers.
    pub marked_region: bool,
    /// Bytes of the host's memory that QEMU takes for each page that the program maps or reserves.
    pub host_bytes_per_page: u32,
}

/// Treatment of the next instructions of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The instructions pass uncounted: they are outside the marked region.
    Outside,
    /// The instructions pass, and count towards `skip`.
    Pass,
    /// The instructions are recorded, and count towards `limit`.
    Record,
    /// The thread is finished: all requested instructions are recorded, or the ring is stopped.
    Done,
}

#[repr(C, align(64))]
struct Header {
    magic: u64,
    version: u32,
    slots: u32,
    batch_words: u32,
    consumer: u32,
    skip: u64,
    limit: u64,
    load_values: u32,
    marked_region: u32,
    host_bytes_per_page: u32,
    host: Host,
    tickets: Padded<Tickets>,
    granted: Padded<AtomicU64>,
    stop: AtomicU32,
    limit_reached: AtomicU32,
    inside_region: AtomicU32,
    images: AtomicU32,
    /// Image number plus one in the upper half of an entry, and the process's number on the host in the lower half.
    processes: [AtomicU64; PROCESSES],
    between: BetweenProcesses,
}

/// State by which the recorders of a program's processes let each other know of shared memory, and of their turns.
#[repr(C)]
pub struct BetweenProcesses {
    /// Objects that some process maps.
    pub objects: ObjectSet,
    /// Latest writes of processes into each other's memory.
    pub remote_writes: RemoteWrites,
    /// The baton, which one strand of the program has at a time.
    pub baton: Baton,
}

#[repr(C, align(64))]
struct Padded<T>(T);

#[repr(C, align(64))]
struct RingEntry {
    turn: AtomicU64,
    writer: AtomicU32,
    process: AtomicU32,
    thread: AtomicU32,
    words: AtomicU32,
    data: [AtomicU64; BATCH_WORDS],
}

const RING_BYTES: usize = size_of::<Header>() + SLOTS * size_of::<RingEntry>();

/// Error of a producer: the program has more words to send, but the simulator accepts no more words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClosedRing;

/// A batch as a thread published it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawBatch {
    /// Number of the process image.
    pub process: u32,
    /// Number of the thread in the image.
    pub thread: u32,
    /// Words of the batch: whole records.
    pub words: Vec<u64>,
}

/// One end of the ring.
pub struct Ring {
    segment: Segment,
    /// Next ticket to read; producers' ends do not use it.
    head: u64,
    waiting_since: Option<Instant>,
}

impl Ring {
    /// Creates a ring that this process will read.
    pub fn create(settings: RecordingSettings) -> io::Result<Ring> {
        let segment = Segment::create(LABEL, RING_BYTES)?;
        let header = segment.base().cast::<Header>().as_ptr();
        // SAFETY: the segment is new, large enough, page-aligned and not yet known to other processes; zero is a valid
        // state of all fields, and the magic number is written last.
        unsafe {
            (*header).version = VERSION;
            (*header).slots = SLOTS as u32;
            (*header).batch_words = BATCH_WORDS as u32;
            (*header).consumer = std::process::id();
            (*header).skip = settings.skip;
            (*header).limit = settings.limit;
            (*header).load_values = settings.load_values.into();
            (*header).marked_region = settings.marked_region.into();
            (*header).host_bytes_per_page = settings.host_bytes_per_page;
            (*header).magic = MAGIC;
        }
        let ring = Ring { segment, head: 0, waiting_since: None };
        for ticket in 0..SLOTS as u64 {
            ring.slot(ticket).turn.store(ticket, Release);
        }
        Ok(ring)
    }

    /// Opens a ring to write to, by its [path](Self::path).
    pub fn open(path: &OsStr) -> io::Result<Ring> {
        let ring = Ring { segment: Segment::open(path)?, head: 0, waiting_since: None };
        let refused = || io::Error::new(io::ErrorKind::InvalidData, "not a ring of this version of Casemate");
        if ring.segment.bytes() != RING_BYTES {
            return Err(refused());
        }
        let header = ring.header();
        let sizes = (header.magic, header.version, header.slots as usize, header.batch_words as usize);
        if sizes == (MAGIC, VERSION, SLOTS, BATCH_WORDS) { Ok(ring) } else { Err(refused()) }
    }

    /// Returns the path by which other processes open the ring while its creator keeps it, or `None` in another
    /// process.
    pub fn path(&self) -> Option<PathBuf> {
        self.segment.path()
    }

    /// Returns the settings of the recording.
    pub fn settings(&self) -> RecordingSettings {
        let header = self.header();
        RecordingSettings {
            skip: header.skip,
            limit: header.limit,
            load_values: header.load_values != 0,
            marked_region: header.marked_region != 0,
            host_bytes_per_page: header.host_bytes_per_page,
        }
    }

    /// Returns the costs of the program for the host.
    pub fn host(&self) -> &Host {
        &self.header().host
    }

    fn header(&self) -> &Header {
        // SAFETY: the segment is at least this large, aligned to a page, and lives as long as `self`; all fields that
        // change are atomic.
        unsafe { self.segment.base().cast::<Header>().as_ref() }
    }

    fn slot(&self, ticket: u64) -> &RingEntry {
        let offset = size_of::<Header>() + (ticket as usize % SLOTS) * size_of::<RingEntry>();
        // SAFETY: as for the header; the offset is within the segment by the choice of `RING_BYTES`.
        unsafe { self.segment.base().add(offset).cast::<RingEntry>().as_ref() }
    }
}

// A slot takes 64 KB, including its header.
const _: () = assert!(size_of::<RingEntry>() == 65_536);

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn ring(settings: RecordingSettings) -> (Ring, Ring) {
        let reader = Ring::create(settings).unwrap();
        let writer = Ring::open(reader.path().unwrap().as_os_str()).unwrap();
        (reader, writer)
    }

    #[test]
    fn a_dropped_recording_ring_cannot_be_opened() {
        use std::os::unix::fs::MetadataExt;
        let (reader, writer) = ring(RecordingSettings::default());
        let path = reader.path().unwrap();
        let found = || std::fs::metadata(&path).map(|data| data.ino()).ok();
        let before = found();
        assert!(before.is_some() && writer.path().is_none());
        drop(reader);
        // Another test may have opened a file under the same number meanwhile.
        assert_ne!(found(), before);
    }

    #[test]
    fn batches_of_several_threads_pass_the_ring_whole_and_in_each_threads_order() {
        let (mut reader, writer) = ring(RecordingSettings { limit: u64::MAX, ..RecordingSettings::default() });
        let mut next = [0; 4];
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let writer = &writer;
                scope.spawn(move || (0..100).for_each(|n| writer.publish(0, thread, &[n, n + 1]).unwrap()));
            }
            while next != [100; 4] {
                let Some(batch) = reader.take() else { continue };
                let expected = &mut next[batch.thread as usize];
                assert_eq!(batch.words, [*expected, *expected + 1]);
                *expected += 1;
            }
        });
        assert!(reader.take().is_none());
    }

    #[test]
    fn stopping_the_recording_ring_releases_a_waiting_producer() {
        let (reader, writer) = ring(RecordingSettings { limit: u64::MAX, ..RecordingSettings::default() });
        std::thread::scope(|scope| {
            let outcome = scope.spawn(|| (0..).find_map(|n| writer.publish(0, 0, &[n]).err()));
            std::thread::sleep(Duration::from_millis(5));
            reader.stop();
            assert_eq!(outcome.join().unwrap(), Some(ClosedRing));
        });
    }

    /// A killed process leaves a ticket that it has drawn while the ring was full. Other processes are still alive.
    #[test]
    fn the_reader_passes_over_the_ticket_of_a_process_that_was_killed_while_it_waited() {
        let (mut reader, writer) = ring(RecordingSettings { limit: u64::MAX, ..RecordingSettings::default() });
        writer.join(std::process::id());
        let mut dead = std::process::Command::new("true").spawn().unwrap();
        let killed = dead.id();
        dead.wait().unwrap();
        writer.header().tickets.0.draw(killed);
        std::thread::scope(|scope| {
            // The last batch waits for the slot of the dead process.
            let last = scope.spawn(|| {
                (1..SLOTS as u64).try_for_each(|n| writer.publish(0, 0, &[n]))?;
                writer.publish(0, 0, &[7])
            });
            let end = std::time::Instant::now() + Duration::from_secs(60);
            let mut words = Vec::new();
            while words.len() < SLOTS {
                words.extend(reader.take().map(|batch| batch.words[0]));
                assert!(std::time::Instant::now() < end, "the reader waits for a dead process: {}", words.len());
            }
            assert_eq!(words.last(), Some(&7));
            last.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_writer_skips_and_records_exactly_the_requested_instructions() {
        let (_reader, writer) =
            ring(RecordingSettings { skip: 100_000, limit: 70_000, ..RecordingSettings::default() });
        let mut drawn = [0, 0];
        loop {
            match writer.draw() {
                (count, Phase::Pass) => drawn[0] += count,
                (count, Phase::Record) => drawn[1] += count,
                _ => break,
            }
        }
        assert_eq!(drawn, [100_000, 70_000]);
    }

    #[test]
    fn a_thread_draws_a_small_part_of_the_instructions_left() {
        let (_reader, writer) = ring(RecordingSettings { limit: 1 << 20, ..RecordingSettings::default() });
        let drawn: Vec<u64> = (0..40).map(|_| writer.draw().0).collect();
        assert_eq!((drawn[0], drawn[1]), (1 << 16, 15 << 12));
        assert!(drawn.is_sorted_by(|earlier, later| earlier >= later) && drawn[39] > 1 << 8);
    }

    #[test]
    fn nothing_is_recorded_after_the_limit_even_if_a_thread_gives_instructions_back() {
        let (_reader, writer) = ring(RecordingSettings { limit: 100, ..RecordingSettings::default() });
        assert_eq!(writer.draw(), (100, Phase::Record));
        assert_eq!(writer.draw().1, Phase::Done);
        writer.reach_limit();
        writer.give_back(50);
        assert_eq!(writer.draw().1, Phase::Done);
    }

    #[test]
    fn only_the_marked_region_is_recorded_on_request() {
        let (_reader, writer) =
            ring(RecordingSettings { limit: 10, marked_region: true, ..RecordingSettings::default() });
        assert_eq!(writer.draw().1, Phase::Outside);
        writer.toggle_region();
        assert_eq!(writer.draw(), (10, Phase::Record));
    }
}
