//! A processor that runs the victim's process from hardware contexts: registers, keys and root leave with the context, and return with it.

use crate::system::Handler;
use crate::victim::TappedMachine;
use context::planted::PlantedContextBug;
use context::{
    ContextConfig, ContextError, ContextUnit, InitialContext, InterruptFrame, Location, ProcessorKey, RegisterFile,
    RegisterSet, seal_initial,
};
use protection::design::ContextsDesign;
use protection::scheme::Permutations;
use units::LineAddr;
use units::random::Random;

/// The context unit, with the processes that it has received.
pub struct Processor(ContextUnit);

impl Processor {
    /// Creates a processor with the contexts of a design, and a pair of processor keys that is drawn from a seed.
    ///
    /// # Errors
    /// [`ContextError::NoBuffers`] if it has no buffer.
    pub fn boot(design: ContextsDesign, seed: u64, planted: PlantedContextBug) -> Result<Processor, ContextError> {
        let ContextsDesign { buffers, outside } = design;
        let config = ContextConfig { buffers, outside_entries: outside, planted };
        Ok(Processor(ContextUnit::boot(config, ProcessorKey::from_seed(seed), seed)?))
    }

    /// Returns the context unit of the processor.
    pub fn unit(&mut self) -> &mut ContextUnit {
        &mut self.0
    }

    /// Starts a victim's process with random registers, from an initial context that its vendor has sealed.
    ///
    /// # Errors
    /// The same as for [`ContextUnit::admit`].
    pub fn start(&mut self, handler: &Handler<'_>, random: &mut Random) -> Result<RegisterFile, ContextError> {
        let initial = InitialContext::draw(random, handler.root());
        let buffer = self.0.admit(&seal_initial(&self.0.public_key(), &initial, random.word())?)?;
        self.0.resume(buffer, &RegisterFile::default())?;
        Ok(initial.registers)
    }

    /// Interrupts the running process, which leaves these registers visible, and stores its root in the context.
    ///
    /// # Errors
    /// The same as for [`ContextUnit::interrupt`].
    pub fn interrupt(&mut self, handler: &Handler<'_>, visible: RegisterSet) -> Result<InterruptFrame, ContextError> {
        self.0.running_mut()?.leave_visible(visible);
        self.0.set_root(Location::Running, handler.root())?;
        self.0.interrupt()
    }

    /// Exports the context of a buffer. The machine's page chunks with locked lines are permuted first, which changes its
    /// root.
    ///
    /// # Errors
    /// The same as for [`ContextUnit::export`].
    pub fn let_out(&mut self, machine: &TappedMachine, line: LineAddr, buffer: usize) -> Result<Vec<u8>, ContextError> {
        machine.flush();
        if let Some(handler) = Handler::of(machine, line) {
            self.0.set_root(Location::Buffer(buffer), handler.root())?;
        }
        self.0.export(buffer, Permutations::of(machine.scheme()).map_or(0, Permutations::chunks_with_locks))
    }

    /// Imports a context and continues its process. The processor enforces the root of this context from then on.
    ///
    /// # Errors
    /// The same as for [`ContextUnit::import`] and [`ContextUnit::resume`].
    pub fn bring_back(&mut self, handler: &Handler<'_>, exported: &[u8]) -> Result<(), ContextError> {
        let buffer = self.0.import(exported)?;
        self.0.resume(buffer, &RegisterFile::default())?;
        handler.switch_process();
        handler.set_root(*self.0.root_of(Location::Running)?);
        Ok(())
    }
}
