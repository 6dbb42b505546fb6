//! The time in which an idle machine checks a line: from the line's arrival to its verdict, with all metadata on the chip.

use crate::explain::{Lines, OnChipMetadata, Scenario, explain};
use catalogue::{Design, Machine};
use sim::span::Verb;
use units::Duration;

/// Returns the time from the arrival of a line, and of all lines under the same tag, to the end of its check on an idle
/// machine with all metadata on the chip. It includes the decryption if the tag is over plaintext. The time is `None`
/// for a design without tags of data, or if the memory is too small to explain a read.
pub fn check_latency(machine: &Machine, design: &Design) -> Option<Duration> {
    if !design.parts.has_tags() {
        return None;
    }
    let scenario = Scenario { on_chip: OnChipMetadata::All, ..Scenario::default() };
    let read = explain(machine, design, scenario, Lines::At(0)).ok()?;
    let arrival = read.spans.iter().filter(|span| span.verb == Verb::Fetch).map(|span| span.end).max()?;
    let verdict = read.spans.iter().map(|span| span.end).max()?;
    Some(verdict.since(arrival))
}
