//! Table of the translated blocks. It stores each block once.
//!
//! QEMU translates the same code again after its code cache is flushed, and different code at the same address after a
//! program is patched or a library unloaded. The table therefore identifies a block by its address and its bytes.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;
use wire::encoding;
use wire::word::{self, Control};

/// Effect of entering a block, apart from executing it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum EntryEffect {
    /// The entry has no other effect.
    Plain = 0,
    /// Entry of a signal handler: the kernel has written a signal frame.
    Handler = 1,
    /// Entry of a handler for faults: the block before it may have run only in part.
    FaultHandler = 2,
}

/// A translated block of the program's code.
pub struct CodeBlock {
    /// Number of the block, in the order of translation.
    pub id: u32,
    /// Number of instructions in the block.
    pub instructions: u16,
    /// True if another strand may get the baton at the entry of the block, before the strand's turn ends: an instruction of the
    /// block synchronises strands.
    pub synchronises: bool,
    /// False if the strand must keep the baton at the entry of the block.
    pub may_pause: bool,
    entry: AtomicU8,
    record: Vec<u64>,
}

#[derive(Default)]
struct BlockTable {
    blocks: HashMap<(u64, Vec<u8>), &'static CodeBlock>,
    by_address: HashMap<u64, Vec<&'static CodeBlock>>,
    handlers: HashMap<u64, EntryEffect>,
}

/// All blocks of this process. They are never freed, because translated code may refer to them at any time.
#[derive(Default)]
pub struct CodeBlocks(Mutex<BlockTable>);

impl CodeBlock {
    /// Returns the effect of entering the block, an [`EntryEffect`] as a number.
    #[inline]
    pub fn entry(&self) -> u8 {
        self.entry.load(Relaxed)
    }

    /// Returns the addresses of the block's code.
    pub fn addresses(&self) -> std::ops::Range<u64> {
        self.record[1]..self.record[1] + self.record[2]
    }

    /// Returns the address of the first instruction.
    pub fn address(&self) -> u64 {
        self.record[1]
    }

    /// Returns the code record, from which the simulator decodes the block.
    pub fn record(&self) -> &[u64] {
        &self.record
    }
}

impl CodeBlocks {
    /// Returns the block with this address and code, and adds it if it is new. `lengths` has the bytes of each
    /// instruction.
    pub fn find_or_add(&self, address: u64, lengths: &[u8], code: &[u8]) -> &'static CodeBlock {
        let mut table = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let bytes: Vec<u8> = lengths.iter().chain(code).copied().collect();
        if let Some(block) = table.blocks.get(&(address, bytes.clone())) {
            return block;
        }
        let id = table.blocks.len() as u32;
        let entry = table.handlers.get(&address).copied().unwrap_or(EntryEffect::Plain);
        let block: &'static CodeBlock = Box::leak(Box::new(CodeBlock {
            id,
            instructions: lengths.len() as u16,
            synchronises: instructions(lengths, code).any(encoding::synchronises),
            may_pause: lengths.len() > 1 || !instructions(lengths, code).any(encoding::is_indivisible),
            entry: AtomicU8::new(entry as u8),
            record: code_record(id, address, lengths.len(), &bytes),
        }));
        table.blocks.insert((address, bytes), block);
        table.by_address.entry(address).or_default().push(block);
        block
    }

    /// Marks the address of a signal handler that the program installs. If it has several marks, the strongest counts.
    pub fn mark_handler(&self, address: u64, entry: EntryEffect) {
        let mut table = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let strongest = table.handlers.get(&address).copied().unwrap_or(EntryEffect::Plain).max(entry);
        table.handlers.insert(address, strongest);
        for block in table.by_address.get(&address).into_iter().flatten() {
            block.entry.store(strongest as u8, Relaxed);
        }
    }
}

/// The bytes of each instruction.
fn instructions<'a>(lengths: &'a [u8], mut code: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    lengths.iter().map(move |length| {
        let (instruction, rest) = code.split_at(usize::from(*length).min(code.len()));
        code = rest;
        instruction
    })
}

fn code_record(id: u32, address: u64, instructions: usize, bytes: &[u8]) -> Vec<u64> {
    let operand = (instructions as u64) << 32 | u64::from(id);
    let mut record = vec![word::control(Control::Code, 0, operand), address, (bytes.len() - instructions) as u64];
    record.extend(bytes.chunks(8).map(|part| {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        u64::from_le_bytes(word)
    }));
    record
}
