//! Nodes of tags of 2, 4 or 8 children.
//!
//! ```text
//! arity 8   | tag 0 | tag 1 | ... | tag 7 |    64 bits each, AES-CMAC
//! arity 4   | tag 0   | ...     | tag 3   |   128 bits each, AES-CMAC
//! arity 2   | tag 0     | tag 1     | 0   |   192 bits each, SHA-256/192
//! ```
//! With two children, a quarter of the node is unused and stays zero. The hash omits this quarter if it is zero, and
//! otherwise covers the whole line. It also covers the length of its text, so the tree detects a changed bit in the
//! quarter too. A node and its slot number fit one step of SHA-256; an eager update needs one step for each level of
//! the tree.
//!
//! A child that is all zeros has the tag zero. Counters only grow, and the tag of any other line is never zero. So a
//! line that was once written is never all zeros again.

use crate::verbs::Slot;
use crypto::{Cmac, Key, Nonce, Sha256Prefix};
use units::{LINE_BYTES, Line, ZERO_LINE};

/// The longest tag of a child; shorter tags are padded with zeros.
pub type Tag = [u8; LINE_BYTES / 2];

enum Code {
    Cmac(Box<Cmac>),
    Sha256(Box<Sha256Prefix>),
}

/// Construction of the nodes of a hash tree.
pub(super) struct NodeHashes {
    code: Code,
    arity: usize,
}

impl NodeHashes {
    /// Returns the construction of nodes of `arity` children: 2, 4 or 8.
    pub fn new(key: &Key, arity: usize) -> NodeHashes {
        let code = match arity {
            2 => Code::Sha256(Box::new(Sha256Prefix::new(key))),
            _ => Code::Cmac(Box::new(Cmac::new(key))),
        };
        NodeHashes { code, arity }
    }

    pub fn arity(&self) -> u64 {
        self.arity as u64
    }

    /// Returns the tag of a leaf or of a node; it also covers the slot.
    pub fn tag(&self, slot: Slot, content: &Line) -> Tag {
        let mut tag = [0; LINE_BYTES / 2];
        if *content == ZERO_LINE {
            return tag;
        }
        let width = self.width();
        match &self.code {
            Code::Cmac(cmac) => cmac.beginning(&Nonce::new(slot.0, 0), content, &mut tag[..width]),
            Code::Sha256(sha256) => tag[..width].copy_from_slice(&sha256.hash(slot.0, self.hashed(content))),
        }
        if tag == [0; LINE_BYTES / 2] {
            tag[0] = 1;
        }
        tag
    }

    /// Returns the tag that a node holds for one of its children.
    pub fn entry(&self, node: &Line, position: usize) -> Tag {
        let width = self.width();
        let mut tag = [0; LINE_BYTES / 2];
        tag[..width].copy_from_slice(&node[position * width..(position + 1) * width]);
        tag
    }

    /// Changes the tag that a node holds for one of its children.
    pub fn set_entry(&self, node: &mut Line, position: usize, tag: Tag) {
        let width = self.width();
        node[position * width..(position + 1) * width].copy_from_slice(&tag[..width]);
    }

    /// Returns the part of a line that is hashed: the whole line, or the line without the unused end of a node if this
    /// end is zero.
    fn hashed<'a>(&self, content: &'a Line) -> &'a [u8] {
        let (tags, rest) = content.split_at(self.arity * self.width());
        if rest.iter().all(|byte| *byte == 0) { tags } else { content }
    }

    /// Length of a tag in bytes.
    fn width(&self) -> usize {
        match &self.code {
            Code::Cmac(_) => LINE_BYTES / self.arity,
            Code::Sha256(_) => Sha256Prefix::BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_child_tags_of_a_tree_node_fit_and_depend_on_content_and_address() {
        for arity in [2, 4, 8] {
            let hashes = NodeHashes::new(&Key([7; 16]), arity);
            let mut node = ZERO_LINE;
            let tags: Vec<Tag> = (0..arity).map(|child| hashes.tag(Slot(child as u64), &[9; 64])).collect();
            for (position, tag) in tags.iter().enumerate() {
                hashes.set_entry(&mut node, position, *tag);
            }
            let used = arity * hashes.width();
            assert!(
                node.chunks(8).enumerate().all(|(part, bytes)| (bytes != [0; 8]) == (8 * part < used)),
                "{node:02x?}"
            );
            for (position, tag) in tags.iter().enumerate() {
                assert_eq!(hashes.entry(&node, position), *tag);
                assert!(!tags[..position].contains(tag), "the same content has other tags elsewhere");
            }
            assert_ne!(hashes.tag(Slot(0), &[8; 64]), tags[0]);
            assert_eq!(hashes.tag(Slot(0), &ZERO_LINE), [0; 32]);
        }
    }

    #[test]
    fn an_unused_bit_of_a_binary_tree_node_changes_the_tag_of_the_node() {
        let hashes = NodeHashes::new(&Key([7; 16]), 2);
        let mut node = ZERO_LINE;
        (0..2).for_each(|child| hashes.set_entry(&mut node, child, hashes.tag(Slot(child as u64), &[9; 64])));
        let tag = hashes.tag(Slot(4), &node);
        for bit in 2 * hashes.width() * 8..LINE_BYTES * 8 {
            let mut changed = node;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(hashes.tag(Slot(4), &changed), tag, "bit {bit}");
        }
    }
}
