//! Renewal after an overflow: lines get new counters, and are re-encrypted under them.
//!
//! The counters advance first. If tampering stops the re-encryption half-way, the remaining lines are lost, but no later
//! attempt uses the new pads again. Each line from memory is checked under the old counters: otherwise a forgery would get
//! a valid tag.
//!
//! A machine may limit the number of groups that are renewed at once, and the entries of the memory's queue that their
//! lines use. Neither limit applies to renewals in tuples, since tuples become durable one after the other.

use super::access::{DataAccess, Fetched, versioned};
use super::bitmap::LineBitmap;
use super::write::Write;
use super::{FixedScheme, offsets, under_way};
use crate::codec::{BitmapOrder, Others, Sealed};
use crate::counter::{Counter, Overflow};
use crate::domain::Renewal;
use crate::mac::GROUP_MAX;
use crate::meetings::Mechanism;
use crate::placement::DataSlot;
use crate::planted::Bug;
use crate::slot::{Role, Slot, Untrusted};
use crate::speculation::Bitmap;
use crate::verbs::{BusPriority, Fault, Verbs, Wanted};
use arrayvec::ArrayVec;
use sim::{join, join_all};
use std::future::ready;
use units::{Line, LineAddr};

/// The lines of a renewal: at most 128, the counters of a line.
pub(super) type Renewed = ArrayVec<LineAddr, 128>;

/// Renews the group of an overflow, in place or as a part of a tuple.
pub(super) struct Renewer<'a, V> {
    pub scheme: &'a FixedScheme,
    pub verbs: &'a V,
}

impl<'a, V: Verbs> Renewer<'a, V> {
    /// Renews the group of the line about to be written after its counter has overflowed. Encrypts the other lines again.
    /// Returns the line's new version.
    pub async fn renew_group(&self, slot: Slot, written: LineAddr, overflow: &Overflow) -> Result<Counter, Fault> {
        self.verbs.renewing(&BusPriority::default(), self.renew_and_reencrypt(slot, written, overflow)).await
    }

    async fn renew_and_reencrypt(&self, slot: Slot, written: LineAddr, overflow: &Overflow) -> Result<Counter, Fault> {
        let _renewal = under_way(self.scheme, Mechanism::Renewal);
        let (renewal, new) = self.renew_counters(slot, written, overflow).await?;
        let under_a_tag = self.scheme.layout.lines_per_tag();
        let lines = self.renewed_lines(&renewal, |line| under_a_tag == 1 && line == written);
        for batch in self.by_tag_line(&lines) {
            let parts = batch.chunk_by(|one, next| one.0 / under_a_tag == next.0 / under_a_tag);
            let parts = parts.map(|lines| self.reencrypt(lines, (&renewal.old, &new)));
            join_all(parts).await.into_iter().collect::<Result<(), Fault>>()?;
        }
        Ok(self.scheme.version(&new, written))
    }

    /// Assigns new counters to the lines of the renewal, on the chip. Returns the renewal and the new counter line.
    pub async fn renew_counters(
        &self,
        slot: Slot,
        written: LineAddr,
        overflow: &Overflow,
    ) -> Result<(Renewal, Line), Fault> {
        let Overflow::Renew { positions } = overflow else { return Err(Fault::Exhausted(written)) };
        let (scheme, counters) = (self.scheme, &self.scheme.counters);
        let drawn = scheme.draws.borrow_mut().word();
        let drawn = if scheme.planted.has(Bug::DrawsRepeat) { 1 } else { drawn };
        let renew = |line: &mut Line| {
            let old = *line;
            *line = counters.renew(&old, counters.position(written), overflow, drawn);
            (old, *line)
        };
        let (old, new) = match self.planted_edit(slot, renew).await? {
            Some(edited) => edited,
            None => scheme.metadata.edit(self.verbs, slot, Role::Counter, renew).await?,
        };
        offsets::forget(scheme, slot);
        scheme.counted.change(|counted| counted.renewals.groups += 1);
        let written = [written].into();
        Ok((Renewal { counters: slot, old, first: positions.start, end: positions.end, written }, new))
    }

    /// With a planted bug: changes a counter line, but leaves the copies in L2s. Returns `None` without the bug.
    async fn planted_edit<T>(&self, slot: Slot, change: impl Fn(&mut Line) -> T) -> Result<Option<T>, Fault> {
        if !self.scheme.planted.has(Bug::RenewalLeavesCopies) {
            return Ok(None);
        }
        self.scheme.metadata.get(self.verbs, slot, Role::Counter).await?;
        Ok(self.scheme.metadata.on_chip(|chip| {
            let copies = chip.copies.take();
            let changed = chip.edit(Role::Counter, slot).map(change);
            chip.copies = copies;
            changed
        }))
    }

    /// The lines that a renewal re-encrypts: all lines of the group except those that `is_spared` names.
    pub fn renewed_lines(&self, renewal: &Renewal, is_spared: impl Fn(LineAddr) -> bool) -> Renewed {
        let (layout, planted) = (&self.scheme.layout, self.scheme.planted);
        let group = layout.role_and_index(renewal.counters).1;
        let concerned = |line: &LineAddr| !is_spared(*line) && line.0 < layout.data_lines();
        let skipped = planted.has(Bug::RenewalSkipsFirst).into();
        let mut positions = renewal.positions();
        positions.end -= usize::from(planted.has(Bug::RenewalSkipsLast));
        self.scheme.counters.lines(group, &positions).filter(concerned).skip(skipped).collect()
    }

    /// Splits lines into batches that share a tag line, so that the smallest tag cache fetches that line once.
    pub fn by_tag_line<'b>(&self, lines: &'b [LineAddr]) -> impl Iterator<Item = &'b [LineAddr]> + use<'b, V> {
        let each = self.scheme.layout.lines_per_tag_line();
        lines.chunk_by(move |one, next| one.0 / each == next.0 / each)
    }

    /// Re-encrypts the lines under one tag from their old versions to their new ones, as queue entries become free.
    async fn reencrypt(&self, lines: &[LineAddr], versions: (&Line, &Line)) -> Result<(), Fault> {
        let Some(&first) = lines.first() else { return Ok(()) };
        let slots: ArrayVec<Slot, GROUP_MAX> =
            lines.iter().map(|line| self.scheme.layout.data_slot(*line).slot()).collect();
        let access = DataAccess::new(self.scheme, self.verbs, first);
        self.verbs.in_places(&slots, self.reencrypt_in_places(access, versions)).await
    }

    async fn reencrypt_in_places(&self, access: DataAccess<'a, V>, (old, new): (&Line, &Line)) -> Result<(), Fault> {
        if self.scheme.layout.lines_per_tag() > 1 {
            return self.reencrypt_under_one_tag(&access, (old, new)).await;
        }
        let given = if self.scheme.planted.has(Bug::RenewalUnderOldCounter) { old } else { new };
        let version = self.scheme.version(given, access.line());
        match self.reopen(&access, old, None).await? {
            Some(plaintext) => Write::under(access, version, &plaintext).store(&Others::new()).await,
            None => Ok(()),
        }
    }

    /// Returns the plaintext of a line that has a separate tag, under its old version. Returns `None` if no program has
    /// written the line, or if it has its new version already.
    pub async fn reopen(
        &self,
        access: &DataAccess<'a, V>,
        old: &Line,
        new: Option<&Line>,
    ) -> Result<Option<Line>, Fault> {
        match LineBitmap::of(self.scheme, self.verbs, access.line()) {
            None => self.reopen_in(BitmapOrder::AS_IT_IS, access, old, new).await,
            Some(bitmap) => {
                Box::pin(bitmap.in_parallel(async |order| self.reopen_in(order, access, old, new).await)).await
            }
        }
    }

    async fn reopen_in(
        &self,
        order: BitmapOrder<'_>,
        access: &DataAccess<'a, V>,
        old: &Line,
        new: Option<&Line>,
    ) -> Result<Option<Line>, Fault> {
        let (scheme, verbs, codec) = (self.scheme, self.verbs, &self.scheme.codec);
        let pad = codec.work.begin_pad(verbs, false);
        scheme.counted.change(|counted| counted.renewals.lines += 1);
        let ((), arrivals) = access.arrive(access.fetch(Wanted::LINE), ready(Ok(()))).await?;
        if arrivals.stored.is_blank() {
            // A real machine has this memory traffic; the model has no content for the slot yet.
            verbs.store(access.at.slot(), Role::Data, arrivals.stored).await;
            return Ok(None);
        }
        if let Some(new) = new {
            let pad = codec.work.begin_pad(verbs, false);
            let (_, verdict) = codec.open(verbs, &arrivals.under(scheme, new, order), pad.into(), |_, _| ()).await;
            if verdict.is_ok() {
                return Ok(None);
            }
        }
        let (plaintext, verdict) = codec.open(verbs, &arrivals.under(scheme, old, order), pad.into(), |_, _| ()).await;
        if !scheme.planted.has(Bug::ReencryptionTrustsMemory) {
            verdict?;
        }
        Ok(Some(plaintext.bytes))
    }

    /// Checks the lines under the tag of this one, then re-encrypts them from their old versions to their new ones.
    async fn reencrypt_under_one_tag(
        &self,
        access: &DataAccess<'a, V>,
        (old, new): (&Line, &Line),
    ) -> Result<(), Fault> {
        let (scheme, verbs, codec) = (self.scheme, self.verbs, &self.scheme.codec);
        let ((), arrivals) = access.arrive(access.fetch(Wanted::LINE), ready(Ok(()))).await?;
        let mut stored = arrivals.all();
        scheme.counted.change(|counted| counted.renewals.lines += stored.len() as u64);
        arrivals.check_all(scheme, verbs, old).await?;
        let resealed = self.reseal(&mut stored, (old, new)).await;
        if let Some(first) = resealed.first() {
            let mut others = versioned(scheme, new, &stored);
            others.retain(|(at, ..)| *at != first.at);
            codec.spend_masks(verbs, first, &others);
            if let Some(tag) = codec.tag(verbs, first, &others).await {
                access.put_tag(tag).await?;
            }
        }
        // A real machine has the memory traffic of blank lines too; the model has no content for these lines yet.
        join_all(stored.iter().map(|(at, stored)| verbs.store(at.slot(), Role::Data, *stored))).await;
        Ok(())
    }

    /// Re-encrypts in place the lines that memory has. Returns them.
    async fn reseal(&self, stored: &mut Fetched, (old, new): (&Line, &Line)) -> Vec<Sealed> {
        let (scheme, verbs, codec) = (self.scheme, self.verbs, &self.scheme.codec);
        let there = stored.iter().filter(|(_, stored)| !stored.is_blank()).count();
        // In parallel, the units compute the blocks of the new tag that need only the counter of the first line.
        let lines = (0..there).map(|_| codec.work.to_reseal(verbs));
        let tag = async {
            if there > 0 {
                codec.work.to_tag_early(verbs).await;
            }
        };
        join!(join_all(lines), tag);
        let reseal = |(at, stored): &mut (DataSlot, Untrusted)| {
            let plaintext = codec.decrypt(*at, scheme.version(old, at.line()), stored);
            let sealed = codec.encrypt(*at, scheme.version(new, at.line()), Bitmap::NONE, &plaintext);
            if !scheme.planted.has(Bug::GroupedRenewalUnspent) {
                codec.spend_pad(verbs, &sealed);
            }
            *stored = sealed.ciphertext.into();
            sealed
        };
        stored.iter_mut().filter(|(_, stored)| !stored.is_blank()).map(reseal).collect()
    }
}
