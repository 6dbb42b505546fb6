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
//! When counters overflow, all lines under a tag move on together, the one about to be written too: its new version is the
//! one after.

use super::Scheme;
use super::read::Arrived;
use crate::counter::Counter;
use crate::mac::Mac;
use crate::media::Media;
use crate::planted::Bug;
use crate::verbs::{Fault, LockName, Role, Untrusted, Verbs};
use sim::lock::Mode;
use sim::{join, join_all};
use units::{Line, LineAddr, ZERO_LINE};

/// The other lines under a line's tag: their versions and their ciphertexts.
pub(super) type Others = Vec<(LineAddr, Counter, Line)>;
/// The same as memory returned them.
pub(super) type Fetched = Vec<(LineAddr, Untrusted)>;

/// What a write goes on with: the line's new version, the lock of its group, and the other lines under its tag.
pub(super) type Version<'a, V> = (Counter, Option<<V as Verbs>::Guard<'a>>, Others);

impl Scheme {
    /// The lines under the tag of a line, itself among them.
    pub(super) fn under_one_tag(&self, line: LineAddr) -> impl Iterator<Item = LineAddr> + use<> {
        let lines = self.layout.lines_per_tag();
        let first = line.0 / lines * lines;
        (first..(first + lines).min(self.layout.data_lines())).map(LineAddr)
    }

    /// Locks a line, and with it those under the same tag.
    pub(super) async fn lock_line<'a, V: Verbs>(&self, verbs: &'a V, line: LineAddr) -> V::Guard<'a> {
        let lines = self.layout.lines_per_tag();
        verbs.lock(LockName::Line(LineAddr(line.0 / lines * lines)), Mode::Exclusive).await
    }

    /// Fetches the other lines under a line's tag.
    pub(super) async fn fetch_others<V: Verbs>(&self, verbs: &V, line: LineAddr) -> Fetched {
        let others = self.under_one_tag(line).filter(|other| *other != line);
        let fetch = async |other| (other, verbs.fetch(self.layout.data_slot(other), Role::Data).await);
        join_all(others.map(fetch)).await.into_iter().collect()
    }

    /// The other lines with their versions.
    pub(super) fn others_under(&self, counters: &Line, fetched: &Fetched) -> Others {
        fetched.iter().map(|(line, stored)| (*line, self.version(counters, *line), stored.examine())).collect()
    }

    /// The tag of a line and of those under the same tag.
    pub(super) async fn compute_tag<V: Verbs>(
        &self,
        verbs: &V,
        mac: &Mac,
        (line, counter, text): (LineAddr, Counter, &Line),
        others: &[(LineAddr, Counter, Line)],
    ) -> u64 {
        if others.is_empty() {
            mac.foresee(line, counter, text);
            verbs.mac().await;
            return mac.tag(line, counter, text);
        }
        let place = others.partition_point(|(other, ..)| *other < line);
        let mut lines = others.to_vec();
        lines.insert(place, (line, counter, *text));
        join_all(lines.iter().map(|_| verbs.mac())).await;
        mac.tag_of_group(&lines)
    }

    /// The tag of what memory holds under a line's tag, without time; nothing if it holds nothing.
    pub(super) fn tag_of_stored(&self, media: &Media, mac: &Mac, line: LineAddr) -> Option<u64> {
        let slot = |line| self.layout.data_slot(line);
        if self.under_one_tag(line).all(|line| media.is_blank(slot(line))) {
            return None;
        }
        let content = |line| (line, self.counter_without_asking(media, line), media.read(slot(line)).examine());
        let lines: Vec<(LineAddr, Counter, Line)> = self.under_one_tag(line).map(content).collect();
        Some(match lines.as_slice() {
            [(line, counter, text)] => mac.tag(*line, *counter, text),
            lines => mac.tag_of_group(lines),
        })
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
            match self.edit_metadata(verbs, slot, Role::Counter, advance).await? {
                Ok(counter) => return Ok((counter, group, others)),
                Err(overflow) if mode == Mode::Exclusive => {
                    self.renew_group(verbs, slot, line, &overflow).await?;
                }
                Err(_) => mode = Mode::Exclusive,
            }
        }
    }

    /// The other lines under the tag of a line about to be written, all checked as they lie in memory.
    async fn checked_others<V: Verbs>(&self, verbs: &V, line: LineAddr) -> Result<Others, Fault> {
        let counters = async {
            match self.counter_slot(line) {
                Some(slot) => self.metadata(verbs, slot, Role::Counter).await,
                None => Ok(ZERO_LINE),
            }
        };
        let metadata = async { join!(counters, self.stored_tag(verbs, line)) };
        let fetch = verbs.fetch(self.layout.data_slot(line), Role::Data);
        let (stored, fetched, (counters, tag)) = join!(fetch, self.fetch_others(verbs, line), metadata);
        let (counters, tag) = (counters?, tag?);
        // Where nothing was ever written there is no tag yet; the work is the same.
        let blank = stored.is_blank() && fetched.iter().all(|(_, stored)| stored.is_blank());
        let others = self.others_under(&counters, &fetched);
        let arrived = Arrived { line, counter: self.version(&counters, line), stored, tag, others };
        let checked = self.check(verbs, &arrived, &stored.examine()).await;
        if !blank && !self.planted.has(Bug::OthersUnchecked) {
            checked?;
        }
        Ok(arrived.others)
    }

    /// Moves all lines under one tag from their old versions to their new ones, after they were checked.
    pub(super) async fn reencrypt_grouped<V: Verbs>(
        &self,
        verbs: &V,
        lines: &[LineAddr],
        (old, new): (&Line, &Line),
    ) -> Result<(), Fault> {
        let (Some(mac), Some(&first)) = (&self.mac, lines.first()) else { return Ok(()) };
        let slot = |line| self.layout.data_slot(line);
        self.count(|counted| counted.renewals.lines += lines.len() as u64);
        let fetches = join_all(lines.iter().map(|line| verbs.fetch(slot(*line), Role::Data)));
        let (mut stored, tag) = join!(fetches, self.stored_tag(verbs, first));
        let tag = tag?;
        let blank = stored.iter().all(Untrusted::is_blank);
        if !blank {
            let named = |counters: &Line, stored: &[Untrusted]| -> Others {
                let lines = lines.iter().zip(stored).skip(1);
                lines.map(|(line, stored)| (*line, self.version(counters, *line), stored.examine())).collect()
            };
            let counter = self.version(old, first);
            let arrived = Arrived { line: first, counter, stored: stored[0], tag, others: named(old, &stored) };
            self.check(verbs, &arrived, &stored[0].examine()).await?;
            // Once to open and once to seal.
            let pads = lines.iter().zip(&stored).filter(|(_, stored)| !stored.is_blank()).flat_map(|_| [0; 2]);
            join_all(pads.map(|_| self.pad(verbs))).await;
            for (line, stored) in lines.iter().zip(&mut stored).filter(|(_, stored)| !stored.is_blank()) {
                let plaintext = self.cipher.open(*line, self.version(old, *line), &stored.examine());
                let counter = self.version(new, *line);
                if let Some(nonce) = self.cipher.nonce(*line, counter) {
                    verbs.sealed(&nonce, &plaintext);
                }
                *stored = self.cipher.seal(*line, counter, &plaintext).into();
            }
            let text = (first, self.version(new, first), &stored[0].examine());
            let tag = self.compute_tag(verbs, mac, text, &named(new, &stored)).await;
            self.put_tag(verbs, first, tag).await?;
        }
        // Of blank lines the traffic is real, the content is not there yet.
        join_all(lines.iter().zip(&stored).map(|(line, stored)| verbs.store(slot(*line), Role::Data, *stored))).await;
        Ok(())
    }
}
