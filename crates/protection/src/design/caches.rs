//! The metadata caches of a design, in the form of a design file.
//!
//! ```toml
//! caches = { counters = "64 KB", tags = "64 KB", nodes = "64 KB", ways = 8 }     # as if nothing were said
//! caches = { unified = "128 KB", ways = 8 }                                      # one cache of everything
//! caches = { counters = "32 KB", counters_in_llc = true }                        # what it loses goes to the last level
//! caches = { counters_in_llc = true, nodes_in_llc = true }                       # and what the tree's loses as well
//! caches = { counters = "1 MB", offsets = true }                                 # with each line's first offset (OCB)
//! caches = { counters_in_llc = true, counters_in_l2 = "32 KB" }                  # and L2s have copies, to begin reads with
//! ```

use crate::layout::Layout;
use crate::on_chip::{Copies, Geometries, Geometry, GoesOn};
use crate::slot::{Kind, MetadataCacheKind};
use serde::{Deserialize, Serialize};
use units::{Bytes, LINE_BYTES};

/// Default size of a cache.
const USUAL: Bytes = Bytes(64 << 10);

/// Default size of the bitmap cache.
const OF_BITMAPS: Bytes = Bytes(8 << 10);

/// Size of the largest metadata cache, which equals that of the largest last-level cache.
const LARGEST: Bytes = Bytes(1 << 30);

/// The metadata caches of a design.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheDesign {
    /// Size of one cache for all metadata, instead of a separate cache for each kind of metadata.
    #[serde(default)]
    pub unified: Option<Bytes>,
    /// Size of the cache of encryption counters; 64 KB by default.
    #[serde(default)]
    pub counters: Option<Bytes>,
    /// Size of the cache of the tags of data lines; 64 KB by default.
    #[serde(default)]
    pub tags: Option<Bytes>,
    /// Size of the cache of tree nodes; 64 KB by default.
    #[serde(default)]
    pub nodes: Option<Bytes>,
    /// Size of the bitmap cache, if the words of lines are re-ordered; 8 KB by default (Shi and Lee, section
    /// 3.2.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bitmaps: Option<Bytes>,
    /// True if a miss in the bitmap cache also prefetches the next bitmap line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bitmaps_ahead: bool,
    /// Associativity of each metadata cache.
    #[serde(default = "eight")]
    pub ways: usize,
    /// True if counter lines enter the machine's last-level cache when the controller's cache evicts them.
    #[serde(default)]
    pub counters_in_llc: bool,
    /// True if evicted nodes of the tree enter the last-level cache as well.
    #[serde(default)]
    pub nodes_in_llc: bool,
    /// True if the counter cache also keeps the first OCB offset R of each line, in extra room as large as the
    /// counters or twice as large. If false, the engine computes R anew at every miss.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offsets: bool,
    /// Bytes of copied counter lines that each L2 may keep. An L2 then decrypts and verifies lines itself, as in
    /// EMCC (MICRO 2022).
    #[serde(default)]
    pub counters_in_l2: Option<Bytes>,
}

fn eight() -> usize {
    8
}

impl Default for CacheDesign {
    fn default() -> CacheDesign {
        CacheDesign {
            unified: None,
            counters: None,
            tags: None,
            nodes: None,
            bitmaps: None,
            bitmaps_ahead: false,
            ways: eight(),
            counters_in_llc: false,
            nodes_in_llc: false,
            offsets: false,
            counters_in_l2: None,
        }
    }
}

impl CacheDesign {
    /// Returns the same kind of caches, each of this size. The size of the bitmap cache changes only if the design
    /// gives a size for it.
    pub fn resized(self, size: Bytes, ways: usize) -> CacheDesign {
        let (unified, each) = if self.unified.is_some() { (Some(size), None) } else { (None, Some(size)) };
        let (bitmaps, counters_in_l2) = (self.bitmaps.and(each), self.counters_in_l2.map(|_| size));
        CacheDesign { unified, counters: each, tags: each, nodes: each, bitmaps, ways, counters_in_l2, ..self }
    }

    /// Returns the caches that a design with this layout uses, with their sizes.
    pub fn used(&self, layout: &Layout) -> Vec<(&'static str, Bytes)> {
        let is_used = |cache: &MetadataCacheKind| {
            Kind::all().any(|kind| kind.cache() == Some(*cache) && layout.region(kind).is_some())
        };
        let mut used = MetadataCacheKind::all().filter(is_used);
        match self.unified {
            Some(size) => used.next().map(|_| ("all metadata", size)).into_iter().collect(),
            None => used.map(|cache| (cache.contents(), self.size(cache))).collect(),
        }
    }

    /// Size that the design gives for one of the separate caches.
    fn given(&self, cache: MetadataCacheKind) -> Option<Bytes> {
        match cache {
            MetadataCacheKind::Counters => self.counters,
            MetadataCacheKind::Tags => self.tags,
            MetadataCacheKind::Nodes => self.nodes,
            MetadataCacheKind::Bitmaps => self.bitmaps,
        }
    }

    /// Size of one of the separate caches.
    fn size(&self, cache: MetadataCacheKind) -> Bytes {
        self.given(cache).unwrap_or_else(|| match cache {
            MetadataCacheKind::Counters | MetadataCacheKind::Tags | MetadataCacheKind::Nodes => USUAL,
            MetadataCacheKind::Bitmaps => self.usual_of_bitmaps(),
        })
    }

    /// Returns the sizes and associativities of the caches to build.
    ///
    /// # Errors
    /// The rule that is broken, and a change that would mend it.
    pub(super) fn geometries(&self) -> Result<Geometries, String> {
        if let Some(size) = self.unified {
            return match MetadataCacheKind::all().find(|cache| self.given(*cache).is_some()) {
                Some(cache) => Err(format!(
                    "caches.unified is one cache of all metadata, and caches.{} is a separate one: leave one of them out",
                    cache.name()
                )),
                None => self.geometry("unified", size).map(Geometries::unified),
            };
        }
        let separate = MetadataCacheKind::all().map(|cache| self.geometry(cache.name(), self.size(cache)));
        separate.collect::<Result<_, _>>().map(Geometries::separate)
    }

    /// Default size of the bitmap cache: the largest power of two of sets for which 8 KB have room.
    fn usual_of_bitmaps(&self) -> Bytes {
        let set = (self.ways.max(1) * LINE_BYTES) as u64;
        Bytes((OF_BITMAPS.0 / set).checked_ilog2().map_or(1, |log| 1 << log) * set)
    }

    /// Returns the kinds of metadata that enter the last-level cache after their eviction from the controller's caches,
    /// if any do.
    pub(super) fn goes_on(&self) -> Option<GoesOn> {
        let goes_on = if self.nodes_in_llc { GoesOn::CountersAndNodes } else { GoesOn::Counters };
        self.counters_in_llc.then_some(goes_on)
    }

    /// Returns the empty stores of copied counters in L2s, if L2s keep any.
    ///
    /// # Errors
    /// Same errors as [`CacheDesign::geometries`].
    pub(super) fn copies(&self) -> Result<Option<Copies>, String> {
        let geometry = self.counters_in_l2.map(|size| self.geometry("counters_in_l2", size));
        Ok(geometry.transpose()?.map(Copies::new))
    }

    fn geometry(&self, name: &str, size: Bytes) -> Result<Geometry, String> {
        let (lines, ways) = (size.0 as usize / LINE_BYTES, self.ways);
        if size > LARGEST {
            return Err(format!("caches.{name} = \"{size}\" does not fit on a chip: expected at most \"{LARGEST}\""));
        }
        match lines.checked_div(ways) {
            Some(sets) if sets.is_power_of_two() && sets * ways * LINE_BYTES == size.0 as usize => {
                Ok(Geometry { sets, ways })
            }
            _ => Err(format!(
                "caches.{name} = \"{size}\" with ways = {ways} does not give a power of two of sets of 64-byte lines: \
                 try \"{}\" with ways = 8",
                if name == "bitmaps" { OF_BITMAPS } else { USUAL }
            )),
        }
    }
}
