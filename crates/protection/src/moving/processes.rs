//! Secure processes that take turns on a core, and the locations of their contexts: in the registers, in a hardware
//! context buffer, or encrypted in memory (CryptoPage, section 2.6).
//!
//! Recordings contain no register values and all programs of a run share one tree, so a context here has random registers and keys.
//! Its bytes, its number and the checks on its return are those of the context unit.

use super::contexts_design::ContextsDesign;
use crate::slot::Slot;
use context::planted::PlantedContextBug;
use context::{
    ContextConfig, ContextError, ContextUnit, InitialContext, InterruptFrame, ProcessorKey, RegisterFile, Root,
    context_number, seal_initial,
};
use rustc_hash::FxHashMap;
use units::random::Random;

/// Number of a secure process, unique among all processes of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProcessId(pub u32);

/// Location of the context of a process that is not running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Parked {
    /// In a buffer, since the interrupt of this number.
    Buffer { buffer: usize, interrupt: u64 },
    /// In memory, in this entry for contexts.
    Outside { entry: u64, number: u64 },
}

/// Secure processes of one core.
#[derive(Clone)]
pub(super) struct Processes {
    design: ContextsDesign,
    /// Context unit, booted by the first process.
    unit: Option<ContextUnit>,
    draws: Random,
    /// Seed of the key for contexts outside the chip.
    boot_seed: u64,
    running: Option<ProcessId>,
    parked: FxHashMap<ProcessId, Parked>,
    interrupts: u64,
    /// First slot of the contexts outside the chip.
    first: Slot,
}

impl Processes {
    /// Returns an empty set of processes, with contexts outside the chip from slot `first` on, encrypted under a key
    /// that is drawn from `boot_seed`.
    pub fn new(design: ContextsDesign, (draws, boot_seed): (Random, u64), first: Slot) -> Processes {
        let parked = FxHashMap::default();
        Processes { design, unit: None, draws, boot_seed, running: None, parked, interrupts: 0, first }
    }

    fn unit(&mut self) -> Result<&mut ContextUnit, ContextError> {
        let ContextsDesign { buffers, outside } = self.design;
        if self.unit.is_none() {
            let config = ContextConfig { buffers, outside_entries: outside, planted: PlantedContextBug::NONE };
            let [key, _] = [(); 2].map(|()| self.draws.word());
            self.unit = Some(ContextUnit::boot(config, ProcessorKey::from_seed(key), self.boot_seed)?);
        }
        self.unit.as_mut().ok_or(ContextError::NoBuffers)
    }

    /// Process that is running.
    pub fn running(&self) -> Option<ProcessId> {
        self.running
    }

    /// Saves the context of the running process, if there is one, to a buffer.
    ///
    /// # Errors
    /// Same errors as [`ContextUnit::interrupt`].
    pub fn interrupt(&mut self) -> Result<(), ContextError> {
        let Some(process) = self.running else { return Ok(()) };
        let InterruptFrame { buffer, .. } = self.unit()?.interrupt()?;
        self.running = None;
        self.interrupts += 1;
        self.parked.insert(process, Parked::Buffer { buffer, interrupt: self.interrupts });
        Ok(())
    }

    /// Returns whether the context of a process is in a buffer.
    pub fn is_in_buffer(&self, process: ProcessId) -> bool {
        matches!(self.parked.get(&process), Some(Parked::Buffer { .. }))
    }

    /// Returns whether any process has run.
    pub fn have_run(&self) -> bool {
        self.unit.is_some()
    }

    /// The process that must leave the chip to free a buffer: the process that was interrupted first. `None` if a
    /// buffer is free.
    pub fn next_to_leave(&self) -> Option<ProcessId> {
        let in_buffers = self.parked.iter().filter_map(|(process, parked)| match parked {
            Parked::Buffer { interrupt, .. } => Some((*interrupt, *process)),
            Parked::Outside { .. } => None,
        });
        let in_buffers: Vec<_> = in_buffers.collect();
        if in_buffers.len() < self.design.buffers {
            return None;
        }
        in_buffers.into_iter().min().map(|(_, process)| process)
    }

    /// Encrypts the context of a process for memory. `locked` is the number of its page chunks that have locked lines. Returns its
    /// entry in memory and its bytes.
    ///
    /// # Errors
    /// Same errors as [`ContextUnit::export`].
    pub fn export(&mut self, process: ProcessId, locked: usize) -> Result<(u64, Vec<u8>), ContextError> {
        let buffer = self.buffer_of(process)?;
        let bytes = self.unit()?.export(buffer, locked)?;
        let number = context_number(&bytes).unwrap_or_default();
        let entry = self.free_entry();
        self.parked.insert(process, Parked::Outside { entry, number });
        Ok((entry, bytes))
    }

    /// Entry in memory of a context that is outside.
    pub fn entry_of(&self, process: ProcessId) -> Option<u64> {
        match self.parked.get(&process)? {
            Parked::Outside { entry, .. } => Some(*entry),
            Parked::Buffer { .. } => None,
        }
    }

    /// Loads the context of a process from the bytes that memory returns.
    ///
    /// # Errors
    /// Same errors as [`ContextUnit::import`].
    pub fn import(&mut self, process: ProcessId, bytes: &[u8]) -> Result<(), ContextError> {
        let number = context_number(bytes).unwrap_or_default();
        if !matches!(self.parked.get(&process), Some(Parked::Outside { number: its, .. }) if *its == number) {
            // An authentic context of another process.
            return Err(ContextError::NotOutside { number });
        }
        let buffer = self.unit()?.import(bytes)?;
        self.parked.insert(process, Parked::Buffer { buffer, interrupt: self.interrupts });
        Ok(())
    }

    /// Starts a process from an initial context that its vendor has sealed.
    ///
    /// # Errors
    /// Same errors as [`ContextUnit::admit`].
    pub fn admit(&mut self, process: ProcessId, root: Root) -> Result<(), ContextError> {
        let initial = InitialContext::draw(&mut self.draws, root);
        let seed = self.draws.word();
        let unit = self.unit()?;
        let buffer = unit.admit(&seal_initial(&unit.public_key(), &initial, seed)?)?;
        self.parked.insert(process, Parked::Buffer { buffer, interrupt: self.interrupts });
        Ok(())
    }

    /// Continues a process that has its context in a buffer.
    ///
    /// # Errors
    /// Same errors as [`ContextUnit::resume`].
    pub fn resume(&mut self, process: ProcessId) -> Result<(), ContextError> {
        let buffer = self.buffer_of(process)?;
        self.unit()?.resume(buffer, &RegisterFile::default())?;
        self.parked.remove(&process);
        self.running = Some(process);
        Ok(())
    }

    /// Removes the context of a process that has ended.
    ///
    /// # Errors
    /// Same errors as [`ContextUnit::discard`] and [`ContextUnit::forget`].
    pub fn end(&mut self, process: ProcessId) -> Result<(), ContextError> {
        if self.running == Some(process) {
            self.running = None;
            return self.unit()?.end().map(|_| ());
        }
        match self.parked.remove(&process) {
            Some(Parked::Buffer { buffer, .. }) => self.unit()?.discard(buffer).map(|_| ()),
            Some(Parked::Outside { number, .. }) => self.unit()?.forget(number),
            None => Ok(()),
        }
    }

    /// Slots of the context in an entry of memory.
    pub fn slots(&self, entry: u64) -> impl Iterator<Item = Slot> + use<> {
        let first = self.first.0 + entry * ContextsDesign::LINES_PER_CONTEXT;
        (first..first + ContextsDesign::LINES_PER_CONTEXT).map(Slot)
    }

    fn buffer_of(&self, process: ProcessId) -> Result<usize, ContextError> {
        match self.parked.get(&process) {
            Some(Parked::Buffer { buffer, .. }) => Ok(*buffer),
            _ => Err(ContextError::NotOnChip { process: context::ProcessNumber(process.0.into()) }),
        }
    }

    /// Returns the lowest entry of memory without a context. The chip lets out only as many contexts as memory has
    /// entries.
    fn free_entry(&self) -> u64 {
        let taken: Vec<u64> = self.parked.keys().filter_map(|process| self.entry_of(*process)).collect();
        (0..).find(|entry| !taken.contains(entry)).unwrap_or_default()
    }
}
