//! Memory layout of the tree: the only code that its writer and its recovery share.
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
/// Flag in the header of a leaf; the other bits of a header are the number of keys.
pub const LEAF: u64 = 1 << 32;
/// Words of the ring of free nodes.
pub const RING_WORDS: u64 = 64;

/// Offset of the first node of a persistent tree from the root's word, in bytes.
pub const NODES_OFFSET: u64 = 2 * LINE_BYTES as u64 + 8 * RING_WORDS;

/// Address of a node.
#[derive(Clone, Copy)]
pub struct BtreeNode(pub u64);

impl BtreeNode {
    /// Returns the address of the header: the leaf flag and the number of keys.
    pub fn header(self) -> ValueAddress<u64> {
        ValueAddress::at(self.0)
    }

    /// Returns the address of key `index`.
    pub fn key(self, index: u64) -> ValueAddress<u64> {
        ValueAddress::at(self.0 + 8 + 8 * index)
    }

    /// Returns the address of slot `index`: a child, or the value of a leaf's key.
    pub fn slot(self, index: u64) -> ValueAddress<u64> {
        ValueAddress::at(self.0 + 128 + 8 * index)
    }
}
