//! The choice of lines that move, and the conditions that it puts on the other parts of a design.

use super::keys::{KeyPurpose, Keys};
use super::{CipherChoice, CounterChoice, MacChoice, Ownership, Parts, TreeKind};
use crate::layout::{DataLines, LEVELS_MAX, Layout, Needs, OnChipReport, with_contexts, with_records};
use crate::mac::{TagLayout, TagLocation};
use crate::moving::{ChunkLines, ContextsDesign, MovingLines, PermutationTime, SLOTS_PER_TAG_MAX, SmallCache};
use crate::planted::PlantedBug;
use crate::record::{HashCharge, LEAF_LINES, MerkleCacheDesign, Record, Records, SLOTS, WalkDesign};
use crate::scheme::Release;
use crate::slot::{Kind, Slot};
use crypto::{BLOCK_BYTES, CHUNK_LINE_BYTES};
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use strum::VariantArray;
use units::{Bytes, LINE_BYTES, LineLength};

/// Most entries of a fully associative store.
const ENTRIES_MAX: usize = 65_535;
/// Bits of the tag of a line that moves.
const TAG_BITS: u32 = 8 * BLOCK_BYTES as u32;

/// Form of moving lines in memory, and their checks by the chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum MovingText {
    /// Lines are encrypted and authenticated, as in CryptoPage.
    #[default]
    Sealed,
    /// Lines are stored as plaintext, as in HIDE.
    Plain,
}

/// Permutation of lines within their chunks, which hides the pattern of addresses on the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermutationDesign {
    /// Form of the lines in memory.
    #[serde(default)]
    pub lines: MovingText,
    /// Time of permutations: free, or as in hardware.
    #[serde(default)]
    pub time: PermutationTime,
    /// Number of records that the chip holds in addition to those of pages in its TLBs, at least one. They are for chunks that are
    /// permuted after their page has left the TLBs.
    #[serde(default = "usual_buffer")]
    pub record_buffer: usize,
    /// Number of slots under one tag: 1, 2 or 4. A line is fetched together with all of them.
    #[serde(default = "one")]
    pub slots_per_tag: usize,
    /// Time of a hash in the unit for hashes.
    #[serde(default)]
    pub hash_charge: HashCharge,
    /// Nodes at which a walk to a record may stop.
    #[serde(default)]
    pub merkle_cache: MerkleCacheDesign,
    /// Lines of the verification buffer, one for each depth of the tree. With it the operating system walks, by
    /// LoadNode and HashCheck; without it the memory controller walks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification_buffer: Option<usize>,
    /// Hardware contexts of secure processes. With them a switch of processes empties the chip's records and nodes; without them
    /// all processes count as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contexts: Option<ContextsDesign>,
}

fn one() -> usize {
    1
}

/// Room for a few permutations at once; the paper names no buffer.
fn usual_buffer() -> usize {
    8
}

/// Least size of a cache of nodes: a pair of nodes and the pair above it.
fn least_entries(in_pairs: bool) -> usize {
    if in_pairs { 2 } else { 4 }
}

/// Bytes of this number of records on the chip.
fn record_bytes(records: usize) -> u64 {
    (records * Record::BITS).div_ceil(8) as u64
}

/// Bytes of a verification buffer: a pair of records in the deepest line, a pair of nodes in each other.
fn verification_bytes(lines: usize) -> u64 {
    let pairs_of_nodes = lines.saturating_sub(1) * 2 * crypto::SHA1_BYTES;
    (pairs_of_nodes + 2 * LEAF_LINES * LINE_BYTES) as u64
}

impl PermutationDesign {
    /// Returns the rule that a design with moving lines breaks, if any.
    pub(super) fn broken_rule(&self, parts: &Parts) -> Option<String> {
        let instead = [
            (parts.cipher != CipherChoice::None, "cipher"),
            (parts.counters != CounterChoice::None, "counters"),
            (parts.mac.code != MacChoice::None, "mac"),
            (parts.tree.kind != TreeKind::None, "tree"),
        ];
        let excluded = [
            (parts.ownership != Ownership::None, "ownership"),
            (parts.persistence.exists(), "persistence"),
            (!parts.speculation.is_left_out(), "speculation"),
            (parts.caches.counters_in_llc, "caches.counters_in_llc"),
        ];
        let first = |rules: &[(bool, &'static str)]| rules.iter().find(|(is_there, _)| *is_there).map(|(_, key)| *key);
        if let Some(key) = first(&instead) {
            return Some(format!(
                "permutation replaces {key} by its pads, tags and records: set {key} = \"none\", and permutation.lines \
                 = \"plain\" for lines without them"
            ));
        }
        if let Some(key) = first(&excluded) {
            return Some(format!("{key} cannot be combined with permutation: leave one of them out"));
        }
        if self.lines == MovingText::Plain && parts.release == Release::Speculative {
            return Some(
                "release = \"speculative\" releases lines before their verdicts, and plain lines have none: leave \
                 release out, or permutation.lines"
                    .to_owned(),
            );
        }
        if self.lines == MovingText::Plain && self.slots_per_tag > 1 {
            return Some(
                "permutation.slots_per_tag is the number of slots under a tag, and plain lines have no tags: leave \
                 slots_per_tag out, or permutation.lines"
                    .to_owned(),
            );
        }
        self.broken_size()
    }

    fn broken_size(&self) -> Option<String> {
        if !matches!(self.slots_per_tag, 1 | 2 | SLOTS_PER_TAG_MAX) {
            return Some(format!("permutation.slots_per_tag is {}: expected 1, 2 or 4", self.slots_per_tag));
        }
        let MerkleCacheDesign { entries, in_pairs } = self.merkle_cache;
        let least = least_entries(in_pairs);
        if entries > 0 && entries < least {
            return Some(format!(
                "permutation.merkle_cache.entries is {entries}: a walk keeps a pair of nodes and the pair above it, so expected \
                 0, or at least {least}"
            ));
        }
        if self.verification_buffer.is_some() && entries == 0 {
            return Some(
                "with permutation.verification_buffer, the operating system walks, and HashCheck finds a parent only \
                 in the Merkle cache: set permutation.merkle_cache.entries, or leave verification_buffer out"
                    .to_owned(),
            );
        }
        if let Some(lines) = self.verification_buffer.filter(|lines| *lines > LEVELS_MAX) {
            return Some(format!(
                "permutation.verification_buffer is {lines}: expected at most {LEVELS_MAX} lines, one for each level of the deepest tree"
            ));
        }
        if let Some(rule) = self.contexts.and_then(|contexts| contexts.broken_rule()) {
            return Some(rule);
        }
        let most = ENTRIES_MAX;
        if entries > most {
            return Some(format!("permutation.merkle_cache.entries is {entries}: expected at most {most}"));
        }
        (!(1..=most).contains(&self.record_buffer))
            .then(|| format!("permutation.record_buffer is {}: expected 1 to {most} records", self.record_buffer))
    }

    /// Returns the rule that these lines of data break in a moving memory, if any.
    pub(super) fn broken_by(&self, data: DataLines) -> Option<String> {
        if data.length != LineLength::HALF {
            return Some(format!(
                "permutation moves lines of {CHUNK_LINE_BYTES} bytes, and memory has lines of {}: set memory.line = \"32 B\", as \
                 machine 'cryptopage-2006' has it",
                data.length.bytes()
            ));
        }
        if !data.count.is_multiple_of(SLOTS as u64) {
            return Some(format!(
                "permutation needs a memory of whole chunks of {SLOTS} lines, not of {} lines",
                data.count
            ));
        }
        let depth = (data.count / SLOTS as u64).next_power_of_two().max(2).ilog2() as usize;
        self.verification_buffer.filter(|lines| *lines < depth).map(|lines| {
            format!("permutation.verification_buffer is {lines}: the tree over this memory has {depth} levels, so expected at least {depth} lines")
        })
    }

    /// Returns the layout of the data, with tags, records and contexts.
    ///
    /// # Errors
    /// Same errors as [`Layout::new`].
    pub(super) fn layout(&self, data: DataLines) -> Result<Layout, String> {
        let per_tag = self.slots_per_tag as u64;
        let tags = (self.lines == MovingText::Sealed).then(|| TagLayout::of(TAG_BITS, TagLocation::Inline, per_tag));
        let layout = Layout::new(data, Needs { lines_per_counter_line: None, tags, tree: None })?;
        let layout = with_records(layout, SLOTS as u64, LEAF_LINES as u64);
        let outside = self.contexts.map_or(0, |contexts| contexts.outside as u64);
        Ok(with_contexts(layout, outside, ContextsDesign::LINES_PER_CONTEXT))
    }

    /// Returns the lines in a blank memory, behind a small separate last-level cache.
    pub(super) fn build(&self, layout: &Layout, keys: Keys, release: Release, planted: PlantedBug) -> MovingLines {
        let walks = WalkDesign {
            hash_charge: self.hash_charge,
            merkle_cache: self.merkle_cache,
            verification_buffer: self.verification_buffer.unwrap_or(0),
        };
        let records = Records::new(layout, &keys.key(KeyPurpose::Tree), keys.draws(), walks, planted);
        let (pads, codes) = (keys.key(KeyPurpose::Encryption), keys.key(KeyPurpose::Authentication));
        let lines = match self.lines {
            MovingText::Sealed => ChunkLines::sealed(&pads, &codes, self.slots_per_tag, planted),
            MovingText::Plain => ChunkLines::plain(planted),
        };
        let (sets, ways) = SmallCache::USUAL;
        let cache = Rc::new(SmallCache::new(sets, ways));
        let lines = MovingLines::new(records, lines, (cache, self.record_buffer), (release, self.time), planted);
        let first = layout.region(Kind::Contexts).map_or(layout.total_lines(), |region| region.base);
        match self.contexts {
            Some(contexts) => lines.with_contexts(contexts, keys.contexts(), Slot(first)),
            None => lines,
        }
    }

    /// Returns the design with as many records in the buffer as `size` holds, and as many verified nodes if it keeps any.
    pub(super) fn with_stores_of(self, size: Bytes) -> PermutationDesign {
        let record_buffer = (size.0 as usize * 8 / Record::BITS).max(1);
        let MerkleCacheDesign { entries, in_pairs } = self.merkle_cache;
        let fits = size.0 as usize / crypto::SHA1_BYTES / if in_pairs { 2 } else { 1 };
        let entries = if entries > 0 { fits.max(least_entries(in_pairs)) } else { 0 };
        PermutationDesign { record_buffer, merkle_cache: MerkleCacheDesign { entries, in_pairs }, ..self }
    }

    /// Returns the weak choices that a reviewer would object to.
    pub(super) fn weaknesses(&self, release: Release) -> Vec<&'static str> {
        let weak = [
            (self.lines == MovingText::Plain, "no encryption"),
            (self.lines == MovingText::Plain, "no authentication of lines"),
            (release == Release::Speculative, "addresses leave before the verdict"),
            (true, "SHA-1"),
        ];
        weak.into_iter().filter_map(|(is, word)| is.then_some(word)).collect()
    }

    /// Bytes of records and nodes on the chip, with `translations` entries in TLBs.
    pub(super) fn cache_bytes(&self, translations: usize) -> u64 {
        record_bytes(translations) + record_bytes(self.record_buffer) + self.node_bytes()
    }

    /// Bytes of nodes in the Merkle cache.
    fn node_bytes(&self) -> u64 {
        let MerkleCacheDesign { entries, in_pairs } = self.merkle_cache;
        (entries * if in_pairs { 2 } else { 1 } * crypto::SHA1_BYTES) as u64
    }

    /// Returns the stores on the chip for moving lines, with their bytes, with `translations` entries in TLBs.
    pub(super) fn on_chip(&self, translations: usize) -> Vec<OnChipReport> {
        let [pads, tags] = Record::NUMBER_BITS;
        let store = |what: String, bytes: u64| OnChipReport { what, bytes, ways: None, serves: None };
        let MerkleCacheDesign { entries, in_pairs } = self.merkle_cache;
        let mut stores = vec![
            store(
                format!("records of {translations} pages in TLBs, each a table, R' of {pads} bits and R of {tags}"),
                record_bytes(translations),
            ),
            store(format!("buffer of {} records", self.record_buffer), record_bytes(self.record_buffer)),
            store(
                format!("Merkle cache of {entries} {}", if in_pairs { "pairs of nodes" } else { "nodes" }),
                self.node_bytes(),
            ),
            store("buffer of a chunk that is permuted".to_owned(), (SLOTS * CHUNK_LINE_BYTES) as u64),
        ];
        if let Some(lines) = self.verification_buffer {
            stores.push(store(format!("verification buffer of {lines} lines"), verification_bytes(lines)));
        }
        stores.extend(self.contexts.iter().flat_map(|contexts| contexts.on_chip()));
        stores
    }
}
