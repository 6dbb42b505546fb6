//! The code that was translated, each block once.
//!
//! QEMU translates the same code again after its code cache is flushed, and different code at the same address after a
//! program is patched or a library unloaded. A block is therefore named by its address and its bytes.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;
use wire::word::{self, Control};

/// What entering a block means besides executing it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Entry {
    /// Nothing.
    Plain = 0,
    /// A signal handler begins: the kernel has written a signal frame.
    Handler = 1,
    /// A handler begins that faults lead to: the block before it may have run only in part.
    FaultHandler = 2,
}

/// One block.
pub struct Block {
    /// Its number.
    pub id: u32,
    /// How many instructions.
    pub instructions: u16,
    entry: AtomicU8,
    record: Vec<u64>,
}

#[derive(Default)]
struct Table {
    blocks: HashMap<(u64, Vec<u8>), &'static Block>,
    by_address: HashMap<u64, Vec<&'static Block>>,
    handlers: HashMap<u64, Entry>,
}

/// All blocks of this process. They are never freed: translated code may name them at any time.
#[derive(Default)]
pub struct Blocks(Mutex<Table>);

impl Block {
    /// What entering it means.
    #[inline]
    pub fn entry(&self) -> u8 {
        self.entry.load(Relaxed)
    }

    /// Where its code is.
    pub fn addresses(&self) -> std::ops::Range<u64> {
        self.record[1]..self.record[1] + self.record[2]
    }

    /// Its address.
    pub fn address(&self) -> u64 {
        self.record[1]
    }

    /// The code record, from which the simulator knows what this block is.
    pub fn record(&self) -> &[u64] {
        &self.record
    }
}

impl Blocks {
    /// The block with this code, the lengths of its instructions given one by one.
    pub fn find_or_add(&self, address: u64, lengths: &[u8], code: &[u8]) -> &'static Block {
        let mut table = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let bytes: Vec<u8> = lengths.iter().chain(code).copied().collect();
        if let Some(block) = table.blocks.get(&(address, bytes.clone())) {
            return block;
        }
        let id = table.blocks.len() as u32;
        let entry = table.handlers.get(&address).copied().unwrap_or(Entry::Plain);
        let block: &'static Block = Box::leak(Box::new(Block {
            id,
            instructions: lengths.len() as u16,
            entry: AtomicU8::new(entry as u8),
            record: code_record(id, address, lengths.len(), &bytes),
        }));
        table.blocks.insert((address, bytes), block);
        table.by_address.entry(address).or_default().push(block);
        block
    }

    /// The program installs a signal handler.
    pub fn mark_handler(&self, address: u64, entry: Entry) {
        let mut table = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let strongest = table.handlers.get(&address).copied().unwrap_or(Entry::Plain).max(entry);
        table.handlers.insert(address, strongest);
        for block in table.by_address.get(&address).into_iter().flatten() {
            block.entry.store(strongest as u8, Relaxed);
        }
    }
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
