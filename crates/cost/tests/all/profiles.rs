//! Rules of a profile, and their error messages.

use crate::papers;
use cost::Profile;

const TEXT: &str = include_str!("../../profiles/secpb.toml");

fn refused(from: &str, to: &str) -> String {
    assert!(TEXT.contains(from), "{from}");
    Profile::parse("mine.toml", &TEXT.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn the_papers_tree_has_eight_levels_and_its_buffer_entry_at_most_260_bytes() {
    let profile = papers();
    assert_eq!(profile.tree.levels(), 8);
    assert_eq!(profile.entry.bits(), 2065);
    assert!(profile.entry.bits() <= 8 * 260);
}

#[test]
fn the_levels_of_a_tree_are_the_logarithm_of_its_counter_lines_rounded_up() {
    let mut tree = papers().tree;
    for (covers, levels) in [("4 KB", 1), ("8 KB", 2), ("32 KB", 2), ("33 KB", 3), ("256 KB", 3), ("260 KB", 4)] {
        tree.covers = covers.parse().unwrap();
        assert_eq!(tree.levels(), levels, "{covers}");
    }
}

#[test]
fn an_invalid_key_of_a_cost_profile_is_refused_with_file_and_line() {
    let line = |key: &str| 1 + TEXT.lines().position(|line| line.starts_with(key)).unwrap();
    let unknown = refused("tag_bits", "tga_bits");
    assert!(unknown.starts_with(&format!("mine.toml:{}: ", line("tag_bits"))), "{unknown}");
    assert!(unknown.contains("tga_bits") && unknown.ends_with("(did you mean 'tag_bits'?)"), "{unknown}");
    let wrong = refused("arity = 8", "arity = \"eight\"");
    assert!(wrong.starts_with(&format!("mine.toml:{}: tree.arity: ", line("arity"))), "{wrong}");
    assert!(wrong.contains("expected a whole number"), "{wrong}");
    let size = refused("\"4 MB\"", "\"4 XB\"");
    assert!(size.contains("caches.l3: '4 XB' is not a size: expected a whole number and a unit"), "{size}");
    let missing = refused("area_mm2 = 5.37", "");
    assert!(missing.contains("missing field `area_mm2`"), "{missing}");
}

#[test]
fn an_invalid_value_of_a_cost_profile_is_refused_with_the_rule() {
    for (from, to, expected) in [
        ("arity = 8", "arity = 1", "mine.toml: tree.arity is 1: expected 2 or more children"),
        (
            "page = \"4 KB\"",
            "page = \"0 B\"",
            "tree.covers is 8 GB: expected at least tree.page, which is 0 B and not 0",
        ),
        ("covers = \"8 GB\"", "covers = \"2 KB\"", "tree.covers is 2 KB: expected at least tree.page, which is 4 KB"),
        ("l2 = \"512 KB\"", "l2 = \"2048 GB\"", "caches.l2 is 2048 GB: expected at most 1024 GB"),
        ("area_mm2 = 5.37", "area_mm2 = 0.0", "core.area_mm2 is 0: expected from 0.000001 to 1000000"),
        ("mj_per_mm3 = 0.36", "mj_per_mm3 = 1e-320", "storage.mj_per_mm3 of 'supercap' is 0.00"),
        ("data_bits = 512", "data_bits = 0", "entry.data_bits is 0: expected at least 1"),
        ("hash_pj_per_byte = 79290", "hash_pj_per_byte = 0", "energy.hash_pj_per_byte is 0: expected at least 1"),
        (
            "mj_per_mm3 = 0.36",
            "mj_per_mm3 = -1.0",
            "storage.mj_per_mm3 of 'supercap' is -1: expected from 0.000001 to 1000000",
        ),
        (
            "mj_per_mm3 = 0.36",
            "mj_per_mm3 = inf",
            "storage.mj_per_mm3 of 'supercap' is inf: expected from 0.000001 to 1000000",
        ),
        ("name = \"li-thin\"", "name = \"supercap\"", "storage.name is 'supercap' twice: expected a name for each"),
    ] {
        let message = refused(from, to);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn an_unknown_profile_names_the_nearest_right_one() {
    let message = cost::profile("sceppb").unwrap_err().to_string();
    assert_eq!(message, "unknown profile 'sceppb' (did you mean 'secpb'?); there are: secpb");
    assert!(cost::profile("nowhere.toml").unwrap_err().to_string().starts_with("nowhere.toml: "));
}
