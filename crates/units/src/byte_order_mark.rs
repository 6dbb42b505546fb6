//! Byte order marks at the beginning of text, which some editors write. A mark names the encoding of the text.

/// Mark of UTF-8, where it has no use.
const UTF_8: &[u8] = b"\xef\xbb\xbf";
/// Marks of wider encodings; the longer marks first, because a shorter one is the beginning of a longer one.
const WIDE: [(&[u8], &str); 4] =
    [(b"\xff\xfe\0\0", "UTF-32"), (b"\0\0\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16")];

/// Returns text without the byte order mark of UTF-8 at its beginning.
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(UTF_8).unwrap_or(text)
}

/// Returns the description of text in UTF-16 or UTF-32, with the command that converts it, if the text begins with the
/// byte order mark of one of them.
pub fn wide_text(text: &[u8]) -> Option<String> {
    let (_, encoding) = WIDE.iter().find(|(mark, _)| text.starts_with(mark))?;
    Some(format!("text in {encoding}: convert it to UTF-8, with `iconv -f {encoding} -t UTF-8`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_mark_of_utf_8_is_removed() {
        assert_eq!(without_mark(b"\xef\xbb\xbfa\xef\xbb\xbf"), b"a\xef\xbb\xbf");
        assert_eq!(without_mark(b"a"), b"a");
        assert_eq!(without_mark(b"\xef\xbb"), b"\xef\xbb");
    }

    #[test]
    fn a_mark_of_utf_32_is_not_taken_for_the_mark_of_utf_16() {
        for (text, encoding) in [
            (&b"\xff\xfea\0"[..], Some("UTF-16")),
            (b"\xfe\xff\0a", Some("UTF-16")),
            (b"\xff\xfe\0\0a\0\0\0", Some("UTF-32")),
            (b"\0\0\xfe\xff\0\0\0a", Some("UTF-32")),
            (b"\xef\xbb\xbfa", None),
            (b"a", None),
        ] {
            let found = wide_text(text);
            assert_eq!(found.is_some(), encoding.is_some(), "{text:?}");
            assert!(encoding.is_none_or(|encoding| found.is_some_and(|found| found.contains(encoding))), "{text:?}");
        }
    }
}
