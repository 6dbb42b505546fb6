//! Errors in the speculation of a design, in words for its author.

use casemate_catalogue::{Design, design_with};

/// The error for a design with these changes.
fn refused(design: &str, changes: &[(&str, &str)]) -> String {
    let changes: Vec<_> = changes.iter().map(|(key, value)| (format!("parts.{key}"), (*value).to_owned())).collect();
    let error = design_with(design, &changes).expect_err(&format!("{changes:?}")).to_string();
    assert!(!error.trim_end().contains('\n'), "{error}");
    error
}

#[test]
fn keys_of_frequent_value_bitmaps_are_refused_for_designs_without_re_ordering() {
    let remedy = "the design re-orders no lines: set speculation.reorder = true, or leave it out";
    for design in ["sc64-bmt", "fvs-tdes", "fvs-aes-plain", "none"] {
        for (key, value, said) in [
            ("caches.bitmaps", "8 KB", "caches.bitmaps = \"8 KB\" is for the bitmaps"),
            ("caches.bitmaps_ahead", "true", "caches.bitmaps_ahead = true is for the bitmaps"),
            ("speculation", "{ values = 0, bitmap = \"loose\" }", "speculation.bitmap = \"loose\" is for the bitmaps"),
            ("speculation", "{ values = 8, bitmap = \"loose\" }", "speculation.bitmap = \"loose\" is for the bitmaps"),
        ] {
            let error = refused(design, &[(key, value)]);
            assert!(error.contains(said) && error.contains(remedy), "{error}");
        }
    }
    for key in [("caches.bitmaps", "16 KB"), ("caches.bitmaps_ahead", "true"), ("speculation.bitmap", "loose")] {
        let change = [(format!("parts.{}", key.0), key.1.to_owned())];
        design_with("fvs-aes", &change).unwrap();
    }
}

#[test]
fn line_re_ordering_without_a_frequent_value_table_is_refused() {
    for changes in [&[("speculation.values", "0")][..], &[("speculation", "{ values = 0, reorder = true }")]] {
        let error = refused("fvs-aes", changes);
        assert!(error.contains("set speculation.values = 8, or leave speculation.reorder out"), "{error}");
    }
    design_with("fvs-aes-plain", &[("parts.speculation.values".to_owned(), "0".to_owned())]).unwrap();
}

#[test]
fn an_impossible_table_size_is_refused_with_the_nearest_possible_one() {
    for (values, nearest) in [("3", "4"), ("5", "4"), ("7", "8"), ("65", "64"), ("9223372036854775807", "64")] {
        let error = refused("fvs-tdes", &[("speculation.values", values)]);
        let expected =
            format!("speculation.values is {values}: expected a power of two from 1 to 64, as in {nearest}, or 0");
        assert!(error.contains(&expected), "{error}");
    }
    for values in ["-1", "eight", "8.5", "true"] {
        let error = refused("fvs-tdes", &[("speculation.values", values)]);
        let is_named = error.contains("parts.speculation.values: found ");
        assert!(is_named && error.contains("expected a whole number, 0 or more"), "{error}");
    }
}

#[test]
fn an_unknown_speculation_option_is_refused_with_its_key_the_valid_and_the_nearest_value() {
    for (key, value, wrong, expected, nearest) in [
        ("tracking", "count", "count", "one of `counted`, `lru`, `fixed`", "counted"),
        ("bitmap", "lose", "lose", "`bound` or `loose`", "loose"),
        ("of", "[\"tags\"]", "tags", "`ciphertext` or `tag`", "tag"),
        ("of", "[\"tag\", \"cyphertext\"]", "cyphertext", "`ciphertext` or `tag`", "ciphertext"),
    ] {
        let said = format!(
            "parts.speculation.{key}: unknown variant `{wrong}`, expected {expected} (did you mean '{nearest}'?)"
        );
        let error = refused("fvs-aes", &[(&format!("speculation.{key}"), value)]);
        assert!(error.ends_with(&said), "{error}");
        // In a file, the message is the same after the number of the line, for both ways of writing the key.
        for table in [
            format!("speculation = {{ values = 8, {key} = {} }}", quoted(value)),
            format!("speculation.{key} = {}", quoted(value)),
        ] {
            let text =
                format!("name = \"mine\"\nsummary = \"\"\ndesign_class = \"C3\"\nsource = \"\"\n[parts]\n{table}\n");
            let error = Design::parse("mine.toml", &text).unwrap_err().to_string();
            assert_eq!(error, format!("mine.toml:6: {said}"));
        }
    }
    let text =
        "name = \"mine\"\nsummary = \"\"\ndesign_class = \"C3\"\nsource = \"\"\n[parts.speculatoin]\nvalues = 8\n";
    let error = Design::parse("mine.toml", text).unwrap_err().to_string();
    assert!(error.starts_with("mine.toml:5: unknown field `speculatoin`"), "{error}");
    let error = refused("fvs-aes", &[("speculation.of", "tag")]);
    assert!(error.contains("parts.speculation.of: found \"tag\", expected a list, as in"), "{error}");
    let error = refused("fvs-aes", &[("speculation.value", "8")]);
    assert!(error.contains("unknown field `value`") && error.contains("did you mean 'values'?"), "{error}");
}

/// A value in the syntax of a file.
fn quoted(value: &str) -> String {
    if value.starts_with('[') { value.to_owned() } else { format!("\"{value}\"") }
}

#[test]
fn a_speculation_target_that_is_listed_twice_is_refused() {
    for (of, twice) in [("[\"tag\", \"tag\"]", "tag"), ("[\"ciphertext\", \"tag\", \"ciphertext\"]", "ciphertext")] {
        let error = refused("fvs-aes", &[("speculation.of", of)]);
        assert!(error.contains(&format!("speculation.of names \"{twice}\" twice: name each once")), "{error}");
    }
}
