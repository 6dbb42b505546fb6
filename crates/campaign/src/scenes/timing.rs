//! Leakage by time on the bus: the content of a line may affect the time of its release.
//!
//! The victim reads a line and then the line at the address in it, like a program that follows a pointer. A probe at
//! the pins sees the time of each crossing. The line contains words of the table of frequent values, or random words,
//! with equal probability. The attacker has another machine under the same design, and has timed both contents on it.
//! The leak is the mutual information of the time and the two contents: one bit for each read if the times differ,
//! otherwise zero.
//!
//! The scene times the code of the design, on a machine of its time with units for either block cipher
//! (`runner/src/explain/dependent.rs`). Without encryption the content is visible, so time adds no leak.

use super::{Ended, SceneInput, Scenes};
use crate::frequent;
use catalogue::{Attack, Machine, Verdict};
use protection::design::CipherChoice;
use runner::explain::{DependentReads, between_fetches, frequent_values, memory_lines};
use std::sync::LazyLock;
use units::LineAddr;

/// Scenes of this file.
pub(super) const SCENES: Scenes = &[(Attack::ValueTiming, value_timing)];

/// Machine with the observed pins: the one for which speculation on values was published.
const MACHINE: &str = "simplescalar-2005";
/// Number of frequent values for designs without a table.
const VALUES: usize = 8;

static AT_THE_PINS: LazyLock<Option<Machine>> = LazyLock::new(|| catalogue::machine(MACHINE).ok());

fn value_timing(mut stage: SceneInput<'_>) -> Option<Ended> {
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
        let reads = DependentReads { first: LineAddr(first), content, second: LineAddr(second) };
        between_fetches(machine, parts, reads, stage.planted).ok()
    };
    let learned = u64::from(observed(frequent)? != observed(other)?);
    let verdict = if learned > 0 { Verdict::Leaked } else { Verdict::Hidden };
    Some(Ended::new(verdict, LineAddr(first)).counting("bits learned", learned))
}
