//! Programs whose load values could not be compared, though that was asked for, and the reason.
//!
//! A check that did not take place has not passed ([`Record::require_values`](crate::Record::require_values)).

use serde::Serialize;
use workload::{Medium, Origin, Values};

/// A program of which no load value was compared.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NotCompared {
    /// The program on one line.
    pub program: String,
    /// Why not.
    pub reason: NoValues,
}

/// Why no load value of a program was compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoValues {
    /// Its trace has no values: memory and stores are drawn from a seed.
    Drawn,
    /// Its trace was recorded without them.
    NotRecorded,
    /// It loaded nothing in the part that was run.
    NothingLoaded,
}

impl NotCompared {
    /// The program, and the reason that follows from its source.
    pub(crate) fn of(origin: &Origin) -> NotCompared {
        let reason = match (origin.values, origin.medium, origin.load_values) {
            (Values::Seeded(_), _, false) => NoValues::Drawn,
            (_, Medium::Stored, false) => NoValues::NotRecorded,
            _ => NoValues::NothingLoaded,
        };
        NotCompared { program: origin.program.join(" "), reason }
    }
}
