//! Memory lines shorter than 64 bytes, and the parts of a design that support them.

use super::{Ownership, Parts};
use crate::mac::TagLocation;
use units::LineLength;

/// Returns the rule that a design breaks if its lines have this length, if any. The cipher checks the length itself
/// when it is built.
pub(super) fn rule(parts: &Parts, length: LineLength) -> Option<String> {
    if length == LineLength::WHOLE {
        return None;
    }
    let by_whole_lines = [
        (parts.mac.place != TagLocation::Region, "mac.place, with the spare bits of whole lines,"),
        (parts.ownership != Ownership::None, "ownership"),
        (!parts.speculation.is_left_out(), "speculation"),
        (parts.persistence.exists(), "persistence"),
        (parts.caches.counters_in_llc, "caches.counters_in_llc"),
        (!parts.mac.can_do(parts.cipher, length), "mac.code"),
    ];
    let named = by_whole_lines.into_iter().find(|(is_there, _)| *is_there).map(|(_, key)| key);
    named.map(|key| refusal(key, length))
}

/// Returns the error for a part that supports only lines of 64 bytes.
pub(super) fn refusal(key: &str, length: LineLength) -> String {
    format!(
        "{key} needs lines of 64 bytes, and memory has lines of {}: leave it out, or set memory.line = \"64 B\"",
        length.bytes()
    )
}
