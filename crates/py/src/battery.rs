//! What holds the energy of a drain on battery.

use crate::{from_json, refused, to_json};
use pyo3::prelude::*;

/// The batteries of systems under a profile, named or in a file.
#[pyfunction]
pub fn battery(profile: &str, question: &str) -> PyResult<String> {
    let question: cost::Question = from_json(question)?;
    let profile = cost::profile(profile).map_err(refused)?;
    to_json(&cost::battery(&profile, &question).map_err(refused)?)
}
