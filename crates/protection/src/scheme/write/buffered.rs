//! Writes that are durable in a persist buffer: stores are accepted into entries, and entries drain as tuples.
//!
//! ```text
//! accept:  the entry has the text ─ early steps that are not valid ─────────────────────── the store goes on
//! drain:   the steps that are left ─ persist all ─ fence ─ complete, and the entry is gone ─ power may fail
//! ```
//! This is SecPB (HPCA 2023, section IV). A store is durable as soon as its entry has its text: from then on a battery
//! carries the controller through whatever it has begun, and through the drain of every entry. So power may fail anywhere in
//! an accept or a drain: it is ended, not begun anew.
//!
//! A counter, its pad and the root that knows of it serve for all stores of a residency: no observer sees a state between
//! two of them (section IV-A). Ciphertext and tag follow each store. A root that is early is in its register before memory
//! has the counters: until the entry has drained, no recovery accepts this memory, and the battery sees to it that it drains.
//!
//! The counters of resident lines are ahead of memory. Before a group is re-encrypted, under which memory's text is checked by
//! these counters, the entries of the group whose counters have moved on complete their tuples. A store or drain whose own
//! counter overflows completes its tuple at once, with the new counters, and its entry is gone.
//!
//! Locks are those of any durable write. The stages are asked for together with the line: so an accept that does not need
//! them, since no root is early or its entry's root knows, takes its line alone. Else, or if its counter overflows, the entry has
//! the text by then, and its early steps begin with both.

use super::reshape::reshape;
use super::tuple::Tuple;
use super::{Write, await_verdicts};
use crate::buffer::Entry;
use crate::codec::Others;
use crate::counter::Overflow;
use crate::domain::Completion;
use crate::metadata::Lines;
use crate::persistence::{Battery, Early, Step};
use crate::planted::{Bug, Planted};
use crate::scheme::Scheme;
use crate::scheme::access::Access;
use crate::slot::{Role, Slot};
use crate::tree::Node;
use crate::verbs::{Fault, LockName, Verbs};
use sim::join;
use sim::lock::Mode;
use units::{Line, LineAddr};

/// Whether a step could be done, or the counters must be renewed first.
type OrOverflow<T> = Result<Result<T, (Slot, Overflow)>, Fault>;

/// A scheme's persist buffer, as whoever owns it uses it: the core that stores, and the battery.
#[derive(Clone, Copy)]
pub struct PersistBuffer<'a>(&'a Scheme);

impl<'a> PersistBuffer<'a> {
    /// That of this scheme.
    pub fn of(scheme: &'a Scheme) -> PersistBuffer<'a> {
        PersistBuffer(scheme)
    }

    /// The buffer accepts a store, which makes the line this; the store goes on when this returns. It is durable before,
    /// as soon as its entry has it.
    pub async fn accept<V: Verbs>(&self, verbs: &V, line: LineAddr, content: &Line) {
        self.accept_when_taken(verbs, line, || *content).await;
        self.write_back(verbs).await;
    }

    /// Writes metadata back that had to make room.
    pub async fn write_back<V: Verbs>(&self, verbs: &V) {
        self.0.finish(verbs, Ok(())).await;
    }

    /// As [`PersistBuffer::accept`]; what the store makes the line is asked for when its entry takes it, from which instant on reads
    /// return it. A chip that has stopped does not ask. Metadata that had to make room is left to the next drain or
    /// [`PersistBuffer::write_back`]: a core goes on when this returns.
    pub async fn accept_when_taken<V: Verbs>(&self, verbs: &V, line: LineAddr, content: impl FnOnce() -> Line) {
        if let Err(fault) = Box::pin(Tuple::new(self.0, verbs).accept(line, content)).await {
            verbs.fault(fault);
        }
    }

    /// The entry of a line leaves the buffer for memory; nothing, if it is gone. If it is time, a forest changes behind it.
    pub async fn drain<V: Verbs>(&self, verbs: &V, line: LineAddr) {
        let outcome = Box::pin(async {
            Tuple::new(self.0, verbs).drain(line).await?;
            reshape(self.0, verbs).await
        });
        self.0.finish(verbs, outcome.await).await;
    }

    /// Power has failed, and the battery does what it is there for: every entry leaves. Also on a chip that has halted: what it
    /// had given up is no part of what others need. An entry that cannot leave is noted in a register. They leave by address, so
    /// that a node of the tree is seldom wanted again once it has made room: then it goes nowhere.
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
                Battery::Tuples => Box::pin(Tuple::new(self.0, verbs).drain(line)).await,
                Battery::Data => move_data(Access::new(self.0, verbs, line)).await,
            };
            self.0.finish(verbs, outcome).await;
            self.0.on_chip(|chip| chip.power.updated(self.nodes_above(line)));
        }
        self.note_lost(verbs);
    }

    /// Which nodes the drains of these lines update, where only counters have nodes above them.
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

    /// Notes which lines are still resident, whose stores end with the battery, beside those that were lost before.
    fn note_lost<V: Verbs>(&self, verbs: &V) {
        let resident = self.lines();
        if resident.is_empty() || self.0.planted.has(Bug::LossNotRegistered) {
            return;
        }
        let lost = self.0.on_chip(|chip| chip.power.loses(resident));
        verbs.complete(Completion { lost: Some(lost), ..Completion::default() });
    }

    /// The lines that are resident, the oldest first.
    pub fn lines(&self) -> Vec<LineAddr> {
        self.0.pending.entries.borrow().all().iter().map(|entry| entry.line).collect()
    }

    /// A deliberate weakness, or none.
    pub fn planted(&self) -> Planted {
        self.0.planted
    }

    /// Whether the chip changes nothing in memory any more.
    pub(super) fn has_halted(&self) -> bool {
        self.0.metadata.on_chip(|chip| chip.power.halted)
    }

    /// How many stores it has accepted, those among them that still wait for their early steps.
    pub fn accepted(&self) -> u64 {
        self.0.pending.entries.borrow().accepted()
    }
}

/// What a battery does that knows of no metadata: the line goes to memory as the controller encrypts it, and what is on the
/// chip of its counter and tag is lost.
async fn move_data<V: Verbs>(access: Access<'_, V>) -> Result<(), Fault> {
    let Some(entry) = access.scheme.pending.entry(access.line()) else { return Ok(()) };
    let write = Write::resumed(access, &entry);
    if let (Some(slot), None) = (access.counter_slot(), entry.counter) {
        // A counter that overflows on battery is one more that is lost.
        if let Ok(counter) = access.advance(slot).await? {
            write.counter.set(counter);
        }
    }
    let (sealed, tag) = write.seal().await;
    write.spend(sealed, &Others::new());
    let beside = tag.filter(|_| access.scheme.codec.tags_travel()).unwrap_or_default();
    access.verbs.store(access.at.slot(), Role::Data, sealed.with(beside)).await;
    access.scheme.pending.entries.borrow_mut().remove(access.line());
    Ok(())
}

impl<'a, V: Verbs> Tuple<'a, V> {
    /// Accepts a store.
    pub(super) async fn accept(mut self, line: LineAddr, content: impl FnOnce() -> Line) -> Result<(), Fault> {
        let (scheme, verbs) = (self.scheme, self.verbs);
        let (access, early) = (Access::new(scheme, verbs, line), scheme.persistence.early);
        await_verdicts(scheme, verbs, line).await?;
        let mut content = Some(content);
        let mut ask = || content.take().map(|content| content());
        let early_text = if scheme.planted.has(Bug::ContentBeforeLock) { ask() } else { None };
        {
            // Taken at once, so that no read of the line that comes later finds it otherwise.
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
        let access = Access::new(self.scheme, self.verbs, line);
        if self.scheme.persistence.early.has(Step::Root) {
            // What is left needs no stage but to be completed: others have theirs meanwhile.
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

    /// Encrypts the line of an entry whose counter has moved on, and computes its tag.
    async fn make_value(&self, access: &Access<'a, V>) {
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

    /// Asks for the first stage and the line at once, so that nothing that has to wait for its line is overtaken.
    async fn enter_with(&mut self, line: LineAddr) -> V::Guard<'a> {
        let verbs = self.verbs;
        join!(self.stages.enter(verbs, 0), verbs.lock(LockName::Line(line), Mode::Exclusive)).1
    }

    /// Does those of the early steps that the entry of a line has not done yet. The line and its group must be held, and the
    /// first stage if the root is early.
    async fn make_early(&mut self, access: &Access<'a, V>, early: Early) -> OrOverflow<()> {
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

    /// Moves the counter of an entry's line on, if that is not done.
    async fn make_counter(&self, access: &Access<'a, V>, entry: &Entry) -> OrOverflow<()> {
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
    async fn raise_root(&mut self, access: &Access<'a, V>) -> Result<(), Fault> {
        let (scheme, verbs) = (self.scheme, self.verbs);
        let Some(slot) = access.counter_slot() else { return Ok(()) };
        let counters = Lines::from([(slot, scheme.metadata.get(verbs, slot, Role::Counter).await?)]);
        let reached = scheme.metadata.climb(verbs, &mut self.stages, (Role::Counter, counters)).await?;
        access.refuse_if_halted()?;
        verbs.complete(reached);
        scheme.pending.note(access.line(), |entry| entry.root = true);
        Ok(())
    }

    /// An entry whose counter has overflowed completes its tuple with the new ones; the others of its group follow it.
    async fn complete_and_renew(
        &mut self,
        access: Access<'a, V>,
        slot: Slot,
        overflow: &Overflow,
    ) -> Result<(), Fault> {
        // As at the controller: it keeps its stages until its group is renewed.
        self.stages.hand_over = false;
        if self.scheme.on_chip(|chip| chip.power.halted) {
            // The register of renewals may have another group.
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
