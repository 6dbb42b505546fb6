//! The one text: how a protected memory reads and writes a line.
//!
//! ```text
//! read:   fetch ciphertext ─┐
//!         counter ─ pad ────┼─ decrypt, compute tag, compare ─ release
//!         stored tag ───────┘
//! write:  counter + 1 ─ encrypt ─ tag ─ store both
//! ```
//! How a line is read is in [`read`], what follows an overflow in [`renew`]; how a line is used before its verdict in [`ahead`],
//! how an L2 begins a read in [`eager`], what begins on its mere prediction in [`early`], what one tag over several lines
//! asks for in [`grouped`]; how the machine's first content gets into memory in [`boot`]; how writes outlive a loss of power in [`persist`], and how memory comes back in [`recover`]. Who
//! may ask at all is in [`owner`], what is counted in [`counted`].
//!
//! What a scheme lacks it skips: without counters there is nothing to look up, without a tag nothing to compare. All
//! designs are this one text with other parts.
//!
//! Locks are taken upward only (a line, its group, a renewal's permit, metadata from leaf to root), so accesses cannot wait for each other
//! in a circle. On-chip state changes only between two awaits, and is looked at again after each.

mod ahead;
mod alone;
mod boot;
mod counted;
mod eager;
mod early;
mod gathering;
mod grouped;
mod owner;
mod persist;
mod read;
mod recover;
mod renew;

pub use alone::Computed;
pub use counted::{CountersFound, Renewals, SchemeCounters};
pub(crate) use gathering::Gathering;

use crate::cipher::Cipher;
use crate::counter::{Age, Counter, Counters};
use crate::design::PersistenceDesign;
use crate::layout::Layout;
use crate::mac::{self, Mac};
use crate::metadata::{Metadata, RenewedNodes};
use crate::on_chip::{CacheCounters, Copies, CopyCounters, LastLevel, SecondLevel};
use crate::ownership::{Asker, Ownership};
use crate::placement::DataSlot;
use crate::planted::{Bug, Planted};
use crate::slot::Kind;
use crate::verbs::{Fault, Keystream, LockName, Role, Slot, Untrusted, Verbs};
use enum_map::EnumMap;
use grouped::{Others, Version, spend_masks};
use serde::{Deserialize, Serialize};
use sim::join;
use sim::lock::Mode;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use units::random::Random;
use units::{Line, LineAddr};

/// When a line that was read goes to the core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// When its verdict is in.
    #[default]
    Verified,
    /// When it is decrypted. What was computed from it stays on the chip until the verdict is in ([`ahead`]).
    Speculative,
}

/// A composition of parts, with its state on the chip.
pub struct Scheme {
    /// Encryption of data.
    pub(crate) cipher: Cipher,
    /// Versions of data.
    pub(crate) counters: Counters,
    /// Authentication of data.
    pub(crate) mac: Option<Mac>,
    /// Versions and tags where they lie, and their freshness.
    pub(crate) metadata: Metadata,
    /// Where everything lies.
    pub(crate) layout: Rc<Layout>,
    /// Who may ask.
    pub(crate) ownership: Ownership,
    /// What becomes durable, and in which order.
    pub(crate) persistence: PersistenceDesign,
    pub(crate) gathering: RefCell<Gathering>,
    pub(crate) counted: Cell<SchemeCounters>,
    /// The chip's random numbers, for counters that are drawn.
    pub(crate) draws: RefCell<Random>,
    pub(crate) release: Release,
    /// What a planted bug leaves in memory of the key, whenever metadata leaves the chip; nothing without one.
    pub(crate) spilled: Box<[(Slot, Line)]>,
    pub(crate) planted: Planted,
}

impl Scheme {
    /// Where everything lies.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether data has counters.
    pub fn has_counters(&self) -> bool {
        self.counters.exist()
    }

    /// The same scheme once more, with the same keys and all that is on the chip; what becomes of one from now on does not show
    /// in the other.
    ///
    /// # Panics
    /// If an access is under way, or if the scheme shares a machine's last-level cache.
    pub fn twin(&self) -> Scheme {
        assert!(self.gathering.borrow().is_empty(), "a chip is copied between two accesses");
        Scheme {
            cipher: self.cipher.clone(),
            counters: self.counters,
            mac: self.mac.clone(),
            metadata: self.metadata.twin(),
            layout: Rc::clone(&self.layout),
            ownership: self.ownership,
            persistence: self.persistence,
            gathering: RefCell::default(),
            counted: self.counted.clone(),
            draws: self.draws.clone(),
            release: self.release,
            spilled: self.spilled.clone(),
            planted: self.planted,
        }
    }

    /// Look-ups of each kind of metadata in its cache.
    pub fn cache_counters(&self) -> EnumMap<Kind, CacheCounters> {
        self.metadata.on_chip(|chip| chip.counters())
    }

    /// Look-ups of each kind of metadata in the last-level cache; nothing if none go there.
    pub fn last_level_counters(&self) -> Option<EnumMap<Kind, CacheCounters>> {
        self.metadata.on_chip(|chip| chip.shared_counters())
    }

    /// What L2s have seen of copies of counters; nothing if they have none.
    pub fn copy_counters(&self) -> Option<CopyCounters> {
        self.metadata.on_copies(Copies::counters)
    }

    /// What the text has counted.
    pub fn counted(&self) -> SchemeCounters {
        let mut counted = self.counted.get();
        let RenewedNodes { nodes, children } = self.metadata.renewed();
        (counted.renewals.nodes, counted.renewals.children) = (nodes, children);
        counted
    }

    /// Names the machine's last-level cache, before the first access. It may tell of lines that it displaced between any
    /// two verbs.
    pub fn share_last_level(&self, last_level: Box<dyn LastLevel>) {
        self.metadata.on_chip(|chip| chip.share(last_level));
    }

    /// Names the machine's L2s, before the first access.
    pub fn share_second_level(&self, second_level: Box<dyn SecondLevel>) {
        self.metadata.on_copies(|copies| copies.lie_in(second_level));
    }

    /// Data has displaced a line of metadata from the last-level cache.
    pub fn displaced(&self, slot: Slot) {
        self.metadata.on_chip(|chip| chip.displaced(slot));
    }

    /// Reads a line: releases its plaintext, or reports why not. If L2s begin reads, that of the first core does.
    pub async fn read<V: Verbs>(&self, verbs: &V, line: LineAddr) {
        self.read_by(verbs, line, 0).await;
    }

    /// As [`Scheme::read`], for a request that comes to the controller without an L2 having begun anything.
    pub async fn read_at_controller<V: Verbs>(&self, verbs: &V, line: LineAddr) {
        self.read_as(verbs, line, Scheme::tenant(line)).await;
    }

    /// Writes a line.
    pub async fn write<V: Verbs>(&self, verbs: &V, line: LineAddr, plaintext: &Line) {
        self.write_as(verbs, line, plaintext, Scheme::tenant(line)).await;
    }

    /// Writes back all dirty metadata and forgets the rest, as if the caches had been needed for something else.
    pub async fn flush<V: Verbs>(&self, verbs: &V) {
        self.metadata.flush(verbs).await;
        for (slot, content) in &self.spilled {
            verbs.store(*slot, Role::Data, (*content).into()).await;
        }
    }

    /// Puts the counters of a line and of its group where a long life would have brought them. None of these lines may
    /// have been written yet, since nothing is re-encrypted.
    pub async fn age<V: Verbs>(&self, verbs: &V, line: LineAddr, age: Age) {
        let Some(slot) = self.counter_slot(line) else { return };
        let outcome =
            self.metadata.edit(verbs, slot, Role::Counter, |counters| *counters = self.counters.aged(age)).await;
        self.finish(verbs, outcome).await;
    }

    /// The lines of the tree's own root.
    pub fn root(&self) -> Box<[Line]> {
        self.metadata.root()
    }

    /// The nodes of the tree that are kept on the chip as roots, in the order of their slots; none unless it is a forest.
    pub fn forest_roots(&self) -> Vec<Slot> {
        self.metadata.forest_roots()
    }

    /// Folds all other roots into the tree's own, as a machine must that keeps no more than that one line.
    pub async fn fold_forest<V: Verbs>(&self, verbs: &V) {
        for root in self.forest_roots() {
            let outcome = self.metadata.fold(verbs, root).await;
            self.finish(verbs, outcome).await;
        }
    }

    /// Ends an access: reports tampering, and writes back the metadata that had to make room.
    async fn finish<V: Verbs>(&self, verbs: &V, outcome: Result<(), Fault>) {
        if let Err(fault) = outcome
            && !self.planted.has(Bug::FaultSwallowed)
        {
            verbs.fault(fault);
        }
        self.metadata.write_back_leaving(verbs).await;
    }

    async fn try_write<V: Verbs>(
        &self,
        verbs: &V,
        line: LineAddr,
        plaintext: &Line,
        asker: Asker,
    ) -> Result<(), Fault> {
        verbs.come_in().await;
        if self.persistence.exists() {
            return self.write_durably(verbs, line, plaintext).await;
        }
        let _line = self.lock_line(verbs, line).await;
        self.admit(verbs, line, asker).await?;
        if self.release == Release::Speculative && !self.planted.has(Bug::VerdictsNotAwaited) {
            verbs.await_verdicts().await;
        }
        let (counter, _group, others) = if self.layout.lines_per_tag() == 1 {
            self.next_version(verbs, line).await?
        } else {
            self.next_version_of_grouped(verbs, line).await?
        };
        let at = self.layout.data_slot(line);
        let (stored, raised) =
            join!(self.seal_and_store(verbs, at, counter, plaintext, &others), self.raise_counter(verbs, line));
        stored.and(raised)
    }

    async fn seal_and_store<V: Verbs>(
        &self,
        verbs: &V,
        at: DataSlot,
        counter: Counter,
        plaintext: &Line,
        others: &Others,
    ) -> Result<(), Fault> {
        let ciphertext = self.seal(verbs, at, counter, plaintext).await;
        let tag = self.new_tag(verbs, at, counter, (plaintext, &ciphertext), others);
        if self.layout.tags_with_data() {
            let tag = tag.await.unwrap_or_default();
            verbs.store(at.slot(), Role::Data, Untrusted::with(ciphertext, tag)).await;
            return Ok(());
        }
        let put_tag = async {
            match tag.await {
                Some(tag) => self.put_tag(verbs, at.line(), tag).await,
                None => Ok(()),
            }
        };
        let (_, tagged) = join!(verbs.store(at.slot(), Role::Data, ciphertext.into()), put_tag);
        tagged
    }

    /// Encrypts a line under a counter that it never had before.
    async fn seal<V: Verbs>(&self, verbs: &V, at: DataSlot, counter: Counter, plaintext: &Line) -> Line {
        self.pad_whole(verbs).await;
        self.encrypt(verbs, at, counter, plaintext)
    }

    /// The ciphertext of a line, whose pad serves from now on.
    fn encrypt<V: Verbs>(&self, verbs: &V, at: DataSlot, counter: Counter, plaintext: &Line) -> Line {
        self.spend_pad(verbs, at, counter, plaintext);
        self.cipher.seal(at, counter, plaintext)
    }

    /// Notes the pad that hides a line, if one does.
    fn spend_pad<V: Verbs>(&self, verbs: &V, at: DataSlot, counter: Counter, plaintext: &Line) {
        verbs.spend(at.slot(), || self.cipher.nonce(at, counter).map(|nonce| Keystream::Pad(nonce, *plaintext)));
    }

    /// Tells everybody above a line's counter that it has moved on, if that is to be known at once.
    async fn raise_counter<V: Verbs>(&self, verbs: &V, line: LineAddr) -> Result<(), Fault> {
        match self.counter_slot(line) {
            Some(slot) => self.metadata.raise(verbs, slot).await,
            None => Ok(()),
        }
    }

    /// Computes the tag of a line, if there are tags, whose mask serves from now on.
    async fn new_tag<V: Verbs>(
        &self,
        verbs: &V,
        at: DataSlot,
        counter: Counter,
        texts: (&Line, &Line),
        others: &Others,
    ) -> Option<u64> {
        self.spend_tag(verbs, at, counter, texts, others);
        self.tag(verbs, at, counter, texts, others).await
    }

    /// Notes the masks of a line's new tag, if tags have masks.
    fn spend_tag<V: Verbs>(
        &self,
        verbs: &V,
        at: DataSlot,
        counter: Counter,
        (plaintext, ciphertext): (&Line, &Line),
        others: &Others,
    ) {
        if let Some(mac) = &self.mac {
            spend_masks(verbs, mac, (at, counter, mac.covered(plaintext, ciphertext)), others);
        }
    }

    /// Computes the tag of a line, if there are tags.
    async fn tag<V: Verbs>(
        &self,
        verbs: &V,
        at: DataSlot,
        counter: Counter,
        (plaintext, ciphertext): (&Line, &Line),
        others: &Others,
    ) -> Option<u64> {
        let mac = self.mac.as_ref()?;
        Some(self.compute_tag(verbs, mac, (at, counter, mac.covered(plaintext, ciphertext)), others).await)
    }

    /// Puts a tag into the region of tags, and tells everybody above, if that is to be known at once.
    async fn put_tag<V: Verbs>(&self, verbs: &V, line: LineAddr, tag: u64) -> Result<(), Fault> {
        let Some(slot) = self.tag_slot(line) else { return Ok(()) };
        self.enter_tag(verbs, line, slot, tag).await?;
        self.metadata.raise(verbs, slot).await
    }

    /// Puts a tag into its place on the chip.
    async fn enter_tag<V: Verbs>(&self, verbs: &V, line: LineAddr, slot: Slot, tag: u64) -> Result<(), Fault> {
        let Some(mac) = &self.mac else { return Ok(()) };
        self.metadata.edit(verbs, slot, Role::Tag, |tags| mac::set_entry(tags, mac.entry_of(line).1, tag)).await
    }

    /// Moves the counter of a line on, and keeps its group from being re-encrypted until the new version is in memory.
    async fn next_version<'a, V: Verbs>(&self, verbs: &'a V, line: LineAddr) -> Result<Version<'a, V>, Fault> {
        let Some(slot) = self.counter_slot(line) else { return Ok((Counter::default(), None, Others::new())) };
        let position = self.counters.position(line);
        let advance = |counters: &mut Line| self.counters.advance(counters, position);
        let group = self.lock_group(verbs, line, Mode::Shared).await;
        if let Ok(counter) = self.metadata.edit(verbs, slot, Role::Counter, advance).await? {
            if self.planted.has(Bug::CopiesOutliveRenewals) {
                self.metadata.on_copies(|copies| copies.drop_all(slot));
            }
            return Ok((counter, group, Others::new()));
        }
        drop(group);
        let alone = if self.planted.has(Bug::RenewalLetsOthersIn) { Mode::Shared } else { Mode::Exclusive };
        let group = self.lock_group(verbs, line, alone).await;
        // Somebody else may have renewed the group while this access waited to have it alone.
        let counter = match self.metadata.edit(verbs, slot, Role::Counter, advance).await? {
            Ok(counter) => counter,
            Err(overflow) => self.renew_group(verbs, slot, line, &overflow).await?,
        };
        Ok((counter, group, Others::new()))
    }

    async fn lock_group<'a, V: Verbs>(&self, verbs: &'a V, line: LineAddr, mode: Mode) -> Option<V::Guard<'a>> {
        if !self.counters.exist() {
            return None;
        }
        Some(verbs.lock(LockName::Group(self.counters.group(line)), mode).await)
    }

    fn count(&self, change: impl FnOnce(&mut SchemeCounters)) {
        let mut counted = self.counted.get();
        change(&mut counted);
        self.counted.set(counted);
    }
}
