//! Where the lines of a memory have their metadata, and which of them share as little of it as they can.

use crate::profile::Profile;
use crate::scheme::Scheme;
use catalogue::Design;
use protection::slot::Kind;
use std::collections::BTreeSet;
use units::{LINE_BYTES, LineAddr};

/// The largest memory, in lines: 1 TB.
const LINES_MAX: u64 = 1 << 34;

/// The most entries of a design's buffer.
pub const ENTRIES_MAX: u32 = 1 << 16;

/// Spreads numbers: 2^64 over the golden ratio.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Lines of the memory by which a design shows its metadata: enough for nodes in memory.
const LINES_SHOWN: u64 = 1 << 15;

/// The built-in design of a scheme.
///
/// # Panics
/// If there is none, which a test rules out.
pub fn design(scheme: Scheme) -> Design {
    catalogue::design(&format!("secpb-{scheme}")).unwrap_or_else(|error| panic!("{error}"))
}

/// A memory and the tree over it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Lines of data.
    pub lines: u64,
    /// Levels of the tree, counters and root included.
    pub levels: u32,
    /// Lines whose counters are in one line.
    per_counter_line: u64,
    /// Lines whose tags are in one.
    per_line_of_tags: u64,
    /// Children of a node.
    arity: u64,
}

/// Lines of metadata that several drains share, and so need once: each is counted as often as it is not needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shared {
    /// Lines of counters and nodes, which a tree covers.
    pub covered: u64,
    /// Lines of tags.
    pub tags: u64,
}

/// What groups of lines have that are encrypted anew for one line each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Renewed {
    /// The groups.
    pub groups: u64,
    /// The lines of each but the one for which that is done.
    pub others: u64,
    /// Lines of tags of each.
    pub lines_of_tags: u64,
}

impl Geometry {
    /// That of a scheme's design: as [`Geometry::of_design`].
    ///
    /// # Errors
    /// As of that.
    pub fn of(scheme: Scheme, profile: &Profile, levels: u32) -> Result<Geometry, String> {
        Geometry::of_design(&design(scheme), profile, levels)
    }

    /// That of a design over a memory for which the tree has so many levels: the profile's, if it has.
    ///
    /// # Errors
    /// Why there is none: the profile's tree is another than the design's, or the memory too large.
    pub fn of_design(design: &Design, profile: &Profile, levels: u32) -> Result<Geometry, String> {
        let shown = design.parts.build(LINES_SHOWN, 0)?;
        let serves = |kind| shown.layout().region(kind).map_or(1, |region| region.serves);
        let (page, arity) = (serves(Kind::Counters), serves(Kind::Nodes));
        let tree = &profile.tree;
        if (tree.page.0, u64::from(tree.arity)) != (page * LINE_BYTES as u64, arity) {
            return Err(format!(
                "the profile's tree has {} children a node and {} under a line of counters, the built-in designs {arity} and {} KB",
                tree.arity,
                tree.page,
                page * LINE_BYTES as u64 / 1024
            ));
        }
        let lines = match levels == tree.levels() {
            true => Some(tree.covers.0 / LINE_BYTES as u64),
            false => arity.checked_pow(levels - 1).and_then(|pages| pages.checked_mul(page)),
        };
        let Some(lines) = lines.filter(|lines| *lines <= LINES_MAX) else {
            return Err(format!(
                "a tree of {levels} levels is over more memory than the 1024 GB on which a drain is carried out"
            ));
        };
        Ok(Geometry {
            lines,
            levels,
            per_counter_line: page,
            per_line_of_tags: shown.layout().lines_per_line_of_tags(),
            arity,
        })
    }

    /// So many lines that share as little metadata as they can, fewer if there are no more: children of the root take turns,
    /// then their children, and so on; and no page has a second line before each has one. Where a choice is left it is made
    /// by chance, or all would meet in a few sets of the caches of metadata.
    pub fn far_apart(&self, wanted: usize) -> Vec<LineAddr> {
        let digits = self.levels - 1;
        let pages = (1..digits).map(|decided| self.pages(decided)).find(|pages| pages.len() >= wanted);
        let pages = pages.unwrap_or_else(|| self.pages(digits));
        let (in_page, moved) = (self.per_counter_line, |turn| turn * self.per_line_of_tags);
        let in_turn = (0..in_page).map(|turn| moved(turn) % in_page + moved(turn) / in_page);
        let line = |position| pages.iter().map(move |page| LineAddr(page * in_page + position));
        in_turn.flat_map(line).filter(|line| line.0 < self.lines).take(wanted).collect()
    }

    /// A page under each node that is so many levels below the root: each way down from the root is a digit of its number.
    fn pages(&self, decided: u32) -> Vec<u64> {
        let below = self.arity.pow(self.levels - 1 - decided);
        let page = |number: u64| {
            let way = (0..decided)
                .fold((0, number), |(way, left), _| (way * self.arity + left % self.arity, left / self.arity));
            way.0 * below + (number.wrapping_mul(SPREAD) >> 32) % below
        };
        let exists = |page: &u64| *page < self.lines.div_ceil(self.per_counter_line);
        (0..self.arity.pow(decided)).map(page).filter(exists).collect()
    }

    /// The lines whose counters are with those of a line.
    pub fn group(&self, line: LineAddr) -> impl Iterator<Item = LineAddr> + use<> {
        let first = line.0 / self.per_counter_line * self.per_counter_line;
        (first..(first + self.per_counter_line).min(self.lines)).map(LineAddr)
    }

    /// What so many groups have.
    pub(crate) fn renewed(&self, groups: u64) -> Renewed {
        let lines_of_tags = self.per_counter_line.div_ceil(self.per_line_of_tags);
        Renewed { groups, others: self.per_counter_line - 1, lines_of_tags }
    }

    /// What drains of these lines share.
    pub fn shared(&self, drained: &[LineAddr]) -> Shared {
        let twice = |lines_per: u64| {
            let distinct: BTreeSet<u64> = drained.iter().map(|line| line.0 / lines_per).collect();
            (drained.len() - distinct.len()) as u64
        };
        // Lines of counters and the nodes above them, up to those below the root.
        let covered = (0..self.levels - 1).map(|level| twice(self.per_counter_line * self.arity.pow(level))).sum();
        Shared { covered, tags: twice(self.per_line_of_tags) }
    }
}
