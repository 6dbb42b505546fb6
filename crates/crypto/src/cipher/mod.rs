//! Modes of encryption over one line.

mod cbc;
mod counter;
mod ecb;
mod gcm;
mod ocb3;
mod ocb_chunks;
mod xts;

pub use cbc::Cbc;
pub use counter::CounterMode;
pub use ecb::Ecb;
pub use gcm::Gcm;
pub use ocb_chunks::{ChunkText, OcbChunks};
pub use ocb3::Ocb3;
pub use xts::Xts;

use crate::{BLOCK_BYTES, Nonce};
use aes::cipher::BlockSizeUser;
use units::Line;

/// A mode of encryption over one line.
///
/// # Contract
/// `open(n, seal(n, x)) == x` for every nonce and line. What a mode takes from the nonce its own head says.
pub trait LineCipher {
    /// Encrypts.
    fn seal(&self, nonce: &Nonce, plaintext: &Line) -> Line;
    /// Decrypts. Nothing is checked.
    fn open(&self, nonce: &Nonce, ciphertext: &Line) -> Line;
    /// The uses of the block cipher that either takes, keys and constants that stay the same not counted.
    fn uses(&self) -> Uses;
}

/// A block cipher, as hardware has an engine for it: all lengths of keys go through the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BlockCipher {
    /// The Advanced Encryption Standard: blocks of 128 bits.
    Aes,
    /// Triple-DES: blocks of 64 bits.
    Tdes,
}

impl BlockCipher {
    /// The one with blocks of this length.
    pub(crate) fn of<C: BlockSizeUser>() -> BlockCipher {
        if C::block_size() == BLOCK_BYTES { BlockCipher::Aes } else { BlockCipher::Tdes }
    }
}

/// What a mode uses its block cipher for, to seal a line or to open it, or a code for a tag, and which of that waits for which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Uses {
    /// The block cipher.
    pub cipher: BlockCipher,
    /// Uses that need the nonce alone: tweaks, initial vectors, first offsets.
    pub of_nonce: u32,
    /// Whether each of these waits for the one before it.
    pub nonce_chained: bool,
    /// Uses after those: of a mode one for each block, of a code as many as it takes.
    pub of_line: u32,
    /// How these are done.
    pub order: Order,
}

/// When the blocks of a line go through the block cipher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Before the text is there, which is XOR-ed with what comes out; to seal and to open alike.
    Ahead,
    /// Each by itself when the text is there; to open, through the inverse cipher.
    Parallel,
    /// To seal, or for a tag, each after the one before it; to open, each by itself through the inverse cipher.
    Chained,
    /// Of a tag: forward, of the sum of the plaintext's blocks. To seal, side by side with the mode's; to open, when the last of
    /// those has come out.
    Summed,
}

impl Uses {
    /// Bytes of a block.
    pub fn block_bytes(&self) -> usize {
        match self.cipher {
            BlockCipher::Aes => BLOCK_BYTES,
            BlockCipher::Tdes => BLOCK_BYTES / 2,
        }
    }

    /// All of them.
    pub fn blocks(&self) -> u32 {
        self.of_nonce + self.of_line
    }
}
