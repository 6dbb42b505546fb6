//! Recognises the few instructions that the recorder looks for, by their bytes. The recorder contains no full decoder.
//!
//! These instructions write stores back to memory, or are known to run wrongly under QEMU. Source: Intel's Software
//! Developer's Manual, volume 2, sections 2.1 (formats of instructions) and 2.3 (VEX), and the pages of the
//! instructions.

/// Effect of an instruction on the durability of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Persist {
    /// Writes back the line at an address: `CLWB`, `CLFLUSHOPT`, `CLFLUSH`.
    Flush(Address),
    /// Stores past the caches: `MOVNTI`, `MOVNTDQ`, `MASKMOVDQU` and related instructions.
    Store,
    /// Waits until all flushed lines are durable: `SFENCE`, `MFENCE`.
    Fence,
}

/// Parts of an address: registers by their numbers, the base of a segment, and a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// Register that is added.
    pub base: Option<u8>,
    /// Register that is added after a shift to the left, with the bits of the shift.
    pub index: Option<(u8, u8)>,
    /// Segment with a base that is added, if the prefixes name one.
    pub segment: Option<SegmentBase>,
    /// Constant. If the address is relative to the instruction, the constant includes the end of the instruction.
    pub displacement: u64,
    /// True if the address has 32 bits.
    pub is_short: bool,
}

/// A segment with a base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentBase {
    /// The segment of `%fs`.
    Fs,
    /// The segment of `%gs`.
    Gs,
}

/// First bytes of VEX prefixes of two and of three bytes, and numbers of opcode maps.
const VEX2: u8 = 0xc5;
const VEX3: u8 = 0xc4;
const VEX_MAP: u8 = 0x1f;
const MAP_0F: u8 = 1;
const MAP_0F38: u8 = 2;

/// Prefixes before an opcode.
#[derive(Default)]
struct Prefixes {
    operand_size: bool,
    address_size: bool,
    repeats: bool,
    segment: Option<SegmentBase>,
    /// Extension bits of the index register and of the base register.
    index: u8,
    base: u8,
}

/// Returns the effect of the instruction at `pc` with these bytes on lines, if it is one that the recorder looks for.
pub fn persist(pc: u64, bytes: &[u8]) -> Option<Persist> {
    let (mut prefixes, rest) = prefixes(bytes);
    let end = pc + bytes.len() as u64;
    match *rest {
        [VEX2, vex, opcode, modrm, ..] | [VEX3, _, vex, opcode, modrm, ..] if vex & 3 < 2 => {
            let in_map_0f = rest[0] == VEX2 || rest[1] & VEX_MAP == MAP_0F;
            if in_map_0f { vector_past_caches(opcode, modrm) } else { None }
        }
        [rex @ 0x40..=0x4f, 0x0f, opcode, modrm, ..] => {
            (prefixes.index, prefixes.base) = (rex >> 1 & 1, rex & 1);
            of_opcode(opcode, modrm, &prefixes, &rest[4..], end)
        }
        [0x0f, opcode, modrm, ..] => of_opcode(opcode, modrm, &prefixes, &rest[3..], end),
        _ => None,
    }
}

/// Returns true for an AVX load under a mask: `VMASKMOVPS`, `VMASKMOVPD`, `VPMASKMOVD`, `VPMASKMOVQ`.
pub fn is_masked_load(bytes: &[u8]) -> bool {
    match *prefixes(bytes).1 {
        [VEX3, map, _, opcode, ..] => map & VEX_MAP == MAP_0F38 && matches!(opcode, 0x2c | 0x2d | 0x8c),
        _ => false,
    }
}

/// Returns true for an instruction by which strands wait for each other: with a `lock` prefix, `xchg` with memory, `pause`.
pub fn synchronises(bytes: &[u8]) -> bool {
    is_atomic(bytes) || is_pause(bytes)
}

/// Returns true if QEMU may execute the only instruction of a block in pieces, or while it stops all other threads: a
/// repeated or atomic one.
pub fn is_indivisible(bytes: &[u8]) -> bool {
    is_atomic(bytes) || prefixes(bytes).0.repeats && !is_pause(bytes)
}

fn is_atomic(bytes: &[u8]) -> bool {
    match *prefixes(bytes).1 {
        [0xf0, ..] => true,
        [0x86 | 0x87, modrm, ..] | [0x40..=0x4f, 0x86 | 0x87, modrm, ..] => modrm >> 6 != 3,
        _ => false,
    }
}

fn is_pause(bytes: &[u8]) -> bool {
    let (_, rest) = prefixes(bytes);
    let is_nop = matches!(*rest, [0x90, ..] | [0x40..=0x4f, 0x90, ..]);
    is_nop && bytes[..bytes.len() - rest.len()].contains(&0xf3)
}

/// Splits an instruction into its prefixes and the bytes after them.
fn prefixes(bytes: &[u8]) -> (Prefixes, &[u8]) {
    let (mut prefixes, mut rest) = (Prefixes::default(), bytes);
    while let [first, behind @ ..] = rest {
        match first {
            0x66 => prefixes.operand_size = true,
            0x67 => prefixes.address_size = true,
            0xf2 | 0xf3 => prefixes.repeats = true,
            0x64 => prefixes.segment = Some(SegmentBase::Fs),
            0x65 => prefixes.segment = Some(SegmentBase::Gs),
            0x26 | 0x2e | 0x36 | 0x3e => {}
            _ => break,
        }
        rest = behind;
    }
    (prefixes, rest)
}

/// Returns the effect of an instruction with this opcode after `0f`. `rest` has the bytes after its ModRM byte.
fn of_opcode(opcode: u8, modrm: u8, prefixes: &Prefixes, rest: &[u8], end: u64) -> Option<Persist> {
    if prefixes.repeats {
        return None;
    }
    let is_register = modrm >> 6 == 3;
    match (opcode, modrm >> 3 & 7) {
        (0xae, 6 | 7) if is_register => (!prefixes.operand_size).then_some(Persist::Fence),
        // Without the prefix 66, the opcode of the second case is XSAVEOPT.
        (0xae, 7) => address(modrm, prefixes, rest, end).map(Persist::Flush),
        (0xae, 6) if prefixes.operand_size => address(modrm, prefixes, rest, end).map(Persist::Flush),
        (0xc3, _) if !is_register && !prefixes.operand_size => Some(Persist::Store),
        _ => vector_past_caches(opcode, modrm),
    }
}

/// Recognises `MOVNTPS`, `MOVNTPD`, `MOVNTQ`, `MOVNTDQ`, and also `MASKMOVQ` and `MASKMOVDQU`, which store to the
/// address in `%rdi`.
fn vector_past_caches(opcode: u8, modrm: u8) -> Option<Persist> {
    let is_register = modrm >> 6 == 3;
    match opcode {
        0x2b | 0xe7 => (!is_register).then_some(Persist::Store),
        0xf7 => is_register.then_some(Persist::Store),
        _ => None,
    }
}

/// Decodes the address of a memory operand from ModRM and the bytes after it.
fn address(modrm: u8, prefixes: &Prefixes, rest: &[u8], end: u64) -> Option<Address> {
    let (mode, low) = (modrm >> 6, modrm & 7);
    let (mut base, mut index, mut rest) = (Some(low | prefixes.base << 3), None, rest);
    let mut wide = mode == 2;
    let mut displacement = 0;
    if low == 4 {
        let (sib, behind) = rest.split_first()?;
        rest = behind;
        base = Some(sib & 7 | prefixes.base << 3);
        let number = sib >> 3 & 7 | prefixes.index << 3;
        index = (number != 4).then_some((number, sib >> 6));
        if mode == 0 && sib & 7 == 5 {
            (base, wide) = (None, true);
        }
    } else if mode == 0 && low == 5 {
        (base, wide, displacement) = (None, true, end);
    }
    if wide {
        displacement = displacement.wrapping_add_signed(i32::from_le_bytes(*rest.first_chunk()?).into());
    } else if mode == 1 {
        displacement = displacement.wrapping_add_signed((*rest.first()? as i8).into());
    }
    Some(Address { base, index, segment: prefixes.segment, displacement, is_short: prefixes.address_size })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PC: u64 = 0x40_1000;

    fn flushed(bytes: &[u8]) -> Address {
        match persist(PC, bytes) {
            Some(Persist::Flush(address)) => address,
            other => panic!("{bytes:02x?} is {other:?}"),
        }
    }

    fn at(base: Option<u8>, index: Option<(u8, u8)>, displacement: i64) -> Address {
        Address { base, index, segment: None, displacement: displacement as u64, is_short: false }
    }

    #[test]
    fn an_address_is_made_of_the_registers_and_offset_in_the_bytes() {
        // clwb (%rdi); clflush 0x40(%r12); clflushopt -0x100(%rbp,%r9,8); clwb 0x10(%rip); clwb 0x1000.
        assert_eq!(flushed(&[0x66, 0x0f, 0xae, 0x37]), at(Some(7), None, 0));
        assert_eq!(flushed(&[0x41, 0x0f, 0xae, 0x7c, 0x24, 0x40]), at(Some(12), None, 0x40));
        let long = [0x66, 0x42, 0x0f, 0xae, 0xbc, 0xcd, 0x00, 0xff, 0xff, 0xff];
        assert_eq!(flushed(&long), at(Some(5), Some((9, 3)), -0x100));
        assert_eq!(flushed(&[0x66, 0x0f, 0xae, 0x35, 0x10, 0, 0, 0]), at(None, None, PC as i64 + 8 + 0x10));
        assert_eq!(flushed(&[0x66, 0x0f, 0xae, 0x34, 0x25, 0, 0x10, 0, 0]), at(None, None, 0x1000));
        // clwb %fs:(%eax)
        let segment = Address { segment: Some(SegmentBase::Fs), is_short: true, ..at(Some(0), None, 0) };
        assert_eq!(flushed(&[0x64, 0x67, 0x66, 0x0f, 0xae, 0x30]), segment);
    }

    #[test]
    fn non_temporal_stores_and_fences_are_recognised_in_each_encoding() {
        // movnti, movntps, movntpd, movntdq, movntq, maskmovdqu, vmovntps, vmovntdq, vmovntdq with three bytes of VEX.
        for store in [
            &[0x48, 0x0f, 0xc3, 0x07][..],
            &[0x0f, 0x2b, 0x07],
            &[0x66, 0x0f, 0x2b, 0x07],
            &[0x66, 0x0f, 0xe7, 0x07],
            &[0x0f, 0xe7, 0x07],
            &[0x66, 0x0f, 0xf7, 0xc1],
            &[0xc5, 0xf8, 0x2b, 0x07],
            &[0xc5, 0xfd, 0xe7, 0x07],
            &[0xc4, 0x41, 0x7d, 0xe7, 0x08],
        ] {
            assert_eq!(persist(PC, store), Some(Persist::Store), "{store:02x?}");
        }
        assert_eq!(persist(PC, &[0x0f, 0xae, 0xf8]), Some(Persist::Fence));
        assert_eq!(persist(PC, &[0x0f, 0xae, 0xf0]), Some(Persist::Fence));
    }

    #[test]
    fn similar_encodings_are_not_recognised_as_flushes_stores_or_fences() {
        // xsaveopt, lfence, rdfsbase, movaps, vpaddd, umonitor, tpause, clrssbsy, the opcode e7 of another map, nop.
        for other in [
            &[0x0f, 0xae, 0x37][..],
            &[0x0f, 0xae, 0xe8],
            &[0xf3, 0x0f, 0xae, 0xc0],
            &[0x0f, 0x28, 0x07],
            &[0xc5, 0xf5, 0xfe, 0xc0],
            &[0xf3, 0x0f, 0xae, 0xf0],
            &[0x66, 0x0f, 0xae, 0xf0],
            &[0xf3, 0x0f, 0xae, 0x30],
            &[0xc4, 0xe2, 0x7d, 0xe7, 0x07],
            &[0x90],
            &[],
        ] {
            assert_eq!(persist(PC, other), None, "{other:02x?}");
        }
    }

    #[test]
    fn a_masked_load_is_recognised_by_its_bytes() {
        // vpmaskmovd (%rax),%ymm1,%ymm0; vmaskmovps %fs:(%rax),%xmm1,%xmm0; vpmaskmovd %ymm0,%ymm1,(%rax); vpaddd.
        assert!(is_masked_load(&[0xc4, 0xe2, 0x75, 0x8c, 0x00]));
        assert!(is_masked_load(&[0x64, 0xc4, 0xe2, 0x71, 0x2c, 0x00]));
        assert!(!is_masked_load(&[0xc4, 0xe2, 0x75, 0x8e, 0x00]));
        assert!(!is_masked_load(&[0xc5, 0xf5, 0xfe, 0xc0]));
        assert!(!is_masked_load(&[0x90]));
    }
}
