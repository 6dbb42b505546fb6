//! Keystream that leaves the chip, for those who prove that none serves twice.

use crypto::Nonce;
use units::Line;

/// Keystream, and what it hides. No keystream may hide two different things.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Keystream {
    /// The pad of a nonce hides a plaintext.
    Pad(Nonce, Line),
    /// The masks of these nonces together hide the hash of these lines: one tag.
    Masks(Box<[(Nonce, Line)]>),
    /// The pad of a slot of a chunk hides a plaintext, under the number that the chunk's pads are made of.
    OfChunk {
        /// Which chunk.
        chunk: u64,
        /// R', drawn at the chunk's permutation.
        number: u128,
        /// The slot, in its chunk.
        slot: u8,
        /// What the pad hides.
        text: Line,
    },
}
