//! Volumes of batteries and capacitors that store the energy of a drain.

use crate::watching::interruptible;
use crate::{from_json, refused, to_json};
use pyo3::prelude::*;

/// The batteries of systems under a profile, given by name or file. Ctrl-C stops the estimate.
#[pyfunction]
pub fn battery(py: Python<'_>, profile: &str, question: &str, callback: Py<PyAny>) -> PyResult<String> {
    let question: cost::Question = from_json(question)?;
    let profile = cost::profile(profile).map_err(refused)?;
    let found = interruptible(py, &callback, move |progress| {
        cost::battery(&profile, &question, &mut |done, of| progress.report_part(done, of))
    })?;
    to_json(&found.map_err(refused)?)
}
