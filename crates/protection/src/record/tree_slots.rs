//! Slots of records and of the pairs of nodes above them.

use super::leaf::LEAF_LINES;
use super::verification::NodeName;
use crate::layout::{Layout, Region};
use crate::slot::{Kind, Role, Slot};

/// The slots of a tree over records.
#[derive(Clone)]
pub(super) struct TreeSlots {
    /// Number of all slots of memory.
    total: u64,
    records: Region,
    /// Lines of pairs, from the lowest level up.
    levels: Box<[Region]>,
}

impl TreeSlots {
    /// Returns the slots of the tree in `layout`.
    ///
    /// # Panics
    /// If the layout has no records.
    pub fn new(layout: &Layout) -> TreeSlots {
        let records = layout.region(Kind::Records).expect("a layout with records");
        TreeSlots { total: layout.total_lines(), records, levels: layout.levels().into() }
    }

    /// Number of levels of pairs.
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Returns the first slot of a record.
    pub fn of_record(&self, record: u64) -> Slot {
        self.records.slot(record * LEAF_LINES as u64)
    }

    /// Returns the first slot of the right one of two adjacent records that begin here.
    pub fn right_of(&self, left: Slot) -> Slot {
        Slot(left.0 + LEAF_LINES as u64)
    }

    /// Returns the slots of a record.
    pub fn of_leaf(&self, record: u64) -> impl Iterator<Item = Slot> + use<> {
        leaf_from(self.of_record(record))
    }

    /// Returns the lines of pairs above a record, from the lowest up.
    pub fn above(&self, record: u64) -> impl Iterator<Item = (Slot, Role)> {
        self.levels.iter().enumerate().map(move |(level, region)| (region.slot(record >> (level + 2)), region.role))
    }

    /// Returns the role of the pairs of a level, from the lowest up.
    pub fn role(&self, level: usize) -> Role {
        self.levels[level].role
    }

    /// Returns the first slot of a node and its sibling.
    pub fn of_siblings(&self, name: NodeName) -> Slot {
        match self.levels().checked_sub(name.depth) {
            Some(level) => self.levels[level].slot(name.position / 2),
            None => self.of_record(name.position & !1),
        }
    }

    /// Returns whether memory has `count` slots from `first` on.
    pub fn has(&self, first: Slot, count: usize) -> bool {
        first.0.checked_add(count as u64).is_some_and(|end| end <= self.total)
    }

    /// Returns a slot that identifies the whole tree: the topmost.
    pub fn topmost(&self) -> Slot {
        self.levels.last().unwrap_or(&self.records).slot(0)
    }
}

/// Returns the slots of a record that begins here.
pub(super) fn leaf_from(first: Slot) -> impl Iterator<Item = Slot> {
    (first.0..first.0 + LEAF_LINES as u64).map(Slot)
}
