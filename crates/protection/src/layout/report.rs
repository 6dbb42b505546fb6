//! Report of a layout for users: regions of memory, their sizes, and the storage on the chip.

use super::{Layout, Region};
use crate::mac::TagLocation;
use crate::verbs::{Role, Slot};
use serde::Serialize;
use units::{Bytes, LINE_BYTES};

/// A contiguous region of memory with one purpose.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RegionReport {
    /// Role of the lines.
    pub role: String,
    /// Level of a region of tree nodes; level 0 is directly above the leaves.
    pub level: Option<u8>,
    /// Address of the first byte of the region.
    pub start: u64,
    /// Number of lines of the region; for tags between the lines of data, their bytes in units of lines.
    pub lines: u64,
    /// Number of its bytes.
    pub bytes: u64,
    /// Number of lines that one line serves: data lines for data, counters, tags and owners; children for nodes.
    pub serves: u64,
    /// Size in percent of the data.
    pub percent: f64,
}

/// A storage structure on the chip.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OnChipReport {
    /// Description of the structure.
    pub what: String,
    /// Number of its bytes.
    pub bytes: u64,
    /// Associativity, for a cache.
    pub ways: Option<usize>,
    /// Children of each line, for a root.
    pub serves: Option<u64>,
}

/// Layout of a design, in memory and on the chip.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LayoutReport {
    /// Bytes of data in memory.
    pub memory: u64,
    /// Regions of memory, from the bottom up.
    pub regions: Vec<RegionReport>,
    /// Storage on the chip: caches, then the root.
    pub on_chip: Vec<OnChipReport>,
    /// Size of all metadata in memory, in percent of the data.
    pub overhead_percent: f64,
    /// Number of bits of the random number R' that a permutation draws for the pads of its page chunk; absent without such
    /// pads.
    pub pad_number_bits: Option<u32>,
}

impl Layout {
    /// Returns the report of the layout, with caches of these names and sizes and an associativity of `ways`.
    pub fn report(&self, caches: &[(&str, Bytes)], ways: usize) -> LayoutReport {
        let cache = |(what, size): &(&str, Bytes)| OnChipReport {
            what: format!("cache of {what}"),
            bytes: size.0,
            ways: Some(ways),
            serves: None,
        };
        let root = self.root.map(|root| OnChipReport {
            what: "root of the tree".to_owned(),
            bytes: root.lines * root.bytes,
            ways: None,
            serves: Some(root.serves),
        });
        LayoutReport {
            memory: self.shape().data_bytes(),
            regions: self.regions.iter().flat_map(|region| self.region_reports(region)).collect(),
            on_chip: caches.iter().map(cache).chain(root).collect(),
            overhead_percent: self.overhead_percent(),
            pad_number_bits: None,
        }
    }

    /// Returns the reports of a region. Data with tags behind its lines are reported as two regions, one within the
    /// other.
    fn region_reports(&self, region: &Region) -> Vec<RegionReport> {
        let shape = self.shape();
        let start = shape.byte(region.slot(0));
        let percent = |bytes| bytes as f64 * 100.0 / shape.data_bytes() as f64;
        let tags = self.tags.filter(|_| region.role == Role::Data);
        let role = match tags.map(|tags| tags.location) {
            Some(TagLocation::Ecc) => format!("{} (tags in its ECC)", region.role),
            _ => region.role.to_string(),
        };
        let level = if let Role::Node(level) = region.role { Some(level) } else { None };
        let behind = tags.filter(|tags| tags.location == TagLocation::Inline).map(|tags| {
            let bytes = region.lines / tags.lines * tags.bytes as u64;
            RegionReport {
                role: "tags behind the lines".to_owned(),
                start: start + tags.lines * shape.length.bytes() as u64,
                lines: bytes / LINE_BYTES as u64,
                bytes,
                serves: tags.lines * tags.per_line(),
                percent: percent(bytes),
                level: None,
            }
        });
        let bytes = match region.role {
            Role::Data => shape.data_bytes(),
            _ => shape.byte(Slot(region.base + region.lines)) - start,
        };
        let (lines, serves) = (region.lines, region.serves);
        let whole = RegionReport { role, level, start, lines, bytes, serves, percent: percent(bytes) };
        [Some(whole), behind].into_iter().flatten().collect()
    }
}
