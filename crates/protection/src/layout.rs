//! Where everything lies in memory: data at the bottom, then counters, tags, the tree from its leaves up, and owners.
//!
//! ```text
//! 0            data_lines
//! | data       | counters | tags | tree 0 | tree 1 | ... | owners |      the root is on the chip
//! ```

use crate::ownership::LINES_PER_TABLE_LINE;
use crate::verbs::{Role, Slot};
use arrayvec::ArrayVec;
use serde::Serialize;
use units::{LINE_BYTES, LineAddr};

/// Levels of tree that a layout can hold: as many as binary trees over 1 PB need.
pub const LEVELS_MAX: usize = 40;

/// A run of slots with one role.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Region {
    /// What its slots are for.
    pub role: Role,
    /// Its first slot.
    pub base: u64,
    /// How many slots it has.
    pub lines: u64,
}

impl Region {
    /// The slot of this region with this index.
    pub fn slot(&self, index: u64) -> Slot {
        debug_assert!(index < self.lines);
        Slot(self.base + index)
    }

    /// All its slots, in order.
    pub fn slots(self) -> impl Iterator<Item = Slot> {
        (self.base..self.base + self.lines).map(Slot)
    }

    fn contains(&self, slot: Slot) -> bool {
        slot.0.wrapping_sub(self.base) < self.lines
    }
}

/// The map of one protected memory.
#[derive(Clone, Debug)]
pub struct Layout {
    regions: ArrayVec<Region, { LEVELS_MAX + 4 }>,
    counters: Option<Region>,
    tags: Option<Region>,
    owners: Option<Region>,
    leaves: Option<Region>,
    levels: ArrayVec<Region, LEVELS_MAX>,
}

/// What a design keeps beside its data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Needs {
    /// Data lines served by one line of counters.
    pub lines_per_counter_line: Option<u64>,
    /// Tags in one line of tags.
    pub tags_per_line: Option<u64>,
    /// The tree, if there is one.
    pub tree: Option<TreeNeeds>,
}

/// What a tree keeps in memory and on the chip.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeNeeds {
    /// The metadata that it covers.
    pub leaves: Role,
    /// Children of one node, by level from the one above the leaves; the last stands for all above it.
    pub arities: Vec<u64>,
    /// Nodes that the root on the chip holds.
    pub root_lines: u64,
}

impl TreeNeeds {
    fn arity(&self, level: usize) -> u64 {
        self.arities[level.min(self.arities.len() - 1)]
    }
}

impl Layout {
    /// Lays out `data_lines` and what the design needs for them.
    pub fn new(data_lines: u64, needs: Needs) -> Layout {
        let mut layout = Layout {
            regions: ArrayVec::new(),
            counters: None,
            tags: None,
            owners: None,
            leaves: None,
            levels: ArrayVec::new(),
        };
        layout.append(Role::Data, data_lines);
        layout.counters =
            needs.lines_per_counter_line.map(|lines| layout.append(Role::Counter, data_lines.div_ceil(lines)));
        layout.tags = needs.tags_per_line.map(|tags| layout.append(Role::Tag, data_lines.div_ceil(tags)));
        if let Some(tree) = &needs.tree {
            layout.leaves = if tree.leaves == Role::Tag { layout.tags } else { layout.counters };
            let mut below = layout.leaves.map_or(0, |leaves| leaves.lines);
            // Levels are stored until the nodes on the chip can hold what is left.
            while below > tree.arity(layout.levels.len()) * tree.root_lines {
                below = below.div_ceil(tree.arity(layout.levels.len()));
                let level = layout.append(Role::Node(layout.levels.len() as u8), below);
                layout.levels.push(level);
            }
        }
        layout
    }

    /// Adds a table of the owners of pages, above everything else.
    pub(crate) fn with_owners(mut self) -> Layout {
        self.owners = Some(self.append(Role::Owner, self.data_lines().div_ceil(LINES_PER_TABLE_LINE)));
        self
    }

    fn append(&mut self, role: Role, lines: u64) -> Region {
        let base = self.regions.last().map_or(0, |last| last.base + last.lines);
        let region = Region { role, base, lines };
        self.regions.push(region);
        region
    }

    /// All regions, from the bottom up.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Lines of data.
    pub fn data_lines(&self) -> u64 {
        self.regions[0].lines
    }

    /// Lines of everything.
    pub fn total_lines(&self) -> u64 {
        self.regions.last().map_or(0, |last| last.base + last.lines)
    }

    /// Metadata in percent of the data it protects.
    pub fn overhead_percent(&self) -> f64 {
        (self.total_lines() - self.data_lines()) as f64 * 100.0 / self.data_lines() as f64
    }

    /// The stored levels of the tree, from the one above the counters to the one below the root.
    pub fn levels(&self) -> &[Region] {
        &self.levels
    }

    /// What the tree covers, if there is one.
    pub fn leaves(&self) -> Option<Region> {
        self.leaves
    }

    /// The region of counters, if the design keeps any.
    pub fn counters(&self) -> Option<Region> {
        self.counters
    }

    /// The region of tags, if the design keeps any.
    pub fn tags(&self) -> Option<Region> {
        self.tags
    }

    /// The table of the owners of pages, if the design keeps one.
    pub fn owners(&self) -> Option<Region> {
        self.owners
    }

    /// The slot of a data line.
    pub fn data_slot(&self, line: LineAddr) -> Slot {
        self.regions[0].slot(line.0)
    }

    /// What a slot is for, and its index in its region.
    ///
    /// # Panics
    /// If the slot lies outside the memory.
    pub fn place(&self, slot: Slot) -> (Role, u64) {
        match self.regions.iter().find(|region| region.contains(slot)) {
            Some(region) => (region.role, slot.0 - region.base),
            None => panic!("slot {slot} lies outside the memory"),
        }
    }

    /// The layout as people read it: who lives where and what it costs.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for region in &self.regions {
            let bytes = region.lines * LINE_BYTES as u64;
            let percent = region.lines as f64 * 100.0 / self.data_lines() as f64;
            text += &format!(
                "{:<14} {:>#14x} {:>16} B {:>9.4} %\n",
                region.role.to_string(),
                region.base * LINE_BYTES as u64,
                bytes,
                percent
            );
        }
        text + &format!("overhead {:.4} %\n", self.overhead_percent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_slot_has_one_place(
            data_lines in 1u64..100_000, low in 2u64..65, high in 2u64..65, root_lines in 1u64..9, over_tags: bool,
        ) {
            let leaves = if over_tags { Role::Tag } else { Role::Counter };
            let tree = TreeNeeds { leaves, arities: vec![low, high], root_lines };
            let layout = Layout::new(data_lines, Needs {
                lines_per_counter_line: Some(64), tags_per_line: Some(8), tree: Some(tree.clone()),
            });
            let mut next = 0;
            for region in layout.regions() {
                prop_assert_eq!(region.base, next);
                next += region.lines;
                for index in [0, region.lines / 2, region.lines - 1] {
                    prop_assert_eq!(layout.place(region.slot(index)), (region.role, index));
                }
            }
            prop_assert_eq!(next, layout.total_lines());
            let top = layout.levels().last().copied().or(layout.leaves()).unwrap();
            let reach = tree.arity(layout.levels().len()) * root_lines;
            prop_assert!(top.lines <= reach, "the root must reach every node below it");
        }
    }

    #[test]
    fn sixteen_gigabytes_under_sc64_and_a_bonsai_tree_cost_as_much_as_the_arithmetic_says() {
        let tree = TreeNeeds { leaves: Role::Counter, arities: vec![8], root_lines: 1 };
        let needs = Needs { lines_per_counter_line: Some(64), tags_per_line: Some(8), tree: Some(tree) };
        let layout = Layout::new((16 << 30) / 64, needs);
        // 1/64 counters, 1/8 tags, 1/64 * (1/8 + 1/64 + ...) nodes.
        assert!((layout.overhead_percent() - (1.5625 + 12.5 + 1.5625 / 7.0)).abs() < 0.001);
    }
}
