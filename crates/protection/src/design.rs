//! A design: which part of each kind, as data.
//!
//! A design file is TOML. It names the parts, sizes their caches and states what it claims to stop; everything else
//! follows. A composition that makes no sense is refused with the rule that it breaks and what would mend it.

use crate::cipher::Cipher;
use crate::counter::{Counters, Organisation, Split};
use crate::layout::{Layout, Needs};
use crate::mac::{Coverage, Mac, TAGS_PER_LINE};
use crate::metadata::{Geometry, OnChip};
use crate::planted::Planted;
use crate::scheme::Scheme;
use crate::tree::{TreeDesign, TreeKind};
use crypto::{Aes128, Cmac, CounterMode, Gmac, Key, Xts};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use units::{Bytes, LINE_BYTES};

/// How data is encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CipherChoice {
    /// Not at all.
    None,
    /// AES-128 in counter mode.
    Aes128Counter,
    /// XTS-AES-128, tweaked by the address.
    Aes128Xts,
}

/// How versions are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CounterChoice {
    /// Not at all.
    None,
    /// Eight 56-bit counters and a 56-bit MAC to a line.
    #[serde(rename = "mono-56")]
    Mono56,
    /// A 64-bit major and sixty-four 7-bit minors to a line.
    Sc64,
    /// A 64-bit major, sixty-four 6-bit minors and a 64-bit MAC to a line.
    Sc64Mac,
    /// A 64-bit major, 128 3-bit minors and a 64-bit MAC to a line.
    Sc128,
    /// A 64-bit major, 32 12-bit minors and a 64-bit MAC to a line.
    Vault32,
    /// A 64-bit major, 16 24-bit minors and a 64-bit MAC to a line.
    Vault16,
    /// 128 morphable counters and a 64-bit MAC to a line.
    Morphable,
}

impl CounterChoice {
    pub(crate) fn organisation(self) -> Organisation {
        match self {
            CounterChoice::None => Organisation::None,
            CounterChoice::Mono56 => Organisation::Monolithic,
            CounterChoice::Sc64 => Organisation::Split(Split::SC64),
            CounterChoice::Sc64Mac => Organisation::Split(Split::SC64_MAC),
            CounterChoice::Sc128 => Organisation::Split(Split::SC128),
            CounterChoice::Vault32 => Organisation::Split(Split::VAULT32),
            CounterChoice::Vault16 => Organisation::Split(Split::VAULT16),
            CounterChoice::Morphable => Organisation::Morphable,
        }
    }
}

/// How lines are authenticated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MacChoice {
    /// Not at all.
    None,
    /// Carter-Wegman with GHASH: over ciphertext, address and counter.
    Gmac,
    /// AES-CMAC over what `covers` lists beside the ciphertext.
    Cmac,
}

/// What a tag can vouch for beside the ciphertext.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Covered {
    /// The line's place.
    Address,
    /// The line's version.
    Counter,
}

/// The authentication of a design.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MacDesign {
    /// Which code.
    pub code: MacChoice,
    /// Length of a tag in bits.
    #[serde(default = "default_tag_bits")]
    pub tag_bits: u32,
    /// What CMAC covers beside the ciphertext.
    #[serde(default)]
    pub covers: Vec<Covered>,
}

fn default_tag_bits() -> u32 {
    56
}

impl Default for MacDesign {
    fn default() -> MacDesign {
        MacDesign { code: MacChoice::None, tag_bits: default_tag_bits(), covers: Vec::new() }
    }
}

/// The metadata caches of a design.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheDesign {
    /// Of counters.
    pub counters: Bytes,
    /// Of tags.
    pub tags: Bytes,
    /// Of tree nodes.
    pub nodes: Bytes,
    /// Lines in a set, in each.
    pub ways: usize,
}

impl Default for CacheDesign {
    fn default() -> CacheDesign {
        CacheDesign { counters: Bytes(64 << 10), tags: Bytes(64 << 10), nodes: Bytes(64 << 10), ways: 8 }
    }
}

/// The parts of a design.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// Encryption.
    pub cipher: CipherChoice,
    /// Versions.
    pub counters: CounterChoice,
    /// Authentication.
    #[serde(default)]
    pub mac: MacDesign,
    /// Freshness.
    pub tree: TreeDesign,
    /// Caches on the chip.
    #[serde(default)]
    pub caches: CacheDesign,
}

/// Purposes that keys are drawn for; each gets its own.
#[derive(Clone, Copy)]
enum Purpose {
    Encryption = 1,
    Tweak = 2,
    Authentication = 3,
    Tree = 4,
}

impl Parts {
    /// Whether the composition makes sense.
    ///
    /// # Errors
    /// The key, the rule that it breaks, and what would mend it.
    pub fn check(&self) -> Result<(), String> {
        let rules = [
            (
                self.cipher == CipherChoice::Aes128Counter && self.counters == CounterChoice::None,
                "cipher = \"aes128-counter\" needs counters, or every line would reuse its pad: set counters = \"sc64\"",
            ),
            (
                self.mac.code == MacChoice::Gmac && self.counters == CounterChoice::None,
                "mac.code = \"gmac\" needs a nonce that never repeats, hence counters: set counters = \"sc64\" or mac.code = \"cmac\"",
            ),
            (
                self.mac.code == MacChoice::Gmac && !self.mac.covers.is_empty(),
                "mac.covers is for mac.code = \"cmac\": \"gmac\" always covers address and counter",
            ),
            (
                self.mac.covers.contains(&Covered::Counter) && self.counters == CounterChoice::None,
                "mac.covers names the counter, and there are none: set counters = \"sc64\"",
            ),
            (!(8..=64).contains(&self.mac.tag_bits), "mac.tag_bits must lie between 8 and 64"),
        ];
        if let Some((_, rule)) = rules.into_iter().find(|(broken, _)| *broken) {
            return Err(rule.to_owned());
        }
        self.tree.check(self)?;
        let caches = [("counters", self.caches.counters), ("tags", self.caches.tags), ("nodes", self.caches.nodes)];
        caches.into_iter().try_for_each(|(name, size)| self.geometry(name, size).map(drop))
    }

    /// Builds the scheme over `data_lines` lines, with keys drawn from `seed`.
    ///
    /// # Errors
    /// As [`Parts::check`].
    pub fn build(&self, data_lines: u64, seed: u64) -> Result<Scheme, String> {
        self.build_with(data_lines, seed, Planted::NONE)
    }

    /// As [`Parts::build`], with a weakness built in.
    ///
    /// # Errors
    /// As [`Parts::check`].
    pub fn build_with(&self, data_lines: u64, seed: u64, planted: Planted) -> Result<Scheme, String> {
        self.check()?;
        let key = |purpose: Purpose| Key::for_purpose(seed, purpose as u64);
        let counters = Counters::new(self.counters.organisation(), planted);
        let coverage = Coverage {
            address: self.mac.covers.contains(&Covered::Address),
            counter: self.mac.covers.contains(&Covered::Counter),
        };
        let mac = match self.mac.code {
            MacChoice::None => None,
            MacChoice::Gmac => {
                let coverage = Coverage { address: true, counter: true };
                let code = Gmac::<Aes128>::new(&key(Purpose::Authentication));
                Some(Mac::new(code, self.mac.tag_bits, coverage, planted))
            }
            MacChoice::Cmac => {
                let code = Cmac::<Aes128>::new(&key(Purpose::Authentication));
                Some(Mac::new(code, self.mac.tag_bits, coverage, planted))
            }
        };
        let tree = self.tree.build(&key(Purpose::Tree), counters, planted);
        let needs = Needs {
            lines_per_counter_line: counters.exist().then(|| counters.lines_per_group()),
            tags_per_line: mac.is_some().then_some(TAGS_PER_LINE),
            tree: tree.as_ref().map(|tree| self.tree.needs(tree)),
        };
        let caches = &self.caches;
        Ok(Scheme {
            cipher: match self.cipher {
                CipherChoice::None => Cipher::plain(),
                CipherChoice::Aes128Counter => {
                    Cipher::versioned(CounterMode::<Aes128>::new(&key(Purpose::Encryption)), planted)
                }
                CipherChoice::Aes128Xts => {
                    Cipher::by_place(Xts::<Aes128>::new(&key(Purpose::Encryption), &key(Purpose::Tweak)))
                }
            },
            counters,
            mac,
            tree,
            layout: Layout::new(data_lines, needs),
            chip: RefCell::new(OnChip::new(
                self.geometry("counters", caches.counters)?,
                self.geometry("tags", caches.tags)?,
                self.geometry("nodes", caches.nodes)?,
                self.tree.root_lines as usize,
            )),
            planted,
        })
    }

    /// What a reviewer would object to, in a word each; empty for a design without weak choices.
    pub fn weaknesses(&self) -> Vec<&'static str> {
        let weak = [
            (self.cipher == CipherChoice::None, "no encryption"),
            (self.cipher == CipherChoice::Aes128Xts, "deterministic encryption"),
            (self.mac.code == MacChoice::None, "no authentication"),
            (self.mac.code != MacChoice::None && self.mac.tag_bits < 32, "short tag"),
            (self.tree.kind == TreeKind::None, "no freshness"),
        ];
        weak.into_iter().filter_map(|(is, word)| is.then_some(word)).collect()
    }

    fn geometry(&self, name: &str, size: Bytes) -> Result<Geometry, String> {
        let lines = size.0 as usize / LINE_BYTES;
        let ways = self.caches.ways;
        match lines.checked_div(ways) {
            Some(sets) if sets.is_power_of_two() && sets * ways * LINE_BYTES == size.0 as usize => {
                Ok(Geometry { sets, ways })
            }
            _ => Err(format!(
                "caches.{name} = \"{size}\" with ways = {ways} does not give a power of two of sets of 64-byte lines: \
                 try \"64 KB\" with ways = 8"
            )),
        }
    }
}
