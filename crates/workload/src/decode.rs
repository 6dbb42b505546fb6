//! Decodes the bytes of a block into the properties of each instruction that the machine needs.

use crate::stream::{Block, BlockId};
use arrayvec::ArrayVec;
use iced_x86::{
    Code, CpuidFeature, Decoder, DecoderOptions, FlowControl, InstructionInfoFactory, Mnemonic, OpAccess, Register,
};
use isa::{Class, Flow, Instruction, PersistEffect, Reg};
use units::VirtAddr;

type Regs = ArrayVec<Reg, 4>;

/// Decoder of x86 code. It is kept because its construction costs more than its use.
pub struct BlockDecoder {
    factory: InstructionInfoFactory,
}

impl Default for BlockDecoder {
    fn default() -> BlockDecoder {
        BlockDecoder { factory: InstructionInfoFactory::new() }
    }
}

impl BlockDecoder {
    /// Returns the block at `pc` with this code. `lengths` contains the length of each instruction in bytes.
    pub fn block(&mut self, id: BlockId, pc: VirtAddr, lengths: &[u8], code: &[u8]) -> Block {
        let mut at = 0;
        let instructions = lengths.iter().map(|length| {
            let end = (at + usize::from(*length)).min(code.len());
            let instruction = self.instruction(VirtAddr(pc.0 + at as u64), &code[at..end]);
            at = end;
            instruction
        });
        Block { id, instructions: instructions.collect(), code: code.into() }
    }

    /// Decodes the bytes of one instruction. Invalid bytes become a serialising instruction without operands.
    pub fn instruction(&mut self, pc: VirtAddr, bytes: &[u8]) -> Instruction {
        let decoded = Decoder::with_ip(64, bytes, pc.0, DecoderOptions::NONE).decode();
        let mut instruction = Instruction {
            pc,
            bytes: bytes.len() as u8,
            class: Class::Serial,
            flow: Flow::Next,
            persist: Default::default(),
            address_sources: Regs::new(),
            sources: Regs::new(),
            destinations: Regs::new(),
        };
        if decoded.is_invalid() {
            return instruction;
        }
        instruction.class = class(&decoded);
        instruction.flow = flow(&decoded);
        instruction.persist = persist(&decoded);
        self.operands(&decoded, &mut instruction);
        instruction
    }

    fn operands(&mut self, decoded: &iced_x86::Instruction, out: &mut Instruction) {
        let info = self.factory.info(decoded);
        for memory in info.used_memory() {
            add(&mut out.address_sources, memory.base());
            add(&mut out.address_sources, memory.index());
        }
        let independent = is_zeroing_idiom(decoded);
        for used in info.used_registers() {
            let (reads, writes) = directions(used.access());
            let partial = writes && is_partial(used.register());
            if (reads || partial) && !independent {
                add_source(out, used.register());
            }
            if writes {
                add(&mut out.destinations, used.register());
            }
        }
        if decoded.rflags_read() != 0 {
            add_reg(&mut out.sources, Reg::FLAGS);
        }
        if decoded.rflags_modified() != 0 {
            add_reg(&mut out.destinations, Reg::FLAGS);
        }
    }
}

/// Returns two flags: the register is read, and it is written. A conditional write also reads the old value.
fn directions(access: OpAccess) -> (bool, bool) {
    match access {
        OpAccess::Read | OpAccess::CondRead => (true, false),
        OpAccess::Write => (false, true),
        OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
        OpAccess::None | OpAccess::NoMemAccess => (false, false),
    }
}

/// True if a write to this part preserves the other bits of the full register. Writes of 8 and 16 bits do; a write of
/// 32 bits clears the other bits.
fn is_partial(register: Register) -> bool {
    register.is_gpr8() || register.is_gpr16()
}

/// True for `xor r, r` and similar idioms: their result is zero, so they do not depend on the register.
fn is_zeroing_idiom(decoded: &iced_x86::Instruction) -> bool {
    use Mnemonic::*;
    let same = |a, b| decoded.op_register(a) == decoded.op_register(b) && decoded.op_register(a) != Register::None;
    match decoded.mnemonic() {
        Xor | Sub => decoded.op_count() == 2 && same(0, 1) && !is_partial(decoded.op_register(0)),
        Pxor | Xorps | Xorpd | Psubb | Psubw | Psubd | Psubq => decoded.op_count() == 2 && same(0, 1),
        Vpxor | Vxorps | Vxorpd | Vpxord | Vpxorq => decoded.op_count() == 3 && same(1, 2),
        _ => false,
    }
}

/// Adds a source register, unless the address uses it: the instruction waits for address registers anyway.
fn add_source(out: &mut Instruction, register: Register) {
    if let Some(reg) = name(register)
        && !out.address_sources.contains(&reg)
    {
        add_reg(&mut out.sources, reg);
    }
}

fn add(regs: &mut Regs, register: Register) {
    if let Some(reg) = name(register) {
        add_reg(regs, reg);
    }
}

/// Adds a register if the list has room for it, up to four: an instruction with more (`xsave`, `cpuid`) is serialising.
fn add_reg(regs: &mut Regs, reg: Reg) {
    if !regs.contains(&reg) {
        let _ = regs.try_push(reg);
    }
}

/// Returns the full register that contains this part, if instructions can depend on it.
fn name(register: Register) -> Option<Reg> {
    let full = register.full_register();
    if full.is_gpr() {
        Some(Reg(Reg::GENERAL.0 + full.number() as u8))
    } else if full.is_vector_register() {
        Some(Reg(Reg::VECTOR.0 + full.number() as u8))
    } else if full.is_st() || full.is_mm() {
        Some(Reg::X87)
    } else if full.is_k() {
        Some(Reg(Reg::MASK.0 + full.number() as u8))
    } else {
        None
    }
}

fn flow(decoded: &iced_x86::Instruction) -> Flow {
    match decoded.flow_control() {
        FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend => Flow::Conditional,
        FlowControl::UnconditionalBranch => Flow::Jump,
        FlowControl::IndirectBranch => Flow::IndirectJump,
        FlowControl::Call if decoded.code() != Code::Syscall => Flow::Call,
        FlowControl::IndirectCall => Flow::IndirectCall,
        FlowControl::Return if decoded.mnemonic() != Mnemonic::Iretq => Flow::Return,
        _ => Flow::Next,
    }
}

fn persist(decoded: &iced_x86::Instruction) -> PersistEffect {
    use Mnemonic::*;
    match decoded.mnemonic() {
        Clwb => PersistEffect::Line,
        Clflushopt | Clflush => PersistEffect::Evict,
        Movnti | Movntps | Movntpd | Movntdq | Movntq | Maskmovq | Maskmovdqu | Vmovntps | Vmovntpd | Vmovntdq
        | Vmaskmovdqu => PersistEffect::Store,
        _ => PersistEffect::None,
    }
}

fn class(decoded: &iced_x86::Instruction) -> Class {
    use Mnemonic::*;
    if flow(decoded) != Flow::Next {
        return Class::Branch;
    }
    if decoded.has_lock_prefix() || (decoded.mnemonic() == Xchg && decoded.memory_base() != Register::None) {
        return Class::Serial;
    }
    match decoded.mnemonic() {
        Nop | Endbr64 | Endbr32 | Pause | Prefetchnta | Prefetcht0 | Prefetcht1 | Prefetcht2 | Prefetchw => Class::Nop,
        Syscall | Sysenter | Int | Int3 | Cpuid | Mfence | Lfence | Sfence | Xgetbv | Rdtsc | Rdtscp | Iretq | Hlt
        | Ud2 | Xsave | Xsavec | Xsaveopt | Xrstor | Fxsave | Fxrstor | Wrfsbase | Clflush | Clflushopt | Clwb => {
            Class::Serial
        }
        Mul | Imul | Mulx => Class::IntMul,
        Div | Idiv => Class::IntDiv,
        Divss | Divsd | Divps | Divpd | Vdivss | Vdivsd | Vdivps | Vdivpd | Sqrtss | Sqrtsd | Sqrtps | Sqrtpd
        | Vsqrtss | Vsqrtsd | Vsqrtps | Vsqrtpd | Fdiv | Fdivp | Fdivr | Fdivrp | Fidiv | Fidivr | Fsqrt => {
            Class::FpDiv
        }
        Fmul | Fmulp | Fimul => Class::FpMul,
        _ if is_vector_or_float(decoded) => vector_class(decoded.mnemonic()),
        _ => Class::IntAlu,
    }
}

/// True if a vector or x87 unit executes the instruction. Plain moves between memory and vector registers are loads
/// and stores.
fn is_vector_or_float(decoded: &iced_x86::Instruction) -> bool {
    use Mnemonic::*;
    let plain_move = matches!(
        decoded.mnemonic(),
        Movups
            | Movupd
            | Movaps
            | Movapd
            | Movdqu
            | Movdqa
            | Vmovups
            | Vmovupd
            | Vmovaps
            | Vmovapd
            | Vmovdqu
            | Vmovdqa
            | Movss
            | Movsd
            | Vmovss
            | Vmovsd
            | Movq
            | Movd
            | Vmovq
            | Vmovd
            | Movhps
            | Movlps
            | Movntdq
            | Vmovntdq
    );
    let unit = decoded.cpuid_features().iter().any(|feature| {
        !matches!(
            feature,
            CpuidFeature::INTEL8086
                | CpuidFeature::INTEL186
                | CpuidFeature::INTEL286
                | CpuidFeature::INTEL386
                | CpuidFeature::INTEL486
                | CpuidFeature::X64
                | CpuidFeature::BMI1
                | CpuidFeature::BMI2
                | CpuidFeature::ADX
                | CpuidFeature::LZCNT
                | CpuidFeature::POPCNT
                | CpuidFeature::MOVBE
                | CpuidFeature::CMOV
        )
    });
    unit && !plain_move
}

fn vector_class(mnemonic: Mnemonic) -> Class {
    let name = format!("{mnemonic:?}");
    let multiplies =
        ["mul", "madd", "msub", "nmadd", "nmsub"].iter().any(|part| name.to_ascii_lowercase().contains(part));
    if multiplies { Class::FpMul } else { Class::FpAdd }
}
