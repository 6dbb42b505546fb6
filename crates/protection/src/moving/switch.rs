//! A switch of secure processes: the operating system interrupts one and continues another (CryptoPage, section 2.6).
//!
//! ```text
//! switch:  context to a buffer ─ is the next one's in a buffer? ─ yes ──────────────────────────────┬ empty records, nodes, buffer ─ resume
//!                                no ─ a buffer free? no: leave ─ load or admit the next one's ──────┘
//! leave:   permute its chunks with locked lines ─ drop its lines from the cache ─ encrypt the context ─ store it
//! ```
//! A process with its context outside has no keys on the chip, so its chunks have no locked lines at that time.

use super::chunk::chunk_of;
use super::processes::{ProcessId, Processes};
use super::{ContextsDesign, MovingCounters, MovingLines, report};
use crate::planted::ChunkBug;
use crate::slot::{Role, Slot, Untrusted};
use crate::verbs::{AesUnits, Blocks, Known, Purpose, Verbs, Wanted};
use context::{CONTEXT_BYTES, ContextError, EXPORTED_BYTES};
use crypto::{BLOCK_BYTES, BlockCipher};
use sim::join_all;
use std::cell::RefCell;
use units::{LINE_BYTES, LineAddr, ZERO_LINE};

/// Blocks of the encryption of a context. Its pads need its number only, so they are computed side by side.
const CONTEXT_BLOCKS: Blocks =
    Blocks::parallel(BlockCipher::Aes, Purpose::Sealing, CONTEXT_BYTES.div_ceil(BLOCK_BYTES) as u32);

/// Chunks of each process: those with pages that it has mapped.
pub trait ProcessChunks {
    /// Numbers of the chunks of a process, in order. A chunk may belong to several.
    fn chunks_of(&self, process: ProcessId) -> Vec<u64>;
}

/// The secure processes of a memory with moving lines, which an operating system switches.
#[derive(Clone, Copy)]
pub struct ProcessPort<'a> {
    lines: &'a MovingLines,
    processes: &'a RefCell<Processes>,
}

/// Notes that the running process has locked a line, if the design has contexts.
pub(super) fn note_lock(lines: &MovingLines, line: LineAddr) {
    lines.processes.iter().for_each(|processes| processes.borrow_mut().lock(chunk_of(line)));
}

impl<'a> ProcessPort<'a> {
    pub(super) fn new(lines: &'a MovingLines, processes: &'a RefCell<Processes>) -> ProcessPort<'a> {
        ProcessPort { lines, processes }
    }

    /// Interrupts the running process and continues `next`, which is admitted if it has not run before. TLBs are empty by then.
    ///
    /// # Errors
    /// The refusal of the context unit: no further context can leave, or a context was changed in memory.
    pub async fn switch<V: Verbs>(
        self,
        verbs: &V,
        next: ProcessId,
        owners: &impl ProcessChunks,
    ) -> Result<(), ContextError> {
        let is_first = !self.processes.borrow().have_run();
        if self.processes.borrow().running() == Some(next) {
            return Ok(());
        }
        self.processes.borrow_mut().interrupt()?;
        if !self.processes.borrow().is_in_buffer(next) {
            let leaving = self.processes.borrow().next_to_leave();
            if let Some(leaving) = leaving {
                self.let_out(verbs, leaving, &owners.chunks_of(leaving)).await?;
            }
            self.load(verbs, next).await?;
        }
        if !is_first {
            self.count(|counters| counters.switches += 1);
        }
        self.lines.records.empty_for_switch();
        self.processes.borrow_mut().resume(next)
    }

    /// Interrupts the running process for another one that is not recorded, and continues it.
    ///
    /// # Errors
    /// Does not fail while a buffer is free, as always when a process runs.
    pub fn interrupt(self) -> Result<(), ContextError> {
        self.lines.records.empty_for_switch();
        let mut processes = self.processes.borrow_mut();
        let Some(running) = processes.running() else { return Ok(()) };
        processes.interrupt()?;
        self.count(|counters| counters.switches += 1);
        processes.resume(running)
    }

    /// Removes the context of a process that has ended.
    ///
    /// # Errors
    /// Does not fail while the chip knows the process.
    pub fn end(self, process: ProcessId) -> Result<(), ContextError> {
        self.processes.borrow_mut().end(process)
    }

    /// Moves the context of a process out of the chip, after its lines have left the chip.
    async fn let_out<V: Verbs>(self, verbs: &V, leaving: ProcessId, mapped: &[u64]) -> Result<(), ContextError> {
        let (lines, cache) = (self.lines, self.lines.cache());
        mapped.iter().for_each(|chunk| cache.lock_stores_above(*chunk));
        // A page that the process has unmapped may have locked lines, too.
        let mut chunks = [mapped, &self.processes.borrow().locked_by(leaving)].concat();
        chunks.sort_unstable();
        chunks.dedup();
        if !lines.planted.has(ChunkBug::ContextLeavesLocks) {
            for chunk in self.locked_of(&chunks) {
                self.count(|counters| counters.chunks_for_contexts += 1);
                report(verbs, lines.permute(verbs, chunk, None).await);
            }
        }
        let locked = match lines.planted.has(ChunkBug::ContextLeavesLocks) {
            true => 0,
            false => self.processes.borrow().locked_by(leaving).len(),
        };
        let (entry, bytes) = self.processes.borrow_mut().export(leaving, locked)?;
        if !lines.planted.has(ChunkBug::ContextLeavesLines) {
            chunks.iter().for_each(|chunk| cache.drop_chunk(*chunk));
        }
        verbs.await_blocks(verbs.pad(AesUnits::Controller, CONTEXT_BLOCKS, Known::default())).await;
        let texts = bytes.chunks(LINE_BYTES).map(|bytes| {
            let mut line = ZERO_LINE;
            line[..bytes.len()].copy_from_slice(bytes);
            line
        });
        let stores = self.slots(entry).zip(texts);
        join_all(stores.map(|(slot, text)| verbs.store(slot, Role::Context, Untrusted::from(text)))).await;
        self.count(|counters| counters.contexts_out += 1);
        Ok(())
    }

    /// Loads the context of a process into a free buffer: from memory, or from its vendor if the process has not run before.
    async fn load<V: Verbs>(self, verbs: &V, process: ProcessId) -> Result<(), ContextError> {
        let entry = self.processes.borrow().entry_of(process);
        let Some(entry) = entry else {
            return self.processes.borrow_mut().admit(process, self.lines.records.all().root());
        };
        let passing = verbs.pad(AesUnits::Controller, CONTEXT_BLOCKS, Known::default());
        let fetch = async |slot| verbs.fetch(slot, Role::Context, Wanted::LINE).await.content.examine();
        let mut bytes = join_all(self.slots(entry).map(fetch)).await.concat();
        bytes.truncate(EXPORTED_BYTES);
        verbs.await_blocks(passing).await;
        self.processes.borrow_mut().import(process, &bytes)?;
        self.count(|counters| counters.contexts_back += 1);
        Ok(())
    }

    fn count(self, change: impl FnOnce(&mut MovingCounters)) {
        change(self.lines.counted.borrow_mut().counters_mut());
    }

    /// Returns the chunks in this list that have locked lines.
    fn locked_of(self, chunks: &[u64]) -> Vec<u64> {
        let locked = self.lines.cache().chunks_with_locks();
        locked.into_iter().filter(|chunk| chunks.contains(chunk)).collect()
    }

    /// Slots of the context in an entry of memory.
    fn slots(self, entry: u64) -> impl Iterator<Item = Slot> + use<> {
        let first = self.lines.first_context.map_or(0, |slot| slot.0) + entry * ContextsDesign::LINES_PER_CONTEXT;
        (first..first + ContextsDesign::LINES_PER_CONTEXT).map(Slot)
    }
}
