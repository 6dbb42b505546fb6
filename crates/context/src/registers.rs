//! Register file of x86-64 as bytes, and sets of its registers.
//!
//! A register file has the registers that user-mode code reads and writes: 16 general ones, `rip`, `rflags`, the bases of
//! `fs` and `gs`, and 16 vector registers of 32 bytes. Not modelled: x87, MXCSR, the segment selectors and AVX-512.

use std::fmt;

/// Bytes of all registers together: 20 of 8 bytes, then 16 of 32 bytes.
pub const REGISTER_FILE_BYTES: usize = SCALARS * SCALAR_BYTES + VECTORS * VECTOR_BYTES;

const GENERAL: [&str; 16] =
    ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];
const SPECIAL: [&str; 4] = ["rip", "rflags", "fs_base", "gs_base"];
const SCALARS: usize = GENERAL.len() + SPECIAL.len();
const SCALAR_BYTES: usize = 8;
const VECTORS: usize = 16;
const VECTOR_BYTES: usize = 32;
const REGISTERS: usize = SCALARS + VECTORS;

/// One register of x86-64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register(u8);

impl Register {
    /// Number of a system call, and its result.
    pub const RAX: Register = Register(0);
    /// Pointer to the top of the stack.
    pub const RSP: Register = Register(4);
    /// Second argument of a system call.
    pub const RSI: Register = Register(6);
    /// First argument of a system call.
    pub const RDI: Register = Register(7);
    /// Pointer to the next instruction.
    pub const RIP: Register = Register(GENERAL.len() as u8);
    /// Flags of the processor.
    pub const RFLAGS: Register = Register(GENERAL.len() as u8 + 1);
    /// Base address of the segment `fs`.
    pub const FS_BASE: Register = Register(GENERAL.len() as u8 + 2);
    /// Base address of the segment `gs`.
    pub const GS_BASE: Register = Register(GENERAL.len() as u8 + 3);

    /// Returns a general register by its number in instructions: 0 is `rax`, 15 is `r15`.
    pub fn general(number: u8) -> Register {
        assert!(usize::from(number) < GENERAL.len(), "x86-64 has 16 general registers");
        Register(number)
    }

    /// Returns a vector register, `ymm0` to `ymm15`.
    pub fn vector(number: u8) -> Register {
        assert!(usize::from(number) < VECTORS, "AVX2 has 16 vector registers");
        Register(SCALARS as u8 + number)
    }

    /// Returns every register, in the order of their bytes in a register file.
    pub fn all() -> impl Iterator<Item = Register> {
        (0..REGISTERS as u8).map(Register)
    }

    /// Width of the register in bytes.
    pub fn bytes(self) -> usize {
        if usize::from(self.0) < SCALARS { SCALAR_BYTES } else { VECTOR_BYTES }
    }

    fn range(self) -> std::ops::Range<usize> {
        let index = usize::from(self.0);
        let start = index.min(SCALARS) * SCALAR_BYTES + index.saturating_sub(SCALARS) * VECTOR_BYTES;
        start..start + self.bytes()
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match usize::from(self.0) {
            index if index < GENERAL.len() => f.write_str(GENERAL[index]),
            index if index < SCALARS => f.write_str(SPECIAL[index - GENERAL.len()]),
            index => write!(f, "ymm{}", index - SCALARS),
        }
    }
}

impl fmt::Debug for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A set of registers, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RegisterSet(u64);

impl RegisterSet {
    /// No register: the set of a process that passes no register to the operating system.
    pub const NONE: RegisterSet = RegisterSet(0);
    /// All registers of the file.
    pub const ALL: RegisterSet = RegisterSet((1 << REGISTERS) - 1);

    /// Returns true if the register is in the set.
    pub fn contains(self, register: Register) -> bool {
        self.0 >> register.0 & 1 == 1
    }

    /// Returns the set with one register more.
    pub fn with(self, register: Register) -> RegisterSet {
        RegisterSet(self.0 | 1 << register.0)
    }

    /// Returns the registers of the set, in the order of their bytes in a register file.
    pub fn iter(self) -> impl Iterator<Item = Register> {
        Register::all().filter(move |register| self.contains(*register))
    }

    /// Returns one bit for each register, from the lowest on.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Returns the set with these bits; bits without a register are dropped.
    pub fn from_bits(bits: u64) -> RegisterSet {
        RegisterSet(bits & RegisterSet::ALL.0)
    }
}

impl FromIterator<Register> for RegisterSet {
    fn from_iter<I: IntoIterator<Item = Register>>(registers: I) -> RegisterSet {
        registers.into_iter().fold(RegisterSet::NONE, RegisterSet::with)
    }
}

impl fmt::Debug for RegisterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// Values of all registers. A new one has zero in each.
#[derive(Clone, PartialEq, Eq)]
pub struct RegisterFile([u8; REGISTER_FILE_BYTES]);

impl RegisterFile {
    /// Returns the register file with these bytes.
    pub fn new(bytes: [u8; REGISTER_FILE_BYTES]) -> RegisterFile {
        RegisterFile(bytes)
    }

    /// Returns the bytes of all registers, in their order.
    pub fn as_bytes(&self) -> &[u8; REGISTER_FILE_BYTES] {
        &self.0
    }

    /// Returns the bytes of one register, the lowest first.
    pub fn get(&self, register: Register) -> &[u8] {
        &self.0[register.range()]
    }

    /// Returns the bytes of one register, to be written.
    pub fn get_mut(&mut self, register: Register) -> &mut [u8] {
        &mut self.0[register.range()]
    }

    /// Returns the lowest 8 bytes of a register as a number.
    pub fn word(&self, register: Register) -> u64 {
        let (word, _) = self.get(register).split_first_chunk().expect("a register has 8 bytes or more");
        u64::from_le_bytes(*word)
    }

    /// Sets the lowest 8 bytes of a register.
    pub fn set_word(&mut self, register: Register, word: u64) {
        self.get_mut(register)[..SCALAR_BYTES].copy_from_slice(&word.to_le_bytes());
    }

    /// Returns a copy with zero in each register but the visible ones, as the operating system sees it at an interrupt.
    pub fn blanked(&self, visible: RegisterSet) -> RegisterFile {
        let mut seen = RegisterFile::default();
        seen.take(self, visible);
        seen
    }

    /// Copies the registers of a set from another register file.
    pub fn take(&mut self, from: &RegisterFile, registers: RegisterSet) {
        for register in registers.iter() {
            self.get_mut(register).copy_from_slice(from.get(register));
        }
    }
}

impl Default for RegisterFile {
    fn default() -> RegisterFile {
        RegisterFile([0; REGISTER_FILE_BYTES])
    }
}

impl fmt::Debug for RegisterFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(Register::all().map(|register| (register, self.get(register)))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_contiguous_and_fill_the_register_file() {
        let mut end = 0;
        for register in Register::all() {
            assert_eq!(register.range().start, end, "{register}");
            end = register.range().end;
        }
        assert_eq!((end, REGISTER_FILE_BYTES, Register::all().count()), (672, 672, 36));
    }

    #[test]
    fn registers_have_the_names_of_x86_64() {
        let named = |register: Register| register.to_string();
        assert_eq!(
            [Register::RAX, Register::RSP, Register::RSI, Register::RDI].map(named),
            ["rax", "rsp", "rsi", "rdi"]
        );
        assert_eq!([Register::RIP, Register::RFLAGS].map(named), ["rip", "rflags"]);
        assert_eq!([Register::FS_BASE, Register::GS_BASE].map(named), ["fs_base", "gs_base"]);
        assert_eq!(
            [Register::general(15), Register::vector(0), Register::vector(15)].map(named),
            ["r15", "ymm0", "ymm15"]
        );
    }

    #[test]
    fn a_register_set_contains_exactly_the_registers_it_was_built_from() {
        let some = [Register::RAX, Register::RIP, Register::vector(15)];
        let set: RegisterSet = some.into_iter().collect();
        assert!(set.iter().eq(some));
        assert_eq!(RegisterSet::from_bits(set.bits()), set);
        assert_eq!(RegisterSet::from_bits(u64::MAX), RegisterSet::ALL);
        assert!(RegisterSet::ALL.iter().eq(Register::all()));
        assert_eq!(RegisterSet::NONE.iter().count(), 0);
    }

    #[test]
    fn setting_a_word_changes_only_the_lowest_eight_bytes_of_a_register() {
        let mut file = RegisterFile::new([0xff; REGISTER_FILE_BYTES]);
        file.set_word(Register::vector(3), 0x0102_0304_0506_0708);
        assert_eq!(file.get(Register::vector(3))[..9], [8, 7, 6, 5, 4, 3, 2, 1, 0xff]);
        assert_eq!(file.word(Register::vector(3)), 0x0102_0304_0506_0708);
        assert_eq!(file.as_bytes().iter().filter(|byte| **byte != 0xff).count(), 8);
    }
}
