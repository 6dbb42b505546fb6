//! Runs a kernel and checks every word of its stream.

use super::KernelInfo;
use super::emitter::StreamSelection;
use super::program::{Program, execute};
use crate::stream::Batch;
use isa::{Flow, Instruction};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use wire::word::{Control, TraceWord, parse, record_words};

/// Content of a kernel's stream that has passed all checks.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Result of the computation.
    pub answer: u64,
    /// Number of load accesses.
    pub loads: u64,
    /// Number of store accesses.
    pub stores: u64,
    /// Number of sent lines.
    pub lines: u64,
    /// Number of executed instructions.
    pub instructions: u64,
    /// Number of flushed lines.
    pub flushes: u64,
    /// Number of persist fences.
    pub fences: u64,
}

/// Converts settings to the form that `open` takes.
pub fn given(settings: &[(&str, &str)]) -> BTreeMap<String, String> {
    settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// Returns the kernel's result and all batches that it sends.
pub fn record(kernel: &KernelInfo, settings: &[(&str, &str)], seed: u64, load_values: bool) -> (u64, Vec<Arc<Batch>>) {
    let program = prepare(kernel, settings);
    let skip = kernel.settings(&given(settings)).unwrap().skip();
    let (sender, batches) = crossbeam_channel::unbounded();
    let answer = execute(&*program, seed, StreamSelection { skip, load_values }, sender).unwrap();
    (answer, batches.into_iter().collect())
}

fn prepare(kernel: &KernelInfo, settings: &[(&str, &str)]) -> Box<dyn Program> {
    (kernel.prepare)(&kernel.settings(&given(settings)).unwrap())
}

/// Runs the kernel with load values and checks its stream against a naive shadow of memory.
pub fn run(kernel: &KernelInfo, settings: &[(&str, &str)], seed: u64) -> Checked {
    let arena = super::arena::Arena::new(prepare(kernel, settings).arena_bytes(), seed).range();
    let (answer, batches) = record(kernel, settings, seed, true);
    let mut reader = KernelReader { arena, ..KernelReader::default() };
    for batch in batches {
        reader.batch(&batch);
    }
    assert!(reader.ended, "the end is sent");
    Checked { answer, ..reader.seen }
}

#[derive(Default)]
struct KernelReader {
    arena: Range<u64>,
    blocks: Vec<Vec<Instruction>>,
    shadow: BTreeMap<u64, [u8; 64]>,
    current: Option<usize>,
    /// Target of each block that ends in a direct jump, call or taken branch.
    targets: BTreeMap<usize, u64>,
    return_addresses: Vec<u64>,
    ended: bool,
    seen: Checked,
}

impl KernelReader {
    fn batch(&mut self, batch: &Batch) {
        for block in &batch.new_blocks {
            assert_eq!(block.id.0 as usize, self.blocks.len(), "blocks are numbered in order");
            self.blocks.push(block.instructions.clone());
        }
        assert!(!self.ended, "no record follows the end");
        let mut rest = &batch.words[..];
        while let Some(count) = record_words(rest) {
            let (record, after) = rest.split_at(count);
            rest = after;
            match parse(record[0]) {
                TraceWord::Block { id, instructions } => self.enter(id as usize, instructions.into()),
                TraceWord::Control { which: Some(Control::Line), operand, .. } => self.line(operand, &record[1..]),
                TraceWord::Control { which: Some(Control::Process | Control::Thread), .. } => {
                    assert_eq!(self.current, None, "the program begins before its first block");
                }
                TraceWord::Control { which: Some(Control::Ended), .. } => self.ended = true,
                TraceWord::Control { which: Some(Control::Flush), detail, operand } => {
                    self.flush(detail.into(), operand)
                }
                TraceWord::Control { which: Some(Control::Fence), detail, .. } => {
                    assert!(self.instruction(detail.into()).address_sources.is_empty());
                    self.seen.fences += 1;
                }
                TraceWord::Access { store, log2_bytes, index, addr, .. } => {
                    self.access(store, index.into(), addr..addr + (1 << log2_bytes), record[1]);
                }
                other => panic!("no kernel sends {other:?}"),
            }
        }
        assert!(rest.is_empty(), "the last record is cut off");
    }

    fn enter(&mut self, number: usize, instructions: usize) {
        assert_eq!(self.blocks[number].len(), instructions);
        self.seen.instructions += instructions as u64;
        if let Some(last) = self.current.replace(number) {
            self.follow(last, number);
        }
    }

    /// Checks that the instruction at the end of block `from` can have led to block `to`.
    fn follow(&mut self, from: usize, to: usize) {
        let last = self.blocks[from].last().unwrap();
        let (end, target) = (last.fall_through().0, self.blocks[to][0].pc.0);
        let fixed = |targets: &mut BTreeMap<usize, u64>| *targets.entry(from).or_insert(target);
        let expected = match last.flow {
            Flow::Next => end,
            Flow::Conditional if target == end => end,
            Flow::Conditional | Flow::Jump => fixed(&mut self.targets),
            Flow::Call => {
                self.return_addresses.push(end);
                fixed(&mut self.targets)
            }
            // The kernel may have skipped the call.
            Flow::Return => self.return_addresses.pop().unwrap_or(target),
            flow => panic!("no kernel uses {flow:?}"),
        };
        assert_eq!(target, expected, "block {from}, ending in {:?}, leads to block {to}", last.flow);
    }

    fn line(&mut self, start: u64, words: &[u64]) {
        assert_eq!(start % 64, 0);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let earlier = self.shadow.insert(start, bytes.try_into().unwrap());
        assert!(earlier.is_none(), "{start:#x} is sent twice");
        self.seen.lines += 1;
    }

    /// Returns the instruction with this index in the current block.
    fn instruction(&self, index: usize) -> &Instruction {
        &self.blocks[self.current.unwrap()][index]
    }

    fn flush(&mut self, index: usize, addr: u64) {
        assert!(!self.instruction(index).address_sources.is_empty(), "a flush has an address");
        assert!(self.shadow.contains_key(&(addr & !63)), "a line is sent before it is flushed");
        self.seen.flushes += 1;
    }

    fn access(&mut self, store: bool, index: usize, at: Range<u64>, value: u64) {
        assert!(self.arena.start <= at.start && at.end <= self.arena.end, "{at:#x?} is outside");
        let instruction = self.instruction(index);
        assert!(!instruction.address_sources.is_empty(), "{instruction:?} has no address");
        let line = self.shadow.get_mut(&(at.start & !63)).expect("a line is sent before it is touched");
        let bytes = &mut line[(at.start % 64) as usize..][..(at.end - at.start) as usize];
        let value = &value.to_le_bytes()[..bytes.len()];
        if store {
            bytes.copy_from_slice(value);
            self.seen.stores += 1;
        } else {
            assert_eq!(bytes, value, "a load of {at:#x?}");
            self.seen.loads += 1;
        }
    }
}
