//! Makes batches from the words that the recorder published: removes code records and decodes each block once per
//! process.

use crate::decode::BlockDecoder;
use crate::error::WorkloadError;
use crate::stream::{Batch, BlockId, Strand};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use units::VirtAddr;
use wire::ring::RawBatch;
use wire::word::{self, Control, TraceWord};

/// Makes batches from raw words.
#[derive(Default)]
pub struct Assembler {
    decoder: BlockDecoder,
    seen: FxHashSet<(u32, BlockId)>,
}

impl Assembler {
    /// Returns the batch that the words encode. Refuses words that are not a list of complete records.
    pub fn assemble(&mut self, raw: RawBatch) -> Result<Batch, WorkloadError> {
        let RawBatch { process, thread, mut words } = raw;
        let mut batch = Batch { strand: Strand { process, thread }, ..Batch::default() };
        // The loop moves the other words down, over the code records that it removes.
        let (mut read, mut kept) = (0, 0);
        while read < words.len() {
            let count = word::record_words(&words[read..]).ok_or_else(|| WorkloadError::Damaged {
                process,
                thread,
                found: format!("no record begins with the word {:#018x}", words[read]),
            })?;
            match word::parse(words[read]) {
                TraceWord::Control { which: Some(Control::Code), operand, .. } => {
                    self.decode(&words[read..read + count], operand, &mut batch);
                }
                _ => {
                    words.copy_within(read..read + count, kept);
                    kept += count;
                }
            }
            read += count;
        }
        words.truncate(kept);
        batch.words = words;
        Ok(batch)
    }

    fn decode(&mut self, record: &[u64], operand: u64, batch: &mut Batch) {
        let id = BlockId(operand as u32);
        if !self.seen.insert((batch.strand.process, id)) {
            return;
        }
        let (instructions, code_bytes) = ((operand >> 32) as usize, record[2] as usize);
        let bytes: Vec<u8> = record[3..].iter().flat_map(|word| word.to_le_bytes()).collect();
        let (lengths, code) = bytes[..instructions + code_bytes].split_at(instructions);
        batch.new_blocks.push(Arc::new(self.decoder.block(id, VirtAddr(record[1]), lengths, code)));
    }
}
