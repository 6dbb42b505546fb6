//! Wrong keys of a permutation: sizes, unknown keys, and single keys for a design that does not permute lines.

use casemate_catalogue::design_with;

fn refused(design: &str, key: &str, value: &str) -> String {
    let changes = [(format!("parts.permutation{key}"), value.to_owned())];
    design_with(design, &changes).expect_err(&format!("{key} = {value}")).to_string()
}

#[test]
fn out_of_range_sizes_of_the_address_permutation_are_refused_with_the_range() {
    for (key, value, expected) in [
        (".record_buffer", "0", "expected 1 to 65535"),
        (".record_buffer", "65536", "expected 1 to 65535"),
        (".merkle_cache.entries", "1", "at least 2"),
        (".merkle_cache.entries", "65536", "at most 65535"),
        (".at_once", "0", "expected 1 to 65535"),
        (".at_once", "65536", "expected 1 to 65535"),
        (".slots_per_tag", "0", "expected 1, 2 or 4"),
        (".slots_per_tag", "3", "expected 1, 2 or 4"),
    ] {
        let said = refused("cryptopage", key, value);
        assert!(said.contains(expected), "{said}");
    }
    assert!(design_with("cryptopage", &[("parts.permutation.record_buffer".into(), "65535".into())]).is_ok());
}

#[test]
fn the_moment_of_background_permutations_is_a_number_of_ways_a_share_or_never() {
    for (value, expected) in [
        ("1.5", "1.5: expected a share of the cache's lines from 0 to 1"),
        ("-0.1", "from 0 to 1"),
        ("-1", "from 0 to 1"),
        ("\"often\"", "such as 0.75, or \"never\""),
        ("true", "expected a number of ways, a share of the lines such as 0.75, or \"never\""),
    ] {
        let said = refused("cryptopage", ".ahead", value);
        assert!(said.contains(expected) && said.contains("ahead"), "{value}: {said}");
    }
    for value in ["0", "1", "0.75", "1.0", "\"never\""] {
        let changes = [("parts.permutation.ahead".to_owned(), value.to_owned())];
        let design = design_with("cryptopage", &changes).unwrap();
        let fits = casemate_catalogue::machine("cryptopage-2006").unwrap().admits(&design.parts);
        assert!(fits.is_ok(), "{value}: {fits:?}");
    }
}

#[test]
fn the_slot_fetched_first_under_a_tag_is_that_of_the_group_or_the_requested_one() {
    for value in ["\"last\"", "\"Requested\"", "0", "true"] {
        let said = refused("cryptopage", ".first", value);
        assert!(said.contains("first"), "{value}: {said}");
    }
    let said = refused("cryptopage", ".first", "\"last\"");
    assert!(said.contains("group-order") && said.contains("requested"), "{said}");
    for value in ["\"group-order\"", "\"requested\""] {
        assert!(design_with("cryptopage", &[("parts.permutation.first".into(), value.into())]).is_ok(), "{value}");
    }
}

#[test]
fn a_machine_refuses_more_unlocked_ways_than_it_has() {
    let changes = [("parts.permutation.ahead".to_owned(), "4".to_owned())];
    let design = design_with("cryptopage", &changes).unwrap();
    let said = casemate_catalogue::machine("cryptopage-2006").unwrap().admits(&design.parts).unwrap_err();
    assert!(said.contains("permutation.ahead is 4") && said.contains("fewer than 4"), "{said}");
}

#[test]
fn a_machine_with_fewer_permits_than_permutations_at_once_names_both_keys() {
    let overflows = ("memory.overflows".to_owned(), "{ outstanding = 3, slots = 256 }".to_owned());
    let machine = casemate_catalogue::machine_with("cryptopage-2006", &[overflows]).unwrap();
    let with = |at_once: &str| {
        let design = design_with("cryptopage", &[("parts.permutation.at_once".into(), at_once.into())]).unwrap();
        machine.admits(&design.parts)
    };
    let said = with("4").unwrap_err();
    assert!(said.contains("permutation.at_once is 4") && said.contains("memory.overflows.outstanding"), "{said}");
    assert_eq!(with("3"), Ok(()));
}

#[test]
fn a_design_without_tags_refuses_a_tag_over_several_slots() {
    assert!(refused("hide", ".slots_per_tag", "2").contains("plain lines have no tags"));
}

#[test]
fn an_unknown_key_of_the_merkle_cache_is_named() {
    let said = refused("cryptopage", ".merkle_cache", "{ entries = 64, pairs = true }");
    assert!(said.contains("unknown field `pairs`"), "{said}");
}

#[test]
fn overriding_one_key_of_the_address_permutation_is_refused_for_a_design_without_one() {
    for key in [".slots_per_tag", ".merkle_cache.entries"] {
        let said = refused("none", key, "2");
        assert!(said.contains(&format!("design.cryptopage.parts.permutation{key}")), "{said}");
    }
    assert!(design_with("none", &[("parts.permutation".into(), "{ slots_per_tag = 2 }".into())]).is_ok());
}
