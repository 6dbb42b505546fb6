//! Batteries: what the paper prints, what follows from the chain of steps, and what a profile may say.

mod caches;
mod chain;
mod counted;
mod outlasts;
mod overflows;
mod profiles;
mod questions;
mod tables;

use cost::{Battery, Profile, Question, QuestionError, Row};

fn papers() -> Profile {
    cost::profile("secpb").unwrap()
}

/// The answer to a question, however far it is.
fn battery(profile: &Profile, question: &Question) -> Result<Battery, QuestionError> {
    cost::battery(profile, question, &mut |_, _| ())
}

/// The answer of the paper's profile for so many entries.
fn with_entries(entries: i64) -> Battery {
    battery(&papers(), &Question { entries: vec![entries], ..Question::default() }).unwrap()
}

fn row<'a>(battery: &'a Battery, system: &str) -> &'a Row {
    battery.rows.iter().find(|row| row.system == system).unwrap()
}
