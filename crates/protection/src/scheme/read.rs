//! A line on its way to the chip: what is fetched for it, and how it is checked and opened.

use super::eager::{Begun, Found};
use super::early::Early;
use super::grouped::{Fetched, Others};
use super::{Release, Scheme};
use crate::counter::Counter;
use crate::mac::{self, Mac};
use crate::metadata::{FoundIn, Sought};
use crate::ownership::Asker;
use crate::placement::DataSlot;
use crate::planted::Bug;
use crate::slot::Kind;
use crate::tree::Node;
use crate::verbs::{AesUnits, Cache, Exit, Fault, Known, Plaintext, Role, Slot, Untrusted, Verbs};
use sim::join;
use sim::lock::Mode;
use std::cell::Cell;
use std::future::Future;
use units::{Line, LineAddr, ZERO_LINE};

/// A line as memory returned it, with what it is to be checked against.
pub(super) struct Arrived {
    pub at: DataSlot,
    pub counter: Counter,
    pub stored: Untrusted,
    pub tag: u64,
    /// The other lines under its tag.
    pub others: Others,
}

/// The line of counters that counts for a line, and who goes on with it.
struct Versions<'a, P> {
    counters: Line,
    /// Where they were found, if there are counters.
    found: Option<FoundIn>,
    /// The controller's pad, under way.
    pad: Option<P>,
    /// The L2's read, if that pads.
    in_private: Option<&'a Begun>,
}

impl Scheme {
    /// Reads a line that the controller was asked for, which an L2 may have begun, and fetched `early` on a prediction.
    pub(super) async fn try_read<V: Verbs>(
        &self,
        verbs: &V,
        line: LineAddr,
        asker: Asker,
        begun: Option<&Begun>,
        early: &Early,
    ) -> Result<(), Fault> {
        verbs.come_in().await;
        let _line = self.lock_line(verbs, line).await;
        self.admit(verbs, line, asker).await?;
        let _group = self.lock_group(verbs, line, Mode::Shared).await;
        self.boot_unchecked(verbs, line).await?;
        if self.release == Release::Speculative {
            return self.read_ahead(verbs, line, early).await;
        }
        if !self.counters.exist() && self.mac.is_none() {
            return self.read_alone(verbs, line, early).await;
        }
        // What changes from now on changes nothing about this line's counter.
        let begun = begun.filter(|begun| !begun.is_void() || self.planted.has(Bug::VoidCountersServe));
        let (stored, versions, (tag, others)) =
            join!(self.ciphertext(verbs, line, early), self.versions(verbs, line, begun), self.beside(verbs, line));
        let (Versions { counters, found, pad, in_private }, tag) = (versions?, tag?);
        let mut arrived = Arrived {
            at: self.layout.data_slot(line),
            counter: self.version(&counters, line),
            stored,
            tag: self.tag_with(&stored, tag),
            others: self.others_under(&counters, &others),
        };
        self.boot(verbs, &mut arrived).await?;
        match in_private {
            Some(begun) => self.open_in_private(verbs, &arrived, begun).await?,
            None => verbs.release(line, self.check_and_open(verbs, &arrived, pad).await?, Exit::Controller),
        }
        self.count(|counted| found.into_iter().for_each(|place| counted.counters_found.count(place)));
        Ok(())
    }

    /// Reads a line that has neither a counter nor a tag: nothing else is waited for.
    async fn read_alone<V: Verbs>(&self, verbs: &V, line: LineAddr, early: &Early) -> Result<(), Fault> {
        let stored = self.ciphertext(verbs, line, early).await;
        let at = self.layout.data_slot(line);
        let mut arrived = Arrived { at, counter: Counter::default(), stored, tag: 0, others: Others::new() };
        self.boot(verbs, &mut arrived).await?;
        self.pad_whole(verbs).await;
        let bytes = self.cipher.open(at, arrived.counter, &arrived.stored.examine());
        verbs.release(line, Plaintext { bytes, verified: false }, Exit::Controller);
        Ok(())
    }

    /// The line of counters that counts for a line, from the L2 that began the read if that has it.
    async fn versions<'a, V: Verbs>(
        &self,
        verbs: &'a V,
        line: LineAddr,
        begun: Option<&'a Begun>,
    ) -> Result<Versions<'a, impl Future<Output = ()> + use<'a, V>>, Fault> {
        let nothing = Versions { counters: ZERO_LINE, found: None, pad: None, in_private: None };
        let Some(slot) = self.counter_slot(line) else { return Ok(nothing) };
        let sought = match begun {
            None => Sought::Nowhere,
            Some(begun) => match join!(begun.found(), verbs.look_up(Cache::Controller(Role::Counter))).0 {
                Found::Counters(counters, place) => {
                    return Ok(Versions { counters, found: Some(place), in_private: Some(begun), ..nothing });
                }
                Found::Nothing => Sought::Everywhere,
                Found::LeftToController => Sought::InItsCache,
            },
        };
        self.counters_and_pad(verbs, slot, sought).await
    }

    /// A line of counters and, where the mode works ahead, the pad of its line under way: begun when the counters were
    /// there, while they were still being verified.
    async fn counters_and_pad<'a, V: Verbs>(
        &self,
        verbs: &'a V,
        slot: Slot,
        sought: Sought,
    ) -> Result<Versions<'a, impl Future<Output = ()> + use<'a, V>>, Fault> {
        let pad = Cell::new(None);
        let begin = |_: &Line| pad.set(self.pad_ahead(verbs));
        let (counters, place) = self.counters_for(verbs, slot, sought, begin).await?;
        Ok(Versions { counters, found: Some(place), pad: pad.take(), in_private: None })
    }

    /// A line of counters for a read of data, and where it was found.
    pub(super) async fn counters_for<V: Verbs>(
        &self,
        verbs: &V,
        slot: Slot,
        sought: Sought,
        start: impl Fn(&Line),
    ) -> Result<(Line, FoundIn), Fault> {
        let found = self.metadata.get_for(verbs, slot, Role::Counter, sought, start).await?;
        let looked_up =
            self.metadata.goes_on(Role::Counter) && found.1 != FoundIn::Controller && sought != Sought::Everywhere;
        self.count(|counted| counted.counters_found.looked_up_in_last_level += u64::from(looked_up));
        Ok(found)
    }

    /// Begins the pad of a line, if the mode works ahead of the ciphertext.
    pub(super) fn pad_ahead<'a, V: Verbs>(&self, verbs: &'a V) -> Option<impl Future<Output = ()> + use<'a, V>> {
        self.cipher.works_ahead().then(|| self.pad(verbs))
    }

    /// The pad of a line whose line of counters is there, and the mask of its tag: its counter is decoded first.
    pub(super) fn pad<'a, V: Verbs>(&self, verbs: &'a V) -> impl Future<Output = ()> + use<'a, V> {
        verbs.pad(AesUnits::Controller, self.blocks(), self.decode(verbs))
    }

    /// AES blocks that a line takes: those of its encryption, and that of its tag's mask (EMCC, section V: five).
    pub(super) fn blocks(&self) -> u32 {
        self.cipher.blocks() + self.mac.as_ref().map_or(0, Mac::mask_blocks)
    }

    /// Decodes a line of counters, if the organisation asks for it.
    pub(super) fn decode<V: Verbs>(&self, verbs: &V) -> Known {
        if self.counters.are_coded() { verbs.decode() } else { Known::default() }
    }

    /// Waits for the pad that is under way, or for the whole of one.
    pub(super) async fn padded<V: Verbs>(&self, verbs: &V, pad: Option<impl Future<Output = ()>>) {
        match pad {
            Some(pad) => pad.await,
            None => self.pad_whole(verbs).await,
        }
    }

    /// Waits for all AES blocks of a line, if it takes any.
    pub(super) async fn pad_whole<V: Verbs>(&self, verbs: &V) {
        if self.blocks() > 0 {
            self.pad(verbs).await;
        }
    }

    /// What a line is checked with, beside its counter: its tag from the region of tags, and the other lines under it.
    pub(super) async fn beside<V: Verbs>(&self, verbs: &V, line: LineAddr) -> (Result<u64, Fault>, Fetched) {
        if self.layout.lines_per_tag() == 1 {
            return (self.stored_tag(verbs, line).await, Fetched::new());
        }
        join!(self.stored_tag(verbs, line), self.fetch_others(verbs, line))
    }

    /// The tag of a line in the region of tags, if there is one.
    pub(super) async fn stored_tag<V: Verbs>(&self, verbs: &V, line: LineAddr) -> Result<u64, Fault> {
        match (&self.mac, self.tag_slot(line)) {
            (Some(mac), Some(slot)) => {
                let tags = self.metadata.get(verbs, slot, Role::Tag).await?;
                Ok(mac::entry(&tags, mac.entry_of(line).1))
            }
            _ => Ok(0),
        }
    }

    /// The tag that came with a line, if tags do; else the one from the region of tags.
    pub(super) fn tag_with(&self, stored: &Untrusted, in_region: u64) -> u64 {
        if self.mac.as_ref().is_some_and(Mac::travels) { stored.beside() } else { in_region }
    }

    /// Verifies and decrypts what was fetched, both at once unless the tag is over the plaintext. A mode that works ahead
    /// has its pad under way.
    pub(super) async fn check_and_open<V: Verbs>(
        &self,
        verbs: &V,
        arrived: &Arrived,
        pad: Option<impl Future<Output = ()>>,
    ) -> Result<Plaintext, Fault> {
        let Arrived { at, counter, ref stored, .. } = *arrived;
        let ciphertext = stored.examine();
        let open = async {
            self.padded(verbs, pad).await;
            Plaintext { bytes: self.cipher.open(at, counter, &ciphertext), verified: self.mac.is_some() }
        };
        let (plaintext, verdict) = if self.mac.as_ref().is_some_and(Mac::covers_plaintext) {
            let plaintext = open.await;
            (plaintext, self.check(verbs, arrived, &plaintext.bytes).await)
        } else {
            join!(open, self.check(verbs, arrived, &ciphertext))
        };
        if self.planted.has(Bug::ReleaseBeforeVerdict) && verdict.is_err() {
            verbs.release(at.line(), plaintext, Exit::Controller);
        }
        verdict.map(|()| plaintext)
    }

    /// Compares the tag of `text` with the stored one, if there are tags.
    pub(super) async fn check<V: Verbs>(&self, verbs: &V, arrived: &Arrived, text: &Line) -> Result<(), Fault> {
        let Some(mac) = &self.mac else { return Ok(()) };
        let computed = self.compute_tag(verbs, mac, (arrived.at, arrived.counter, text), &arrived.others).await;
        let blank_passes = self.planted.has(Bug::BlankLinePasses) && arrived.stored.examine() == ZERO_LINE;
        if mac.fits(arrived.tag, computed) || blank_passes { Ok(()) } else { Err(Fault::Tag(arrived.at.line())) }
    }

    /// The counter of a line in its line of counters.
    pub(super) fn version(&self, counters: &Line, line: LineAddr) -> Counter {
        self.counters.read(counters, self.counters.position(line))
    }

    /// The slots that a read of a line fetches now: the metadata that is not on the chip, and last the line itself.
    pub fn fetched_for(&self, line: LineAddr) -> Vec<Slot> {
        let mut slots = Vec::new();
        for leaf in [self.tag_slot(line), self.counter_slot(line)] {
            let mut missing = leaf;
            while let Some(slot) = missing.filter(|slot| !self.is_on_chip(*slot) && !slots.contains(slot)) {
                slots.push(slot);
                missing = match self.metadata.parent(slot).map(|parent| parent.node) {
                    Some(Node::Stored(above)) => Some(above),
                    Some(Node::Root(_)) | None => None,
                };
            }
        }
        slots.push(self.layout.data_slot(line).slot());
        slots
    }

    fn is_on_chip(&self, slot: Slot) -> bool {
        let role = self.layout.place(slot).0;
        self.metadata.on_chip(|chip| chip.peek(role, slot).is_some() || chip.forest.is_root(Node::Stored(slot)))
    }

    /// The slot of a line's counter, if there are counters.
    pub fn counter_slot(&self, line: LineAddr) -> Option<Slot> {
        self.layout.region(Kind::Counters).map(|region| region.slot(self.counters.group(line)))
    }

    /// The slot of a line's tag, if there is a region of tags.
    pub fn tag_slot(&self, line: LineAddr) -> Option<Slot> {
        let entry = self.mac.as_ref().map(|mac| mac.entry_of(line));
        self.layout.region(Kind::Tags).zip(entry).map(|(region, (index, _))| region.slot(index))
    }
}
