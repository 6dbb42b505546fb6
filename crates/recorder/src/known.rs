//! Which lines the simulator knows the content of.
//!
//! One bit per line of the whole address space, in a mapping of which only the pages in use exist. A line is sent once;
//! from then on its stores keep the simulator's copy right, until the kernel writes behind the program's back and the
//! bit is cleared. A second map of the same kind never forgets, and so distinguishes a first touch from a later one.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicPtr, AtomicU64};
use wire::word::{ADDRESS_END, LINE_BYTES};

/// 64 lines of a 4 KB page are one word of the map.
const LINES_PER_WORD: u64 = 64;
const MAP_WORDS: usize = (ADDRESS_END / LINE_BYTES as u64 / LINES_PER_WORD) as usize;
/// Above QEMU's mappings: see `FAR_HINT` of the ring's segment for why.
const FAR_HINT: usize = 0x2100_0000_0000;

struct LineMap(AtomicPtr<AtomicU64>);

/// The two maps.
pub struct KnownLines {
    known: LineMap,
    touched: LineMap,
}

impl LineMap {
    fn new() -> std::io::Result<LineMap> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a hint that is not forced replaces nothing.
        let base = unsafe { libc::mmap(FAR_HINT as *mut _, MAP_WORDS * 8, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            Err(std::io::Error::last_os_error())
        } else {
            Ok(LineMap(AtomicPtr::new(base.cast())))
        }
    }

    #[inline]
    fn word(&self, line: u64) -> &AtomicU64 {
        debug_assert!(line < ADDRESS_END / LINE_BYTES as u64);
        // SAFETY: the map has a word for every address below `ADDRESS_END`, which callers have checked.
        unsafe { &*self.0.load(Relaxed).add((line / LINES_PER_WORD) as usize) }
    }

    #[inline]
    fn holds(&self, line: u64) -> bool {
        self.word(line).load(Relaxed) >> (line % LINES_PER_WORD) & 1 != 0
    }

    /// Sets the bit; returns what it was.
    fn set(&self, line: u64) -> bool {
        let bit = 1 << (line % LINES_PER_WORD);
        self.word(line).fetch_or(bit, Relaxed) & bit != 0
    }

    fn clear(&self, lines: Range<u64>) {
        let mut line = lines.start;
        while line < lines.end {
            let first = line % LINES_PER_WORD;
            let count = (LINES_PER_WORD - first).min(lines.end - line);
            let whole_words = (lines.end - line) / LINES_PER_WORD;
            if first == 0 && whole_words >= 4096 {
                self.discard((line / LINES_PER_WORD) as usize, whole_words as usize);
                line += whole_words * LINES_PER_WORD;
            } else {
                let mask = (u64::MAX >> (64 - count)) << first;
                self.word(line).fetch_and(!mask, Relaxed);
                line += count;
            }
        }
    }

    /// Clears many words by giving their pages back.
    fn discard(&self, first: usize, count: usize) {
        const PAGE_WORDS: usize = 512;
        let (start, end) = (first.next_multiple_of(PAGE_WORDS), (first + count) / PAGE_WORDS * PAGE_WORDS);
        let base = self.0.load(Relaxed);
        // SAFETY: whole pages within the map; a private anonymous page reads as zero afterwards.
        unsafe { libc::madvise(base.add(start).cast(), (end - start) * 8, libc::MADV_DONTNEED) };
        for word in (first..start).chain(end..first + count) {
            // SAFETY: within the map, as above.
            unsafe { (*base.add(word)).store(0, Relaxed) };
        }
    }

    fn clear_all(&self) {
        self.discard(0, MAP_WORDS);
    }
}

impl KnownLines {
    /// Nothing known.
    pub fn new() -> std::io::Result<KnownLines> {
        Ok(KnownLines { known: LineMap::new()?, touched: LineMap::new()? })
    }

    /// Whether the line is known.
    #[inline]
    pub fn holds(&self, line: u64) -> bool {
        self.known.holds(line)
    }

    /// The line is being sent. Returns whether this is its first touch.
    pub fn tell(&self, line: u64) -> bool {
        self.known.set(line);
        !self.touched.set(line)
    }

    /// The kernel may have written here.
    pub fn forget(&self, address: u64, bytes: u64) {
        self.known.clear(lines_of(address, bytes));
    }

    /// The kernel may have written anywhere.
    pub fn forget_all(&self) {
        self.known.clear_all();
    }

    /// These addresses stand for other memory from now on.
    pub fn remap(&self, address: u64, bytes: u64) {
        self.known.clear(lines_of(address, bytes));
        self.touched.clear(lines_of(address, bytes));
    }

    /// A new address space.
    pub fn restart(&self) {
        self.known.clear_all();
        self.touched.clear_all();
    }
}

fn lines_of(address: u64, bytes: u64) -> Range<u64> {
    let end = address.saturating_add(bytes).min(ADDRESS_END);
    if bytes == 0 || address >= end { 0..0 } else { address / LINE_BYTES as u64..end.div_ceil(LINE_BYTES as u64) }
}
