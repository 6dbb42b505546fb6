//! A small assembler for the static code of a kernel, in the form of a compiler's listing.
//!
//! A [`Listing`] is one basic block. It contains the registers that each instruction reads and writes, its functional
//! unit and the width of its accesses; the kernel computes the values in Rust. Encodings have the usual length of their
//! kind on x86-64, so that the front end fetches a plausible number of bytes.

use crate::stream::AccessKind;
use arrayvec::ArrayVec;
use isa::{Class, Flow, Instruction, Reg};
use units::VirtAddr;

/// The general-purpose registers by their usual names.
pub mod reg {
    use super::Reg;

    macro_rules! general_purpose {
        ($($name:ident $number:literal)*) => {$(pub const $name: Reg = Reg(Reg::GENERAL.0 + $number);)*};
    }
    general_purpose!(RAX 0 RCX 1 RDX 2 RBX 3 RSP 4 RBP 5 RSI 6 RDI 7 R8 8 R9 9 R10 10 R11 11 R12 12 R13 13 R14 14 R15 15);

    /// Vector register with this number.
    pub const fn xmm(number: u8) -> Reg {
        Reg(Reg::VECTOR.0 + number)
    }
}

/// Memory effect of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// An access of at most eight bytes.
    Access {
        /// Kind of the access: load or store.
        kind: AccessKind,
        /// Log2 of the size in bytes.
        log2_bytes: u8,
    },
    /// A write-back of a line.
    Flush,
    /// A persist fence: earlier flushes become durable before later stores.
    Fence,
}

/// One effect of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand {
    /// Kind of the effect.
    pub effect: Effect,
    /// The index of the instruction in its block.
    pub instruction: usize,
}

/// A basic block being written.
#[derive(Default)]
pub struct Listing {
    instructions: Vec<Instruction>,
    operands: Vec<Operand>,
}

impl Listing {
    /// Creates an empty block.
    pub fn new() -> Listing {
        Listing::default()
    }

    /// Moves, shifts and address arithmetic that do not change the flags: `to = f(from)`.
    pub fn lea(self, to: Reg, from: &[Reg]) -> Listing {
        self.plain(Class::IntAlu, 4, from, &[to])
    }

    /// Integer work that sets the flags: `to = f(from)`.
    pub fn alu(self, to: Reg, from: &[Reg]) -> Listing {
        self.plain(Class::IntAlu, 3, from, &[to, Reg::FLAGS])
    }

    /// Multiplies integers and sets the flags: `to = product of from`.
    pub fn mul(self, to: Reg, from: &[Reg]) -> Listing {
        self.plain(Class::IntMul, 4, from, &[to, Reg::FLAGS])
    }

    /// Adds the finaliser of SplitMix64 (`units::random::mix`), with its multipliers in registers; overwrites `spare`.
    pub fn mix(self, word: Reg, spare: Reg, [first, second]: [Reg; 2]) -> Listing {
        let fold = |code: Listing| code.lea(spare, &[word]).alu(spare, &[spare]).alu(word, &[word, spare]);
        fold(fold(fold(self).mul(word, &[word, first])).mul(word, &[word, second]))
    }

    /// Sets the flags only.
    pub fn compare(self, from: &[Reg]) -> Listing {
        self.plain(Class::IntAlu, 3, from, &[Reg::FLAGS])
    }

    /// Adds floating-point numbers, or shuffles.
    pub fn fp_add(self, to: Reg, from: &[Reg]) -> Listing {
        self.plain(Class::FpAdd, 4, from, &[to])
    }

    /// Multiplies floating-point numbers: `to = product of from`.
    pub fn fp_mul(self, to: Reg, from: &[Reg]) -> Listing {
        self.plain(Class::FpMul, 4, from, &[to])
    }

    /// Divides floating-point numbers: `to = quotient of from`.
    pub fn fp_div(self, to: Reg, from: &[Reg]) -> Listing {
        self.plain(Class::FpDiv, 4, from, &[to])
    }

    /// Loads `bytes` (4, 8 or 16) into `to`.
    pub fn load(self, bytes: u8, to: Reg, address: &[Reg]) -> Listing {
        self.memory(AccessKind::Load, bytes, address).plain(Class::IntAlu, 4, &[], &[to]).at_address(address)
    }

    /// Integer work on a loaded operand: `to = f(from, [address])`.
    pub fn alu_load(self, bytes: u8, to: Reg, from: &[Reg], address: &[Reg]) -> Listing {
        self.memory(AccessKind::Load, bytes, address).alu(to, from).at_address(address)
    }

    /// Sets the flags from registers and a loaded operand.
    pub fn compare_load(self, bytes: u8, from: &[Reg], address: &[Reg]) -> Listing {
        self.memory(AccessKind::Load, bytes, address).compare(from).at_address(address)
    }

    /// Adds a loaded operand: `to = from + [address]`.
    pub fn fp_add_load(self, bytes: u8, to: Reg, from: &[Reg], address: &[Reg]) -> Listing {
        self.memory(AccessKind::Load, bytes, address).fp_add(to, from).at_address(address)
    }

    /// Stores `bytes` (4, 8 or 16) of `from`, or a constant.
    pub fn store(self, bytes: u8, from: &[Reg], address: &[Reg]) -> Listing {
        self.memory(AccessKind::Store, bytes, address).plain(Class::IntAlu, 4, from, &[]).at_address(address)
    }

    /// Changes memory in place: `[address] = f([address], from)`.
    pub fn update(self, bytes: u8, from: &[Reg], address: &[Reg]) -> Listing {
        let listing = self.memory(AccessKind::Load, bytes, address).memory(AccessKind::Store, bytes, address);
        listing.compare(from).at_address(address)
    }

    /// Ends the block with a conditional branch on the flags.
    pub fn branch(self) -> Listing {
        self.leave(Flow::Conditional, 2, &[Reg::FLAGS])
    }

    /// Ends a loop: increments `index` and branches back while it is below `limit`.
    pub fn count_up(self, index: Reg, limit: Reg) -> Listing {
        self.alu(index, &[index]).compare(&[index, limit]).branch()
    }

    /// Ends the block with a jump to one fixed target.
    pub fn jump(self) -> Listing {
        self.leave(Flow::Jump, 5, &[])
    }

    /// Calls a function: pushes the return address.
    pub fn call(self) -> Listing {
        let listing = self.memory(AccessKind::Store, 8, &[reg::RSP]).leave(Flow::Call, 5, &[]);
        listing.at_address(&[reg::RSP]).also_writes(reg::RSP)
    }

    /// Returns to the caller: pops the return address.
    pub fn ret(self) -> Listing {
        let listing = self.memory(AccessKind::Load, 8, &[reg::RSP]).leave(Flow::Return, 1, &[]);
        listing.at_address(&[reg::RSP]).also_writes(reg::RSP)
    }

    /// Writes a line back and keeps it (CLWB). The instruction occupies an entry of the window; the machine determines
    /// all other costs.
    pub fn flush(self, address: &[Reg]) -> Listing {
        self.effect(Effect::Flush).plain(Class::Nop, 5, &[], &[]).at_address(address)
    }

    /// Delays later stores until the flushed lines are durable (SFENCE).
    pub fn fence(self) -> Listing {
        self.effect(Effect::Fence).plain(Class::Nop, 3, &[], &[])
    }

    /// Places the instructions from `start` on; returns them and their effects, in order.
    pub fn lay_out(mut self, start: VirtAddr) -> (Vec<Instruction>, Vec<Operand>) {
        let mut pc = start;
        for instruction in &mut self.instructions {
            instruction.pc = pc;
            pc = instruction.fall_through();
        }
        (self.instructions, self.operands)
    }

    fn plain(mut self, class: Class, bytes: u8, sources: &[Reg], destinations: &[Reg]) -> Listing {
        self.instructions.push(Instruction {
            pc: VirtAddr(0),
            bytes,
            class,
            flow: Flow::Next,
            persist: Default::default(),
            address_sources: ArrayVec::new(),
            sources: sources.iter().copied().collect(),
            destinations: destinations.iter().copied().collect(),
        });
        self
    }

    fn leave(self, flow: Flow, bytes: u8, sources: &[Reg]) -> Listing {
        let mut listing = self.plain(Class::Branch, bytes, sources, &[]);
        listing.last().flow = flow;
        listing
    }

    /// Notes the accesses of the instruction that is written next.
    fn memory(self, kind: AccessKind, bytes: u8, address: &[Reg]) -> Listing {
        debug_assert!(address.len() <= 2, "x86-64 addresses have a base and an index");
        let log2_bytes = bytes.min(8).ilog2() as u8;
        (0..bytes.div_ceil(8)).fold(self, |listing, _| listing.effect(Effect::Access { kind, log2_bytes }))
    }

    /// Notes an effect of the instruction that is written next.
    fn effect(mut self, effect: Effect) -> Listing {
        self.operands.push(Operand { effect, instruction: self.instructions.len() });
        self
    }

    fn at_address(mut self, address: &[Reg]) -> Listing {
        self.last().address_sources = address.iter().copied().collect();
        self
    }

    fn also_writes(mut self, register: Reg) -> Listing {
        self.last().destinations.push(register);
        self
    }

    fn last(&mut self) -> &mut Instruction {
        self.instructions.last_mut().expect("called right after an instruction was written")
    }
}

#[cfg(test)]
mod tests {
    use super::reg::*;
    use super::*;

    #[test]
    fn instructions_of_a_kernel_listing_are_contiguous() {
        let (code, _) = Listing::new().load(8, RAX, &[RAX]).alu(RCX, &[RCX]).branch().lay_out(VirtAddr(0x400));
        assert_eq!(code[0].pc, VirtAddr(0x400));
        assert!(code.windows(2).all(|pair| pair[0].fall_through() == pair[1].pc));
    }

    #[test]
    fn a_kernel_listing_splits_wide_accesses_into_8_bytes_and_updates_into_load_and_store() {
        let (_, operands) =
            Listing::new().lea(RAX, &[]).load(16, xmm(0), &[RAX]).update(4, &[RCX], &[RAX]).lay_out(VirtAddr(0));
        let flat: Vec<_> = operands.iter().map(|operand| (operand.instruction, operand.effect)).collect();
        let load = |log2_bytes| Effect::Access { kind: AccessKind::Load, log2_bytes };
        let store = Effect::Access { kind: AccessKind::Store, log2_bytes: 2 };
        assert_eq!(flat, [(1, load(3)), (1, load(3)), (2, load(2)), (2, store)]);
    }
}
