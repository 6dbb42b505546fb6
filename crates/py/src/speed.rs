//! Speed of encryption and decryption on this computer's processor.

use crate::{from_json, refused, to_json};
use pyo3::prelude::*;
use serde_json::json;
use strum::VariantArray;
use throughput::AeadEngine;

/// Describes the build and the engines. Each engine has a summary, the unit of its messages, and whether this processor can run it.
#[pyfunction]
pub fn crypto_engines() -> PyResult<String> {
    let describe = |engine: &AeadEngine| json!({ "name": engine, "summary": engine.summary(), "unit_bytes": engine.unit(), "is_available": engine.is_available() });
    let engines: Vec<_> = AeadEngine::VARIANTS.iter().map(describe).collect();
    to_json(&json!({ "built_as": units::BUILT_AS, "engines": engines }))
}

/// Checks the size of a message, and returns it.
#[pyfunction]
pub fn crypto_size(size: i64) -> PyResult<usize> {
    throughput::checked_size(size).map_err(refused)
}

/// Measures calls of an engine on messages of this size. It takes milliseconds, and does not react to Ctrl-C.
#[pyfunction]
pub fn crypto_speed(py: Python<'_>, engine: &str, size: i64, repetitions: i64) -> PyResult<String> {
    let engine: AeadEngine = from_json(&format!("\"{engine}\""))?;
    to_json(&py.detach(|| throughput::measure(engine, size, repetitions)).map_err(refused)?)
}
