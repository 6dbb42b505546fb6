//! Writes that outlive a loss of power: data, counters, tags and root become durable as one, in order.
//!
//! ```text
//! stage 0:     counters + 1 ─┬─ encrypt, tag ─────────────────────────────────────┐
//! stage 1...:                └─ update level 0 ─ update level 1 ─ ... ─ the root ─┴─ persist all ─ fence ─ complete
//! ```
//! This is PLP's write (Freij et al., MICRO 2020). A *tuple* consists of the lines of data that become durable
//! together, with their counter and tag lines. The nodes of the tree need not be durable, since recovery computes
//! them from the counters. When a write returns, its tuple is complete. Tuples complete in the order of their writes'
//! arrival.
//!
//! A stage belongs to one tuple at a time. In *strict* order, a tuple keeps all stages until it is complete. In
//! *pipelined* order, it leaves a stage as soon as it has entered the next one, so that later tuples follow one level
//! behind. A tuple therefore keeps copies of the lines that it changed, since the next tuple may already have changed
//! the lines on the chip. In *coalesced* order, the tuple of the first waiting write includes the later writes, and
//! updates a node above several of their lines once.
//!
//! When counters overflow, the tuple with the new counters also records the old counters and the written line in a
//! register. Then the other lines of the group are re-encrypted; lines with the same tag line form one tuple. After
//! a loss of power, `recover` continues after the last complete tuple.
//!
//! If tampering stops a tuple *after* its counters have advanced, the chip is ahead of the durable state. A line encrypted
//! under one of these counters would show a pad that is used again after a loss of power. Counters or nodes written to
//! memory would not match the register. So the chip *halts*: it still reads memory, but does not change it until power
//! returns and recovery begins with the durable state. A write that fails earlier changes no counter and stops no other.

use super::gathering::GatheredWrite;
use super::{Write, await_verdicts};
use crate::buffer::BufferEntry;
use crate::codec::{Others, Sealed};
use crate::counter::Overflow;
use crate::domain::{RegisterUpdate, Renewal, Renewing};
use crate::meetings::{self, Mechanism};
use crate::metadata::Lines;
use crate::planted::{Bug, SessionBug};
use crate::scheme::access::DataAccess;
use crate::scheme::renew::Renewer;
use crate::scheme::{FixedScheme, under_way};
use crate::slot::{Part, Role, Slot, Untrusted};
use crate::stages::Stages;
use crate::verbs::{Fault, LockName, Verbs};
use crypto::Tag;
use sim::lock::Mode;
use sim::{join, join_all};
use units::{Line, LineAddr, ZERO_LINE};

/// Lines that a renewal may have re-encrypted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::scheme) enum RenewalProgress {
    /// Only the line that was written with the new counters.
    None,
    /// Any lines of the group, since power has failed.
    Unknown,
}

/// A tuple under way.
pub(in crate::scheme) struct Tuple<'a, V: Verbs> {
    pub(super) scheme: &'a FixedScheme,
    pub(super) verbs: &'a V,
    pub(super) stages: Stages<'a, V>,
}

impl<'a, V: Verbs> Tuple<'a, V> {
    /// A tuple that holds no stage yet.
    pub fn new(scheme: &'a FixedScheme, verbs: &'a V) -> Tuple<'a, V> {
        Tuple { scheme, verbs, stages: Stages::new(scheme.persistence.hands_over()) }
    }

    /// Writes a line; it is durable when this returns. Requests the first stage and the line's lock at once. So no
    /// later write, and no later read of the line, overtakes a write that waits for its line.
    pub async fn write(mut self, line: LineAddr, plaintext: &Line) -> Result<(), Fault> {
        let (scheme, verbs) = (self.scheme, self.verbs);
        let (ready, fate) = scheme.pending.gathering.borrow_mut().enter(line, plaintext);
        let own_line = async {
            let guard = verbs.lock(LockName::Line(line), Mode::Exclusive).await;
            ready.set(true);
            guard
        };
        let (_, _line) = join!(self.stages.enter(verbs, 0), own_line);
        if let Some(taken_along) = fate.get() {
            return taken_along;
        }
        let batch = scheme.pending.gathering.borrow_mut().take(scheme.persistence.lines_at_once(), scheme.planted);
        self.persist_batch(&batch).await;
        fate.get().unwrap_or(Err(Fault::Halted(line)))
    }

    /// Makes lines durable, and sets the outcome of each write.
    async fn persist_batch(mut self, batch: &[GatheredWrite]) {
        let (mut begun, mut groups) = (Vec::new(), Vec::new());
        let Some(first) = batch.first() else { return };
        if let Err(fault) = await_verdicts(self.scheme, self.verbs, first.line).await {
            return batch.iter().for_each(|waiting| waiting.ends(Err(fault)));
        }
        for waiting in batch {
            let access = DataAccess::new(self.scheme, self.verbs, waiting.line);
            let Some(slot) = access.counter_slot() else { continue };
            groups.push(access.lock_group(Mode::Shared).await);
            match access.advance(slot).await {
                Ok(Ok(counter)) => begun.push((waiting, Write::under(access, counter, &waiting.plaintext))),
                Ok(Err(overflow)) => {
                    // Earlier writes of the batch complete first. This one keeps its stages until its group is renewed, as in
                    // strict order: the paper does not describe overflows.
                    self.stages.hand_over = false;
                    self.persist_begun(std::mem::take(&mut begun)).await;
                    groups.clear();
                    waiting.ends(self.persist_and_renew(access, slot, &waiting.plaintext, &overflow).await);
                }
                Err(fault) => waiting.ends(Err(fault)),
            }
        }
        self.persist_begun(begun).await;
    }

    /// Makes lines with advanced counters durable.
    async fn persist_begun(&mut self, begun: Vec<(&GatheredWrite, Write<'a, V>)>) {
        let (waiting, writes): (Vec<&GatheredWrite>, Vec<Write<'a, V>>) = begun.into_iter().unzip();
        let outcome = self.persist_lines(&writes, None).await;
        waiting.iter().for_each(|waiting| waiting.ends(outcome));
    }

    /// Makes a write with an overflowed counter durable, then renews the other lines of its group.
    pub(super) async fn persist_and_renew(
        &mut self,
        access: DataAccess<'a, V>,
        slot: Slot,
        plaintext: &Line,
        overflow: &Overflow,
    ) -> Result<(), Fault> {
        let line = access.line();
        let _group = access.lock_group(Mode::Exclusive).await;
        access.refuse_if_halted()?;
        self.complete_group(&access).await?;
        let (renewal, new) = self.renewer().renew_counters(slot, line, overflow).await?;
        let write = Write::under(access, self.scheme.version(&new, line), plaintext);
        self.persist_lines(&[write], Some(&renewal)).await?;
        self.scheme.pending.entries.borrow_mut().remove(line);
        // If this fails, the written line is durable nevertheless.
        self.renew_durably(&renewal, RenewalProgress::None).await
    }

    /// Completes the tuple of an entry with an advanced counter, and removes the entry in the same instant.
    pub(super) async fn complete_entry(&mut self, access: &DataAccess<'a, V>) -> Result<(), Fault> {
        let scheme = self.scheme;
        let Some(entry) = scheme.pending.entry(access.line()) else { return Ok(()) };
        let knows = entry.root || scheme.planted.has(Bug::EntryDrainedBeforeRoot);
        let completed = self.climb_and_complete(&[Write::resumed(*access, &entry)], None, knows).await;
        self.or_halt(completed)?;
        if !scheme.planted.has(Bug::EntryOutlivesTuple) {
            scheme.pending.entries.borrow_mut().remove(entry.line);
        }
        Ok(())
    }

    /// Completes the tuples of the group's other entries with advanced counters: memory's ciphertext must match its
    /// counters. The caller must hold the group's lock.
    async fn complete_group(&mut self, access: &DataAccess<'a, V>) -> Result<(), Fault> {
        let scheme = self.scheme;
        let group = scheme.counters.group(access.line());
        let has_advanced = |entry: &&BufferEntry| {
            entry.counter.is_some() && entry.line != access.line() && scheme.counters.group(entry.line) == group
        };
        let advanced: Vec<LineAddr> =
            scheme.pending.entries.borrow().all().iter().filter(has_advanced).map(|entry| entry.line).collect();
        if scheme.planted.has(Bug::RenewalForgetsEntries) {
            return Ok(());
        }
        for line in advanced {
            self.complete_entry(&DataAccess::new(scheme, self.verbs, line)).await?;
        }
        Ok(())
    }

    /// Returns the outcome of work with advanced counters. Halts the chip if the outcome is a fault.
    pub(super) fn or_halt<T>(&self, outcome: Result<T, Fault>) -> Result<T, Fault> {
        if outcome.is_err() && !self.scheme.planted.has(Bug::GivenUpGoesOn) {
            self.scheme.metadata.on_chip(|chip| chip.power.halted = true);
            meetings::note(self.scheme.on_chip(|chip| chip.power.set()));
        }
        outcome
    }

    fn renewer(&self) -> Renewer<'a, V> {
        Renewer { scheme: self.scheme, verbs: self.verbs }
    }

    /// Makes lines durable under the counters that they have on the chip.
    async fn persist_lines(&mut self, writes: &[Write<'a, V>], renewal: Option<&Renewal>) -> Result<(), Fault> {
        if writes.is_empty() {
            return Ok(());
        }
        let durable = self.climb_and_complete(writes, renewal, false).await;
        self.or_halt(durable)
    }

    /// Makes lines durable. Updates the tree up to the root if the root does not yet cover their counters.
    async fn climb_and_complete(
        &mut self,
        writes: &[Write<'a, V>],
        renewal: Option<&Renewal>,
        root_knows: bool,
    ) -> Result<(), Fault> {
        let metadata = &self.scheme.metadata;
        let (mut counters, mut parts) = (Lines::new(), Vec::new());
        for (write, slot) in writes.iter().filter_map(|write| Some((write, write.access.counter_slot()?))) {
            match root_knows.then(|| self.own_part(write)).flatten() {
                Some(part) => parts.push((slot, part)),
                None => drop(counters.insert(slot, metadata.get(self.verbs, slot, Role::Counter).await?)),
            }
        }
        let sealing = writes.iter().map(Write::seal);
        let climbing = async {
            if !root_knows {
                return metadata.climb(self.verbs, &mut self.stages, (Role::Counter, counters.clone())).await;
            }
            self.stages.enter_all(self.verbs, metadata.last_stage()).await;
            Ok(RegisterUpdate::default())
        };
        let (_, reached) = join!(join_all(sealing), climbing);
        let renewal = renewal.cloned().map_or_else(|| self.written_in_renewal(writes), Renewing::Begins);
        self.complete(writes, (&counters, &parts), RegisterUpdate { renewal, ..reached? }).await
    }

    /// Returns the update of the renewal's register by a tuple that begins no renewal. A chip that has halted in a renewal
    /// drains its persist buffer on battery. Recovery must not accept their content from before the renewal: it would
    /// encrypt this content under the counters that the drained content has already used.
    fn written_in_renewal(&self, writes: &[Write<'a, V>]) -> Renewing {
        let renewing = self.scheme.on_chip(|chip| chip.power.renewing);
        let (Some(group), false) = (renewing, self.scheme.planted.has(SessionBug::DrainedInRenewalUnregistered)) else {
            return Renewing::AsBefore;
        };
        let of_group = writes.iter().map(|write| write.access).filter(|access| access.counter_slot() == Some(group));
        let lines: Vec<LineAddr> = of_group.map(|access| access.line()).collect();
        if lines.is_empty() { Renewing::AsBefore } else { Renewing::Writes(lines) }
    }

    /// Returns the bits of a counter line that belong only to this write's counter. The root covers the counter, so the
    /// chip need not check the group's other counters in memory: recovery refuses any that do not match the root.
    fn own_part(&self, write: &Write<'a, V>) -> Option<Part> {
        let (scheme, counter) = (self.scheme, *write.counter.get()?);
        let slot = write.access.counter_slot()?;
        // If a blank counter line represents non-zero counters, or counter lines contain a MAC, the chip writes
        // the whole line.
        let is_blank_zero = scheme.metadata.begun(slot, Role::Counter, &ZERO_LINE) == ZERO_LINE;
        let whole = !is_blank_zero || scheme.counters.embedded_mac_bits() > 0;
        let position = scheme.counters.position(write.access.line());
        scheme.counters.part(position, counter).filter(|_| !whole)
    }

    /// Persists lines with these counters, or parts of counter lines, and their tags, and completes the tuple. The last stage
    /// must be held.
    async fn complete(
        &self,
        writes: &[Write<'a, V>],
        (counters, parts): (&Lines, &[(Slot, Part)]),
        mut completion: RegisterUpdate,
    ) -> Result<(), Fault> {
        let (scheme, verbs, planted) = (self.scheme, self.verbs, self.scheme.planted);
        let sealed = join_all(writes.iter().map(Write::seal)).await;
        let tags = self.enter_tags(writes, &sealed).await?;
        // An earlier tuple may have been given up meanwhile: the nodes that this tuple has changed include the changes
        // of that tuple.
        writes.iter().try_for_each(|write| write.access.refuse_if_halted())?;
        let travels = scheme.codec.tags_travel();
        let spare_bits = |tag: Option<Tag>| tag.filter(|_| travels).unwrap_or_default();
        let data = sealed.iter().map(|(sealed, tag)| (sealed.at.slot(), Role::Data, sealed.with(spare_bits(*tag))));
        let unless = |bug| move |_: &(Slot, Role, Untrusted)| !planted.has(bug);
        let counters = counters.iter().map(|(slot, content)| (*slot, Role::Counter, (*content).into()));
        let tags = tags.iter().map(|(slot, content)| (*slot, Role::Tag, (*content).into()));
        let lines: Vec<_> = data
            .chain(counters.filter(unless(Bug::CounterNotPersisted)))
            .chain(tags.filter(unless(Bug::TagNotPersisted)))
            .collect();
        if planted.has(Bug::RenewalNotRegistered) {
            completion.renewal = Renewing::AsBefore;
        }
        completion.lost = scheme.on_chip(|chip| chip.power.found_again(writes.iter().map(|write| write.access.line())));
        if planted.has(Bug::ForestNotRegistered) {
            completion.forest.clear();
        }
        writes.iter().zip(&sealed).for_each(|(write, (sealed, _))| write.spend(sealed, &Others::new()));
        if planted.has(Bug::CompleteBeforePersist) {
            verbs.complete(completion.clone());
        }
        let parts = if planted.has(Bug::CounterNotPersisted) { &[] } else { parts };
        let whole = join_all(lines.iter().map(|(slot, role, content)| verbs.persist(*slot, *role, *content)));
        let merged = join_all(parts.iter().map(|(slot, part)| verbs.persist_part(*slot, Role::Counter, *part)));
        let (_, merged) = join!(whole, merged);
        if !planted.has(Bug::FenceDropped) {
            verbs.fence().await;
        }
        if planted.has(Bug::RootsAsOnChip) {
            let on_chip = |slot: &Slot| scheme.metadata.on_chip(|chip| chip.forest.node(*slot).copied());
            completion.forest.iter_mut().for_each(|(slot, content)| *content = on_chip(slot));
        }
        if !planted.has(Bug::CompleteBeforePersist) {
            verbs.complete(completion);
        }
        let metadata = lines.iter().filter(|(_, role, _)| *role != Role::Data);
        let written = |(slot, role, content): &(Slot, Role, Untrusted)| {
            scheme.metadata.on_chip(|chip| chip.caches.written_through(*role, *slot, &content.examine()));
        };
        metadata.for_each(written);
        let merged = parts.iter().zip(merged).map(|((slot, _), merged)| (*slot, Role::Counter, merged));
        merged.for_each(|part| written(&part));
        Ok(())
    }

    /// Puts the tags of lines into their entries on the chip. Returns the final tag lines, because a line that
    /// boots in the meantime adds its tag to them.
    async fn enter_tags(&self, writes: &[Write<'a, V>], sealed: &[(&Sealed, Option<Tag>)]) -> Result<Lines, Fault> {
        let mut tags = Lines::new();
        for (write, (_, tag)) in writes.iter().zip(sealed) {
            let Some((slot, tag)) = self.scheme.tag_slot(write.access.line()).zip(*tag) else { continue };
            write.access.enter_tag(slot, tag).await?;
            tags.insert(slot, self.scheme.metadata.get(self.verbs, slot, Role::Tag).await?);
        }
        if !self.scheme.planted.has(Bug::TagsCopiedEarly) {
            self.scheme.metadata.on_chip(|chip| {
                for (slot, content) in &mut tags {
                    *content = chip.caches.content(Role::Tag, *slot).unwrap_or(*content);
                }
            });
        }
        Ok(tags)
    }

    /// Re-encrypts the lines of a group after memory has their new counters. Skips the lines that were written with them and,
    /// after a loss of power, the lines that already have their new version. The caller must hold the group and all stages.
    ///
    /// The written lines became durable under the new counters. If memory returns their old content, that is a replay: if
    /// it were re-encrypted, the pad of the new version would hide a second text. So the next read of the line refuses it.
    ///
    /// Lines with lost stores are skipped too: memory has only older content of them, and the chip refuses them until the
    /// program writes them.
    ///
    /// If the renewal fails, the chip halts: otherwise the next tuple would clear the register of the renewal, and its
    /// remaining lines would be lost.
    pub async fn renew_durably(&self, renewal: &Renewal, progress: RenewalProgress) -> Result<(), Fault> {
        let _renewal = under_way(self.scheme, Mechanism::Renewal);
        let unnoted = self.scheme.planted.has(SessionBug::RenewalOnBatteryUnnoted);
        self.scheme.on_chip(|chip| {
            let is_noted = !(unnoted && chip.power.is_on_battery());
            chip.power.renewing = is_noted.then_some(renewal.counters);
        });
        let renewed = self.renew_group(renewal, progress).await;
        if renewed.is_ok() {
            self.scheme.on_chip(|chip| chip.power.renewing = None);
        }
        self.or_halt(renewed)
    }

    async fn renew_group(&self, renewal: &Renewal, progress: RenewalProgress) -> Result<(), Fault> {
        let (scheme, renewer) = (self.scheme, self.renewer());
        let resumed = progress == RenewalProgress::Unknown;
        let new = scheme.metadata.get(self.verbs, renewal.counters, Role::Counter).await?;
        let maybe_done = resumed.then_some(&new);
        let renews_written = resumed && scheme.planted.has(Bug::RecoveryRenewsWritten);
        let renews_lost = scheme.planted.has(SessionBug::RenewalFindsLost);
        let is_lost = |line| scheme.on_chip(|chip| chip.power.has_lost(line));
        let lines = renewer.renewed_lines(renewal, |line| {
            !renews_written && renewal.written.contains(&line) || !renews_lost && is_lost(line)
        });
        let reseal = async |line| -> Result<Option<Write<'a, V>>, Fault> {
            let access = DataAccess::new(scheme, self.verbs, line);
            let Some(plaintext) = renewer.reopen(&access, &renewal.old, maybe_done).await? else { return Ok(None) };
            let write = Write::under(access, scheme.version(&new, line), &plaintext);
            write.seal().await;
            Ok(Some(write))
        };
        let registered = !resumed || !scheme.planted.has(Bug::RenewalForgottenEarly);
        let with = |renewal| RegisterUpdate { renewal, ..RegisterUpdate::default() };
        for batch in renewer.by_tag_line(&lines) {
            let resealed = join_all(batch.iter().map(|&line| reseal(line))).await;
            let writes: Vec<Write<'a, V>> =
                resealed.into_iter().filter_map(Result::transpose).collect::<Result<_, Fault>>()?;
            if !writes.is_empty() {
                self.complete(
                    &writes,
                    (&Lines::new(), &[]),
                    with(if registered { Renewing::AsBefore } else { Renewing::Ends }),
                )
                .await?;
            }
        }
        self.verbs.complete(with(Renewing::Ends));
        Ok(())
    }
}
