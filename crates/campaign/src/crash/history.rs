//! Record of a workload that has run, with all its requests to memory in order.
//!
//! The workload runs on the timed machine, so that writes overlap: phase-change memory behind a write-pending queue, as in the SecPB paper.
//! In every second history metadata caches are tiny, and another program evicts their lines again and again. Counter lines, tag lines and
//! nodes then leave the chip while tuples are in progress, at times that the seed draws. These stores belong to no tuple, and no write
//! waits for them.

pub use super::bench::WorkloadWrite;
use super::bench::{Bench, Power};
use super::sessions::{Beginning, Session};
use super::shown::{Changes, changes_memory};
use super::states::{self, Arrivals, DeadMemory, InitialState, WritesInMemory};
use super::storing;
use super::workload::Workload;
use crate::bus::Recording;
use crate::victim::with_tiny_caches;
use catalogue::Design;
use protection::design::Parts;
use protection::domain::{Registers, WritePendingQueue};
use protection::layout::Layout;
use protection::ledger::Ledger;
use protection::planted::PlantedBug;
use protection::tree::ForestDesign;
use std::collections::BTreeMap;
use std::rc::Rc;
use units::{Line, LineAddr};

/// Record of a workload that has run.
pub struct History {
    /// Parts of the design, with the caches that were used.
    pub parts: Parts,
    /// Layout of the memory.
    pub layout: Layout,
    /// Seed of keys and contents.
    pub seed: u64,
    /// A deliberate weakness, if any.
    pub planted: PlantedBug,
    /// The workload that was run.
    pub workload: Workload,
    /// Content of the lines before the workload.
    pub before: BTreeMap<LineAddr, Line>,
    /// Content of memory before the workload.
    pub memory: Recording,
    /// Registers before the workload.
    pub registers: Registers,
    /// Keystream that the memory had shown before the workload.
    pub shown: Rc<Ledger>,
    /// Operations that change memory, in order.
    pub changes: Changes,
    /// The writes, in the order in which they were accepted.
    pub writes: Vec<WorkloadWrite>,
    /// Sessions before this one.
    pub earlier: Vec<Rc<Session>>,
}

impl History {
    /// Runs a workload on a new machine.
    ///
    /// # Panics
    /// If the design's parts do not fit together, or if a write alarms or never returns.
    pub fn of(design: &Design, workload: &Workload, seed: u64, planted: PlantedBug) -> History {
        let parts = if workload.is_crowded() { with_tiny_caches(&design.parts) } else { design.parts.clone() };
        History::after(Vec::new(), restless(parts), workload, seed, planted)
    }

    /// Runs a workload after these sessions.
    pub(super) fn after(
        earlier: Vec<Rc<Session>>,
        parts: Parts,
        workload: &Workload,
        seed: u64,
        planted: PlantedBug,
    ) -> History {
        let power_on = || Bench::new(&parts, seed, planted);
        let Beginning { mut bench, mut random, before, shown } = Beginning::after(&earlier, power_on, workload, seed);
        let memory = Recording::of(&bench.memory.media().borrow());
        let registers = bench.memory.registers();
        let contents = workload.contents(&mut random);
        let crowding = workload.is_crowded().then_some(&mut random);
        let mut writes = storing::store(&mut bench, parts.persistence.point, workload, &contents, crowding);
        let operations = bench.records.take_operations();
        let changes =
            |so_far: usize| operations[..so_far].iter().filter(|operations| changes_memory(operations)).count();
        for write in &mut writes {
            (write.issued, write.returned) = (changes(write.issued), changes(write.returned));
        }
        let (layout, changes) = (bench.scheme.layout().clone(), Changes::among(operations));
        let workload = workload.clone();
        History { parts, layout, seed, planted, workload, before, memory, registers, shown, changes, writes, earlier }
    }

    /// Returns the machine at the beginning of the history, switched on by `power_on`.
    pub(super) fn begin(&self, power_on: Power) -> Beginning {
        let power_on = || power_on(&self.parts, self.seed, self.planted);
        Beginning::after(&self.earlier, power_on, &self.workload, self.seed)
    }

    /// Returns the memory before the workload.
    pub fn start(&self) -> InitialState {
        let (image, registers, shown) = (self.memory.clone(), self.registers.clone(), self.shown.clone());
        InitialState { image, registers, shown, slots: self.layout.total_lines() }
    }

    /// Returns a dead memory as the start of further changes.
    pub fn start_from(&self, dead: &DeadMemory) -> InitialState {
        let (image, registers, shown) = (dead.image.clone(), dead.registers.clone(), dead.shown.clone());
        InitialState { image, registers, shown, slots: self.layout.total_lines() }
    }

    /// Returns every different state that a loss of power leaves, point by point: before the first change to memory and after each.
    pub fn left(&self, arrivals: Arrivals) -> Vec<DeadMemory> {
        let progress = |point| self.progress(point);
        states::states_of(&self.changes, &self.start(), WritePendingQueue::Inside, arrivals, self.seed, &progress)
    }

    /// Like [`History::left`], on a machine without stored energy: the queue does not drain and is lost.
    pub fn left_without_energy(&self, arrivals: Arrivals) -> Vec<DeadMemory> {
        let progress = |point| self.progress(point);
        states::states_of(&self.changes, &self.start(), WritePendingQueue::Outside, arrivals, self.seed, &progress)
    }

    /// Returns how many writes had returned and how many had begun after `point` changes to memory.
    fn progress(&self, point: usize) -> WritesInMemory {
        let returned = self.writes.iter().rposition(|write| write.returned <= point).map_or(0, |last| last + 1);
        let begun = self.writes.iter().filter(|write| write.issued <= point).count();
        WritesInMemory { least: returned, most: begun.max(returned) }
    }

    /// Returns the contents that memory may hold after a loss of power. With a buffer or durable caches this is the state after all
    /// accepted stores. Otherwise it is the state after any number of whole writes that includes all that had returned.
    pub fn allowed(&self, dead: &DeadMemory) -> Vec<BTreeMap<LineAddr, Line>> {
        if let Some(accepted) = &dead.accepted {
            return vec![self.content_with(accepted.iter().copied())];
        }
        let WritesInMemory { least, most } = dead.progress;
        let so_many = |writes| self.writes[..writes].iter().map(|write| (write.line, write.content));
        (least..=most).map(|writes| self.content_with(so_many(writes))).collect()
    }

    /// Returns true if a line ever had this content, in this session or in an earlier one.
    pub fn had(&self, line: LineAddr, bytes: &Line) -> bool {
        let written = self.writes.iter().any(|write| write.line == line && write.content == *bytes);
        let before = self.before.get(&line) == Some(bytes);
        written || before || self.earlier.iter().any(|session| session.had(line, bytes))
    }

    /// Returns the content of the lines after these writes.
    pub fn content_with(&self, writes: impl IntoIterator<Item = (LineAddr, Line)>) -> BTreeMap<LineAddr, Line> {
        let mut content = self.before.clone();
        content.extend(writes);
        content
    }
}

/// Limits a dynamic forest to two roots and lets it change after every second write. Even in the shortest workload, a node then becomes a
/// root and another stops being one.
fn restless(mut parts: Parts) -> Parts {
    if let Some(ForestDesign::Dynamic { entries, period, threshold }) = &mut parts.tree.forest {
        (*entries, *period, *threshold) = (2, 2, 0);
    }
    parts
}
