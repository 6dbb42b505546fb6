//! Where things lie in a memory, which is public; where lines move, with the table of those that are known.

use super::Recording;
use protection::counter::Organisation;
use protection::layout::{Layout, Region};
use protection::slot::Kind;
use protection::verbs::{Role, Slot};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use units::{LINE_BYTES, LINES_PER_PAGE, Line, LineAddr};

/// One kind of thing that lies in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Structure {
    /// Lines of the program's data.
    Data,
    /// Tags of data lines.
    Tag,
    /// Lines of counters; where lines move, the records of their chunks, which say under which numbers they are.
    Counter,
    /// Nodes of the tree at a level; level 0 stands directly above the counters.
    Node(usize),
    /// Owners of pages.
    Owner,
    /// Lines of bitmaps of re-ordered lines.
    Bitmap,
    /// Encrypted contexts of processes, on which no data line depends.
    Context,
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

/// Where things lie, which is public.
///
/// All memories here have a power of two of lines, so that every slot of a region serves the same number of data lines;
/// the map follows from the sizes of the regions and shares no arithmetic with the schemes.
/// Where lines move, the attacker is given the table of those that it knows.
#[derive(Clone, Copy, Debug)]
pub struct Map<'a>(&'a Layout, Option<Table<'a>>);

/// Where lines that move lie.
#[derive(Clone, Copy, Debug)]
enum Table<'a> {
    /// Now, and after whatever happens next.
    Now(&'a RefCell<Moved>),
    /// When memory was recorded.
    Then(&'a Moved),
}

impl Table<'_> {
    fn look_up<R>(self, look: impl FnOnce(&Moved) -> R) -> R {
        match self {
            Table::Now(moved) => look(&moved.borrow()),
            Table::Then(moved) => look(moved),
        }
    }
}

/// The slots of the known lines that move, as they lie now.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Moved(BTreeMap<LineAddr, Slot>);

impl Moved {
    /// A line lies there from now on.
    pub fn note(&mut self, line: LineAddr, slot: Slot) {
        self.0.insert(line, slot);
    }

    fn line_in(&self, slot: Slot) -> Option<LineAddr> {
        self.0.iter().find(|(_, lies_in)| **lies_in == slot).map(|(line, _)| *line)
    }
}

impl<'a> Map<'a> {
    /// The map of a memory.
    pub fn new(layout: &'a Layout) -> Map<'a> {
        Map(layout, None)
    }

    /// The map of a memory whose lines move, with the table of those that are known.
    pub fn with_moved(layout: &'a Layout, moved: &'a RefCell<Moved>) -> Map<'a> {
        Map(layout, Some(Table::Now(moved)))
    }

    /// Where things lay when this was recorded.
    pub fn then<'r>(&self, recording: &'r Recording) -> Map<'r>
    where
        'a: 'r,
    {
        Map(self.0, recording.1.as_ref().map(Table::Then))
    }

    /// The table of lines that move, as it is.
    pub(super) fn table(&self) -> Option<Moved> {
        self.1.map(|table| table.look_up(Moved::clone))
    }

    /// The slot of a line of data.
    pub fn data_slot(&self, line: LineAddr) -> Slot {
        let moved = self.1.and_then(|table| table.look_up(|moved| moved.0.get(&line).copied()));
        moved.unwrap_or_else(|| self.0.data_slot(line).slot())
    }

    /// The slot of data that has a line's tag with it: the last of those that lie side by side under that tag.
    fn tag_slot(&self, line: LineAddr) -> Slot {
        let slots_per_tag = self.0.lines_per_tag();
        Slot(self.data_slot(line).0 / slots_per_tag * slots_per_tag + slots_per_tag - 1)
    }

    /// Lines of data, whose slots are the first.
    pub fn data_lines(&self) -> u64 {
        self.0.data_lines()
    }

    /// A content of a line of data, as far as lines here reach.
    pub fn cut(&self, content: Line) -> Line {
        self.0.shape().length.cut(content)
    }

    /// Bytes of a line of data.
    pub fn line_bytes(&self) -> usize {
        self.0.shape().length.bytes()
    }

    /// How many levels of tree lie in memory.
    pub fn levels(&self) -> usize {
        self.0.levels().len()
    }

    /// What vouches for a line in memory, from the bottom up: the line itself, its tag, its counters, and the nodes above these.
    pub fn path(&self) -> impl Iterator<Item = Structure> + Clone + use<> {
        let nodes = (0..self.levels()).map(Structure::Node);
        [Structure::Data, Structure::Tag, Structure::Counter].into_iter().chain(nodes)
    }

    /// The slot that serves a line, and the bytes of it that serve no other line where the attacker can distinguish
    /// them: the whole line of data, the line's own tag, its page's own entry, all of a line of counters, of bitmaps or of a node.
    pub fn place(&self, structure: Structure, line: LineAddr) -> Option<(Slot, Range<usize>)> {
        if structure == Structure::Tag && self.0.tags_with_data() {
            return Some((self.tag_slot(line), LINE_BYTES..LINE_BYTES + self.0.tag_bytes()));
        }
        let region = self.region(structure)?;
        if region.role == Role::Record {
            // A line of it, one of other lines.
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

    /// As [`Map::place`], of what is not moved without more: data takes the tag along that lies with it, and a record has several
    /// lines.
    pub fn moved(&self, structure: Structure, line: LineAddr) -> Vec<(Slot, Range<usize>)> {
        let region = self.region(structure).filter(|region| region.role == Role::Record);
        if let Some(records) = region {
            return self.record_slots(records, line).map(|slot| (slot, 0..LINE_BYTES)).collect();
        }
        let whole = structure == Structure::Data && self.0.tags_with_data() && self.0.lines_per_tag() == 1;
        let place = self.place(structure, line);
        place
            .map(|(slot, bytes)| (slot, if whole { 0..LINE_BYTES + self.0.tag_bytes() } else { bytes }))
            .into_iter()
            .collect()
    }

    /// The slots of the record of a line's chunk.
    fn record_slots(&self, records: Region, line: LineAddr) -> impl Iterator<Item = Slot> + Clone + use<> {
        let lines = records.lines / self.chunks(records);
        let first = records.base + line.0 / records.serves * lines;
        (first..first + lines).map(Slot)
    }

    /// Chunks that records have room for: a power of two, at least two.
    fn chunks(&self, records: Region) -> u64 {
        self.0.data_lines().div_ceil(records.serves).next_power_of_two().max(2)
    }

    /// How counters are organised.
    pub fn counters(&self) -> Organisation {
        self.0.counters()
    }

    /// Whether a tree vouches for lines of counters.
    pub fn counters_are_fresh(&self) -> bool {
        self.0.leaves().is_some_and(|leaves| matches!(leaves.role, Role::Counter | Role::Record))
    }

    /// The position of a line among those that share its line of counters.
    pub fn position(&self, line: LineAddr) -> u64 {
        self.region(Structure::Counter).map_or(0, |region| line.0 % self.served_by_each(region))
    }

    /// The kind of thing in a slot.
    ///
    /// # Panics
    /// If the slot lies outside the memory.
    pub fn structure(&self, slot: Slot) -> Structure {
        let nodes = (0..self.levels()).map(Structure::Node);
        [Structure::Data, Structure::Tag, Structure::Counter, Structure::Owner, Structure::Bitmap, Structure::Context]
            .into_iter()
            .chain(nodes)
            .find(|structure| self.region(*structure).is_some_and(|region| contains(region, slot)))
            .unwrap_or_else(|| panic!("slot {slot} lies outside the memory"))
    }

    /// Whether a slot lies inside the memory.
    pub fn holds(&self, slot: Slot) -> bool {
        slot.0 < self.0.total_lines()
    }

    /// How many data lines depend on each slot of a kind; zero if the design has none.
    pub fn lines_each(&self, structure: Structure) -> u64 {
        self.region(structure).map_or(0, |region| self.served_by_each(region))
    }

    /// Whether the reading of a data line depends on a slot.
    pub fn is_served(&self, slot: Slot, line: LineAddr) -> bool {
        if self.1.is_some() && self.structure(slot) == Structure::Data {
            return self.tag_slot(line).0 / self.0.lines_per_tag() == slot.0 / self.0.lines_per_tag();
        }
        self.lines_served(slot).contains(&line.0)
    }

    /// The data lines whose reading depends on a slot; of one that holds a line that moves, that line alone.
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
        match structure {
            Structure::Data => self.0.regions().first().copied(),
            Structure::Tag => self.0.region(Kind::Tags),
            Structure::Counter => self.0.region(Kind::Counters).or(self.0.region(Kind::Records)),
            Structure::Node(level) => self.0.levels().get(level).copied(),
            Structure::Owner => self.0.region(Kind::Owners),
            Structure::Bitmap => self.0.region(Kind::Bitmaps),
            Structure::Context => self.0.region(Kind::Contexts),
        }
    }

    /// The data lines that each slot of a region serves: of a tree's levels, whatever they serve below.
    fn served_by_each(&self, region: Region) -> u64 {
        match region.role {
            Role::Bitmap | Role::Record => region.serves,
            _ => self.0.data_lines() / region.lines,
        }
    }
}

fn contains(region: Region, slot: Slot) -> bool {
    (region.base..region.base + region.lines).contains(&slot.0)
}
