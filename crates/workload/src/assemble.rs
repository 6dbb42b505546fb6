//! Makes chunks from the words that the recorder published: removes code records and decodes each block once per
//! process.

use crate::decode::BlockDecoder;
use crate::error::WorkloadError;
use crate::stream::{BlockId, Chunk, Strand};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use units::VirtAddr;
use wire::ring::RawChunk;
use wire::word::{self, Control, TraceWord};

/// Makes chunks from raw words.
#[derive(Default)]
pub struct Assembler {
    decoder: BlockDecoder,
    seen: FxHashSet<(u32, BlockId)>,
}

impl Assembler {
    /// Returns the chunk that the words encode. Refuses words that are not a list of complete records.
    pub fn assemble(&mut self, raw: RawChunk) -> Result<Chunk, WorkloadError> {
        let RawChunk { process, thread, mut words } = raw;
        let mut chunk = Chunk { strand: Strand { process, thread }, ..Chunk::default() };
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
                    self.decode(&words[read..read + count], operand, &mut chunk);
                }
                _ => {
                    words.copy_within(read..read + count, kept);
                    kept += count;
                }
            }
            read += count;
        }
        words.truncate(kept);
        chunk.words = words;
        Ok(chunk)
    }

    fn decode(&mut self, record: &[u64], operand: u64, chunk: &mut Chunk) {
        let id = BlockId(operand as u32);
        if !self.seen.insert((chunk.strand.process, id)) {
            return;
        }
        let (instructions, code_bytes) = ((operand >> 32) as usize, record[2] as usize);
        let bytes: Vec<u8> = record[3..].iter().flat_map(|word| word.to_le_bytes()).collect();
        let (lengths, code) = bytes[..instructions + code_bytes].split_at(instructions);
        chunk.new_blocks.push(Arc::new(self.decoder.block(id, VirtAddr(record[1]), lengths, code)));
    }
}
