//! Encodes a batch as bytes and decodes it.
//!
//! The bytes have four sections: code, decisions, values, lines. Each decision is the number of consecutive words that
//! were guessed correctly, followed by the next word, which was not.

use super::bytes::{ByteReader, put_signed, put_varint};
use super::predictor::{ADDRESS, WordPredictor};
use crate::decode::BlockDecoder;
use crate::stream::{Batch, BlockId, Strand};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;
use units::VirtAddr;
use wire::word::{self, Control, TraceWord};

/// Encoding of a word that was not guessed.
#[derive(Clone, Copy)]
#[repr(u8)]
enum EscapeCode {
    /// The guessed access, but at another address. Encoded as the distance from the guessed address.
    Elsewhere = 0,
    /// A block: its number and the number of its executed instructions.
    Block = 1,
    /// An access of another kind than guessed. Encoded as the upper 16 bits of its word, and the distance from the
    /// previous access.
    Access = 2,
    /// A line: its detail, and the distance of its address from the previous access.
    Line = 3,
    /// Any other word, unchanged.
    Word = 4,
    /// End of the words.
    End = 5,
}

/// State of an encoder or a decoder. Encoder and decoder update their state in the same way, so each direction needs a
/// separate state.
#[derive(Default)]
pub struct Codec {
    predictors: FxHashMap<Strand, WordPredictor>,
    decoder: BlockDecoder,
}

#[derive(Default)]
struct Sections {
    code: Vec<u8>,
    decisions: Vec<u8>,
    values: Vec<u8>,
    lines: Vec<u8>,
}

impl Codec {
    /// Encodes a batch. Drops words after the last complete record: no recorder writes them.
    pub fn encode(&mut self, batch: &Batch) -> Vec<u8> {
        let mut sections = Sections::default();
        put_varint(&mut sections.code, batch.strand.process.into());
        put_varint(&mut sections.code, batch.strand.thread.into());
        put_varint(&mut sections.code, batch.new_blocks.len() as u64);
        for block in &batch.new_blocks {
            let start = block.instructions.first().map_or(0, |first| first.pc.0);
            put_varint(&mut sections.code, block.id.0.into());
            put_varint(&mut sections.code, start);
            put_varint(&mut sections.code, block.instructions.len() as u64);
            sections.code.extend(block.instructions.iter().map(|instruction| instruction.bytes));
            put_varint(&mut sections.code, block.code.len() as u64);
            sections.code.extend(&*block.code);
        }
        let predictor = self.predictors.entry(batch.strand).or_default();
        encode_words(predictor, &batch.words, &mut sections);
        let mut out = Vec::new();
        for section in [&sections.code, &sections.decisions, &sections.values, &sections.lines] {
            put_varint(&mut out, section.len() as u64);
            out.extend(section);
        }
        out
    }

    /// Decodes the batches in these bytes; returns `None` if the bytes are no batches.
    pub fn decode(&mut self, bytes: &[u8]) -> Option<VecDeque<Arc<Batch>>> {
        let (mut bytes, mut batches) = (ByteReader(bytes), VecDeque::new());
        while !bytes.0.is_empty() || batches.is_empty() {
            batches.push_back(Arc::new(self.decode_batch(&mut bytes)?));
        }
        Some(batches)
    }

    fn decode_batch(&mut self, bytes: &mut ByteReader<'_>) -> Option<Batch> {
        let mut code = bytes.section()?;
        let strand = Strand { process: code.varint()?.try_into().ok()?, thread: code.varint()?.try_into().ok()? };
        let mut batch = Batch { strand, ..Batch::default() };
        for _ in 0..code.varint()? {
            let id = BlockId(code.varint()?.try_into().ok()?);
            let start = VirtAddr(code.varint()?);
            let (lengths, bytes) = (code.section()?.0, code.section()?.0);
            // A block must not wrap around the end of the address space.
            start.0.checked_add(bytes.len() as u64)?;
            let block = self.decoder.block(id, start, lengths, bytes);
            batch.new_blocks.push(Arc::new(block));
        }
        let (decisions, values, lines) = (bytes.section()?, bytes.section()?, bytes.section()?);
        let predictor = self.predictors.entry(strand).or_default();
        batch.words = decode_words(predictor, decisions, values, lines)?;
        Some(batch)
    }
}

fn encode_words(predictor: &mut WordPredictor, words: &[u64], out: &mut Sections) {
    let (mut at, mut guessed) = (0, 0);
    while let Some(count) = word::record_words(&words[at..]) {
        let (first, payload) = (words[at], &words[at + 1..at + count]);
        at += count;
        let parsed = word::parse(first);
        match parsed {
            TraceWord::Access { log2_bytes, .. } => {
                payload.iter().for_each(|value| out.values.extend(&value.to_le_bytes()[..value_bytes(log2_bytes)]));
            }
            _ => payload.iter().for_each(|word| out.lines.extend(word.to_le_bytes())),
        }
        if predictor.guess() == Some(first) {
            guessed += 1;
        } else {
            put_varint(&mut out.decisions, guessed);
            guessed = 0;
            encode_miss(predictor, first, parsed, &mut out.decisions);
        }
        if payload_words(parsed) == 0 {
            predictor.learn(first);
        }
    }
    put_varint(&mut out.decisions, guessed);
    out.decisions.push(EscapeCode::End as u8);
}

fn encode_miss(predictor: &WordPredictor, word: u64, parsed: TraceWord, out: &mut Vec<u8>) {
    let guess = predictor.guess().filter(|guess| guess & !ADDRESS == word & !ADDRESS);
    match (parsed, guess) {
        (TraceWord::Access { addr, .. }, Some(guess)) => {
            out.push(EscapeCode::Elsewhere as u8);
            put_signed(out, addr.wrapping_sub(guess & ADDRESS) as i64);
        }
        (TraceWord::Access { addr, .. }, None) => {
            out.push(EscapeCode::Access as u8);
            out.extend(((word >> 48) as u16).to_le_bytes());
            put_signed(out, addr.wrapping_sub(predictor.last_address()) as i64);
        }
        (TraceWord::Block { id, instructions }, _) => {
            out.push(EscapeCode::Block as u8);
            put_varint(out, id.into());
            put_varint(out, instructions.into());
        }
        (TraceWord::Control { which: Some(Control::Line), detail, operand }, _) => {
            out.extend([EscapeCode::Line as u8, detail]);
            put_signed(out, operand.wrapping_sub(predictor.last_address()) as i64);
        }
        (TraceWord::Control { .. }, _) => {
            out.push(EscapeCode::Word as u8);
            out.extend(word.to_le_bytes());
        }
    }
}

fn decode_words(
    predictor: &mut WordPredictor,
    mut decisions: ByteReader<'_>,
    mut values: ByteReader<'_>,
    mut lines: ByteReader<'_>,
) -> Option<Vec<u64>> {
    let mut words = Vec::new();
    loop {
        for _ in 0..decisions.varint()? {
            let word = predictor.guess()?;
            put_record(predictor, word, &mut values, &mut lines, &mut words)?;
        }
        let Some(word) = decode_miss(predictor, &mut decisions)? else {
            return Some(words);
        };
        put_record(predictor, word, &mut values, &mut lines, &mut words)?;
    }
}

/// Returns the next word that was not guessed, or `Some(None)` at the end.
fn decode_miss(predictor: &WordPredictor, decisions: &mut ByteReader<'_>) -> Option<Option<u64>> {
    let near = |distance: i64| predictor.last_address().wrapping_add(distance as u64);
    Some(Some(match decisions.byte()? {
        tag if tag == EscapeCode::Elsewhere as u8 => {
            let guess = predictor.guess()?;
            guess & !ADDRESS | guess.wrapping_add(decisions.signed()? as u64) & ADDRESS
        }
        tag if tag == EscapeCode::Block as u8 => {
            word::block(decisions.varint()?.try_into().ok()?, decisions.varint()?.try_into().ok()?)
        }
        tag if tag == EscapeCode::Access as u8 => {
            let upper = decisions.little_endian(2)? << 48;
            upper | near(decisions.signed()?) & ADDRESS
        }
        tag if tag == EscapeCode::Line as u8 => {
            let detail = decisions.byte()?;
            word::control(Control::Line, detail, near(decisions.signed()?))
        }
        tag if tag == EscapeCode::Word as u8 => decisions.little_endian(8)?,
        tag if tag == EscapeCode::End as u8 => return Some(None),
        _ => return None,
    }))
}

fn put_record(
    predictor: &mut WordPredictor,
    first: u64,
    values: &mut ByteReader<'_>,
    lines: &mut ByteReader<'_>,
    words: &mut Vec<u64>,
) -> Option<()> {
    words.push(first);
    match word::parse(first) {
        TraceWord::Access { value: true, log2_bytes, .. } => words.push(values.little_endian(value_bytes(log2_bytes))?),
        parsed => {
            let count = payload_words(parsed);
            for _ in 0..count {
                words.push(lines.little_endian(8)?);
            }
            if count > 0 {
                return Some(());
            }
        }
    }
    predictor.learn(first);
    Some(())
}

/// Returns the number of words after a control word. The predictor does not learn control words with further words,
/// because they do not repeat with the program.
fn payload_words(parsed: TraceWord) -> usize {
    match parsed {
        TraceWord::Control { which: Some(which), .. } => which.payload_words(),
        _ => 0,
    }
}

fn value_bytes(log2_bytes: u8) -> usize {
    1 << log2_bytes.min(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> impl Strategy<Value = Vec<u64>> {
        let addresses = prop_oneof![0x1000_u64..0x1100, 0..word::ADDRESS_END];
        prop_oneof![
            (any::<bool>(), 0..4_u8, 0..4_u16, addresses.clone(), any::<u64>()).prop_map(
                |(store, size, index, addr, value)| {
                    vec![word::access(store, size, true, index, addr), value & u64::MAX >> (64 - (8 << size))]
                }
            ),
            (0..4_u8, 0..4_u16, addresses.clone())
                .prop_map(|(size, index, addr)| vec![word::access(false, size, false, index, addr)]),
            (0..5_u32, 1..4_u16).prop_map(|(id, ran)| vec![word::block(id, ran)]),
            (addresses, any::<[u64; 8]>(), 0..2_u8).prop_map(|(addr, content, cause)| {
                let mut line = vec![word::control(Control::Line, cause, addr & !63)];
                line.extend(content);
                line
            }),
            (0..500_u64).prop_map(|number| vec![word::control(Control::Syscall, 0, number)]),
            (0..word::ADDRESS_END, any::<[u64; 10]>(), 0..12_u8, 0..7_usize).prop_map(
                |(operand, payload, detail, which)| {
                    let which = [
                        Control::Page,
                        Control::Unmap,
                        Control::Move,
                        Control::ObjectLine,
                        Control::ObjectCut,
                        Control::Sync,
                        Control::Gone,
                    ][which];
                    let mut record = vec![word::control(which, detail, operand)];
                    record.extend(&payload[..which.payload_words()]);
                    record
                }
            ),
        ]
    }

    #[test]
    fn the_trace_codec_refuses_code_beyond_the_end_of_the_address_space() {
        let reads_back = |pc| {
            let new_blocks = vec![crate::testing::block(0, pc, &[&[0x90], &[0x48, 0x87, 0xdb]])];
            let batch = Batch { strand: Strand { process: 1, thread: 0 }, new_blocks, words: Vec::new() };
            Codec::default().decode(&Codec::default().encode(&batch)).is_some()
        };
        assert_eq!([u64::MAX - 4, u64::MAX - 3, u64::MAX - 1].map(reads_back), [true, false, false]);
    }

    proptest! {
        #[test]
        fn random_trace_batches_survive_the_codec(batches in prop::collection::vec((0..3_u32, prop::collection::vec(record(), 0..60)), 1..6)) {
            let (mut encoder, mut decoder) = (Codec::default(), Codec::default());
            for (thread, records) in batches {
                let new_blocks = vec![crate::testing::block(thread, 0x4000, &[&[0x90], &[0x48, 0x87, 0xdb]])];
                let batch = Batch { strand: Strand { process: 1, thread }, new_blocks, words: records.concat() };
                prop_assert_eq!(decoder.decode(&encoder.encode(&batch)), Some(VecDeque::from([Arc::new(batch)])));
            }
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Codec::default().decode(&bytes);
        }
    }
}
