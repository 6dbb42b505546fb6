//! The metadata of the lines of a memory, and the selection of lines that share as little metadata as possible.

use crate::profile::Profile;
use crate::scheme::SecPbScheme;
use catalogue::Design;
use protection::slot::Kind;
use std::collections::BTreeSet;
use units::{LINE_BYTES, LineAddr};

/// The largest memory, in lines: 1 TB.
const LINES_MAX: u64 = 1 << 34;

/// The most entries of a design's buffer.
pub const ENTRIES_MAX: u32 = 1 << 16;

/// Multiplier that scatters numbers: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Size of a memory that shows a design's layout of metadata, in lines: large enough for nodes in memory.
const LINES_SHOWN: u64 = 1 << 15;

/// The built-in design of a scheme.
///
/// # Panics
/// If the catalogue does not contain the design, which a test excludes.
pub fn design(scheme: SecPbScheme) -> Design {
    catalogue::design(&format!("secpb-{scheme}")).unwrap_or_else(|error| panic!("{error}"))
}

/// A memory and the tree over it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryGeometry {
    /// Number of lines of data.
    pub lines: u64,
    /// Levels of the tree, including counters and root.
    pub levels: u32,
    /// Lines of data that share a counter line.
    per_counter_line: u64,
    /// Lines of data that share a tag line.
    per_tag_line: u64,
    /// Children of a node.
    arity: u64,
}

/// Metadata lines that several drains share and fetch only once. Each count is the number of fetches that sharing
/// saves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedLines {
    /// Counter lines and nodes, which a tree covers.
    pub covered: u64,
    /// Tag lines that drains share.
    pub tags: u64,
}

/// Sizes of groups that are re-encrypted because one counter of each group overflows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Renewed {
    /// Number of the groups.
    pub groups: u64,
    /// Lines of each group, without the line that causes the re-encryption.
    pub others: u64,
    /// Tag lines of each group.
    pub tag_lines: u64,
}

impl MemoryGeometry {
    /// Geometry of a scheme's design: like [`MemoryGeometry::of_design`].
    ///
    /// # Errors
    /// The errors of [`MemoryGeometry::of_design`].
    pub fn of(scheme: SecPbScheme, profile: &Profile, levels: u32) -> Result<MemoryGeometry, String> {
        MemoryGeometry::of_design(&design(scheme), profile, levels)
    }

    /// Geometry of a design over a memory with a tree of `levels` levels: the memory of the profile, if its tree has
    /// this height.
    ///
    /// # Errors
    /// A sentence if the profile's tree is not the design's, or the memory is too large.
    pub fn of_design(design: &Design, profile: &Profile, levels: u32) -> Result<MemoryGeometry, String> {
        let shown = design.parts.build(LINES_SHOWN, 0)?;
        let serves = |kind| shown.layout().region(kind).map_or(1, |region| region.serves);
        let (page, arity) = (serves(Kind::Counters), serves(Kind::Nodes));
        let tree = &profile.tree;
        if (tree.page.0, u64::from(tree.arity)) != (page * LINE_BYTES as u64, arity) {
            return Err(format!(
                "the profile's tree has {} children a node and {} under a counter line: expected {arity} and {} \
                 KB, as in the built-in designs",
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
                "a tree of {levels} levels covers more than 1024 GB, the largest memory for which a drain is carried \
                 out"
            ));
        };
        Ok(MemoryGeometry {
            lines,
            levels,
            per_counter_line: page,
            per_tag_line: shown.layout().lines_per_tag_line(),
            arity,
        })
    }

    /// Up to `wanted` lines that share as little metadata as possible. The selection takes children of the root in turn, then their
    /// children, and so on; no page has a second line before each page has one. A hash decides the remaining choices; otherwise all lines
    /// would map to a few sets of the metadata caches.
    pub fn far_apart(&self, wanted: usize) -> Vec<LineAddr> {
        let digits = self.levels - 1;
        let pages = (1..digits).map(|decided| self.pages(decided)).find(|pages| pages.len() >= wanted);
        let pages = pages.unwrap_or_else(|| self.pages(digits));
        let (in_page, moved) = (self.per_counter_line, |turn| turn * self.per_tag_line);
        let in_turn = (0..in_page).map(|turn| moved(turn) % in_page + moved(turn) / in_page);
        let line = |position| pages.iter().map(move |page| LineAddr(page * in_page + position));
        in_turn.flat_map(line).filter(|line| line.0 < self.lines).take(wanted).collect()
    }

    /// A page under each node that is `decided` levels below the root: each step down from the root is a digit of its number.
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

    /// The lines that share a counter line with `line`.
    pub fn group(&self, line: LineAddr) -> impl Iterator<Item = LineAddr> + use<> {
        let first = line.0 / self.per_counter_line * self.per_counter_line;
        (first..(first + self.per_counter_line).min(self.lines)).map(LineAddr)
    }

    /// Sizes of `groups` groups.
    pub(crate) fn renewed(&self, groups: u64) -> Renewed {
        let tag_lines = self.per_counter_line.div_ceil(self.per_tag_line);
        Renewed { groups, others: self.per_counter_line - 1, tag_lines }
    }

    /// Metadata that drains of these lines share.
    pub fn shared(&self, drained: &[LineAddr]) -> SharedLines {
        let twice = |lines_per: u64| {
            let distinct: BTreeSet<u64> = drained.iter().map(|line| line.0 / lines_per).collect();
            (drained.len() - distinct.len()) as u64
        };
        // Counter lines and the nodes above them, without the root.
        let covered = (0..self.levels - 1).map(|level| twice(self.per_counter_line * self.arity.pow(level))).sum();
        SharedLines { covered, tags: twice(self.per_tag_line) }
    }
}
