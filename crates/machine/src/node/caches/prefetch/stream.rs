//! Streams: a page that is gone through line by line, upward or downward.
//!
//! What Intel documents of its cores' *streamer* (Intel 64 and IA-32 Architectures Optimization Reference Manual, on data
//! prefetching in the Sandy Bridge microarchitecture, which later ones keep): it looks at what the first level asks L2 for,
//! whichever instruction asks; follows up to 32 pages, each with one stream, forward or backward; may send two
//! prefetches on every look-up; and runs up to 20 lines ahead. Nothing is fetched beyond the page.
//!
//! How many accesses make a stream is not documented. Here it takes three in one order: two steps in one direction, whatever
//! their lengths. A step the other way begins anew, so accesses to and fro in a page fetch little.

use super::{FRAME_BITS, Seen};
use crate::cache::TagArray;

/// One page, as its latest accesses went through it. Lines are numbered within the page.
#[derive(Clone, Copy, Debug)]
struct PageStream {
    latest: i64,
    /// Up, down, or nowhere so far.
    direction: i64,
    /// Whether two steps went that way.
    confirmed: bool,
    /// The furthest line that was expected.
    reached: i64,
}

/// The pages that are followed, and how far ahead.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    pages: TagArray,
    streams: Box<[PageStream]>,
    degree: i64,
    distance: i64,
    line_bytes: i64,
}

impl Streams {
    /// Follows so many pages of lines of this size, with at most `degree` lines after an access, none of them more than
    /// `distance` lines from it.
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

    /// The address to start from, the way to go and how many steps: what is expected after this access.
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
        let ahead = (stream.reached - line) * stream.direction;
        let steps = if stream.confirmed { self.degree.min(self.distance - ahead).min(room).max(0) } else { 0 };
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
        // What an access has caught up with is not ahead any more.
        if !self.confirmed || (line - self.reached) * direction > 0 {
            self.reached = line;
        }
        self.direction = direction;
    }
}
