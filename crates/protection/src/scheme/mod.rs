//! The one text: how a protected memory reads and writes a line.
//!
//! ```text
//! read:   fetch ciphertext ─┐
//!         counter ─ pad ────┼─ decrypt, compute tag, compare ─ release
//!         stored tag ───────┘
//! write:  counter + 1 ─ encrypt ─ tag ─ store both
//! ```
//! How metadata comes to the chip is in [`walk`], how it leaves in [`update`], which of it stays for good in [`forest`],
//! what follows an overflow in [`renew`]; how writes outlive a loss of power in [`persist`], and how memory comes back in
//! [`recover`]. Who may ask at all is in [`owner`].
//!
//! What a scheme lacks it skips: without counters there is nothing to look up, without a tag nothing to compare. All
//! designs are this one text with other parts.
//!
//! Locks are taken upward only (a line, its group, metadata from leaf to root), so accesses cannot wait for each other
//! in a circle. On-chip state changes only between two awaits, and is looked at again after each.

mod forest;
mod owner;
mod persist;
mod recover;
mod renew;
mod update;
mod walk;

use crate::cipher::Cipher;
use crate::counter::{Age, Counter, Counters};
use crate::design::PersistenceDesign;
use crate::layout::Layout;
use crate::mac::{self, Mac};
use crate::media::Media;
use crate::metadata::{CacheCounters, OnChip};
use crate::ownership::Asker;
use crate::planted::{Bug, Planted};
use crate::tree::Tree;
use crate::verbs::{Fault, LockName, Plaintext, Role, Slot, Untrusted, Verbs};
use crypto::Nonce;
use sim::join;
use sim::lock::Mode;
use std::cell::{Cell, RefCell};
use std::future::Future;
use units::random::Random;
use units::{Line, LineAddr, ZERO_LINE};

/// A composition of parts, with its state on the chip.
pub struct Scheme {
    /// Encryption of data.
    pub(crate) cipher: Cipher,
    /// Versions of data.
    pub(crate) counters: Counters,
    /// Authentication of data.
    pub(crate) mac: Option<Mac>,
    /// Freshness of versions or tags.
    pub(crate) tree: Option<Tree>,
    /// Where everything lies.
    pub(crate) layout: Layout,
    /// What becomes durable, and in which order.
    pub(crate) persistence: PersistenceDesign,
    pub(crate) chip: RefCell<OnChip>,
    /// The chip's random numbers, for counters that are drawn.
    pub(crate) draws: RefCell<Random>,
    pub(crate) planted: Planted,
}

impl Scheme {
    /// Where everything lies.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Hits and misses of the counter, tag and node caches.
    pub fn cache_counters(&self) -> [CacheCounters; 3] {
        self.chip.borrow().counters()
    }

    /// Reads a line: releases its plaintext, or reports why not.
    pub async fn read<V: Verbs>(&self, verbs: &V, line: LineAddr) {
        self.read_as(verbs, line, Scheme::tenant(line)).await;
    }

    /// Writes a line.
    pub async fn write<V: Verbs>(&self, verbs: &V, line: LineAddr, plaintext: &Line) {
        self.write_as(verbs, line, plaintext, Scheme::tenant(line)).await;
    }

    /// Writes back all dirty metadata and forgets the rest, as if the caches had been needed for something else.
    pub async fn flush<V: Verbs>(&self, verbs: &V) {
        let levels = (0..self.layout.levels().len()).map(|level| Role::Node(level as u8));
        // From the leaves up, since each level that leaves makes the one above dirty.
        for role in [Role::Owner, Role::Tag, Role::Counter].into_iter().chain(levels) {
            self.on_chip(|chip| chip.dismiss_dirty(role, |slot| self.layout.place(slot).0 == role));
            self.finish(verbs, Ok(())).await;
        }
        self.on_chip(OnChip::forget_clean);
    }

    /// Puts the counters of a line and of its group where a long life would have brought them. None of these lines may
    /// have been written yet, since nothing is re-encrypted.
    pub async fn age<V: Verbs>(&self, verbs: &V, line: LineAddr, age: Age) {
        let Some(slot) = self.counter_slot(line) else { return };
        let outcome =
            self.edit_metadata(verbs, slot, Role::Counter, |counters| *counters = self.counters.aged(age)).await;
        self.finish(verbs, outcome).await;
    }

    /// Puts a line that the machine started with into memory, under the counter that it has now. It takes no time: it is
    /// the state that booting left behind, made when it is first needed. The line's locks must be held.
    fn install(&self, media: &mut Media, line: LineAddr, plaintext: &Line) -> Option<Nonce> {
        let counter = self.counter_without_asking(media, line);
        let ciphertext = self.cipher.seal(line, counter, plaintext);
        media.write(self.layout.data_slot(line), &ciphertext);
        if let (Some(mac), Some(slot)) = (&self.mac, self.tag_slot(line)) {
            let tag = mac.tag(line, counter, mac.covered(plaintext, &ciphertext));
            let position = mac::place(line).1;
            let mut stored = media.read(slot).examine();
            mac::set_entry(&mut stored, position, tag);
            media.write(slot, &stored);
            if let Some(tags) = self.chip.borrow_mut().edit(Role::Tag, slot) {
                mac::set_entry(tags, position, tag);
            }
        }
        self.cipher.nonce(line, counter)
    }

    /// Makes what booting left behind for a line. A tag that the tree covers is put there on the chip, so that its parent
    /// learns of it.
    async fn boot<V: Verbs>(&self, verbs: &V, line: LineAddr) -> Result<(), Fault> {
        if self.tree.as_ref().is_some_and(|tree| tree.covers(Role::Tag)) && verbs.boots(line) {
            self.stored_tag(verbs, line).await?;
        }
        verbs.boot(line, |media, plaintext| self.install(media, line, plaintext));
        Ok(())
    }

    async fn try_read<V: Verbs>(&self, verbs: &V, line: LineAddr, asker: Asker) -> Result<(), Fault> {
        let _line = verbs.lock(LockName::Line(line), Mode::Exclusive).await;
        self.admit(verbs, line, asker).await?;
        let _group = self.lock_group(verbs, line, Mode::Shared).await;
        self.boot(verbs, line).await?;
        let (stored, counter, tag) =
            join!(self.ciphertext(verbs, line), self.counter_and_pad(verbs, line), self.stored_tag(verbs, line),);
        let ((counter, pad), tag) = (counter?, tag?);
        let opened = self.check_and_open(verbs, line, counter, pad, stored, tag).await;
        opened.map(|plaintext| verbs.release(line, plaintext))
    }

    async fn try_write<V: Verbs>(
        &self,
        verbs: &V,
        line: LineAddr,
        plaintext: &Line,
        asker: Asker,
    ) -> Result<(), Fault> {
        if self.persistence.exists() {
            return self.write_durably(verbs, line, plaintext).await;
        }
        let _line = verbs.lock(LockName::Line(line), Mode::Exclusive).await;
        self.admit(verbs, line, asker).await?;
        let (counter, _group) = self.next_version(verbs, line).await?;
        let (stored, raised) =
            join!(self.seal_and_store(verbs, line, counter, plaintext), self.raise_counter(verbs, line));
        stored.and(raised)
    }

    /// The stored line: word by word if nothing has to see the whole of it first.
    async fn ciphertext<V: Verbs>(&self, verbs: &V, line: LineAddr) -> Untrusted {
        let slot = self.layout.data_slot(line);
        if self.mac.is_none() && self.cipher.works_by_word() {
            verbs.fetch_by_word(slot, Role::Data).await
        } else {
            verbs.fetch(slot, Role::Data).await
        }
    }

    /// The counter of a line and, where the mode works ahead, its pad under way: begun when the counter was there, while it
    /// was still being verified.
    async fn counter_and_pad<'a, V: Verbs>(
        &self,
        verbs: &'a V,
        line: LineAddr,
    ) -> Result<(Counter, Option<impl Future<Output = ()> + use<'a, V>>), Fault> {
        let Some(slot) = self.counter_slot(line) else { return Ok((Counter::default(), None)) };
        let pad = Cell::new(None);
        let begin = || pad.set(self.pad_ahead(verbs));
        let counters = self.metadata_for(verbs, slot, Role::Counter, begin).await?;
        Ok((self.counters.read(&counters, self.counters.position(line)), pad.take()))
    }

    /// Begins the pad of a line, if the mode works ahead of the ciphertext.
    fn pad_ahead<'a, V: Verbs>(&self, verbs: &'a V) -> Option<impl Future<Output = ()> + use<'a, V>> {
        self.cipher.works_ahead().then(|| verbs.pad(self.cipher.blocks()))
    }

    async fn stored_tag<V: Verbs>(&self, verbs: &V, line: LineAddr) -> Result<u64, Fault> {
        match self.tag_slot(line) {
            Some(slot) => {
                let tags = self.metadata(verbs, slot, Role::Tag).await?;
                Ok(mac::entry(&tags, mac::place(line).1))
            }
            None => Ok(0),
        }
    }

    /// Verifies and decrypts what was fetched, both at once unless the tag is over the plaintext. A mode that works ahead
    /// has its pad under way.
    async fn check_and_open<V: Verbs>(
        &self,
        verbs: &V,
        line: LineAddr,
        counter: Counter,
        pad: Option<impl Future<Output = ()>>,
        stored: Untrusted,
        tag: u64,
    ) -> Result<Plaintext, Fault> {
        let ciphertext = stored.examine();
        let open = async {
            match pad {
                Some(pad) => pad.await,
                None if self.cipher.blocks() > 0 => verbs.pad(self.cipher.blocks()).await,
                None => {}
            }
            Plaintext { bytes: self.cipher.open(line, counter, &ciphertext), verified: self.mac.is_some() }
        };
        let check = async |text: &Line| {
            let Some(mac) = &self.mac else { return Ok(()) };
            verbs.mac().await;
            let blank_passes = self.planted.has(Bug::BlankLinePasses) && ciphertext == ZERO_LINE;
            if mac.fits(tag, mac.tag(line, counter, text)) || blank_passes { Ok(()) } else { Err(Fault::Tag(line)) }
        };
        let (plaintext, verdict) = if self.mac.as_ref().is_some_and(Mac::covers_plaintext) {
            let plaintext = open.await;
            (plaintext, check(&plaintext.bytes).await)
        } else {
            join!(open, check(&ciphertext))
        };
        if self.planted.has(Bug::ReleaseBeforeVerdict) && verdict.is_err() {
            verbs.release(line, plaintext);
        }
        verdict.map(|()| plaintext)
    }

    async fn seal_and_store<V: Verbs>(
        &self,
        verbs: &V,
        line: LineAddr,
        counter: Counter,
        plaintext: &Line,
    ) -> Result<(), Fault> {
        let ciphertext = self.seal(verbs, line, counter, plaintext).await;
        let store = verbs.store(self.layout.data_slot(line), Role::Data, Untrusted(Some(ciphertext)));
        let (_, tagged) = join!(store, self.put_tag(verbs, line, counter, plaintext, &ciphertext));
        tagged
    }

    /// Encrypts a line under a counter that it never had before.
    async fn seal<V: Verbs>(&self, verbs: &V, line: LineAddr, counter: Counter, plaintext: &Line) -> Line {
        if self.cipher.blocks() > 0 {
            verbs.pad(self.cipher.blocks()).await;
        }
        if let Some(nonce) = self.cipher.nonce(line, counter) {
            verbs.sealed(&nonce, plaintext);
        }
        self.cipher.seal(line, counter, plaintext)
    }

    /// Tells everybody above a line's counter that it has moved on, if that is to be known at once.
    async fn raise_counter<V: Verbs>(&self, verbs: &V, line: LineAddr) -> Result<(), Fault> {
        match self.counter_slot(line) {
            Some(slot) => self.raise(verbs, slot).await,
            None => Ok(()),
        }
    }

    async fn put_tag<V: Verbs>(
        &self,
        verbs: &V,
        line: LineAddr,
        counter: Counter,
        plaintext: &Line,
        ciphertext: &Line,
    ) -> Result<(), Fault> {
        let Some((slot, tag)) = self.new_tag(verbs, line, counter, plaintext, ciphertext).await else { return Ok(()) };
        self.enter_tag(verbs, line, slot, tag).await?;
        self.raise(verbs, slot).await
    }

    /// Computes the tag of a line, if there are tags; says in which slot it belongs.
    async fn new_tag<V: Verbs>(
        &self,
        verbs: &V,
        line: LineAddr,
        counter: Counter,
        plaintext: &Line,
        ciphertext: &Line,
    ) -> Option<(Slot, u64)> {
        let (mac, slot) = (self.mac.as_ref()?, self.tag_slot(line)?);
        verbs.mac().await;
        Some((slot, mac.tag(line, counter, mac.covered(plaintext, ciphertext))))
    }

    /// Puts a tag into its place on the chip.
    async fn enter_tag<V: Verbs>(&self, verbs: &V, line: LineAddr, slot: Slot, tag: u64) -> Result<(), Fault> {
        self.edit_metadata(verbs, slot, Role::Tag, |tags| mac::set_entry(tags, mac::place(line).1, tag)).await
    }

    /// Moves the counter of a line on, and keeps its group from being re-encrypted until the new version is in memory.
    async fn next_version<'a, V: Verbs>(
        &self,
        verbs: &'a V,
        line: LineAddr,
    ) -> Result<(Counter, Option<V::Guard<'a>>), Fault> {
        let Some(slot) = self.counter_slot(line) else { return Ok((Counter::default(), None)) };
        let position = self.counters.position(line);
        let advance = |counters: &mut Line| self.counters.advance(counters, position);
        let group = self.lock_group(verbs, line, Mode::Shared).await;
        if let Ok(counter) = self.edit_metadata(verbs, slot, Role::Counter, advance).await? {
            return Ok((counter, group));
        }
        drop(group);
        let group = self.lock_group(verbs, line, Mode::Exclusive).await;
        // Somebody else may have renewed the group while this access waited to have it alone.
        let counter = match self.edit_metadata(verbs, slot, Role::Counter, advance).await? {
            Ok(counter) => counter,
            Err(overflow) => self.renew_group(verbs, slot, line, &overflow).await?,
        };
        Ok((counter, group))
    }

    async fn lock_group<'a, V: Verbs>(&self, verbs: &'a V, line: LineAddr, mode: Mode) -> Option<V::Guard<'a>> {
        if !self.counters.exist() {
            return None;
        }
        Some(verbs.lock(LockName::Group(self.counters.group(line)), mode).await)
    }

    /// The slot of a line's counter, if there are counters.
    pub fn counter_slot(&self, line: LineAddr) -> Option<Slot> {
        self.layout.counters().map(|region| region.slot(self.counters.group(line)))
    }

    /// The slot of a line's tag, if there are tags.
    pub fn tag_slot(&self, line: LineAddr) -> Option<Slot> {
        self.layout.tags().map(|region| region.slot(mac::place(line).0))
    }

    fn counter_without_asking(&self, media: &Media, line: LineAddr) -> Counter {
        let Some(slot) = self.counter_slot(line) else { return Counter::default() };
        let mut chip = self.chip.borrow_mut();
        let counters = match chip.leaving(slot) {
            Some(departure) => departure.content,
            None => chip.get(Role::Counter, slot).copied().unwrap_or_else(|| media.read(slot).examine()),
        };
        self.counters.read(&counters, self.counters.position(line))
    }

    /// Looks at or changes the state on the chip, between two verbs.
    fn on_chip<R>(&self, access: impl FnOnce(&mut OnChip) -> R) -> R {
        access(&mut self.chip.borrow_mut())
    }
}
