//! Public map of a memory: the slot of each structure; where lines move, with a table of the known ones.

use super::Recording;
use protection::counter::CounterOrganisation;
use protection::layout::{Layout, Region};
use protection::verbs::{Role, Slot};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use units::{LINE_BYTES, LINES_PER_PAGE, Line, LineAddr};

/// Kind of a structure in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Structure {
    /// Lines of the program's data.
    Data,
    /// Tags of data lines.
    Tag,
    /// Counter lines; where lines move, the records of their page chunks, which contain the numbers of their pads and
    /// tags.
    Counter,
    /// Nodes of the tree at a level; level 0 is directly above the counters.
    Node(usize),
    /// Owners of the pages.
    Owner,
    /// Lines with the bitmaps of re-ordered lines.
    Bitmap,
    /// Encrypted contexts of processes. No data line depends on them.
    Context,
}

impl Structure {
    /// Returns the structure of slots with this role: every role has one, so that the map misses no region.
    fn of(role: Role) -> Structure {
        match role {
            Role::Data => Structure::Data,
            Role::Tag => Structure::Tag,
            Role::Counter | Role::Record => Structure::Counter,
            Role::Node(level) => Structure::Node(level.into()),
            Role::Owner => Structure::Owner,
            Role::Bitmap => Structure::Bitmap,
            Role::Context => Structure::Context,
        }
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Structure::Data => f.write_str("data"),
            Structure::Tag => f.write_str("tag"),
            Structure::Counter => f.write_str("counter"),
            Structure::Node(level) => write!(f, "tree level {level}"),
            Structure::Owner => f.write_str("owner"),
            Structure::Bitmap => f.write_str("bitmap"),
            Structure::Context => f.write_str("context"),
        }
    }
}

/// Public map of the structures in a memory.
///
/// All memories here have a power of two of lines, so that every slot of a region serves the same number of data lines. The map
/// follows from the sizes of the regions and shares no arithmetic with the schemes. If lines move, the attacker gets the table of
/// the lines that it knows.
#[derive(Clone, Copy, Debug)]
pub struct Map<'a>(&'a Layout, Option<SlotTable<'a>>);

/// Slots of the lines that move.
#[derive(Clone, Copy, Debug)]
enum SlotTable<'a> {
    /// Current slots, also after later permutations.
    Now(&'a RefCell<SlotMap>),
    /// Slots at the time of a recording.
    Then(&'a SlotMap),
}

impl SlotTable<'_> {
    fn look_up<R>(self, look: impl FnOnce(&SlotMap) -> R) -> R {
        match self {
            SlotTable::Now(moved) => look(&moved.borrow()),
            SlotTable::Then(moved) => look(moved),
        }
    }
}

/// Current slots of the known lines that move.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct SlotMap(BTreeMap<LineAddr, Slot>);

impl SlotMap {
    /// Notes the slot of a line from now on.
    pub fn note(&mut self, line: LineAddr, slot: Slot) {
        self.0.insert(line, slot);
    }

    fn line_in(&self, slot: Slot) -> Option<LineAddr> {
        self.0.iter().find(|(_, stored_in)| **stored_in == slot).map(|(line, _)| *line)
    }
}

impl<'a> Map<'a> {
    /// Creates the map of a memory.
    pub fn new(layout: &'a Layout) -> Map<'a> {
        Map(layout, None)
    }

    /// Creates the map of a memory with moving lines, with the table of the known ones.
    pub fn with_moved(layout: &'a Layout, moved: &'a RefCell<SlotMap>) -> Map<'a> {
        Map(layout, Some(SlotTable::Now(moved)))
    }

    /// Returns the map at the time of a recording.
    pub fn then<'r>(&self, recording: &'r Recording) -> Map<'r>
    where
        'a: 'r,
    {
        Map(self.0, recording.1.as_ref().map(SlotTable::Then))
    }

    /// Returns the current table of lines that move.
    pub(super) fn table(&self) -> Option<SlotMap> {
        self.1.map(|table| table.look_up(SlotMap::clone))
    }

    /// Returns the slot of a line of data.
    pub fn data_slot(&self, line: LineAddr) -> Slot {
        let moved = self.1.and_then(|table| table.look_up(|moved| moved.0.get(&line).copied()));
        moved.unwrap_or_else(|| self.0.data_slot(line).slot())
    }

    /// Returns the data slot that stores a line's tag: the last of the neighbouring slots under that tag.
    fn tag_slot(&self, line: LineAddr) -> Slot {
        let slots_per_tag = self.0.lines_per_tag();
        Slot(self.data_slot(line).0 / slots_per_tag * slots_per_tag + slots_per_tag - 1)
    }

    /// Lines of data, which have the first slots.
    pub fn data_lines(&self) -> u64 {
        self.0.data_lines()
    }

    /// Cuts the content of a line of data to the length of lines here.
    pub fn cut(&self, content: Line) -> Line {
        self.0.shape().length.cut(content)
    }

    /// Bytes of a line of data.
    pub fn line_bytes(&self) -> usize {
        self.0.shape().length.bytes()
    }

    /// Number of tree levels in memory.
    pub fn levels(&self) -> usize {
        self.0.levels().len()
    }

    /// Structures that verify a line in memory, from the bottom up: the line, its tag, its counters, and the nodes above these.
    pub fn path(&self) -> impl Iterator<Item = Structure> + Clone + use<> {
        let nodes = (0..self.levels()).map(Structure::Node);
        [Structure::Data, Structure::Tag, Structure::Counter].into_iter().chain(nodes)
    }

    /// Returns the slot that serves a line, and the bytes of it that serve no other line where the attacker can distinguish them.
    /// These are the line's data, its tag or its page's owner entry; for counters, bitmaps and nodes, the whole line.
    pub fn slot_bytes(&self, structure: Structure, line: LineAddr) -> Option<(Slot, Range<usize>)> {
        if structure == Structure::Tag && self.0.tags_with_data() {
            return Some((self.tag_slot(line), LINE_BYTES..LINE_BYTES + self.0.tag_bytes()));
        }
        let region = self.region(structure)?;
        if region.role == Role::Record {
            // Different lines select different lines of the record.
            let lines = self.record_slots(region, line);
            return lines.clone().nth(line.0 as usize % lines.count()).map(|slot| (slot, 0..LINE_BYTES));
        }
        let served = self.served_by_each(region);
        if line.0 >= self.0.data_lines() {
            return None;
        }
        let bytes = match structure {
            Structure::Tag => {
                let lines = self.0.lines_per_tag();
                let width = LINE_BYTES / (served / lines) as usize;
                let start = (line.0 % served / lines) as usize * width;
                start..start + width
            }
            Structure::Owner => {
                let width = LINE_BYTES / (served as usize / LINES_PER_PAGE);
                let start = (line.0 % served) as usize / LINES_PER_PAGE * width;
                start..start + width
            }
            Structure::Data => 0..self.line_bytes(),
            Structure::Counter | Structure::Node(_) | Structure::Bitmap | Structure::Context => 0..LINE_BYTES,
        };
        let slot = match structure {
            Structure::Data => self.data_slot(line),
            _ => region.slot(line.0 / served),
        };
        Some((slot, bytes))
    }

    /// Like [`Map::slot_bytes`], for all slots that move together: data moves with the tag stored with it, and a record has several
    /// lines.
    pub fn moved(&self, structure: Structure, line: LineAddr) -> Vec<(Slot, Range<usize>)> {
        let region = self.region(structure).filter(|region| region.role == Role::Record);
        if let Some(records) = region {
            return self.record_slots(records, line).map(|slot| (slot, 0..LINE_BYTES)).collect();
        }
        let whole = structure == Structure::Data && self.0.tags_with_data() && self.0.lines_per_tag() == 1;
        let slot_bytes = self.slot_bytes(structure, line);
        slot_bytes
            .map(|(slot, bytes)| (slot, if whole { 0..LINE_BYTES + self.0.tag_bytes() } else { bytes }))
            .into_iter()
            .collect()
    }

    /// Returns the slots of the record of a line's page chunk.
    fn record_slots(&self, records: Region, line: LineAddr) -> impl Iterator<Item = Slot> + Clone + use<> {
        let lines = records.lines / self.chunks(records);
        let first = records.base + line.0 / records.serves * lines;
        (first..first + lines).map(Slot)
    }

    /// Number of page chunks that fit in the records: a power of two, at least two.
    fn chunks(&self, records: Region) -> u64 {
        self.0.data_lines().div_ceil(records.serves).next_power_of_two().max(2)
    }

    /// Organisation of the counters.
    pub fn counters(&self) -> CounterOrganisation {
        self.0.counters()
    }

    /// Returns true if a tree verifies counter lines.
    pub fn counters_are_fresh(&self) -> bool {
        self.0.leaves().is_some_and(|leaves| matches!(leaves.role, Role::Counter | Role::Record))
    }

    /// Returns the position of a line among those that share its counter line.
    pub fn position(&self, line: LineAddr) -> u64 {
        self.region(Structure::Counter).map_or(0, |region| line.0 % self.served_by_each(region))
    }

    /// Returns the kind of structure in a slot.
    ///
    /// # Panics
    /// If the slot is outside the memory.
    pub fn structure(&self, slot: Slot) -> Structure {
        let region = self.0.regions().iter().find(|region| contains(region, slot));
        region.map_or_else(|| panic!("slot {slot} is outside the memory"), |region| Structure::of(region.role))
    }

    /// Returns true if a slot is inside the memory.
    pub fn holds(&self, slot: Slot) -> bool {
        slot.0 < self.0.total_lines()
    }

    /// Number of data lines that depend on each slot of a structure; zero if the design has no slot of it.
    pub fn lines_each(&self, structure: Structure) -> u64 {
        self.region(structure).map_or(0, |region| self.served_by_each(region))
    }

    /// Returns true if the reading of a data line depends on a slot.
    pub fn is_served(&self, slot: Slot, line: LineAddr) -> bool {
        if self.1.is_some() && self.structure(slot) == Structure::Data {
            return self.tag_slot(line).0 / self.0.lines_per_tag() == slot.0 / self.0.lines_per_tag();
        }
        self.lines_served(slot).contains(&line.0)
    }

    /// Returns the data lines that need this slot when they are read; for a slot of a moving line, only that line.
    pub fn lines_served(&self, slot: Slot) -> Range<u64> {
        let structure = self.structure(slot);
        let Some(region) = self.region(structure).filter(|region| region.role != Role::Context) else { return 0..0 };
        if structure == Structure::Data {
            if let Some(table) = self.1 {
                return table.look_up(|moved| moved.line_in(slot)).map_or(0..0, |LineAddr(line)| line..line + 1);
            }
            let lines = self.0.lines_per_tag();
            let first = self.0.line_in(slot).line().0 / lines * lines;
            return first..first + lines;
        }
        let served = self.served_by_each(region);
        let slots = if region.role == Role::Record { region.lines / self.chunks(region) } else { 1 };
        let first = (slot.0 - region.base) / slots * served;
        first..(first + served).min(self.0.data_lines())
    }

    fn region(&self, structure: Structure) -> Option<Region> {
        self.0.regions().iter().find(|region| Structure::of(region.role) == structure).copied()
    }

    /// Number of data lines that each slot of a region serves; for levels of a tree, the lines below the node.
    fn served_by_each(&self, region: Region) -> u64 {
        match region.role {
            Role::Bitmap | Role::Record => region.serves,
            _ => self.0.data_lines() / region.lines,
        }
    }
}

fn contains(region: &Region, slot: Slot) -> bool {
    (region.base..region.base + region.lines).contains(&slot.0)
}
