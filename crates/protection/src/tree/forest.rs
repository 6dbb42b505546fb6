//! Forests: the chip keeps some nodes of a tree permanently, each the *root* of its subtree (Bonsai Merkle Forests, Freij,
//! Zhou and Solihin, MICRO 2021).
//!
//! Nodes above a root need not vouch for it, so updates and walks end at it. In exchange a cache cannot evict a root:
//! it becomes an ordinary node only after it has been *folded* into its parent, which then vouches for it. The root of
//! the whole tree is always a root. It covers the leaves that are below no other root.
//!
//! * *Static*: all nodes of one level are roots. If the chip has no room for all of them, siblings are folded into their
//!   parents, the last ones first, and the parents become roots. After a whole level is folded, the next level follows.
//!   So every path up from a leaf meets exactly one root.
//! * *Dynamic*: the tree's root is the first root. At the end of each period of updates, all counts are halved. If the
//!   root with the most updates still counts more than half the threshold, its child that notifies it most becomes a root
//!   as well. If the chip has no room, the root with the fewest updates is folded first.
//!
//! If writes outlive a loss of power, a register keeps each root ([`domain`](crate::domain)). This root is *blank* in its parent:
//! recovery computes all nodes from counters, and cannot know the parent's last update.

use super::{Node, Parent};
use crate::layout::Layout;
use crate::verbs::Slot;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use units::{Line, ZERO_LINE};

/// The most children that a node of tags has.
const CHILDREN_MAX: usize = 8;

/// Rule that selects the nodes that are roots: all nodes of one level (`static`), or the nodes with the most updates
/// (`dynamic`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ForestDesign {
    /// Nodes of one level are roots.
    Static {
        /// Level of the roots; level 0 is directly above the counters.
        level: usize,
        /// Number of nodes that the chip has room for, in addition to the tree's own root.
        #[serde(default = "four_kilobytes")]
        entries: u64,
    },
    /// Nodes with the most updates are roots.
    Dynamic {
        /// Number of nodes that the chip has room for, in addition to the tree's own root.
        #[serde(default = "thirty_two_kilobytes")]
        entries: u64,
        /// Number of updates of roots between two checks of their update counts.
        #[serde(default = "thirty_two")]
        period: u32,
        /// Twice the update count that a root must exceed, after all counts are halved at the end of a period, for one
        /// of its children to become a root.
        #[serde(default = "sixteen")]
        threshold: u32,
    },
}

/// 4 KB, as in the study of SecPB (Freij, Zhou and Solihin, HPCA 2023).
fn four_kilobytes() -> u64 {
    64
}

fn thirty_two_kilobytes() -> u64 {
    512
}

fn thirty_two() -> u32 {
    32
}

fn sixteen() -> u32 {
    16
}

impl ForestDesign {
    /// Returns the rule that the numbers of this design break, if any.
    pub fn broken_rule(&self) -> Option<&'static str> {
        let (entries, period) = match self {
            ForestDesign::Static { entries, .. } => (entries, 1),
            ForestDesign::Dynamic { entries, period, .. } => (entries, *period),
        };
        let rules = [
            (
                !(1..=super::ROOT_LINES_MAX).contains(entries),
                "tree.forest.entries must lie between 1 and 32768, which is 2 MB on the chip",
            ),
            (period == 0, "tree.forest.period must be 1 or more: updates from one look at the counts to the next"),
        ];
        rules.into_iter().find(|(broken, _)| *broken).map(|(_, rule)| rule)
    }
}

/// Update counts of a root and of each of its children; halved at the end of every period.
#[derive(Clone, Copy, Default)]
struct Heat {
    level: usize,
    updates: u32,
    by_child: [u32; CHILDREN_MAX],
}

impl Heat {
    fn at(level: usize) -> Heat {
        Heat { level, ..Heat::default() }
    }

    fn halve(&mut self) {
        self.updates /= 2;
        self.by_child.iter_mut().for_each(|count| *count /= 2);
    }

    /// Returns the child with the most updates, or the first of several with as many.
    fn hottest_child(&self) -> usize {
        (0..CHILDREN_MAX).max_by_key(|child| (self.by_child[*child], Reverse(*child))).unwrap_or(0)
    }
}

/// A root other than the tree's, with its content and its update counts.
#[derive(Clone)]
struct ForestRoot {
    content: Line,
    heat: Heat,
}

/// Limits and timing of the changes of a dynamic forest.
#[derive(Clone, Copy)]
struct Policy {
    entries: usize,
    period: u32,
    threshold: u32,
}

/// Next change of a dynamic forest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForestChange {
    /// The root that must be folded first, to make room.
    pub fold: Option<Slot>,
    /// Position of the node that becomes a root.
    pub grow: Parent,
}

/// The roots that the chip keeps in addition to the tree's, with their content; empty if the tree is not a forest.
#[derive(Clone, Default)]
pub struct Forest {
    kept: FxHashMap<Slot, ForestRoot>,
    /// Update counts of the tree's root, one for each of its lines.
    own: Vec<Heat>,
    policy: Option<Policy>,
    updates: u32,
}

impl Forest {
    /// Returns the forest of a blank tree of nodes of `arity` below a root of `root_lines`.
    pub fn new(design: ForestDesign, layout: &Layout, arity: u64, root_lines: u64) -> Forest {
        let blank = |(level, slot)| (slot, ForestRoot { content: ZERO_LINE, heat: Heat::at(level) });
        let own = vec![Heat::at(layout.levels().len()); root_lines as usize];
        match design {
            ForestDesign::Static { level, entries } => {
                let kept = cut(layout, arity, level, entries).into_iter().map(blank).collect();
                Forest { kept, own, policy: None, updates: 0 }
            }
            ForestDesign::Dynamic { entries, period, threshold } => {
                let policy = Policy { entries: entries as usize, period, threshold };
                Forest { kept: FxHashMap::default(), own, policy: Some(policy), updates: 0 }
            }
        }
    }

    /// Returns all roots except the tree's, in the order of their slots.
    pub fn roots(&self) -> Vec<Slot> {
        let mut roots: Vec<Slot> = self.kept.keys().copied().collect();
        roots.sort_unstable();
        roots
    }

    /// Returns true if updates end at this node.
    pub fn is_root(&self, node: Node) -> bool {
        match node {
            Node::Root(_) => true,
            Node::Stored(slot) => self.kept.contains_key(&slot),
        }
    }

    /// Returns the content of a root.
    pub fn node(&self, slot: Slot) -> Option<&Line> {
        self.kept.get(&slot).map(|root| &root.content)
    }

    /// Returns the content of a root, mutably.
    pub fn node_mut(&mut self, slot: Slot) -> Option<&mut Line> {
        self.kept.get_mut(&slot).map(|root| &mut root.content)
    }

    /// Returns true if the chip has room for another root.
    pub fn has_room(&self) -> bool {
        self.policy.is_some_and(|policy| self.kept.len() < policy.entries)
    }

    /// Keeps a node of this level, with its content.
    pub fn keep(&mut self, slot: Slot, level: usize, content: Line) {
        self.kept.insert(slot, ForestRoot { content, heat: Heat::at(level) });
    }

    /// Gives up a root if it still has the content that its parent vouches for. The nodes above must vouch for that parent, up to the
    /// next root.
    pub fn give_up(&mut self, slot: Slot, vouched: &Line) -> bool {
        let is_current = self.node(slot) == Some(vouched);
        if is_current {
            self.kept.remove(&slot);
        }
        is_current
    }

    /// Notes an update that ended at this root.
    pub fn note(&mut self, updated: Parent) {
        let heat = match updated.node {
            Node::Root(line) => self.own.get_mut(line),
            Node::Stored(slot) => self.kept.get_mut(&slot).map(|root| &mut root.heat),
        };
        if let (Some(heat), Some(_)) = (heat, self.policy) {
            heat.updates += 1;
            heat.by_child[updated.position] += 1;
            self.updates += 1;
        }
    }

    /// Returns true if a period is over, so that the forest may change.
    pub fn is_due(&self) -> bool {
        self.policy.is_some_and(|policy| self.updates >= policy.period)
    }

    /// Returns the next change of the forest if a period is over, and begins the next period.
    pub fn change(&mut self) -> Option<ForestChange> {
        let policy = self.policy.filter(|_| self.is_due())?;
        self.updates = 0;
        self.own.iter_mut().for_each(Heat::halve);
        self.kept.values_mut().for_each(|root| root.heat.halve());
        let own = self.own.iter().enumerate().map(|(line, heat)| (Node::Root(line), heat));
        let kept = self.kept.iter().map(|(slot, root)| (Node::Stored(*slot), &root.heat));
        // The children of the lowest nodes are counters, which are no nodes.
        let can_grow = own.chain(kept).filter(|(_, heat)| heat.level > 0);
        let (node, heat) = can_grow.max_by_key(|(node, heat)| (heat.updates, Reverse(*node)))?;
        let grow = Parent { node, level: heat.level, position: heat.hottest_child() };
        let is_full = self.kept.len() >= policy.entries;
        let coldest = self.kept.iter().min_by_key(|(slot, root)| (root.heat.updates, **slot)).map(|(slot, _)| *slot);
        let change = ForestChange { fold: coldest.filter(|_| is_full), grow };
        (heat.updates > policy.threshold / 2).then_some(change)
    }
}

/// Returns the roots of a static forest, with their levels; empty if the only root is that of the tree.
fn cut(layout: &Layout, arity: u64, level: usize, entries: u64) -> Vec<(usize, Slot)> {
    let levels = layout.levels();
    for (level, nodes) in levels.iter().enumerate().skip(level) {
        let above = levels.get(level + 1);
        let families = nodes.lines.div_ceil(arity);
        let left = |folded: u64| ((families - folded) * arity).min(nodes.lines);
        // Above the highest stored level is the tree's own root, which takes no room.
        let room_taken = |folded: u64| left(folded) + above.map_or(0, |_| folded);
        if let Some(folded) = (0..families).find(|folded| room_taken(*folded) <= entries) {
            let lower = (0..left(folded)).map(|index| (level, nodes.slot(index)));
            let parents = (families - folded..families).filter_map(|index| Some((level + 1, above?.slot(index))));
            return lower.chain(parents).collect();
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Needs, TreeNeeds};
    use crate::verbs::Role;
    use proptest::prelude::*;

    fn layout(leaves: u64, arity: u64) -> Layout {
        let tree = TreeNeeds { leaves: Role::Counter, arities: vec![arity], root_lines: 1 };
        let needs = Needs { lines_per_counter_line: Some(1), tags: None, tree: Some(tree) };
        Layout::new(leaves, needs).unwrap()
    }

    proptest! {
        #[test]
        fn every_leaf_has_one_root_of_a_static_forest_above_and_the_roots_fit(
            leaves in 1u64..5_000, arity in prop::sample::select(vec![2u64, 4, 8]), level in 0usize..4, entries in 1u64..200,
        ) {
            let layout = layout(leaves, arity);
            let roots = cut(&layout, arity, level, entries);
            prop_assert!(roots.len() as u64 <= entries);
            for leaf in 0..leaves {
                let mut index = leaf;
                let met = layout.levels().iter().enumerate().filter(|(height, nodes)| {
                    index /= arity;
                    roots.contains(&(*height, nodes.slot(index)))
                });
                // If the highest level does not fit, some leaves have only the tree's root above them.
                let own = roots.iter().all(|(height, _)| height + 1 == layout.levels().len());
                let met = met.count();
                prop_assert!(met == 1 || own && met == 0);
            }
            prop_assert!(roots.iter().all(|(height, _)| *height >= level));
        }
    }

    #[test]
    fn a_static_forest_replaces_the_fewest_sibling_roots_by_their_parents() {
        // 1024 leaves of arity 8: 128, 16 and 2 nodes. 128 - 7 n <= 64 needs ten families folded.
        let roots = cut(&layout(1024, 8), 8, 0, 64);
        let nodes = layout(1024, 8).levels().to_vec();
        let expected = (0..48).map(|index| (0, nodes[0].slot(index)));
        let expected: Vec<_> = expected.chain((6..16).map(|index| (1, nodes[1].slot(index)))).collect();
        assert_eq!(roots, expected);
        assert_eq!(cut(&layout(1024, 8), 8, 2, 64), [(2, nodes[2].slot(0)), (2, nodes[2].slot(1))]);
        assert_eq!(cut(&layout(1024, 8), 8, 0, 1), [], "two nodes do not fit, and the root above needs no room");
    }

    #[test]
    fn a_dynamic_forest_promotes_the_most_updated_child_and_drops_the_least_updated_root() {
        let layout = layout(1024, 8);
        let design = ForestDesign::Dynamic { entries: 2, period: 4, threshold: 2 };
        let mut forest = Forest::new(design, &layout, 8, 1);
        let own = |position| Parent { node: Node::Root(0), level: 3, position };
        let grown = |forest: &mut Forest, updated: [Parent; 4]| {
            assert!(!forest.is_due() && forest.change().is_none(), "no period is over before its last update");
            updated.into_iter().for_each(|parent| forest.note(parent));
            forest.change()
        };
        let change = grown(&mut forest, [own(0), own(1), own(1), own(1)]);
        assert_eq!(change, Some(ForestChange { fold: None, grow: own(1) }));
        let [low, top] = [layout.levels()[0].slot(5), layout.levels()[2].slot(1)];
        forest.keep(low, 0, ZERO_LINE);
        assert!(forest.has_room());
        forest.keep(top, 2, ZERO_LINE);
        assert!(!forest.has_room());
        let [in_low, in_top] =
            [(low, 0), (top, 2)].map(|(slot, level)| Parent { node: Node::Stored(slot), level, position: 7 });
        // The low root has the most updates, but its children are counters.
        let change = grown(&mut forest, [in_low, in_low, in_low, in_top]);
        assert_eq!(change, None, "one update, halved, is too little for another root");
        let change = grown(&mut forest, [in_top, in_top, in_top, in_top]);
        assert_eq!(change, Some(ForestChange { fold: Some(low), grow: in_top }));
    }

    #[test]
    fn a_forest_root_is_dropped_only_if_its_parent_has_its_present_content() {
        let layout = layout(1024, 8);
        let mut forest = Forest::new(ForestDesign::Dynamic { entries: 1, period: 1, threshold: 0 }, &layout, 8, 1);
        let slot = layout.levels()[1].slot(3);
        forest.keep(slot, 1, [7; 64]);
        assert!(!forest.give_up(slot, &[6; 64]) && forest.is_root(Node::Stored(slot)));
        assert!(forest.give_up(slot, &[7; 64]) && !forest.is_root(Node::Stored(slot)));
        assert!(forest.is_root(Node::Root(0)));
    }
}
