//! State of the chip and of memory when a run begins.

use chip::word_counts::FrequentWord;
use protection::counter::StartingAge;
use serde::Serialize;

/// State of the chip and of memory when a run begins.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct StartState {
    /// Age of the encryption counters of data.
    pub age: StartingAge,
    /// Values in the table of frequent values with their counts, the most frequent first: the run begins as if this chip
    /// had written all of memory while they were frequent. A table of tracking `counted` takes their counts, an `lru` table
    /// takes only the values, and a `fixed` table keeps its own words. If there are no values, the table begins as the
    /// design states and memory is in program order.
    #[serde(rename = "start_values", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<FrequentWord>,
    /// Instructions of each program that are executed without simulated time, before the warm-up. They leave memory, caches,
    /// TLBs and predictors as after a long run. They are part of the budget.
    #[serde(skip_serializing_if = "is_zero")]
    pub untimed: u64,
}

/// Serde requires a reference.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<StartingAge> for StartState {
    fn from(age: StartingAge) -> StartState {
        StartState { age, ..StartState::default() }
    }
}
