//! Writes that outlive a loss of power: data, counters, tags and root become durable as one, in order.
//!
//! ```text
//! stage 0:     counters + 1 ─┬─ encrypt, tag ──────────────────────────────┐
//! stage 1...:                └─ tell level 0 ─ tell level 1 ─ ... ─ the root ┴─ persist all ─ fence ─ complete
//! ```
//! This is PLP's write (Freij et al., MICRO 2020). A *tuple* holds the lines of data that become durable together, with
//! their lines of counters and tags; the nodes of the tree need not, since counters tell them. When a write
//! returns, its tuple is complete. Tuples complete in the order in which their writes came.
//!
//! A stage belongs to one tuple at a time. In *strict* order a tuple keeps all stages to its end. *Pipelined*, it leaves a
//! stage as soon as it has entered the next one, so that others follow one level behind: hence a tuple takes copies of the
//! lines that it changed along, for those on the chip may already know of the next. *Coalesced*, the first of those who wait
//! takes the others with it: nodes above several of their lines are updated once.
//!
//! When counters overflow, the tuple with the new ones also notes in a register the old ones and which line it wrote. Then the
//! other lines follow, those of one line of tags in one tuple; and `recover` can go on from any of them.

use super::Scheme;
use super::gathering::Waiting;
use super::grouped::Others;
use crate::counter::{Counter, Overflow};
use crate::domain::{Registers, Renewal};
use crate::metadata::Lines;
use crate::placement::DataSlot;
use crate::planted::Bug;
use crate::stages::Stages;
use crate::verbs::{Fault, LockName, Role, Slot, Verbs};
use sim::lock::Mode;
use sim::{join, join_all};
use units::{Line, LineAddr};

/// How far a renewal may have come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// Not beyond the line that was written with the new counters.
    None,
    /// Anywhere: power has failed since.
    Unknown,
}

/// A line of data ready to be persisted.
struct Sealed {
    at: DataSlot,
    counter: Counter,
    plaintext: Line,
    ciphertext: Line,
    tag: Option<(Slot, u64)>,
}

impl Scheme {
    /// Writes a line; it is durable when this returns. The first stage and the line's lock are asked for at once: so a write
    /// that has to wait for its line is not overtaken, nor by a read of that line that comes after it.
    pub(super) async fn write_durably<V: Verbs>(
        &self,
        verbs: &V,
        line: LineAddr,
        plaintext: &Line,
    ) -> Result<(), Fault> {
        let (ready, fate) = self.gathering.borrow_mut().enter(line, plaintext);
        let mut stages = Stages::new(self.persistence.hands_over());
        let own_line = async {
            let guard = verbs.lock(LockName::Line(line), Mode::Exclusive).await;
            ready.set(true);
            guard
        };
        let (_, _line) = join!(stages.enter(verbs, 0), own_line);
        if let Some(taken_along) = fate.get() {
            return taken_along;
        }
        let batch = self.gathering.borrow_mut().take(self.persistence.lines_at_once(), self.planted);
        let outcome = self.persist_batch(verbs, stages, &batch).await;
        batch.iter().for_each(|waiting| waiting.fate.set(Some(outcome)));
        outcome
    }

    async fn persist_batch<'a, V: Verbs>(
        &self,
        verbs: &'a V,
        mut stages: Stages<'a, V>,
        batch: &[Waiting],
    ) -> Result<(), Fault> {
        let (mut tuple, mut groups) = (Vec::new(), Vec::new());
        for waiting in batch {
            let Some(slot) = self.counter_slot(waiting.line) else { continue };
            let position = self.counters.position(waiting.line);
            groups.push(self.lock_group(verbs, waiting.line, Mode::Shared).await);
            let advance = |counters: &mut Line| self.counters.advance(counters, position);
            match self.metadata.edit(verbs, slot, Role::Counter, advance).await? {
                Ok(counter) => tuple.push((waiting, counter)),
                Err(overflow) => {
                    // Those before it go first; and it needs the stages for itself until its group is renewed.
                    stages.hand_over = false;
                    self.persist_lines(verbs, &mut stages, &std::mem::take(&mut tuple), None).await?;
                    groups.clear();
                    self.persist_and_renew(verbs, &mut stages, waiting, &overflow).await?;
                }
            }
        }
        self.persist_lines(verbs, &mut stages, &tuple, None).await
    }

    /// A write whose counter has overflowed: the others of its group follow it.
    async fn persist_and_renew<'a, V: Verbs>(
        &self,
        verbs: &'a V,
        stages: &mut Stages<'a, V>,
        waiting: &Waiting,
        overflow: &Overflow,
    ) -> Result<(), Fault> {
        let Some(slot) = self.counter_slot(waiting.line) else { return Ok(()) };
        let _group = self.lock_group(verbs, waiting.line, Mode::Exclusive).await;
        let (renewal, new) = self.renew_counters(verbs, slot, waiting.line, overflow).await?;
        let version = self.version(&new, waiting.line);
        self.persist_lines(verbs, stages, &[(waiting, version)], Some(&renewal)).await?;
        self.renew_durably(verbs, &renewal, Progress::None).await
    }

    /// Makes lines durable under the counters that they have on the chip.
    async fn persist_lines<'a, V: Verbs>(
        &self,
        verbs: &'a V,
        stages: &mut Stages<'a, V>,
        lines: &[(&Waiting, Counter)],
        renewal: Option<&Renewal>,
    ) -> Result<(), Fault> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut counters = Lines::new();
        for slot in lines.iter().filter_map(|(waiting, _)| self.counter_slot(waiting.line)) {
            counters.insert(slot, self.metadata.get(verbs, slot, Role::Counter).await?);
        }
        let sealing =
            lines.iter().map(|(waiting, counter)| self.sealed(verbs, waiting.line, *counter, &waiting.plaintext));
        let (sealed, root) = join!(join_all(sealing), self.metadata.climb(verbs, stages, &counters));
        self.persist_tuple(verbs, &sealed, &counters, root?, renewal).await
    }

    async fn sealed<V: Verbs>(&self, verbs: &V, line: LineAddr, counter: Counter, plaintext: &Line) -> Sealed {
        self.pad_whole(verbs).await;
        let at = self.layout.data_slot(line);
        let ciphertext = self.cipher.seal(at, counter, plaintext);
        let tag = self.tag(verbs, at, counter, (plaintext, &ciphertext), &Others::new()).await;
        Sealed { at, counter, plaintext: *plaintext, ciphertext, tag: self.tag_slot(line).zip(tag) }
    }

    /// Notes the keystream of a line that leaves the chip. What a tuple holds that is given up before has not served.
    fn spend<V: Verbs>(&self, verbs: &V, sealed: &Sealed) {
        let Sealed { at, counter, plaintext, ciphertext, .. } = sealed;
        self.spend_pad(verbs, *at, *counter, plaintext);
        self.spend_tag(verbs, *at, *counter, (plaintext, ciphertext), &Others::new());
    }

    /// Persists the lines of a tuple and completes it. The last stage must be held.
    async fn persist_tuple<V: Verbs>(
        &self,
        verbs: &V,
        sealed: &[Sealed],
        counters: &Lines,
        root: Box<[Line]>,
        renewal: Option<&Renewal>,
    ) -> Result<(), Fault> {
        let mut tags = Lines::new();
        for (line, (slot, tag)) in sealed.iter().filter_map(|sealed| Some((sealed.at.line(), sealed.tag?))) {
            self.enter_tag(verbs, line, slot, tag).await?;
            tags.insert(slot, self.metadata.get(verbs, slot, Role::Tag).await?);
        }
        let data = sealed.iter().map(|sealed| (sealed.at.slot(), Role::Data, &sealed.ciphertext));
        let unless = |bug| move |_: &(Slot, Role, &Line)| !self.planted.has(bug);
        let counters = counters.iter().map(|(slot, content)| (*slot, Role::Counter, content));
        let tags = tags.iter().map(|(slot, content)| (*slot, Role::Tag, content));
        let lines: Vec<_> = data
            .chain(counters.filter(unless(Bug::CounterNotPersisted)))
            .chain(tags.filter(unless(Bug::TagNotPersisted)))
            .collect();
        let renewal = renewal.filter(|_| !self.planted.has(Bug::RenewalNotRegistered)).cloned();
        let registers = Registers { root, renewal };
        sealed.iter().for_each(|sealed| self.spend(verbs, sealed));
        if self.planted.has(Bug::CompleteBeforePersist) {
            verbs.complete(registers.clone());
        }
        join_all(lines.iter().map(|(slot, role, content)| verbs.persist(*slot, *role, content))).await;
        if !self.planted.has(Bug::FenceDropped) {
            verbs.fence().await;
        }
        if !self.planted.has(Bug::CompleteBeforePersist) {
            verbs.complete(registers);
        }
        let metadata = lines.iter().filter(|(_, role, _)| *role != Role::Data);
        self.metadata
            .on_chip(|chip| metadata.for_each(|(slot, role, content)| chip.written_through(*role, *slot, content)));
        Ok(())
    }

    /// Encrypts the lines of a group again, of which memory has the new counters already: all but the one that was written
    /// with them and, after a loss of power, those that were reached before. The group and all stages must be held.
    ///
    /// The written line has had its new version since the counters have theirs. If memory returns its old one, that is a
    /// replay: under the new version it would stand for a text that it is not, and the pad would hide a second one. So it is
    /// left to its next read, which refuses it.
    pub(super) async fn renew_durably<V: Verbs>(
        &self,
        verbs: &V,
        renewal: &Renewal,
        progress: Progress,
    ) -> Result<(), Fault> {
        let resumed = progress == Progress::Unknown;
        let new = self.metadata.get(verbs, renewal.counters, Role::Counter).await?;
        let maybe_done = resumed.then_some(&new);
        let spared = !(resumed && self.planted.has(Bug::RecoveryRenewsWritten));
        let lines = self.renewed_lines(renewal, spared.then_some(renewal.written));
        let root = || self.metadata.root();
        let reseal = async |line| -> Result<Option<Sealed>, Fault> {
            let Some(plaintext) = self.reopen(verbs, line, &renewal.old, maybe_done).await? else { return Ok(None) };
            Ok(Some(self.sealed(verbs, line, self.version(&new, line), &plaintext).await))
        };
        let registered = (!resumed || !self.planted.has(Bug::RenewalForgottenEarly)).then_some(renewal);
        for batch in self.by_line_of_tags(&lines) {
            let resealed = join_all(batch.iter().map(|&line| reseal(line))).await;
            let sealed: Vec<Sealed> =
                resealed.into_iter().filter_map(Result::transpose).collect::<Result<_, Fault>>()?;
            if !sealed.is_empty() {
                self.persist_tuple(verbs, &sealed, &Lines::new(), root(), registered).await?;
            }
        }
        verbs.complete(Registers { root: root(), renewal: None });
        Ok(())
    }
}
