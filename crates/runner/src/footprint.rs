//! Size of metadata, and the content of the caches when counting begins.

use chip::content::CacheContent;
use serde::Serialize;

/// Size of metadata in memory and on the chip.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Footprint {
    /// Physical memory that the program uses, in bytes.
    pub program_bytes: u64,
    /// Metadata as a percentage of protected memory, from the layout.
    pub metadata_percent: f64,
    /// Size of the metadata caches on the chip, in bytes.
    pub metadata_cache_bytes: u64,
    /// Entries of the caches when counting began; absent if it began with the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_start: Option<CacheContent>,
}
