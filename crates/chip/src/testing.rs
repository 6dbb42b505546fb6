//! Common code of the chip's tests.

use isa::{Class, Flow, Instruction};
use units::VirtAddr;

/// Returns an instruction without effect, which only occupies an entry of the window.
pub fn nop(pc: u64) -> Instruction {
    Instruction {
        pc: VirtAddr(pc),
        bytes: 4,
        class: Class::Nop,
        flow: Flow::Next,
        persist: Default::default(),
        address_sources: Default::default(),
        sources: Default::default(),
        destinations: Default::default(),
    }
}
