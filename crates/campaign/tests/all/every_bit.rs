//! Does every flip of every stored bit end as the design claims, and does the check find all uncovered bits?

use crate::common::shares::swept_at_rest;
use crate::common::swept::{an_eighth, share_of_tests};
use casemate_campaign::{ExhaustiveRow, exhaustive};
use catalogue::{Verdict, design};
use protection::design::{
    BitmapTrust, CipherChoice, CounterChoice, MacChoice, MacDesign, Parts, TagLocation, TreeKind,
};

/// Number of lines in use.
const LINES: u64 = 65;

/// Bits of tags that serve no line in use, if no structure above covers them. The last tag line holds the tag of one line and has
/// room for more, seven if they have up to 64 bits.
fn unused_in_tags(parts: &Parts) -> u64 {
    let bits = u64::from(parts.mac.line_bits(parts.cipher).next_power_of_two().max(64));
    (LINES.next_multiple_of(512 / bits) - LINES) * bits
}

/// The same for the last counter line: the minors of 63 lines that were never written, or seven counters.
fn unused_in_counters(parts: &Parts) -> u64 {
    match parts.counters {
        CounterChoice::Rv64 => 7 * 64,
        _ => 63 * 7,
    }
}

/// The same for bitmap lines: eight bytes at the end of each of three, and groups of sixteen lines that are not in use. The lines in
/// use are the first 64, and one elsewhere.
const UNUSED_IN_BITMAPS: u64 = 3 * 64 + (3 * 3 - (64 / 16 + 1)) * 128;

fn harmless(row: &ExhaustiveRow) -> u64 {
    row.histogram.get(&Verdict::Harmless).copied().unwrap_or(0)
}

#[test]
fn the_design_with_a_tree_detects_every_flip_of_a_used_bit() {
    let report = exhaustive(&design("sc64-bmt").unwrap(), &mut |_, _| ());
    assert_eq!(report.flips, 41_984, "65 lines of data, 9 of tags, 2 of counters and 6 nodes, of 512 bits each");
    for row in &report.rows {
        assert_eq!(row.histogram.get(&Verdict::Detected), Some(&(row.flips - harmless(row))), "{row:?}");
    }
}

#[test]
fn every_single_bit_flip_ends_as_claimed_and_only_uncovered_bits_are_harmless() {
    for design in an_eighth(swept_at_rest(), share_of_tests()) {
        let report = exhaustive(&design, &mut |_, _| ());
        let levels = report.rows.iter().filter(|row| row.structure.starts_with("tree")).count();
        let tree = design.parts.tree.kind;
        assert!(report.agrees, "{}: {:?}", design.name, report.rows.iter().find(|row| !row.agrees));
        // Memory contains no node above the roots of a forest.
        let is_whole_tree = tree != TreeKind::None && design.parts.tree.forest.is_none();
        assert!(report.flips >= 65 * 512 && (levels >= 3 || !is_whole_tree), "{}: {levels}", design.name);
        let parts = &design.parts;
        for row in &report.rows {
            let uncovered = match row.structure.as_str() {
                // A tag stored with its line leaves no unused room.
                "tag" if tree != TreeKind::Merkle && design.parts.mac.place == TagLocation::Region => {
                    unused_in_tags(parts)
                }
                "counter" if tree == TreeKind::None => unused_in_counters(parts),
                // Another line's bitmap may by chance move no word: nine of 256 do not.
                "bitmap" if parts.speculation.bitmap == BitmapTrust::Loose => {
                    let by_chance = harmless(row) - UNUSED_IN_BITMAPS;
                    assert!(by_chance < (128 + 64) / 8, "{}: {row:?}", design.name);
                    harmless(row)
                }
                "bitmap" => UNUSED_IN_BITMAPS,
                // No access reads a node from memory that is a root on the chip: its whole copy in memory is old.
                node if node.starts_with("tree") && design.parts.tree.forest.is_some() => harmless(row) / 512 * 512,
                _ => 0,
            };
            assert_eq!(harmless(row), uncovered, "{}: {row:?}", design.name);
            assert_eq!(row.first_at.contains_key(&Verdict::Harmless), uncovered > 0);
        }
    }
}

#[test]
fn every_flip_of_a_long_tag_is_found_and_only_unused_bits_are_harmless() {
    let of = |location, length: fn(MacDesign) -> MacDesign, code| {
        let mut sc64 = design("sc64-bmt").unwrap();
        sc64.parts.mac = length(MacDesign { code, place: location, ..MacDesign::default() });
        if code == MacChoice::OcbChunks {
            sc64.parts.cipher = CipherChoice::TdesOcbChunks;
        }
        let report = exhaustive(&sc64, &mut |_, _| ());
        assert!(report.agrees, "{:?}", report.rows.iter().find(|row| !row.agrees));
        let row = report.rows.into_iter().find(|row| row.structure == "tag").unwrap();
        (row.flips, harmless(&row))
    };
    // 65 tags; in a region, the line of the last tag has room for other tags.
    let wide = |mac: MacDesign| mac.with_line_bits(128);
    assert_eq!(of(TagLocation::Inline, wide, MacChoice::Gmac), (65 * 128, 0));
    assert_eq!(of(TagLocation::Region, wide, MacChoice::Gmac), (17 * 512, 3 * 128));
    assert_eq!(of(TagLocation::Region, |mac| mac.with_chunk_bits(64), MacChoice::OcbChunks), (65 * 512, 0));
    assert_eq!(of(TagLocation::Ecc, |mac| mac, MacChoice::Gmac), (65 * 64, 0));
}

#[test]
fn flips_of_unused_counter_bits_are_harmless_unless_a_tree_covers_them() {
    // Eight counters of 56 bits leave 64 bits of a line spare: 8 bits, and the 56 of a MAC that only a tree puts into the line.
    let mut design = design("ctr-mac-version").unwrap();
    design.parts.counters = CounterChoice::Mono56;
    let report = exhaustive(&design, &mut |_, _| ());
    let row = report.rows.iter().find(|row| row.structure == "counter").unwrap();
    // The page has eight of these lines; the last counter line serves one line of data.
    assert_eq!(harmless(row), 8 * (56 + 8) + (512 - 56));
    assert_eq!(row.first_at[&Verdict::Harmless].1, 448, "the first bit after the counters");
    design.parts.tree = TreeKind::Bonsai.into();
    let report = exhaustive(&design, &mut |_, _| ());
    let row = report.rows.iter().find(|row| row.structure == "counter").unwrap();
    assert_eq!((harmless(row), row.worst()), (0, Some(Verdict::Detected)), "a tree covers them all");
}

#[test]
fn exhaustive_bit_flips_report_a_false_claim_about_counters() {
    let mut design = design("ctr-mac").unwrap();
    design.claims = catalogue::design("sc64-bmt").unwrap().claims;
    let report = exhaustive(&design, &mut |_, _| ());
    let differing: Vec<_> = report.rows.iter().filter(|row| !row.agrees).map(|row| row.structure.as_str()).collect();
    assert_eq!((report.agrees, differing), (false, vec!["counter"]));
}
