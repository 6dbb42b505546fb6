//! Tests the locks of lines that a core has stored to, on a chip whose last-level cache has one set.

use super::*;
use crate::shadow::Shadow;
use machine::node::{PageKey, Request, RequestKind, Touch};
use std::cell::RefCell;
use units::{Bytes, Time, Word, ZERO_LINE};

const WAYS: usize = 2;
const LINE: LineAddr = LineAddr(3);
const CHUNK: u64 = LINE.0 / LINES_PER_PAGE_CHUNK;

/// Addresses of lines in other page chunks than `LINE`.
fn elsewhere(index: u64) -> LineAddr {
    LineAddr((1 + index) * LINES_PER_PAGE_CHUNK)
}

/// A chip without its scheme.
struct Bench {
    chip: Rc<Chip>,
    locks: ChipLocks,
}

impl Bench {
    /// Returns a chip with `LINE` in its last-level cache; the page chunk of the line has been permuted since.
    fn new(planted: PlantedBug) -> Bench {
        let mut machine = catalogue::machine("cryptopage-2006").unwrap();
        let line = machine.line_length().bytes();
        (machine.llc.size, machine.llc.ways) = (Bytes((WAYS * line) as u64), WAYS);
        let shadow = Rc::new(RefCell::new(Shadow::new(machine.memory.size.0 / line as u64)));
        let chip = Chip::new(sim::Executor::new().clock(), &machine, shadow);
        chip.llc.lock(LINES_PER_PAGE_CHUNK);
        let bench = Bench { locks: ChipLocks::new(&chip, planted), chip };
        bench.fill(LINE);
        bench.locks.unlock(CHUNK);
        bench
    }

    fn fill(&self, line: LineAddr) {
        assert_eq!(self.locks.reserve(line), Room::Reserved);
        self.locks.filled(line, &ZERO_LINE);
    }

    /// Stores to the line in the caches of the core.
    fn store_above(&self) {
        let touch = Touch {
            page: PageKey(0),
            line: LINE,
            offset: 0,
            bytes: 8,
            store: true,
            persistent: false,
            past_caches: false,
        };
        let mut node = self.chip.cores.nodes()[0].borrow_mut();
        node.warm_data(&touch);
        node.caches_mut().outgoing.move_to(&mut Vec::new());
        drop(node);
        assert_eq!(self.chip.cores.dirty_lines(), [LINE]);
    }

    /// Sends the line with its stores down from the core; the last-level cache has not received it.
    fn send_down(&self) {
        let request = Request { at: Time::ZERO, line: LINE, word: Word::FIRST, kind: RequestKind::WriteBack };
        self.chip.ports.set_outbox(0, vec![request]);
    }

    /// Fills the other way, and requests one more line. The least recently used line is `LINE`.
    fn crowd(&self) -> Room {
        self.fill(elsewhere(0));
        self.locks.reserve(elsewhere(1))
    }
}

fn is_locked_when_its_context_leaves(planted: PlantedBug) -> bool {
    let bench = Bench::new(planted);
    bench.store_above();
    assert!(bench.locks.chunks_with_locks().is_empty(), "the cache does not know of the store");
    bench.locks.lock_stores_above(&|chunk| chunk != CHUNK);
    assert!(bench.locks.chunks_with_locks().is_empty(), "the context of another page chunk leaves");
    bench.locks.lock_stores_above(&|chunk| chunk == CHUNK);
    bench.locks.chunks_with_locks() == [CHUNK]
}

#[test]
fn a_store_in_a_private_cache_locks_its_line_when_its_context_leaves() {
    assert!(is_locked_when_its_context_leaves(PlantedBug::NONE));
}

/// Returns true if a line that is on its way down from a core is locked instead of evicted.
fn stays_while_its_store_comes_down(planted: PlantedBug) -> bool {
    let bench = Bench::new(planted);
    bench.send_down();
    let room = bench.crowd();
    let is_held = bench.chip.llc.holds(LINE);
    assert_eq!(is_held, matches!(room, Room::Permute(_)), "{room:?}");
    is_held
}

#[test]
fn a_line_on_its_way_down_from_a_core_is_locked_instead_of_evicted() {
    assert!(stays_while_its_store_comes_down(PlantedBug::NONE));
}

/// Returns true if a line that is dirty in a private cache counts as read from memory when it is locked.
fn counts_as_read_when_locked(planted: PlantedBug) -> bool {
    let bench = Bench::new(planted);
    bench.store_above();
    assert!(matches!(bench.crowd(), Room::Permute(_)));
    assert!(bench.locks.was_read(elsewhere(0)) && bench.locks.chunks_with_locks().contains(&CHUNK));
    let counts = bench.locks.was_read(LINE);
    bench.locks.unlock(CHUNK);
    assert!(!bench.locks.was_read(LINE), "the page chunk was permuted");
    counts
}

#[test]
fn a_line_that_is_dirty_in_a_private_cache_is_locked_as_stored_and_not_as_read() {
    assert!(!counts_as_read_when_locked(PlantedBug::NONE));
}

#[cfg(feature = "planted-bugs")]
#[test]
fn each_planted_bug_of_the_locks_shows_only_in_its_test() {
    for bug in ChipBug::OF_LOCKS {
        let planted = PlantedBug::new(bug.into());
        let failed = [
            !is_locked_when_its_context_leaves(planted),
            !stays_while_its_store_comes_down(planted),
            counts_as_read_when_locked(planted),
        ];
        assert_eq!(failed, ChipBug::OF_LOCKS.map(|other| other == bug), "{bug:?}");
    }
}
