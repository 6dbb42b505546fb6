//! Stored traces: an execution in a file, which runs anywhere without QEMU. The layout is in `docs/TRACE_FORMAT.md`.
//!
//! The writer predicts each word from the previous execution of the same block. It stores only the number of correctly
//! predicted words and writes all other words out. The result is compressed with zstd. Code is stored as bytes, so that
//! a later decoder can decode an old trace again.

pub mod bytes;
mod codec;
mod pages;
mod predictor;
mod reader;
mod writer;

pub use reader::TraceReader;
pub use writer::{TraceWriter, record};

use crate::source::Finish;
use crate::stream::Batch;
use pages::PageFootprint;
use serde::{Deserialize, Serialize};
use units::{Bytes, PAGE_BYTES};
use wire::word::{self, Control, TraceWord};

/// The first bytes of every trace.
pub(crate) const MAGIC: [u8; 8] = *b"CASEMTRC";
/// The version that the writer writes. The reader also accepts version 2, in which strands do not take turns, and
/// version 1, which also contains no page records.
const VERSION: u32 = 3;
const VERSIONS: std::ops::RangeInclusive<u32> = 1..=VERSION;
/// Kind byte of a record with batches.
const KIND_BATCHES: u8 = 1;
const KIND_END: u8 = 2;
/// A record's own header: kind, stored bytes, plain bytes, checksum of the stored bytes.
const RECORD_HEADER_BYTES: usize = 1 + 4 + 4 + 4;
/// Upper bound for a batch's plain bytes; a record with more is damaged.
const PLAIN_BYTES_MAX: usize = 64 << 20;

/// Totals of a trace, stored in its end record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Number of the trace's batches.
    pub chunks: u64,
    /// Instructions of all blocks entered; iterations of repeated string instructions count one by one.
    pub instructions: u64,
    /// Loads of at most eight bytes.
    pub loads: u64,
    /// Stores of at most eight bytes.
    pub stores: u64,
    /// Number of lines sent.
    pub lines: u64,
    /// Maximum number of 4 KB pages in use at once, summed over the processes. In a trace of version 1, the number of
    /// all touched pages; zero in a trace from before pages were counted.
    #[serde(default)]
    pub pages: u64,
}

/// Counts the content of a trace while it is written or read.
#[derive(Default)]
pub struct TraceCounter {
    totals: Totals,
    pages: PageFootprint,
}

#[derive(Serialize, Deserialize)]
struct TraceEnd {
    totals: Totals,
    finish: Finish,
}

impl Totals {
    /// Memory that was touched, if the trace contains it.
    fn footprint(&self) -> Option<Bytes> {
        (self.pages > 0).then_some(Bytes(self.pages * PAGE_BYTES as u64))
    }
}

impl TraceCounter {
    /// Totals of the batches counted so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Counts the next batch.
    pub fn add(&mut self, batch: &Batch) {
        let process = batch.strand.process;
        let code = batch.new_blocks.iter().flat_map(|block| &block.instructions);
        code.for_each(|instruction| self.pages.touch(process, instruction.pc));
        self.totals.chunks += 1;
        let mut at = 0;
        while let Some(count) = word::record_words(&batch.words[at..]) {
            match word::parse(batch.words[at]) {
                TraceWord::Access { store: true, .. } => self.totals.stores += 1,
                TraceWord::Access { store: false, .. } => self.totals.loads += 1,
                TraceWord::Block { instructions, .. } => self.totals.instructions += u64::from(instructions),
                TraceWord::Control { which: Some(which), operand, .. } => {
                    self.totals.lines += u64::from(which == Control::Line);
                    self.pages.follow(process, (which, operand), &batch.words[at + 1..at + count]);
                }
                TraceWord::Control { .. } => {}
            }
            at += count;
        }
        self.totals.pages = self.pages.most();
    }
}
