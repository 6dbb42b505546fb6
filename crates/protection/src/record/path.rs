//! The path from a record up to a node that the chip vouches for.

use super::leaf::Leaf;
use super::node::{HashNode, Pair};

/// A record with its sibling, and the pairs of nodes above, from the lowest up to the level that the chip vouches for.
pub(super) struct RecordPath {
    pub leaves: [Leaf; 2],
    /// True if the cache has the record and its sibling.
    pub leaves_are_cached: bool,
    /// Pairs, each with `true` if the cache has it.
    pub pairs: Vec<(Pair, bool)>,
    /// Node above the last pair.
    pub above: HashNode,
}

/// Siblings above a record that the cache has, and the node at which a walk starts to verify the others.
pub(super) struct CachedPath {
    pub leaves: Option<[Leaf; 2]>,
    /// Pairs of nodes from the lowest up.
    pub pairs: Vec<Option<Pair>>,
    /// Node above the last pair.
    pub above: HashNode,
}
