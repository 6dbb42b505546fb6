//! Tests the decoder on instructions with known bytes.

use casemate_workload::decode::BlockDecoder;
use isa::{Class, Flow, Instruction, Reg};
use units::VirtAddr;

const RAX: Reg = Reg(0);
const RCX: Reg = Reg(1);
const RBX: Reg = Reg(3);
const RSP: Reg = Reg(4);

fn decode(bytes: &[u8]) -> Instruction {
    BlockDecoder::default().instruction(VirtAddr(0x1000), bytes)
}

#[test]
fn address_registers_are_decoded_separately_from_other_sources() {
    let add = decode(&[0x48, 0x03, 0x44, 0x8b, 0x08]); // add rax, [rbx+rcx*4+8]
    assert_eq!((add.class, add.flow), (Class::IntAlu, Flow::Next));
    assert_eq!(add.address_sources.as_slice(), [RBX, RCX]);
    assert_eq!(add.sources.as_slice(), [RAX]);
    assert_eq!(add.destinations.as_slice(), [RAX, Reg::FLAGS]);
}

#[test]
fn a_zeroing_idiom_has_no_sources() {
    for bytes in [&[0x31, 0xc0][..], &[0x66, 0x0f, 0xef, 0xc0], &[0xc5, 0xf9, 0xef, 0xc0]] {
        let zero = decode(bytes); // xor eax, eax; pxor xmm0, xmm0; vpxor xmm0, xmm0, xmm0
        assert!(zero.sources.is_empty(), "{zero:?}");
        assert!(!zero.destinations.is_empty());
    }
}

#[test]
fn a_partial_or_conditional_register_write_has_the_old_value_as_source() {
    assert_eq!(decode(&[0xb0, 1]).sources.as_slice(), [RAX]); // mov al, 1
    assert!(decode(&[0xb8, 1, 0, 0, 0]).sources.is_empty()); // mov eax, 1
    assert!(decode(&[0x48, 0x0f, 0x44, 0xc3]).sources.contains(&RAX)); // cmove rax, rbx
}

#[test]
fn every_kind_of_control_flow_is_decoded() {
    let cases: [(&[u8], Flow); 7] = [
        (&[0x75, 0x10], Flow::Conditional),
        (&[0xeb, 0x10], Flow::Jump),
        (&[0xff, 0xe0], Flow::IndirectJump),
        (&[0xe8, 0, 0, 0, 0], Flow::Call),
        (&[0xff, 0xd0], Flow::IndirectCall),
        (&[0xc3], Flow::Return),
        (&[0x90], Flow::Next),
    ];
    for (bytes, flow) in cases {
        assert_eq!(decode(bytes).flow, flow, "{bytes:x?}");
    }
    assert_eq!(decode(&[0xc3]).address_sources.as_slice(), [RSP]);
}

#[test]
fn each_instruction_is_decoded_to_its_functional_unit_class() {
    let cases: [(&[u8], Class); 9] = [
        (&[0x48, 0x0f, 0xaf, 0xc3], Class::IntMul),
        (&[0x48, 0xf7, 0xf3], Class::IntDiv),
        (&[0xf2, 0x0f, 0x58, 0xc1], Class::FpAdd),
        (&[0xf2, 0x0f, 0x59, 0xc1], Class::FpMul),
        (&[0xf2, 0x0f, 0x5e, 0xc1], Class::FpDiv),
        (&[0x0f, 0x05], Class::Serial),
        (&[0xf0, 0x48, 0xff, 0x00], Class::Serial),
        (&[0xf3, 0x0f, 0x1e, 0xfa], Class::Nop),
        (&[0x0f, 0x10, 0x00], Class::IntAlu),
    ];
    for (bytes, class) in cases {
        assert_eq!(decode(bytes).class, class, "{bytes:x?}");
    }
}

#[test]
fn an_undecodable_instruction_is_serialising() {
    let unknown = decode(&[0x06]);
    assert_eq!((unknown.class, unknown.flow, unknown.bytes), (Class::Serial, Flow::Next, 1));
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..16)) {
        decode(&bytes);
    }
}
