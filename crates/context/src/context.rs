//! Hardware context of a secure process: its registers, its keys and the root of its tree.
//!
//! Source: Duc and Keryell, ACSAC 2006, sections 2.4 and 2.6. The paper does not mention the instruction pointer at a
//! signal. Here a context has an additional register: the signal moves `rip` to this register, the process reads it,
//! and [`Context::return_from_signal`] moves the value back. Until then a second signal is refused, because it would
//! overwrite the first `rip`. The handler itself saves and restores all other registers.

use crate::error::ContextError;
use crate::process::ProcessNumber;
use crate::registers::{REGISTER_FILE_BYTES, Register, RegisterFile, RegisterSet};
use crypto::{Key, SHA1_BYTES};
use units::VirtAddr;
use units::random::Random;

/// Root of a process's tree.
pub type Root = [u8; SHA1_BYTES];

/// Bytes of a context as it is sealed.
pub const CONTEXT_BYTES: usize = 8 + InitialContext::BYTES + 8 + ADDRESS_BYTES;

/// A flag and an address.
const ADDRESS_BYTES: usize = 9;
const KEY_BYTES: usize = 16;

/// Keys of one process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcessKeys {
    /// K_e, from which the pads of lines are computed.
    pub encryption: Key,
    /// K_m, from which the tags of lines are computed.
    pub authentication: Key,
    /// K_p, which encrypts the records of page chunks.
    pub records: Key,
}

/// Context of a process before its first instruction, as a software vendor writes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InitialContext {
    /// Registers, `rip` at the first instruction.
    pub registers: RegisterFile,
    /// Keys under which the vendor encrypted the program.
    pub keys: ProcessKeys,
    /// Root of the tree over the program's memory.
    pub root: Root,
    /// Signal handler, if the program starts with one.
    pub handler: Option<VirtAddr>,
}

impl InitialContext {
    /// Draws the registers, the keys and the signal handler of a process, since recordings do not contain them.
    pub fn draw(random: &mut Random, root: Root) -> InitialContext {
        let registers = RegisterFile::new(bytes(random));
        let key = |random: &mut Random| Key(bytes(random));
        let keys = ProcessKeys { encryption: key(random), authentication: key(random), records: key(random) };
        InitialContext { registers, keys, root, handler: Some(VirtAddr(random.word())) }
    }

    /// Bytes of an initial context as it is sealed.
    pub(crate) const BYTES: usize = REGISTER_FILE_BYTES + 3 * KEY_BYTES + SHA1_BYTES + ADDRESS_BYTES;

    /// Returns the bytes of the initial context.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(InitialContext::BYTES);
        bytes.extend_from_slice(self.registers.as_bytes());
        for key in [self.keys.encryption, self.keys.authentication, self.keys.records] {
            bytes.extend_from_slice(&key.0);
        }
        bytes.extend_from_slice(&self.root);
        put_address(&mut bytes, self.handler);
        bytes
    }

    /// Reads an initial context, and removes it from the bytes. Returns `None` if there are too few.
    pub(crate) fn decode(bytes: &mut &[u8]) -> Option<InitialContext> {
        let registers = RegisterFile::new(*take(bytes)?);
        let keys = ProcessKeys {
            encryption: Key(*take(bytes)?),
            authentication: Key(*take(bytes)?),
            records: Key(*take(bytes)?),
        };
        Some(InitialContext { registers, keys, root: *take(bytes)?, handler: take_address(bytes)? })
    }
}

/// Draws an array of bytes.
fn bytes<const N: usize>(random: &mut Random) -> [u8; N] {
    std::array::from_fn(|_| random.below(256) as u8)
}

/// Hardware context of a secure process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Context {
    process: ProcessNumber,
    state: InitialContext,
    visible: RegisterSet,
    interrupted: Option<VirtAddr>,
}

impl Context {
    pub(crate) fn new(process: ProcessNumber, state: InitialContext) -> Context {
        Context { process, state, visible: RegisterSet::NONE, interrupted: None }
    }

    /// Process that the context belongs to.
    pub fn process(&self) -> ProcessNumber {
        self.process
    }

    /// Registers of the process.
    pub fn registers(&self) -> &RegisterFile {
        &self.state.registers
    }

    /// Registers of the process, to be written by its instructions.
    pub fn registers_mut(&mut self) -> &mut RegisterFile {
        &mut self.state.registers
    }

    /// Keys of the process.
    pub fn keys(&self) -> &ProcessKeys {
        &self.state.keys
    }

    /// Root of the process's tree.
    pub fn root(&self) -> &Root {
        &self.state.root
    }

    pub(crate) fn set_root(&mut self, root: Root) {
        self.state.root = root;
    }

    /// Registers that the next interrupt leaves visible.
    pub fn visible(&self) -> RegisterSet {
        self.visible
    }

    /// Leaves registers visible at the next interrupt, as a system call passes its arguments. At the resume after it, the
    /// operating system sets them. Holds for one interrupt.
    pub fn leave_visible(&mut self, registers: RegisterSet) {
        self.visible = registers;
    }

    /// Signal handler of the process, if it has registered one.
    pub fn handler(&self) -> Option<VirtAddr> {
        self.state.handler
    }

    /// Registers a signal handler, or removes it.
    pub fn register_handler(&mut self, handler: Option<VirtAddr>) {
        self.state.handler = handler;
    }

    /// Instruction pointer that the last signal interrupted, until the process returns to it.
    pub fn interrupted(&self) -> Option<VirtAddr> {
        self.interrupted
    }

    /// Continues the process at the instruction that the last signal interrupted.
    pub fn return_from_signal(&mut self) -> Result<(), ContextError> {
        let rip = self.interrupted.take().ok_or(ContextError::NoSignalPending { process: self.process })?;
        self.state.registers.set_word(Register::RIP, rip.0);
        Ok(())
    }

    /// Jumps to a handler, and keeps the interrupted instruction pointer.
    pub(crate) fn jump_to(&mut self, handler: VirtAddr) {
        self.interrupted = Some(VirtAddr(self.state.registers.word(Register::RIP)));
        self.state.registers.set_word(Register::RIP, handler.0);
    }

    /// Returns the bytes of the context, [`CONTEXT_BYTES`] of them.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(CONTEXT_BYTES);
        bytes.extend_from_slice(&self.process.0.to_le_bytes());
        bytes.append(&mut self.state.encode());
        bytes.extend_from_slice(&self.visible.bits().to_le_bytes());
        put_address(&mut bytes, self.interrupted);
        bytes
    }

    /// Returns the context with these bytes, or `None` if there are too few.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Context> {
        let bytes = &mut bytes;
        Some(Context {
            process: ProcessNumber(u64::from_le_bytes(*take(bytes)?)),
            state: InitialContext::decode(bytes)?,
            visible: RegisterSet::from_bits(u64::from_le_bytes(*take(bytes)?)),
            interrupted: take_address(bytes)?,
        })
    }
}

fn put_address(bytes: &mut Vec<u8>, address: Option<VirtAddr>) {
    bytes.push(address.is_some().into());
    bytes.extend_from_slice(&address.map_or(0, |address| address.0).to_le_bytes());
}

fn take_address(bytes: &mut &[u8]) -> Option<Option<VirtAddr>> {
    let [flag] = *take(bytes)?;
    let address = VirtAddr(u64::from_le_bytes(*take(bytes)?));
    Some((flag != 0).then_some(address))
}

/// Reads the first `N` bytes, and removes them.
fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(handler: Option<VirtAddr>, interrupted: Option<VirtAddr>) -> Context {
        let registers = RegisterFile::new(std::array::from_fn(|byte| byte as u8));
        let keys = ProcessKeys { encryption: Key([1; 16]), authentication: Key([2; 16]), records: Key([3; 16]) };
        let state = InitialContext { registers, keys, root: [4; 20], handler };
        let visible = [Register::RAX, Register::vector(15)].into_iter().collect();
        Context { interrupted, visible, ..Context::new(ProcessNumber(7), state) }
    }

    #[test]
    fn a_process_context_decodes_to_the_encoded_one() {
        for handler in [None, Some(VirtAddr(0)), Some(VirtAddr(u64::MAX))] {
            for interrupted in [None, Some(VirtAddr(0)), Some(VirtAddr(8))] {
                let written = context(handler, interrupted);
                let bytes = written.encode();
                assert_eq!(bytes.len(), CONTEXT_BYTES);
                assert_eq!(Context::decode(&bytes), Some(written));
            }
        }
    }

    #[test]
    fn a_truncated_process_context_is_not_decoded() {
        let bytes = context(None, None).encode();
        assert!((0..bytes.len()).all(|length| Context::decode(&bytes[..length]).is_none()));
    }
}
