//! The metadata caches of a design, as its file says it.
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
use crate::slot::Kind;
use serde::{Deserialize, Serialize};
use units::{Bytes, LINE_BYTES};

/// The size of a cache if nothing is said.
const USUAL: Bytes = Bytes(64 << 10);

/// A cache of bitmaps of which nothing is said.
const OF_BITMAPS: Bytes = Bytes(8 << 10);

/// The largest cache, which is that of the largest last-level cache.
const LARGEST: Bytes = Bytes(1 << 30);

/// The metadata caches of a design.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheDesign {
    /// One cache of everything, instead of one of each kind.
    #[serde(default)]
    pub unified: Option<Bytes>,
    /// Of counters; 64 KB if nothing is said.
    #[serde(default)]
    pub counters: Option<Bytes>,
    /// Of tags, likewise.
    #[serde(default)]
    pub tags: Option<Bytes>,
    /// Of tree nodes, likewise.
    #[serde(default)]
    pub nodes: Option<Bytes>,
    /// Of bitmaps, where lines are re-ordered; 8 KB if nothing is said (Shi and Lee, section 3.2.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bitmaps: Option<Bytes>,
    /// Whether a line of bitmaps that was missed is followed by the next one, which nobody has asked for yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bitmaps_ahead: bool,
    /// Lines in a set, in each.
    #[serde(default = "eight")]
    pub ways: usize,
    /// Whether lines of counters that lose their entry go on to the machine's last-level cache.
    #[serde(default)]
    pub counters_in_llc: bool,
    /// Whether nodes of the tree go on there as well.
    #[serde(default)]
    pub nodes_in_llc: bool,
    /// Whether the cache of counters keeps with each counter the first offset that its line is encrypted under, where the mode or
    /// the code has such: R of OCB. Else that is encrypted anew at every miss. It takes as much room again, or twice as much.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offsets: bool,
    /// Copies of counters that each L2 may keep. It then begins reads itself, as in EMCC (MICRO 2022).
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
    /// The same kind of caches, each of this size; of bitmaps if it was said how large theirs is.
    pub fn resized(self, size: Bytes, ways: usize) -> CacheDesign {
        let (unified, each) = if self.unified.is_some() { (Some(size), None) } else { (None, Some(size)) };
        let (bitmaps, counters_in_l2) = (self.bitmaps.and(each), self.counters_in_l2.map(|_| size));
        CacheDesign { unified, counters: each, tags: each, nodes: each, bitmaps, ways, counters_in_l2, ..self }
    }

    /// The caches that a design with this layout has a use for, with their sizes.
    pub fn used(&self, layout: &Layout) -> Vec<(&'static str, Bytes)> {
        let kinds = [
            (layout.region(Kind::Counters).or(layout.region(Kind::Owners)).is_some(), "counters", self.counters),
            (layout.region(Kind::Tags).is_some(), "tags", self.tags),
            (!layout.levels().is_empty(), "tree nodes", self.nodes),
            (layout.region(Kind::Bitmaps).is_some(), "bitmaps", Some(self.bitmaps.unwrap_or(self.usual_of_bitmaps()))),
        ];
        let mut used =
            kinds.into_iter().filter(|(used, ..)| *used).map(|(_, what, size)| (what, size.unwrap_or(USUAL)));
        match self.unified {
            Some(size) => used.next().map(|_| ("all metadata", size)).into_iter().collect(),
            None => used.collect(),
        }
    }

    /// The caches as they are built.
    ///
    /// # Errors
    /// The rule that is broken, and what would mend it.
    pub(super) fn geometries(&self) -> Result<Geometries, String> {
        let separate = [
            ("counters", self.counters, USUAL),
            ("tags", self.tags, USUAL),
            ("nodes", self.nodes, USUAL),
            ("bitmaps", self.bitmaps, self.usual_of_bitmaps()),
        ];
        if let Some(size) = self.unified {
            return match separate.into_iter().find(|(_, size, _)| size.is_some()) {
                Some((name, ..)) => Err(format!(
                    "caches.unified is one cache of everything, and caches.{name} is another: leave one of them out"
                )),
                None => self.geometry("unified", size).map(Geometries::unified),
            };
        }
        let [counters, tags, nodes, bitmaps] =
            separate.map(|(name, size, usual)| self.geometry(name, size.unwrap_or(usual)));
        Ok(Geometries::separate([counters?, tags?, nodes?, bitmaps?]))
    }

    /// The size of a cache of bitmaps of which nothing is said: as many sets as 8 KB have room for.
    fn usual_of_bitmaps(&self) -> Bytes {
        let set = (self.ways.max(1) * LINE_BYTES) as u64;
        Bytes((OF_BITMAPS.0 / set).checked_ilog2().map_or(1, |log| 1 << log) * set)
    }

    /// What goes on to the last-level cache, if anything does.
    pub(super) fn goes_on(&self) -> Option<GoesOn> {
        let goes_on = if self.nodes_in_llc { GoesOn::CountersAndNodes } else { GoesOn::Counters };
        self.counters_in_llc.then_some(goes_on)
    }

    /// The copies in L2s, if there are any.
    ///
    /// # Errors
    /// As [`CacheDesign::geometries`].
    pub(super) fn copies(&self) -> Result<Option<Copies>, String> {
        let geometry = self.counters_in_l2.map(|size| self.geometry("counters_in_l2", size));
        Ok(geometry.transpose()?.map(Copies::new))
    }

    fn geometry(&self, name: &str, size: Bytes) -> Result<Geometry, String> {
        let (lines, ways) = (size.0 as usize / LINE_BYTES, self.ways);
        if size > LARGEST {
            return Err(format!("caches.{name} = \"{size}\" is no cache on a chip: expected at most \"{LARGEST}\""));
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
