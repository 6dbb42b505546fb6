//! A switch of secure processes: the operating system interrupts one and continues another (CryptoPage, section 2.6).
//!
//! ```text
//! switch:  context to a buffer ─ is the next one's in a buffer? ─ yes ──────────────────────────────┬ empty records, nodes, buffer ─ resume
//!                                no ─ a buffer free? no: leave ─ load or admit the next one's ──────┘
//! leave:   permute its page chunks with locked lines ─ drop its lines from the cache ─ encrypt the context ─ store it
//! ```
//! A process with its context in memory has no keys on the chip, so its page chunks must not have locked lines at that
//! time.

use super::processes::{ProcessId, Processes};
use super::{MovingCounts, MovingLines, report, set};
use crate::meetings::{self, Mechanism};
use crate::planted::PageChunkBug;
use crate::slot::{Role, Untrusted};
use crate::verbs::{AesUnits, Blocks, Known, Purpose, Verbs, Wanted};
use context::{CONTEXT_BYTES, ContextError, EXPORTED_BYTES};
use crypto::{BLOCK_BYTES, BlockCipher};
use sim::join_all;
use std::cell::RefCell;
use std::collections::BTreeSet;
use units::{LINE_BYTES, ZERO_LINE};

/// AES blocks of the encryption of a context. The pads depend only on the number of the context, so the units compute
/// them in parallel.
const CONTEXT_BLOCKS: Blocks =
    Blocks::parallel(BlockCipher::Aes, Purpose::Sealing, CONTEXT_BYTES.div_ceil(BLOCK_BYTES) as u32);

/// The page chunks of all processes, by the pages that these have mapped.
pub trait ProcessPageChunks {
    /// Numbers of the page chunks of a process. A page chunk may belong to several processes.
    fn chunks_of(&self, process: ProcessId) -> BTreeSet<u64>;
    /// Numbers of the page chunks that belong to any process.
    fn mapped(&self) -> BTreeSet<u64>;
}

/// Interface by which an operating system switches secure processes, for a memory with permuted lines.
#[derive(Clone, Copy)]
pub struct ProcessPort<'a> {
    lines: &'a MovingLines,
    processes: &'a RefCell<Processes>,
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
        owners: &impl ProcessPageChunks,
    ) -> Result<(), ContextError> {
        let is_first = !self.processes.borrow().have_run();
        if self.processes.borrow().running() == Some(next) {
            return Ok(());
        }
        let _switch = meetings::begin(Mechanism::ContextSwitch, set(self.lines));
        self.processes.borrow_mut().interrupt()?;
        if !self.processes.borrow().is_in_buffer(next) {
            let leaving = self.processes.borrow().next_to_leave();
            if let Some(leaving) = leaving {
                self.let_out(verbs, leaving, owners).await?;
            }
            self.load(verbs, next).await?;
        }
        if !is_first {
            self.count(|counts| counts.switches += 1);
        }
        self.lines.records.empty_for_switch();
        self.processes.borrow_mut().resume(next)
    }

    /// Interrupts the running process for an unrecorded process, and then continues it.
    ///
    /// # Errors
    /// Does not fail while a buffer is free, as always when a process runs.
    pub fn interrupt(self) -> Result<(), ContextError> {
        self.lines.records.empty_for_switch();
        let mut processes = self.processes.borrow_mut();
        let Some(running) = processes.running() else { return Ok(()) };
        processes.interrupt()?;
        self.count(|counts| counts.switches += 1);
        processes.resume(running)
    }

    /// Removes the context of a process that has ended.
    ///
    /// # Errors
    /// Does not fail while the chip knows the process.
    pub fn end(self, process: ProcessId) -> Result<(), ContextError> {
        self.processes.borrow_mut().end(process)
    }

    /// Moves the context of a process out of the chip, after its lines have left the chip. A page that no process has mapped any longer
    /// may have lines of this one, so they leave as well.
    async fn let_out<V: Verbs>(
        self,
        verbs: &V,
        leaving: ProcessId,
        owners: &impl ProcessPageChunks,
    ) -> Result<(), ContextError> {
        let (lines, cache) = (self.lines, self.lines.cache());
        let (own, mapped) = (owners.chunks_of(leaving), owners.mapped());
        let leaves = |chunk: u64| own.contains(&chunk) || !mapped.contains(&chunk);
        let locked = || cache.chunks_with_locks().into_iter().filter(|chunk| leaves(*chunk));
        cache.lock_stores_above(&leaves);
        let leaves_locks = lines.planted.has(PageChunkBug::ContextLeavesLocks);
        for chunk in locked().filter(|_| !leaves_locks) {
            self.count(|counts| counts.contexts.chunks_permuted += 1);
            lines.under_way.borrow_mut().wait(chunk);
            report(verbs, lines.permute(verbs, chunk, None).await.map(|_| ()));
        }
        let locked = if leaves_locks { 0 } else { locked().count() };
        let (entry, bytes) = self.processes.borrow_mut().export(leaving, locked)?;
        if !lines.planted.has(PageChunkBug::ContextLeavesLines) {
            cache.drop_chunks(&leaves);
        }
        verbs.await_blocks(verbs.pad(AesUnits::Controller, CONTEXT_BLOCKS, Known::default())).await;
        let texts = bytes.chunks(LINE_BYTES).map(|bytes| {
            let mut line = ZERO_LINE;
            line[..bytes.len()].copy_from_slice(bytes);
            line
        });
        let stores = self.processes.borrow().slots(entry).zip(texts);
        join_all(stores.map(|(slot, text)| verbs.store(slot, Role::Context, Untrusted::from(text)))).await;
        self.count(|counts| counts.contexts.out += 1);
        Ok(())
    }

    /// Loads the context of a process into a free buffer: from memory, or from its vendor if the process has not run before.
    async fn load<V: Verbs>(self, verbs: &V, process: ProcessId) -> Result<(), ContextError> {
        let entry = self.processes.borrow().entry_of(process);
        let Some(entry) = entry else {
            return self.processes.borrow_mut().admit(process, self.lines.records.all().root());
        };
        let passing = verbs.pad(AesUnits::Controller, CONTEXT_BLOCKS, Known::default());
        let slots = self.processes.borrow().slots(entry);
        let fetch = async |slot| verbs.fetch(slot, Role::Context, Wanted::LINE).await.content.examine();
        let mut bytes = join_all(slots.map(fetch)).await.concat();
        bytes.truncate(EXPORTED_BYTES);
        verbs.await_blocks(passing).await;
        self.processes.borrow_mut().import(process, &bytes)?;
        self.count(|counts| counts.contexts.back += 1);
        Ok(())
    }

    fn count(self, change: impl FnOnce(&mut MovingCounts)) {
        change(self.lines.counted.borrow_mut().counts_mut());
    }
}
