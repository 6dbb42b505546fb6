//! Writes with a persist buffer: the buffer accepts stores into entries, where they are durable, and drains entries as
//! tuples.
//!
//! ```text
//! accept:  the entry has the text ─ early steps that are not valid ─────────────────────── the store goes on
//! drain:   the steps that are left ─ persist all ─ fence ─ complete, and the entry is gone ─ power may fail
//! ```
//! This is SecPB (HPCA 2023, section IV). A store is durable as soon as its entry has its text. From then on a battery
//! powers the controller until it has ended its current work and drained every entry. So power may fail at any step of
//! an accept or a drain: the controller completes the operation and does not restart it.
//!
//! While a line is resident, one new counter, its pad and one update of the root serve for all stores. No observer sees
//! a state between two of these stores (section IV-A). Each store needs a new ciphertext and tag. If the root is early,
//! the register holds it before memory has the counters. Recovery refuses this memory until the entry has drained; the
//! battery ensures the drain.
//!
//! The counters of resident lines are ahead of memory. A re-encryption of a group verifies the ciphertext in memory
//! under these counters. So the group's entries with advanced counters first complete their tuples. If the counter of a
//! store or drain overflows, its tuple completes at once, with the new counters, and its entry is removed.
//!
//! The locks are those of any durable write. An accept requests the stages together with the line. If no root is early,
//! or the root already covers the entry's counter, the accept needs no stage and locks only the line. Otherwise, or if
//! the counter overflows, the entry already has the text, and its early steps begin when the accept holds the line and
//! the stages.

use super::reshape::reshape;
use super::tuple::Tuple;
use super::{Write, await_verdicts};
use crate::buffer::BufferEntry;
use crate::codec::Others;
use crate::counter::Overflow;
use crate::domain::RegisterUpdate;
use crate::metadata::Lines;
use crate::persistence::{BatteryAction, EarlySteps, Step};
use crate::planted::{Bug, PlantedBug};
use crate::scheme::access::DataAccess;
use crate::scheme::{FixedScheme, Scheme};
use crate::slot::{Role, Slot};
use crate::tree::Node;
use crate::verbs::{Fault, LockName, Verbs};
use sim::join;
use sim::lock::Mode;
use units::{Line, LineAddr};

/// Result of a step, or the overflow that must be renewed first.
type OrOverflow<T> = Result<Result<T, (Slot, Overflow)>, Fault>;

/// Interface to a scheme's persist buffer, for the core that stores and for the battery.
#[derive(Clone, Copy)]
pub struct PersistBufferHandle<'a>(&'a FixedScheme);

impl<'a> PersistBufferHandle<'a> {
    /// The persist buffer of this scheme.
    ///
    /// # Panics
    /// If lines move: the check of a design refuses persistence of these lines.
    pub fn of(scheme: &'a Scheme) -> PersistBufferHandle<'a> {
        let Some(scheme) = scheme.fixed() else { unreachable!("a design that permutes lines has no persistence") };
        PersistBufferHandle(scheme)
    }

    /// Accepts a store that gives the line this content. The core continues when this returns. The store is durable earlier,
    /// as soon as its entry has the content.
    pub async fn accept<V: Verbs>(&self, verbs: &V, line: LineAddr, content: &Line) {
        self.accept_when_taken(verbs, line, || *content).await;
        self.write_back(verbs).await;
    }

    /// Writes back evicted metadata.
    pub async fn write_back<V: Verbs>(&self, verbs: &V) {
        self.0.finish(verbs, Ok(())).await;
    }

    /// Like [`PersistBufferHandle::accept`], but calls `content` when the entry accepts the store; from then on, reads
    /// return this content. A halted chip does not call `content`. The core continues when this returns; the next drain
    /// or [`PersistBufferHandle::write_back`] writes back evicted metadata.
    pub async fn accept_when_taken<V: Verbs>(&self, verbs: &V, line: LineAddr, content: impl FnOnce() -> Line) {
        if let Err(fault) = Box::pin(Tuple::new(self.0, verbs).accept(line, content)).await {
            verbs.fault(fault);
        }
    }

    /// Drains the entry of a line to memory, if it is resident. Then changes the forest if a change is due.
    pub async fn drain<V: Verbs>(&self, verbs: &V, line: LineAddr) {
        let outcome = Box::pin(async {
            Tuple::new(self.0, verbs).drain(line).await?;
            reshape(self.0, verbs).await
        });
        self.0.finish(verbs, outcome.await).await;
    }

    /// Drains every entry on battery after a loss of power. A halted chip drains too, since the other entries do not
    /// depend on the write that was given up. A register records each entry that cannot leave. Entries leave in the
    /// order of their addresses. So later entries seldom need a tree node again after its eviction, and the evicted
    /// node need not be written to memory.
    pub async fn drain_on_battery<V: Verbs>(&self, verbs: &V) {
        let mut lines = self.lines();
        lines.sort_unstable();
        if self.0.planted.has(Bug::BatteryStopsEarly) {
            lines.pop();
        }
        self.0.on_chip(|chip| chip.power.fails());
        self.plan(&lines);
        for line in lines {
            let outcome = match self.0.persistence.battery(self.0.planted) {
                BatteryAction::Tuples => Box::pin(Tuple::new(self.0, verbs).drain(line)).await,
                BatteryAction::Data => move_data(DataAccess::new(self.0, verbs, line)).await,
            };
            self.0.finish(verbs, outcome).await;
            self.0.on_chip(|chip| chip.power.updated(self.nodes_above(line)));
        }
        self.note_lost(verbs);
    }

    /// Notes the nodes that the drains of these lines update, if only counters have nodes above them.
    fn plan(&self, lines: &[LineAddr]) {
        if self.0.metadata.tree().is_some_and(|tree| !tree.covers(Role::Tag)) {
            let nodes = lines.iter().flat_map(|line| self.nodes_above(*line));
            self.0.on_chip(|chip| chip.power.needs(nodes));
        }
    }

    /// The nodes in memory above a line's counters, from the lowest up.
    fn nodes_above(&self, line: LineAddr) -> impl Iterator<Item = Slot> + '_ {
        let above = |slot: Slot| match self.0.metadata.parent(slot)?.node {
            Node::Stored(above) => Some(above),
            Node::Root(_) => None,
        };
        std::iter::successors(self.0.counter_slot(line).and_then(above), move |slot| above(*slot))
    }

    /// Records in the register that the stores to all resident lines are lost with the battery, in addition to earlier
    /// lost lines.
    fn note_lost<V: Verbs>(&self, verbs: &V) {
        let resident = self.lines();
        if resident.is_empty() || self.0.planted.has(Bug::LossNotRegistered) {
            return;
        }
        let lost = self.0.on_chip(|chip| chip.power.loses(resident, self.0.planted));
        verbs.complete(RegisterUpdate { lost: Some(lost), ..RegisterUpdate::default() });
    }

    /// Returns the resident lines, oldest first.
    pub fn lines(&self) -> Vec<LineAddr> {
        self.0.pending.entries.borrow().all().iter().map(|entry| entry.line).collect()
    }

    /// Returns the planted bugs, for tests.
    pub fn planted(&self) -> PlantedBug {
        self.0.planted
    }

    /// Returns true if the chip has halted and no longer changes memory.
    pub(super) fn has_halted(&self) -> bool {
        self.0.metadata.on_chip(|chip| chip.power.halted)
    }

    /// Number of accepted stores, including those that still wait for their early steps.
    pub fn accepted(&self) -> u64 {
        self.0.pending.entries.borrow().accepted()
    }
}

/// Drains a line on a battery that drains no metadata. The controller encrypts the line and stores it in memory, with
/// its tag if tags travel with lines. The new counter, and a tag in the region of tags, are lost.
async fn move_data<V: Verbs>(access: DataAccess<'_, V>) -> Result<(), Fault> {
    let Some(entry) = access.scheme.pending.entry(access.line()) else { return Ok(()) };
    let write = Write::resumed(access, &entry);
    if let (Some(slot), None) = (access.counter_slot(), entry.counter) {
        // A counter that overflows does not change, and the line is sealed under counter 0. This battery saves no counters.
        if let Ok(counter) = access.advance(slot).await? {
            write.counter.set(counter);
        }
    }
    let (sealed, tag) = write.seal().await;
    write.spend(sealed, &Others::new());
    let spare_bits = tag.filter(|_| access.scheme.codec.tags_travel()).unwrap_or_default();
    access.verbs.store(access.at.slot(), Role::Data, sealed.with(spare_bits)).await;
    access.scheme.pending.entries.borrow_mut().remove(access.line());
    Ok(())
}

impl<'a, V: Verbs> Tuple<'a, V> {
    /// Accepts a store into an entry.
    pub(super) async fn accept(mut self, line: LineAddr, content: impl FnOnce() -> Line) -> Result<(), Fault> {
        let (scheme, verbs) = (self.scheme, self.verbs);
        let (access, early) = (DataAccess::new(scheme, verbs, line), scheme.persistence.early);
        await_verdicts(scheme, verbs, line).await?;
        let mut content = Some(content);
        let mut ask = || content.take().map(|content| content());
        let early_text = if scheme.planted.has(Bug::ContentBeforeLock) { ask() } else { None };
        {
            // The accept requests the lock at once, so that no later read of the line returns the old content.
            let _line =
                if scheme.planted.has(Bug::DrainedEntryWritten) { None } else { Some(access.lock_line().await) };
            let _group = if early.has(Step::Counter) { access.lock_group(Mode::Shared).await } else { None };
            access.refuse_if_halted()?;
            let Some(text) = early_text.or_else(ask) else { return Ok(()) };
            scheme.pending.entries.borrow_mut().take(line, &text, scheme.planted);
            let root_knows = scheme.pending.entry(line).is_some_and(|entry| entry.root);
            if (root_knows || !early.has(Step::Root)) && self.make_early(&access, early).await?.is_ok() {
                return Ok(());
            }
        }
        let _line = self.enter_with(line).await;
        let group = access.lock_group(Mode::Shared).await;
        access.refuse_if_halted()?;
        match self.make_early(&access, early).await? {
            Ok(()) => Ok(()),
            Err((slot, overflow)) => {
                drop(group);
                self.complete_and_renew(access, slot, &overflow).await
            }
        }
    }

    /// Drains the entry of a line.
    pub(super) async fn drain(mut self, line: LineAddr) -> Result<(), Fault> {
        let access = DataAccess::new(self.scheme, self.verbs, line);
        if self.scheme.persistence.early.has(Step::Root) {
            // The remaining work needs stages only to complete, so other tuples use them during this call.
            self.make_value(&access).await;
        }
        let _line = self.enter_with(line).await;
        let group = access.lock_group(Mode::Shared).await;
        access.refuse_if_halted()?;
        let Some(entry) = self.scheme.pending.entry(line) else { return Ok(()) };
        match self.make_counter(&access, &entry).await? {
            Ok(()) => self.complete_entry(&access).await,
            Err((slot, overflow)) => {
                drop(group);
                self.complete_and_renew(access, slot, &overflow).await
            }
        }
    }

    /// Encrypts the line of an entry with an advanced counter, and computes its tag.
    async fn make_value(&self, access: &DataAccess<'a, V>) {
        let unlocked = self.scheme.planted.has(Bug::ValueWithoutLock);
        let _line = if unlocked { None } else { Some(access.lock_line().await) };
        let _group = access.lock_group(Mode::Shared).await;
        let Some(entry) = self.scheme.pending.entry(access.line()).filter(|entry| entry.counter.is_some()) else {
            return;
        };
        let write = Write::resumed(*access, &entry);
        let (sealed, tag) = write.seal().await;
        self.scheme.pending.note(access.line(), |entry| {
            (entry.sealed, entry.tag) = (Some(sealed.clone()), tag);
        });
    }

    /// Requests the first stage and the line at once, so that no later access overtakes one that waits for its line.
    async fn enter_with(&mut self, line: LineAddr) -> V::Guard<'a> {
        let verbs = self.verbs;
        join!(self.stages.enter(verbs, 0), verbs.lock(LockName::Line(line), Mode::Exclusive)).1
    }

    /// Performs the early steps that the entry of a line still lacks. The caller must hold the line, its group, and the
    /// first stage if the root is early and the entry's root is not updated.
    async fn make_early(&mut self, access: &DataAccess<'a, V>, early: EarlySteps) -> OrOverflow<()> {
        let (scheme, line) = (self.scheme, access.line());
        let Some(entry) = scheme.pending.entry(line).filter(|_| early.has(Step::Counter)) else { return Ok(Ok(())) };
        if let Err(overflow) = self.make_counter(access, &entry).await? {
            return Ok(Err(overflow));
        }
        let Some(entry) = scheme.pending.entry(line) else { return Ok(Ok(())) };
        let write = Write::resumed(*access, &entry);
        let value = async {
            if early.has(Step::Pad) {
                write.pad().await;
                scheme.pending.note(line, |entry| entry.pad = true);
            }
            if early.has(Step::Ciphertext) {
                let sealed = write.sealed().await.clone();
                scheme.pending.note(line, |entry| entry.sealed = Some(sealed));
            }
            if early.has(Step::Tag) {
                let tag = write.seal().await.1;
                scheme.pending.note(line, |entry| entry.tag = tag);
            }
        };
        let root = async { if early.has(Step::Root) && !entry.root { self.raise_root(access).await } else { Ok(()) } };
        let raised = join!(value, root).1;
        self.or_halt(raised)?;
        Ok(Ok(()))
    }

    /// Advances the counter of an entry's line, unless the entry already has it.
    async fn make_counter(&self, access: &DataAccess<'a, V>, entry: &BufferEntry) -> OrOverflow<()> {
        let (scheme, Some(slot)) = (self.scheme, access.counter_slot()) else { return Ok(Ok(())) };
        if entry.counter.is_some() && !scheme.planted.has(Bug::CountedOnceMore) {
            return Ok(Ok(()));
        }
        if scheme.planted.has(Bug::NotCounted) {
            let counters = scheme.metadata.get(self.verbs, slot, Role::Counter).await?;
            scheme.pending.note(entry.line, |entry| entry.counter = Some(scheme.version(&counters, entry.line)));
            return Ok(Ok(()));
        }
        match access.advance(slot).await? {
            Ok(counter) => scheme.pending.note(entry.line, |entry| {
                entry.counter.get_or_insert(counter);
            }),
            Err(overflow) => return Ok(Err((slot, overflow))),
        }
        Ok(Ok(()))
    }

    /// Updates the path above the line's counters, and sets the register. The first stage must be held.
    async fn raise_root(&mut self, access: &DataAccess<'a, V>) -> Result<(), Fault> {
        let (scheme, verbs) = (self.scheme, self.verbs);
        let Some(slot) = access.counter_slot() else { return Ok(()) };
        let counters = Lines::from([(slot, scheme.metadata.get(verbs, slot, Role::Counter).await?)]);
        let reached = scheme.metadata.climb(verbs, &mut self.stages, (Role::Counter, counters)).await?;
        access.refuse_if_halted()?;
        verbs.complete(reached);
        scheme.pending.note(access.line(), |entry| entry.root = true);
        Ok(())
    }

    /// Completes the tuple of an entry with an overflowed counter under new counters, then renews its group.
    async fn complete_and_renew(
        &mut self,
        access: DataAccess<'a, V>,
        slot: Slot,
        overflow: &Overflow,
    ) -> Result<(), Fault> {
        // Like a write at the controller, this write keeps its stages until its group is renewed.
        self.stages.hand_over = false;
        if self.scheme.on_chip(|chip| chip.power.halted) {
            // The register of renewals may hold another group.
            return Err(Fault::Halted(access.line()));
        }
        let Some(entry) = self.scheme.pending.entry(access.line()) else { return Ok(()) };
        if self.scheme.planted.has(Bug::OverflowLosesStore) {
            self.scheme.pending.entries.borrow_mut().remove(entry.line);
            return Ok(());
        }
        self.persist_and_renew(access, slot, &entry.plaintext, overflow).await
    }
}
