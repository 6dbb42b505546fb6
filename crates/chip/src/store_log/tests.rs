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

/// A program's second store is accepted before the first, and its core continues behind both. Returns the lines of
/// overtaking stores, and at the loss those of stores left out.
fn reported(planted: PlantedBug) -> (Vec<LineAddr>, Vec<LineAddr>) {
    let mut log = StoreLog::new(1, Certain::Accepted).with_planted(planted);
    let [loss, later] = [7, 8].map(Time::from_fs);
    [LINES[0], LINES[1], LINES[0]].into_iter().for_each(|line| store(&mut log, line));
    log.reached_acceptance(0, loss, true);
    log.reached_acceptance(0, loss, true);
    log.reached_acceptance(0, later, true);
    log.accept(0, LINES[1]);
    let lines = |store: &Store| store.line;
    (log.overtaking().iter().map(lines).collect(), log.left_out(loss).map(lines).collect())
}

#[test]
fn the_store_log_reports_a_store_that_overtakes_and_a_store_left_out() {
    assert_eq!(reported(PlantedBug::NONE), (vec![LINES[1]], vec![LINES[0]]), "the third store comes after the loss");
}

#[test]
fn a_store_is_left_out_only_if_its_core_continued_by_the_loss() {
    let left_out = |goes_on, until| {
        let mut log = StoreLog::new(1, Certain::Accepted);
        store(&mut log, LINES[0]);
        log.reached_acceptance(0, Time::from_fs(7), goes_on);
        log.left_out(Time::from_fs(until)).count()
    };
    assert_eq!([left_out(true, 7), left_out(true, 6), left_out(false, 7)], [1, 0, 0]);
}

#[cfg(feature = "planted-bugs")]
#[test]
fn planted_bugs_of_the_store_log_hide_overtaking_stores_or_stores_left_out() {
    let hidden = |bug: ChipBug| reported(PlantedBug::new(bug.into()));
    assert_eq!(hidden(ChipBug::OvertakingNotNoted), (vec![], vec![LINES[0]]));
    assert_eq!(hidden(ChipBug::LeftOutNotCounted), (vec![LINES[1]], vec![]));
}

/// The certain content of a line that the kernel changes: after the change is accepted, arrives, and a store follows.
fn changed_content(certain: Certain) -> [u8; 3] {
    let mut log = StoreLog::new(1, certain);
    log.shown(0, LINES[0], &[1; LINE_BYTES]);
    log.shown(0, LINES[0], &[2; LINE_BYTES]);
    store(&mut log, LINES[1]);
    let content = |log: &StoreLog| {
        let held = log.surviving_of(LINES[0]).held;
        (0..3).find(|byte| held.fits(&[*byte; LINE_BYTES])).unwrap()
    };
    log.change_accepted(0, LINES[0]);
    let accepted = content(&log);
    log.accept(0, LINES[1]);
    let followed = content(&log);
    log.change_arrived(LINES[0], log.accepted_of(LINES[0]));
    [accepted, followed, content(&log)]
}

#[test]
fn a_change_by_the_kernel_is_certain_as_soon_as_the_design_makes_it_durable() {
    assert_eq!(changed_content(Certain::Accepted), [2, 2, 2]);
    assert_eq!(changed_content(Certain::Arrived), [1, 2, 2], "the controller writes it before the next store");
    assert_eq!(changed_content(Certain::Fenced), [1, 1, 2], "when its write has ended");
}

/// A change by the kernel replaces the whole line, so memory then shows no store of the line, and may have received the
/// change before earlier stores to other lines.
#[test]
fn a_line_that_the_kernel_has_overwritten_shows_no_store_until_the_next_one() {
    let mut log = StoreLog::new(1, Certain::Accepted);
    let shows = |log: &StoreLog| log.surviving_of(LINES[0]).held.last_shown().map(|store| store.number);
    store(&mut log, LINES[0]);
    log.accept(0, LINES[0]);
    assert_eq!(shows(&log), Some(0));
    log.shown(0, LINES[0], &[9; LINE_BYTES]);
    log.change_accepted(0, LINES[0]);
    assert_eq!(shows(&log), None);
    assert_eq!(log.surviving_of(LINES[0]).held.last().map(|store| store.number), Some(0));
    store(&mut log, LINES[0]);
    log.accept(0, LINES[0]);
    assert_eq!(shows(&log), Some(1));
}
