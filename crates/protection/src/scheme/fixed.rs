//! A scheme whose lines stay in their slots: its parts, and the work around its accesses.
//!
//! A scheme skips the steps of parts that it lacks: without counters it looks up no counter, without a tag it compares
//! no tag. All designs with fixed slots execute this same code with different parts.
//!
//! Locks are taken upward only (a line, its group, a renewal's permit, metadata from leaf to root), so accesses cannot
//! wait for each other in a circle. On-chip state changes only between two awaits, and the code reads it again after
//! each await.

use super::bitmap;
use super::counted::{CounterCell, SchemeCounts};
use super::write::PendingWrites;
use crate::bitmaps::BitmapCipher;
use crate::codec::LineCodec;
use crate::counter::{Age, Counter, Counters};
use crate::layout::Layout;
use crate::meetings::{self, Mechanism, UnderWay};
use crate::metadata::{Metadata, ParentUpdate, RenewedNodes};
use crate::on_chip::ChipState;
use crate::ownership::Ownership;
use crate::persistence::Persistence;
use crate::planted::{Bug, PlantedBug};
use crate::release::Release;
use crate::slot::{Kind, Role, Slot};
use crate::speculation::Speculation;
use crate::verbs::{Fault, Verbs};
use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use units::random::Random;
use units::{Line, LineAddr};

/// A composition of parts for lines with fixed slots, with its state on the chip.
pub struct FixedScheme {
    /// Encryption and authentication of data.
    pub(crate) codec: LineCodec,
    /// Counters of lines of data.
    pub(crate) counters: Counters,
    /// Counters, tags and tree nodes, verified.
    pub(crate) metadata: Metadata,
    /// Slots of data and metadata.
    pub(crate) layout: Rc<Layout>,
    /// Software that may access each page.
    pub(crate) ownership: Ownership,
    /// Persist point and order of writes.
    pub(crate) persistence: Persistence,
    /// Writes that memory does not have yet.
    pub(crate) pending: PendingWrites,
    /// Statistics so far, without those of metadata and speculation.
    pub(crate) counted: CounterCell,
    /// The chip's random numbers, for counters that are drawn.
    pub(crate) draws: RefCell<Random>,
    /// Condition on which a read releases its line.
    pub(crate) release: Release,
    /// Weakness built into the scheme, if any.
    pub(crate) planted: PlantedBug,
}

impl FixedScheme {
    /// Returns a copy of the scheme with the same keys and on-chip state. Later changes to either do not affect the other.
    ///
    /// # Panics
    /// If an access is under way, or if the scheme shares a machine's last-level cache.
    pub fn twin(&self) -> FixedScheme {
        FixedScheme {
            codec: self.codec.clone(),
            counters: self.counters,
            metadata: self.metadata.twin(),
            layout: Rc::clone(&self.layout),
            ownership: self.ownership,
            persistence: self.persistence,
            pending: self.pending.twin(),
            counted: self.counted.clone(),
            draws: self.draws.clone(),
            release: self.release,
            planted: self.planted,
        }
    }

    /// Begins as if this chip had written all of memory while these values were frequent. Each has the number of times that
    /// it was seen, and the most frequent is first: the table of frequent values contains them, and lines are re-ordered, with bitmaps in memory, if the design re-orders
    /// lines. Has no effect on a design without such a table. Must be called before the first access.
    pub fn begin_ordered(&mut self, values: &[(u64, u64)]) {
        let Some(speculation) = &self.codec.speculation else { return };
        self.codec.start_order = speculation.begin_ordered(values);
        if self.codec.start_order.is_by_values() {
            self.metadata.bitmaps.iter_mut().for_each(BitmapCipher::begin_ordered);
        }
    }

    /// Reads or changes the trusted state on the chip, between two accesses. If a machine's last-level cache and L2s
    /// hold metadata, accesses to this state update them as well.
    pub fn on_chip<R>(&self, access: impl FnOnce(&mut ChipState) -> R) -> R {
        self.metadata.on_chip(access)
    }

    /// Statistics of the scheme so far.
    pub fn counted(&self) -> SchemeCounts {
        let mut counted = self.counted.get();
        let RenewedNodes { nodes, children } = self.metadata.renewed();
        (counted.renewals.nodes, counted.renewals.children) = (nodes, children);
        counted.speculation = self.codec.speculation.as_ref().map(Speculation::counted).unwrap_or_default();
        counted
    }

    /// Writes back all dirty metadata and drops the clean lines, as if other accesses had evicted them.
    pub async fn flush<V: Verbs>(&self, verbs: &V) {
        self.metadata.flush(verbs).await;
        let (speculation, lines) = (self.codec.speculation.as_ref(), self.layout.data_lines());
        let table = speculation.and_then(|speculation| speculation.spilled(self.codec.planted, lines));
        for (slot, content) in self.codec.spilled.iter().copied().chain(table) {
            verbs.store(slot, Role::Data, content.into()).await;
        }
    }

    /// Implements [`Scheme::age`](super::Scheme::age) for fixed lines.
    pub(super) async fn age<V: Verbs>(&self, verbs: &V, line: LineAddr, age: Age) {
        let Some(slot) = self.counter_slot(line) else { return };
        let outcome =
            self.metadata.edit(verbs, slot, Role::Counter, |counters| *counters = self.counters.aged(age)).await;
        self.finish(verbs, outcome).await;
        if self.persistence.exists() {
            // After a long life of durable writes, memory also holds these counters.
            self.metadata.flush(verbs).await;
        }
    }

    /// Folds all other roots into the topmost one, for a machine that keeps only that one line.
    pub async fn fold_forest<V: Verbs>(&self, verbs: &V) {
        for root in self.on_chip(|chip| chip.forest.roots()) {
            let outcome = ParentUpdate { metadata: &self.metadata, verbs }.fold(root).await;
            self.finish(verbs, outcome).await;
        }
    }

    /// Ends an access: reports tampering, and writes back the metadata that the access evicted.
    pub(super) async fn finish<V: Verbs>(&self, verbs: &V, outcome: Result<(), Fault>) {
        if cfg!(feature = "planted-bugs") {
            meetings::note(self.on_chip(|chip| chip.power.set()));
        }
        if let Err(fault) = outcome
            && !self.planted.has(Bug::FaultSwallowed)
        {
            self.on_chip(|chip| chip.power.reported());
            verbs.fault(fault);
        }
        self.metadata.write_back_leaving(verbs).await;
    }

    /// Number of data lines for each counter line, if the design has counters.
    pub fn lines_per_counter_line(&self) -> Option<u64> {
        self.counters.exist().then(|| self.counters.lines_per_group())
    }

    /// The counter of a line in its counter line.
    pub(super) fn version(&self, counters: &Line, line: LineAddr) -> Counter {
        self.counters.read(counters, self.counters.position(line))
    }

    /// Calls `name` with each slot that a read of a line would fetch now, the line's slot last. A node above several
    /// missing metadata lines is named more than once. Counters are named even if an L2 has a usable copy. Does not
    /// update replacement state.
    pub fn name_fetched(&self, line: LineAddr, mut name: impl FnMut(Slot)) {
        let leaves = [
            (self.tag_slot(line), Role::Tag),
            (self.counter_slot(line), Role::Counter),
            (self.layout.owner_slot(line), Role::Owner),
            (bitmap::slot(&self.layout, line), Role::Bitmap),
        ];
        for (slot, role) in leaves {
            slot.iter().for_each(|slot| self.metadata.name_missing(*slot, role, &mut name));
        }
        name(self.layout.data_slot(line).slot());
    }

    /// The slot of a line's counter, if there are counters.
    pub fn counter_slot(&self, line: LineAddr) -> Option<Slot> {
        self.layout.region(Kind::Counters).map(|region| region.slot(self.counters.group(line)))
    }

    /// The slot of a line's tag, if there is a region of tags.
    pub fn tag_slot(&self, line: LineAddr) -> Option<Slot> {
        let entry = self.codec.mac.as_ref().map(|mac| mac.tag_layout().entry_of(line));
        self.layout.region(Kind::Tags).zip(entry).map(|(region, (index, _))| region.slot(index))
    }
}

/// Notes that a mechanism of the chip is under way.
pub(super) fn under_way(scheme: &FixedScheme, mechanism: Mechanism) -> Option<UnderWay> {
    if !cfg!(feature = "planted-bugs") {
        return None;
    }
    meetings::begin(mechanism, scheme.on_chip(|chip| chip.power.set()))
}

impl Hash for FixedScheme {
    /// Hashes the state of the chip between two accesses: metadata, roots, the persist buffer, and the state over losses of power.
    /// Leaves out keys, statistics and the order of replacement.
    ///
    /// # Panics
    /// If metadata lines also use a last-level cache or L2s.
    fn hash<H: Hasher>(&self, hash: &mut H) {
        self.on_chip(|chip| chip.hash(hash));
        self.pending.entries.borrow().hash(hash);
    }
}
