//! Tests of the counts of look-ups, of the lines that make room for other lines, and of lines that memory already has.

use super::*;
use crate::slot::MetadataCacheKind;

const LINES: [(Slot, Line); 3] = [(Slot(1), [1; 64]), (Slot(2), [2; 64]), (Slot(3), [3; 64])];

/// Returns a chip with caches of one line each after three dirty counter lines entered: two of them are leaving.
fn crowded() -> ChipState {
    let one = Geometry { sets: 1, ways: 1 };
    let mut chip = ChipState::new(
        Geometries::separate(vec![one; MetadataCacheKind::COUNT]),
        None,
        1,
        Forest::default(),
        PlantedBug::NONE,
    );
    LINES.iter().for_each(|(slot, content)| chip.caches.admit(Role::Counter, *slot, content, true));
    chip
}

#[test]
fn metadata_look_ups_count_as_hit_merge_or_miss_per_kind_of_metadata() {
    let mut chip = crowded();
    let found = [3, 1, 2, 9].map(|slot| chip.look_up(Role::Counter, Slot(slot)));
    assert_eq!(found, [Some([3; 64]), Some([1; 64]), Some([2; 64]), None]);
    [true, true, false].into_iter().for_each(|merged| chip.caches.not_found(Role::Counter, merged, false));
    let seen = chip.caches.seen;
    let counters = seen[Kind::Counters];
    assert_eq!(counters, MetadataCacheCounts { hits: 3, merged: 2, misses: 1, writebacks: counters.writebacks });
    assert_eq!([seen[Kind::Tags], seen[Kind::Nodes]], [MetadataCacheCounts::default(); 2]);
}

#[test]
fn querying_a_metadata_cache_does_not_update_its_lru_order() {
    let two = Geometry { sets: 1, ways: 2 };
    let mut chip = ChipState::new(
        Geometries::separate(vec![two; MetadataCacheKind::COUNT]),
        None,
        1,
        Forest::default(),
        PlantedBug::NONE,
    );
    LINES[..2].iter().for_each(|(slot, content)| chip.caches.admit(Role::Counter, *slot, content, false));
    assert!(chip.is_in_its_cache(Role::Counter, Slot(1)) && !chip.is_in_its_cache(Role::Counter, Slot(3)));
    chip.caches.admit(Role::Counter, Slot(3), &[3; 64], false);
    assert_eq!([1, 2, 3].map(|slot| chip.is_in_its_cache(Role::Counter, Slot(slot))), [false, true, true]);
}

#[test]
fn each_kind_of_metadata_has_a_separate_cache_unless_caches_are_unified() {
    let one = Geometry { sets: 1, ways: 1 };
    let of_each = |geometries| {
        let mut chip = ChipState::new(geometries, None, 1, Forest::default(), PlantedBug::NONE);
        let lines = [(Role::Counter, Slot(1)), (Role::Tag, Slot(2)), (Role::Node(0), Slot(3))];
        lines.iter().for_each(|(role, slot)| chip.caches.admit(*role, *slot, &[7; 64], true));
        lines.map(|(_, slot)| chip.caches.departures.of(slot).is_none())
    };
    assert_eq!(of_each(Geometries::separate(vec![one; MetadataCacheKind::COUNT])), [true; 3]);
    assert_eq!(of_each(Geometries::unified(one)), [false, false, true], "who came last is still there");
}

#[test]
fn an_evicted_dirty_metadata_line_is_dropped_once_memory_has_its_content() {
    let mut chip = crowded();
    chip.caches.written_through(Role::Counter, Slot(1), &[9; 64]);
    assert!(chip.caches.departures.of(Slot(1)).is_some(), "memory has something else");
    chip.caches.written_through(Role::Counter, Slot(1), &[1; 64]);
    assert!(chip.caches.departures.of(Slot(1)).is_none() && chip.caches.departures.of(Slot(2)).is_some());
}

#[test]
fn a_first_read_updates_its_tag_in_an_evicted_tag_line() {
    let one = Geometry { sets: 1, ways: 1 };
    let mut chip = ChipState::new(
        Geometries::separate(vec![one; MetadataCacheKind::COUNT]),
        None,
        1,
        Forest::default(),
        PlantedBug::NONE,
    );
    LINES.iter().for_each(|(slot, content)| chip.caches.admit(Role::Tag, *slot, content, true));
    for (slot, content) in LINES {
        chip.caches.amend(Role::Tag, slot, |line| line[5] = 77);
        let mut amended = content;
        amended[5] = 77;
        assert_eq!(chip.caches.content(Role::Tag, slot), Some(amended), "{slot:?}");
    }
    chip.caches.amend(Role::Tag, Slot(9), |_| panic!("a line that is not on the chip is changed in memory only"));
}
