//! Placement of page tables in memory: the lines that a walk for each page reads.

use super::frames::Frames;
use super::{LEVEL_BITS, OutOfMemory, PROCESS_SHIFT};
use crate::node::{PageKey, PageTables, TableLayout, WalkerConfig};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use units::{LINE_BYTES, LineAddr, PAGE_BYTES};

/// Bytes of one entry of a page table.
const ENTRY_BYTES: u64 = 8;

/// The tables of all pages.
pub(super) struct WalkedTables {
    levels: usize,
    layout: TableLayout,
    page_bytes: u64,
    /// Physical page numbers of page tables, by level and by the bits of a page's number that select the table.
    tables: FxHashMap<(usize, u64), u64>,
    /// Unused pages of the frame that was last allocated for page tables.
    spare: Range<u64>,
    pages: FxHashSet<u64>,
    all: Vec<PageTables>,
}

impl WalkedTables {
    /// Creates an empty set of tables.
    pub fn new(walker: &WalkerConfig, page_bytes: u64) -> WalkedTables {
        WalkedTables {
            levels: walker.levels,
            layout: walker.layout,
            page_bytes,
            tables: FxHashMap::default(),
            spare: 0..0,
            pages: FxHashSet::default(),
            all: Vec::new(),
        }
    }

    /// Returns the tables of all pages, in the order in which the pages got their tables.
    pub fn all(&self) -> &[PageTables] {
        &self.all
    }

    /// Adds tables for a page without tables.
    pub fn add(&mut self, key: u64, frames: &mut Frames) -> Result<(), OutOfMemory> {
        if self.pages.insert(key) {
            let tables = self.tables_of(PageKey(key), frames)?;
            self.all.push(tables);
        }
        Ok(())
    }

    /// Returns the lines that a walk for this page reads, from the root down. Pages of 2 MB have no last level.
    fn tables_of(&mut self, page: PageKey, frames: &mut Frames) -> Result<PageTables, OutOfMemory> {
        let (process, number) = (page.0 >> PROCESS_SHIFT, page.0 & ((1 << PROCESS_SHIFT) - 1));
        let (levels, layout) = (self.levels, self.layout);
        let huge = usize::from(self.page_bytes > PAGE_BYTES as u64);
        let mut tables = PageTables { page, lines: Default::default() };
        for step in 0..levels - huge {
            // Levels are counted from the lowest level. The root is the table that all pages of a process share.
            let level = levels - huge - step;
            let (chooser, index) = match layout {
                TableLayout::Radix => (number >> (LEVEL_BITS * level), number >> (LEVEL_BITS * (level - 1))),
                TableLayout::PagePerEntry if step == 0 => (0, number >> (LEVEL_BITS * (level - 2))),
                TableLayout::PagePerEntry => {
                    let entry = number >> (LEVEL_BITS * (level - 1));
                    (entry, entry)
                }
            };
            let table = self.table_page(level, process << PROCESS_SHIFT | chooser, frames)?;
            let offset = index % (1 << LEVEL_BITS) * ENTRY_BYTES;
            tables.lines.push(LineAddr((table * PAGE_BYTES as u64 + offset) / LINE_BYTES as u64));
        }
        Ok(tables)
    }

    fn table_page(&mut self, level: usize, chooser: u64, frames: &mut Frames) -> Result<u64, OutOfMemory> {
        if let Some(&table) = self.tables.get(&(level, chooser)) {
            return Ok(table);
        }
        let table = match self.spare.next() {
            Some(table) => table,
            None => {
                let pages = self.page_bytes / PAGE_BYTES as u64;
                let first = frames.take()? * pages;
                self.spare = first + 1..first + pages;
                first
            }
        };
        self.tables.insert((level, chooser), table);
        Ok(table)
    }
}
