//! The integrity tree of a design, in the form of a design file.
//!
//! ```toml
//! tree = { kind = "bonsai" }                                   # tags of counters, 8 to a node
//! tree = { kind = "merkle", arity = 2 }                        # tags of the tags of data
//! tree = { kind = "counters", levels = ["mono-56"], root_lines = 4, update = "eager" }
//! tree = { kind = "bonsai", update = "eager", forest = { kind = "static", level = 2, entries = 64 } }
//! tree = { kind = "bonsai", update = "eager", forest = { kind = "dynamic", entries = 512, period = 32, threshold = 16 } }
//! ```

use super::counters::CounterChoice;
use super::{MacChoice, Parts};
use crate::counter::Counters;
use crate::layout::{Layout, TreeNeeds};
use crate::planted::PlantedBug;
use crate::slot::Role;
use crate::tree::{Forest, ForestDesign, ROOT_LINES_MAX, Tree, Update};
use crypto::Key;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Kind of the integrity tree: nodes of tags over counters (`bonsai`), nodes of tags over the tags of data (`merkle`),
/// nodes of counters (`counters`), or no tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum TreeKind {
    /// No tree over the metadata.
    #[default]
    None,
    /// Nodes of tags over counters (Rogers et al., MICRO 2007).
    Bonsai,
    /// Nodes of tags over the tags of data, so that the tree covers all data (Gassend et al., HPCA 2003).
    Merkle,
    /// Nodes of counters over counters; each line contains a MAC over itself (Gueron 2016; VAULT, ASPLOS 2018;
    /// Morphable Counters, MICRO 2018).
    Counters,
}

/// The integrity tree of a design.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeDesign {
    /// Kind of the integrity tree: nodes of tags over counters (`bonsai`), nodes of tags over the tags of data
    /// (`merkle`), nodes of counters (`counters`), or no tree.
    pub kind: TreeKind,
    /// Number of children of a tree node, if nodes hold tags: 2, 4 or 8.
    #[serde(default = "eight")]
    pub arity: u64,
    /// If nodes hold counters, the counter organisation of each level, from the level above the leaves upward. The last
    /// entry also applies to all higher levels.
    #[serde(default)]
    pub levels: Vec<CounterChoice>,
    /// Number of lines on the chip that form the root of the tree.
    #[serde(default = "one")]
    pub root_lines: u64,
    /// Time at which a node is updated for a change of its child: when the child leaves the chip (`lazy`), or with
    /// every write (`eager`).
    #[serde(default)]
    pub update: Update,
    /// Forest: nodes on the chip at which updates end, in addition to the root of the tree. These are all nodes of one
    /// level (`static`), or the nodes with the most updates (`dynamic`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forest: Option<ForestDesign>,
}

fn eight() -> u64 {
    8
}

fn one() -> u64 {
    1
}

impl From<TreeKind> for TreeDesign {
    /// Returns a tree of this kind, with defaults for all other keys.
    fn from(kind: TreeKind) -> TreeDesign {
        let (levels, update, forest) = (Vec::new(), Update::Lazy, None);
        TreeDesign { kind, arity: eight(), levels, root_lines: one(), update, forest }
    }
}

impl TreeDesign {
    /// Checks whether the tree is compatible with the other parts.
    ///
    /// # Errors
    /// The rule that is broken, and a change that would mend it.
    pub(super) fn check(&self, parts: &Parts) -> Result<(), String> {
        let (bonsai, merkle) = (self.kind == TreeKind::Bonsai, self.kind == TreeKind::Merkle);
        let (of_counters, there) = (self.kind == TreeKind::Counters, self.kind != TreeKind::None);
        let no_counters = parts.counters == CounterChoice::None;
        let mac_less =
            |choice: CounterChoice| Counters::new(choice.organisation(), PlantedBug::NONE).embedded_mac_bits() == 0;
        let rules = [
            (
                (bonsai || of_counters) && no_counters,
                "tree.kind = \"bonsai\" and \"counters\" cover counters, and the design has none: set counters = \
                 \"sc64\", or tree.kind = \"merkle\" or \"none\"",
            ),
            (
                merkle && !no_counters,
                "tree.kind = \"merkle\" covers the tags of data and not the counters, so an old counter could make a write \
                 use its pad again: set tree.kind = \"bonsai\"",
            ),
            (
                there && parts.mac.code == MacChoice::None,
                "tree.kind protects data only through its tags, and the design has none: set mac.code = \"gmac\" or \
                 \"cmac\"",
            ),
            (
                of_counters && (mac_less(parts.counters) || self.levels.iter().copied().any(mac_less)),
                "tree.kind = \"counters\" puts a MAC into each counter line and node, and \"none\", \"sc64\", \
                 \"page-record\" and \"rv-64\" have no room for one: choose \"sc64-mac\", \"mono-56\", \"sc128\", \"vault32\", \"vault16\" or \"morphable\"",
            ),
            (
                of_counters && self.levels.is_empty(),
                "tree.kind = \"counters\" needs tree.levels, the counters of its nodes, such as [\"mono-56\"]",
            ),
            (
                !of_counters && !self.levels.is_empty(),
                "tree.levels is for tree.kind = \"counters\": nodes of tags have tree.arity",
            ),
            (![2, 4, 8].contains(&self.arity), "tree.arity must be 2, 4 or 8"),
            (
                !(1..=ROOT_LINES_MAX).contains(&self.root_lines),
                "tree.root_lines must be between 1 and 32768, which is 2 MB on the chip",
            ),
            (
                self.forest.is_some() && !(bonsai && self.update == Update::Eager),
                "tree.forest is for a tree over counters that is updated at once: set tree.kind = \"bonsai\" and \
                 tree.update = \"eager\", or leave tree.forest out",
            ),
        ];
        let broken = rules.into_iter().find(|(broken, _)| *broken).map(|(_, rule)| rule);
        let broken = broken.or_else(|| self.forest.as_ref().and_then(ForestDesign::broken_rule));
        broken.map_or(Ok(()), |rule| Err(rule.to_owned()))
    }

    /// Returns the roots that the chip keeps in addition to the tree's root, over blank memory.
    pub(super) fn forest(&self, layout: &Layout) -> Forest {
        self.forest.map_or_else(Forest::default, |design| Forest::new(design, layout, self.arity, self.root_lines))
    }

    /// Builds the tree, if the design has one.
    pub(super) fn build(&self, key: &Key, leaves: Counters, planted: PlantedBug) -> Option<Tree> {
        let hashes = |leaves| Tree::of_hashes(key, self.arity as usize, leaves, self.update, planted);
        match self.kind {
            TreeKind::None => None,
            TreeKind::Bonsai => Some(hashes(Role::Counter)),
            TreeKind::Merkle => Some(hashes(Role::Tag)),
            TreeKind::Counters => {
                let levels = self.levels.iter().map(|choice| Counters::new(choice.organisation(), planted)).collect();
                Some(Tree::of_versions(key, leaves, levels, self.update, planted))
            }
        }
    }

    /// Returns the tree's requirements on the memory layout.
    pub(super) fn needs(&self, tree: &Tree) -> TreeNeeds {
        let levels = self.levels.len().max(1);
        TreeNeeds {
            leaves: tree.leaves(),
            arities: (0..levels).map(|level| tree.arity(level)).collect(),
            root_lines: self.root_lines,
        }
    }
}
