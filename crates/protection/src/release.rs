//! Time at which a line that was read is released to the core.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Time at which a line that was read is released to the core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// Release when the verdict is known.
    #[default]
    Verified,
    /// Release when the line is decrypted. Results computed from it stay on the chip until the verdict is known.
    Speculative,
}
