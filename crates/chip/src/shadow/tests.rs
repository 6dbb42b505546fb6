//! Tests which lines the shadow keeps and forgets, and its reports of changes from outside.

mod forgetting;

use super::persisted::{becomes_mapped, before_show, changes_from_outside, is_persistent, keeps, left_buffer};
use super::*;
use forgetting::forget_all_but;
use machine::observer::ObserverCounts;
use proptest::prelude::*;
use std::collections::BTreeMap;
use workload::Persistent;

const LINE: LineAddr = LineAddr(3);

/// True if the shadow contains these bytes from the beginning of the line on.
fn agrees(shadow: &Shadow, bytes: &[u8]) -> bool {
    shadow.content(LINE).is_some_and(|content| content[..bytes.len()] == *bytes)
}

#[test]
fn a_line_that_becomes_persistent_after_a_store_must_be_written_back_once() {
    let mut shadow = Shadow::new(10).persisted(1, Persistent::Mapped);
    shadow.show(LINE, &[7; 64]);
    shadow.put(LINE);
    assert!(!becomes_mapped(&mut shadow, LineAddr(4)), "nothing was stored to it");
    shadow.store(LINE, 0..1, &[8]);
    assert!(!is_persistent(&shadow, LINE) && !keeps(&shadow, LINE), "what passes the buffer by is not kept for it");
    assert!(becomes_mapped(&mut shadow, LINE));
    assert!(!becomes_mapped(&mut shadow, LINE));
    shadow.store(LINE, 0..1, &[9]);
    assert!(is_persistent(&shadow, LINE) && keeps(&shadow, LINE));
}

#[test]
fn a_store_to_a_line_dropped_from_the_shadow_is_merged_with_the_bytes_from_memory() {
    let mut shadow = Shadow::new(10);
    shadow.show(LINE, &[7; 64]);
    let stored = shadow.put(LINE);
    shadow.forget(&shadow.entries.written_lines());
    assert_eq!(shadow.entries.held(), 0);
    shadow.store(LINE, 8..10, &[1, 2]);
    shadow.returned(LINE, &stored);
    let mut expected = [7; 64];
    expected[8..10].copy_from_slice(&[1, 2]);
    assert_eq!(shadow.put(LINE), expected);
}

#[test]
fn the_shadow_lists_a_line_as_newer_than_memory_from_its_store_to_its_write_back() {
    let mut shadow = Shadow::new(10);
    shadow.show(LINE, &[7; 64]);
    let newer = |shadow: &Shadow| shadow.newer_than_memory().collect::<Vec<_>>();
    assert_eq!(newer(&shadow), [], "memory never had it");
    shadow.put(LINE);
    shadow.store(LINE, 0..1, &[8]);
    assert_eq!(newer(&shadow), [LINE]);
    shadow.put(LINE);
    assert_eq!(newer(&shadow), []);
}

#[test]
fn the_shadow_notices_recorded_external_changes_of_kept_and_dropped_lines() {
    for forgotten in [false, true] {
        let mut shadow = Shadow::new(10);
        assert!(!shadow.show(LINE, &[7; 64]), "the first sight of a line is no change");
        shadow.put(LINE);
        if forgotten {
            shadow.forget(&shadow.entries.written_lines());
        }
        assert!(!shadow.show(LINE, &[7; 64]));
        assert!(shadow.show(LINE, &[8; 64]));
        assert_eq!(shadow.put(LINE), [8; 64]);
    }
}

#[test]
fn the_first_recorded_content_of_an_already_fetched_line_is_no_external_change() {
    for forgotten in [false, true] {
        let mut shadow = Shadow::new(10);
        let guess = shadow.start_up(LINE);
        shadow.returned(LINE, &guess);
        if forgotten {
            shadow.forget(&shadow.entries.written_lines());
        }
        assert!(!shadow.show(LINE, &[7; 64]), "this is its first sight");
        shadow.forget(&shadow.entries.written_lines());
        shadow.returned(LINE, &guess);
        assert!(shadow.show(LINE, &[8; 64]), "and this a change");
        assert_eq!(shadow.put(LINE), [8; 64]);
        assert_eq!(shadow.observed().lines_wrong, 0);
    }
}

#[test]
fn the_shadow_counts_a_read_of_a_line_never_written_to_memory_as_wrong() {
    let mut shadow = Shadow::new(10);
    shadow.put(LINE);
    shadow.returned(LineAddr(LINE.0 + 1), &[0; 64]);
    let ObserverCounts { lines_checked, lines_wrong } = shadow.observed();
    assert_eq!((lines_checked, lines_wrong), (1, 1));
}

#[test]
fn an_externally_zeroed_line_counts_as_changed_and_is_written_back_as_zeros() {
    let mut shadow = Shadow::new(10);
    shadow.show(LINE, &[7; 64]);
    shadow.put(LINE);
    shadow.forget(&shadow.entries.written_lines());
    assert!(shadow.show(LINE, &[0; 64]));
    assert_eq!(shadow.put(LINE), [0; 64]);
    shadow.returned(LINE, &[0; 64]);
    assert_eq!(shadow.observed().lines_wrong, 0);
}

#[test]
fn a_shadow_that_checks_load_values_drops_no_line() {
    let mut shadow = Shadow::new(1 << 20).observing(&[], true);
    shadow.show(LINE, &[7; 64]);
    assert!(agrees(&shadow, &[7, 7]) && !agrees(&shadow, &[7, 8]));
    for line in 0..2 * FEW_LINES as u64 {
        shadow.show(LineAddr(line), &[1; 64]);
    }
    assert!(!shadow.is_crowded());
}

/// An earlier version reported a false error here in every protected run of `/bin/true`: the program first sees zeros
/// in a line with a pending prefetch.
#[test]
fn a_line_first_recorded_as_zeros_during_its_prefetch_passes_the_load_check() {
    let mut shadow = Shadow::new(10).observing(&[], true);
    let guess = shadow.start_up(LINE);
    assert!(!shadow.show(LINE, &[0; 64]));
    assert!(agrees(&shadow, &[0; 8]) && !agrees(&shadow, &[0, 0, 0, 0, 0, 0, 0, 1]));
    shadow.store(LINE, 0..1, &[9]);
    assert!(agrees(&shadow, &[9, 0]));
    shadow.returned(LINE, &guess);
    assert!(agrees(&shadow, &[9, 0]) && !agrees(&shadow, &[0, 0]));
}

#[test]
fn a_store_to_an_unrecorded_line_during_its_prefetch_leaves_the_other_bytes_zero() {
    let mut shadow = Shadow::new(10).observing(&[], true);
    let guess = shadow.start_up(LINE);
    shadow.store(LINE, 1..2, &[9]);
    assert!(agrees(&shadow, &[0, 9, 0]));
    shadow.returned(LINE, &guess);
    assert!(agrees(&shadow, &[0, 9, 0]));
}

#[test]
fn the_initial_memory_content_of_a_line_is_its_content_before_the_first_store() {
    let mut shadow = Shadow::new(10);
    shadow.show(LINE, &[7; 64]);
    shadow.store(LINE, 8..10, &[1, 2]);
    shadow.store(LINE, 8..9, &[3]);
    let booted = shadow.start_up(LINE);
    assert_eq!(booted, [7; 64]);
    shadow.returned(LINE, &booted);
    assert_eq!(shadow.newer_than_memory().collect::<Vec<_>>(), [LINE], "the stores are still on their way");
    let mut expected = [7; 64];
    expected[8..10].copy_from_slice(&[3, 2]);
    assert_eq!(shadow.put(LINE), expected);
    shadow.returned(LINE, &expected);
    assert_eq!(shadow.observed().lines_wrong, 0);
}

#[test]
fn the_initial_content_of_an_unrecorded_line_is_zeros_despite_an_earlier_store() {
    let mut shadow = Shadow::new(10);
    shadow.store(LINE, 0..2, &[1, 2]);
    assert_eq!(shadow.start_up(LINE), ZERO_LINE);
    let mut expected = ZERO_LINE;
    expected[..2].copy_from_slice(&[1, 2]);
    assert_eq!(shadow.put(LINE), expected);
}

#[test]
fn the_initial_content_of_a_line_includes_earlier_external_changes() {
    let mut shadow = Shadow::new(10);
    shadow.show(LINE, &[7; 64]);
    shadow.store(LINE, 0..1, &[1]);
    assert!(shadow.show(LINE, &[5; 64]));
    shadow.store(LINE, 0..1, &[2]);
    assert_eq!(shadow.start_up(LINE), [5; 64]);
}

fn next_from_outside(shadow: &Shadow, core: usize) -> Option<LineAddr> {
    shadow.persisted.as_ref().unwrap().next_from_outside(core)
}

fn store(shadow: &mut Shadow, line: LineAddr, at: usize, byte: u8) {
    store_of(shadow, 0, line, at, byte);
}

fn store_of(shadow: &mut Shadow, core: usize, line: LineAddr, at: usize, byte: u8) {
    shadow.store(line, at..at + 1, &[byte]);
    shadow.stored(core, line, at..at + 1);
}

#[test]
fn the_shadow_of_a_buffered_line_has_exactly_the_accepted_stores() {
    let mut shadow = Shadow::new(10).persisted(1, Persistent::All);
    shadow.show(LINE, &[7; 64]);
    (0..3).for_each(|at| store(&mut shadow, LINE, at, 1 + at as u8));
    for accepted in 0..3 {
        let content = shadow.accept(0, LINE);
        let expected: Line = std::array::from_fn(|at| if at <= accepted { 1 + at as u8 } else { 7 });
        assert_eq!(content, expected);
        shadow.taken(LINE, &content);
    }
    assert_eq!(shadow.newer_than_memory().count(), 0);
}

#[test]
fn an_accepted_store_to_a_dropped_line_is_merged_with_the_bytes_from_memory() {
    let mut shadow = Shadow::new(10).persisted(1, Persistent::All);
    shadow.show(LINE, &[7; 64]);
    let stored = shadow.put(LINE);
    shadow.forget(&shadow.entries.written_lines());
    [8, 9].iter().for_each(|at| store(&mut shadow, LINE, *at, 1));
    shadow.returned(LINE, &stored);
    let first = shadow.accept(0, LINE);
    assert_eq!((first[7], first[8], first[9], first[10]), (7, 1, 7, 7));
    left_buffer(&mut shadow, LINE);
    assert_eq!(shadow.accept(0, LINE)[9], 1, "what waits keeps the line");
}

#[test]
fn an_external_change_is_applied_between_earlier_and_later_stores() {
    let mut shadow = Shadow::new(10).persisted(1, Persistent::All);
    shadow.show(LINE, &[7; 64]);
    store(&mut shadow, LINE, 0, 1);
    before_show(&mut shadow, 0, LINE, &[5; 64]);
    assert!(shadow.show(LINE, &[5; 64]));
    store(&mut shadow, LINE, 1, 2);
    assert_eq!(next_from_outside(&shadow, 0), None, "a store comes first");
    assert_eq!(shadow.accept(0, LINE)[..2], [1, 7]);
    assert_eq!(changes_from_outside(&mut shadow, 0), (LINE, [5; 64]));
    assert_eq!(next_from_outside(&shadow, 0), None);
    assert_eq!(shadow.accept(0, LINE)[..2], [5, 2]);
}

#[test]
fn the_later_executed_store_of_two_cores_wins_in_any_order_of_acceptance() {
    let mut shadow = Shadow::new(10).persisted(2, Persistent::All);
    shadow.show(LINE, &[7; 64]);
    for (core, at, byte) in [(0, 0, 1), (0, 1, 2), (1, 1, 3)] {
        store_of(&mut shadow, core, LINE, at, byte);
    }
    assert_eq!(shadow.accept(1, LINE)[..3], [7, 3, 7]);
    assert_eq!(shadow.accept(0, LINE)[..3], [1, 3, 7]);
    assert_eq!(shadow.accept(0, LINE)[..3], [1, 3, 7]);
}

#[test]
fn an_external_change_waits_only_for_stores_of_the_same_core() {
    let mut shadow = Shadow::new(10).persisted(2, Persistent::All);
    shadow.show(LINE, &[7; 64]);
    store_of(&mut shadow, 0, LINE, 0, 1);
    before_show(&mut shadow, 1, LINE, &[5; 64]);
    shadow.show(LINE, &[5; 64]);
    assert_eq!(next_from_outside(&shadow, 0), None);
    assert_eq!(next_from_outside(&shadow, 1), Some(LINE));
    assert_eq!(changes_from_outside(&mut shadow, 1), (LINE, [5; 64]));
    assert_eq!(shadow.accept(0, LINE), [5; 64], "what was stored before the change is gone");
}

#[derive(Clone, Debug)]
enum Event {
    Store(u64, usize, u8),
    Evict(u64),
    Fetch(u64),
    Forget,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..6u64, 0..60usize, any::<u8>()).prop_map(|(line, at, byte)| Event::Store(line, at, byte)),
        2 => (0..6u64).prop_map(Event::Evict),
        2 => (0..6u64).prop_map(Event::Fetch),
        1 => Just(Event::Forget),
    ]
}

proptest! {
    /// Compares a chip that fetches, evicts and forgets at random with a flat memory.
    #[test]
    fn a_shadow_that_drops_lines_at_random_reads_as_a_flat_memory(events in proptest::collection::vec(event(), 1..200)) {
        let (mut shadow, mut flat) = (Shadow::new(10), BTreeMap::<u64, Line>::new());
        let (mut memory, mut chip) = (BTreeMap::<u64, Line>::new(), std::collections::BTreeSet::<u64>::new());
        for line in 0..6 {
            flat.insert(line, [line as u8; 64]);
            shadow.show(LineAddr(line), &[line as u8; 64]);
        }
        for event in events.into_iter().chain((0..6).flat_map(|line| [Event::Fetch(line), Event::Evict(line)])) {
            match event {
                Event::Store(line, at, byte) => {
                    shadow.store(LineAddr(line), at..at + 4, &[byte; 4]);
                    flat.get_mut(&line).unwrap()[at..at + 4].fill(byte);
                }
                Event::Fetch(line) if !chip.contains(&line) => {
                    let content = *memory.entry(line).or_insert_with(|| shadow.put(LineAddr(line)));
                    shadow.returned(LineAddr(line), &content);
                    chip.insert(line);
                }
                Event::Evict(line) if chip.remove(&line) => {
                    memory.insert(line, shadow.put(LineAddr(line)));
                }
                Event::Fetch(_) | Event::Evict(_) => {}
                Event::Forget => forget_all_but(&mut shadow, |line| chip.contains(&line.0)),
            }
        }
        prop_assert_eq!(&memory, &flat);
        prop_assert_eq!(shadow.observed().lines_wrong, 0);
    }

    /// Accepts stores of three cores in any order that keeps each core's order. Compares the content with all accepted
    /// stores, applied anew in the order of execution.
    #[test]
    fn a_shadow_line_has_the_latest_executed_of_the_accepted_stores_to_each_byte(
        stores in proptest::collection::vec((0..3usize, 0..2u64, 0..61usize, any::<u8>()), 1..60),
        order in proptest::collection::vec((any::<bool>(), 0..3usize), 400),
    ) {
        let mut shadow = Shadow::new(10).persisted(3, Persistent::All);
        (0..2).for_each(|line| { shadow.show(LineAddr(line), &[line as u8; 64]); });
        let (mut given, mut accepted) = (0, vec![false; stores.len()]);
        for (gives, core) in order {
            if gives && given < stores.len() {
                let (core, line, at, byte) = stores[given];
                shadow.store(LineAddr(line), at..at + 3, &[byte; 3]);
                shadow.stored(core, LineAddr(line), at..at + 3);
                given += 1;
                continue;
            }
            let Some(next) = (0..given).find(|&number| stores[number].0 == core && !accepted[number]) else { continue };
            accepted[next] = true;
            let line = stores[next].1;
            let mut expected = [line as u8; 64];
            for (_, (_, _, at, byte)) in
                stores.iter().enumerate().filter(|(number, store)| accepted[*number] && store.1 == line)
            {
                expected[*at..at + 3].fill(*byte);
            }
            prop_assert_eq!(shadow.accept(core, LineAddr(line)), expected);
        }
    }
}

/// In a recording that shows pages, a later content counts as a write of the kernel; otherwise it corrects a guess.
#[test]
fn lines_that_a_permutation_starts_up_unseen_get_their_content_when_the_recording_shows_them() {
    for knows_pages in [false, true] {
        let mut shadow = Shadow { knows_pages, ..Shadow::new(300) };
        let lines = || (0..256).map(LineAddr);
        lines().for_each(|line| assert_eq!(shadow.start_up(line), ZERO_LINE));
        let content = |line: LineAddr| [line.0 as u8 | 1; 64];
        for line in lines().filter(|line| line.0 % 2 == 0) {
            assert_eq!(shadow.show(line, &content(line)), knows_pages, "{line}");
            if line.0 % 4 == 0 {
                shadow.store(line, 0..1, &[8]);
            }
            shadow.returned(line, &ZERO_LINE);
        }
        for line in lines() {
            let mut expected = if line.0 % 2 == 0 { content(line) } else { ZERO_LINE };
            expected[0] = if line.0 % 4 == 0 { 8 } else { expected[0] };
            assert_eq!(shadow.put(line), expected, "{line}");
            shadow.returned(line, &expected);
        }
        assert_eq!((shadow.observed().lines_wrong, shadow.newer_than_memory().count()), (0, 0));
    }
}
