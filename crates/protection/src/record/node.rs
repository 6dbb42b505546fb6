//! Nodes of the tree over records, and their pairs in memory.

use crypto::{SHA1_BYTES, sha1_of_pair};
use units::{Line, ZERO_LINE};

/// The hash of a pair.
pub(super) type HashNode = [u8; SHA1_BYTES];
/// Node of a pair that was never written.
pub(super) const BLANK_NODE: HashNode = [0; SHA1_BYTES];
/// Bytes of a pair of nodes.
pub(super) const PAIR_BYTES: usize = 2 * SHA1_BYTES;

/// Returns the node above a pair.
pub(super) fn node_of(left: &[u8], right: &[u8]) -> HashNode {
    if left.iter().chain(right).all(|byte| *byte == 0) {
        return BLANK_NODE;
    }
    let mut node = sha1_of_pair(left, right);
    if node == BLANK_NODE {
        node[0] = 1;
    }
    node
}

/// Two nodes with one parent, which share a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair(pub [HashNode; 2]);

impl Pair {
    /// Pair that was never written.
    pub const BLANK: Pair = Pair([BLANK_NODE; 2]);

    /// Returns the pair in a line, and true if the remaining bytes of the line are zeros.
    pub fn read(line: &Line) -> (Pair, bool) {
        let node = |position: usize| std::array::from_fn(|byte| line[position * SHA1_BYTES + byte]);
        (Pair([node(0), node(1)]), line[PAIR_BYTES..].iter().all(|byte| *byte == 0))
    }

    /// Returns the line of the pair.
    pub fn to_line(self) -> Line {
        let mut line = ZERO_LINE;
        line[..PAIR_BYTES].copy_from_slice(self.0.as_flattened());
        line
    }

    /// Returns the node above the pair.
    pub fn node(&self) -> HashNode {
        node_of(&self.0[0], &self.0[1])
    }
}
