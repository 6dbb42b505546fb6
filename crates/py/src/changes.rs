//! What is other than in the files of machines and designs, as Python says it.

use crate::refused;
use catalogue::{Change, Design, Machine};
use pyo3::prelude::*;
use serde::Deserialize;

/// A key with its value.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    /// The only machine or design that it is for, as it was asked for; nothing for all.
    only: Option<String>,
    key: String,
    value: String,
}

/// What is other than in the files.
#[derive(Clone, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    machine: Vec<Named>,
    design: Vec<Named>,
}

fn for_one(changes: &[Named], name: &str) -> Vec<Change> {
    let meant = changes.iter().filter(|change| change.only.as_deref().is_none_or(|only| only == name));
    meant.map(|change| (change.key.clone(), change.value.clone())).collect()
}

impl Changes {
    /// A machine with what is changed of it.
    pub fn machine(&self, name_or_path: &str) -> PyResult<Machine> {
        catalogue::machine_with(name_or_path, &self.of_machine(name_or_path)).map_err(refused)
    }

    /// A design with what is changed of it.
    pub fn design(&self, name_or_path: &str) -> PyResult<Design> {
        catalogue::design_with(name_or_path, &self.of_design(name_or_path)).map_err(refused)
    }

    /// What is changed of a machine.
    pub fn of_machine(&self, name_or_path: &str) -> Vec<Change> {
        for_one(&self.machine, name_or_path)
    }

    /// What is changed of a design.
    pub fn of_design(&self, name_or_path: &str) -> Vec<Change> {
        for_one(&self.design, name_or_path)
    }
}
