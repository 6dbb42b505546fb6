//! The planted bug that hides seven bits of every byte.

use crypto::{LineCipher, Nonce, Uses};
use units::{Line, ZERO_LINE};

/// Counter mode with pads that lack the highest bit of every byte.
pub(super) struct ShortPad(pub Box<dyn LineCipher>);

impl LineCipher for ShortPad {
    fn seal(&self, nonce: &Nonce, plaintext: &Line) -> Line {
        let pad = self.0.seal(nonce, &ZERO_LINE);
        std::array::from_fn(|byte| plaintext[byte] ^ pad[byte] & 0x7f)
    }

    fn open(&self, nonce: &Nonce, ciphertext: &Line) -> Line {
        self.seal(nonce, ciphertext)
    }

    fn uses(&self) -> Uses {
        self.0.uses()
    }
}
