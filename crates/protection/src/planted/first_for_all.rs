//! The planted bugs that treat every block of a line, or the tag of every chunk, as those of the first.

use crypto::BLOCK_BYTES;
use crypto::{LineCipher, LineMac, Nonce, Tag, Uses};
use units::{LINE_BYTES, Line};

/// A mode that treats each block of a line as it should treat the first.
pub(super) struct FirstBlockForAll(pub Box<dyn LineCipher>);

impl FirstBlockForAll {
    fn each(line: &Line, mode: impl Fn(&Line) -> Line) -> Line {
        let mut result = *line;
        for block in result.chunks_mut(BLOCK_BYTES) {
            let alike: Line = std::array::from_fn(|byte| block[byte % BLOCK_BYTES]);
            block.copy_from_slice(&mode(&alike)[..BLOCK_BYTES]);
        }
        result
    }
}

impl LineCipher for FirstBlockForAll {
    fn seal(&self, nonce: &Nonce, plaintext: &Line) -> Line {
        FirstBlockForAll::each(plaintext, |line| self.0.seal(nonce, line))
    }

    fn open(&self, nonce: &Nonce, ciphertext: &Line) -> Line {
        FirstBlockForAll::each(ciphertext, |line| self.0.open(nonce, line))
    }

    fn uses(&self) -> Uses {
        self.0.uses()
    }
}

/// A code that gives each chunk of a line the tag that it would have as the first.
pub(super) struct FirstChunkForAll(pub Box<dyn LineMac>);

impl LineMac for FirstChunkForAll {
    fn whole_bits(&self) -> u32 {
        self.0.whole_bits()
    }

    fn chunks(&self) -> u32 {
        self.0.chunks()
    }

    fn tag(&self, nonce: &Nonce, text: &Line, bits: u32) -> Tag {
        let (share, rest) = (bits / self.chunks(), bits % self.chunks());
        let chunks = text.chunks(LINE_BYTES / self.chunks() as usize);
        (0..).zip(chunks).fold(Tag::default(), |tag, (index, chunk)| {
            let mut moved = *text;
            moved[..chunk.len()].copy_from_slice(chunk);
            let share = share + u32::from(index < rest);
            tag << share | self.0.tag(nonce, &moved, self.whole_bits()) >> (self.whole_bits() - share)
        })
    }
}
