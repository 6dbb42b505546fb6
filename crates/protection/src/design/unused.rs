//! Parts and keys that a design does not use: they would add cost, or appear to add cost, without any protection.
//!
//! Sizes of caches are excluded: a run gives all its designs the same sizes, including the unprotected design.

use super::macs::DEFAULT_BITS;
use super::{CounterChoice, Covered, MacChoice, Parts, TreeDesign, TreeKind};
use crate::cipher::NonceInputs;

/// Returns the rule for the first unused part or key, if there is any.
pub(super) fn rule(parts: &Parts) -> Option<&'static str> {
    let Parts { cipher, counters, mac, tree, .. } = parts;
    let takes_counters = cipher.nonce_inputs() != NonceInputs::Address
        || mac.has_nonce()
        || mac.covers.contains(&Covered::Counter)
        || tree.kind != TreeKind::None;
    let (codeless, treeless) = (mac.code == MacChoice::None, tree.kind == TreeKind::None);
    let usual = TreeDesign::from(tree.kind);
    let rules = [
        (
            codeless && !mac.covers.is_empty(),
            "mac.covers names the inputs of a tag, and the design has no tags: set mac.code = \"cmac\" or leave \
             mac.covers out",
        ),
        (
            *counters != CounterChoice::None && !takes_counters,
            "the cipher, the code and the tree of this design use no counters: set cipher = \"aes128-counter\", \
             mac.code = \"gmac\" or counters = \"none\"",
        ),
        (
            codeless && mac.tag_bits.is_some_and(|bits| bits != DEFAULT_BITS),
            "mac.tag_bits is the length of a tag, and the design has no tags: set mac.code = \"gmac\" or leave \
             mac.tag_bits out",
        ),
        (
            (treeless || tree.kind == TreeKind::Counters) && tree.arity != usual.arity,
            "tree.arity is for nodes of tags, and the design has none: set tree.kind = \"bonsai\" or leave tree.arity \
             out",
        ),
        (
            treeless && (tree.root_lines != usual.root_lines || tree.update != usual.update),
            "tree.root_lines and tree.update are for a tree, and the design has none: set tree.kind = \"bonsai\" or \
             leave them out",
        ),
    ];
    rules.into_iter().find(|(broken, _)| *broken).map(|(_, rule)| rule)
}
