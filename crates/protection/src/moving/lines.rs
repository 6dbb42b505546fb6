//! The lines of chunks on their way between chip and memory: opened and checked, or encrypted with their codes. Lines of HIDE are
//! stored as they are.
//!
//! ```text
//! open:   pads and H(0) ─┬─ words ─ XOR ─ line
//!                        └─ first block ─ link ─ second block ─ link ─ tag ─ compare
//! ```
//! A slot holds the line and behind it the tag, in one burst; the code takes each block as it comes.

use crate::placement::DataSlot;
use crate::planted::{ChunkBug, Planted};
use crate::record::{Record, SLOTS};
use crate::slot::{Role, Untrusted};
use crate::verbs::{AesUnits, Arriving, Blocks, Fault, Keystream, Known, Passing, Purpose, Verbs, Wanted};
use crypto::{BLOCK_BYTES, BlockCipher, CHUNK_LINE_BLOCKS, CHUNK_LINE_BYTES, ChunkCipher, Key};
use sim::join;
use units::{Line, Word, Words, ZERO_LINE};

/// Bytes of a line with its tag.
const BURST_BYTES: usize = CHUNK_LINE_BYTES + BLOCK_BYTES;

/// Encryption and codes of lines, with their times.
pub struct ChunkLines {
    /// Nothing of lines that are stored as they are.
    cipher: Option<ChunkCipher>,
    planted: Planted,
}

/// The number of a slot in its chunk.
fn in_chunk(at: DataSlot) -> u8 {
    (at.slot().0 % SLOTS as u64) as u8
}

/// The bytes of a line.
fn narrowed(line: &Line) -> [u8; CHUNK_LINE_BYTES] {
    std::array::from_fn(|byte| line[byte])
}

fn widened(bytes: &[u8; CHUNK_LINE_BYTES]) -> Line {
    let mut line = ZERO_LINE;
    line[..CHUNK_LINE_BYTES].copy_from_slice(bytes);
    line
}

/// Begins what needs the record alone: the pads of a line and the first block of its code.
fn begin<V: Verbs>(verbs: &V) -> Passing {
    let blocks = Blocks::parallel(BlockCipher::Aes, Purpose::Ahead, CHUNK_LINE_BLOCKS as u32 + 1);
    verbs.pad(AesUnits::Controller, blocks, Known::default())
}

/// Waits for a link of a code, which begins when that before it is known.
async fn link<V: Verbs>(verbs: &V, before: Known) {
    let link = Blocks::chained(BlockCipher::Aes, Purpose::Tag, 1);
    verbs.await_blocks(verbs.pad(AesUnits::Controller, link, before)).await;
}

impl ChunkLines {
    /// Lines that are encrypted and authenticated under the keys Ke and Km.
    pub fn sealed(pads: &Key, codes: &Key, planted: Planted) -> ChunkLines {
        ChunkLines { cipher: Some(ChunkCipher::new(pads, codes)), planted }
    }

    /// Lines that are stored as they are, which nothing checks.
    pub fn plain(planted: Planted) -> ChunkLines {
        ChunkLines { cipher: None, planted }
    }

    /// The same once more.
    pub fn twin(&self) -> ChunkLines {
        ChunkLines { cipher: self.cipher.clone(), planted: self.planted }
    }

    /// A line from its slot; what the machine started with, if memory does not have it yet. Calls `release` when it is decrypted, before
    /// its code is compared.
    ///
    /// # Errors
    /// [`Fault::Tag`] if what memory returned is not what was written there under this record.
    pub(super) async fn open_or_boot<V: Verbs>(
        &self,
        verbs: &V,
        (at, is_there): (DataSlot, bool),
        record: &Record,
        release: impl FnOnce(&Line),
    ) -> Result<Line, Fault> {
        let (begun, mut arriving) = self.fetch(verbs, at).await;
        if !is_there
            && arriving.content.is_blank()
            && let Some(booted) = self.boot(verbs, at, record)
        {
            arriving.content = booted;
        }
        self.open_arrived(verbs, (at, record), (begun, arriving), release).await
    }

    /// Puts a line into memory that the machine started with and that is not there yet: what memory has then, if it did.
    pub(super) fn boot<V: Verbs>(&self, verbs: &V, at: DataSlot, record: &Record) -> Option<Untrusted> {
        let text = verbs.start_up(at)?;
        let booted = self.seal(at, record, &text);
        self.spend(verbs, at, record, &text);
        verbs.boot(at.slot(), Role::Data, |_| booted);
        Some(booted)
    }

    /// A line from its slot; nothing if memory does not have it yet, and the slot is blank.
    ///
    /// # Errors
    /// As [`ChunkLines::open_or_boot`].
    pub(super) async fn open<V: Verbs>(
        &self,
        verbs: &V,
        (at, is_there): (DataSlot, bool),
        record: &Record,
    ) -> Result<Option<Line>, Fault> {
        let (begun, arriving) = self.fetch(verbs, at).await;
        if !is_there && arriving.content.is_blank() {
            return Ok(None);
        }
        self.open_arrived(verbs, (at, record), (begun, arriving), |_| ()).await.map(Some)
    }

    /// Begins what the record alone is needed for, and fetches the first block.
    async fn fetch<V: Verbs>(&self, verbs: &V, at: DataSlot) -> (Option<Passing>, Arriving) {
        let begun = self.cipher.is_some().then(|| begin(verbs));
        (begun, verbs.fetch(at.slot(), Role::Data, Wanted::piece(Word::FIRST, BLOCK_BYTES)).await)
    }

    async fn open_arrived<V: Verbs>(
        &self,
        verbs: &V,
        (at, record): (DataSlot, &Record),
        (begun, arriving): (Option<Passing>, Arriving),
        release: impl FnOnce(&Line),
    ) -> Result<Line, Fault> {
        let Arriving { content, beats } = arriving;
        let stored = narrowed(&content.examine());
        let (Some(cipher), Some(begun)) = (&self.cipher, begun) else {
            verbs.await_words(beats, Words::with_bytes(0, CHUNK_LINE_BYTES)).await;
            release(&widened(&stored));
            return Ok(widened(&stored));
        };
        let open = async {
            verbs.await_blocks(begun).await;
            verbs.await_words(beats, Words::with_bytes(0, CHUNK_LINE_BYTES)).await;
            let mut text = stored;
            cipher.apply_pad(record.pad_number(), in_chunk(at), &mut text);
            let line = widened(&text);
            verbs.xor().await;
            release(&line);
            line
        };
        let check = async {
            for block in 0..CHUNK_LINE_BLOCKS {
                verbs.await_words(beats, Words::with_bytes(block * BLOCK_BYTES, BLOCK_BYTES)).await;
                link(verbs, begun.known()).await;
            }
            verbs.await_words(beats, Words::with_bytes(CHUNK_LINE_BYTES, BURST_BYTES - CHUNK_LINE_BYTES)).await;
            let computed = self.code(cipher, (at, record), &stored);
            if content.beside() == computed { Ok(()) } else { Err(Fault::Tag(at.line())) }
        };
        let (line, verdict) = join!(open, check);
        verdict.map(|()| line)
    }

    fn code(&self, cipher: &ChunkCipher, (at, record): (DataSlot, &Record), stored: &[u8; CHUNK_LINE_BYTES]) -> u128 {
        let number = if self.planted.has(ChunkBug::CodeWithoutRecord) { 0 } else { record.tag_number() };
        let slot = if self.planted.has(ChunkBug::CodeWithoutSlot) { 0 } else { in_chunk(at) };
        cipher.code(number, slot, stored)
    }

    /// What memory gets of a line.
    fn seal(&self, at: DataSlot, record: &Record, text: &Line) -> Untrusted {
        let mut bytes = narrowed(text);
        let Some(cipher) = &self.cipher else { return widened(&bytes).into() };
        cipher.apply_pad(record.pad_number(), in_chunk(at), &mut bytes);
        Untrusted::with(widened(&bytes), self.code(cipher, (at, record), &bytes))
    }

    fn spend<V: Verbs>(&self, verbs: &V, at: DataSlot, record: &Record, text: &Line) {
        let (chunk, slot) = (at.slot().0 / SLOTS as u64, in_chunk(at));
        let pad = || Keystream::OfChunk { chunk, number: record.pad_number(), slot, text: *text };
        verbs.spend(at.slot(), || self.cipher.as_ref().map(|_| pad()));
    }

    /// Writes a line to its slot, or what stands for one that is not in memory yet.
    pub(super) async fn store<V: Verbs>(&self, verbs: &V, at: DataSlot, record: &Record, text: Option<&Line>) {
        if self.cipher.is_some() {
            verbs.await_blocks(begin(verbs)).await;
            for _ in 0..CHUNK_LINE_BLOCKS {
                link(verbs, Known::default()).await;
            }
        }
        let sealed = text.map_or(Untrusted::BLANK, |text| {
            self.spend(verbs, at, record, text);
            self.seal(at, record, text)
        });
        verbs.store(at.slot(), Role::Data, sealed).await;
    }
}
