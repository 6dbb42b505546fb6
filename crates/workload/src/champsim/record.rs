//! Record of ChampSim's trace format: 64 bytes, little-endian, for one executed instruction.
//!
//! | bytes | content |
//! |---|---|
//! | 0-7 | address of the instruction |
//! | 8 | 1 for a branch |
//! | 9 | 1 for a taken branch |
//! | 10-11 | registers that the instruction writes |
//! | 12-15 | registers that it reads |
//! | 16-31 | two addresses that it writes |
//! | 32-63 | four addresses that it reads |
//!
//! A register or address of zero is unused. Source: `inc/trace_instruction.h` of ChampSim.
//!
//! The format has no magic number and no checksum. Every record of a tracer follows three rules, which other bytes
//! rarely do: the two flags are 0 or 1, the instruction has an address, and the address is canonical. Data addresses
//! follow no rule: a prefetch may name any address, and traces translated from another architecture have tags in the
//! upper bits.

use isa::Flow;
use thiserror::Error;

/// Bytes of a record.
pub const RECORD_BYTES: usize = 64;
/// Bytes of a record of CloudSuite's traces, `cloudsuite_instr` in ChampSim: it begins like a record, and has four
/// addresses that the instruction writes, and an address space.
const CLOUDSUITE_RECORD_BYTES: usize = 96;
/// Bytes at the beginning of a record that the rules of the format concern.
const CHECKED_BYTES: usize = 10;

/// ChampSim's number of the stack pointer.
pub(super) const STACK_POINTER: u8 = 6;
/// ChampSim's number of the flags.
pub(super) const FLAGS: u8 = 25;
/// ChampSim's number of the instruction pointer.
pub(super) const INSTRUCTION_POINTER: u8 = 26;

/// Bits of a canonical address: all higher bits repeat the last one.
const ADDRESS_BITS: u32 = 48;

/// The rule that a record breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum RecordFault {
    /// A flag is neither 0 nor 1.
    #[error("{name} is {found}: expected 0 or 1")]
    Flag {
        /// Name of the flag in ChampSim.
        name: &'static str,
        /// Value of the byte.
        found: u8,
    },
    /// The instruction has no address.
    #[error("the instruction's address is 0")]
    NoAddress,
    /// No program has code at the address.
    #[error("the instruction's address {0:#x} is not canonical: expected bits 47 to 63 to be equal")]
    NotCanonical(u64),
}

/// Record of an executed instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InstructionRecord {
    /// Address of the instruction.
    pub pc: u64,
    /// True for a branch.
    pub branch: bool,
    /// True for a taken branch.
    pub taken: bool,
    /// Registers that the instruction writes; zero if unused.
    pub destinations: [u8; 2],
    /// Registers that the instruction reads; zero if unused.
    pub sources: [u8; 4],
    /// Addresses that the instruction writes; zero if unused.
    pub stores: [u64; 2],
    /// Addresses that the instruction reads; zero if unused.
    pub loads: [u64; 4],
}

impl InstructionRecord {
    /// Decodes the bytes of a record.
    ///
    /// # Errors
    /// The rule that the bytes break.
    pub fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Result<InstructionRecord, RecordFault> {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
        let (pc, branch, taken) = beginning(std::array::from_fn(|index| bytes[index]))?;
        Ok(InstructionRecord {
            pc,
            branch,
            taken,
            destinations: [bytes[10], bytes[11]],
            sources: [bytes[12], bytes[13], bytes[14], bytes[15]],
            stores: [word(16), word(24)],
            loads: [word(32), word(40), word(48), word(56)],
        })
    }

    /// Encodes the record as in a trace.
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

    /// Returns the kind of branch, derived from the registers as in ChampSim: the format does not contain the kind.
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
            // ChampSim's kind "other": `taken` determines the direction, as for a conditional branch.
            _ => Flow::Conditional,
        }
    }
}

/// Decodes the beginning of a record, to which all rules apply: address, `is_branch` and `branch_taken`.
fn beginning(bytes: [u8; CHECKED_BYTES]) -> Result<(u64, bool, bool), RecordFault> {
    let flag = |name, found| match found {
        0 | 1 => Ok(found == 1),
        _ => Err(RecordFault::Flag { name, found }),
    };
    let pc = u64::from_le_bytes(std::array::from_fn(|index| bytes[index]));
    let unused = u64::BITS - ADDRESS_BITS;
    if pc == 0 {
        return Err(RecordFault::NoAddress);
    }
    if ((pc << unused) as i64 >> unused) as u64 != pc {
        return Err(RecordFault::NotCanonical(pc));
    }
    Ok((pc, flag("is_branch", bytes[8])?, flag("branch_taken", bytes[9])?))
}

/// Returns true if the bytes are at least two records of CloudSuite's traces; the last may be incomplete.
pub(crate) fn are_of_cloudsuite(bytes: &[u8]) -> bool {
    let (records, _) = bytes.as_chunks::<CLOUDSUITE_RECORD_BYTES>();
    records.len() >= 2 && records.iter().all(|record| beginning(std::array::from_fn(|index| record[index])).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn branch(destinations: [u8; 2], sources: [u8; 4]) -> Flow {
        InstructionRecord { branch: true, taken: true, destinations, sources, ..InstructionRecord::default() }.flow()
    }

    #[test]
    fn the_kind_of_a_branch_follows_from_its_registers() {
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
        fn a_champsim_record_survives_encoding(bytes in proptest::array::uniform32(0..2u8), pc in 1..1u64 << 47, address in any::<u64>()) {
            let record = InstructionRecord {
                pc,
                branch: bytes[0] != 0,
                taken: bytes[1] != 0,
                destinations: [bytes[2] * 9, 26],
                sources: [bytes[3], 7, 0, 255],
                stores: [address, 1],
                loads: [0, !address, 3, 4],
            };
            prop_assert_eq!(InstructionRecord::from_bytes(&record.to_bytes()), Ok(record));
        }
    }

    #[test]
    fn bytes_that_violate_the_champsim_format_are_no_record() {
        let good = InstructionRecord { pc: 0x40_1000, ..InstructionRecord::default() }.to_bytes();
        let with = |at: usize, bytes: &[u8]| {
            let mut changed = good;
            changed[at..at + bytes.len()].copy_from_slice(bytes);
            InstructionRecord::from_bytes(&changed)
        };
        assert!(with(8, &[1, 1]).is_ok());
        assert_eq!(with(8, &[2]), Err(RecordFault::Flag { name: "is_branch", found: 2 }));
        assert_eq!(with(9, b"7"), Err(RecordFault::Flag { name: "branch_taken", found: b'7' }));
        assert_eq!(with(0, &[0; 8]), Err(RecordFault::NoAddress));
        for (pc, is_canonical) in [(1 << 46, true), (1 << 47, false), (u64::MAX << 47, true), (u64::MAX << 48, false)] {
            assert_eq!(with(0, &u64::to_le_bytes(pc)).is_ok(), is_canonical, "{pc:#x}");
        }
    }
}
