//! What this computer's own processor seals and opens.

use crate::{from_json, refused, to_json};
use pyo3::prelude::*;
use serde_json::json;
use strum::VariantArray;
use throughput::Engine;

/// How this was built, and the engines: each with what it is, of what its messages consist, and whether this processor can
/// run it.
#[pyfunction]
pub fn crypto_engines() -> PyResult<String> {
    let describe = |engine: &Engine| json!({ "name": engine, "summary": engine.summary(), "unit_bytes": engine.unit(), "is_available": engine.is_available() });
    let engines: Vec<_> = Engine::VARIANTS.iter().map(describe).collect();
    to_json(&json!({ "built_as": throughput::BUILT_AS, "engines": engines }))
}

/// The size, if there are messages of it.
#[pyfunction]
pub fn crypto_size(size: i64) -> PyResult<usize> {
    throughput::checked_size(size).map_err(refused)
}

/// Measures calls of an engine on messages of this size. It takes milliseconds, and returns before Ctrl-C is heard.
#[pyfunction]
pub fn crypto_speed(py: Python<'_>, engine: &str, size: i64, repetitions: i64) -> PyResult<String> {
    let engine: Engine = from_json(&format!("\"{engine}\""))?;
    to_json(&py.detach(|| throughput::measure(engine, size, repetitions)).map_err(refused)?)
}
