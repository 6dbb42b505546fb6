//! All assumptions for the size of a battery, as a file: energies of operations, fields of a buffer entry, the tree,
//! caches, and kinds of batteries and capacitors.

use crate::energy::{Energy, Storage};
use crate::operations::Operations;
use catalogue::ConfigError;
use serde::{Deserialize, Serialize};
use units::{Bytes, LINE_BYTES};

const BUILT_IN: &[(&str, &str)] = &[("profiles/secpb.toml", include_str!("../profiles/secpb.toml"))];

/// Upper limit of the size of a cache.
const CACHE_MAX: Bytes = Bytes(1 << 40);

/// Energy of operations, in picojoules per byte.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Energy to transfer a byte from the secure persist buffer to memory, in picojoules.
    pub from_secpb_pj_per_byte: u32,
    /// Energy to transfer a byte from the first-level cache to memory, in picojoules.
    pub from_l1_pj_per_byte: u32,
    /// Energy to transfer a byte from the second-level cache to memory, in picojoules.
    pub from_l2_pj_per_byte: u32,
    /// Energy to transfer a byte from the last-level cache to memory, in picojoules.
    pub from_l3_pj_per_byte: u32,
    /// Energy to transfer a byte between memory controller and memory, in either direction, in picojoules.
    pub from_controller_pj_per_byte: u32,
    /// Energy to hash a byte, in picojoules.
    pub hash_pj_per_byte: u32,
    /// Energy to compute a byte of pad, in picojoules.
    pub pad_pj_per_byte: u32,
    /// Number of bytes of pad that are charged for a line.
    pub pad_bytes: u16,
}

impl Prices {
    /// Each value with its key.
    fn named(&self) -> [(&'static str, u32); 8] {
        [
            ("from_secpb_pj_per_byte", self.from_secpb_pj_per_byte),
            ("from_l1_pj_per_byte", self.from_l1_pj_per_byte),
            ("from_l2_pj_per_byte", self.from_l2_pj_per_byte),
            ("from_l3_pj_per_byte", self.from_l3_pj_per_byte),
            ("from_controller_pj_per_byte", self.from_controller_pj_per_byte),
            ("hash_pj_per_byte", self.hash_pj_per_byte),
            ("pad_pj_per_byte", self.pad_pj_per_byte),
            ("pad_bytes", u32::from(self.pad_bytes)),
        ]
    }
}

/// Sizes of the fields of a buffer entry, in bits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryBits {
    /// Bits of the plaintext.
    pub data_bits: u32,
    /// Bits of the counter.
    pub counter_bits: u32,
    /// Bits of the pad.
    pub pad_bits: u32,
    /// Bits of the flag for an updated root.
    pub root_bits: u32,
    /// Bits of the ciphertext.
    pub ciphertext_bits: u32,
    /// Bits of the tag.
    pub tag_bits: u32,
    /// Bits that mark valid fields.
    pub valid_bits: u32,
}

impl EntryBits {
    /// Bits of the whole entry, without the address, which uses the address lines.
    pub fn bits(&self) -> u64 {
        let EntryBits { data_bits, counter_bits, pad_bits, root_bits, ciphertext_bits, tag_bits, valid_bits } = *self;
        let fields = [data_bits, counter_bits, pad_bits, root_bits, ciphertext_bits, tag_bits, valid_bits];
        fields.into_iter().map(u64::from).sum()
    }
}

/// The tree over counters.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeProfile {
    /// Size of the memory that the tree covers.
    pub covers: Bytes,
    /// Size of the memory with counters in one counter line.
    pub page: Bytes,
    /// Children of a node.
    pub arity: u32,
}

impl TreeProfile {
    /// Levels of the tree, from the counter lines to the root, including both.
    pub fn levels(&self) -> u32 {
        let (mut nodes, mut levels) = (self.covers.0.div_ceil(self.page.0), 1);
        while nodes > 1 {
            nodes = nodes.div_ceil(u64::from(self.arity));
            levels += 1;
        }
        levels
    }
}

/// The sizes of one core's caches.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSizes {
    /// Size of the first-level cache.
    pub l1: Bytes,
    /// Size of the second-level cache.
    pub l2: Bytes,
    /// Size of the last-level cache.
    pub l3: Bytes,
}

/// The core; footprints are given in percent of its area.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreArea {
    /// Area of the core, in square millimetres.
    pub area_mm2: f64,
}

/// The assumptions from which a battery is estimated.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name of the profile.
    pub name: String,
    /// Description of the profile, in a sentence.
    pub summary: String,
    /// Energy of operations, in picojoules per byte.
    pub energy: Prices,
    /// An entry of the buffer.
    pub entry: EntryBits,
    /// The tree over counters.
    pub tree: TreeProfile,
    /// Sizes of the caches that eADR drains.
    pub caches: CacheSizes,
    /// Kinds of capacitors and batteries.
    pub storage: Vec<Storage>,
    /// The core; footprints are given in percent of its area.
    pub core: CoreArea,
}

impl Profile {
    /// Reads the text of a profile.
    ///
    /// # Errors
    /// [`ConfigError`] with the line and the key that are wrong, or with the rule that the values break.
    pub fn parse(file: &str, text: &str) -> Result<Profile, ConfigError> {
        let profile: Profile =
            toml::from_str(text).map_err(|error| ConfigError::syntax::<Profile>(file, text, &error))?;
        profile.check().map_err(|rule| ConfigError::Rule { file: file.to_owned(), rule })?;
        Ok(profile)
    }

    /// Energy of the operations. All reported energies are results of this function.
    pub fn energy(&self, operations: &Operations) -> Energy {
        const LINE_BITS: u64 = 8 * LINE_BYTES as u64;
        let (prices, moved) = (&self.energy, operations.moved);
        let pad_bits = 8 * u64::from(prices.pad_bytes);
        let parts = [
            (moved.from_secpb_bits, prices.from_secpb_pj_per_byte),
            (moved.from_l1_bits, prices.from_l1_pj_per_byte),
            (moved.from_l2_bits, prices.from_l2_pj_per_byte),
            (moved.from_l3_bits, prices.from_l3_pj_per_byte),
            (moved.from_controller_bits, prices.from_controller_pj_per_byte),
            (operations.fetched_lines * LINE_BITS, prices.from_controller_pj_per_byte),
            (operations.hashed_lines * LINE_BITS, prices.hash_pj_per_byte),
            (operations.pads * pad_bits, prices.pad_pj_per_byte),
        ];
        parts.into_iter().fold(Energy::default(), |sum, (bits, price)| sum + Energy::of_bits(bits, price))
    }

    /// Checks the values, and reports the first rule that they break.
    fn check(&self) -> Result<(), String> {
        let TreeProfile { covers, page, arity } = self.tree;
        if page.0 == 0 || covers < page {
            return Err(format!("tree.covers is {covers}: expected at least tree.page, which is {page} and not 0"));
        }
        if arity < 2 {
            return Err(format!("tree.arity is {arity}: expected 2 or more children"));
        }
        if self.entry.data_bits == 0 {
            return Err("entry.data_bits is 0: expected at least 1 bit that is made durable".to_owned());
        }
        if let Some((key, _)) = self.energy.named().into_iter().find(|(_, price)| *price == 0) {
            return Err(format!("energy.{key} is 0: expected at least 1"));
        }
        let caches = [("l1", self.caches.l1), ("l2", self.caches.l2), ("l3", self.caches.l3)];
        if let Some((name, size)) = caches.into_iter().find(|(_, size)| *size > CACHE_MAX) {
            return Err(format!("caches.{name} is {size}: expected at most {CACHE_MAX}"));
        }
        if !is_sensible(self.core.area_mm2) {
            return Err(format!("core.area_mm2 is {}: expected {SENSIBLE}", self.core.area_mm2));
        }
        self.check_storages()
    }

    fn check_storages(&self) -> Result<(), String> {
        if self.storage.is_empty() {
            return Err("storage is empty: expected at least one [[storage]] with name and mj_per_mm3".to_owned());
        }
        for (number, storage) in self.storage.iter().enumerate() {
            let Storage { name, mj_per_mm3 } = storage;
            if !is_sensible(*mj_per_mm3) {
                return Err(format!("storage.mj_per_mm3 of '{name}' is {mj_per_mm3}: expected {SENSIBLE}"));
            }
            if self.storage[..number].iter().any(|before| before.name == *name) {
                return Err(format!("storage.name is '{name}' twice: expected a name for each"));
            }
        }
        Ok(())
    }
}

/// Range of densities and areas, so that volumes and footprints are readable numbers.
const SENSIBLE: &str = "from 0.000001 to 1000000";

fn is_sensible(number: f64) -> bool {
    (1e-6..=1e6).contains(&number)
}

/// The profile with this name, or in the file with this path (which must end in `.toml`).
///
/// # Errors
/// Unknown names, with the nearest right one; unreadable or wrong files.
pub fn profile(name_or_path: &str) -> Result<Profile, ConfigError> {
    let (file, text) = catalogue::text_of("profile", BUILT_IN, name_or_path)?;
    Profile::parse(&file, &text)
}
