//! Changes to the keys of machines and designs, as Python passes them.

use crate::refused;
use catalogue::{Change, Design, Machine};
use pyo3::prelude::*;
use serde::Deserialize;
use std::fmt::Display;

/// A changed key with its value.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    /// Name or path of the only machine or design to change, as the user gave it; `None` changes all.
    only: Option<String>,
    key: String,
    value: String,
    /// True if the user changes the key of several designs or machines at once.
    #[serde(default)]
    shared: bool,
}

/// Changed keys of machines and designs.
#[derive(Clone, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct KeyChanges {
    machine: Vec<Named>,
    design: Vec<Named>,
}

fn for_one(changes: &[Named], name: &str) -> Vec<Change> {
    let meant = changes.iter().filter(|change| change.only.as_deref().is_none_or(|only| only == name));
    meant.map(|change| (change.key.clone(), change.value.clone())).collect()
}

/// The error, with the form for only one design or machine if the user changed several at once.
fn hinted(error: impl Display, of: &str, changes: &[Named]) -> PyErr {
    if changes.iter().any(|change| change.shared) {
        return refused(format!("{error} ({of}.NAME.KEY changes only the {of} NAME)"));
    }
    refused(error)
}

impl KeyChanges {
    /// The machine with its changes.
    pub fn machine(&self, name_or_path: &str) -> PyResult<Machine> {
        catalogue::machine_with(name_or_path, &self.of_machine(name_or_path))
            .map_err(|error| hinted(error, "machine", &self.machine))
    }

    /// The design with its changes.
    pub fn design(&self, name_or_path: &str) -> PyResult<Design> {
        catalogue::design_with(name_or_path, &self.of_design(name_or_path))
            .map_err(|error| hinted(error, "design", &self.design))
    }

    /// Changes of a machine.
    pub fn of_machine(&self, name_or_path: &str) -> Vec<Change> {
        for_one(&self.machine, name_or_path)
    }

    /// Changes of a design.
    pub fn of_design(&self, name_or_path: &str) -> Vec<Change> {
        for_one(&self.design, name_or_path)
    }
}
