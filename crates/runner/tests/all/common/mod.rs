//! Programs of the tests.

#[path = "../../../../campaign/tests/all/common/swept.rs"]
pub mod swept;

use catalogue::Machine;
use std::collections::BTreeMap;
use workload::{Source, kernels};

/// A built-in kernel with these parameters.
pub fn kernel(name: &str, settings: &[(&str, &str)], seed: u64) -> Box<dyn Source> {
    let settings: BTreeMap<String, String> = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    kernels::open(name, &settings, seed).unwrap()
}

/// A machine with the units that a design needs.
pub fn machine_for(design: &str) -> Machine {
    let is_tdes = catalogue::design(design).unwrap().parts.cipher.is_tdes();
    let name = if is_tdes { "simplescalar-2005" } else { "modern" };
    catalogue::machine(if design == "emcc" { "emcc-4core" } else { name }).unwrap()
}
