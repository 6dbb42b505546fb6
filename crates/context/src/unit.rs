//! Context unit of a processor: the running context, and the hardware context buffers.
//!
//! Source: Duc and Keryell, ACSAC 2006, section 2.6. The unit is state without time. The paper leaves these rules open:
//!
//! * An interrupt cannot be refused, so a buffer stays reserved for the context that runs.
//! * A signal sets the visible registers to the operating system's values, as a resume does, because the signal may end
//!   a system call.
//! * A context that is discarded is lost, with its process. Its lines may leave the caches unwritten.

use crate::context::{Context, ProcessKeys, Root};
use crate::envelope::Envelope;
use crate::error::ContextError;
use crate::initial::{ProcessorKey, PublicKey};
use crate::outside::OutsideTable;
use crate::planted::{Bug, PlantedContextBug};
use crate::process::ProcessNumber;
use crate::registers::{Register, RegisterFile, RegisterSet};
use crypto::Key;

const ENVELOPE_PURPOSE: u64 = 1;

/// Sizes of a context unit.
#[derive(Clone, Copy, Debug)]
pub struct ContextConfig {
    /// Hardware context buffers, at least one.
    pub buffers: usize,
    /// Entries of the table of contexts outside the chip, 8 bytes each. With zero entries, a context cannot leave.
    pub outside_entries: usize,
    /// Weakness that is built in.
    pub planted: PlantedContextBug,
}

/// Location of a context on the chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Location {
    /// In the registers of the processor.
    Running,
    /// In this hardware context buffer.
    Buffer(usize),
}

/// Interrupt frame: the state that the operating system gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterruptFrame {
    /// Buffer that holds the context.
    pub buffer: usize,
    /// Registers of the processor: zero, but for the visible ones.
    pub registers: RegisterFile,
}

/// Hardware contexts of a processor.
#[derive(Clone)]
pub struct ContextUnit {
    running: Option<Context>,
    buffers: Vec<Option<Context>>,
    pub(crate) key: ProcessorKey,
    pub(crate) envelope: Envelope,
    pub(crate) outside: OutsideTable,
    admitted: u64,
    pub(crate) planted: PlantedContextBug,
}

impl ContextUnit {
    /// Boots a processor. It draws a new key for the contexts outside, so those of an earlier boot can never return.
    pub fn boot(config: ContextConfig, key: ProcessorKey, boot_seed: u64) -> Result<ContextUnit, ContextError> {
        let ContextConfig { buffers, outside_entries, planted } = config;
        if buffers == 0 {
            return Err(ContextError::NoBuffers);
        }
        let boot_seed = if planted.has(Bug::KeySurvivesReset) { 0 } else { boot_seed };
        let envelope = Envelope::new(&Key::for_purpose(boot_seed, ENVELOPE_PURPOSE), key.public().identity());
        let outside = OutsideTable::new(outside_entries, planted);
        Ok(ContextUnit { running: None, buffers: vec![None; buffers], key, envelope, outside, admitted: 0, planted })
    }

    /// Public key of the processor.
    pub fn public_key(&self) -> PublicKey {
        self.key.public()
    }

    /// Context that is running.
    pub fn running(&self) -> Result<&Context, ContextError> {
        self.running.as_ref().ok_or(ContextError::NothingRunning)
    }

    /// Context that is running, for the instructions of its process.
    pub fn running_mut(&mut self) -> Result<&mut Context, ContextError> {
        self.running.as_mut().ok_or(ContextError::NothingRunning)
    }

    /// Context in a buffer or running: for the chip, not for the operating system.
    pub fn context(&self, location: Location) -> Result<&Context, ContextError> {
        match location {
            Location::Running => self.running(),
            Location::Buffer(buffer) => {
                let buffers = self.buffers.len();
                let held = self.buffers.get(buffer).ok_or(ContextError::NoSuchBuffer { buffer, buffers })?;
                held.as_ref().ok_or(ContextError::BufferEmpty { buffer })
            }
        }
    }

    /// Locates the context of a process on the chip. If the context is outside, the chip has no keys of the process.
    pub fn find(&self, process: ProcessNumber) -> Result<Location, ContextError> {
        let locations = (0..self.buffers.len()).map(Location::Buffer).chain([Location::Running]);
        locations
            .into_iter()
            .find(|location| self.context(*location).is_ok_and(|context| context.process() == process))
            .ok_or(ContextError::NotOnChip { process })
    }

    /// Returns the keys of a context, for a permutation of its page chunks.
    pub fn keys_of(&self, location: Location) -> Result<&ProcessKeys, ContextError> {
        Ok(self.context(location)?.keys())
    }

    /// Returns the root of a context, for a permutation of its page chunks.
    pub fn root_of(&self, location: Location) -> Result<&Root, ContextError> {
        Ok(self.context(location)?.root())
    }

    /// Sets the root of a context after a permutation of one of its page chunks, which another process may have forced.
    pub fn set_root(&mut self, location: Location, root: Root) -> Result<(), ContextError> {
        self.context(location)?;
        let context = match location {
            Location::Running => &mut self.running,
            Location::Buffer(_) if self.planted.has(Bug::ForcedRootLost) => return Ok(()),
            Location::Buffer(buffer) => &mut self.buffers[buffer],
        };
        context.iter_mut().for_each(|context| context.set_root(root));
        Ok(())
    }

    /// Saves the running context to a free buffer, and blanks the registers but for those that the process leaves visible.
    pub fn interrupt(&mut self) -> Result<InterruptFrame, ContextError> {
        let buffers = self.buffers.len();
        self.running()?;
        let buffer = self.buffers.iter().position(Option::is_none).ok_or(ContextError::NoFreeBuffer { buffers })?;
        let context = self.running.take().ok_or(ContextError::NothingRunning)?;
        let mut visible = context.visible();
        if self.planted.has(Bug::RegisterNotBlanked) {
            visible = visible.with(Register::general(12));
        }
        let registers = context.registers().blanked(visible);
        self.buffers[buffer] = Some(context);
        Ok(InterruptFrame { buffer, registers })
    }

    /// Continues the process of a buffer. The registers that were visible take the operating system's values; all other
    /// registers keep the buffer's. No register is visible at the next interrupt, unless the process requests it again.
    pub fn resume(&mut self, buffer: usize, from_system: &RegisterFile) -> Result<(), ContextError> {
        self.may_resume(buffer)?;
        let context = self.restored(buffer, from_system)?;
        self.running = Some(context);
        Ok(())
    }

    /// Continues the process of a buffer at its signal handler. The interrupted instruction pointer is kept in the context
    /// until the process returns from the signal, and a second signal is refused until then.
    pub fn signal(&mut self, buffer: usize, from_system: &RegisterFile) -> Result<(), ContextError> {
        let context = self.may_resume(buffer)?;
        let process = context.process();
        let handler = context.handler().ok_or(ContextError::NoHandler { process })?;
        if context.interrupted().is_some() && !self.planted.has(Bug::SignalNests) {
            return Err(ContextError::SignalPending { process });
        }
        let mut context = self.restored(buffer, from_system)?;
        if self.planted.has(Bug::SignalLosesRip) {
            context.registers_mut().set_word(Register::RIP, handler.0);
        }
        context.jump_to(handler);
        self.running = Some(context);
        Ok(())
    }

    /// Removes a context from its buffer: its process was killed.
    pub fn discard(&mut self, buffer: usize) -> Result<Context, ContextError> {
        self.take(buffer)
    }

    /// Ends the running process, at its request or by a security exception.
    pub fn end(&mut self) -> Result<Context, ContextError> {
        self.running.take().ok_or(ContextError::NothingRunning)
    }

    /// Returns the number for a process that is admitted.
    pub(crate) fn number_process(&mut self) -> Result<ProcessNumber, ContextError> {
        if self.planted.has(Bug::ProcessNumberReused) {
            let on_chip = self.buffers.iter().chain([&self.running]).flatten().count();
            return Ok(ProcessNumber(on_chip as u64));
        }
        let process = ProcessNumber(self.admitted);
        self.admitted = self.admitted.checked_add(1).ok_or(ContextError::NumbersExhausted)?;
        Ok(process)
    }

    /// Finds a free buffer for a context that is loaded. One buffer stays free for the running context.
    pub(crate) fn free_buffer(&self) -> Result<usize, ContextError> {
        let reserves = self.running.is_some() && !self.planted.has(Bug::ReservedBufferFilled);
        let mut free = (0..self.buffers.len()).filter(|buffer| self.buffers[*buffer].is_none());
        let buffer = free.nth(usize::from(reserves));
        buffer.ok_or(ContextError::NoFreeBuffer { buffers: self.buffers.len() })
    }

    /// Loads a context into a free buffer.
    pub(crate) fn load(&mut self, buffer: usize, context: Context) {
        self.buffers[buffer] = Some(context);
    }

    /// Removes a context from its buffer, and returns it.
    pub(crate) fn take(&mut self, buffer: usize) -> Result<Context, ContextError> {
        self.context(Location::Buffer(buffer))?;
        self.buffers[buffer].take().ok_or(ContextError::BufferEmpty { buffer })
    }

    fn may_resume(&self, buffer: usize) -> Result<&Context, ContextError> {
        if let Some(running) = &self.running {
            return Err(ContextError::AlreadyRunning { process: running.process() });
        }
        self.context(Location::Buffer(buffer))
    }

    fn restored(&mut self, buffer: usize, from_system: &RegisterFile) -> Result<Context, ContextError> {
        let mut context = self.take(buffer)?;
        let mut taken = context.visible();
        if self.planted.has(Bug::VisibleNotTaken) {
            taken = RegisterSet::NONE;
        }
        if self.planted.has(Bug::RipFromSystem) {
            taken = taken.with(Register::RIP);
        }
        context.registers_mut().take(from_system, taken);
        if !self.planted.has(Bug::VisibleKept) {
            context.leave_visible(RegisterSet::NONE);
        }
        Ok(context)
    }
}
