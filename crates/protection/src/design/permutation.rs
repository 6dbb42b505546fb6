//! The permutation of lines, and its requirements on the other parts of a design.

use super::keys::{KeyPurpose, Keys};
use super::{CipherChoice, CounterChoice, MacChoice, Ownership, Parts, TreeKind};
use crate::layout::{DataLines, LEVELS_MAX, Layout, Needs, OnChipReport, with_contexts, with_records};
use crate::mac::{TagLayout, TagLocation};
use crate::moving::{
    BackgroundStart, ContextsDesign, FirstSlot, MovingLines, MovingPolicy, PageChunkLines, PermutationTime,
    SLOTS_PER_TAG_MAX, SmallCache,
};
use crate::planted::PlantedBug;
use crate::record::{HashCharge, LEAF_LINES, MerkleCacheDesign, Record, Records, SLOTS, WalkDesign};
use crate::scheme::{Release, Scheme};
use crate::slot::{Kind, Slot};
use crypto::{BLOCK_BYTES, PAGE_CHUNK_LINE_BYTES};
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use strum::VariantArray;
use units::{Bytes, LINE_BYTES, LineLength};

/// Maximum number of entries of a fully associative store on the chip.
const ENTRIES_MAX: usize = 65_535;
/// Bits of the lock of a line: unlocked, reserved, stored or read.
const LOCK_BITS: u64 = 2;
/// Bits of the tag of a permuted line.
const TAG_BITS: u32 = 8 * BLOCK_BYTES as u32;

/// Protection of permuted lines in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum MovingText {
    /// Lines are encrypted and authenticated, as in CryptoPage.
    #[default]
    Sealed,
    /// Lines are stored as plaintext, as in HIDE.
    Plain,
}

/// Sizes of a chip that its storage for permuted lines depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MovingChip {
    /// Number of entries of all TLBs.
    pub translations: usize,
    /// Number of lines of the last-level cache, which have locks.
    pub last_level_lines: u64,
    /// Maximum number of permutations at once; `None` without a limit.
    pub permutations: Option<usize>,
}

/// Permutation of lines within their page chunks, which hides the pattern of addresses on the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PermutationDesign {
    /// Protection of the lines in memory: encrypted and authenticated (`sealed`, as in CryptoPage), or plaintext
    /// (`plain`, as in HIDE).
    pub lines: MovingText,
    /// Time of permutations. `charged`: with their memory accesses, hashes and encryption. `idle-bus`: likewise, but the
    /// memory accesses for slots use the bus only while no other request waits, until an access waits for the
    /// permutation. `free`: without time.
    pub time: PermutationTime,
    /// Moment at which a permutation begins in the background. A whole number, such as `1` or `0`: when an access leaves at
    /// most this number of unlocked ways in its set. A share, such as `0.75`: when this share of the cache's lines is
    /// locked. Or `"never"`.
    pub ahead: BackgroundStart,
    /// Number of permutations at once, at least one: with this number under way, no other begins in the background. An
    /// access that needs a way always begins a permutation.
    pub at_once: usize,
    /// Number of page chunk records that the chip holds in addition to the records of the pages in its TLBs, at least
    /// one. They belong to page chunks that are permuted after their page has left the TLBs.
    pub record_buffer: usize,
    /// Number of memory slots that one tag covers: 1, 2 or 4. The controller fetches a line together with all slots
    /// under the same tag.
    pub slots_per_tag: usize,
    /// Order in which the slots under one tag arrive. In the order of the code (`group-order`), as early verification
    /// needs them, or the slot of the requested line first (`requested`), as its decryption needs it.
    pub first: FirstSlot,
    /// Time of a hash in the hash unit: one pass (`once`), or a pass for each 64-byte block of SHA-1 (`by-blocks`).
    pub hash_charge: HashCharge,
    /// Cache of verified nodes and records, at which a walk up the tree over records may stop.
    pub merkle_cache: MerkleCacheDesign,
    /// Number of lines of the verification buffer, one for each depth of the tree. With a verification buffer, the
    /// operating system verifies records by the instructions LoadNode and HashCheck; without one, the memory controller
    /// walks the tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_buffer: Option<usize>,
    /// Hardware contexts of secure processes. With this table, a switch of processes removes the records and nodes from
    /// the chip; without it, all processes count as one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contexts: Option<ContextsDesign>,
}

/// Default size of the record buffer, in records: room for a few permutations at once. The paper names no buffer.
const USUAL_BUFFER: usize = 8;

/// Minimum number of entries of a Merkle cache: enough for a pair of nodes and the pair above it.
fn least_entries(in_pairs: bool) -> usize {
    if in_pairs { 2 } else { 4 }
}

/// Bytes of this number of records on the chip.
fn record_bytes(records: usize) -> u64 {
    (records * Record::BITS).div_ceil(8) as u64
}

/// Bytes of a verification buffer: the deepest line holds a pair of records, each other line a pair of nodes.
fn verification_bytes(lines: usize) -> u64 {
    let pairs_of_nodes = lines.saturating_sub(1) * 2 * crypto::SHA1_BYTES;
    (pairs_of_nodes + 2 * LEAF_LINES * LINE_BYTES) as u64
}

impl Default for PermutationDesign {
    /// The values of the keys that a design file leaves out.
    fn default() -> PermutationDesign {
        PermutationDesign {
            lines: MovingText::default(),
            time: PermutationTime::default(),
            ahead: BackgroundStart::default(),
            at_once: MovingPolicy::AT_ONCE,
            record_buffer: USUAL_BUFFER,
            slots_per_tag: 1,
            first: FirstSlot::default(),
            hash_charge: HashCharge::default(),
            merkle_cache: MerkleCacheDesign::default(),
            verification_buffer: None,
            contexts: None,
        }
    }
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
        if !(1..=most).contains(&self.at_once) {
            return Some(format!("permutation.at_once is {}: expected 1 to {most} permutations", self.at_once));
        }
        (!(1..=most).contains(&self.record_buffer))
            .then(|| format!("permutation.record_buffer is {}: expected 1 to {most} records", self.record_buffer))
    }

    /// Builds the scheme of a blank memory with permuted lines.
    ///
    /// # Errors
    /// If these lines of data break a rule of a moving memory; same errors as [`Layout::new`].
    pub(super) fn scheme(
        &self,
        data: DataLines,
        keys: Keys,
        release: Release,
        planted: PlantedBug,
    ) -> Result<Scheme, String> {
        self.broken_by(data).map_or(Ok(()), Err)?;
        let layout = Rc::new(self.layout(data)?);
        Ok(Scheme::permuting(self.build(&layout, keys, release, planted), layout, planted))
    }

    /// Returns the rule that these lines of data break in a moving memory, if any.
    fn broken_by(&self, data: DataLines) -> Option<String> {
        if data.length != LineLength::HALF {
            return Some(format!(
                "permutation moves lines of {PAGE_CHUNK_LINE_BYTES} bytes, and memory has lines of {}: set memory.line = \"32 B\", as \
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
    fn layout(&self, data: DataLines) -> Result<Layout, String> {
        let per_tag = self.slots_per_tag as u64;
        let tags = (self.lines == MovingText::Sealed).then(|| TagLayout::of(TAG_BITS, TagLocation::Inline, per_tag));
        let layout = Layout::new(data, Needs { lines_per_counter_line: None, tags, tree: None })?;
        let layout = with_records(layout, SLOTS as u64, LEAF_LINES as u64);
        let outside = self.contexts.map_or(0, |contexts| contexts.outside as u64);
        Ok(with_contexts(layout, outside, ContextsDesign::LINES_PER_CONTEXT))
    }

    /// Returns the permuted lines of a blank memory, behind a small separate last-level cache.
    fn build(&self, layout: &Layout, keys: Keys, release: Release, planted: PlantedBug) -> MovingLines {
        let walks = WalkDesign {
            hash_charge: self.hash_charge,
            merkle_cache: self.merkle_cache,
            verification_buffer: self.verification_buffer.unwrap_or(0),
        };
        let records = Records::new(layout, &keys.key(KeyPurpose::Tree), keys.draws(), walks, planted);
        let (pads, codes) = (keys.key(KeyPurpose::Encryption), keys.key(KeyPurpose::Authentication));
        let lines = match self.lines {
            MovingText::Sealed => {
                PageChunkLines::sealed(&pads, &codes, self.slots_per_tag, planted).fetching(self.first)
            }
            MovingText::Plain => PageChunkLines::plain(planted),
        };
        let (sets, ways) = SmallCache::USUAL;
        let cache = Rc::new(SmallCache::new(sets, ways));
        let policy = MovingPolicy { release, time: self.time, background: self.ahead, at_once: self.at_once };
        let lines = MovingLines::new(records, lines, (cache, self.record_buffer), policy, planted);
        let first = layout.region(Kind::Contexts).map_or(layout.total_lines(), |region| region.base);
        match self.contexts {
            Some(contexts) => lines.with_contexts(contexts, keys.contexts(), Slot(first)),
            None => lines,
        }
    }

    /// Returns the design with a record buffer of `size` bytes. If the design has a Merkle cache, that cache also gets
    /// `size` bytes, or its minimum number of entries if that is more.
    pub(super) fn with_stores_of(self, size: Bytes) -> PermutationDesign {
        let record_buffer = (size.0 as usize * 8 / Record::BITS).max(1);
        let MerkleCacheDesign { entries, in_pairs } = self.merkle_cache;
        let fits = size.0 as usize / self.merkle_cache.entry_bytes();
        let entries = if entries > 0 { fits.max(least_entries(in_pairs)) } else { 0 };
        PermutationDesign { record_buffer, merkle_cache: MerkleCacheDesign { entries, in_pairs }, ..self }
    }

    /// Number of bits of R', which the pads of a page chunk depend on; `None` for lines without pads.
    pub(super) fn pad_number_bits(self) -> Option<u32> {
        let [pads, _] = Record::NUMBER_BITS;
        (self.lines == MovingText::Sealed).then_some(pads)
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
        record_bytes(translations) + record_bytes(self.record_buffer) + self.merkle_cache_bytes()
    }

    /// Bytes of the Merkle cache.
    fn merkle_cache_bytes(&self) -> u64 {
        (self.merkle_cache.entries * self.merkle_cache.entry_bytes()) as u64
    }

    /// Returns the on-chip storage for permuted lines, with its bytes, on this chip.
    pub(super) fn on_chip(&self, chip: MovingChip) -> Vec<OnChipReport> {
        let MovingChip { translations, last_level_lines, permutations } = chip;
        let [pads, tags] = Record::NUMBER_BITS;
        let buffer = (SLOTS * PAGE_CHUNK_LINE_BYTES) as u64;
        let (at_once, further) = match permutations {
            Some(most) => (most, ""),
            None => (self.at_once, ", and one for each further chunk while accesses wait for it"),
        };
        let store = |what: String, bytes: u64| OnChipReport { what, bytes, ways: None, serves: None };
        let MerkleCacheDesign { entries, in_pairs } = self.merkle_cache;
        let mut stores = vec![
            store(
                format!("records of {translations} pages in TLBs, each a table, R' of {pads} bits and R of {tags}"),
                record_bytes(translations),
            ),
            store(format!("buffer of {} records", self.record_buffer), record_bytes(self.record_buffer)),
            store(
                format!("Merkle cache of {entries} {}nodes or records", if in_pairs { "pairs of " } else { "" }),
                self.merkle_cache_bytes(),
            ),
            store(
                format!("locks of {last_level_lines} lines in the last-level cache, 2 bits each"),
                (last_level_lines * LOCK_BITS).div_ceil(8),
            ),
            store(format!("buffers of {at_once} chunks that are permuted at once{further}"), at_once as u64 * buffer),
        ];
        if let Some(lines) = self.verification_buffer {
            stores.push(store(format!("verification buffer of {lines} lines"), verification_bytes(lines)));
        }
        stores.extend(self.contexts.iter().flat_map(|contexts| contexts.on_chip()));
        stores
    }
}
