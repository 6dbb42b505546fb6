//! Tests the account without a chip: stores that flushes and fences make certain, and stores that were not accepted.

use super::*;

const LINES: [LineAddr; 2] = [LineAddr(3), LineAddr(4)];

fn store(log: &mut StoreLog, line: LineAddr) {
    log.piece(line, 0..8, 7, (VirtAddr(1), VirtAddr(2)));
    log.stored(0, line, 0..8);
    log.executed();
}

fn flush(line: LineAddr) -> Orders {
    Orders { flushes: vec![line], ..Orders::default() }
}

fn fence() -> Orders {
    Orders { fence: true, ..Orders::default() }
}

/// Makes a store to a line, a flush of the line, a second store to the line, the flushes and fences in `between`, and a
/// store to another line. Returns the number of certain stores to the first line when all three stores are accepted.
fn certain_of_two(between: &[Orders]) -> u64 {
    let mut log = StoreLog::new(1, Certain::Fenced);
    store(&mut log, LINES[0]);
    log.ordered(0, &flush(LINES[0]));
    store(&mut log, LINES[0]);
    between.iter().for_each(|ordered| log.ordered(0, ordered));
    store(&mut log, LINES[1]);
    for line in [LINES[0], LINES[0], LINES[1]] {
        log.accept(0, line);
    }
    log.surviving_of(LINES[0]).held.last().map_or(0, |last| last.number + 1)
}

#[test]
fn an_accepted_store_after_a_fence_implies_durability_of_stores_flushed_before_it() {
    assert_eq!(certain_of_two(&[fence()]), 1);
    assert_eq!(certain_of_two(&[flush(LINES[0]), fence()]), 2);
}

#[test]
fn a_flush_without_a_later_fence_implies_durability_of_no_store() {
    assert_eq!(certain_of_two(&[]), 0);
    assert_eq!(certain_of_two(&[flush(LINES[0])]), 0);
}

#[test]
fn a_fence_does_not_imply_durability_of_flushes_of_another_core() {
    let mut log = StoreLog::new(2, Certain::Fenced);
    store(&mut log, LINES[0]);
    log.ordered(0, &flush(LINES[0]));
    log.ordered(1, &fence());
    log.piece(LINES[1], 0..8, 7, (VirtAddr(1), VirtAddr(2)));
    log.stored(1, LINES[1], 0..8);
    log.accept(0, LINES[0]);
    log.accept(1, LINES[1]);
    assert_eq!(log.surviving_of(LINES[0]).under_way.len(), 1);
}

#[test]
fn the_store_log_lists_the_stores_that_are_not_yet_accepted() {
    let mut log = StoreLog::new(1, Certain::Accepted);
    LINES.into_iter().for_each(|line| store(&mut log, line));
    log.accept(0, LINES[0]);
    assert!(!log.has_accepted_all());
    assert_eq!(log.not_accepted().map(|store| store.number).collect::<Vec<_>>(), [1]);
    log.accept(0, LINES[1]);
    assert!(log.has_accepted_all() && log.not_accepted().next().is_none());
}
