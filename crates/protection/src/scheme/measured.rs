//! Amount of cryptography that a run computes on the host. Each kind of computation is also a separate call without a
//! memory, so that a caller can measure its time.

use super::FixedScheme;
use crate::counter::Counter;
use crate::mac::Mac;
use crate::speculation::{Bitmap, Speculation};
use crate::tree::Tree;
use crate::verbs::{Role, Slot};
use crypto::Tag;
use serde::Serialize;
use units::{Line, LineAddr};

/// Numbers of cryptographic computations, for accesses and for lines put into memory at boot. Results that the memo
/// still holds are not computed again, and not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Computed {
    /// Lines encrypted or decrypted.
    pub lines: u64,
    /// Tags of lines. A tag over several lines counts once for each of them.
    pub tags: u64,
    /// Tags among these that were computed in pairs.
    pub tags_in_pairs: u64,
    /// Hashes or MACs of metadata lines.
    pub hashes: u64,
}

/// The cryptography of a scheme, without its memory.
pub struct Cryptography<'a>(&'a FixedScheme);

impl FixedScheme {
    /// Returns the scheme's cryptography, without its memory.
    pub fn cryptography(&self) -> Cryptography<'_> {
        Cryptography(self)
    }
}

impl<'a> Cryptography<'a> {
    /// Returns the amounts computed so far.
    pub fn computed(&self) -> Computed {
        let codec = &self.0.codec;
        let (tags, tags_in_pairs) = codec.mac.as_ref().map_or((0, 0), Mac::computed);
        let hashes = self.0.metadata.tree().map_or(0, Tree::computed);
        Computed { lines: codec.cipher.computed(), tags, tags_in_pairs, hashes }
    }

    /// Returns the speculation on the content of lines, if the design has one.
    pub fn speculation(&self) -> Option<&'a Speculation> {
        self.0.codec.speculation.as_ref()
    }

    /// Returns true if the chip keeps first offsets with the counters.
    pub fn keeps_offsets(&self) -> bool {
        self.0.codec.work.offsets_kept
    }

    /// Encrypts a line under a counter.
    pub fn seal(&self, line: LineAddr, counter: u64, plaintext: &Line) -> Line {
        self.0.codec.encrypt(self.0.layout.data_slot(line), Counter(counter.into()), Bitmap::NONE, plaintext).ciphertext
    }

    /// Computes the tag of a line, if lines have tags; together with a [scheduled](Cryptography::schedule) tag, if
    /// there is one.
    pub fn tag(&self, line: LineAddr, counter: u64, text: &Line) -> Option<Tag> {
        let (at, counter) = (self.0.layout.data_slot(line), Counter(counter.into()));
        self.0.codec.mac.as_ref().map(|mac| mac.tag(at, counter, Bitmap::NONE, text))
    }

    /// Schedules a tag that will be needed. The next computation computes both tags together, if that is faster.
    pub fn schedule(&self, line: LineAddr, counter: u64, text: &Line) {
        if let Some(mac) = &self.0.codec.mac {
            mac.schedule(self.0.layout.data_slot(line), Counter(counter.into()), Bitmap::NONE, text);
        }
    }

    /// Compares a line of the tree with a sample of its parent's entry. Returns true without a tree.
    pub fn compare(&self, slot: Slot, content: &Line) -> bool {
        let compare = |tree: &Tree| tree.fits(slot, Role::Node(0), content, tree.some_voucher());
        self.0.metadata.tree().is_none_or(compare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::pairs;
    use crate::work_done::{self, WorkDone};

    const TEXT: Line = [5; 64];

    #[test]
    fn the_declared_cipher_and_mac_operations_of_an_access_equal_the_executed_ones() {
        for parts in pairs() {
            let built = parts.build(1 << 15, 1).unwrap_or_else(|error| panic!("{parts:?}: {error}"));
            let scheme = built.fixed().unwrap();
            work_done::take();
            scheme.cryptography().seal(LineAddr(3), 7, &TEXT);
            scheme.cryptography().tag(LineAddr(3), 7, &TEXT);
            let (tags, of_tag) = (u32::from(scheme.codec.mac.is_some()), scheme.codec.work.tag);
            let blocks = scheme.codec.work.blocks() + of_tag.map_or(0, |uses| uses.blocks());
            let macs = if of_tag.is_some() { 0 } else { tags };
            assert_eq!(work_done::take(), WorkDone { blocks, macs, hashes: 0 }, "{parts:?}");
            let tree = scheme.metadata.tree().is_some();
            assert_eq!(scheme.cryptography().compare(Slot(1 << 15), &TEXT), !tree, "{parts:?}");
            assert_eq!(work_done::take(), WorkDone { hashes: u32::from(tree), ..WorkDone::default() }, "{parts:?}");
            // The same tag again is still known.
            scheme.cryptography().tag(LineAddr(3), 7, &TEXT);
            let computed = Computed {
                lines: scheme.codec.cipher.uses().is_some().into(),
                tags: tags.into(),
                tags_in_pairs: 0,
                hashes: tree.into(),
            };
            assert_eq!(scheme.cryptography().computed(), computed, "{parts:?}");
        }
    }
}
