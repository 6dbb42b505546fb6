//! What time shows on the bus: whether a line that is read is released sooner or later because of what it holds.
//!
//! The victim reads a line and then the one whose address that holds, as a program does that follows a pointer. A probe at the pins
//! sees when either crosses. The line holds words of the table of frequent values, or random ones, each as likely; the attacker
//! has a machine of its own under the same design, and has timed both there. Where their times differ it learns which it is,
//! one bit for each read, and nothing where they do not: the mutual information of the time and the two contents.
//!
//! It is the design's own text, timed, on a machine of its time with units for either block cipher
//! (`runner/src/explain/dependent.rs`). Without encryption nothing is left for time to show.

use super::{Ended, Scenes, Stage};
use crate::frequent;
use catalogue::{Attack, Machine, Verdict};
use protection::design::CipherChoice;
use runner::explain::{Dependent, between_fetches, frequent_values, memory_lines};
use std::sync::LazyLock;
use units::LineAddr;

/// The attacks of this file.
pub(super) const SCENES: Scenes = &[(Attack::ValueTiming, value_timing)];

/// The machine whose pins are looked at: the one that speculation on values was published for.
const MACHINE: &str = "simplescalar-2005";
/// Frequent values where no table says how many there are.
const VALUES: usize = 8;

static AT_THE_PINS: LazyLock<Option<Machine>> = LazyLock::new(|| catalogue::machine(MACHINE).ok());

fn value_timing(mut stage: Stage<'_>) -> Option<Ended> {
    let machine = AT_THE_PINS.as_ref()?;
    let parts = stage.parts;
    if parts.cipher == CipherChoice::None {
        return None;
    }
    let lines = memory_lines(machine);
    let first = stage.random.below(lines);
    let second = (first + 1 + stage.random.below(lines - 1)) % lines;
    let values = frequent_values(if parts.speculation.exists() { parts.speculation.values } else { VALUES });
    let frequent = frequent::line_of(&values, &mut stage.random);
    let other = stage.random.line();
    let observed = |content| {
        let reads = Dependent { first: LineAddr(first), content, second: LineAddr(second) };
        between_fetches(machine, parts, reads, stage.planted).ok()
    };
    let learned = u64::from(observed(frequent)? != observed(other)?);
    let verdict = if learned > 0 { Verdict::Leaked } else { Verdict::Hidden };
    Some(Ended::new(verdict, LineAddr(first)).counting("bits learned", learned))
}
