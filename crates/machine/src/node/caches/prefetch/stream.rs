//! Stream prefetcher: follows pages that are accessed line by line, upward or downward.
//!
//! The model follows Intel's documentation of the *streamer* (Intel 64 and IA-32 Architectures Optimization Reference
//! Manual, on data prefetching in the Sandy Bridge microarchitecture, which later ones keep). The streamer observes the
//! requests of the first level to L2, from any instruction. It follows up to 32 pages, each with one forward or backward
//! stream, sends up to two prefetches per look-up, and runs up to 20 lines ahead. It does not prefetch beyond the page.
//!
//! Intel does not document the number of accesses that start a stream. In this model a stream starts at the third
//! access: two steps in the same direction, of any length. A step in the other direction restarts the count, so
//! accesses back and forth in a page cause few prefetches.

use super::{FRAME_BITS, Seen};
use crate::cache::TagArray;

/// Access history of one page. Lines are numbered within the page.
#[derive(Clone, Copy, Debug)]
struct PageStream {
    latest: i64,
    /// 1 for up, -1 for down, 0 if not known.
    direction: i64,
    /// True if the last two steps had the same direction.
    confirmed: bool,
    /// The furthest line that was predicted.
    reached: i64,
}

/// Followed pages and limits of the prefetches.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    pages: TagArray,
    streams: Box<[PageStream]>,
    degree: i64,
    distance: i64,
    line_bytes: i64,
}

impl Streams {
    /// Follows `pages` pages with lines of `line_bytes` bytes. An access prefetches at most `degree` lines, at most
    /// `distance` lines away.
    pub(super) fn new(pages: usize, degree: u32, distance: u32, line_bytes: i64) -> Streams {
        let pages = TagArray::new(1, pages);
        let none = PageStream { latest: 0, direction: 0, confirmed: false, reached: 0 };
        Streams {
            streams: vec![none; pages.slots()].into(),
            pages,
            degree: degree.into(),
            distance: distance.into(),
            line_bytes,
        }
    }

    /// Returns the prediction after this access: start address, signed step in bytes, and number of steps.
    pub(super) fn after(&mut self, seen: Seen) -> (u64, i64, u32) {
        let frame = seen.address >> FRAME_BITS;
        let start = frame << FRAME_BITS;
        let line = (seen.address - start) as i64 / self.line_bytes;
        let Some(slot) = self.pages.lookup(frame) else {
            let (slot, _) = self.pages.insert(frame, false);
            self.streams[slot.index()] = PageStream { latest: line, direction: 0, confirmed: false, reached: line };
            return (seen.address, 0, 0);
        };
        let last = (1 << FRAME_BITS) / self.line_bytes - 1;
        let stream = &mut self.streams[slot.index()];
        stream.step(line);
        let room = if stream.direction > 0 { last - stream.reached } else { stream.reached };
        let distance_now = (stream.reached - line) * stream.direction;
        let steps = if stream.confirmed { self.degree.min(self.distance - distance_now).min(room).max(0) } else { 0 };
        let from = start + (stream.reached * self.line_bytes) as u64;
        stream.reached += steps * stream.direction;
        (from, stream.direction * self.line_bytes, steps as u32)
    }
}

impl PageStream {
    fn step(&mut self, line: i64) {
        let direction = (line - self.latest).signum();
        self.latest = line;
        if direction == 0 {
            return;
        }
        self.confirmed = direction == self.direction;
        // After an access has passed the predicted lines, prediction restarts at the access.
        if !self.confirmed || (line - self.reached) * direction > 0 {
            self.reached = line;
        }
        self.direction = direction;
    }
}
