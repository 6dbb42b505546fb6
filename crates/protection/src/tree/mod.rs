//! The integrity tree: what makes an old counter as wrong as a forged one.
//!
//! [`Bonsai`] is a Bonsai Merkle tree (Rogers et al., MICRO 2007): it covers the counters only, since a data line's own
//! tag already ties the line to its counter. Each node holds the tags of its eight children; the tags of the topmost
//! stored nodes are on the chip.
//!
//! A child that was never written is all zeros and has the tag zero, at every level, so that a blank tree needs no
//! set-up. Counters only grow, so a line that was once written is never all zeros again, and the tag of any other line
//! is never zero: nobody can pass a written line off as a blank one.

use crate::layout::Layout;
use crate::mac::{TAGS_PER_LINE, entry, set_entry};
use crate::planted::{Bug, Planted};
use crate::verbs::{Role, Slot};
use crypto::{Aes128, Cmac, Key, LineMac, Nonce};
use units::{Line, LineAddr, ZERO_LINE};

/// Children of one node.
pub const ARITY: u64 = TAGS_PER_LINE;
const NODE_TAG_BITS: u32 = 64;

/// Who vouches for a line of metadata.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parent {
    /// Nobody: it is not covered.
    None,
    /// The register on the chip, at this position.
    Root(usize),
    /// A node in memory, at this position.
    Node(Slot, usize),
}

/// A Bonsai Merkle tree over the counters of a layout.
pub struct Bonsai {
    cmac: Cmac,
    planted: Planted,
}

impl Bonsai {
    /// A tree whose tags are made with this key.
    pub fn new(key: &Key, planted: Planted) -> Bonsai {
        Bonsai { cmac: Cmac::<Aes128>::new(key), planted }
    }

    /// Who vouches for a slot.
    pub fn parent(&self, layout: &Layout, slot: Slot) -> Parent {
        let (role, index) = layout.place(slot);
        let above = match role {
            Role::Counter => 0,
            Role::Node(level) => level as usize + 1,
            Role::Data | Role::Tag => return Parent::None,
        };
        let position = (index % ARITY) as usize;
        match layout.levels().get(above) {
            Some(level) => Parent::Node(level.slot(index / ARITY), position),
            None => Parent::Root(position),
        }
    }

    /// The tag of a counter line or of a node, in its place.
    pub fn tag(&self, slot: Slot, content: &Line) -> u64 {
        if *content == ZERO_LINE {
            return 0;
        }
        let place = if self.planted.has(Bug::NodeWithoutAddress) { 0 } else { slot.0 };
        self.cmac.tag(&Nonce::new(LineAddr(place), 0), content, NODE_TAG_BITS).max(1)
    }

    /// The tag that a node holds for one of its children.
    pub fn child_tag(&self, node: &Line, position: usize) -> u64 {
        entry(node, position)
    }

    /// Changes the tag that a node holds for one of its children.
    pub fn set_child_tag(&self, node: &mut Line, position: usize, tag: u64) {
        set_entry(node, position, tag);
    }
}
