//! Layout of memory: data at the bottom, then counters, tags, the tree from its leaves up, owners and bitmaps. In a
//! memory with permuted lines, the data are followed by the records of page chunks, by the tree over the records, and
//! by the contexts of processes.
//!
//! ```text
//! 0            data_lines
//! | data       | counters | tags | tree 0 | tree 1 | ... | owners | bitmaps |      the root is on the chip
//! ```

mod records;
mod report;

pub use records::{with_contexts, with_records};
pub use report::{LayoutReport, OnChipReport, RegionReport};

use crate::bitmaps;
use crate::counter::CounterOrganisation;
use crate::mac::{TagLayout, TagLocation};
use crate::media::Shape;
use crate::ownership::LINES_PER_TABLE_LINE;
use crate::placement::{DataSlot, Placement};
use crate::slot::{Kind, Role, Slot};
use arrayvec::ArrayVec;
use enum_map::{Enum, EnumMap};
use units::{LINE_BYTES, LineAddr, LineLength};

/// Maximum number of tree levels in a layout: the number that binary trees over 1 PB need.
pub const LEVELS_MAX: usize = 40;

/// A run of slots with the same role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// Role of the region's slots.
    pub role: Role,
    /// First slot of the region.
    pub base: u64,
    /// Number of slots in the region.
    pub lines: u64,
    /// Number of lines that one slot serves. For nodes of the tree, these are children. For all other roles, they are
    /// data lines; all slots of a record together serve the data lines of its page chunk.
    pub serves: u64,
}

impl Region {
    /// Returns the slot of this region with this index.
    pub fn slot(&self, index: u64) -> Slot {
        debug_assert!(index < self.lines);
        Slot(self.base + index)
    }

    /// All slots of the region, in order.
    pub fn slots(self) -> impl Iterator<Item = Slot> {
        (self.base..self.base + self.lines).map(Slot)
    }

    fn contains(&self, slot: Slot) -> bool {
        slot.0.wrapping_sub(self.base) < self.lines
    }
}

/// Number and length of the lines of data of a memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataLines {
    /// Number of the lines.
    pub count: u64,
    /// Length of each line. A metadata line has 64 bytes.
    pub length: LineLength,
}

impl From<u64> for DataLines {
    /// Returns `count` lines of 64 bytes.
    fn from(count: u64) -> DataLines {
        DataLines { count, length: LineLength::WHOLE }
    }
}

/// Memory map of one protected memory.
#[derive(Clone, Debug)]
pub struct Layout {
    placement: Placement,
    length: LineLength,
    regions: ArrayVec<Region, { LEVELS_MAX + Kind::LENGTH - 1 }>,
    /// For each kind, the index of its first region and the number of its regions.
    of: EnumMap<Kind, (u8, u8)>,
    /// Kind of metadata that the tree covers.
    leaves: Option<Kind>,
    root: Option<Root>,
    tags: Option<TagLayout>,
    /// Organisation of counter lines: `CounterOrganisation::None` until the builder of a scheme sets it.
    pub(crate) counters: CounterOrganisation,
}

/// The lines on the chip that vouch for the topmost nodes in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Root {
    /// Number of lines on the chip.
    pub lines: u64,
    /// Children of each line.
    pub serves: u64,
    /// Bytes of each line.
    pub bytes: u64,
}

/// Metadata that a design needs in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Needs {
    /// Data lines served by one counter line.
    pub lines_per_counter_line: Option<u64>,
    /// Places of the tags.
    pub tags: Option<TagLayout>,
    /// Nodes of the tree, if the design has one.
    pub tree: Option<TreeNeeds>,
}

/// Nodes that a tree keeps in memory and on the chip.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeNeeds {
    /// Metadata that the tree covers.
    pub leaves: Role,
    /// Number of children of one node, by level from the level above the leaves; the last value applies to all higher
    /// levels.
    pub arities: Vec<u64>,
    /// Number of nodes that the root on the chip holds.
    pub root_lines: u64,
}

impl TreeNeeds {
    fn arity(&self, level: usize) -> u64 {
        self.arities[level.min(self.arities.len() - 1)]
    }
}

impl Layout {
    /// Lays out `data` and the metadata that the design needs for them.
    ///
    /// # Errors
    /// If the tree would have more than [`LEVELS_MAX`] levels.
    pub fn new(data: impl Into<DataLines>, needs: Needs) -> Result<Layout, String> {
        let DataLines { count: data_lines, length } = data.into();
        let mut layout = Layout {
            placement: Placement::default(),
            length,
            regions: ArrayVec::new(),
            of: EnumMap::default(),
            leaves: None,
            root: None,
            tags: needs.tags,
            counters: CounterOrganisation::None,
        };
        layout.append(Role::Data, data_lines, 1);
        let served = |layout: &mut Layout, role, each| layout.append(role, data_lines.div_ceil(each), each);
        if let Some(lines) = needs.lines_per_counter_line {
            served(&mut layout, Role::Counter, lines);
        }
        if let Some(tags) = needs.tags.filter(|tags| tags.location == TagLocation::Region) {
            served(&mut layout, Role::Tag, tags.lines * tags.per_line());
        }
        if let Some(tree) = &needs.tree {
            layout.grow(tree)?;
        }
        Ok(layout)
    }

    /// Adds a table of the owners of pages, above all other regions.
    pub(crate) fn with_owners(mut self) -> Layout {
        let each = LINES_PER_TABLE_LINE;
        self.append(Role::Owner, self.data_lines().div_ceil(each), each);
        self
    }

    /// Adds bitmaps of re-ordered lines, above all other regions.
    pub(crate) fn with_bitmaps(mut self) -> Layout {
        let each = bitmaps::LINES_PER_LINE;
        self.append(Role::Bitmap, self.data_lines().div_ceil(each), each);
        self
    }

    /// Adds stored levels until the nodes on the chip can cover the topmost one.
    fn grow(&mut self, tree: &TreeNeeds) -> Result<(), String> {
        self.leaves = Some(tree.leaves.kind());
        let mut below = self.leaves().map_or(0, |leaves| leaves.lines);
        let mut arity = tree.arity(0);
        while below > arity * tree.root_lines {
            if self.levels().len() == LEVELS_MAX {
                return Err(format!(
                    "tree has more than {LEVELS_MAX} levels over this memory: give its nodes more children or its root \
                     more lines (tree.arity, tree.levels, tree.root_lines)"
                ));
            }
            below = below.div_ceil(arity);
            self.append(Role::Node(self.levels().len() as u8), below, arity);
            arity = tree.arity(self.levels().len());
        }
        self.root = Some(Root { lines: tree.root_lines, serves: arity, bytes: LINE_BYTES as u64 });
        Ok(())
    }

    /// Adds a region above all existing ones; regions of one kind must follow each other.
    fn append(&mut self, role: Role, lines: u64, serves: u64) {
        let base = self.total_lines();
        let (first, count) = &mut self.of[role.kind()];
        if *count == 0 {
            *first = self.regions.len() as u8;
        }
        *count += 1;
        self.regions.push(Region { role, base, lines, serves });
    }

    /// Returns all regions, from the bottom up.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Number of lines of data.
    pub fn data_lines(&self) -> u64 {
        self.regions[0].lines
    }

    /// Number of slots in all regions.
    pub fn total_lines(&self) -> u64 {
        self.regions.last().map_or(0, |last| last.base + last.lines)
    }

    /// Returns the map from slots to the lines that the memory's channels transfer.
    pub fn shape(&self) -> Shape {
        let behind = self.tags.filter(|tags| tags.location == TagLocation::Inline);
        let (behind, slots_per_tag) = behind.map_or((0, 1), |tags| (tags.bytes as u64, tags.lines));
        Shape { slots: self.total_lines(), data: self.data_lines(), behind, slots_per_tag, length: self.length }
    }

    /// Size of the metadata in ordinary memory, in percent of the size of the protected data.
    pub fn overhead_percent(&self) -> f64 {
        let data = self.shape().data_bytes();
        (self.shape().byte(Slot(self.total_lines())) - data) as f64 * 100.0 / data as f64
    }

    /// Organisation of the counter lines; an attacker is assumed to know the organisation.
    pub fn counters(&self) -> CounterOrganisation {
        self.counters
    }

    /// Returns whether each tag is stored in the slot of its data.
    pub fn tags_with_data(&self) -> bool {
        self.tags.is_some_and(|tags| tags.location != TagLocation::Region)
    }

    /// Number of data lines under one tag.
    pub fn lines_per_tag(&self) -> u64 {
        self.tags.map_or(1, |tags| tags.lines)
    }

    /// Bytes of each tag's entry; zero without tags.
    pub fn tag_bytes(&self) -> usize {
        self.tags.map_or(0, |tags| tags.bytes)
    }

    /// Data lines per tag line. If the design keeps no region of tags, the number for the shortest tags.
    pub fn lines_per_tag_line(&self) -> u64 {
        let in_region = self.region(Kind::Tags).and(self.tags);
        in_region.map_or(TagLayout::MOST_PER_LINE, |tags| tags.lines * tags.per_line())
    }

    /// Returns the regions of a kind, from the bottom up.
    fn of(&self, kind: Kind) -> &[Region] {
        let (first, count) = self.of[kind];
        &self.regions[first.into()..usize::from(first + count)]
    }

    /// Returns the first region of a kind, if the design keeps any.
    pub fn region(&self, kind: Kind) -> Option<Region> {
        self.of(kind).first().copied()
    }

    /// Returns the slot of the entry of a line's page in the table of owners, if the design has a table.
    pub(crate) fn owner_slot(&self, line: LineAddr) -> Option<Slot> {
        self.region(Kind::Owners).map(|table| table.slot(line.0 / LINES_PER_TABLE_LINE))
    }

    /// Returns the stored levels of the tree, from the one above the leaves to the one below the root.
    pub fn levels(&self) -> &[Region] {
        self.of(Kind::Nodes)
    }

    /// Returns the region that the tree covers, if the design has a tree.
    pub fn leaves(&self) -> Option<Region> {
        self.leaves.and_then(|kind| self.region(kind))
    }

    /// Returns the slot of a line of data, with the line.
    pub fn data_slot(&self, line: LineAddr) -> DataSlot {
        let at = self.placement.of(line);
        debug_assert!(self.regions[0].contains(at.slot()));
        at
    }

    /// Returns the line in a slot of data, with the slot.
    pub fn line_in(&self, slot: Slot) -> DataSlot {
        debug_assert!(self.regions[0].contains(slot));
        self.placement.in_slot(slot)
    }

    /// Returns the role of a slot, and its index in its region.
    ///
    /// # Panics
    /// If the slot is outside the memory.
    pub fn role_and_index(&self, slot: Slot) -> (Role, u64) {
        match self.regions.iter().find(|region| region.contains(slot)) {
            Some(region) => (region.role, slot.0 - region.base),
            None => panic!("slot {slot} is outside the memory"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_slot_belongs_to_one_region_without_gaps(
            data_lines in 1u64..100_000, low in 2u64..65, high in 2u64..65, root_lines in 1u64..9, over_tags: bool,
        ) {
            let leaves = if over_tags { Role::Tag } else { Role::Counter };
            let tree = TreeNeeds { leaves, arities: vec![low, high], root_lines };
            let layout = Layout::new(data_lines, Needs {
                lines_per_counter_line: Some(64), tags: Some(TagLayout::of(56, TagLocation::Region, 1)), tree: Some(tree.clone()),
            }).unwrap();
            let mut next = 0;
            for region in layout.regions() {
                prop_assert_eq!(region.base, next);
                next += region.lines;
                for index in [0, region.lines / 2, region.lines - 1] {
                    prop_assert_eq!(layout.role_and_index(region.slot(index)), (region.role, index));
                }
            }
            prop_assert_eq!(next, layout.total_lines());
            let top = layout.levels().last().copied().or(layout.leaves()).unwrap();
            let reach = tree.arity(layout.levels().len()) * root_lines;
            prop_assert!(top.lines <= reach, "the root must reach every node below it");
        }
    }

    #[test]
    fn the_memory_overhead_of_sc64_with_a_bonsai_tree_over_16_gb_equals_the_formula() {
        let tree = TreeNeeds { leaves: Role::Counter, arities: vec![8], root_lines: 1 };
        let needs = Needs {
            lines_per_counter_line: Some(64),
            tags: Some(TagLayout::of(56, TagLocation::Region, 1)),
            tree: Some(tree),
        };
        let layout = Layout::new((16 << 30) / 64, needs).unwrap();
        // 1/64 counters, 1/8 tags, 1/64 * (1/8 + 1/64 + ...) nodes.
        assert!((layout.overhead_percent() - (1.5625 + 12.5 + 1.5625 / 7.0)).abs() < 0.001);
    }

    #[test]
    fn a_binary_tree_over_more_than_a_petabyte_is_refused_with_a_remedy() {
        let laid_out = |data_lines| {
            let tree = Some(TreeNeeds { leaves: Role::Tag, arities: vec![2], root_lines: 1 });
            Layout::new(
                data_lines,
                Needs { lines_per_counter_line: None, tags: Some(TagLayout::of(56, TagLocation::Region, 1)), tree },
            )
        };
        assert_eq!(laid_out((1 << 50) / 64).unwrap().levels().len(), LEVELS_MAX);
        assert!(laid_out((1 << 51) / 64).unwrap_err().contains("tree.root_lines"));
    }

    #[test]
    fn a_layout_report_counts_every_line_and_the_data_lines_per_metadata_line() {
        let tree = TreeNeeds { leaves: Role::Counter, arities: vec![8], root_lines: 2 };
        let needs = Needs {
            lines_per_counter_line: Some(64),
            tags: Some(TagLayout::of(56, TagLocation::Region, 1)),
            tree: Some(tree),
        };
        let layout = Layout::new(1 << 16, needs).unwrap();
        let report = layout.report(&[("counters", units::Bytes(256))], 2);
        assert_eq!(report.regions.iter().map(|region| region.lines).sum::<u64>(), layout.total_lines());
        let serves: Vec<u64> = report.regions.iter().map(|region| region.serves).collect();
        assert_eq!(serves, [1, 64, 8, 8, 8]);
        assert_eq!(report.on_chip.iter().map(|store| store.bytes).collect::<Vec<_>>(), [256, 128]);
    }
}
