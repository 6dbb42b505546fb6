//! Programs whose load values could not be compared, although the user requested it, and the reason.
//!
//! A requested check that did not run counts as failed ([`Record::require_values`](crate::Record::require_values)).

use serde::Serialize;
use workload::{Medium, Origin, Values};

/// A program without compared load values.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NotCompared {
    /// Name of the program, as one line of text.
    pub program: String,
    /// The reason why no value was compared.
    pub reason: NoValues,
}

/// Reason why no load value of a program was compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoValues {
    /// Its trace has no values: a seed determines memory and stores.
    Drawn,
    /// Its trace was recorded without load values.
    NotRecorded,
    /// The program executed no load in the part that ran.
    NothingLoaded,
}

impl NotCompared {
    /// Determines the reason from the source of the program.
    pub(crate) fn of(origin: &Origin) -> NotCompared {
        let reason = match (origin.values, origin.medium, origin.load_values) {
            (Values::Seeded(_), _, false) => NoValues::Drawn,
            (_, Medium::Stored, false) => NoValues::NotRecorded,
            _ => NoValues::NothingLoaded,
        };
        NotCompared { program: origin.program.join(" "), reason }
    }
}
