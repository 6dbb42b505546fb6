//! Compares copies and data in one set of an L2 with a plain list of both.

use super::*;
use crate::shadow::Shadow;
use machine::llc::Inclusion;
use machine::node::{PageKey, Touch};
use proptest::prelude::*;
use protection::on_chip::{Copies, CopyCounts, Geometry};
use sim::Executor;
use std::cell::RefCell;
use units::{Bytes, LINE_BYTES, LineAddr, ZERO_LINE};

/// Number of the L2's entries.
const WAYS: usize = 8;
/// Maximum copies in the L2.
const QUOTA: usize = 3;

/// Chip with copies in its L2s. Each L2 has one set behind an L1D of one line.
struct Bench {
    chip: Rc<Chip>,
    copies: Copies,
    /// First slot after the data.
    first: u64,
}

impl Bench {
    fn new() -> Bench {
        Bench::over(Inclusion::Victim)
    }

    /// Creates a bench with this inclusion of the last-level cache.
    fn over(inclusion: Inclusion) -> Bench {
        let mut machine = catalogue::machine("emcc-4core").unwrap();
        machine.llc.inclusion = inclusion;
        let size = |lines: usize| Bytes((lines * LINE_BYTES) as u64);
        (machine.node.l1d.size, machine.node.l1d.ways) = (size(1), 1);
        (machine.node.l2.size, machine.node.l2.ways) = (size(WAYS), WAYS);
        (machine.node.l1d.prefetcher, machine.node.l2.prefetcher) = (None, None);
        let first = machine.memory.size.0 / LINE_BYTES as u64;
        let chip = Chip::new(Executor::new().clock(), &machine, Rc::new(RefCell::new(Shadow::new(first))));
        let mut copies = Copies::new(Geometry { sets: 1, ways: QUOTA });
        copies.lie_in(places(&chip));
        Bench { chip, copies, first }
    }

    fn touch(&self, line: u64, store: bool) {
        let touch = Touch {
            page: PageKey(0),
            line: LineAddr(line),
            offset: 0,
            bytes: 8,
            store,
            persistent: true,
            past_caches: false,
        };
        let mut node = self.chip.cores.nodes()[0].borrow_mut();
        node.warm_data(&touch);
        node.caches_mut().outgoing.move_to(&mut Vec::new());
    }

    fn enter(&mut self, copy: u64) {
        self.copies.enter(0, Slot(self.first + copy), &ZERO_LINE, false);
    }

    fn finds(&mut self, copy: u64) -> bool {
        self.copies.look_up(0, Slot(self.first + copy)).is_some()
    }

    /// Returns those of the data lines that are in the private caches.
    fn data(&self, lines: std::ops::Range<u64>) -> Vec<u64> {
        lines.filter(|line| self.chip.cores.nodes()[0].borrow().caches().holds(LineAddr(*line))).collect()
    }
}

#[test]
fn a_copy_of_counters_evicts_data_from_its_l2() {
    let mut bench = Bench::new();
    (0..8).for_each(|line| bench.touch(line, false));
    assert_eq!(bench.data(0..8).len(), 8);
    bench.enter(0);
    assert_eq!(bench.data(0..8), (1..8).collect::<Vec<_>>());
    assert!(bench.chip.llc.holds(LineAddr(0)), "it goes where data goes that data displaces");
    bench.copies.drop_all(Slot(bench.first));
    bench.touch(8, false);
    assert_eq!(bench.data(0..9), (1..9).collect::<Vec<_>>(), "a copy that goes leaves its place");
}

#[test]
fn dirty_data_evicted_by_a_counter_copy_becomes_dirty_in_the_last_level_cache() {
    let mut bench = Bench::new();
    (0..7).for_each(|line| bench.touch(line, true));
    (0..3).for_each(|copy| bench.enter(copy));
    let dirty: Vec<LineAddr> = bench.chip.llc.dirty_lines();
    assert_eq!(dirty, [LineAddr(0), LineAddr(1)], "one place was free");
}

#[test]
fn a_clean_line_evicted_by_a_counter_copy_is_written_back_if_unverified_in_the_llc() {
    let mut bench = Bench::over(Inclusion::Inclusive);
    let line = LineAddr(0);
    bench.chip.llc.fetched_unverified(line);
    bench.chip.cores.nodes()[0].borrow_mut().caches_mut().l2.clean_victims.owe(line);
    (0..8).for_each(|line| bench.touch(line, false));
    bench.enter(0);
    assert!(!bench.chip.llc.is_unverified(line));
    assert_eq!(bench.chip.llc.counts().clean_writebacks, 1);
}

#[test]
fn data_may_evict_a_counter_copy_and_the_copy_may_be_cached_again() {
    let mut bench = Bench::new();
    bench.enter(0);
    assert!(bench.finds(0));
    (0..8).for_each(|line| bench.touch(line, false));
    let CopyCounts { displaced, useless, .. } = bench.copies.counts();
    assert_eq!((displaced, useless), (1, 1), "it served no read from memory");
    assert!(!bench.finds(0) && bench.chip.llc.dirty_lines().is_empty());
    bench.enter(0);
    assert!(bench.finds(0));
}

#[test]
fn an_l2_holds_no_more_copies_than_its_quota() {
    let mut bench = Bench::new();
    (0..8).for_each(|line| bench.touch(line, false));
    (0..8).for_each(|copy| bench.enter(copy));
    assert_eq!(bench.data(0..8), (3..8).collect::<Vec<_>>(), "copies displace copies then");
    assert_eq!((0..8).filter(|copy| bench.finds(*copy)).collect::<Vec<_>>(), [5, 6, 7]);
    assert_eq!(bench.copies.counts().displaced, 0);
}

#[test]
fn an_l2_that_stops_decrypting_releases_its_counter_copies_without_evictions() {
    let mut bench = Bench::new();
    (0..3).for_each(|copy| bench.enter(copy));
    bench.copies.let_begin(0, false);
    (0..8).for_each(|line| bench.touch(line, false));
    assert_eq!((bench.data(0..8).len(), bench.copies.counts().displaced), (8, 0));
    bench.copies.let_begin(0, true);
    (0..3).for_each(|copy| bench.enter(copy));
    bench.copies.forget();
    (0..8).for_each(|line| bench.touch(line, false));
    assert_eq!((bench.data(0..8).len(), bench.copies.counts().displaced), (8, 0));
}

/// Plain model: the L2 is a list of its lines, most recent first.
#[derive(Default)]
struct Naive {
    l1: Option<(u64, bool)>,
    l2: Vec<Held>,
    /// Copies, most recent first.
    copies: Vec<u64>,
    seen: CopyCounts,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    Data { line: u64, dirty: bool },
    Copy { copy: u64, unused: u64 },
}

impl Naive {
    fn take(&mut self, which: impl Fn(&Held) -> bool) -> Option<Held> {
        let at = self.l2.iter().position(which)?;
        Some(self.l2.remove(at))
    }

    fn copy(&mut self, copy: u64) -> Option<u64> {
        let held = self.take(|held| matches!(held, Held::Copy { copy: other, .. } if *other == copy))?;
        let Held::Copy { unused, .. } = held else { return None };
        self.copies.retain(|other| *other != copy);
        Some(unused)
    }

    fn put(&mut self, held: Held) {
        self.l2.insert(0, held);
        if self.l2.len() > WAYS
            && let Some(Held::Copy { copy, unused }) = self.l2.pop()
        {
            self.copies.retain(|other| *other != copy);
            self.seen.displaced += 1;
            self.seen.useless += unused;
        }
    }

    fn data(&mut self, line: u64, dirty: bool) {
        let was = self.take(|held| matches!(held, Held::Data { line: other, .. } if *other == line));
        let was_dirty = was.is_some_and(|held| matches!(held, Held::Data { dirty: true, .. }));
        self.put(Held::Data { line, dirty: dirty || was_dirty });
    }

    fn touch(&mut self, line: u64, store: bool) {
        if let Some((_, dirty)) = self.l1.as_mut().filter(|(held, _)| *held == line) {
            *dirty |= store;
            return;
        }
        self.data(line, false);
        if let Some((line, true)) = self.l1.replace((line, store)) {
            self.data(line, true);
        }
    }

    fn enter(&mut self, copy: u64) {
        let there = self.copy(copy);
        self.seen.entered += u64::from(there.is_none());
        if there.is_none() && self.copies.len() == QUOTA {
            let oldest = self.copies[QUOTA - 1];
            self.seen.useless += self.copy(oldest).unwrap();
        }
        self.copies.insert(0, copy);
        self.put(Held::Copy { copy, unused: there.unwrap_or(0) + 1 });
    }

    fn finds(&mut self, copy: u64) -> bool {
        let found = self.copy(copy);
        self.seen.hits += u64::from(found.is_some());
        self.seen.misses += u64::from(found.is_none());
        if let Some(unused) = found {
            self.copies.insert(0, copy);
            self.l2.insert(0, Held::Copy { copy, unused });
        }
        found.is_some()
    }

    fn drop_all(&mut self, copy: u64) {
        if let Some(unused) = self.copy(copy) {
            self.seen.invalidated += 1;
            self.seen.useless += unused;
        }
    }

    fn holds(&self) -> Vec<u64> {
        let in_l2 = self.l2.iter().filter_map(|held| match held {
            Held::Data { line, .. } => Some(*line),
            Held::Copy { .. } => None,
        });
        let mut lines: Vec<u64> = in_l2.chain(self.l1.map(|(line, _)| line)).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Touch { store: bool },
    Enter,
    LookUp,
    Change,
}

fn some_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => any::<bool>().prop_map(|store| Event::Touch { store }),
        3 => Just(Event::Enter),
        2 => Just(Event::LookUp),
        1 => Just(Event::Change),
    ]
}

proptest! {
    #[test]
    fn counter_copies_and_data_evict_each_other_as_in_a_naive_lru_model(
        script in prop::collection::vec((some_event(), 0..14u64), 1..200),
    ) {
        let (mut bench, mut naive) = (Bench::new(), Naive::default());
        for (event, which) in script {
            match event {
                Event::Touch { store } => {
                    bench.touch(which, store);
                    naive.touch(which, store);
                }
                Event::Enter => {
                    bench.enter(which % 6);
                    naive.enter(which % 6);
                }
                Event::LookUp => prop_assert_eq!(bench.finds(which % 6), naive.finds(which % 6)),
                Event::Change => {
                    bench.copies.drop_all(Slot(bench.first + which % 6));
                    naive.drop_all(which % 6);
                }
            }
            prop_assert_eq!(bench.copies.counts(), naive.seen);
            prop_assert_eq!(bench.data(0..14), naive.holds());
        }
    }
}
