//! A workload carried out, with everything that it asked of memory, in order.
//!
//! It runs on the timed machine, so that writes overlap as they do there: phase-change memory behind a write-pending queue,
//! as the SecPB paper has it. In every second history metadata caches are tiny and another program needs them again and
//! again, so that lines of counters, of tags and nodes leave the chip while tuples are under way, at times that the seed draws:
//! stores that belong to no tuple and that nothing waits for.

pub use super::bench::Write;
use super::bench::{Bench, Power};
use super::sessions::{Beginning, Session};
use super::shown::{Changes, changes_memory};
use super::states::{self, Arrivals, DeadMemory, Start};
use super::storing;
use super::workload::Workload;
use crate::bus::Recording;
use crate::victim::with_tiny_caches;
use catalogue::Design;
use protection::design::Parts;
use protection::domain::{Queue, Registers};
use protection::layout::Layout;
use protection::ledger::Ledger;
use protection::planted::Planted;
use protection::tree::ForestDesign;
use std::collections::BTreeMap;
use std::rc::Rc;
use units::{Line, LineAddr};

/// What a workload did.
pub struct History {
    /// The design's parts, with the caches that were used.
    pub parts: Parts,
    /// Where things lie.
    pub layout: Layout,
    /// Of keys and contents.
    pub seed: u64,
    /// A deliberate weakness, or none.
    pub planted: Planted,
    /// What was to be carried out.
    pub workload: Workload,
    /// What the lines held before.
    pub before: BTreeMap<LineAddr, Line>,
    /// The memory before.
    pub memory: Recording,
    /// The registers before.
    pub registers: Registers,
    /// The keystream that the memory had shown before.
    pub shown: Rc<Ledger>,
    /// What was asked of memory and changes it, in order.
    pub changes: Changes,
    /// The writes, in the order in which they were accepted.
    pub writes: Vec<Write>,
    /// The sessions before.
    pub earlier: Vec<Rc<Session>>,
}

impl History {
    /// Carries a workload out, on a new machine.
    ///
    /// # Panics
    /// If the design's parts make no sense together; if a write alarms or never returns.
    pub fn of(design: &Design, workload: &Workload, seed: u64, planted: Planted) -> History {
        let parts = if workload.is_crowded() { with_tiny_caches(&design.parts) } else { design.parts.clone() };
        History::after(Vec::new(), restless(parts), workload, seed, planted)
    }

    /// Carries a workload out after these sessions.
    pub(super) fn after(
        earlier: Vec<Rc<Session>>,
        parts: Parts,
        workload: &Workload,
        seed: u64,
        planted: Planted,
    ) -> History {
        let power_on = || Bench::new(&parts, seed, planted);
        let Beginning { mut bench, mut random, before, shown } = Beginning::after(&earlier, power_on, workload, seed);
        let memory = Recording::of(&bench.memory.media().borrow());
        let registers = bench.memory.registers();
        let contents = workload.contents(&mut random);
        let crowding = workload.is_crowded().then_some(&mut random);
        let mut writes = storing::store(&mut bench, parts.persistence.point, workload, &contents, crowding);
        let asked = bench.verbs.take_operations();
        let changes = |so_far: usize| asked[..so_far].iter().filter(|asked| changes_memory(asked)).count();
        for write in &mut writes {
            (write.issued, write.returned) = (changes(write.issued), changes(write.returned));
        }
        let (layout, changes) = (bench.scheme.layout().clone(), Changes::among(asked));
        let workload = workload.clone();
        History { parts, layout, seed, planted, workload, before, memory, registers, shown, changes, writes, earlier }
    }

    /// The machine with which it began, switched on so.
    pub(super) fn begin(&self, power_on: Power) -> Beginning {
        let power_on = || power_on(&self.parts, self.seed, self.planted);
        Beginning::after(&self.earlier, power_on, &self.workload, self.seed)
    }

    /// The memory before.
    pub fn start(&self) -> Start {
        let (image, registers, shown) = (self.memory.clone(), self.registers.clone(), self.shown.clone());
        Start { image, registers, shown, slots: self.layout.total_lines() }
    }

    /// What a dead memory goes on from.
    pub fn start_from(&self, dead: &DeadMemory) -> Start {
        let (image, registers, shown) = (dead.image.clone(), dead.registers.clone(), dead.shown.clone());
        Start { image, registers, shown, slots: self.layout.total_lines() }
    }

    /// Every different state that a loss of power leaves, point by point: before the first change that is asked of memory and
    /// after each.
    pub fn left(&self, arrivals: Arrivals) -> Vec<DeadMemory> {
        let progress = |point| self.progress(point);
        states::states_of(&self.changes, &self.start(), Queue::Inside, (arrivals, self.seed), &progress)
    }

    /// As [`History::left`], on a machine that has no stored energy: nothing drains, and the queue is lost.
    pub fn left_without_energy(&self, arrivals: Arrivals) -> Vec<DeadMemory> {
        let progress = |point| self.progress(point);
        states::states_of(&self.changes, &self.start(), Queue::Outside, (arrivals, self.seed), &progress)
    }

    /// How many writes had returned, and how many had begun, when so many changes had been asked of memory.
    fn progress(&self, point: usize) -> (usize, usize) {
        let returned = self.writes.iter().rposition(|write| write.returned <= point).map_or(0, |last| last + 1);
        let begun = self.writes.iter().filter(|write| write.issued <= point).count();
        (returned, begun.max(returned))
    }

    /// What memory may hold after a loss of power: the state after all that were durable in a buffer or in caches; else after any number of
    /// whole writes, of those that had returned all.
    pub fn allowed(&self, dead: &DeadMemory) -> Vec<BTreeMap<LineAddr, Line>> {
        if let Some(accepted) = &dead.accepted {
            return vec![self.content_with(accepted.iter().copied())];
        }
        let (returned, begun) = dead.progress;
        let so_many = |writes| self.writes[..writes].iter().map(|write| (write.line, write.content));
        (returned..=begun).map(|writes| self.content_with(so_many(writes))).collect()
    }

    /// Whether a line ever held this, in this session or in an earlier one.
    pub fn had(&self, line: LineAddr, bytes: &Line) -> bool {
        let written = self.writes.iter().any(|write| write.line == line && write.content == *bytes);
        let before = self.before.get(&line) == Some(bytes);
        written || before || self.earlier.iter().any(|session| session.had(line, bytes))
    }

    /// What the lines hold after these writes.
    pub fn content_with(&self, writes: impl IntoIterator<Item = (LineAddr, Line)>) -> BTreeMap<LineAddr, Line> {
        let mut content = self.before.clone();
        content.extend(writes);
        content
    }
}

/// The same, but a dynamic forest has room for two roots and may change after every second write: so that even in the shortest workload a
/// node becomes a root, and another stops being one.
fn restless(mut parts: Parts) -> Parts {
    if let Some(ForestDesign::Dynamic { entries, period, threshold }) = &mut parts.tree.forest {
        (*entries, *period, *threshold) = (2, 2, 0);
    }
    parts
}
