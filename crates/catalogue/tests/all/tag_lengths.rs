//! The length of tags in a design file.

use casemate_catalogue::{Design, design_with};
use protection::design::MacDesign;

/// Reads a design file with this authentication.
fn read(cipher: &str, mac: &str) -> Result<MacDesign, String> {
    let text = format!(
        "name = \"mine\"\nsummary = \"\"\ndesign_class = \"C4\"\nsource = \"\"\n[parts]\ncipher = \"{cipher}\"\n\
         counters = \"sc64\"\nmac = {{ {mac} }}\ntree = {{ kind = \"bonsai\" }}\n"
    );
    let design = Design::parse("mine.toml", &text).map_err(|error| error.to_string())?;
    // The serialized design reads the same.
    let again = Design::parse("again.toml", &toml::to_string(&design).unwrap()).unwrap();
    assert_eq!(again.parts, design.parts, "{mac}");
    Ok(design.parts.mac)
}

fn lengths(cipher: &str, mac: &str) -> (Option<u32>, Option<u32>) {
    let mac = read(cipher, mac).unwrap();
    (mac.tag_bits, mac.chunk_tag_bits)
}

#[test]
fn a_design_file_sets_tag_bits_per_line_or_per_chunk_or_uses_the_default() {
    assert_eq!(lengths("aes128-counter", "code = \"gmac\""), (Some(56), None));
    assert_eq!(lengths("aes128-counter", "code = \"gmac\", tag_bits = 128"), (Some(128), None));
    let chunks =
        |length: &str| lengths("tdes-ocb-chunks", &format!("code = \"ocb-chunks\", over = \"plaintext\"{length}"));
    // The defaults are the same as before the key `chunk_tag_bits` existed.
    assert_eq!(chunks(""), (Some(56), None));
    assert_eq!(chunks(", tag_bits = 64"), (Some(64), None));
    assert_eq!(chunks(", chunk_tag_bits = 64"), (None, Some(64)));
}

#[test]
fn invalid_tag_lengths_are_refused_in_one_line_with_file_and_key() {
    for (mac, expected) in [
        ("code = \"ocb-chunks\", tag_bits = 64, chunk_tag_bits = 8", "leave one of them out"),
        ("code = \"gmac\", chunk_tag_bits = 8", "set mac.code = \"ocb-chunks\""),
        ("code = \"ocb-chunks\", chunk_tag_bits = 128", "set mac.chunk_tag_bits = 64"),
        ("code = \"gmac\", tag_bits = 256", "set mac.tag_bits = 128 or mac.code = \"hmac-sha256\""),
        ("code = \"hmac-sha256\", tag_bits = 300", "set mac.tag_bits = 256"),
        (
            "code = \"hmac-sha256\", tag_bits = 256, place = \"beside\"",
            "set mac.tag_bits = 128 or mac.place = \"region\"",
        ),
        ("code = \"ocb-chunks\", tag_bits = 4", "set mac.tag_bits = 8"),
    ] {
        let refused = read("tdes-ocb-chunks", mac).unwrap_err();
        let (length, one_line) = (mac.contains("chunk_tag_bits"), !refused.trim_end().contains('\n'));
        let key = if length { "mac.chunk_tag_bits" } else { "mac.tag_bits" };
        assert!(refused.contains("mine.toml") && refused.contains(key) && one_line, "{refused}");
        assert!(refused.contains(expected), "{refused}");
    }
    let unknown = read("aes128-counter", "code = \"gmac\", tag_bit = 8").unwrap_err();
    assert!(unknown.contains("tag_bits"), "{unknown}");
    assert!(read("aes128-counter", "code = \"gmac\", tag_bits = -1").unwrap_err().contains("mine.toml"));
}

#[test]
fn the_tag_length_per_chunk_replaces_the_length_per_line_only_if_that_is_removed() {
    let change = |key: &str, value: &str| (format!("parts.{key}"), value.to_owned());
    let cipher = [change("cipher", "tdes-ocb-chunks"), change("mac.code", "ocb-chunks")];
    let chunk = change("mac.chunk_tag_bits", "64");
    let both = design_with("sc64-bmt", &[&cipher[..], std::slice::from_ref(&chunk)].concat()).unwrap_err().to_string();
    assert!(both.contains("leave one of them out"), "{both}");
    let changed = design_with("sc64-bmt", &[&cipher[..], &[change("mac.tag_bits", ""), chunk]].concat()).unwrap();
    assert_eq!((changed.parts.mac.tag_bits, changed.parts.mac.chunk_tag_bits), (None, Some(64)));
}
