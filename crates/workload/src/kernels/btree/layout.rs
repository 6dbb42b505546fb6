//! How the tree lies in memory: what its writer and its recovery must agree on, and all that they share.
//!
//! ```text
//! root, where new memory begins │ the stack │ of a persistent tree the ring of free nodes │ nodes
//! node:  header (leaf or not, number of keys) │ 15 keys │ 16 slots: children, or the values of a leaf
//! ```

use super::super::arena::ValueAddress;
use units::LINE_BYTES;

/// Bytes in a node: four lines.
pub const NODE_BYTES: u64 = 256;
/// Keys in a full node.
pub const MAX_KEYS: u64 = 15;
/// Set in a leaf's header; the rest of a header is the number of keys.
pub const LEAF: u64 = 1 << 32;
/// Words of the ring of free nodes.
pub const RING_WORDS: u64 = 64;

/// Where the nodes of a persistent tree begin, in bytes from the root's word.
pub const NODES_OFFSET: u64 = 2 * LINE_BYTES as u64 + 8 * RING_WORDS;

/// A node, by its address.
#[derive(Clone, Copy)]
pub struct Node(pub u64);

impl Node {
    /// What it is, and its number of keys.
    pub fn header(self) -> ValueAddress<u64> {
        ValueAddress::at(self.0)
    }

    /// A key.
    pub fn key(self, index: u64) -> ValueAddress<u64> {
        ValueAddress::at(self.0 + 8 + 8 * index)
    }

    /// A child, or a value.
    pub fn slot(self, index: u64) -> ValueAddress<u64> {
        ValueAddress::at(self.0 + 128 + 8 * index)
    }
}
