//! When a line that was read goes to the core.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// When a line that was read goes to the core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// When its verdict is in.
    #[default]
    Verified,
    /// When it is decrypted. What was computed from it stays on the chip until the verdict is in.
    Speculative,
}
