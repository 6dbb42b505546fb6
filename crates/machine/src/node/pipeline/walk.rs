//! The page-table walker: reads missing translations from memory.
//!
//! A walk reads one entry per level through the first-level data cache, like a load, and starts each read when the
//! previous one has arrived. Page-structure caches contain the addresses of the page tables of recent walks, so most
//! walks read only the last level. The feed passes the addresses of the page tables of a page when the page is first
//! touched.
//!
//! In ChampSim each entry of a table has a separate page ([`TableLayout::PagePerEntry`]). A structure cache then
//! contains the page of the entry that was read last, so a walk that starts at this page reads the entry of that level
//! again.

use crate::cache::TagArray;
use crate::node::config::{NodeConfig, TableLayout, WalkerConfig};
use crate::node::interface::{PageKey, PageTables, WALK_LEVELS_MAX};
use crate::node::pipeline::translated::{Side, Translated};
use arrayvec::ArrayVec;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use units::LineAddr;

/// Lines of a page.
const PAGE_LINES: u64 = 64;
/// Bits of a page's number that one level translates.
const LEVEL_BITS: usize = 9;
/// The part of a [`PageKey`] that is the page's number; the process is above.
const NUMBER_BITS: u64 = (1 << 40) - 1;
/// Entries of a page table in one line.
const LINE_ENTRIES: u64 = 8;

/// A walk that is active or waits for its turn.
#[derive(Clone, Debug)]
pub(in crate::node) struct PageWalk {
    pub(in crate::node) page: PageKey,
    /// Cycle at which the walk was requested.
    pub(in crate::node) requested: u64,
    step: usize,
    /// First line to read, if a structure cache supplies it.
    first: Option<LineAddr>,
    pub(in crate::node) waiters: Vec<(Side, Translated)>,
}

/// A page-structure cache, which maps the translated part of a page number to the page of the next table.
#[derive(Clone, Debug)]
struct StructureCache {
    tags: TagArray,
    frames: Box<[u64]>,
}

/// Next action of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) enum WalkAction {
    /// Read this line at this cycle.
    Read(LineAddr, u64),
    /// The walk is done at this cycle.
    Done(u64),
}

/// The walker of one core.
#[derive(Clone, Debug)]
pub(in crate::node) struct PageWalker {
    config: WalkerConfig,
    tables: FxHashMap<PageKey, ArrayVec<LineAddr, WALK_LEVELS_MAX>>,
    caches: Vec<StructureCache>,
    walks: Vec<Option<PageWalk>>,
    by_page: FxHashMap<PageKey, usize>,
    waiting: VecDeque<PageWalk>,
    /// Number of accesses that wait for walks.
    inside: usize,
    /// Accesses that L1D does not admit because too many accesses wait for walks, with the cycles of their arrival.
    outside: VecDeque<(Translated, u64)>,
    /// Pages, and pages of tables, that a walk has reached.
    touched: FxHashSet<u64>,
    /// True if retirement waited for a line that arrived since the last call of `has_served_awaited`. The line was
    /// needed for the translation of the oldest load, or of code while the window was empty.
    awaited_served: bool,
}

impl PageWalker {
    pub(in crate::node) fn new(config: &NodeConfig) -> Option<PageWalker> {
        let config = config.walker.clone()?;
        let cache =
            |&entries: &usize| StructureCache { tags: TagArray::new(1, entries), frames: vec![0; entries].into() };
        Some(PageWalker {
            caches: config.structure_caches.iter().map(cache).collect(),
            walks: vec![None; config.outstanding],
            config,
            tables: FxHashMap::default(),
            by_page: FxHashMap::default(),
            waiting: VecDeque::new(),
            inside: 0,
            outside: VecDeque::new(),
            touched: FxHashSet::default(),
            awaited_served: false,
        })
    }

    /// Stores the addresses of the page tables of a page.
    pub(in crate::node) fn learn(&mut self, tables: &PageTables) {
        self.tables.insert(tables.page, tables.lines.clone());
    }

    /// Adds a waiter to the walk for `page`; returns false if no walk for the page exists.
    pub(in crate::node) fn join(&mut self, page: PageKey, waiter: (Side, Translated)) -> bool {
        if let Some(&position) = self.by_page.get(&page)
            && let Some(walk) = &mut self.walks[position]
        {
            self.inside += waiter.1.counted();
            walk.waiters.push(waiter);
            return true;
        }
        let waiting = self.waiting.iter_mut().find(|walk| walk.page == page);
        let Some(walk) = waiting else { return false };
        self.inside += waiter.1.counted();
        walk.waiters.push(waiter);
        true
    }

    /// Returns true if one more access may wait for a walk.
    #[inline]
    pub(in crate::node) fn has_room(&self) -> bool {
        self.config.waiting_accesses.is_none_or(|limit| self.inside < limit)
    }

    /// Makes an access that arrived at `cycle` wait outside until there is room for it.
    pub(in crate::node) fn wait_outside(&mut self, goal: Translated, cycle: u64) {
        self.outside.push_back((goal, cycle));
    }

    /// Removes the next access that waits outside, if there is room for it: the first store, else the first load.
    pub(in crate::node) fn next_outside(&mut self) -> Option<(Translated, u64)> {
        if !self.has_room() {
            return None;
        }
        let store = self.outside.iter().position(|(goal, _)| matches!(goal, Translated::Store { .. }));
        self.outside.remove(store.unwrap_or(0))
    }

    /// Begins a walk. Returns the entry of the walker and the first action, or `None` if the walk waits for a free
    /// entry.
    pub(in crate::node) fn begin(
        &mut self,
        page: PageKey,
        cycle: u64,
        waiter: (Side, Translated),
    ) -> Option<(usize, WalkAction)> {
        let walk = PageWalk { page, requested: cycle, step: 0, first: None, waiters: vec![waiter] };
        self.inside += waiter.1.counted();
        let Some(position) = self.walks.iter().position(Option::is_none) else {
            self.waiting.push_back(walk);
            return None;
        };
        Some((position, self.start(position, walk, cycle)))
    }

    /// Starts the walk that has waited for longest, after another walk ended at `cycle`.
    pub(in crate::node) fn begin_waiting(&mut self, cycle: u64) -> Option<(usize, WalkAction)> {
        let position = self.walks.iter().position(Option::is_none)?;
        let walk = self.waiting.pop_front()?;
        let cycle = cycle.max(walk.requested);
        Some((position, self.start(position, walk, cycle)))
    }

    fn start(&mut self, position: usize, mut walk: PageWalk, cycle: u64) -> WalkAction {
        let page = walk.page;
        (walk.step, walk.first) = self.shortcut(page);
        let line = walk.first.unwrap_or_else(|| self.lines(page)[walk.step]);
        self.by_page.insert(page, position);
        self.walks[position] = Some(walk);
        WalkAction::Read(line, cycle + self.config.step_cycles)
    }

    /// Returns the step at which a walk starts: the structure caches let it skip the earlier steps.
    fn shortcut(&mut self, page: PageKey) -> (usize, Option<LineAddr>) {
        let steps = self.lines(page).len();
        for step in (0..steps - 1).rev() {
            let cache = &mut self.caches[step];
            let Some(slot) = cache.tags.lookup(part(page, steps - 1 - step)) else { continue };
            if self.config.layout == TableLayout::Radix {
                return (step + 1, None);
            }
            let entry = part(page, steps - 2 - step) % (1 << LEVEL_BITS);
            return (step, Some(LineAddr(cache.frames[slot.index()] * PAGE_LINES + entry / LINE_ENTRIES)));
        }
        (0, None)
    }

    /// Records that a line arrived for the walk at `position`. `oldest` is the number of the oldest instruction in the
    /// window.
    pub(in crate::node) fn served(&mut self, position: usize, oldest: Option<u64>) {
        let mut waiters = self.walks[position].iter().flat_map(|walk| &walk.waiters);
        self.awaited_served |= waiters.any(|(_, goal)| goal.is_awaited(oldest));
    }

    /// Returns true if retirement waited for a line that arrived since the last call.
    pub(in crate::node) fn has_served_awaited(&mut self) -> bool {
        std::mem::take(&mut self.awaited_served)
    }

    /// Returns the next action of the walk at `position`, after its line arrived at `cycle`.
    pub(in crate::node) fn go_on(&mut self, position: usize, cycle: u64) -> WalkAction {
        let Some(walk) = &mut self.walks[position] else { unreachable!("only a walk under way is answered") };
        let (page, step) = (walk.page, walk.step);
        walk.step += 1;
        let lines = &self.tables[&page];
        let Some(&line) = lines.get(step + 1) else {
            let penalty = self.penalty(!page.0);
            return WalkAction::Done(cycle + penalty + self.config.latency_cycles);
        };
        let (frame, steps) = (line.0 / PAGE_LINES, lines.len());
        let cache = &mut self.caches[step];
        let key = part(page, steps - 1 - step);
        let slot = cache.tags.lookup(key).unwrap_or_else(|| cache.tags.insert(key, false).0);
        cache.frames[slot.index()] = frame;
        WalkAction::Read(line, cycle + self.penalty(frame) + self.config.step_cycles)
    }

    /// Returns the additional cycles if a walk reaches this page or page table for the first time, otherwise zero.
    fn penalty(&mut self, what: u64) -> u64 {
        if self.touched.insert(what) { self.config.first_touch_cycles } else { 0 }
    }

    /// Returns the lines that a walk for `page` reads, if every read returns at once. No walk may be active.
    pub(in crate::node) fn walk_at_once(&mut self, page: PageKey) -> ArrayVec<LineAddr, { WALK_LEVELS_MAX + 1 }> {
        let walk = PageWalk { page, requested: 0, step: 0, first: None, waiters: Vec::new() };
        let mut next = self.start(0, walk, 0);
        let mut lines = ArrayVec::new();
        while let WalkAction::Read(line, _) = next {
            lines.push(line);
            next = self.go_on(0, 0);
        }
        self.end(0);
        lines
    }

    /// Removes the finished walk from its entry.
    pub(in crate::node) fn end(&mut self, position: usize) -> PageWalk {
        let Some(walk) = self.walks[position].take() else { unreachable!("only a walk under way ends") };
        self.by_page.remove(&walk.page);
        self.inside -= walk.waiters.iter().map(|waiter| waiter.1.counted()).sum::<usize>();
        walk
    }

    fn lines(&self, page: PageKey) -> &[LineAddr] {
        match self.tables.get(&page) {
            Some(lines) => lines,
            None => panic!("the feed has no page tables of {page:?}"),
        }
    }
}

/// Returns the page number without the bits of its lowest `levels` levels, with the process above these bits.
fn part(page: PageKey, levels: usize) -> u64 {
    page.0 & !NUMBER_BITS | (page.0 & NUMBER_BITS) >> (LEVEL_BITS * levels)
}
