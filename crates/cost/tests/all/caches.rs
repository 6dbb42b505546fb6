//! Compares executed drains of durable caches with their two closed forms: the named differences explain the complete
//! difference.

use crate::{battery, papers, row};
use cost::caches::{CacheDrains, drain};
use cost::{
    Accounting, BatteryEstimate, CacheSizes, Difference, DrainSelection, Operations, Profile, Question, System,
    closed_form,
};
use units::Bytes;

/// The paper's profile with caches of these numbers of lines.
fn with_caches(l1: u64, l2: u64, l3: u64) -> Profile {
    let [l1, l2, l3] = [l1, l2, l3].map(|lines| Bytes(64 * lines));
    Profile { caches: CacheSizes { l1, l2, l3 }, ..papers() }
}

fn drained(profile: &Profile, levels: u32) -> CacheDrains {
    drain(profile, levels, &mut || ()).unwrap()
}

fn sum(differences: &[Difference], is_less: bool) -> Operations {
    let all = differences.iter().filter(|difference| difference.is_less == is_less);
    all.fold(Operations::default(), |sum, difference| sum + difference.operations)
}

fn assert_differ(one: Operations, other: Operations, differences: &[Difference], about: &str) {
    assert_eq!(one + sum(differences, true), other + sum(differences, false), "{about}");
}

#[test]
fn a_counted_drain_of_full_caches_equals_each_closed_form_plus_the_listed_differences() {
    for (lines, levels) in [((1, 0, 0), 8), ((8, 16, 9), 8), ((64, 128, 300), 8), ((8, 16, 40), 3), ((8, 16, 40), 2)] {
        let profile = with_caches(lines.0, lines.1, lines.2);
        let found = drained(&profile, levels);
        let about = format!("{lines:?}, {levels} levels");
        for accounting in [Accounting::AsPublished, Accounting::Consistent] {
            let closed = closed_form::operations(System::SecureEadr(accounting), &profile, 0, levels);
            assert_differ(found.alone, closed, &found.alone_differs(&profile, accounting), &about);
        }
        assert_differ(found.together, found.alone, &found.together_differs(&profile), &about);
        assert!(profile.energy(&found.together) <= profile.energy(&found.alone), "{about}");
    }
}

/// An eighth of the 74,752 lines of the paper's machine. They share less metadata than all lines would, so they need more than whole
/// tuples.
#[test]
fn draining_an_eighth_of_the_papers_caches_needs_four_times_its_published_energy() {
    let profile = with_caches(128, 1024, 8192);
    let found = drained(&profile, profile.tree.levels());
    assert_differ(found.together, found.alone, &found.together_differs(&profile), "an eighth of the paper's caches");
    let millijoules = |operations| format!("{:.1}", profile.energy(&operations).millijoules());
    let closed = |accounting| closed_form::operations(System::SecureEadr(accounting), &profile, 0, 8);
    assert_eq!([Accounting::AsPublished, Accounting::Consistent].map(closed).map(millijoules), ["166.5", "498.4"]);
    assert_eq!([found.alone, found.together].map(millijoules), ["843.3", "668.8"]);
}

#[test]
fn the_drain_of_one_dirty_line_fetches_verifies_and_updates_its_tree_path() {
    let found = drained(&with_caches(1, 0, 0), 8).alone;
    // Counters, six nodes and tags; seven edges verified, seven updated, and a tag.
    assert_eq!((found.fetched_lines, found.hashed_lines, found.pads), (8, 15, 1));
    assert_eq!((found.moved.from_l1_bits, found.moved.from_controller_bits), (512, 8 * 512));
}

#[test]
fn each_drained_line_is_charged_to_the_cache_level_that_holds_it() {
    let found = drained(&with_caches(3, 5, 7), 8);
    for moved in [found.alone.moved, found.together.moved] {
        assert_eq!(
            (moved.from_l1_bits, moved.from_l2_bits, moved.from_l3_bits, moved.from_secpb_bits),
            (3 * 512, 5 * 512, 7 * 512, 0)
        );
    }
}

#[test]
fn the_closed_forms_of_secure_eadr_differ_only_by_hashes_that_the_paper_omits() {
    let profile = with_caches(4, 4, 4);
    let found = drained(&profile, 8);
    let mut published = found.alone_differs(&profile, Accounting::AsPublished);
    let extra = published.remove(0);
    assert_eq!((extra.name, extra.operations.hashed_lines), ("uncharged", 12 * 7));
    assert_eq!(published, found.alone_differs(&profile, Accounting::Consistent));
}

#[test]
fn the_two_rows_of_secure_eadr_share_one_counted_cache_drain() {
    let profile = with_caches(4, 8, 16);
    let battery_of = |counted| {
        let systems = vec!["secure-eadr".to_owned(), "secure-eadr-consistent".to_owned(), "eadr".to_owned()];
        let question = Question { entries: vec![8], systems, counted, ..Question::default() };
        let mut last = (0, 0);
        let answer = cost::battery(&profile, &question, &mut |done, of| last = (done, of)).unwrap();
        (answer, last)
    };
    let (answer, progress) = battery_of(DrainSelection::All);
    assert_eq!(progress, (2 * 28, 2 * 28));
    let counted = |answer: &BatteryEstimate, name| row(answer, name).counted.clone();
    let [published, consistent] = ["secure-eadr", "secure-eadr-consistent"].map(|name| counted(&answer, name).unwrap());
    assert_eq!(published.alone.operations, consistent.alone.operations);
    assert_eq!(published.together, consistent.together);
    assert!(published.overflowing.is_none() && counted(&answer, "eadr").is_none());
    assert!(
        battery_of(DrainSelection::Buffers).0.rows.iter().all(|row| row.counted.is_none() && row.not_counted.is_none())
    );
}

#[test]
fn a_drain_of_caches_of_invalid_size_is_refused_with_the_reason() {
    let reason = |profile: &Profile, levels| drain(profile, levels, &mut || ()).unwrap_err();
    assert!(reason(&with_caches(1 << 20, 1, 0), 8).contains("1048577 lines: expected at most 1048576"));
    let mut odd = papers();
    odd.caches.l2 = Bytes(100);
    assert!(reason(&odd, 8).contains("not a whole number of lines"), "{}", reason(&odd, 8));
    assert!(reason(&with_caches(512, 1, 0), 2).contains("513 lines: expected at most the memory's 512"));
    let question =
        Question { systems: vec!["secure-eadr".to_owned()], counted: DrainSelection::All, ..Question::default() };
    let refused = battery(&odd, &question).unwrap();
    assert!(row(&refused, "secure-eadr").not_counted.is_some());
}
