//! Static instructions, decoded once: inputs, outputs and functional unit of each.
//!
//! An instruction contains all that its timing depends on, but not its computation: the recorded program has already
//! computed the values.

use arrayvec::ArrayVec;
use units::VirtAddr;

/// An architectural register, or a part of the state that instructions depend on as if it were one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reg(pub u8);

impl Reg {
    /// Number of register names: `Reg(0)` to `Reg(COUNT - 1)`.
    pub const COUNT: usize = 64;
    /// The first of 16 general-purpose registers.
    pub const GENERAL: Reg = Reg(0);
    /// The first of 32 vector registers.
    pub const VECTOR: Reg = Reg(16);
    /// The arithmetic flags, as one register.
    pub const FLAGS: Reg = Reg(48);
    /// The x87 stack and the MMX registers, as one register.
    pub const X87: Reg = Reg(49);
    /// The first of 8 mask registers.
    pub const MASK: Reg = Reg(50);
}

/// The kind of work, which decides the functional unit and its latency.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// Work without a functional unit.
    Nop,
    /// One-cycle integer work, address arithmetic and plain moves, loads and stores included.
    IntAlu,
    /// Multiplication of integer operands.
    IntMul,
    /// Division of integer operands.
    IntDiv,
    /// Floating-point or vector work as light as an addition.
    FpAdd,
    /// Floating-point or vector multiplication, fused or not.
    FpMul,
    /// Floating-point division and square root.
    FpDiv,
    /// A change of control flow.
    Branch,
    /// Waits for everything before it and holds everything after it: system calls, `cpuid`, fences, locked operations.
    Serial,
}

/// Possible successors of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Flow {
    /// Only the next instruction.
    Next,
    /// The next instruction or one fixed target.
    Conditional,
    /// Only one fixed target.
    Jump,
    /// A target from a register or from memory.
    IndirectJump,
    /// One fixed target, with a return address pushed.
    Call,
    /// A target from a register or from memory, with a return address pushed.
    IndirectCall,
    /// The return address on top of the stack.
    Return,
}

/// Effect of an instruction on a line on its way to memory, in addition to its work.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PersistEffect {
    /// No effect on the line.
    #[default]
    None,
    /// Writes a line back, and the caches keep it: `CLWB`.
    Line,
    /// Writes a line back, and the caches drop it: `CLFLUSHOPT`, `CLFLUSH`.
    Evict,
    /// Stores past the caches: `MOVNTI`, `MOVNTDQ`, `MASKMOVDQU` and similar instructions.
    Store,
}

/// A decoded static instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// Address of the instruction.
    pub pc: VirtAddr,
    /// Length of the instruction in bytes.
    pub bytes: u8,
    /// The kind of work.
    pub class: Class,
    /// Possible successors of the instruction.
    pub flow: Flow,
    /// Effect on a line on its way to memory.
    pub persist: PersistEffect,
    /// Registers that its memory addresses depend on: a load can start when these are ready.
    pub address_sources: ArrayVec<Reg, 4>,
    /// All other registers that it reads: the work, and the data of a store, wait for these.
    pub sources: ArrayVec<Reg, 4>,
    /// Registers that it writes.
    pub destinations: ArrayVec<Reg, 4>,
}

impl Instruction {
    /// Returns the address of the instruction that follows it in memory.
    pub fn fall_through(&self) -> VirtAddr {
        VirtAddr(self.pc.0 + u64::from(self.bytes))
    }
}
