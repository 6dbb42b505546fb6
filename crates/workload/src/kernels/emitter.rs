//! Turns the work of a kernel into the stream of a recorded program.
//!
//! The kernel declares its basic blocks once. It then calls the emitter for each block that it enters, and for the
//! block's accesses in order. The emitter knows from the listing which instruction makes the next access, and the
//! access's width. A kernel thus cannot attribute an access to the wrong instruction: debug builds check each one.
//!
//! Like a recorder, the emitter sends the content of a line just before the first access to it. From then on, the
//! stores keep every consumer's copy up to date.

use super::arena::{Arena, Array, Scalar, ValueAddress};
use super::listing::{Effect, Listing, Operand};
use crate::stream::{AccessKind, Batch, Block, BlockId, Strand};
use crossbeam_channel::Sender;
use std::sync::Arc;
use thiserror::Error;
use units::VirtAddr;
use wire::word::{self, Birth, Control, LineCause};

/// Number of words after which a batch is sent. The number is large enough that passing a batch to the consumer costs
/// little. It is small enough that the second-level cache of the host holds a few batches.
pub const BATCH_WORDS: usize = 8 << 10;
/// Words beyond [`BATCH_WORDS`] that the last block of a batch may need.
const BLOCK_SLACK_WORDS: usize = 256;

/// Error: the consumer has closed the stream, and the kernel must return at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the kernel's consumer is gone")]
pub struct ClosedStream;

/// Properties of a block that the emitter needs at every entry.
struct BlockEntry {
    word: u64,
    instructions: u64,
    first_operand: usize,
    end: VirtAddr,
}

/// Writes the stream of a kernel, and owns the memory that the stream describes.
pub struct Emitter {
    arena: Arena,
    /// One bit per line of the arena: set if the consumer knows the line's content.
    sent: Vec<u64>,
    entries: Vec<BlockEntry>,
    /// The accesses, flushes and fences of all blocks, block after block, as stream words without their address.
    operands: Vec<u64>,
    /// The next access in `operands`.
    cursor: usize,
    /// The end of the current block's accesses in `operands`.
    cursor_end: usize,
    next_pc: VirtAddr,
    new_blocks: Vec<Arc<Block>>,
    words: Vec<u64>,
    load_values: bool,
    /// True while the emitter records no words.
    silent: bool,
    /// Number of instructions to skip before recording, without those of a silent phase.
    to_skip: u64,
    batches: Sender<Arc<Batch>>,
}

/// Selection of the recorded instructions and values.
#[derive(Clone, Copy, Default)]
pub struct StreamSelection {
    /// Number of instructions to skip before the stream begins.
    pub skip: u64,
    /// True if loads carry their values.
    pub load_values: bool,
}

impl Emitter {
    /// Creates an emitter for a program at `code` that works in `arena`.
    pub fn new(arena: Arena, code: VirtAddr, extent: StreamSelection, batches: Sender<Arc<Batch>>) -> Emitter {
        Emitter {
            sent: vec![0; arena.lines().div_ceil(64)],
            arena,
            entries: Vec::new(),
            operands: Vec::new(),
            cursor: 0,
            cursor_end: 0,
            next_pc: code,
            new_blocks: Vec::new(),
            words: first_words(),
            load_values: extent.load_values,
            silent: extent.skip > 0,
            to_skip: extent.skip,
            batches,
        }
    }

    /// Adds a block to the program, directly after the block declared before it.
    pub fn declare(&mut self, listing: Listing) -> BlockId {
        let id = BlockId(self.entries.len() as u32);
        let (instructions, operands) = listing.lay_out(self.next_pc);
        let end = instructions.last().map_or(self.next_pc, |last| last.fall_through());
        let word = word::block(id.0, instructions.len() as u16);
        let count = instructions.len() as u64;
        self.entries.push(BlockEntry { word, instructions: count, first_operand: self.operands.len(), end });
        self.operands.extend(operands.iter().map(|operand| operand_word(operand, self.load_values)));
        self.next_pc = end;
        self.new_blocks.push(Arc::new(Block { id, instructions, code: Box::default() }));
        id
    }

    /// True if enough instructions were skipped for the stream to begin with a block of `instructions` instructions.
    #[inline]
    fn begins_with(&mut self, instructions: u64) -> bool {
        if self.to_skip == 0 {
            // A silent phase is not recorded at all.
            return false;
        }
        self.to_skip = self.to_skip.saturating_sub(instructions);
        self.silent = self.to_skip > 0;
        !self.silent
    }

    /// Address after `block`: the return address of a call at its end.
    pub fn end_of(&self, block: BlockId) -> u64 {
        self.entries[block.0 as usize].end.0
    }

    /// Allocates `count` values of the arena.
    pub fn array<T: Scalar>(&mut self, count: u64) -> Array<T> {
        self.arena.array(count)
    }

    /// Enters a block. Its accesses must follow, in order, before the next block is entered.
    ///
    /// # Errors
    /// [`ClosedStream`] if the consumer has closed the stream.
    #[inline]
    pub fn block(&mut self, block: BlockId) -> Result<(), ClosedStream> {
        debug_assert_eq!(self.cursor, self.cursor_end, "an access is missing before {block:?}");
        let number = block.0 as usize;
        let entry = &self.entries[number];
        self.cursor = entry.first_operand;
        if cfg!(debug_assertions) {
            self.cursor_end = self.entries.get(number + 1).map_or(self.operands.len(), |next| next.first_operand);
        }
        let (word, instructions) = (entry.word, entry.instructions);
        if self.silent && !self.begins_with(instructions) {
            return Ok(());
        }
        if self.words.len() >= BATCH_WORDS {
            self.send()?;
        }
        self.words.push(word);
        Ok(())
    }

    /// Makes the current block's next access, a load.
    ///
    /// The function is inlined: a kernel reads the value at its use, or not at all if it ignores the value. A miss of
    /// the host's caches would cost more than all other work of this function.
    #[inline(always)]
    pub fn load<T: Scalar>(&mut self, address: ValueAddress<T>) -> T {
        let operand = self.next_operand::<T>(AccessKind::Load);
        if !self.silent {
            self.send_line_of(address.addr);
            self.words.push(operand | address.addr);
            if self.load_values {
                self.words.push(self.arena.read(address).to_bits());
            }
        }
        self.arena.read(address)
    }

    /// Makes the current block's next access, a store.
    #[inline]
    pub fn store<T: Scalar>(&mut self, address: ValueAddress<T>, value: T) {
        let operand = self.next_operand::<T>(AccessKind::Store);
        if !self.silent {
            self.send_line_of(address.addr);
            self.words.push(operand | address.addr);
            self.words.push(value.to_bits());
        }
        self.arena.write(address, value);
    }

    /// Makes the current block's next two accesses, an update in place, and returns the new value.
    #[inline]
    pub fn update<T: Scalar>(&mut self, address: ValueAddress<T>, change: impl FnOnce(T) -> T) -> T {
        let value = change(self.load(address));
        self.store(address, value);
        value
    }

    /// Flushes the line of an address: the current block's next effect.
    #[inline]
    pub fn flush(&mut self, addr: u64) {
        let operand = self.next_word(word::control(Control::Flush, 0, 0) >> 56, 56);
        if !self.silent {
            self.send_line_of(addr);
            self.words.push(operand | addr);
        }
    }

    /// Adds a persist fence, the current block's next effect: no later store is durable before all flushed lines are.
    #[inline]
    pub fn fence(&mut self) {
        let operand = self.next_word(word::control(Control::Fence, 0, 0) >> 56, 56);
        if !self.silent {
            self.words.push(operand);
        }
    }

    /// Reads memory without an access of the program.
    pub fn peek<T: Scalar>(&self, address: ValueAddress<T>) -> T {
        self.arena.read(address)
    }

    /// Writes memory without an access of the program: input that exists when the program starts.
    pub fn poke<T: Scalar>(&mut self, address: ValueAddress<T>, value: T) {
        debug_assert!(!self.is_sent(address.addr), "the consumer already knows this line");
        self.arena.write(address, value);
    }

    /// Does `work` without recording it, for the program's phase before the recording begins.
    ///
    /// # Panics
    /// If the recording has begun.
    pub fn silently<R>(&mut self, work: impl FnOnce(&mut Emitter) -> R) -> R {
        assert!(self.words == first_words() && !self.new_blocks.is_empty(), "the recording has begun");
        let to_skip = std::mem::take(&mut self.to_skip);
        self.silent = true;
        let result = work(self);
        (self.silent, self.to_skip) = (to_skip > 0, to_skip);
        result
    }

    /// Does `work`, the program's first phase, recorded or not.
    pub fn recorded_if<R>(&mut self, recorded: bool, work: impl FnOnce(&mut Emitter) -> R) -> R {
        if recorded { work(self) } else { self.silently(work) }
    }

    /// Sends the remaining words and the end of the program.
    ///
    /// # Errors
    /// [`ClosedStream`] if the consumer has closed the stream.
    pub fn finish(mut self) -> Result<(), ClosedStream> {
        debug_assert_eq!(self.cursor, self.cursor_end, "an access of the last block is missing");
        self.words.push(word::control(Control::Ended, 0, 0));
        self.send()
    }

    fn send(&mut self) -> Result<(), ClosedStream> {
        let words = std::mem::replace(&mut self.words, empty_words());
        let new_blocks = std::mem::take(&mut self.new_blocks);
        self.batches.send(Arc::new(Batch { strand: Strand::default(), new_blocks, words })).map_err(|_| ClosedStream)
    }

    #[inline]
    fn next_operand<T: Scalar>(&mut self, kind: AccessKind) -> u64 {
        self.next_word(word::access(kind == AccessKind::Store, T::LOG2_BYTES, false, 0, 0) >> 59, 59)
    }

    /// Returns the word of the current block's next effect, which must equal `expected` from bit `from_bit` on.
    #[inline]
    fn next_word(&mut self, expected: u64, from_bit: u32) -> u64 {
        debug_assert_ne!(self.cursor, self.cursor_end, "the block has no further access");
        let operand = self.operands[self.cursor];
        debug_assert_eq!(operand >> from_bit, expected, "the access differs from the listing");
        self.cursor += 1;
        operand
    }

    fn is_sent(&self, addr: u64) -> bool {
        let line = self.arena.line_of(addr);
        self.sent[line / 64] >> (line % 64) & 1 == 1
    }

    #[inline]
    fn send_line_of(&mut self, addr: u64) {
        if !self.is_sent(addr) {
            self.send_line(addr);
        }
    }

    #[cold]
    fn send_line(&mut self, addr: u64) {
        let line = self.arena.line_of(addr);
        self.sent[line / 64] |= 1 << (line % 64);
        let start = VirtAddr(addr).line_start();
        self.words.push(word::control(Control::Line, LineCause::FirstTouch as u8, start.0));
        self.words.extend_from_slice(self.arena.line(line));
    }
}

/// Words before all instructions.
fn first_words() -> Vec<u64> {
    let mut words = empty_words();
    words.push(word::control(Control::Process, Birth::First as u8, 0));
    words.push(word::control(Control::Thread, 0, 0));
    words
}

fn empty_words() -> Vec<u64> {
    Vec::with_capacity(BATCH_WORDS + BLOCK_SLACK_WORDS)
}

/// Word of an effect in the stream, without its address.
fn operand_word(operand: &Operand, load_values: bool) -> u64 {
    let control = |which| {
        debug_assert!(operand.instruction <= usize::from(u8::MAX), "a flush too far from the beginning of its block");
        word::control(which, operand.instruction as u8, 0)
    };
    match operand.effect {
        Effect::Access { kind, log2_bytes } => {
            let store = kind == AccessKind::Store;
            word::access(store, log2_bytes, load_values || store, operand.instruction as u16, 0)
        }
        Effect::Flush => control(Control::Flush),
        Effect::Fence => control(Control::Fence),
    }
}
