//! The words of enumerations in results and files, as the Rust types define them. The Python package checks its types against these lists,
//! and a timeline chooses its colours by the subject of a verb.

use crate::to_json;
use catalogue::Verdict;
use protection::design::{CipherChoice, CounterChoice, Covered, MacChoice, Order, Over, TreeKind};
use protection::mac::TagLocation;
use protection::ownership::Ownership;
use protection::scheme::Release;
use protection::tree::Update;
use pyo3::prelude::*;
use runner::explain::{Meets, Of, OnChipMetadata, RowState, TimelineStart, Until};
use runner::sampling::Aim;
use serde::Serialize;
use serde_json::{Value, json};
use sim::span::{Cause, Verb};
use strum::VariantArray;

fn of<T: VariantArray + Serialize>() -> Value {
    json!(T::VARIANTS)
}

/// All words of each type, by the type's name.
#[pyfunction]
pub fn words() -> PyResult<String> {
    to_json(&json!({
        "Aim": of::<Aim>(), "Cause": of::<Cause>(), "CipherChoice": of::<CipherChoice>(), "CounterChoice": of::<CounterChoice>(),
        "Covered": of::<Covered>(), "MacChoice": of::<MacChoice>(), "Meets": of::<Meets>(), "Of": of::<Of>(), "OnChip": of::<OnChipMetadata>(), "Order": of::<Order>(),
        "Over": of::<Over>(), "Ownership": of::<Ownership>(), "Place": of::<TagLocation>(), "Release": of::<Release>(), "Row": of::<RowState>(),
        "Start": of::<TimelineStart>(), "TreeKind": of::<TreeKind>(), "Until": of::<Until>(), "Update": of::<Update>(), "Verb": of::<Verb>(), "Verdict": Verdict::ALL,
    }))
}

/// The verbs of spans in a timeline, each with its subject and its meaning.
#[pyfunction]
pub fn verbs() -> PyResult<String> {
    let describe = |verb: &Verb| json!({ "name": verb, "about": verb.subject(), "summary": verb.summary() });
    to_json(&Verb::VARIANTS.iter().map(describe).collect::<Vec<_>>())
}
