//! One tag over several lines: fewer tags, for which a line needs the others.
//!
//! ```text
//! read:   fetch the line and the others ─ compute the tag of all ─ compare ─ release the line
//! write:  fetch all ─ compute their tag ─ compare ─ counter + 1 ─ encrypt ─ the tag of all again ─ store line and tag
//! ```
//! A write checks what it finds before it changes anything: the new tag is over the others too, and a forgery among them
//! would get a valid one. The lines under one tag share one lock. They also share a line of counters, which
//! designs are checked for.
//!
//! A line that is not in memory yet is not under the tag: it comes under it when it is first written or read ([`super::boot`]).
//!
//! When counters overflow, all lines under a tag move on together, the one about to be written too: its new version is the
//! one after.

use super::Scheme;
use super::read::Arrived;
use crate::counter::Counter;
use crate::mac::{GROUP_MAX, Mac};
use crate::placement::DataSlot;
use crate::planted::Bug;
use crate::verbs::{AesUnits, Fault, Keystream, Known, LockName, LockVerbs, Role, Untrusted, Verbs, Wanted};
use arrayvec::ArrayVec;
use sim::lock::Mode;
use sim::{join, join_all};
use units::{Line, LineAddr, ZERO_LINE};

/// The other lines under a line's tag: their versions and their ciphertexts.
pub(super) type Others = Vec<(DataSlot, Counter, Line)>;
/// A line with its version and with what of it the tag is over.
pub(super) type Named<'a> = (DataSlot, Counter, &'a Line);
/// All lines under one tag, so named.
pub(super) type Tagged = ArrayVec<(DataSlot, Counter, Line), GROUP_MAX>;
/// The same as memory returned them.
pub(super) type Fetched = Vec<(DataSlot, Untrusted)>;

/// What a write goes on with: the line's new version, the lock of its group, and the other lines under its tag.
pub(super) type Version<'a, V> = (Counter, Option<<V as LockVerbs>::Guard<'a>>, Others);

impl Scheme {
    /// The lines under the tag of a line, itself among them.
    pub(super) fn under_one_tag(&self, line: LineAddr) -> impl Iterator<Item = DataSlot> + use<'_> {
        let lines = self.layout.lines_per_tag();
        let first = line.0 / lines * lines;
        (first..(first + lines).min(self.layout.data_lines())).map(|line| self.layout.data_slot(LineAddr(line)))
    }

    /// Locks a line, and with it those under the same tag.
    pub(super) async fn lock_line<'a, V: Verbs>(&self, verbs: &'a V, line: LineAddr) -> V::Guard<'a> {
        let lines = self.layout.lines_per_tag();
        verbs.lock(LockName::Line(LineAddr(line.0 / lines * lines)), Mode::Exclusive).await
    }

    /// Fetches the other lines under a line's tag.
    pub(super) async fn fetch_others<V: Verbs>(&self, verbs: &V, line: LineAddr) -> Fetched {
        let others = self.under_one_tag(line).filter(|other| other.line() != line);
        let fetch = async |other: DataSlot| (other, verbs.fetch(other.slot(), Role::Data, Wanted::Line).await);
        join_all(others.map(fetch)).await.into_iter().collect()
    }

    /// Those of the other lines that are in memory, with their versions.
    pub(super) fn others_under(&self, counters: &Line, fetched: &Fetched) -> Others {
        let there = fetched.iter().filter(|(_, stored)| !stored.is_blank() || self.planted.has(Bug::TagOverBlankLines));
        there.map(|(at, stored)| (*at, self.version(counters, at.line()), stored.examine())).collect()
    }

    /// The tag of a line and of those under the same tag.
    pub(super) async fn compute_tag<V: Verbs>(
        &self,
        verbs: &V,
        mac: &Mac,
        (at, counter, text): Named<'_>,
        others: &[(DataSlot, Counter, Line)],
    ) -> u64 {
        if others.is_empty() {
            mac.foresee(at, counter, text);
            verbs.mac().await;
            return mac.tag(at, counter, text);
        }
        let lines = among((at, counter, text), others);
        // The line's own mask is made with its pad.
        join!(self.masks(verbs, others.len()), join_all(lines.iter().map(|_| verbs.mac())));
        mac.tag_over(&lines)
    }

    /// Computes the new tag of a line and of those under the same tag, whose masks serve from now on.
    pub(super) async fn compute_new_tag<V: Verbs>(
        &self,
        verbs: &V,
        mac: &Mac,
        named: Named<'_>,
        others: &[(DataSlot, Counter, Line)],
    ) -> u64 {
        spend_masks(verbs, mac, named, others);
        self.compute_tag(verbs, mac, named, others).await
    }

    /// Moves the counter of a line on after all lines under its tag were checked, and keeps its group from being
    /// re-encrypted until the new version is in memory.
    pub(super) async fn next_version_of_grouped<'a, V: Verbs>(
        &self,
        verbs: &'a V,
        line: LineAddr,
    ) -> Result<Version<'a, V>, Fault> {
        let position = self.counters.position(line);
        let advance = |counters: &mut Line| self.counters.advance(counters, position);
        let mut mode = Mode::Shared;
        loop {
            let group = self.lock_group(verbs, line, mode).await;
            let others = self.checked_others(verbs, line).await?;
            let Some(slot) = self.counter_slot(line) else { return Ok((Counter::default(), group, others)) };
            match self.metadata.edit(verbs, slot, Role::Counter, advance).await? {
                Ok(counter) => return Ok((counter, group, others)),
                Err(overflow) if mode == Mode::Exclusive => {
                    self.renew_group(verbs, slot, line, &overflow).await?;
                }
                Err(_) => mode = Mode::Exclusive,
            }
        }
    }

    /// The other lines under the tag of a line about to be written that are in memory, all checked as they lie there.
    async fn checked_others<V: Verbs>(&self, verbs: &V, line: LineAddr) -> Result<Others, Fault> {
        let counters = async {
            match self.counter_slot(line) {
                Some(slot) => self.metadata.get(verbs, slot, Role::Counter).await,
                None => Ok(ZERO_LINE),
            }
        };
        let metadata = async { join!(counters, self.stored_tag(verbs, line)) };
        let at = self.layout.data_slot(line);
        let fetch = verbs.fetch(at.slot(), Role::Data, Wanted::Line);
        let (stored, mut fetched, (counters, tag)) = join!(fetch, self.fetch_others(verbs, line), metadata);
        let (counters, tag) = (counters?, tag?);
        let others = self.others_under(&counters, &fetched);
        fetched.push((at, stored));
        fetched.sort_unstable_by_key(|(at, _)| *at);
        let checked = self.check_under_one_tag(verbs, &counters, &fetched, tag).await;
        if !self.planted.has(Bug::OthersUnchecked) {
            checked?;
        }
        Ok(others)
    }

    /// Compares the tag of lines with the stored one; where none is in memory there is no tag yet.
    async fn check_under_one_tag<V: Verbs>(
        &self,
        verbs: &V,
        counters: &Line,
        fetched: &Fetched,
        tag: u64,
    ) -> Result<(), Fault> {
        if fetched.iter().all(|(_, stored)| stored.is_blank()) {
            return Ok(());
        }
        let lines = self.others_under(counters, fetched);
        let Some((&(at, counter, text), others)) = lines.split_first() else { return Ok(()) };
        let arrived = Arrived { at, counter, stored: text.into(), tag, others: others.to_vec() };
        join!(self.masks(verbs, 1), self.check(verbs, &arrived, &text)).1
    }

    /// Waits for the masks of so many lines, if tags have masks.
    async fn masks<V: Verbs>(&self, verbs: &V, lines: usize) {
        let each = self.mac.as_ref().map_or(0, Mac::mask_blocks);
        if each > 0 {
            verbs.pad(AesUnits::Controller, lines as u32 * each, Known::default()).await;
        }
    }

    /// Moves all lines under one tag from their old versions to their new ones, after they were checked.
    pub(super) async fn reencrypt_grouped<V: Verbs>(
        &self,
        verbs: &V,
        lines: &[LineAddr],
        (old, new): (&Line, &Line),
    ) -> Result<(), Fault> {
        let (Some(mac), Some(&first)) = (&self.mac, lines.first()) else { return Ok(()) };
        self.count(|counted| counted.renewals.lines += lines.len() as u64);
        let fetch = async |line: &LineAddr| {
            let at = self.layout.data_slot(*line);
            (at, verbs.fetch(at.slot(), Role::Data, Wanted::Line).await)
        };
        let (fetched, tag) = join!(join_all(lines.iter().map(fetch)), self.stored_tag(verbs, first));
        let (mut stored, tag): (Fetched, u64) = (fetched.into_iter().collect(), tag?);
        self.check_under_one_tag(verbs, old, &stored, tag).await?;
        let there = stored.iter().filter(|(_, stored)| !stored.is_blank()).count();
        // Once to open and once to seal; the mask for the new tag of the first.
        let pads = (0..2 * there).map(|_| verbs.pad(AesUnits::Controller, self.cipher.blocks(), self.decode(verbs)));
        join!(join_all(pads), self.masks(verbs, there.min(1)));
        for (at, stored) in stored.iter_mut().filter(|(_, stored)| !stored.is_blank()) {
            let plaintext = self.cipher.open(*at, self.version(old, at.line()), &stored.examine());
            *stored = self.encrypt(verbs, *at, self.version(new, at.line()), &plaintext).into();
        }
        if let (1.., Some(((at, counter, text), others))) = (there, self.others_under(new, &stored).split_first()) {
            let tag = self.compute_new_tag(verbs, mac, (*at, *counter, text), others).await;
            self.put_tag(verbs, first, tag).await?;
        }
        // Of blank lines the traffic is real, the content is not there yet.
        join_all(stored.iter().map(|(at, stored)| verbs.store(at.slot(), Role::Data, *stored))).await;
        Ok(())
    }
}

/// A line among others under the same tag, in order.
pub(super) fn among((at, counter, text): Named<'_>, others: &[(DataSlot, Counter, Line)]) -> Tagged {
    let place = others.partition_point(|(other, ..)| *other < at);
    let (below, above) = others.split_at(place);
    below.iter().copied().chain([(at, counter, *text)]).chain(above.iter().copied()).collect()
}

/// Notes the masks of a new tag over a line and others.
pub(super) fn spend_masks<V: Verbs>(verbs: &V, mac: &Mac, named: Named<'_>, others: &[(DataSlot, Counter, Line)]) {
    verbs.spend(named.0.slot(), || mac.masks(&among(named, others)).map(Keystream::Masks));
}
