//! What the machine starts with: a line gets into memory when it is first read, as if booting had put it there.
//!
//! It takes no time, but it is protected as a write is: the line is sealed under the counter that has just been verified,
//! never under one that memory merely returned. Otherwise an attacker could name the counter, and a later write would
//! use its pad again. If the counter does not verify, nothing is put into memory.
//!
//! Lines that share a tag come one by one. The tag is over those that are there, and each brings a mask of its own along; so
//! no two tags of a group have the same masks. The others are checked first: the new tag is over them too.

use super::Scheme;
use super::grouped::{Others, among, spend_masks};
use super::read::Arrived;
use crate::counter::Counter;
use crate::mac::{self, Mac};
use crate::planted::Bug;
use crate::verbs::{Fault, Role, Untrusted, Verbs, Wanted};
use units::{Line, LineAddr};

impl Scheme {
    /// Puts a line into memory that the machine started with and that is not there yet, under the counter that it arrived
    /// with. The line's lock must be held.
    pub(super) async fn boot<V: Verbs>(&self, verbs: &V, arrived: &mut Arrived) -> Result<(), Fault> {
        match arrived.stored.is_blank().then(|| verbs.start_up(arrived.at)).flatten() {
            Some(plaintext) => self.boot_with(verbs, arrived, &plaintext).await,
            None => Ok(()),
        }
    }

    /// The planted bug: puts a line into memory under the counter that memory returns.
    pub(super) async fn boot_unchecked<V: Verbs>(&self, verbs: &V, line: LineAddr) -> Result<(), Fault> {
        let (true, Some(slot)) = (self.planted.has(Bug::BootTrustsMemory), self.counter_slot(line)) else {
            return Ok(());
        };
        let at = self.layout.data_slot(line);
        let stored = verbs.fetch(at.slot(), Role::Data, Wanted::Line).await;
        let counters =
            self.metadata.begun(slot, Role::Counter, &verbs.fetch(slot, Role::Counter, Wanted::Line).await.examine());
        let counter = self.version(&counters, line);
        self.boot(verbs, &mut Arrived { at, counter, stored, tag: 0, others: Others::new() }).await
    }

    /// As [`Scheme::boot`], of a line whose content is known already.
    pub(super) async fn boot_with<V: Verbs>(
        &self,
        verbs: &V,
        arrived: &mut Arrived,
        plaintext: &Line,
    ) -> Result<(), Fault> {
        let (at, counter) = (arrived.at, arrived.counter);
        let counter = if self.planted.has(Bug::BootUnderNextCounter) { Counter(counter.0 + 1) } else { counter };
        let ciphertext = self.cipher.seal_for_now(at, counter, plaintext);
        let mut beside = 0;
        if let Some(mac) = &self.mac {
            arrived.tag = self.tag_at_boot(verbs, mac, arrived, mac.covered(plaintext, &ciphertext))?;
            if mac.travels() {
                beside = arrived.tag;
            } else {
                self.boot_tag(verbs, mac, at.line(), arrived.tag).await?;
            }
        }
        self.spend_pad(verbs, at, counter, plaintext);
        arrived.stored = Untrusted::with(ciphertext, beside);
        verbs.boot(at.slot(), Role::Data, |_| Untrusted::with(ciphertext, beside));
        Ok(())
    }

    /// The tag of a line that is put into memory, and of those that are there already, which must fit theirs.
    fn tag_at_boot<V: Verbs>(&self, verbs: &V, mac: &Mac, arrived: &Arrived, text: &Line) -> Result<u64, Fault> {
        let is_alone = arrived.others.is_empty() || self.planted.has(Bug::TagOverBlankLines);
        let checked = is_alone || self.planted.has(Bug::BootBesideForgery);
        if !checked && !mac.fits(arrived.tag, mac.tag_over(&arrived.others)) {
            return Err(Fault::Tag(arrived.at.line()));
        }
        let named = (arrived.at, arrived.counter, text);
        spend_masks(verbs, mac, named, &arrived.others);
        Ok(mac.tag_over(&among(named, &arrived.others)))
    }

    /// Puts a tag into the region of tags: on the chip if the tree covers it, so that its parent learns of it; else into
    /// memory, and into what the chip has of it.
    async fn boot_tag<V: Verbs>(&self, verbs: &V, mac: &Mac, line: LineAddr, tag: u64) -> Result<(), Fault> {
        let Some(slot) = self.tag_slot(line) else { return Ok(()) };
        if self.metadata.covers(Role::Tag) {
            return self.enter_tag(verbs, line, slot, tag).await;
        }
        let enter = |tags: &mut Line| mac::set_entry(tags, mac.entry_of(line).1, tag);
        verbs.boot(slot, Role::Tag, |stored| changed(stored, enter));
        self.metadata.on_chip(|chip| chip.amend(Role::Tag, slot, enter));
        Ok(())
    }
}

fn changed(stored: Untrusted, change: impl Fn(&mut Line)) -> Untrusted {
    let mut line = stored.examine();
    change(&mut line);
    Untrusted::with(line, stored.beside())
}
