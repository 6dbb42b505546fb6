//! Physical pages: where the operating system puts what programs touch.
//!
//! A page gets its frame when it is first touched. As a buddy allocator does, memory is handed out block by block of 2 MB;
//! which block is next, and the order of the 4 KB frames within it, are drawn from the seed. So neighbouring pages are
//! scattered over banks and sets, yet what a program touches together lies in the same few megabytes, and every run is
//! the same. Pages may also be scattered over all of memory, as simulators without an operating system do.
//!
//! For a core that walks page tables, a page gets its tables together with its frame, from the same memory.

use crate::node::{PageKey, PageTables, TableLayout, WalkerConfig};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::random::{Random, mix};
use units::{Bytes, LINE_BYTES, LineAddr, PAGE_BYTES, PhysAddr, VirtAddr};

/// Memory is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the program needs more memory than the machine's {size}: all pages of {page} are in use")]
pub struct OutOfMemory {
    /// What the machine has.
    pub size: Bytes,
    /// The size of a page.
    pub page: Bytes,
}

/// Where pages go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Into blocks of 2 MB, one block after the other.
    #[default]
    Blocks,
    /// Anywhere.
    Scattered,
}

/// Bits of a page's number that one level of page tables translates.
const LEVEL_BITS: usize = 9;
/// Bytes of one entry of a page table.
const ENTRY_BYTES: u64 = 8;
/// Where the process is in a page's number.
const PROCESS_SHIFT: u64 = 40;

/// What the allocator hands out as a whole.
const BLOCK_BYTES: u64 = 2 << 20;

/// The frames of as many pages as one table of the last level is for; [`UNTOUCHED`] of those that have none.
type Leaf = [u64; 1 << LEVEL_BITS];
const UNTOUCHED: u64 = u64::MAX;

/// The page tables of all processes.
pub struct PageTable {
    page_bytes: u64,
    frames: u64,
    blocks: Permutation,
    within_block: Permutation,
    used: u64,
    /// The frames of neighbouring pages, by what their numbers have in common: those that a program touches are near each
    /// other on the host too.
    table: FxHashMap<u64, Box<Leaf>>,
    /// Levels of page tables and how they lie, if a walker reads them.
    walked: Option<(usize, TableLayout)>,
    /// Physical page numbers of page tables, by level and by the part of a page's number that chooses the table.
    tables: FxHashMap<(usize, u64), u64>,
    /// The pages that tables may still take of the frame taken last for tables.
    spare: std::ops::Range<u64>,
    told: Vec<PageTables>,
}

/// A page number that is unique over all processes: the process above bit 40, the virtual page below. The size of a page
/// is a power of two.
#[inline]
pub fn page_key(process: u32, addr: VirtAddr, page_bytes: u64) -> u64 {
    let huge = u64::from(page_bytes > PAGE_BYTES as u64) << 63;
    huge | (u64::from(process) << 40) | (addr.0 >> page_bytes.trailing_zeros())
}

/// Where the frame of a page is in the table.
#[inline]
fn place(key: u64) -> (u64, usize) {
    (key >> LEVEL_BITS, key as usize % (1 << LEVEL_BITS))
}

impl PageTable {
    /// A memory of `size`, a multiple of 2 MB, in pages of `page`, all free.
    pub fn new(size: Bytes, page: Bytes, seed: u64) -> PageTable {
        PageTable {
            page_bytes: page.0,
            frames: size.0 / page.0,
            blocks: Permutation::new(size.0 / BLOCK_BYTES, seed),
            within_block: Permutation::new(BLOCK_BYTES / page.0, !seed),
            used: 0,
            table: FxHashMap::default(),
            walked: None,
            tables: FxHashMap::default(),
            spare: 0..0,
            told: Vec::new(),
        }
    }

    /// The same memory with its pages placed otherwise.
    #[must_use]
    pub fn placed(mut self, placement: Placement, seed: u64) -> PageTable {
        if placement == Placement::Scattered {
            self.blocks = Permutation::new(self.frames, seed);
            self.within_block = Permutation::new(1, seed);
        }
        self
    }

    /// The same memory with page tables for `walker`, if there is one.
    #[must_use]
    pub fn walked_by(mut self, walker: Option<&WalkerConfig>) -> PageTable {
        self.walked = walker.map(|walker| (walker.levels, walker.layout));
        self
    }

    /// The tables of all pages, in the order in which the pages got their frames; none if no walker reads them.
    pub fn tables(&self) -> &[PageTables] {
        &self.told
    }

    /// The size of a page in bytes.
    #[inline]
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// The start of the frame of a page, which gets one if it has none.
    ///
    /// # Errors
    /// [`OutOfMemory`] if none is left.
    pub fn frame(&mut self, key: u64) -> Result<PhysAddr, OutOfMemory> {
        if let Some(frame) = self.known_frame(key) {
            return Ok(frame);
        }
        let frame = self.take()?;
        let (leaf, index) = place(key);
        self.table.entry(leaf).or_insert_with(|| Box::new([UNTOUCHED; 1 << LEVEL_BITS]))[index] = frame;
        if let Some((levels, layout)) = self.walked {
            let tables = self.tables_of(PageKey(key), levels, layout)?;
            self.told.push(tables);
        }
        Ok(PhysAddr(frame * self.page_bytes))
    }

    /// The start of the frame of a page, if it has one.
    #[inline]
    pub fn known_frame(&self, key: u64) -> Option<PhysAddr> {
        let (leaf, index) = place(key);
        let frame = self.table.get(&leaf).map(|leaf| leaf[index])?;
        (frame != UNTOUCHED).then(|| PhysAddr(frame * self.page_bytes))
    }

    /// The next free frame.
    fn take(&mut self) -> Result<u64, OutOfMemory> {
        if self.used == self.frames {
            return Err(OutOfMemory { size: Bytes(self.frames * self.page_bytes), page: Bytes(self.page_bytes) });
        }
        let per_block = self.within_block.len;
        let frame = self.blocks.at(self.used / per_block) * per_block + self.within_block.at(self.used % per_block);
        self.used += 1;
        Ok(frame)
    }

    /// The lines that a walk for this page reads, from the root down. Pages of 2 MB have no last level.
    fn tables_of(&mut self, page: PageKey, levels: usize, layout: TableLayout) -> Result<PageTables, OutOfMemory> {
        let (process, number) = (page.0 >> PROCESS_SHIFT, page.0 & ((1 << PROCESS_SHIFT) - 1));
        let huge = usize::from(self.page_bytes > PAGE_BYTES as u64);
        let mut tables = PageTables { page, lines: Default::default() };
        for step in 0..levels - huge {
            // The level counts from the bottom; the root is the table that all pages of a process share.
            let level = levels - huge - step;
            let (chooser, index) = match layout {
                TableLayout::Radix => (number >> (LEVEL_BITS * level), number >> (LEVEL_BITS * (level - 1))),
                TableLayout::PagePerEntry if step == 0 => (0, number >> (LEVEL_BITS * (level - 2))),
                TableLayout::PagePerEntry => {
                    let entry = number >> (LEVEL_BITS * (level - 1));
                    (entry, entry)
                }
            };
            let place = self.table_page(level, process << PROCESS_SHIFT | chooser)?;
            let offset = index % (1 << LEVEL_BITS) * ENTRY_BYTES;
            tables.lines.push(LineAddr((place * PAGE_BYTES as u64 + offset) / LINE_BYTES as u64));
        }
        Ok(tables)
    }

    fn table_page(&mut self, level: usize, chooser: u64) -> Result<u64, OutOfMemory> {
        if let Some(&place) = self.tables.get(&(level, chooser)) {
            return Ok(place);
        }
        let place = match self.spare.next() {
            Some(place) => place,
            None => {
                let pages = self.page_bytes / PAGE_BYTES as u64;
                let first = self.take()? * pages;
                self.spare = first + 1..first + pages;
                first
            }
        };
        self.tables.insert((level, chooser), place);
        Ok(place)
    }

    /// Memory in use.
    pub fn used(&self) -> Bytes {
        Bytes(self.used * self.page_bytes)
    }
}

/// A seeded permutation of `0..len`: a four-round Feistel network over the next even power of two, walked until it lands
/// inside.
struct Permutation {
    len: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    fn new(len: u64, seed: u64) -> Permutation {
        let bits = (64 - len.saturating_sub(1).leading_zeros()).max(2);
        let mut random = Random::new(seed);
        Permutation { len, half_bits: bits.div_ceil(2), keys: std::array::from_fn(|_| random.word()) }
    }

    fn at(&self, index: u64) -> u64 {
        let mut value = self.round_trip(index);
        while value >= self.len {
            value = self.round_trip(value);
        }
        value
    }

    fn round_trip(&self, value: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        (left << self.half_bits) | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_is_handed_out_once_and_then_memory_is_full() {
        let mut table = PageTable::new(Bytes(6 << 20), Bytes(4096), 7);
        let mut frames: Vec<u64> = (0..1536).map(|page| table.frame(page).unwrap().0 / 4096).collect();
        assert_ne!(frames[..4], [0, 1, 2, 3], "frames are scattered");
        assert!(frames[..512].iter().all(|frame| frame / 512 == frames[0] / 512), "within one block of 2 MB");
        frames.sort_unstable();
        assert_eq!(frames, (0..1536).collect::<Vec<_>>());
        assert_eq!(table.frame(5), table.frame(5));
        assert!(table.frame(1536).unwrap_err().to_string().contains("6 MB"));
    }

    #[test]
    fn another_seed_scatters_otherwise_and_the_same_seed_alike() {
        let frames = |seed| {
            let mut table = PageTable::new(Bytes(8 << 30), Bytes(2 << 20), seed);
            (0..100).map(|page| table.frame(page).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(frames(1), frames(1));
        assert_ne!(frames(1), frames(2));
    }

    fn walked(page: u64, layout: TableLayout, keys: &[u64]) -> Vec<PageTables> {
        let walker = WalkerConfig {
            levels: 4,
            layout,
            structure_caches: vec![1; 3],
            outstanding: 1,
            latency_cycles: 0,
            step_cycles: 0,
            waiting_accesses: None,
            first_touch_cycles: 0,
        };
        let mut table = PageTable::new(Bytes(64 << 20), Bytes(page), 7).walked_by(Some(&walker));
        for &key in keys {
            table.frame(key).unwrap();
        }
        table.tables().to_vec()
    }

    #[test]
    fn neighbouring_pages_share_all_their_tables_and_distant_ones_only_the_root() {
        let tables = walked(4096, TableLayout::Radix, &[0, 1, 8, 1 << 9, 1 << 27]);
        assert_eq!(tables[0].lines.len(), 4);
        assert_eq!(tables[0].lines, tables[1].lines, "eight entries fit a line");
        assert_eq!(tables[2].lines[3].0, tables[0].lines[3].0 + 1);
        let shared = |other: usize| (0..4).filter(|&step| tables[other].lines[step] == tables[0].lines[step]).count();
        assert_eq!((shared(2), shared(3), shared(4)), (3, 3, 1));
        assert_ne!(tables[3].lines[3].0 / 64, tables[0].lines[3].0 / 64, "another table");
    }

    #[test]
    fn huge_pages_have_a_level_less() {
        assert_eq!(walked(2 << 20, TableLayout::Radix, &[1 << 63])[0].lines.len(), 3);
    }

    #[test]
    fn with_a_page_for_each_entry_no_two_pages_share_their_last_line() {
        let tables = walked(4096, TableLayout::PagePerEntry, &[0, 1, 2]);
        assert_eq!(tables[0].lines[..3], tables[1].lines[..3]);
        assert_ne!(tables[0].lines[3], tables[1].lines[3]);
    }

    #[test]
    fn pages_of_two_processes_are_different_pages_in_frames_of_their_own() {
        let keys = [1, 2].map(|process| page_key(process, VirtAddr(0x1000), 4096));
        assert_ne!(keys[0], keys[1]);
        let mut table = PageTable::new(Bytes(4 << 20), Bytes(4096), 1);
        let frames = keys.map(|key| table.frame(key).unwrap());
        assert_ne!(frames[0], frames[1]);
        assert_eq!(keys.map(|key| table.known_frame(key)), frames.map(Some));
    }
}
