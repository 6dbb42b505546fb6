//! Initial content of the machine: the first read of a line puts the line into memory, as if booting had done so.
//!
//! This takes no time, but protects the line like a write: the line is sealed under the counter that has just been
//! verified, never under an unverified counter from memory. Otherwise an attacker could choose the counter, and a later
//! write would use its pad again. If the counter does not verify, the read puts no line into memory.
//!
//! Lines that share a tag boot one by one. The tag covers the lines that memory holds, and each line adds a separate
//! mask. So no two tags of a group have the same masks. The read first verifies the other lines, since the new tag
//! covers them too.

use super::DataAccess;
use crate::codec::{Arrived, Sealed};
use crate::counter::Counter;
use crate::mac::Mac;
use crate::meetings::Mechanism;
use crate::planted::Bug;
use crate::scheme::under_way;
use crate::slot::{Role, Untrusted};
use crate::verbs::{Fault, Verbs, Wanted};
use crypto::Tag;
use units::Line;

impl<V: Verbs> DataAccess<'_, V> {
    /// Puts a line of the initial content into memory, under the counter that it arrived with. Memory must not have the line
    /// yet, and the caller must hold its lock.
    pub(super) async fn boot(&self, arrived: &mut Arrived<'_>, plaintext: &Line) -> Result<(), Fault> {
        let (scheme, verbs, at) = (self.scheme, self.verbs, self.at);
        let _boot = under_way(scheme, Mechanism::Boot);
        self.refuse_if_halted()?;
        let next = scheme.planted.has(Bug::BootUnderNextCounter);
        let counter = Counter(arrived.counter.0 + u128::from(next));
        let sealed = scheme.codec.encrypt_for_now(at, counter, plaintext);
        arrived.order = arrived.order.booted(sealed.bitmap);
        let mut spare_bits = 0;
        if let Some(mac) = &scheme.codec.mac {
            let tag = self.tag_at_boot(mac, arrived, &sealed)?;
            arrived.tag = tag.into();
            if mac.travels() {
                spare_bits = tag.low_128();
            } else {
                self.boot_tag(mac, tag).await?;
            }
        }
        scheme.codec.spend_pad(verbs, &sealed);
        arrived.stored = Untrusted::with(sealed.ciphertext, spare_bits);
        verbs.boot(at.slot(), Role::Data, |_| arrived.stored);
        Ok(())
    }

    /// The planted bug: puts a line into memory under the counter that memory returns.
    pub(super) async fn boot_unchecked(&self) -> Result<(), Fault> {
        let (scheme, verbs, at) = (self.scheme, self.verbs, self.at);
        let Some(slot) = self.counter_slot() else { return Ok(()) };
        let stored = self.fetch(Wanted::LINE).await.content;
        let counters = verbs.fetch(slot, Role::Counter, Wanted::LINE).await.content.examine();
        let counters = scheme.metadata.begun(slot, Role::Counter, &counters);
        let counter = scheme.version(&counters, at.line());
        match stored.is_blank().then(|| verbs.start_up(at)).flatten() {
            Some(plaintext) => {
                let mut arrived = Arrived::untagged(at, counter, stored);
                self.boot(&mut arrived, &plaintext).await
            }
            None => Ok(()),
        }
    }

    /// Returns the tag over a booting line and the lines that memory already holds. Refuses the latter if they do not
    /// match their tag.
    fn tag_at_boot(&self, mac: &Mac, arrived: &Arrived<'_>, sealed: &Sealed) -> Result<Tag, Fault> {
        let planted = self.scheme.planted;
        let is_alone = arrived.others.is_empty() || planted.has(Bug::TagOverBlankLines);
        let checked = is_alone || planted.has(Bug::BootDuringForgery);
        if !checked && !mac.fits(arrived.tag.get(), mac.tag_over(&arrived.others)) {
            return Err(Fault::Tag(arrived.at.line()));
        }
        self.scheme.codec.spend_masks(self.verbs, sealed, &arrived.others);
        Ok(self.scheme.codec.tag_at_boot(mac, sealed, &arrived.others))
    }

    /// Puts a tag into the region of tags. If the tree covers tags, this changes the tag line on the chip, so that
    /// its parent later vouches for the tag. Otherwise it writes the tag to memory, and to the tag line on the
    /// chip, if the chip has it.
    async fn boot_tag(&self, mac: &Mac, tag: Tag) -> Result<(), Fault> {
        let Some(slot) = self.scheme.tag_slot(self.line()) else { return Ok(()) };
        if self.scheme.metadata.tree().is_some_and(|tree| tree.covers(Role::Tag)) {
            return Box::pin(self.enter_tag(slot, tag)).await;
        }
        let (tag_layout, position) = (mac.tag_layout(), mac.tag_layout().entry_of(self.line()).1);
        let enter = |tags: &mut Line| tag_layout.set_entry(tags, position, tag);
        self.verbs.boot(slot, Role::Tag, |stored| changed(stored, enter));
        self.scheme.metadata.on_chip(|chip| chip.caches.amend(Role::Tag, slot, enter));
        Ok(())
    }
}

fn changed(stored: Untrusted, change: impl Fn(&mut Line)) -> Untrusted {
    let mut line = stored.examine();
    change(&mut line);
    Untrusted::with(line, stored.spare_bits())
}
