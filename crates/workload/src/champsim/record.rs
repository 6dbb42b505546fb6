//! One record of ChampSim's trace format: 64 bytes, little-endian, one executed instruction.
//!
//! | bytes | what |
//! |---|---|
//! | 0-7 | the instruction's address |
//! | 8 | whether it is a branch |
//! | 9 | whether that was taken |
//! | 10-11 | registers that it writes |
//! | 12-15 | registers that it reads |
//! | 16-31 | two addresses that it writes |
//! | 32-63 | four addresses that it reads |
//!
//! Zero stands for "none" everywhere. Source: `inc/trace_instruction.h` of ChampSim.

use isa::Flow;

/// Bytes of one record.
pub const RECORD_BYTES: usize = 64;

/// ChampSim's number of the stack pointer.
pub(super) const STACK_POINTER: u8 = 6;
/// ChampSim's number of the flags.
pub(super) const FLAGS: u8 = 25;
/// ChampSim's number of the instruction pointer.
pub(super) const INSTRUCTION_POINTER: u8 = 26;

/// One executed instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Record {
    /// Its address.
    pub pc: u64,
    /// Whether it is a branch.
    pub branch: bool,
    /// Whether that was taken.
    pub taken: bool,
    /// Registers that it writes; zero for none.
    pub destinations: [u8; 2],
    /// Registers that it reads; zero for none.
    pub sources: [u8; 4],
    /// Addresses that it writes; zero for none.
    pub stores: [u64; 2],
    /// Addresses that it reads; zero for none.
    pub loads: [u64; 4],
}

impl Record {
    /// Takes the bytes of a trace apart.
    pub fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Record {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
        Record {
            pc: word(0),
            branch: bytes[8] != 0,
            taken: bytes[9] != 0,
            destinations: [bytes[10], bytes[11]],
            sources: [bytes[12], bytes[13], bytes[14], bytes[15]],
            stores: [word(16), word(24)],
            loads: [word(32), word(40), word(48), word(56)],
        }
    }

    /// The bytes of a trace.
    pub fn to_bytes(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..8].copy_from_slice(&self.pc.to_le_bytes());
        (bytes[8], bytes[9]) = (self.branch.into(), self.taken.into());
        bytes[10..12].copy_from_slice(&self.destinations);
        bytes[12..16].copy_from_slice(&self.sources);
        for (index, address) in self.stores.iter().chain(&self.loads).enumerate() {
            bytes[16 + 8 * index..][..8].copy_from_slice(&address.to_le_bytes());
        }
        bytes
    }

    /// What kind of branch this is, by its registers as in ChampSim: the format has no other sign.
    pub fn flow(&self) -> Flow {
        let writes = |register| self.destinations.contains(&register);
        let reads = |register| self.sources.contains(&register);
        if !writes(INSTRUCTION_POINTER) {
            return Flow::Next;
        }
        let special = [0, STACK_POINTER, FLAGS, INSTRUCTION_POINTER];
        let other = self.sources.iter().any(|register| !special.contains(register));
        match (reads(STACK_POINTER) && writes(STACK_POINTER), reads(INSTRUCTION_POINTER), reads(FLAGS), other) {
            (true, false, _, _) => Flow::Return,
            (true, true, false, false) => Flow::Call,
            (true, true, false, true) => Flow::IndirectCall,
            (false, true, _, _) if reads(FLAGS) || other => Flow::Conditional,
            (false, _, false, false) => Flow::Jump,
            (false, false, false, true) => Flow::IndirectJump,
            // ChampSim's "other": the flag `taken` decides, as for a conditional branch.
            _ => Flow::Conditional,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn branch(destinations: [u8; 2], sources: [u8; 4]) -> Flow {
        Record { branch: true, taken: true, destinations, sources, ..Record::default() }.flow()
    }

    #[test]
    fn the_kind_of_a_branch_is_told_from_its_registers() {
        let (sp, flags, ip) = (STACK_POINTER, FLAGS, INSTRUCTION_POINTER);
        assert_eq!(branch([ip, 0], [ip, flags, 0, 0]), Flow::Conditional);
        assert_eq!(branch([ip, 0], [ip, 0, 0, 0]), Flow::Jump);
        assert_eq!(branch([ip, 0], [3, 0, 0, 0]), Flow::IndirectJump);
        assert_eq!(branch([ip, sp], [ip, sp, 0, 0]), Flow::Call);
        assert_eq!(branch([ip, sp], [ip, sp, 3, 0]), Flow::IndirectCall);
        assert_eq!(branch([ip, sp], [sp, 0, 0, 0]), Flow::Return);
        assert_eq!(branch([3, 0], [3, 0, 0, 0]), Flow::Next);
    }

    proptest! {
        #[test]
        fn a_record_reads_back_as_written(bytes in proptest::array::uniform32(0..2u8), pc in any::<u64>(), address in any::<u64>()) {
            let record = Record {
                pc,
                branch: bytes[0] != 0,
                taken: bytes[1] != 0,
                destinations: [bytes[2] * 9, 26],
                sources: [bytes[3], 7, 0, 255],
                stores: [address, 1],
                loads: [0, !address, 3, 4],
            };
            prop_assert_eq!(Record::from_bytes(&record.to_bytes()), record);
        }
    }
}
