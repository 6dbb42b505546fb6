//! Programs of the tests.

#[path = "../../../../campaign/tests/all/common/swept.rs"]
pub mod swept;

use std::collections::BTreeMap;
use workload::{Source, kernels};

/// A built-in kernel with these parameters.
pub fn kernel(name: &str, settings: &[(&str, &str)], seed: u64) -> Box<dyn Source> {
    let settings: BTreeMap<String, String> = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    kernels::open(name, &settings, seed).unwrap()
}
