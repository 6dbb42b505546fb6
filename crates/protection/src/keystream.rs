//! Keystream that leaves the chip. Tests record it, to prove that no keystream is used twice.

use crypto::Nonce;
use units::Line;

/// Keystream, and the text that it hides. No keystream may hide two different texts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Keystream {
    /// The pad of a nonce hides a plaintext.
    Pad(Nonce, Line),
    /// The masks of these nonces together hide the hash of these lines: one tag.
    Masks(Box<[(Nonce, Line)]>),
    /// The pad of a slot of a page chunk hides a plaintext. The pad is computed from the page chunk's random number.
    OfPageChunk {
        /// Number of the page chunk.
        chunk: u64,
        /// R', drawn at the page chunk's permutation.
        number: u128,
        /// Number of the slot in its page chunk.
        slot: u8,
        /// Text that the pad hides.
        text: Line,
    },
}
