//! Codes that take any message: the nonce's block, which identifies the line, and then the line.
//!
//! The nonce has a fixed length and is first, so that no line can be read as part of it. Several lines follow each
//! other, each after its nonce. All messages under one key have the same number of lines, as CBC-MAC requires.

use super::Tag;
use crate::{Domain, LineMac, Nonce};
use ::cmac::Mac;
use units::{Line, LineLength};

/// A code over nonce and line. Its nonces may repeat, since the code covers the nonce.
pub struct MessageMac<M> {
    keyed: M,
    /// Part of a line that is in use.
    length: LineLength,
}

impl<M: Mac + Clone> MessageMac<M> {
    pub(crate) fn over(keyed: M) -> MessageMac<M> {
        MessageMac { keyed, length: LineLength::WHOLE }
    }

    /// Returns the whole code of a message in parts.
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
        let text = &text[..self.length.bytes()];
        Tag::first_of(self.code(&[&nonce.block(Domain::TagMask, 0), text]).as_ref(), bits)
    }

    fn shorten(&mut self, length: LineLength) -> bool {
        self.length = length;
        true
    }

    fn tag_over(&self, lines: &[(Nonce, Line)], bits: u32) -> Option<Tag> {
        let mut mac = self.keyed.clone();
        for (nonce, text) in lines {
            mac.update(&nonce.block(Domain::TagMask, 0));
            mac.update(&text[..self.length.bytes()]);
        }
        Some(Tag::first_of(&mac.finalize().into_bytes(), bits))
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::nonce;
    use crate::{Domain, HmacSha1, HmacSha256, HmacSha512, Key, LineMac, MessageMac};

    /// Returns the whole tag of a line, from its first byte on, and the library's code of nonce and line.
    fn of_a_line<M: cmac::Mac + Clone>(mac: &MessageMac<M>) -> (Vec<u8>, Vec<u8>) {
        let (at, text) = (nonce(77, 5), std::array::from_fn(|byte| byte as u8));
        let tag = mac.tag(&at, &text, mac.whole_bits());
        let bytes = tag.to_bytes().into_iter().take(mac.whole_bits() as usize / 8).rev();
        (bytes.collect(), mac.code(&[&at.block(Domain::TagMask, 0), &text]).as_ref().to_vec())
    }

    #[test]
    fn the_full_length_tag_of_a_line_is_the_hmac_of_its_nonce_and_content() {
        for (tag, code) in [
            of_a_line(&HmacSha1::new(&Key([1; 20]))),
            of_a_line(&HmacSha256::new(&Key([2; 32]))),
            of_a_line(&HmacSha512::new(&Key([3; 64]))),
        ] {
            assert_eq!(tag, code);
        }
    }
}
