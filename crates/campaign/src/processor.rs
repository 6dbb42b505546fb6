//! A processor that runs the victim's process from hardware contexts: registers, keys and root go with the context, and come back with it.

use crate::system::Handler;
use crate::victim::Victim;
use context::planted::Planted;
use context::{
    ContextConfig, ContextError, ContextUnit, InitialContext, InterruptFrame, Location, ProcessKeys, ProcessorKey,
    RegisterFile, RegisterSet, seal_initial,
};
use crypto::Key;
use protection::design::ContextsDesign;
use units::random::Random;
use units::{LineAddr, VirtAddr};

/// The context unit, with the processes that it was given.
pub struct Processor(ContextUnit);

impl Processor {
    /// A processor with the contexts of a design, and a pair of keys of its own that is drawn from a seed.
    ///
    /// # Errors
    /// [`ContextError::NoBuffers`] if it has no buffer.
    pub fn boot(design: ContextsDesign, seed: u64, planted: Planted) -> Result<Processor, ContextError> {
        let ContextsDesign { buffers, outside } = design;
        let config = ContextConfig { buffers, outside_entries: outside, planted };
        Ok(Processor(ContextUnit::boot(config, ProcessorKey::from_seed(seed), seed)?))
    }

    /// The unit.
    pub fn unit(&mut self) -> &mut ContextUnit {
        &mut self.0
    }

    /// Starts a victim's process with random registers, from an initial context that its vendor has sealed.
    ///
    /// # Errors
    /// As of [`ContextUnit::admit`].
    pub fn start(&mut self, handler: &Handler<'_>, random: &mut Random) -> Result<RegisterFile, ContextError> {
        let registers = RegisterFile::new(bytes(random));
        let key = |random: &mut Random| Key(bytes(random));
        let keys = ProcessKeys { encryption: key(random), authentication: key(random), records: key(random) };
        let initial = InitialContext {
            registers: registers.clone(),
            keys,
            root: handler.root(),
            handler: Some(VirtAddr(random.word())),
        };
        let buffer = self.0.admit(&seal_initial(&self.0.public_key(), &initial, random.word())?)?;
        self.0.resume(buffer, &RegisterFile::default())?;
        Ok(registers)
    }

    /// Interrupts the running process, which leaves these registers visible, and takes its root into the context.
    ///
    /// # Errors
    /// As of [`ContextUnit::interrupt`].
    pub fn interrupt(&mut self, handler: &Handler<'_>, visible: RegisterSet) -> Result<InterruptFrame, ContextError> {
        self.0.running_mut()?.leave_visible(visible);
        self.0.set_root(Location::Running, handler.root())?;
        self.0.interrupt()
    }

    /// Lets the context of a buffer leave the chip, after the victim's chunks with locked lines were permuted, which changes its root.
    ///
    /// # Errors
    /// As of [`ContextUnit::export`].
    pub fn let_out(&mut self, victim: &Victim, line: LineAddr, buffer: usize) -> Result<Vec<u8>, ContextError> {
        victim.flush();
        if let Some(handler) = Handler::of(victim, line) {
            self.0.set_root(Location::Buffer(buffer), handler.root())?;
        }
        self.0.export(buffer, victim.chunks_with_locks())
    }

    /// Loads a context and goes on with its process, on whose root the processor insists from then on.
    ///
    /// # Errors
    /// As of [`ContextUnit::import`] and [`ContextUnit::resume`].
    pub fn bring_back(&mut self, handler: &Handler<'_>, exported: &[u8]) -> Result<(), ContextError> {
        let buffer = self.0.import(exported)?;
        self.0.resume(buffer, &RegisterFile::default())?;
        handler.switch_process();
        handler.set_root(*self.0.root_of(Location::Running)?);
        Ok(())
    }
}

/// Random bytes.
fn bytes<const N: usize>(random: &mut Random) -> [u8; N] {
    std::array::from_fn(|_| random.below(256) as u8)
}
