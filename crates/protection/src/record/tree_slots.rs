//! Where records and the pairs of nodes above them lie in memory.

use super::leaf::LEAF_LINES;
use super::verification::NodeName;
use crate::layout::{Layout, Region};
use crate::slot::{Kind, Role, Slot};

/// The slots of a tree over records.
#[derive(Clone)]
pub(super) struct TreeSlots {
    /// All slots of memory.
    total: u64,
    records: Region,
    /// Lines of pairs, from the lowest level up.
    levels: Box<[Region]>,
}

impl TreeSlots {
    /// Those that `layout` has room for.
    ///
    /// # Panics
    /// If the layout has no records.
    pub fn new(layout: &Layout) -> TreeSlots {
        let records = layout.region(Kind::Records).expect("a layout with records");
        TreeSlots { total: layout.total_lines(), records, levels: layout.levels().into() }
    }

    /// Levels of pairs.
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// The first slot of a record.
    pub fn of_record(&self, record: u64) -> Slot {
        self.records.slot(record * LEAF_LINES as u64)
    }

    /// The first slot of the right one of two records that lie side by side from here on.
    pub fn right_of(&self, left: Slot) -> Slot {
        Slot(left.0 + LEAF_LINES as u64)
    }

    /// The slots of a record.
    pub fn of_leaf(&self, record: u64) -> impl Iterator<Item = Slot> + use<> {
        leaf_from(self.of_record(record))
    }

    /// The lines of pairs above a record, from the lowest up.
    pub fn above(&self, record: u64) -> impl Iterator<Item = (Slot, Role)> {
        self.levels.iter().enumerate().map(move |(level, region)| (region.slot(record >> (level + 2)), region.role))
    }

    /// What the pairs of a level are, from the lowest up.
    pub fn role(&self, level: usize) -> Role {
        self.levels[level].role
    }

    /// Where a node lies with its sibling: the first slot of both.
    pub fn of_siblings(&self, name: NodeName) -> Slot {
        match self.levels().checked_sub(name.depth) {
            Some(level) => self.levels[level].slot(name.position / 2),
            None => self.of_record(name.position & !1),
        }
    }

    /// Whether memory has so many slots from one on.
    pub fn has(&self, first: Slot, count: usize) -> bool {
        first.0.checked_add(count as u64).is_some_and(|end| end <= self.total)
    }

    /// A slot that the whole tree is known by: the topmost.
    pub fn topmost(&self) -> Slot {
        self.levels.last().unwrap_or(&self.records).slot(0)
    }
}

/// The slots of a record that begins here.
pub(super) fn leaf_from(first: Slot) -> impl Iterator<Item = Slot> {
    (first.0..first.0 + LEAF_LINES as u64).map(Slot)
}
