//! Compares executed drains of persist buffers with the closed form: the named differences explain the complete
//! difference.

use crate::{battery, papers};
use cost::counted::{Drains, drains, drains_of};
use cost::{
    Difference, DrainSelection, MemoryGeometry, Operations, Profile, Question, SecPbScheme, Step, System, closed_form,
};
use units::LineAddr;

fn drained(scheme: SecPbScheme, entries: u32, levels: u32) -> Drains {
    drains(scheme, &papers(), (entries, levels), &mut || ()).unwrap()
}

fn sum<'a>(differences: &'a [Difference], is: impl Fn(&&'a Difference) -> bool) -> Operations {
    differences.iter().filter(is).fold(Operations::default(), |sum, difference| sum + difference.operations)
}

/// Asserts that two accounts differ exactly by these differences.
fn assert_differ(one: Operations, other: Operations, differences: &[Difference], about: &str) {
    let less = sum(differences, |difference| difference.is_less);
    assert_eq!(one + less, other + sum(differences, |difference| !difference.is_less), "{about}");
}

/// Numbers of entries and levels of trees that the tests combine.
const ENTRIES: [u32; 5] = [1, 2, 9, 32, 100];
const LEVELS: [u32; 5] = [2, 3, 5, 8, 9];

#[test]
fn counted_separate_drains_of_entries_equal_the_closed_form_plus_listed_differences() {
    for (scheme, entries, levels) in all() {
        let about = format!("{scheme}, {entries} entries, {levels} levels");
        let found = drained(scheme, entries, levels);
        let closed = closed_form::operations(System::Buffer(scheme), &papers(), entries, levels);
        assert_differ(found.alone, closed, &found.alone_differs, &about);
    }
}

fn all() -> impl Iterator<Item = (SecPbScheme, u32, u32)> {
    let of = |scheme| ENTRIES.into_iter().flat_map(move |entries| LEVELS.map(|levels| (scheme, entries, levels)));
    SecPbScheme::all().flat_map(of)
}

#[test]
fn a_joint_drain_of_entries_equals_separate_drains_minus_shared_operations() {
    for (scheme, entries, levels) in all() {
        let about = format!("{scheme}, {entries} entries, {levels} levels");
        let found = drained(scheme, entries, levels);
        assert_differ(found.together, found.alone, &found.together_differs, &about);
        let energy = |operations| papers().energy(&operations);
        assert!(energy(found.together) <= energy(found.alone), "{about}");
        if entries <= 32 {
            assert!(found.together_differs.iter().all(|difference| difference.name == "shared"), "{about}");
        }
    }
}

#[test]
fn the_listed_differences_from_the_closed_form_depend_on_the_early_steps() {
    let always = ["edges", "verified", "tags", "written", "in-flight-moved"];
    for scheme in SecPbScheme::all() {
        let found = drained(scheme, 4, 8).alone_differs;
        let names: Vec<&str> = found.iter().map(|difference| difference.name).collect();
        assert!(always.iter().all(|name| names.contains(name)), "{scheme}: {names:?}");
        let reads_counters = scheme.early().contains(&Step::Counter) && !scheme.early().contains(&Step::Root);
        assert_eq!(names.contains(&"counters-again"), reads_counters, "{scheme}");
        for difference in &found {
            assert_eq!(difference.energy_nj < 0.0, difference.is_less, "{scheme}: {}", difference.name);
            assert_eq!(difference.is_less, difference.name == "edges", "{scheme}");
        }
    }
}

#[test]
fn a_drain_with_cold_caches_fetches_and_hashes_a_tree_path_and_tags_per_entry() {
    let found = drained(SecPbScheme::all().next().unwrap(), 1, 8).alone;
    // Counters, six nodes and tags; seven edges verified, seven updated, and a tag: each for the entry and the store in flight.
    assert_eq!((found.fetched_lines, found.hashed_lines, found.pads), (2 * 8, 2 * 15, 2));
    assert_eq!((found.moved.from_secpb_bits, found.moved.from_controller_bits), (2 * 512, 2 * 1024));
}

#[test]
fn drains_of_a_worst_case_buffer_share_only_the_children_of_the_root() {
    // The root has 8 children: of 33 drains, 25 share one with an earlier drain. They share no lower node, because the
    // next level has 64 nodes. With an early root, only the store in flight fetches a path, so no drain shares it.
    for scheme in SecPbScheme::all() {
        let differs = drained(scheme, 32, 8).together_differs;
        if scheme.early().contains(&Step::Root) {
            assert_eq!(differs, []);
            continue;
        }
        let [shared] = differs.try_into().unwrap();
        let none = Operations::default();
        assert_eq!((shared.name, shared.is_less), ("shared", true));
        assert_eq!(shared.operations, Operations { fetched_lines: 25, hashed_lines: 25, ..none });
    }
}

/// The nodes above 512 entries do not fit in their cache. In a drain by address, no later line needs an evicted node.
#[test]
fn a_joint_drain_of_up_to_1000_entries_needs_no_more_energy_than_separate_drains() {
    let profile = papers();
    for (scheme, entries) in SecPbScheme::all().flat_map(|scheme| [8, 64, 512, 1000].map(|entries| (scheme, entries))) {
        let found = drained(scheme, entries, 8);
        assert!(found.together_differs.iter().all(|difference| difference.name == "shared"), "{scheme}, {entries}");
        assert!(profile.energy(&found.together) <= profile.energy(&found.alone), "{scheme}, {entries}");
    }
}

/// The paper charges an entry with an early root for at most a tag; a drain does not verify nodes that the root covers.
#[test]
fn a_drain_with_an_early_root_update_needs_little_more_energy_than_published() {
    let millijoules = |name: &str| {
        let scheme = SecPbScheme::all().find(|scheme| scheme.to_string() == name).unwrap();
        papers().energy(&drained(scheme, 32, 8).alone).millijoules()
    };
    assert!(millijoules("nogap") <= 0.2, "{}", millijoules("nogap"));
    assert!(millijoules("cm") <= 0.4, "{}", millijoules("cm"));
}

#[test]
fn drained_lines_with_conflicting_tree_nodes_need_no_more_energy_than_spread_lines() {
    let profile = papers();
    let scheme = SecPbScheme::all().next().unwrap();
    let geometry = MemoryGeometry::of(scheme, &profile, 8).unwrap();
    // The lines are as far apart as those of the worst buffer, but the first under their nodes: the level below the root's children has 64
    // nodes.
    let under_each = geometry.lines / 64;
    let lines: Vec<LineAddr> = (0..33).map(|turn| LineAddr((turn % 8 * 8 + turn / 8) * under_each)).collect();
    let found = drains_of(scheme, &profile, &geometry, &lines, &mut || ()).unwrap();
    let spread = drained(scheme, 32, 8);
    assert_eq!((found.alone, &found.alone_differs), (spread.alone, &spread.alone_differs));
    assert_differ(found.together, found.alone, &found.together_differs, "in the same sets");
    let millijoules = |operations| profile.energy(&operations).millijoules();
    assert_eq!(format!("{:.2}", millijoules(found.together)), "2.69");
    assert_eq!(format!("{:.2}", millijoules(found.alone)), "2.84");
}

#[test]
fn a_drain_that_the_model_does_not_support_is_refused_with_the_reason() {
    let mut binary = papers();
    binary.tree.arity = 2;
    let mut pages = papers();
    pages.tree.page = "8 KB".parse().unwrap();
    let reason = |profile: &Profile, entries, levels| {
        drains(SecPbScheme::all().next().unwrap(), profile, (entries, levels), &mut || ()).unwrap_err()
    };
    assert!(reason(&binary, 1, 22).contains("has 2 children a node"), "{}", reason(&binary, 1, 22));
    assert!(reason(&pages, 1, 8).contains("8 KB under a counter line: expected 8 and 4 KB"));
    assert!(reason(&papers(), 1, 20).contains("a tree of 20 levels covers more than 1024 GB"));
    assert_eq!(reason(&papers(), 1 << 17, 8), "a design's buffer has 65536 entries at most");
    assert_eq!(reason(&papers(), 512, 2), "512 entries and a store in flight are more than the memory's 512 lines");
    assert!(drains(SecPbScheme::all().next().unwrap(), &papers(), (511, 2), &mut || ()).is_ok());
}

#[test]
fn drains_are_counted_only_for_persist_buffer_schemes_and_only_on_request() {
    let question = Question { entries: vec![4], counted: DrainSelection::Buffers, ..Question::default() };
    let mut last = (0, 0);
    let answer = cost::battery(&papers(), &question, &mut |done, of| last = (done, of)).unwrap();
    assert_eq!(last, (2 * 5 * 6, 2 * 5 * 6));
    let counted: Vec<&str> =
        answer.rows.iter().filter(|row| row.counted.is_some()).map(|row| row.system.as_str()).collect();
    assert_eq!(counted, ["cobcm", "obcm", "bcm", "cm", "m", "nogap"]);
    assert!(answer.rows.iter().all(|row| row.not_counted.is_none()));
    let closed = battery(&papers(), &Question { counted: DrainSelection::Nothing, ..question }).unwrap();
    assert!(closed.rows.iter().all(|row| row.counted.is_none() && row.not_counted.is_none()));
    let large =
        Question { entries: vec![4], counted: DrainSelection::Buffers, levels: Some(30), ..Question::default() };
    let refused = battery(&papers(), &large).unwrap();
    assert_eq!(refused.rows.iter().filter(|row| row.not_counted.is_some()).count(), 6);
}
