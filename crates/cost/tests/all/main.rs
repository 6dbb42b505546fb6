//! Batteries: what the paper prints, what follows from the chain of steps, and what a profile may say.

mod chain;
mod profiles;
mod questions;
mod tables;

use cost::{Battery, Profile, Question, Row, battery};

fn papers() -> Profile {
    cost::profile("secpb").unwrap()
}

/// The answer of the paper's profile for so many entries.
fn with_entries(entries: i64) -> Battery {
    battery(&papers(), &Question { entries: vec![entries], ..Question::default() }).unwrap()
}

fn row<'a>(battery: &'a Battery, system: &str) -> &'a Row {
    battery.rows.iter().find(|row| row.system == system).unwrap()
}
