//! The integrity tree: it detects replayed counters or tags as it detects forged ones.
//!
//! A tree covers one kind of metadata, its *leaves*. Each node vouches for its children: leaves, or nodes of the level
//! below. A few lines on the chip, the *root*, vouch for the topmost nodes. A node holds one of two vouchers for each
//! child:
//!
//! * [`hash`]: a tag of the child. A tree over counters is then a Bonsai Merkle tree (Rogers et al., MICRO 2007), since
//!   the tag of a data line ties the line to its counter. A tree over the tags of data is a Merkle tree over memory
//!   (Gassend et al., HPCA 2003).
//! * [`version`]: the number of the child's writes to memory. The child then carries a MAC of itself under that version
//!   (SGX's memory encryption engine, Gueron 2016; VAULT; Morphable Counters). These nodes are counter lines, so
//!   their counters can overflow. Children with renewed versions then get new MACs.
//!
//! # Contract
//! * [`Tree::update`] changes a node so that it vouches for the child's present content and for no earlier one. If the
//!   version overflows, it leaves the node unchanged and reports the overflow. [`Tree::seal_under`] returns the child in the
//!   form that is then written to memory.
//! * [`Tree::fits`] returns true if a line from memory is the one that its parent vouches for.
//! * A line that was never written is all zeros and fits a parent that was never updated for it, at every level, so that a
//!   blank tree needs no set-up. No attacker can pass a written line off as a blank one.

mod forest;
mod hash;
mod version;

pub use forest::{Forest, ForestChange, ForestDesign};

use crate::counter::{Counter, Counters, Overflow};
use crate::layout::Layout;
use crate::memo::{MacInput, Memo};
use crate::planted::{Bug, PlantedBug};
use crate::slot::{Role, Slot};
use crypto::Key;
use hash::{NodeHashes, Tag};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::rc::Rc;
use strum::VariantArray;
use units::{Line, ZERO_LINE};
use version::Versions;

/// The most lines of root that a chip keeps: 2 MB, all nodes of the second level above the counters of 8 GB.
pub const ROOT_LINES_MAX: u64 = 1 << 15;

/// Time at which a node is updated after a change of its child.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// When the child leaves the chip.
    #[default]
    Lazy,
    /// With every write, up to the root.
    Eager,
}

/// The node that vouches for a metadata line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parent {
    /// Location of the node.
    pub node: Node,
    /// Level of the node; level 0 is directly above the leaves.
    pub level: usize,
    /// Position of the child in the node.
    pub position: usize,
}

/// Location of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Node {
    /// One of the lines of the root.
    Root(usize),
    /// A slot in memory.
    Stored(Slot),
}

/// Data by which a node vouches for one of its children.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Voucher {
    /// The tree does not cover the line.
    Nothing,
    /// The child's tag; zeros if the child was never written.
    Tag(Tag),
    /// Number of the child's writes to memory.
    Version(Counter),
}

enum Nodes {
    Hashes(NodeHashes, Memo<Tag>),
    Versions(Box<Versions>),
}

/// The integrity tree of a scheme. Copies share the authentication code with its expanded keys, and the memo of its
/// latest results.
#[derive(Clone)]
pub struct Tree {
    nodes: Rc<Nodes>,
    leaves: Role,
    update: Update,
    planted: PlantedBug,
}

impl Tree {
    /// Returns a tree of tags with `arity` children to a node.
    pub fn of_hashes(key: &Key, arity: usize, leaves: Role, update: Update, planted: PlantedBug) -> Tree {
        let nodes = Nodes::Hashes(NodeHashes::new(key, arity), Memo::default());
        Tree { nodes: nodes.into(), leaves, update, planted }
    }

    /// A tree of versions over counter lines, with nodes of these counters by level.
    pub fn of_versions(
        key: &Key,
        leaves: Counters,
        levels: Vec<Counters>,
        update: Update,
        planted: PlantedBug,
    ) -> Tree {
        let nodes = Nodes::Versions(Box::new(Versions::new(key, leaves, levels, planted)));
        Tree { nodes: nodes.into(), leaves: Role::Counter, update, planted }
    }

    /// Returns the role of the lines that the tree covers.
    pub fn leaves(&self) -> Role {
        self.leaves
    }

    /// Returns true if every write updates the nodes up to the root at once, not only when lines leave the chip.
    pub fn is_eager(&self) -> bool {
        self.update == Update::Eager
    }

    /// Returns true if the tree covers lines of this role as leaves.
    pub fn covers(&self, role: Role) -> bool {
        self.leaves == role
    }

    /// Returns true if a child's tag is computed before the update of its parent. A MAC under a version can only be
    /// computed after that update.
    pub fn hashes_before_update(&self) -> bool {
        matches!(*self.nodes, Nodes::Hashes(..))
    }

    /// Number of hashes or MACs computed so far.
    pub fn computed(&self) -> u64 {
        match &*self.nodes {
            Nodes::Hashes(_, memo) => memo.computed(),
            Nodes::Versions(versions) => versions.computed(),
        }
    }

    /// Children of a node at this level.
    pub fn arity(&self, level: usize) -> u64 {
        match &*self.nodes {
            Nodes::Hashes(hashes, _) => hashes.arity(),
            Nodes::Versions(versions) => versions.at(level).lines_per_group(),
        }
    }

    /// The parent of a slot, if the tree covers it.
    pub fn parent(&self, layout: &Layout, slot: Slot) -> Option<Parent> {
        let (role, index) = layout.role_and_index(slot);
        let level = match role {
            Role::Node(level) => level as usize + 1,
            leaf if self.covers(leaf) => 0,
            _ => return None,
        };
        let arity = self.arity(level);
        let node = match layout.levels().get(level) {
            Some(nodes) => Node::Stored(nodes.slot(index / arity)),
            None if self.planted.has(Bug::RootLinesShared) => Node::Root(0),
            None => Node::Root((index / arity) as usize),
        };
        let positions = if self.planted.has(Bug::ChildrenShareEntries) { arity / 2 } else { arity };
        Some(Parent { node, level, position: (index % positions) as usize })
    }

    /// The slots of a parent's children at these positions, as far as they exist.
    pub fn children(&self, layout: &Layout, parent: Parent, positions: Range<usize>) -> impl Iterator<Item = Slot> {
        let below = match parent.level {
            0 => layout.leaves(),
            level => layout.levels().get(level - 1).copied(),
        };
        let index = match parent.node {
            Node::Root(line) => line as u64,
            Node::Stored(slot) => layout.role_and_index(slot).1,
        };
        let first = index * self.arity(parent.level);
        below.into_iter().flat_map(move |region| {
            let lines = first + positions.start as u64..(first + positions.end as u64).min(region.lines);
            lines.map(move |line| region.slot(line))
        })
    }

    /// Returns the voucher that a parent's node holds for the child.
    pub fn voucher(&self, parent: Parent, node: &Line) -> Voucher {
        match &*self.nodes {
            Nodes::Hashes(hashes, _) => Voucher::Tag(hashes.entry(node, parent.position)),
            Nodes::Versions(versions) => Voucher::Version(versions.at(parent.level).read(node, parent.position)),
        }
    }

    /// Returns an example of a voucher for a child that was written.
    pub fn some_voucher(&self) -> Voucher {
        match &*self.nodes {
            Nodes::Hashes(..) => Voucher::Tag([1; units::LINE_BYTES / 2]),
            Nodes::Versions(_) => Voucher::Version(Counter(1)),
        }
    }

    /// Returns true if the parent's voucher matches `content`, which memory returned for `slot`.
    pub fn fits(&self, slot: Slot, role: Role, content: &Line, voucher: Voucher) -> bool {
        #[cfg(test)]
        if voucher != Voucher::Nothing {
            crate::work_done::hash();
        }
        match (&*self.nodes, voucher) {
            (_, Voucher::Nothing) => true,
            _ if self.planted.has(Bug::BlankFits) && *content == ZERO_LINE => true,
            (Nodes::Hashes(hashes, memo), Voucher::Tag(tag)) => {
                let computed = self.tag(hashes, memo, slot, content);
                if self.planted.has(Bug::ShortHashComparison) { computed[0] == tag[0] } else { computed == tag }
            }
            (Nodes::Versions(versions), Voucher::Version(version)) => {
                versions.fits(self.named(slot), role, content, version)
            }
            _ => unreachable!("a tree gives vouchers of one kind"),
        }
    }

    /// Makes a node vouch for the present content of its child. Returns the new voucher.
    ///
    /// # Errors
    /// If the child's version overflows. The node is then unchanged.
    pub fn update(&self, parent: Parent, node: &mut Line, slot: Slot, content: &Line) -> Result<Voucher, Overflow> {
        let deaf = match parent.node {
            Node::Root(_) => self.planted.has(Bug::RootNotUpdated),
            Node::Stored(_) => self.planted.has(Bug::ParentNotUpdated),
        };
        let mut unheard = *node;
        let node = if deaf { &mut unheard } else { node };
        match &*self.nodes {
            Nodes::Hashes(hashes, memo) => {
                #[cfg(test)]
                crate::work_done::hash();
                let tag = self.tag(hashes, memo, slot, content);
                hashes.set_entry(node, parent.position, tag);
                Ok(Voucher::Tag(tag))
            }
            Nodes::Versions(versions) => versions.at(parent.level).advance(node, parent.position).map(Voucher::Version),
        }
    }

    /// Renews the versions of a node's children after an overflow. Returns `None` if a write at this position no longer
    /// overflows, or overflows with another range, or if the tree has tags instead of versions.
    pub fn renew(&self, parent: Parent, node: &mut Line, positions: &Range<usize>) -> Option<()> {
        let Nodes::Versions(versions) = &*self.nodes else { return None };
        let counters = versions.at(parent.level);
        match counters.advance(&mut node.clone(), parent.position) {
            Err(overflow) if overflow == (Overflow::Renew { positions: positions.clone() }) => {
                // `drawn` is 0: counter organisations that draw counters have no room for a MAC, so the rules exclude
                // them from trees.
                *node = counters.renew(node, parent.position, &overflow, 0);
                Some(())
            }
            _ => None,
        }
    }

    /// Returns a child in the form that is written to memory, under the version that its parent already holds.
    pub fn seal_under(&self, slot: Slot, role: Role, content: &Line, voucher: Voucher) -> Line {
        match (&*self.nodes, voucher) {
            (Nodes::Versions(versions), Voucher::Version(version)) => {
                #[cfg(test)]
                crate::work_done::hash();
                let before = Counter(version.0.saturating_sub(1));
                let version = if self.planted.has(Bug::SealedUnderOldVersion) { before } else { version };
                versions.seal(self.named(slot), role, content, version)
            }
            _ => *content,
        }
    }

    /// The tag of a child in its slot.
    fn tag(&self, hashes: &NodeHashes, memo: &Memo<Tag>, slot: Slot, content: &Line) -> Tag {
        let named = self.named(slot);
        memo.of(&MacInput { line_number: named.0, version: 0, bitmap: 0, text: *content }, || {
            hashes.tag(named, content)
        })
    }

    /// The slot that tags and MACs cover.
    fn named(&self, slot: Slot) -> Slot {
        let slot = if self.planted.has(Bug::NodeAddressTruncated) { Slot(slot.0 % 64) } else { slot };
        if self.planted.has(Bug::NodeWithoutAddress) { Slot(0) } else { slot }
    }
}
