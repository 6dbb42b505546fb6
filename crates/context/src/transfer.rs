//! Contexts that leave the chip and return, and initial contexts that arrive.

use crate::context::Context;
use crate::error::ContextError;
use crate::planted::Bug;
use crate::unit::{ContextUnit, Location};

impl ContextUnit {
    /// Encrypts the context of a buffer for memory, and frees the buffer. The processor keeps the number of the
    /// context.
    ///
    /// The caller passes the number of the process's lines that are locked in caches. The keys leave with the context,
    /// so the chip could no longer permute a page chunk of the process. Its page chunks must be permuted, and its lines
    /// leave the caches, before the export.
    pub fn export(&mut self, buffer: usize, locked_lines: usize) -> Result<Vec<u8>, ContextError> {
        let process = self.context(Location::Buffer(buffer))?.process();
        if locked_lines > 0 && !self.planted.has(Bug::LockedLinesIgnored) {
            return Err(ContextError::LockedLines { process, lines: locked_lines });
        }
        let number = self.outside.enter()?;
        let mut context = self.take(buffer)?;
        if self.planted.has(Bug::BufferKept) {
            self.load(buffer, context.clone());
        }
        if self.planted.has(Bug::RootNotExported) {
            context.set_root(Default::default());
        }
        Ok(self.envelope.seal(number, &context))
    }

    /// Loads a context that left this processor since it booted, at most once. Returns its buffer.
    pub fn import(&mut self, exported: &[u8]) -> Result<usize, ContextError> {
        let buffer = self.free_buffer()?;
        let (number, context) = self.envelope.open(exported)?;
        self.outside.remove(number)?;
        self.load(buffer, context);
        Ok(buffer)
    }

    /// Loads an initial context that is sealed to this processor. Returns its buffer.
    ///
    /// Each admission starts another process with a new number, even if the bytes are the same: their keys and their
    /// first root are then the same. The chip does not limit how often a program is started.
    pub fn admit(&mut self, sealed: &[u8]) -> Result<usize, ContextError> {
        let buffer = self.free_buffer()?;
        let initial = self.key.open(sealed)?;
        let process = self.number_process()?;
        self.load(buffer, Context::new(process, initial));
        Ok(buffer)
    }

    /// Frees the table entry of a context after its process was killed: an import of the context is refused from then
    /// on.
    pub fn forget(&mut self, number: u64) -> Result<(), ContextError> {
        self.outside.forget(number)
    }

    /// Numbers of the contexts outside the chip.
    pub fn outside(&self) -> impl Iterator<Item = u64> {
        self.outside.numbers()
    }
}
