//! Metadata lines in L2: they compete with data for its entries, and do not affect data otherwise.

use super::*;

/// Lines from here on are metadata. Sets of L2 have four ways, and all these lines are in one set.
const METADATA: u64 = 1 << 20;
const SETS: u64 = 4;

/// A core that also sends the clean lines that its L2 evicts.
fn node() -> Node {
    let mut node = Node::new(&small());
    node.caches_mut().l2.metadata.begin_at(LineAddr(METADATA));
    node.caches_mut().l2.clean_victims.send_all();
    node
}

/// Loads or stores data of one set of L2; returns the evictions.
fn warm(node: &mut Node, lines: std::ops::Range<u64>, store: bool) -> Vec<Request> {
    let mut out = Vec::new();
    lines.for_each(|line| node.warm_data(&touch(line * SETS, 0, 8, store)));
    node.caches_mut().outgoing.move_to(&mut out);
    out.retain(|request| !request.kind.is_answered());
    out
}

/// Enters metadata into the same set; returns the data that it evicts.
fn enter(node: &mut Node, lines: std::ops::Range<u64>) -> Vec<(u64, RequestKind)> {
    let evicted = lines.filter_map(|nth| node.caches_mut().enter_metadata(LineAddr(METADATA + nth * SETS)));
    evicted.map(|request| (request.line.0 / SETS, request.kind)).collect()
}

#[test]
fn metadata_in_l2_evicts_the_least_recently_used_data_as_a_clean_victim() {
    let mut node = node();
    warm(&mut node, 0..4, false);
    assert_eq!(enter(&mut node, 0..2), [(0, RequestKind::CleanVictim), (1, RequestKind::CleanVictim)]);
    assert_eq!(enter(&mut node, 0..2), [], "it is there");
}

#[test]
fn dirty_data_evicted_by_metadata_in_l2_is_written_back() {
    let mut node = node();
    // L1D has two ways here: it has written the first two back to L2.
    warm(&mut node, 0..4, true);
    assert_eq!(enter(&mut node, 0..2), [(2, RequestKind::CleanVictim), (0, RequestKind::WriteBack)]);
    assert_eq!(node.counts().l2.writebacks, 1);
}

#[test]
fn metadata_evicted_from_l2_by_data_is_dropped_and_reported_once() {
    let mut node = node();
    enter(&mut node, 0..3);
    assert!(node.caches_mut().l2.use_metadata(LineAddr(METADATA)), "the second is now the one used least recently");
    let sent = warm(&mut node, 0..3, false);
    assert_eq!(sent, [], "nothing is written back, and nothing goes to the last-level cache");
    assert_eq!(node.caches_mut().l2.metadata.take_displaced(), [1, 2].map(|nth| LineAddr(METADATA + nth * SETS)));
    assert_eq!(node.caches_mut().l2.metadata.take_displaced(), [], "once");
    assert_eq!([0, 1].map(|nth| node.caches_mut().l2.use_metadata(LineAddr(METADATA + nth * SETS))), [true, false]);
}

#[test]
fn invalidated_metadata_frees_its_l2_way_and_is_not_reported_as_evicted() {
    let mut node = node();
    enter(&mut node, 0..4);
    node.caches_mut().l2.drop_metadata(LineAddr(METADATA));
    assert!(!node.caches_mut().l2.use_metadata(LineAddr(METADATA)));
    assert_eq!(
        (warm(&mut node, 0..1, false), node.caches_mut().l2.metadata.take_displaced()),
        (Vec::new(), Vec::new())
    );
}

#[test]
fn metadata_in_l2_counts_as_no_access_and_is_never_dirty() {
    let mut node = node();
    warm(&mut node, 0..2, false);
    let before = node.counts().l2;
    enter(&mut node, 0..2);
    node.caches_mut().l2.use_metadata(LineAddr(METADATA));
    assert_eq!((node.counts().l2, node.caches().dirty_lines()), (before, Vec::new()));
}
