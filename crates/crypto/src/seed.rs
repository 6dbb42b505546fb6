//! Seeds: the inputs from which keystream is generated. No two lines or versions may share a seed, in any format of
//! seeds.

use crate::{BLOCK_BYTES, Domain, Nonce};

/// Source of keystream: an input for the cipher that never repeats.
///
/// # Contract
/// `index` determines the last byte and no other, so that a cipher with shorter blocks can process the beginning of the
/// block once for the whole line.
pub trait Seed {
    /// Returns the input for one block of one use.
    fn block(&self, domain: Domain, index: u8) -> [u8; BLOCK_BYTES];
}

impl Seed for Nonce {
    fn block(&self, domain: Domain, index: u8) -> [u8; BLOCK_BYTES] {
        Nonce::block(self, domain, index)
    }
}

/// A seed without an address (Rogers et al., MICRO 2007, section 4): the page's logical identifier, the line's position
/// in the page, and the line's minor counter.
///
/// Identifiers are drawn from a counter that only grows, and a page gets a new one when a minor counter overflows. So a
/// page can be moved in memory, or swapped out, without a new encryption.
///
/// ```text
/// byte   0                  8        9                 14       15
///        | page identifier  | line   | minor counter   | domain | block |
///        | 64 bit           | 8 bit  | 40 bit, 8 used  | 8 bit  | 8 bit |
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageSeed {
    /// Logical identifier of the page.
    pub page: u64,
    /// Position of the line in the page.
    pub line: u8,
    /// Minor counter of the line.
    pub minor: u8,
}

impl Seed for PageSeed {
    fn block(&self, domain: Domain, index: u8) -> [u8; BLOCK_BYTES] {
        let mut block = [0; BLOCK_BYTES];
        block[..8].copy_from_slice(&self.page.to_le_bytes());
        block[8] = self.line;
        block[9] = self.minor;
        block[14] = domain as u8;
        block[15] = index;
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CounterMode, Key};
    use aes::Aes128;

    #[test]
    fn every_field_of_a_page_seed_has_separate_bytes() {
        let zero = PageSeed { page: 0, line: 0, minor: 0 };
        let base = zero.block(Domain::Pad, 0);
        let full = [
            PageSeed { page: u64::MAX, ..zero }.block(Domain::Pad, 0),
            PageSeed { line: u8::MAX, ..zero }.block(Domain::Pad, 0),
            PageSeed { minor: u8::MAX, ..zero }.block(Domain::Pad, 0),
            zero.block(Domain::TagMask, 0),
            zero.block(Domain::Pad, u8::MAX),
        ];
        for byte in 0..BLOCK_BYTES {
            let touching = full.iter().filter(|block| block[byte] != base[byte]).count();
            assert!(touching <= 1, "byte {byte} belongs to {touching} fields");
        }
        assert!(full.iter().all(|block| *block != base), "a field reaches no byte");
    }

    #[test]
    fn pads_differ_for_different_logical_page_identifiers() {
        let mode = CounterMode::<Aes128>::new(&Key([1; 16]));
        let seed = PageSeed { page: 41, line: 3, minor: 7 };
        // The place in memory is no input: the same line of the same page has the same pad at every place.
        assert_eq!(mode.pad(&seed), mode.pad(&PageSeed { ..seed }));
        assert_ne!(mode.pad(&seed), mode.pad(&PageSeed { page: 42, ..seed }));
    }
}
