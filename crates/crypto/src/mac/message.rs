//! Codes that take any message: the nonce's block, which says where the line belongs, and then the line.
//!
//! The nonce has a fixed length and comes first, so that no line can be read as part of it. Several lines follow each other,
//! each with its nonce in front; a user of a key has messages of one number of lines under it, as CBC-MAC demands.

use super::Tag;
use crate::{Domain, LineMac, Nonce};
use ::cmac::Mac;
use units::Line;

/// A code over nonce and line. It needs no nonce that never repeats: the nonce is part of what it vouches for.
pub struct MessageMac<M> {
    keyed: M,
}

impl<M: Mac + Clone> MessageMac<M> {
    pub(crate) fn over(keyed: M) -> MessageMac<M> {
        MessageMac { keyed }
    }

    /// The whole code of a message in parts.
    pub(crate) fn code(&self, message: &[&[u8]]) -> impl AsRef<[u8]> + use<M> {
        let mut mac = self.keyed.clone();
        message.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes()
    }
}

impl<M: Mac + Clone> LineMac for MessageMac<M> {
    fn whole_bits(&self) -> u32 {
        8 * M::output_size() as u32
    }

    fn tag(&self, nonce: &Nonce, text: &Line, bits: u32) -> Tag {
        Tag::first_of(self.code(&[&nonce.block(Domain::TagMask, 0), text]).as_ref(), bits)
    }

    fn tag_over(&self, lines: &[(Nonce, Line)], bits: u32) -> Option<Tag> {
        let mut mac = self.keyed.clone();
        for (nonce, text) in lines {
            mac.update(&nonce.block(Domain::TagMask, 0));
            mac.update(text);
        }
        Some(Tag::first_of(&mac.finalize().into_bytes(), bits))
    }
}
