//! Stores past the caches: the core puts a line together and sends it to memory whole, without reading it first.
//!
//! A non-temporal store (`MOVNTDQ`) goes to a *combining buffer* of its line when it is written. A line that has all its bytes
//! leaves for memory, and its buffer is free again when the memory controller has taken it; while none is free, such stores wait
//! in the store queue. A line leaves before it is whole if its buffer is wanted for another line, if the core loads from the
//! line, stores to it through the caches or flushes it, and before an instruction that serialises (Intel 64 and IA-32
//! Architectures Software Developer's Manual, volume 1, section 10.4.6.2, and volume 3, section 11.3.1). Memory takes whole lines, so the rest of such
//! a line is read as for any other store, and the line stays in the caches.
//!
//! Where stores are durable beside the core, they go there, these as any others.

use crate::node::caches::access::Waiter;
use crate::node::interface::{Request, RequestKind};
use crate::node::lines::WordAddr;
use crate::node::pipeline::Core;
use std::collections::VecDeque;
use units::{LineAddr, LineLength};

/// As many as Intel's cores have line fill buffers, from Nehalem to Skylake: those put stores together there.
const BUFFERS: usize = 10;

/// A store past the caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Combined {
    /// The number of the store.
    store: u64,
    word: WordAddr,
    /// A bit for each byte of the line that it stores.
    bytes: u64,
}

/// A line of which not all bytes are there.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Where it was stored to first.
    word: WordAddr,
    bytes: u64,
}

/// The combining buffers of one core.
#[derive(Clone, Debug, Default)]
pub(in crate::node) struct Combining {
    /// Lines that are put together, oldest first.
    open: VecDeque<Open>,
    /// Buffers whose line has left, and which the memory controller has not taken.
    sent: usize,
    /// Lines that left in part, and whose rest has not been read.
    merging: Vec<LineAddr>,
    /// Stores that wait for a buffer.
    waiting: VecDeque<Combined>,
    /// A bit for each byte of a line.
    whole: u64,
}

impl Combining {
    /// Empty buffers for lines of this length.
    pub(in crate::node) fn new(length: LineLength) -> Combining {
        Combining { whole: length.byte_mask(), ..Combining::default() }
    }

    /// The lines that are being put together.
    pub(in crate::node) fn lines(&self) -> Vec<LineAddr> {
        self.open.iter().map(|open| open.word.line()).collect()
    }

    /// Whether any line is being put together.
    #[inline]
    pub(in crate::node) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Lines that memory has not taken, and stores that wait for that.
    pub(in crate::node) fn outstanding(&self) -> usize {
        self.sent + self.waiting.len()
    }

    /// Whether the rest of a line is still to be read.
    pub(in crate::node) fn merges(&self, line: LineAddr) -> bool {
        self.merging.contains(&line)
    }

    /// The rest of a line was read.
    pub(in crate::node) fn merged(&mut self, line: LineAddr) {
        self.merging.retain(|merging| *merging != line);
    }

    fn place(&self, line: LineAddr) -> Option<usize> {
        self.open.iter().position(|open| open.word.line() == line)
    }

    /// Adds a store to the buffer of its line, or to a free one: where, or nothing if there is no such.
    fn add(&mut self, word: WordAddr, bytes: u64) -> Option<usize> {
        if let Some(place) = self.place(word.line()) {
            self.open[place].bytes |= bytes;
            return Some(place);
        }
        if self.open.len() + self.sent == BUFFERS {
            return None;
        }
        self.open.push_back(Open { word, bytes });
        Some(self.open.len() - 1)
    }
}

impl Core {
    /// Writes a store past the caches at `cycle`, or lets it wait for a buffer.
    #[cold]
    pub(in crate::node) fn combine(
        &mut self,
        store: u64,
        (word, bytes): (WordAddr, u64),
        cycle: u64,
        out: &mut Vec<Request>,
    ) {
        let combined = Combined { store, word, bytes };
        if !self.combining.waiting.is_empty() || !self.put_together(combined, cycle, out) {
            self.combining.waiting.push_back(combined);
        }
    }

    /// Whether there was a buffer for a store.
    fn put_together(&mut self, Combined { store, word, bytes }: Combined, cycle: u64, out: &mut Vec<Request>) -> bool {
        let mut place = self.combining.add(word, bytes);
        if place.is_none() && self.combining.has_open() {
            self.close(0, cycle, out);
            place = self.combining.add(word, bytes);
        }
        let Some(place) = place else { return false };
        if self.combining.open[place].bytes == self.combining.whole {
            self.close(place, cycle, out);
        }
        self.stores.written(store, cycle + 1);
        true
    }

    /// The line of the buffer at `place` leaves it at `cycle`.
    fn close(&mut self, place: usize, cycle: u64, out: &mut Vec<Request>) {
        let Some(Open { word, bytes }) = self.combining.open.remove(place) else { return };
        if bytes == self.combining.whole {
            self.combining.sent += 1;
            self.caches.send(WordAddr::of(word.line(), 0), cycle, RequestKind::PastCaches, out);
        } else {
            self.combining.merging.push(word.line());
            self.merge_rest(word, cycle, out);
        }
    }

    /// Reads the rest of the line with `word`, which the caches keep.
    pub(in crate::node) fn merge_rest(&mut self, word: WordAddr, cycle: u64, out: &mut Vec<Request>) {
        if self.caches.access(word, cycle, Waiter::Merge(word.line()), out).known().is_some() {
            self.combining.merged(word.line());
        }
    }

    /// A line leaves its buffer at `cycle`, if it is in one.
    #[inline]
    pub(in crate::node) fn close_line(&mut self, line: LineAddr, cycle: u64, out: &mut Vec<Request>) {
        if self.combining.has_open()
            && let Some(place) = self.combining.place(line)
        {
            self.close(place, cycle, out);
        }
    }

    /// All lines leave their buffers at `cycle`.
    #[cold]
    pub(in crate::node) fn close_all(&mut self, cycle: u64, out: &mut Vec<Request>) {
        while self.combining.has_open() {
            self.close(0, cycle, out);
        }
    }

    /// The memory controller has taken a line that was stored past the caches at `cycle`.
    pub(in crate::node) fn taken_past_caches(&mut self, cycle: u64, out: &mut Vec<Request>) {
        self.caches.answered(cycle);
        self.combining.sent -= 1;
        while let Some(next) = self.combining.waiting.front().copied()
            && self.put_together(next, cycle, out)
        {
            self.combining.waiting.pop_front();
        }
        self.cascade(out);
        self.retire(out);
    }
}
