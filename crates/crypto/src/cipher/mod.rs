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
pub use ocb_chunks::OcbChunks;
pub use ocb3::Ocb3;
pub use xts::Xts;

use crate::Nonce;
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
    /// Uses of the block cipher that either takes, keys and constants that stay the same not counted.
    fn blocks(&self) -> u32;
    /// Whether decryption can begin before the ciphertext is there.
    fn works_ahead(&self) -> bool {
        false
    }
}
