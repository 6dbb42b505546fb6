//! Nodes of tags: 2, 4 or 8 children, whose tags fill the node.
//!
//! ```text
//! arity 8   | tag 0 | tag 1 | ... | tag 7 |    64 bits each, AES-CMAC
//! arity 4   | tag 0   | ...     | tag 3   |   128 bits each, AES-CMAC
//! arity 2   | tag 0       | tag 1         |   256 bits each, HMAC-SHA-256
//! ```
//! A child that is all zeros has the tag zero. Counters only grow and tags are never zero, so a line that was once written
//! is never all zeros again, and the tag of any other line is never zero.

use crate::verbs::Slot;
use crypto::{Cmac, HmacSha256, Key, Nonce};
use units::{LINE_BYTES, Line, LineAddr, ZERO_LINE};

/// The longest tag of a child; shorter ones are followed by zeros.
pub type Tag = [u8; LINE_BYTES / 2];

#[derive(Clone)]
enum Code {
    Cmac(Box<Cmac>),
    Hmac(Box<HmacSha256>),
}

/// How the nodes of a hash tree are made.
#[derive(Clone)]
pub(super) struct Hashes {
    code: Code,
    arity: usize,
}

impl Hashes {
    /// Nodes of `arity` children, 2, 4 or 8.
    pub fn new(key: &Key, arity: usize) -> Hashes {
        let code = match arity {
            2 => Code::Hmac(Box::new(HmacSha256::new(key))),
            _ => Code::Cmac(Box::new(Cmac::new(key))),
        };
        Hashes { code, arity }
    }

    pub fn arity(&self) -> u64 {
        self.arity as u64
    }

    /// The tag of a leaf or of a node, in its place.
    pub fn tag(&self, slot: Slot, content: &Line) -> Tag {
        let mut tag = [0; LINE_BYTES / 2];
        if *content == ZERO_LINE {
            return tag;
        }
        let nonce = Nonce::new(LineAddr(slot.0), 0);
        let width = self.width();
        match &self.code {
            Code::Cmac(cmac) => cmac.beginning(&nonce, content, &mut tag[..width]),
            Code::Hmac(hmac) => hmac.beginning(&nonce, content, &mut tag[..width]),
        }
        if tag == [0; LINE_BYTES / 2] {
            tag[0] = 1;
        }
        tag
    }

    /// The tag that a node holds for one of its children.
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

    /// Bytes of a tag.
    fn width(&self) -> usize {
        LINE_BYTES / self.arity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tags_of_all_children_fill_the_node_and_depend_on_content_and_place() {
        for arity in [2, 4, 8] {
            let hashes = Hashes::new(&Key([7; 16]), arity);
            let mut node = ZERO_LINE;
            let tags: Vec<Tag> = (0..arity).map(|child| hashes.tag(Slot(child as u64), &[9; 64])).collect();
            for (position, tag) in tags.iter().enumerate() {
                hashes.set_entry(&mut node, position, *tag);
            }
            assert!(node.chunks(8).all(|part| part != [0; 8]), "{arity}: {node:02x?}");
            for (position, tag) in tags.iter().enumerate() {
                assert_eq!(hashes.entry(&node, position), *tag);
                assert!(!tags[..position].contains(tag), "the same content has other tags elsewhere");
            }
            assert_ne!(hashes.tag(Slot(0), &[8; 64]), tags[0]);
            assert_eq!(hashes.tag(Slot(0), &ZERO_LINE), [0; 32]);
        }
    }
}
