//! Stored traces: an execution in a file, to be run anywhere without QEMU. The layout is in `docs/TRACE_FORMAT.md`.
//!
//! Words that can be predicted from what the same block did last time are only counted; the rest is written out, and
//! everything goes through zstd. Code is stored as bytes, so that a better decoder can read an old trace.

pub mod bytes;
mod codec;
mod pages;
mod predictor;
mod reader;
mod writer;

pub use reader::TraceReader;
pub use writer::{TraceWriter, record};

use crate::source::Finish;
use crate::stream::Chunk;
use pages::Pages;
use serde::{Deserialize, Serialize};
use units::{Bytes, PAGE_BYTES};
use wire::word::{self, Control, Word};

/// The first bytes of every trace.
pub(crate) const MAGIC: [u8; 8] = *b"CASEMTRC";
/// The version that is written. Version 1, which shows no pages, is read as well.
const VERSION: u32 = 2;
const VERSIONS: std::ops::RangeInclusive<u32> = 1..=VERSION;
/// What a record is.
const KIND_CHUNK: u8 = 1;
const KIND_END: u8 = 2;
/// A record's own header: kind, stored bytes, plain bytes, checksum of the stored bytes.
const RECORD_HEADER_BYTES: usize = 1 + 4 + 4 + 4;
/// More than any chunk takes; what claims more is damaged.
const PLAIN_BYTES_MAX: usize = 64 << 20;

/// What a trace holds, as its end record says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Chunks.
    pub chunks: u64,
    /// Instructions of all blocks entered; iterations of repeated string instructions count one by one.
    pub instructions: u64,
    /// Loads of at most eight bytes.
    pub loads: u64,
    /// Stores of at most eight bytes.
    pub stores: u64,
    /// Lines sent.
    pub lines: u64,
    /// The most pages of 4 KB that were in use at once, those of every process for themselves; of traces of version 1 all that
    /// were touched, and zero in those that were written before they were counted.
    #[serde(default)]
    pub pages: u64,
}

/// Counts what goes into a trace, or comes out of it.
#[derive(Default)]
pub struct Counter {
    totals: Totals,
    pages: Pages,
}

#[derive(Serialize, Deserialize)]
struct End {
    totals: Totals,
    finish: Finish,
}

impl Totals {
    /// The memory that was touched, if the trace says it.
    fn footprint(&self) -> Option<Bytes> {
        (self.pages > 0).then_some(Bytes(self.pages * PAGE_BYTES as u64))
    }
}

impl Counter {
    /// What was counted so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Counts the next chunk.
    pub fn add(&mut self, chunk: &Chunk) {
        let process = chunk.strand.process;
        let code = chunk.new_blocks.iter().flat_map(|block| &block.instructions);
        code.for_each(|instruction| self.pages.touch(process, instruction.pc));
        self.totals.chunks += 1;
        let mut at = 0;
        while let Some(count) = word::record_words(&chunk.words[at..]) {
            match word::parse(chunk.words[at]) {
                Word::Access { store: true, .. } => self.totals.stores += 1,
                Word::Access { store: false, .. } => self.totals.loads += 1,
                Word::Block { instructions, .. } => self.totals.instructions += u64::from(instructions),
                Word::Control { which: Some(which), operand, .. } => {
                    self.totals.lines += u64::from(which == Control::Line);
                    self.pages.follow(process, (which, operand), &chunk.words[at + 1..at + count]);
                }
                Word::Control { .. } => {}
            }
            at += count;
        }
        self.totals.pages = self.pages.most();
    }
}
