//! A design: the choice of a part of each kind, as data.
//!
//! A design file is TOML. It names the parts, gives the sizes of their caches and claims which attacks the design
//! stops; the other properties follow from the parts. The parser refuses an inconsistent composition, and names the
//! rule that it breaks and a change that would mend it.

mod caches;
mod ciphers;
mod counters;
mod keys;
mod line_lengths;
mod macs;
mod permutation;
mod persistence;
mod speculation;
mod tag_lengths;
mod trees;
mod unused;

pub use crate::mac::TagLocation;
pub use crate::moving::ContextsDesign;
use crate::moving::PermutationTime;
pub use crate::persistence::{BatteryAction, EarlySteps, Fraction, Order, Persistence, Point, Step, Understood};
pub use caches::CacheDesign;
pub use ciphers::CipherChoice;
pub use counters::CounterChoice;
pub use macs::{Covered, MacChoice, MacDesign, Over};
pub use permutation::{MovingChip, MovingText, PermutationDesign};
pub use speculation::{BitmapTrust, SpeculationDesign};
pub use trees::{TreeDesign, TreeKind};

use crate::bitmaps::BitmapCipher;
use crate::cipher::NonceInputs;
use crate::codec::LineCodec;
use crate::counter::{Counters, StartingAge, Steady};
pub use crate::layout::DataLines;
use crate::layout::{Layout, LayoutReport, Needs};
use crate::mac::Mac;
use crate::metadata::Metadata;
use crate::on_chip::ChipState;
use crate::ownership::Ownership;
use crate::planted::PlantedBug;
use crate::scheme::{CounterCell, FixedScheme, PendingWrites, Release, Scheme};
use keys::KeyPurpose;
pub(crate) use keys::Keys;
pub use keys::Seeds;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::rc::Rc;
use units::Bytes;

/// The parts of a design.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// Cipher and mode that encrypt the lines of data.
    pub cipher: CipherChoice,
    /// Organisation of the encryption counters, which are the versions of the lines of data.
    pub counters: CounterChoice,
    /// Authentication of the lines of data.
    #[serde(default)]
    pub mac: MacDesign,
    /// Integrity tree, which detects old metadata.
    pub tree: TreeDesign,
    /// Check that the software that accesses a page is the owner of the page. With `pages`, other software may read the
    /// ciphertext; with `pages-hidden`, it cannot read the page.
    #[serde(default)]
    pub ownership: Ownership,
    /// Metadata caches on the chip.
    #[serde(default)]
    pub caches: CacheDesign,
    /// Durability of stores: the point and the order in which they begin to survive a loss of power.
    #[serde(default)]
    pub persistence: Persistence,
    /// Time at which a line that was read is released to the core: after its verification, or speculatively as soon as
    /// it is decrypted.
    #[serde(default)]
    pub release: Release,
    /// The controller's speculation on the content of lines.
    #[serde(default, skip_serializing_if = "SpeculationDesign::is_left_out")]
    pub speculation: SpeculationDesign,
    /// Permutation of lines among the slots of their page chunk, if lines move. Moving lines have separate pads, tags
    /// and records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permutation: Option<PermutationDesign>,
}

impl Parts {
    /// Returns these parts with caches of the same kind, each of this size.
    pub fn with_caches_of(&self, size: Bytes, ways: usize) -> Parts {
        let mut caches = self.caches;
        if self.speculation.reorders() && caches.unified.is_none() {
            caches.bitmaps = Some(size);
        }
        let permutation = self.permutation.map(|permutation| permutation.with_stores_of(size));
        Parts { caches: caches.resized(size, ways), permutation, ..self.clone() }
    }

    /// Returns these parts with permutations that transfer their slots, even if the design gives them no time.
    pub fn with_charged_permutations(&self) -> Parts {
        let charged = |permutation| PermutationDesign { time: PermutationTime::Charged, ..permutation };
        Parts { permutation: self.permutation.map(charged), ..self.clone() }
    }

    /// Returns whether lines of data have tags.
    pub fn has_tags(&self) -> bool {
        let moving = self.permutation.is_some_and(|permutation| permutation.lines == MovingText::Sealed);
        moving || self.mac.code != MacChoice::None
    }

    /// Returns whether lines are stored as plaintext, without any protection.
    fn is_plain(&self) -> bool {
        let nothing = (CipherChoice::None, CounterChoice::None, MacChoice::None, TreeKind::None, Ownership::None);
        let parts = (self.cipher, self.counters, self.mac.code, self.tree.kind, self.ownership);
        parts == nothing && self.permutation.is_none()
    }

    /// Checks whether the parts fit together.
    ///
    /// # Errors
    /// The key, the rule that it breaks, and a change that would mend it.
    pub fn check(&self) -> Result<(), String> {
        if let Some(rule) = self.permutation.and_then(|permutation| permutation.broken_rule(self)) {
            return Err(rule);
        }
        let uncounted = self.counters == CounterChoice::None;
        let rules = [
            (
                self.cipher.nonce_inputs() == NonceInputs::FreshNonce && uncounted,
                "this cipher needs counters, or every line would reuse its pad or nonce: set counters = \"sc64\", or \
                 cipher = \"aes128-xts\"",
            ),
            (
                self.mac.has_nonce() && uncounted,
                "this mac.code needs a nonce that never repeats, hence counters: set counters = \"sc64\" or mac.code = \"cmac\"",
            ),
            (
                self.mac.has_nonce() && !self.mac.covers.is_empty(),
                "mac.covers is for codes without a nonce, such as \"cmac\": this mac.code always covers address and counter",
            ),
            (
                self.mac.covers.contains(&Covered::Counter) && uncounted,
                "mac.covers names the counter, and the design has none: set counters = \"sc64\"",
            ),
            (
                self.release == Release::Speculative && self.mac.code == MacChoice::None && self.permutation.is_none(),
                "release = \"speculative\" releases lines before their verdicts, and without tags they have none: set \
                 mac.code = \"gmac\" or leave release out",
            ),
            (
                self.mac.place != TagLocation::Region && self.tree.kind == TreeKind::Merkle,
                "tree.kind = \"merkle\" covers tag lines, and this mac.place has none: set mac.place = \"region\" \
                 or tree.kind = \"bonsai\"",
            ),
        ];
        if let Some((_, rule)) = rules.into_iter().find(|(broken, _)| *broken) {
            return Err(rule.to_owned());
        }
        self.tree.check(self)?;
        self.persistence.check(self)?;
        if let Some(rule) = self.mac.broken_rule(self.cipher) {
            return Err(rule.to_owned());
        }
        if let Some(rule) = self.mac.broken_length(self.cipher) {
            return Err(rule);
        }
        if let Some(rule) = unused::rule(self) {
            return Err(rule.to_owned());
        }
        let group = Counters::new(self.counters.organisation(), PlantedBug::NONE).lines_per_group();
        if !uncounted && !group.is_multiple_of(self.mac.lines) {
            return Err(format!(
                "the lines under one tag must share a counter line, which here covers {group}: set mac.lines = 1 \
                 or counters = \"sc64\""
            ));
        }
        if self.caches.counters_in_llc && uncounted {
            return Err(
                "caches.counters_in_llc is for counters, and the design has none: set counters = \"sc64\" or leave it \
                 out"
                .to_owned(),
            );
        }
        if self.caches.nodes_in_llc && !(self.caches.counters_in_llc && self.tree.kind != TreeKind::None) {
            return Err("caches.nodes_in_llc lets the tree above counters follow them to the last-level cache: set \
                        caches.counters_in_llc = true and tree.kind = \"bonsai\", or leave it out"
                .to_owned());
        }
        self.check_eager()?;
        let has_offsets = || self.mac.code == MacChoice::OcbChunks || self.cipher.has_offsets();
        if self.caches.offsets && (uncounted || !has_offsets()) {
            return Err("caches.offsets keeps with each counter the first OCB offset of its line: set cipher = \
                        \"aes256-ocb-chunks\" with counters, or leave it out"
                .to_owned());
        }
        self.speculation.check(self)?;
        self.caches.copies()?;
        self.caches.geometries().map(drop)
    }

    /// Checks whether L2s can begin to decrypt and verify reads, if the design requests it.
    fn check_eager(&self) -> Result<(), String> {
        let mac = &self.mac;
        let halves = mac.code == MacChoice::Gmac && mac.over == Over::Ciphertext && mac.lines == 1;
        let rules = [
            (
                !self.caches.counters_in_llc,
                "caches.counters_in_l2 is filled from the last-level cache: set caches.counters_in_llc = true",
            ),
            (
                !self.cipher.is_counter_mode(),
                "caches.counters_in_l2 lets an L2 make pads before the ciphertext arrives: set cipher = \
                 \"aes128-counter\"",
            ),
            (
                !halves,
                "with caches.counters_in_l2, controller and L2 compute a tag together: set mac.code = \"gmac\", mac.over = \
                 \"ciphertext\" and mac.lines = 1",
            ),
        ];
        let broken = rules.into_iter().find(|(broken, _)| self.caches.counters_in_l2.is_some() && *broken);
        broken.map_or(Ok(()), |(_, rule)| Err(rule.to_owned()))
    }

    /// Builds the protection scheme for these lines of data, with keys and random numbers drawn from these seeds.
    ///
    /// # Errors
    /// Same errors as [`Parts::check`], and broken rules on the number and length of lines.
    pub fn build(&self, data: impl Into<DataLines>, seeds: impl Into<Seeds>) -> Result<Scheme, String> {
        self.build_with(data, seeds, PlantedBug::NONE)
    }

    /// Like [`Parts::build`], with a planted bug in one part.
    ///
    /// # Errors
    /// Same errors as [`Parts::build`].
    pub fn build_with(
        &self,
        data: impl Into<DataLines>,
        seeds: impl Into<Seeds>,
        planted: PlantedBug,
    ) -> Result<Scheme, String> {
        let data = data.into();
        self.check()?;
        line_lengths::rule(self, data.length).map_or(Ok(()), Err)?;
        let keys = Keys::new(seeds, planted);
        match &self.permutation {
            Some(permutation) => permutation.scheme(data, keys, self.release, planted),
            None => self.build_fixed(data, keys, planted).map(Scheme::from),
        }
    }

    /// Builds the scheme of a design whose lines have fixed slots.
    fn build_fixed(&self, data: DataLines, keys: Keys, planted: PlantedBug) -> Result<FixedScheme, String> {
        let counters = Counters::new(self.counters.organisation(), planted);
        let about_lines = (data.length, self.speculation.binds_bitmaps());
        let mac = self.mac.build(self.cipher, about_lines, keys, planted);
        let tree = self.tree.build(&keys.key(KeyPurpose::Tree), counters, planted);
        let needs = Needs {
            lines_per_counter_line: counters.exist().then(|| counters.lines_per_group()),
            tags: mac.as_ref().map(Mac::tag_layout),
            tree: tree.as_ref().map(|tree| self.tree.needs(tree)),
        };
        let caches = &self.caches;
        let mut layout = Layout::new(data, needs)?;
        layout.counters = self.counters.organisation();
        let layout = if self.ownership == Ownership::None { layout } else { layout.with_owners() };
        let layout = Rc::new(if self.speculation.reorders() { layout.with_bitmaps() } else { layout });
        let forest = self.tree.forest(&layout);
        let mut chip =
            ChipState::new(caches.geometries()?, caches.goes_on(), self.tree.root_lines as usize, forest, planted);
        chip.copies = caches.copies()?;
        let cipher = self.cipher.build(keys, planted).for_lines_of(data.length);
        let cipher = cipher
            .ok_or_else(|| line_lengths::refusal("cipher, since it chains the blocks of a line,", data.length))?;
        let bitmaps = self
            .speculation
            .reorders()
            .then(|| BitmapCipher::new(cipher.clone(), keys.values(), caches.bitmaps_ahead, planted));
        let mut codec = LineCodec::new(cipher, mac, counters.are_coded(), planted);
        codec.speculation = self.speculation.build(&codec);
        codec.work.offsets_kept = caches.offsets;
        codec.spilled = self.cipher.spilled(keys, planted, data.count);
        Ok(FixedScheme {
            codec,
            counters,
            metadata: Metadata::new(chip, tree, Rc::clone(&layout), self.persistence.is_in_tuples(), bitmaps, planted),
            layout,
            ownership: self.ownership,
            pending: PendingWrites::default(),
            counted: CounterCell::default(),
            persistence: self.persistence,
            draws: RefCell::new(keys.draws()),
            release: self.release,
            planted,
        })
    }

    /// Like [`Parts::build_with`], with encryption counters that begin at this age; counters that are never renewed begin
    /// new. The starting values of the counters are drawn from `seed` as well, so that a chip with the same keys
    /// continues with the same values. A planted bug weakens one part.
    ///
    /// # Errors
    /// Same errors as [`Parts::build`].
    pub fn build_aged(
        &self,
        data: impl Into<DataLines>,
        seed: u64,
        age: StartingAge,
        planted: PlantedBug,
    ) -> Result<Scheme, String> {
        let mut scheme = self.build_with(data, seed, planted)?;
        if age == StartingAge::Steady
            && let Some(scheme) = scheme.fixed_mut()
        {
            let steady = Steady::new(&scheme.counters, Keys::new(seed, PlantedBug::NONE).ages());
            scheme.metadata.begin_with(steady.map(Rc::new));
        }
        Ok(scheme)
    }

    /// Returns the regions of a memory that holds these lines and their metadata, and the on-chip storage of metadata on
    /// this chip.
    ///
    /// # Errors
    /// Same errors as [`Parts::build`].
    pub fn layout_report(&self, data: impl Into<DataLines>, chip: MovingChip) -> Result<LayoutReport, String> {
        let scheme = self.build(data, 0)?;
        let Some(permutation) = &self.permutation else {
            return Ok(scheme.layout().report(&self.caches.used(scheme.layout()), self.caches.ways));
        };
        let mut report = scheme.layout().report(&[], self.caches.ways);
        report.on_chip.extend(permutation.on_chip(chip));
        report.pad_number_bits = permutation.pad_number_bits();
        Ok(report)
    }

    /// Bytes of the metadata caches on the chip. For a design that permutes lines, bytes of the nodes and records on
    /// the chip, including the records of `translations` pages in TLBs.
    pub fn metadata_cache_bytes(&self, layout: &Layout, translations: usize) -> u64 {
        match &self.permutation {
            Some(permutation) => permutation.cache_bytes(translations),
            None => self.caches.used(layout).iter().map(|(_, size)| size.0).sum(),
        }
    }

    /// Returns whether a battery saves data at a loss of power, but not the metadata of that data (SecPB, Fig. 1b).
    fn has_recoverability_gap(&self) -> bool {
        self.persistence.has_buffer() && self.persistence.battery == BatteryAction::Data && !self.is_plain()
    }

    /// Returns the weak choices that a reviewer would object to, a few words each; empty for a design without weak
    /// choices.
    pub fn weaknesses(&self) -> Vec<&'static str> {
        if let Some(permutation) = &self.permutation {
            return permutation.weaknesses(self.release);
        }
        let cipher = self.cipher.weaknesses(self.counters != CounterChoice::None);
        let fresh_counters = matches!(self.tree.kind, TreeKind::Bonsai | TreeKind::Counters);
        let freshness = [
            (self.tree.kind == TreeKind::None, "no freshness"),
            (fresh_counters && self.mac.ignores_version(), "fresh counters, but tags that ignore them"),
            (self.release == Release::Speculative, "addresses leave before the verdict"),
            (self.ownership != Ownership::None, "unchecked owners in memory"),
            (self.speculation.leaves_bitmaps_loose(), "unchecked bitmaps in memory"),
            (self.has_recoverability_gap(), "recoverability gap"),
        ];
        let freshness = freshness.into_iter().filter_map(|(is, word)| is.then_some(word));
        cipher.chain(self.mac.weaknesses(self.cipher)).chain(freshness).collect()
    }
}
