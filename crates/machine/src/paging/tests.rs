//! Allocation, sharing and freeing of the frames of pages.

use super::*;
use crate::node::TableLayout;

#[test]
fn every_page_frame_is_allocated_once_before_memory_is_full() {
    let mut table = PageTable::new(Bytes(6 << 20), Bytes(4096), PagePlacement::Blocks, 7);
    let mut frames: Vec<u64> = (0..1536).map(|page| table.frame(page).unwrap().0 / 4096).collect();
    assert_ne!(frames[..4], [0, 1, 2, 3], "frames are scattered");
    assert!(frames[..512].iter().all(|frame| frame / 512 == frames[0] / 512), "within one block of 2 MB");
    frames.sort_unstable();
    assert_eq!(frames, (0..1536).collect::<Vec<_>>());
    assert_eq!(table.frame(5), table.frame(5));
    assert!(table.frame(1536).unwrap_err().to_string().contains("6 MB"));
}

#[test]
fn the_seed_decides_the_placement_of_frames() {
    let frames = |seed| {
        let mut table = PageTable::new(Bytes(8 << 30), Bytes(2 << 20), PagePlacement::Blocks, seed);
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
    let mut table = PageTable::new(Bytes(64 << 20), Bytes(page), PagePlacement::Blocks, 7).walked_by(Some(&walker));
    for &key in keys {
        table.frame(key).unwrap();
    }
    table.tables().to_vec()
}

#[test]
fn neighbouring_pages_share_all_page_table_levels_and_distant_pages_only_the_root() {
    let tables = walked(4096, TableLayout::Radix, &[0, 1, 8, 1 << 9, 1 << 27]);
    assert_eq!(tables[0].lines.len(), 4);
    assert_eq!(tables[0].lines, tables[1].lines, "eight entries fit a line");
    assert_eq!(tables[2].lines[3].0, tables[0].lines[3].0 + 1);
    let shared = |other: usize| (0..4).filter(|&step| tables[other].lines[step] == tables[0].lines[step]).count();
    assert_eq!((shared(2), shared(3), shared(4)), (3, 3, 1));
    assert_ne!(tables[3].lines[3].0 / 64, tables[0].lines[3].0 / 64, "another table");
}

#[test]
fn a_page_walk_of_a_huge_page_has_one_level_less() {
    assert_eq!(walked(2 << 20, TableLayout::Radix, &[1 << 63])[0].lines.len(), 3);
}

#[test]
fn with_one_table_page_per_entry_no_two_pages_share_the_last_walked_line() {
    let tables = walked(4096, TableLayout::PagePerEntry, &[0, 1, 2]);
    assert_eq!(tables[0].lines[..3], tables[1].lines[..3]);
    assert_ne!(tables[0].lines[3], tables[1].lines[3]);
}

#[test]
fn pages_of_two_processes_have_distinct_keys_and_frames() {
    let keys = [1, 2].map(|process| page_key(process, VirtAddr(0x1000), 4096));
    assert_ne!(keys[0], keys[1]);
    let mut table = PageTable::new(Bytes(4 << 20), Bytes(4096), PagePlacement::Blocks, 1);
    let frames = keys.map(|key| table.frame(key).unwrap());
    assert_ne!(frames[0], frames[1]);
    assert_eq!(keys.map(|key| table.frame(key).unwrap()), frames);
}
