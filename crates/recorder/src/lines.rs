//! A map with one bit for each line, or each page, of the whole address space. The kernel allocates only the parts of
//! it in use.
//!
//! The recorder looks up a bit at every access of the program, so a look-up is one load. Operations on many lines use
//! whole words of the map. To clear enough lines, the map returns whole pages to the kernel.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicPtr, AtomicU64};
use wire::word::{ADDRESS_END, LINE_BYTES};

/// Bits in a word of the map: one word has the 64 lines of a 4 KB page.
const LINES_PER_WORD: u64 = 64;
const MAP_WORDS: usize = (ADDRESS_END / LINE_BYTES as u64 / LINES_PER_WORD) as usize;
/// Address hint above QEMU's mappings, for the reason that `FAR_HINT` of the ring's segment states.
const FAR_HINT: usize = 0x2100_0000_0000;

/// A set of lines or of pages.
pub struct LineMap(AtomicPtr<AtomicU64>);

impl LineMap {
    /// Creates an empty set. Fails if the kernel refuses the mapping.
    pub fn new() -> std::io::Result<LineMap> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: without `MAP_FIXED`, the hint is not forced, so a new mapping does not replace another one.
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
        // SAFETY: the map has a word for every address below `ADDRESS_END`, and the callers have checked the address.
        unsafe { &*self.0.load(Relaxed).add((line / LINES_PER_WORD) as usize) }
    }

    /// Returns true if the set contains the line.
    #[inline]
    pub fn holds(&self, line: u64) -> bool {
        self.word(line).load(Relaxed) >> (line % LINES_PER_WORD) & 1 != 0
    }

    /// Adds a line. Returns true if the set already contained it.
    pub fn set(&self, line: u64) -> bool {
        let bit = 1 << (line % LINES_PER_WORD);
        self.word(line).fetch_or(bit, Relaxed) & bit != 0
    }

    /// Adds a range of lines.
    pub fn set_all(&self, lines: Range<u64>) {
        let mut line = lines.start;
        while line < lines.end {
            let part = line..end_of_word(line).min(lines.end);
            self.word(line).fetch_or(mask(&part), Relaxed);
            line = part.end;
        }
    }

    /// Removes a range of lines.
    pub fn clear(&self, lines: Range<u64>) {
        let mut line = lines.start;
        while line < lines.end {
            let whole_words = (lines.end - line) / LINES_PER_WORD;
            if line.is_multiple_of(LINES_PER_WORD) && whole_words >= 4096 {
                self.discard((line / LINES_PER_WORD) as usize, whole_words as usize);
                line += whole_words * LINES_PER_WORD;
            } else {
                let part = line..end_of_word(line).min(lines.end);
                self.word(line).fetch_and(!mask(&part), Relaxed);
                line = part.end;
            }
        }
    }

    /// Removes a range of lines, and calls `each` in order for every line that the set contained.
    pub fn take(&self, lines: Range<u64>, mut each: impl FnMut(u64)) {
        let mut line = lines.start;
        while line < lines.end {
            let part = line..end_of_word(line).min(lines.end);
            let (word, mask) = (self.word(line), mask(&part));
            // Words without a bit are not written, because the write would allocate a page.
            if word.load(Relaxed) & mask != 0 {
                let found = word.fetch_and(!mask, Relaxed) & mask;
                let first = line / LINES_PER_WORD * LINES_PER_WORD;
                (0..LINES_PER_WORD).filter(|bit| found >> bit & 1 != 0).for_each(|bit| each(first + bit));
            }
            line = part.end;
        }
    }

    /// Removes all lines from the set.
    pub fn clear_all(&self) {
        self.discard(0, MAP_WORDS);
    }

    /// Clears many words by returning their pages to the kernel.
    fn discard(&self, first: usize, count: usize) {
        const PAGE_WORDS: usize = 512;
        let (start, end) = (first.next_multiple_of(PAGE_WORDS), (first + count) / PAGE_WORDS * PAGE_WORDS);
        let base = self.0.load(Relaxed);
        // SAFETY: the range consists of whole pages within the map; a private anonymous page reads as zero afterwards.
        unsafe { libc::madvise(base.add(start).cast(), (end - start) * 8, libc::MADV_DONTNEED) };
        for word in (first..start).chain(end..first + count) {
            // SAFETY: the word is within the map, as above.
            unsafe { (*base.add(word)).store(0, Relaxed) };
        }
    }
}

/// Returns the lines of `bytes` bytes from an address on, without lines at or above [`ADDRESS_END`].
pub fn lines_of(address: u64, bytes: u64) -> Range<u64> {
    let end = address.saturating_add(bytes).min(ADDRESS_END);
    if bytes == 0 || address >= end { 0..0 } else { address / LINE_BYTES as u64..end.div_ceil(LINE_BYTES as u64) }
}

/// Returns the line after the last one in the same word of the map.
fn end_of_word(line: u64) -> u64 {
    (line / LINES_PER_WORD + 1) * LINES_PER_WORD
}

/// Returns the bits of these lines. All of them must be in one word.
fn mask(lines: &Range<u64>) -> u64 {
    u64::MAX >> (LINES_PER_WORD - (lines.end - lines.start)) << (lines.start % LINES_PER_WORD)
}
