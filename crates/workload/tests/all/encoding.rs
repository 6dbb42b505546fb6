//! The recorder recognises a few instructions by their bytes. It must agree with the decoder on all similar byte
//! sequences.

use casemate_workload::decode::BlockDecoder;
use iced_x86::{Decoder, DecoderOptions, Mnemonic, OpKind, Register};
use isa::PersistEffect;
use units::VirtAddr;
use wire::encoding::{self, Address, SegmentBase};

const PC: u64 = 0x40_1000;
/// Bytes after an opcode and its ModRM byte: enough for a SIB byte and a displacement.
const BEHIND: [u8; 6] = [0x8d, 0x10, 0xff, 0x20, 0x01, 0x90];

/// Returns the first instruction of the bytes, if they begin with a valid one.
fn first(bytes: &[u8]) -> Option<(iced_x86::Instruction, &[u8])> {
    let decoded = Decoder::with_ip(64, bytes, PC, DecoderOptions::NONE).decode();
    (!decoded.is_invalid()).then(|| (decoded, &bytes[..decoded.len()]))
}

fn number(register: Register) -> Option<u8> {
    (register != Register::None && !register.is_ip()).then(|| register.number() as u8)
}

fn address(decoded: &iced_x86::Instruction) -> Address {
    let short = |register: Register| register.is_gpr32() || register == Register::EIP;
    let index =
        number(decoded.memory_index()).map(|index| (index, decoded.memory_index_scale().trailing_zeros() as u8));
    let segment = match decoded.memory_segment() {
        Register::FS => Some(SegmentBase::Fs),
        Register::GS => Some(SegmentBase::Gs),
        _ => None,
    };
    let is_short = short(decoded.memory_base())
        || short(decoded.memory_index())
        || decoded.memory_displ_size() == 4 && {
            decoded.memory_base() == Register::None && decoded.memory_index() == Register::None
        };
    let displacement = decoded.memory_displacement64();
    Address { base: number(decoded.memory_base()), index, segment, displacement, is_short }
}

/// Checks that recorder and decoder agree on these bytes; returns true if they are one of the instructions.
fn agrees(bytes: &[u8]) -> bool {
    let Some((decoded, bytes)) = first(bytes) else { return false };
    let found = encoding::persist(PC, bytes);
    let expected = BlockDecoder::default().instruction(VirtAddr(PC), bytes).persist;
    let kind = match found {
        Some(encoding::Persist::Flush(found)) => {
            let mut expected = address(&decoded);
            if found.is_short {
                // The processor truncates a short address to 32 bits: only these bits of the displacement matter.
                let cut = |address: &Address| address.displacement as u32;
                assert_eq!(cut(&found), cut(&expected), "{bytes:02x?}");
                expected.displacement = found.displacement;
            }
            assert_eq!(found, expected, "{bytes:02x?}: {decoded:?}");
            if decoded.mnemonic() == Mnemonic::Clwb { PersistEffect::Line } else { PersistEffect::Evict }
        }
        Some(encoding::Persist::Store) => PersistEffect::Store,
        Some(encoding::Persist::Fence) => {
            assert!(matches!(decoded.mnemonic(), Mnemonic::Sfence | Mnemonic::Mfence), "{bytes:02x?}");
            PersistEffect::None
        }
        None => {
            assert!(!matches!(decoded.mnemonic(), Mnemonic::Sfence | Mnemonic::Mfence), "{bytes:02x?}");
            PersistEffect::None
        }
    };
    assert_eq!(kind, expected, "{bytes:02x?}: {decoded:?}");
    use Mnemonic::{Vmaskmovpd, Vmaskmovps, Vpmaskmovd, Vpmaskmovq};
    let masked = matches!(decoded.mnemonic(), Vmaskmovpd | Vmaskmovps | Vpmaskmovd | Vpmaskmovq);
    assert_eq!(encoding::is_masked_load(bytes), masked && decoded.op0_register() != Register::None, "{bytes:02x?}");
    found.is_some()
}

/// Checks all opcodes and ModRM bytes after `head`; returns the number of recognised instructions.
fn of_all_behind(head: &[u8]) -> usize {
    let mut found = 0;
    for opcode in 0..=255 {
        for modrm in 0..=255 {
            found += usize::from(agrees(&[head, &[opcode, modrm], &BEHIND].concat()));
        }
    }
    found
}

#[test]
fn the_recorder_recognises_the_same_flushes_fences_and_masked_loads_as_the_decoder() {
    let mut found = 0;
    for prefixes in [&[][..], &[0x66], &[0xf2], &[0xf3], &[0x64, 0x66], &[0x65], &[0x67], &[0x66, 0x67]] {
        for rex in [&[][..], &[0x40], &[0x41], &[0x42], &[0x4f]] {
            found += of_all_behind(&[prefixes, rex, &[0x0f]].concat());
        }
    }
    for vex in [0x70, 0x78, 0x79, 0x7a, 0x7d, 0xf8, 0xfd] {
        found += of_all_behind(&[0xc5, vex]);
        for map in [0xe1, 0x41, 0xe2, 0xe3] {
            found += of_all_behind(&[0xc4, map, vex]);
        }
    }
    assert!(found > 10_000, "{found}");
}

/// Checks that recorder and decoder agree on whether an instruction synchronises strands; returns true if it does.
fn agrees_on_synchronisation(bytes: &[u8]) -> bool {
    let Some((decoded, bytes)) = first(bytes) else { return false };
    let exchanges = decoded.mnemonic() == Mnemonic::Xchg && decoded.op0_kind() == OpKind::Memory;
    let expected = decoded.has_lock_prefix() || exchanges || decoded.mnemonic() == Mnemonic::Pause;
    assert_eq!(encoding::synchronises(bytes), expected, "{bytes:02x?}: {decoded:?}");
    let repeats = decoded.is_string_instruction() && (decoded.has_rep_prefix() || decoded.has_repne_prefix());
    let is_pause = decoded.mnemonic() == Mnemonic::Pause;
    assert!(!(expected && !is_pause || repeats) || encoding::is_indivisible(bytes), "{bytes:02x?}: {decoded:?}");
    assert!(!is_pause || !encoding::is_indivisible(bytes), "a strand that spins lets others go on: {bytes:02x?}");
    expected
}

#[test]
fn the_recorder_recognises_the_same_instructions_as_the_decoder_by_which_threads_synchronise() {
    let (mut found, mut all) = (0, 0);
    for prefixes in [&[][..], &[0xf0], &[0x66, 0xf0], &[0xf2, 0xf0], &[0xf3], &[0xf2], &[0x66], &[0x64]] {
        for rex in [&[][..], &[0x40], &[0x41], &[0x48], &[0x4f]] {
            for map in [&[][..], &[0x0f]] {
                let head = [prefixes, rex, map].concat();
                let is_prefix = |byte: u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
                // Compilers emit at most one prefix of each kind.
                let opcodes = (0..=255).filter(|opcode| !map.is_empty() || !is_prefix(*opcode));
                for (opcode, modrm) in opcodes.flat_map(|opcode| (0..=255).map(move |modrm| (opcode, modrm))) {
                    all += 1;
                    found += u32::from(agrees_on_synchronisation(&[&head[..], &[opcode, modrm], &BEHIND].concat()));
                }
            }
        }
    }
    assert!(found > 10_000 && found < all / 4, "{found} of {all}");
}
