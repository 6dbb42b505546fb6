//! One access to a line of data: the steps that reads, writes and renewals share.
//!
//! It defines the locks of the access, and locates the line's counter, its tag and the other lines under its tag. An
//! access acquires locks upward only: the line (together with the lines under the same tag), its group, metadata from
//! leaf to root.

use super::FixedScheme;
use crate::codec::{Arrived, BitmapOrder, Others};
use crate::counter::{Counter, Overflow};
use crate::mac::StoredTag;
use crate::placement::DataSlot;
use crate::planted::Bug;
use crate::slot::{Role, Slot, Untrusted};
use crate::verbs::{Arriving, Beats, Fault, LockName, Verbs, Wanted};
use crypto::Tag;
use sim::lock::Mode;
use sim::{join, join_all};
use std::future::Future;
use units::{Line, LineAddr, Word};

/// The other lines under a line's tag, as memory returned them.
pub(super) type Fetched = Vec<(DataSlot, Untrusted)>;

/// A line as memory returned it, with its stored tag and the other lines under the tag.
pub(super) struct LineArrival {
    at: DataSlot,
    /// The word that the reader requested first.
    word: Word,
    /// The line as memory returned it.
    pub stored: Untrusted,
    /// Times at which the words of the line arrive.
    beats: Beats,
    /// Stored tag of the line; any value if the design has no MAC.
    tag: StoredTag,
    /// The other lines under the line's tag.
    pub others: Fetched,
}

/// An access to a line of data.
pub(super) struct DataAccess<'a, V> {
    pub scheme: &'a FixedScheme,
    pub verbs: &'a V,
    pub at: DataSlot,
    /// The word that the reader requests first.
    pub word: Word,
}

impl<V> Clone for DataAccess<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for DataAccess<'_, V> {}

impl<'a, V: Verbs> DataAccess<'a, V> {
    /// An access to this line.
    pub fn new(scheme: &'a FixedScheme, verbs: &'a V, line: LineAddr) -> DataAccess<'a, V> {
        DataAccess { scheme, verbs, at: scheme.layout.data_slot(line), word: Word::FIRST }
    }

    /// Address of the line.
    pub fn line(&self) -> LineAddr {
        self.at.line()
    }

    /// Locks the line, together with the lines under the same tag.
    pub async fn lock_line(&self) -> V::Guard<'a> {
        let alone = self.scheme.planted.has(Bug::GroupedLineLockedAlone);
        let lines = if alone { 1 } else { self.scheme.layout.lines_per_tag() };
        self.verbs.lock(LockName::Line(LineAddr(self.line().0 / lines * lines)), Mode::Exclusive).await
    }

    /// Locks the group of lines that share a counter line, if there are counters.
    pub async fn lock_group(&self, mode: Mode) -> Option<V::Guard<'a>> {
        let counters = &self.scheme.counters;
        if !counters.exist() {
            return None;
        }
        Some(self.verbs.lock(LockName::Group(counters.group(self.line())), mode).await)
    }

    /// Refuses to change memory on a chip that has halted and has power, or after recovery has refused the memory.
    pub fn refuse_if_halted(&self) -> Result<(), Fault> {
        match self.scheme.metadata.on_chip(|chip| (chip.power.changes_nothing(), chip.power.rootless)) {
            (true, _) => Err(Fault::Halted(self.line())),
            (_, true) => Err(Fault::Root),
            (false, false) => Ok(()),
        }
    }

    /// The slot of the line's counter, if there are counters.
    pub fn counter_slot(&self) -> Option<Slot> {
        self.scheme.counter_slot(self.line())
    }

    /// Advances the line's counter in this slot, unless the counter overflows or the chip has halted.
    pub async fn advance(&self, slot: Slot) -> Result<Result<Counter, Overflow>, Fault> {
        self.refuse_if_halted()?;
        let counters = &self.scheme.counters;
        let position = counters.position(self.line());
        let draw = || self.scheme.draws.borrow_mut().word();
        let advance = |line: &mut Line| counters.advance_drawing(line, position, draw);
        self.scheme.metadata.edit(self.verbs, slot, Role::Counter, advance).await
    }

    /// Puts the line's tag into the region of tags, and updates the nodes above at once if the tree is eager.
    pub async fn put_tag(&self, tag: Tag) -> Result<(), Fault> {
        let Some(slot) = self.scheme.tag_slot(self.line()) else { return Ok(()) };
        self.enter_tag(slot, tag).await?;
        self.scheme.metadata.raise(self.verbs, slot).await
    }

    /// Puts the line's tag into its entry on the chip.
    pub async fn enter_tag(&self, slot: Slot, tag: Tag) -> Result<(), Fault> {
        let Some(mac) = &self.scheme.codec.mac else { return Ok(()) };
        let (tag_layout, position) = (mac.tag_layout(), mac.tag_layout().entry_of(self.line()).1);
        let enter = |tags: &mut Line| tag_layout.set_entry(tags, position, tag);
        self.scheme.metadata.edit(self.verbs, slot, Role::Tag, enter).await
    }

    /// Updates the nodes above the line's counter at once, if the tree is eager.
    pub async fn raise_counter(&self) -> Result<(), Fault> {
        match self.counter_slot() {
            Some(slot) => self.scheme.metadata.raise(self.verbs, slot).await,
            None => Ok(()),
        }
    }

    /// Fetches all inputs for decryption and verification of the line in parallel. These are the line and its version,
    /// from the two futures, its tag, and the other lines under that tag. The bitmap may arrive later
    /// ([`LineBitmap::spare_bits`](super::bitmap)).
    pub async fn arrive<T>(
        &self,
        line: impl Future<Output = Arriving>,
        version: impl Future<Output = Result<T, Fault>>,
    ) -> Result<(T, LineArrival), Fault> {
        let with_version = async {
            // Boxed, since few accesses need it: inline, it would enlarge the future of each access.
            if self.scheme.layout.lines_per_tag() > 1 {
                let (tag, others) = Box::pin(async { join!(self.stored_tag(), self.fetch_others()) }).await;
                return Ok((tag?, others));
            }
            Ok((self.stored_tag().await?, Fetched::new()))
        };
        let (line, version, with_version) = join!(line, version, with_version);
        let (version, (tag, others)) = (version?, with_version?);
        let (tag, word) = (self.scheme.codec.tag_of(&line.content, tag), self.word);
        Ok((version, LineArrival { at: self.at, word, stored: line.content, beats: line.beats, tag, others }))
    }

    /// The tag of the line in the region of tags, if there is one.
    async fn stored_tag(&self) -> Result<StoredTag, Fault> {
        match (&self.scheme.codec.mac, self.scheme.tag_slot(self.line())) {
            (Some(mac), Some(slot)) => {
                let tags = self.scheme.metadata.get(self.verbs, slot, Role::Tag).await?;
                Ok(mac.tag_layout().entry(&tags, mac.tag_layout().entry_of(self.line()).1).into())
            }
            _ => Ok(StoredTag::NONE),
        }
    }

    /// Fetches the line from memory.
    pub async fn fetch(&self, wanted: Wanted) -> Arriving {
        self.verbs.fetch(self.at.slot(), Role::Data, wanted).await
    }

    /// Fetches the other lines under the line's tag.
    async fn fetch_others(&self) -> Fetched {
        let others = self.under_one_tag().filter(|other| *other != self.at);
        let fetch =
            async |other: DataSlot| (other, self.verbs.fetch(other.slot(), Role::Data, Wanted::LINE).await.content);
        join_all(others.map(fetch)).await.into_iter().collect()
    }

    /// The lines under the line's tag, including this line.
    fn under_one_tag(&self) -> impl Iterator<Item = DataSlot> + use<'a, V> {
        let layout = &self.scheme.layout;
        let lines = layout.lines_per_tag();
        let first = self.line().0 / lines * lines;
        (first..(first + lines).min(layout.data_lines())).map(|line| layout.data_slot(LineAddr(line)))
    }
}

impl LineArrival {
    /// The line with the version from these counters and with this order of its words, ready for verification.
    pub fn under<'o>(&self, scheme: &FixedScheme, counters: &Line, order: BitmapOrder<'o>) -> Arrived<'o> {
        let LineArrival { at, word, stored, beats, ref tag, ref others } = *self;
        let counter = scheme.version(counters, at.line());
        let (tag, others) = (tag.clone(), versioned(scheme, counters, others));
        Arrived { at, counter, order, word, stored, beats, tag, others }
    }

    /// All lines under the tag, in order.
    pub fn all(&self) -> Fetched {
        let mut all = self.others.clone();
        all.push((self.at, self.stored));
        all.sort_unstable_by_key(|(at, _)| *at);
        all
    }

    /// Compares the computed tag of all lines under the tag with the stored tag, under the versions in these counters.
    /// If memory holds no line under the tag yet, it holds no tag either.
    pub async fn check_all<V: Verbs>(&self, scheme: &FixedScheme, verbs: &V, counters: &Line) -> Result<(), Fault> {
        let all = self.all();
        if all.iter().all(|(_, stored)| stored.is_blank()) {
            return Ok(());
        }
        let lines = versioned(scheme, counters, &all);
        let Some((&(at, counter, text), others)) = lines.split_first() else { return Ok(()) };
        let line = Arrived::untagged(at, counter, text.into());
        let arrived = Arrived { tag: self.tag.clone(), others: others.to_vec(), ..line };
        let (early, check) = (scheme.codec.work.to_tag_early(verbs), scheme.codec.check(verbs, &arrived, &text));
        if scheme.codec.work.tag.is_some() {
            // A chain begins with the blocks that depend on the nonce only.
            early.await;
            return check.await;
        }
        join!(early, check).1
    }
}

/// The lines that memory has, with the versions that these counters give them.
pub(super) fn versioned(scheme: &FixedScheme, counters: &Line, lines: &[(DataSlot, Untrusted)]) -> Others {
    let even_blank = scheme.planted.has(Bug::TagOverBlankLines);
    let there = lines.iter().filter(|(_, stored)| !stored.is_blank() || even_blank);
    there.map(|(at, stored)| (*at, scheme.version(counters, at.line()), stored.examine())).collect()
}
