//! Random processes, and units to run them on.

use context::planted::PlantedContextBug;
use context::{
    ContextConfig, ContextError, ContextUnit, InitialContext, ProcessKeys, ProcessorKey, RegisterFile, RegisterSet,
    seal_initial,
};
use crypto::Key;
use units::VirtAddr;
use units::random::Random;

/// Returns an array of random bytes.
pub fn bytes<const N: usize>(random: &mut Random) -> [u8; N] {
    std::array::from_fn(|_| random.below(256) as u8)
}

/// Returns a register file with random bytes in each register.
pub fn registers(random: &mut Random) -> RegisterFile {
    RegisterFile::new(bytes(random))
}

/// Returns a random set of registers.
pub fn register_set(random: &mut Random) -> RegisterSet {
    RegisterSet::from_bits(random.word())
}

/// Returns a process with random registers, keys, root and handler.
pub fn initial(random: &mut Random) -> InitialContext {
    InitialContext {
        registers: registers(random),
        keys: ProcessKeys {
            encryption: Key(bytes(random)),
            authentication: Key(bytes(random)),
            records: Key(bytes(random)),
        },
        root: bytes(random),
        handler: Some(VirtAddr(random.word())),
    }
}

/// Returns the processor of most tests.
pub fn processor() -> ProcessorKey {
    ProcessorKey::from_seed(1)
}

/// Returns a unit of that processor, with a weakness.
pub fn unit(buffers: usize, outside_entries: usize, planted: PlantedContextBug) -> ContextUnit {
    ContextUnit::boot(ContextConfig { buffers, outside_entries, planted }, processor(), 1).expect("there are buffers")
}

/// Admits a process to a unit, and returns its buffer.
pub fn admit(unit: &mut ContextUnit, process: &InitialContext) -> Result<usize, ContextError> {
    unit.admit(&seal_initial(&unit.public_key(), process, 1)?)
}

/// Admits a process and starts it.
pub fn start(unit: &mut ContextUnit, process: &InitialContext) -> Result<(), ContextError> {
    let buffer = admit(unit, process)?;
    unit.resume(buffer, &RegisterFile::default())
}
