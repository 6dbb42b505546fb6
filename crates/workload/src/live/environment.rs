//! The variable of the environment with the path of the recorder.

use std::path::PathBuf;

/// Environment variable with the path of the recorder.
pub const RECORDER_VARIABLE: &str = "CASEMATE_RECORDER";

/// Path of the recorder that the environment contains, if any.
pub fn recorder_from_environment() -> Option<PathBuf> {
    std::env::var_os(RECORDER_VARIABLE).map(PathBuf::from)
}
