//! Builds the protected memory of a machine under a design, with its cipher and hash units placed as the design
//! selects.

use catalogue::Machine;
use machine::memory::MemorySystem;
use protection::design::{Parts, TreeKind};
use protection::execution::{CounterTags, Receiver, TimedMemory};
use protection::scheme::Scheme;
use sim::Clock;
use std::rc::Rc;

/// True if the hash of each metadata line is computed by an AES block instead of the hash engine.
pub fn hashes_by_aes(machine: &Machine, parts: &Parts) -> bool {
    machine.engines.counter_tags == CounterTags::Aes && parts.tree.kind == TreeKind::Counters
}

/// Builds a blank memory for a scheme behind these channels, with the scheme's planted bug. With `ledger`, the memory
/// records every used pad in a ledger.
pub fn build(
    clock: &Clock,
    channels: MemorySystem,
    machine: &Machine,
    parts: &Parts,
    scheme: &Scheme,
    ledger: bool,
    receiver: Rc<dyn Receiver>,
) -> Rc<TimedMemory> {
    let (engines, in_l2) = machine.engines_under(parts);
    let memory = TimedMemory::new(clock, channels, scheme.layout().shape(), &engines, ledger, receiver)
        .with_one_port(parts.caches.unified.is_some())
        .with_hashes_by_aes(hashes_by_aes(machine, parts))
        .with_planted(scheme.planted);
    let memory = match machine.memory.overflows {
        Some(limits) => memory.with_overflows(limits),
        None => memory,
    };
    Rc::new(match in_l2.zip(machine.patience(parts)) {
        Some((aes, patience)) => memory.with_private_aes(&aes, machine.cores, patience),
        None => memory,
    })
}
