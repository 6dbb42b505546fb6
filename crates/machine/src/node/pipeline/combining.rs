//! Stores past the caches: the core combines the bytes of a line and sends it to memory whole, without reading it
//! first.
//!
//! A non-temporal store (`MOVNTDQ`) enters the *combining buffer* of its line when it is written. A line with all its
//! bytes stored is sent to memory, and its buffer is free again when the memory controller has accepted the line. While
//! all buffers are taken, non-temporal stores wait in the store queue. A line leaves incomplete if another line needs
//! its buffer, if the core loads from the line, stores to the line through the caches, or flushes the line. All
//! incomplete lines leave before a serialising instruction. Source: Intel 64 and IA-32 Architectures Software
//! Developer's Manual, volume 1, section 10.4.6.2, and volume 3, section 11.3.1. Memory accepts only whole lines. So
//! the caches read the missing bytes of an incomplete line as for any other store, and keep the line.
//!
//! If the core has a persist buffer, non-temporal stores enter it like all other stores.

use crate::node::caches::Caches;
use crate::node::caches::access::Waiter;
use crate::node::interface::RequestKind;
use crate::node::lines::WordAddr;
use crate::node::pipeline::stores::StoreQueue;
use std::collections::VecDeque;
use units::{LineAddr, LineLength};

/// Number of line fill buffers of Intel's cores from Nehalem to Skylake, which combine non-temporal stores in these
/// buffers.
const BUFFERS: usize = 10;

/// A non-temporal store, which bypasses the caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) struct CombinedStore {
    /// Number of the store in the store queue.
    pub(in crate::node) store: u64,
    pub(in crate::node) word: WordAddr,
    /// Stored bytes of the line, one bit per byte.
    pub(in crate::node) bytes: u64,
}

/// An incomplete line in its combining buffer.
#[derive(Clone, Copy, Debug)]
struct PartialLine {
    /// The first word that was stored to.
    word: WordAddr,
    bytes: u64,
}

/// The combining buffers of one core.
#[derive(Clone, Debug, Default)]
pub(in crate::node) struct Combining {
    /// Incomplete lines, oldest first.
    open: VecDeque<PartialLine>,
    /// Number of buffers with a line that was sent and that the memory controller has not accepted.
    sent: usize,
    /// Incomplete lines that have left their buffers and still wait for the caches to read the missing bytes.
    merging: Vec<LineAddr>,
    /// Non-temporal stores that wait for a buffer.
    waiting: VecDeque<CombinedStore>,
    /// One bit for each byte of a line.
    whole: u64,
}

impl Combining {
    /// Creates empty buffers for lines of this length.
    pub(in crate::node) fn new(length: LineLength) -> Combining {
        Combining { whole: length.byte_mask(), ..Combining::default() }
    }

    /// Returns the incomplete lines, also those that have left their buffers and wait for the missing bytes.
    pub(in crate::node) fn lines(&self) -> Vec<LineAddr> {
        self.open.iter().map(|open| open.word.line()).chain(self.merging.iter().copied()).collect()
    }

    /// Returns true if any line is incomplete.
    #[inline]
    pub(in crate::node) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns the number of lines that memory has not accepted and of stores that wait for a buffer.
    pub(in crate::node) fn outstanding(&self) -> usize {
        self.sent + self.waiting.len()
    }

    /// Returns true if the missing bytes of the line are still to be read.
    pub(in crate::node) fn merges(&self, line: LineAddr) -> bool {
        self.merging.contains(&line)
    }

    /// Records that the missing bytes of a line were read.
    pub(in crate::node) fn merged(&mut self, line: LineAddr) {
        self.merging.retain(|merging| *merging != line);
    }

    fn index(&self, line: LineAddr) -> Option<usize> {
        self.open.iter().position(|open| open.word.line() == line)
    }

    /// Adds a store to the buffer of its line, or to a free one. Returns the index of the buffer, or `None` if all are
    /// taken.
    fn add(&mut self, word: WordAddr, bytes: u64) -> Option<usize> {
        if let Some(index) = self.index(word.line()) {
            self.open[index].bytes |= bytes;
            return Some(index);
        }
        if self.open.len() + self.sent == BUFFERS {
            return None;
        }
        self.open.push_back(PartialLine { word, bytes });
        Some(self.open.len() - 1)
    }

    /// Writes a store past the caches at `cycle`, or makes it wait for a buffer.
    #[cold]
    pub(in crate::node) fn combine(
        &mut self,
        store: CombinedStore,
        cycle: u64,
        stores: &mut StoreQueue,
        caches: &mut Caches,
    ) {
        if !self.waiting.is_empty() || !self.put_together(store, cycle, stores, caches) {
            self.waiting.push_back(store);
        }
    }

    /// Writes a store to a buffer; returns false if no buffer is free.
    fn put_together(
        &mut self,
        CombinedStore { store, word, bytes }: CombinedStore,
        cycle: u64,
        stores: &mut StoreQueue,
        caches: &mut Caches,
    ) -> bool {
        let mut index = self.add(word, bytes);
        if index.is_none() && self.has_open() {
            self.close(0, cycle, caches);
            index = self.add(word, bytes);
        }
        let Some(index) = index else { return false };
        if self.open[index].bytes == self.whole {
            self.close(index, cycle, caches);
        }
        stores.written(store, cycle + 1);
        true
    }

    /// Removes the line of the buffer at `index` at `cycle`. A complete line is sent to memory, an incomplete line
    /// enters the caches.
    fn close(&mut self, index: usize, cycle: u64, caches: &mut Caches) {
        let Some(PartialLine { word, bytes }) = self.open.remove(index) else { return };
        if bytes == self.whole {
            self.sent += 1;
            caches.outgoing.send(WordAddr::of(word.line(), 0), cycle, RequestKind::PastCaches);
        } else {
            self.merging.push(word.line());
            self.merge_rest(word, cycle, caches);
        }
    }

    /// Reads the missing bytes of the line with `word`; the caches keep the line.
    pub(in crate::node) fn merge_rest(&mut self, word: WordAddr, cycle: u64, caches: &mut Caches) {
        if caches.access(word, cycle, Waiter::Merge(word.line())).known().is_some() {
            self.merged(word.line());
        }
    }

    /// Removes a line from its buffer at `cycle`, if it has one.
    #[inline]
    pub(in crate::node) fn close_line(&mut self, line: LineAddr, cycle: u64, caches: &mut Caches) {
        if self.has_open()
            && let Some(index) = self.index(line)
        {
            self.close(index, cycle, caches);
        }
    }

    /// Removes all lines from their buffers at `cycle`.
    #[cold]
    pub(in crate::node) fn close_all(&mut self, cycle: u64, caches: &mut Caches) {
        while self.has_open() {
            self.close(0, cycle, caches);
        }
    }

    /// Records that the memory controller accepted a line at `cycle`: its buffer is free for the stores that wait.
    pub(in crate::node) fn accepted(&mut self, cycle: u64, stores: &mut StoreQueue, caches: &mut Caches) {
        self.sent -= 1;
        while let Some(next) = self.waiting.front().copied()
            && self.put_together(next, cycle, stores, caches)
        {
            self.waiting.pop_front();
        }
    }
}
