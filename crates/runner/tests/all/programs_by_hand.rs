//! Programs of a few instructions that a test writes by hand, in the words of a recording.

use isa::{Class, Flow, Instruction, PersistEffect};
use std::collections::VecDeque;
use std::sync::Arc;
use units::{LINE_BYTES, Line, VirtAddr};
use wire::word::{self, Control, LineCause, MAPPED};
use workload::stream::{Batch, Block, BlockId};
use workload::{Finish, Medium, Origin, Persistent, Source, Values, WorkloadError};

/// An instruction, or an event between two instructions.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// Stores eight bytes through the caches.
    Store(u64, u64),
    /// Stores eight bytes past the caches.
    StorePastCaches(u64, u64),
    /// Loads eight bytes of a line.
    Load(u64),
    /// Writes a line back.
    Flush(u64),
    /// Waits until the flushed lines are durable.
    Fence,
    /// An instruction without an access.
    Work,
    /// The program receives the content of a line before its first access, or after the kernel has changed the line.
    Shows(u64, Line),
    /// Like `Shows`, for a line of a file that the program maps shared.
    ShowsMapped(u64, Line),
}

/// Number of kinds of instructions.
const KINDS: u32 = 6;
/// Address of the first instruction.
const CODE: u64 = 0x1000;

impl Op {
    /// Number of the block with the instruction; `None` for an event.
    fn block(self) -> Option<u32> {
        Some(match self {
            Op::Store(..) => 0,
            Op::StorePastCaches(..) => 1,
            Op::Load(_) => 2,
            Op::Flush(_) => 3,
            Op::Fence => 4,
            Op::Work => 5,
            Op::Shows(..) | Op::ShowsMapped(..) => return None,
        })
    }

    /// Words of the operation, as an instruction of the block set `set`. Two executions of one instruction in a row
    /// would count as the repetition of a string instruction.
    fn words(self, set: u32) -> Vec<u64> {
        let block = self.block().map(|block| word::block(set * KINDS + block, 1));
        let rest = match self {
            Op::Store(addr, value) | Op::StorePastCaches(addr, value) => {
                vec![word::access(true, 3, true, 0, addr), value]
            }
            Op::Load(addr) => vec![word::access(false, 3, false, 0, addr)],
            Op::Flush(addr) => vec![word::control(Control::Flush, 0, addr)],
            Op::Fence => vec![word::control(Control::Fence, 0, 0)],
            Op::Work => Vec::new(),
            Op::Shows(addr, content) | Op::ShowsMapped(addr, content) => {
                let mapped = if matches!(self, Op::ShowsMapped(..)) { MAPPED } else { 0 };
                let mut words = vec![word::control(Control::Line, LineCause::Kernel as u8 | mapped, addr)];
                words.extend(content.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)));
                words
            }
        };
        block.into_iter().chain(rest).collect()
    }
}

fn blocks() -> Vec<Arc<Block>> {
    let effects = [
        PersistEffect::None,
        PersistEffect::Store,
        PersistEffect::None,
        PersistEffect::Line,
        PersistEffect::None,
        PersistEffect::None,
    ];
    let instruction = |(persist, number): (PersistEffect, u64)| Instruction {
        pc: VirtAddr(CODE + 4 * number),
        bytes: 4,
        class: Class::IntAlu,
        flow: Flow::Next,
        persist,
        address_sources: Default::default(),
        sources: Default::default(),
        destinations: Default::default(),
    };
    let block = |(number, instruction)| {
        Arc::new(Block { id: BlockId(number), instructions: vec![instruction], code: Box::default() })
    };
    (0..).zip(effects.into_iter().chain(effects).zip(0..).map(instruction)).map(block).collect()
}

/// A program that executes a list of operations.
pub struct ByHand {
    batches: VecDeque<Batch>,
    origin: Origin,
}

impl ByHand {
    /// A program with these operations, of which this part of memory is durable.
    pub fn of(ops: &[Op], persistent: Persistent) -> Box<dyn Source> {
        let mut set = 0;
        let mut words = |op: &Op| {
            set = (set + u32::from(op.block().is_some())) % 2;
            op.words(set)
        };
        let mut batches: VecDeque<Batch> = ops
            .chunks(256)
            .map(|ops| Batch { words: ops.iter().flat_map(&mut words).collect(), ..Batch::default() })
            .collect();
        if let Some(first) = batches.front_mut() {
            first.new_blocks = blocks();
        }
        let origin = Origin {
            program: vec!["by hand".into()],
            skip: 0,
            limit: None,
            values: Values::Exact,
            load_values: false,
            medium: Medium::BuiltIn,
            conditions: Vec::new(),
            persistent,
            requests: None,
            restarts: 0,
            finish: Finish::Exited(0),
            suspects: Vec::new(),
        };
        Box::new(ByHand { batches, origin })
    }
}

impl Source for ByHand {
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        Ok(self.batches.pop_front().map(Arc::new))
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// A line with this number in each of its eight words.
pub fn filled(word: u64) -> Line {
    std::array::from_fn(|byte| word.to_le_bytes()[byte % 8])
}

/// Address of the line with this number.
pub fn addr(line: u64) -> u64 {
    0x10_0000 + line * LINE_BYTES as u64
}
