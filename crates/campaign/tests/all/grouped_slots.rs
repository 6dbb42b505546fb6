//! Permuted lines with one tag over several slots: does every attack end as claimed, and does the check detect a flip
//! of every bit?

use casemate_campaign::{Options, attack_design, exhaustive, honest};
use catalogue::{Design, Verdict, design};
use protection::planted::PlantedBug;

/// Returns a design of CryptoPage's with this many slots under a tag.
fn with_slots(name: &str, slots: usize) -> Design {
    let mut design = design(name).unwrap();
    design.parts.permutation.as_mut().unwrap().slots_per_tag = slots;
    design
}

#[test]
fn every_attack_ends_as_claimed_with_a_tag_over_two_or_four_slots() {
    for (name, slots) in [("cryptopage", 2), ("cryptopage-basic", 4)] {
        let report =
            attack_design(&with_slots(name, slots), &Options { trials: 8, ..Options::default() }, &mut |_, _| ());
        assert!(report.agrees, "{slots} slots: {}", report.complaints().join("\n"));
    }
}

#[test]
fn a_tag_over_four_slots_detects_every_flip_of_a_stored_bit() {
    let report = exhaustive(&with_slots("cryptopage-basic", 4), &mut |_, _| ());
    for row in &report.rows {
        assert_eq!(row.histogram.get(&Verdict::Detected), Some(&row.flips), "{row:?}");
    }
}

#[test]
fn an_honest_run_with_a_tag_over_several_slots_returns_the_written_content() {
    for slots in [2, 4] {
        let report = honest(&with_slots("cryptopage", slots).parts, 6_000, 7, PlantedBug::NONE).unwrap();
        assert_eq!((report.accesses, report.finding), (6_000, None), "{slots} slots");
    }
}
