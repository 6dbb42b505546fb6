//! The cryptography of an access by itself, outside of any memory: for who wants to know what it costs the computer that
//! simulates it.

use super::Scheme;
use crate::counter::Counter;
use crate::tree::Tree;
use crate::verbs::{Role, Slot};
use units::{Line, LineAddr};

impl Scheme {
    /// Encrypts a line, and computes its tag if lines have tags.
    pub fn seal_alone(&self, line: LineAddr, counter: u64, plaintext: &Line) -> (Line, Option<u64>) {
        let counter = Counter(counter.into());
        let ciphertext = self.cipher.seal(line, counter, plaintext);
        let tag = self.mac.as_ref().map(|mac| mac.tag(line, counter, mac.covered(plaintext, &ciphertext)));
        (ciphertext, tag)
    }

    /// Compares a line of the tree with what its parent might hold about it; always equal without a tree.
    pub fn compare_alone(&self, slot: Slot, content: &Line) -> bool {
        let compare = |tree: &Tree| tree.fits(slot, Role::Node(0), content, tree.some_voucher());
        self.tree.as_ref().is_none_or(compare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::pairs;
    use crate::performed::{self, Performed};

    #[test]
    fn what_is_measured_alone_is_the_cryptography_of_one_access_and_of_one_comparison() {
        for parts in pairs() {
            let scheme = parts.build(1 << 15, 1).unwrap_or_else(|error| panic!("{parts:?}: {error}"));
            performed::take();
            scheme.seal_alone(LineAddr(3), 7, &[5; 64]);
            let (blocks, macs) = (scheme.cipher.blocks(), u32::from(scheme.mac.is_some()));
            assert_eq!(performed::take(), Performed { blocks, macs, hashes: 0 }, "{parts:?}");
            let tree = scheme.tree.is_some();
            assert_eq!(scheme.compare_alone(Slot(1 << 15), &[5; 64]), !tree, "{parts:?}");
            assert_eq!(performed::take(), Performed { hashes: u32::from(tree), ..Performed::default() }, "{parts:?}");
        }
    }
}
