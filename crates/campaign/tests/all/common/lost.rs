//! Losses of power under built-in designs, as in `casemate crash`.

use casemate_campaign::crash::crash;
use casemate_campaign::{CrashOptions, CrashReport};
use catalogue::{Loss, design};

/// Returns the report on these rows under a design, on one workload or on all.
pub fn tried(name: &str, rows: &[Loss], workload: Option<usize>) -> CrashReport {
    let options = CrashOptions { rows: rows.to_vec(), workload, ..CrashOptions::default() };
    crash(&design(name).unwrap(), &options, &mut |_, _| {})
}
