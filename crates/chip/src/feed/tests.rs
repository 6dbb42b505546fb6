//! Tests the persist ordering of instructions, from the words of a program to its core.

mod pages;

use super::*;
use crate::testing::nop;
use isa::Instruction;
use machine::paging::PagePlacement;
use std::collections::VecDeque;
use std::sync::Arc;
use units::{Bytes, LINE_BYTES};
use wire::word::{self, Control};
use workload::Supply;
use workload::stream::{Batch, Block, BlockId};

/// Supplier of some batches, after which the program ends.
struct Batches(VecDeque<Batch>);

impl Supplier for Batches {
    fn supply(&mut self) -> Result<Supply, WorkloadError> {
        Ok(self.0.pop_front().map_or(Supply::End, |batch| Supply::Batch(Arc::new(batch), Stretch::default())))
    }
}

/// Returns a program of consecutive instructions with these persist operations, and with these words.
fn program(instructions: &[PersistEffect], words: &[u64]) -> ProgramFeed<Batches> {
    const LINES: u64 = 1 << 20;
    let numbered = instructions.iter().zip(0..);
    let block = Block {
        id: BlockId(0),
        instructions: numbered.map(|(&persist, at)| Instruction { persist, ..nop(0x1000 + 4 * at) }).collect(),
        code: Box::default(),
    };
    let words = [word::block(0, instructions.len() as u16)].iter().chain(words).copied().collect();
    let batch = Batch { new_blocks: vec![Arc::new(block)], words, ..Batch::default() };
    let pages =
        Rc::new(RefCell::new(PageTable::new(Bytes(LINES * LINE_BYTES as u64), Bytes(4096), PagePlacement::Blocks, 1)));
    let shadow = Rc::new(RefCell::new(Shadow::new(LINES)));
    let left = Rc::new(Cell::new(u64::MAX));
    let spaces = Spaces { programs: 1, program: 0, cores: 1 };
    ProgramFeed::new(Batches(VecDeque::from([batch])), left, pages, spaces, (0, shadow))
}

/// Executes consecutive instructions with these words. Returns for each the number of lines that it flushes, and true
/// if it fences.
fn orders_of(instructions: u16, words: &[u64]) -> Vec<(usize, bool)> {
    let mut program = program(&vec![PersistEffect::None; instructions.into()], words);
    let mut seen = Vec::new();
    while let Some(step) = program.next().unwrap() {
        seen.push(step.orders.map_or((0, false), |orders| (orders.flushes.len(), orders.fence)));
    }
    seen
}

fn flush(instruction: u8, addr: u64) -> u64 {
    word::control(Control::Flush, instruction, addr)
}

fn fence(instruction: u8) -> u64 {
    word::control(Control::Fence, instruction, 0)
}

/// A system call that makes lines durable has a fence of this kind: later stores wait for the lines that it flushes.
#[test]
fn a_fence_after_flushes_of_the_same_instruction_is_executed_with_the_next_instruction() {
    let alone = [flush(1, 0x8000), flush(1, 0x8040), fence(1)];
    assert_eq!(orders_of(4, &alone), [(0, false), (2, false), (0, true), (0, false)]);
    let and_more = [flush(1, 0x8000), fence(1), flush(2, 0x8040), flush(3, 0x8080), fence(3)];
    assert_eq!(orders_of(5, &and_more), [(0, false), (1, false), (1, true), (1, false), (0, true)]);
}

#[test]
fn a_fence_before_flushes_of_the_same_instruction_is_executed_with_that_instruction() {
    assert_eq!(orders_of(3, &[fence(1), flush(1, 0x8000)]), [(0, false), (1, true), (0, false)]);
}

/// Executes instructions with these persist operations and words; returns the number of flushes, and of flushes not
/// simulated.
fn flushes_of(instructions: &[PersistEffect], words: &[u64]) -> (u64, u64) {
    let mut program = program(instructions, words);
    while program.next().unwrap().is_some() {}
    (program.counts().flushes, program.counts().flushes_not_simulated)
}

fn store(instruction: u16, addr: u64) -> [u64; 2] {
    [word::access(true, 3, true, instruction, addr), 7]
}

#[test]
fn statistics_count_write_back_instructions_without_a_recorded_flush() {
    use PersistEffect::{Line, None};
    assert_eq!(flushes_of(&[None, Line, None, Line], &[]), (2, 2));
    assert_eq!(flushes_of(&[None, Line, None, Line], &[flush(1, 0x8000)]), (2, 1));
    assert_eq!(flushes_of(&[None, Line, None, Line], &[flush(1, 0x8000), flush(3, 0x8000), fence(3)]), (2, 0));
    // The flush at instruction 2 is that of a system call, and does not count for instruction 1.
    assert_eq!(flushes_of(&[None, Line, None], &[flush(2, 0x8000)]), (1, 1));
}

#[test]
fn statistics_count_non_temporal_stores_without_a_recorded_flush_of_their_line() {
    let all = [PersistEffect::Store; 4];
    let stores = [store(0, 0x8000), store(1, 0x8008), store(2, 0x8040), store(3, 0x8080)];
    assert_eq!(flushes_of(&all, stores.as_flattened()), (4, 4));
    let [first, second, third, last] = stores;
    let recording: Vec<u64> = [&first[..], &second, &[flush(2, 0x8000)], &third, &[flush(3, 0x8040)], &last].concat();
    assert_eq!(flushes_of(&all, &recording), (4, 0), "the last line may still be flushed");
    let other: Vec<u64> = [&first[..], &second, &[flush(2, 0x9000)], &third, &[flush(3, 0x8040)], &last].concat();
    assert_eq!(flushes_of(&all, &other), (4, 2));
}
