//! What instructions order beside their accesses, from the words of a program to its core.

use super::*;
use crate::testing::nop;
use machine::paging::Placement;
use std::collections::VecDeque;
use std::sync::Arc;
use units::Bytes;
use wire::word::{self, Control};
use workload::Supply;
use workload::stream::{Block, BlockId, Chunk};

/// Chunks, and then the end.
struct Chunks(VecDeque<Chunk>);

impl Supplier for Chunks {
    fn supply(&mut self) -> Result<Supply, WorkloadError> {
        Ok(self.0.pop_front().map_or(Supply::End, |chunk| Supply::Chunk(Arc::new(chunk), Stretch::default())))
    }
}

/// Of each of so many instructions in a row that order what these words say: how many lines it flushes, and whether it fences.
fn orders_of(instructions: u16, words: &[u64]) -> Vec<(usize, bool)> {
    const LINES: u64 = 1 << 20;
    let block = Block {
        id: BlockId(0),
        instructions: (0..instructions).map(|number| nop(0x1000 + 4 * u64::from(number))).collect(),
        code: Box::default(),
    };
    let words = [word::block(0, instructions)].iter().chain(words).copied().collect();
    let chunk = Chunk { new_blocks: vec![Arc::new(block)], words, ..Chunk::default() };
    let pages =
        Rc::new(RefCell::new(PageTable::new(Bytes(LINES * LINE_BYTES as u64), Bytes(4096), Placement::Blocks, 1)));
    let shadow = Rc::new(RefCell::new(Shadow::new(LINES)));
    let left = Rc::new(Cell::new(u64::MAX));
    let spaces = Spaces { programs: 1, program: 0, cores: 1 };
    let mut program = Program::new(Chunks(VecDeque::from([chunk])), left, pages, spaces, (0, shadow));
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

/// So does a system call that makes lines durable: what comes behind it waits for what it has flushed.
#[test]
fn a_fence_behind_flushes_of_its_own_instruction_goes_to_the_next() {
    let alone = [flush(1, 0x8000), flush(1, 0x8040), fence(1)];
    assert_eq!(orders_of(4, &alone), [(0, false), (2, false), (0, true), (0, false)]);
    let and_more = [flush(1, 0x8000), fence(1), flush(2, 0x8040), flush(3, 0x8080), fence(3)];
    assert_eq!(orders_of(5, &and_more), [(0, false), (1, false), (1, true), (1, false), (0, true)]);
}

#[test]
fn a_fence_before_flushes_of_its_own_instruction_stays_there() {
    assert_eq!(orders_of(3, &[fence(1), flush(1, 0x8000)]), [(0, false), (1, true), (0, false)]);
}
