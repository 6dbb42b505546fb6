//! After an overflow: lines get new counters, and are encrypted again under them.
//!
//! The counters move on first. If tampering stops the re-encryption half-way, the rest of the lines is lost, but no later
//! attempt uses the new pads again. What memory returns is checked under the old counters: otherwise a forgery would get a
//! valid tag.
//!
//! A machine may let few groups be renewed at once, and leave their lines few places in the memory's queue.
//! Renewals in tuples, which become durable one after the other, are under neither rule.

use super::Scheme;
use super::grouped::Others;
use super::read::Arrived;
use crate::counter::{Counter, Overflow};
use crate::domain::Renewal;
use crate::mac;
use crate::planted::Bug;
use crate::verbs::{Fault, Role, Slot, Verbs, Wanted};
use arrayvec::ArrayVec;
use sim::{join, join_all};
use units::{Line, LineAddr};

/// The lines of a renewal: a line of counters has no more.
pub(super) type Renewed = ArrayVec<LineAddr, 128>;

impl Scheme {
    /// Renews the group of the line about to be written, whose counter has overflowed, and encrypts the other lines again.
    pub(super) async fn renew_group<V: Verbs>(
        &self,
        verbs: &V,
        slot: Slot,
        written: LineAddr,
        overflow: &Overflow,
    ) -> Result<Counter, Fault> {
        verbs.renewing(self.renew_and_reencrypt(verbs, slot, written, overflow)).await
    }

    async fn renew_and_reencrypt<V: Verbs>(
        &self,
        verbs: &V,
        slot: Slot,
        written: LineAddr,
        overflow: &Overflow,
    ) -> Result<Counter, Fault> {
        let (renewal, new) = self.renew_counters(verbs, slot, written, overflow).await?;
        let under_a_tag = self.layout.lines_per_tag();
        let lines = self.renewed_lines(&renewal, (under_a_tag == 1).then_some(written));
        for batch in self.by_line_of_tags(&lines) {
            let parts = batch.chunk_by(|one, next| one.0 / under_a_tag == next.0 / under_a_tag);
            let parts = parts.map(|lines| self.reencrypt(verbs, lines, (&renewal.old, &new)));
            join_all(parts).await.into_iter().collect::<Result<(), Fault>>()?;
        }
        Ok(self.version(&new, written))
    }

    /// Gives the lines concerned new counters on the chip. Returns what is to be done, and the new line of counters.
    pub(super) async fn renew_counters<V: Verbs>(
        &self,
        verbs: &V,
        slot: Slot,
        written: LineAddr,
        overflow: &Overflow,
    ) -> Result<(Renewal, Line), Fault> {
        let Overflow::Renew { positions } = overflow else { return Err(Fault::Exhausted(written)) };
        let drawn = self.draws.borrow_mut().word();
        let drawn = if self.planted.has(Bug::DrawsRepeat) { 1 } else { drawn };
        let renew = |counters: &mut Line| {
            let old = *counters;
            *counters = self.counters.renew(&old, self.counters.position(written), overflow, drawn);
            (old, *counters)
        };
        let (old, new) = self.metadata.edit(verbs, slot, Role::Counter, renew).await?;
        self.count(|counted| counted.renewals.groups += 1);
        Ok((Renewal { counters: slot, old, first: positions.start, end: positions.end, written }, new))
    }

    /// The lines that a renewal encrypts again: all but the one that is written with the new counters.
    pub(super) fn renewed_lines(&self, renewal: &Renewal, written: Option<LineAddr>) -> Renewed {
        let group = self.layout.place(renewal.counters).1;
        let concerned = |line: &LineAddr| Some(*line) != written && line.0 < self.layout.data_lines();
        let skipped = self.planted.has(Bug::RenewalSkipsFirst).into();
        let mut positions = renewal.positions();
        positions.end -= usize::from(self.planted.has(Bug::RenewalSkipsLast));
        self.counters.lines(group, &positions).filter(concerned).skip(skipped).collect()
    }

    /// Moves the lines under one tag from their old versions to their new ones, as places in the queue are free.
    async fn reencrypt<V: Verbs>(&self, verbs: &V, lines: &[LineAddr], versions: (&Line, &Line)) -> Result<(), Fault> {
        let slots: ArrayVec<Slot, 4> = lines.iter().map(|line| self.layout.data_slot(*line).slot()).collect();
        verbs.in_places(&slots, self.reencrypt_in_places(verbs, lines, versions)).await
    }

    async fn reencrypt_in_places<V: Verbs>(
        &self,
        verbs: &V,
        lines: &[LineAddr],
        (old, new): (&Line, &Line),
    ) -> Result<(), Fault> {
        let line = match lines {
            [line] if self.layout.lines_per_tag() == 1 => *line,
            lines => return self.reencrypt_grouped(verbs, lines, (old, new)).await,
        };
        let version = self.version(if self.planted.has(Bug::RenewalUnderOldCounter) { old } else { new }, line);
        let at = self.layout.data_slot(line);
        match self.reopen(verbs, line, old, None).await? {
            Some(plaintext) => self.seal_and_store(verbs, at, version, &plaintext, &Others::new()).await,
            None => Ok(()),
        }
    }

    /// The plaintext of a line with a tag of its own under its old version; nothing if it was never written, or has its new
    /// version already.
    pub(super) async fn reopen<V: Verbs>(
        &self,
        verbs: &V,
        line: LineAddr,
        old: &Line,
        new: Option<&Line>,
    ) -> Result<Option<Line>, Fault> {
        let at = self.layout.data_slot(line);
        let pad = self.pad_ahead(verbs);
        self.count(|counted| counted.renewals.lines += 1);
        let (stored, tag) = join!(verbs.fetch(at.slot(), Role::Data, Wanted::Line), self.stored_tag(verbs, line));
        if stored.is_blank() {
            // The traffic is real, the content is not there yet.
            verbs.store(at.slot(), Role::Data, stored).await;
            return Ok(None);
        }
        let tag = self.tag_with(&stored, tag?);
        let under = |counter| Arrived { at, counter, stored, tag, others: Others::new() };
        if let Some(new) = new
            && self.vouched_for(verbs, &under(self.version(new, line))).await
        {
            return Ok(None);
        }
        let old = under(self.version(old, line));
        if self.planted.has(Bug::ReencryptionTrustsMemory) {
            return Ok(Some(self.cipher.open(at, old.counter, &stored.examine())));
        }
        let plaintext = self.check_and_open(verbs, &old, pad).await?;
        Ok(Some(plaintext.bytes))
    }

    /// Whether the tag vouches for what memory returned, under this version.
    async fn vouched_for<V: Verbs>(&self, verbs: &V, arrived: &Arrived) -> bool {
        let pad = self.pad_ahead(verbs);
        self.check_and_open(verbs, arrived, pad).await.is_ok()
    }

    /// At the same time go those lines whose tags lie in one line, so that the smallest cache of tags fetches it once.
    pub(super) fn by_line_of_tags<'a>(&self, lines: &'a [LineAddr]) -> impl Iterator<Item = &'a [LineAddr]> + use<'a> {
        let each = self.layout.lines_per_tag() * mac::TAGS_PER_LINE;
        lines.chunk_by(move |one, next| one.0 / each == next.0 / each)
    }
}
