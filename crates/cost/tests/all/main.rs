//! Tests of batteries: the figures that the paper prints, the results of the chain of steps, and the rules of a
//! profile.

mod caches;
mod chain;
mod counted;
mod outlasts;
mod overflows;
mod profiles;
mod questions;
mod tables;

use cost::{BatteryEstimate, BatteryRow, Profile, Question, QuestionError};

fn papers() -> Profile {
    cost::profile("secpb").unwrap()
}

/// The answer to a question; the progress is ignored.
fn battery(profile: &Profile, question: &Question) -> Result<BatteryEstimate, QuestionError> {
    cost::battery(profile, question, &mut |_, _| ())
}

/// The answer of the paper's profile for this number of entries.
fn with_entries(entries: i64) -> BatteryEstimate {
    battery(&papers(), &Question { entries: vec![entries], ..Question::default() }).unwrap()
}

fn row<'a>(battery: &'a BatteryEstimate, system: &str) -> &'a BatteryRow {
    battery.rows.iter().find(|row| row.system == system).unwrap()
}
