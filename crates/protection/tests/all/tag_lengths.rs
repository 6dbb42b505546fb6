//! Tags of all lengths: the lengths that a design may have, their places, and the errors that they detect.

use crate::scheme::{LINES, over_plaintext, parts, tags};
use casemate_protection::design::MovingChip;
use casemate_protection::design::{
    CipherChoice, CounterChoice, MacChoice, MacDesign, Over, Parts, TagLocation, TreeDesign, TreeKind,
};
use casemate_protection::execution::{Functional, Untimed, run_now};
use casemate_protection::verbs::{Fault, Slot, Untrusted};
use units::{LINE_BYTES, LineAddr};

fn with(mut parts: Parts, length: impl Fn(MacDesign) -> MacDesign) -> Parts {
    parts.mac = length(parts.mac);
    parts
}

fn of_line(parts: Parts, bits: u32) -> Parts {
    with(parts, |mac| mac.with_line_bits(bits))
}

fn of_chunk(parts: Parts, bits: u32) -> Parts {
    with(parts, |mac| mac.with_chunk_bits(bits))
}

fn over_ciphertext(parts: Parts) -> Parts {
    with(parts, |mac| MacDesign { over: Over::Ciphertext, ..mac })
}

/// Compositions with tags of more than one word, and with tags of chunks.
pub fn long_tags() -> Vec<Parts> {
    use {CipherChoice as C, CounterChoice as N, MacChoice as M, TagLocation as P, TreeKind as T};
    let binary: fn(T) -> TreeDesign = |kind| TreeDesign { arity: 2, ..kind.into() };
    vec![
        of_line(parts(C::Aes128Counter, N::Sc64, M::Gmac, T::Bonsai), 128),
        of_line(tags(parts(C::Aes128Counter, N::Sc64, M::Gmac, T::Bonsai), P::Inline, 1), 128),
        of_line(tags(parts(C::Aes128Counter, N::Sc64, M::Gmac, T::Bonsai), P::Region, 4), 128),
        of_line(parts(C::Aes256Counter, N::Morphable, M::HmacSha256, T::Bonsai), 256),
        of_line(tags(parts(C::Aes128Cbc, N::None, M::HmacSha1, T::None), P::Region, 2), 160),
        of_line(over_plaintext(parts(C::Aes128Xts, N::None, M::Sha3, binary(T::Merkle))), 256),
        of_chunk(parts(C::TdesOcbChunks, N::Sc64, M::OcbChunks, T::Bonsai), 64),
        over_ciphertext(of_chunk(parts(C::TdesOcbChunks, N::Sc64, M::OcbChunks, T::Bonsai), 64)),
        of_chunk(parts(C::Aes256OcbChunks, N::Sc64, M::OcbChunks, T::Bonsai), 128),
        over_ciphertext(of_chunk(parts(C::Aes256OcbChunks, N::Sc64, M::OcbChunks, T::None), 128)),
        over_ciphertext(of_chunk(tags(parts(C::TdesOcbChunks, N::Sc64, M::OcbChunks, T::Bonsai), P::Inline, 1), 16)),
        of_chunk(tags(parts(C::Aes128OcbChunks, N::Mono56, M::OcbChunks, T::None), P::Inline, 1), 32),
    ]
}

#[test]
fn tags_incompatible_with_their_placement_are_refused_with_a_remedy() {
    use {CipherChoice as C, CounterChoice as N, MacChoice as M, TagLocation as P, TreeKind as T};
    let bonsai = parts(C::Aes128Counter, N::Sc64, M::Gmac, T::Bonsai);
    for (parts, remedy) in [
        (tags(bonsai.clone(), P::Ecc, 4), "mac.place = \"region\""),
        (tags(bonsai.clone(), P::Inline, 2), "mac.place = \"region\""),
        (tags(bonsai.clone(), P::Region, 3), "1, 2 or 4"),
        (tags(bonsai.clone(), P::Region, 0), "1, 2 or 4"),
        (tags(over_plaintext(bonsai.clone()), P::Region, 2), "mac.over = \"ciphertext\""),
        (tags(parts(C::Aes128Ocb, N::Sc64, M::Ocb, T::Bonsai), P::Region, 2), "mac.lines = 1"),
        (tags(parts(C::Aes128Counter, N::Sc64, M::SgxCw, T::Bonsai), P::Region, 4), "mac.code = \"gmac\""),
        (tags(parts(C::Aes128Xts, N::None, M::Cmac, T::Merkle), P::Ecc, 1), "tree.kind = \"bonsai\""),
        (tags(parts(C::Aes128Xts, N::None, M::None, T::None), P::Inline, 1), "leave mac.place out"),
        (tags(parts(C::Aes128Xts, N::None, M::None, T::None), P::Region, 4), "leave mac.lines out"),
    ] {
        let refusal = parts.check().unwrap_err();
        assert!(refusal.contains(remedy), "{refusal}");
    }
}

#[test]
fn tag_lengths_invalid_for_mac_or_placement_are_refused_with_the_nearest_valid_one() {
    use {CipherChoice as C, CounterChoice as N, MacChoice as M, TagLocation as P, TreeKind as T};
    let of = |code, bits, place| of_line(tags(parts(C::Aes128Counter, N::Sc64, code, T::Bonsai), place, 1), bits);
    let chunks = |cipher, code, bits, place| of_chunk(tags(parts(cipher, N::Sc64, code, T::Bonsai), place, 1), bits);
    for (parts, remedy) in [
        (of(M::Gmac, 0, P::Region), "between 1 and 256: set mac.tag_bits = 1"),
        (of(M::HmacSha512, 257, P::Region), "between 1 and 256: set mac.tag_bits = 256"),
        (of(M::HmacSha1, 512, P::Region), "between 1 and 256: set mac.tag_bits = 160"),
        (of(M::Gmac, 129, P::Region), "up to 128: set mac.tag_bits = 128 or mac.code = \"hmac-sha1\""),
        (of(M::HmacSha1, 161, P::Region), "up to 160: set mac.tag_bits = 160 or mac.code = \"hmac-sha256\""),
        (of(M::SgxCw, 65, P::Region), "up to 64: set mac.tag_bits = 64"),
        (of(M::Gmac, 72, P::Ecc), "room for 64 bits of a line's tag, and this tag has 72: set mac.tag_bits = 64"),
        (
            of(M::HmacSha256, 129, P::Inline),
            "room for 128 bits of a line's tag, and this tag has 129: set mac.tag_bits = 128",
        ),
        (chunks(C::Aes128Counter, M::Gmac, 64, P::Region), "mac.code = \"ocb-chunks\", or give"),
        (chunks(C::TdesOcbChunks, M::OcbChunks, 65, P::Region), "set mac.chunk_tag_bits = 64"),
        (chunks(C::Aes256OcbChunks, M::OcbChunks, 129, P::Region), "set mac.chunk_tag_bits = 128"),
        (chunks(C::Aes128OcbChunks, M::OcbChunks, 0, P::Region), "set mac.chunk_tag_bits = 1"),
        (chunks(C::Aes128OcbChunks, M::OcbChunks, u32::MAX, P::Region), "set mac.chunk_tag_bits = 128"),
        (chunks(C::TdesOcbChunks, M::OcbChunks, 17, P::Inline), "set mac.chunk_tag_bits = 16 or mac.place"),
        (chunks(C::Aes128OcbChunks, M::OcbChunks, 17, P::Ecc), "set mac.chunk_tag_bits = 16 or mac.place"),
    ] {
        let refusal = parts.check().unwrap_err();
        assert!(refusal.contains(remedy) && !refusal.contains('\n'), "{refusal}");
    }
    let mut both = chunks(C::TdesOcbChunks, M::OcbChunks, 64, P::Region);
    both.mac.tag_bits = Some(64);
    assert!(both.check().unwrap_err().contains("leave one of them out"));
    let mut grouped = chunks(C::TdesOcbChunks, M::OcbChunks, 64, P::Region);
    grouped.mac.lines = 2;
    assert!(grouped.check().unwrap_err().contains("mac.lines = 1"));
    for right in [
        of(M::Gmac, 128, P::Inline),
        of(M::HmacSha256, 256, P::Region),
        of(M::Gmac, 1, P::Ecc),
        chunks(C::TdesOcbChunks, M::OcbChunks, 64, P::Region),
        chunks(C::Aes256OcbChunks, M::OcbChunks, 128, P::Region),
        chunks(C::TdesOcbChunks, M::OcbChunks, 16, P::Inline),
    ] {
        assert_eq!(right.check(), Ok(()), "{right:?}");
    }
}

#[test]
fn a_layout_has_room_for_tags_of_every_length() {
    use {CipherChoice as C, CounterChoice as N, MacChoice as M, TagLocation as P, TreeKind as T};
    let plain = || parts(C::Aes128Counter, N::Sc64, M::HmacSha256, T::None);
    // Returns the lines of data that a tag line serves, and the size of the region in percent of the data.
    let region = |parts: Parts| {
        let report = parts.layout_report(LINES, MovingChip::default()).unwrap();
        let region = report.regions.into_iter().find(|region| region.role == "tag").unwrap();
        (region.serves, region.percent)
    };
    assert_eq!(region(of_line(plain(), 64)), (8, 12.5));
    assert_eq!(region(of_line(plain(), 65)), (4, 25.0));
    assert_eq!(region(of_line(plain(), 128)), (4, 25.0));
    assert_eq!(region(of_line(plain(), 256)), (2, 50.0));
    assert_eq!(region(of_line(tags(plain(), P::Region, 4), 256)), (8, 12.5));
    let chunks = || parts(C::TdesOcbChunks, N::Sc64, M::OcbChunks, T::None);
    assert_eq!(region(of_chunk(chunks(), 64)), (1, 100.0));
    assert_eq!(region(of_chunk(chunks(), 32)), (2, 50.0));
    // Tags travel with their lines.
    let data = |bits| {
        let report = of_line(tags(plain(), P::Inline, 1), bits).layout_report(LINES, MovingChip::default()).unwrap();
        let [data, tags, above, ..] = &report.regions[..] else { panic!("{report:?}") };
        (data.bytes, tags.role.clone(), tags.bytes, above.start)
    };
    let role = || "tags behind the lines".to_owned();
    assert_eq!(data(64), (LINES * 64, role(), LINES * 8, LINES * 72));
    assert_eq!(data(128), (LINES * 64, role(), LINES * 16, LINES * 80));
}

#[test]
fn every_bit_of_a_long_tag_is_checked_at_every_placement() {
    for parts in long_tags() {
        let scheme = parts.build(LINES, 3).unwrap();
        let memory = Functional::new(scheme.layout().total_lines());
        let line = LineAddr(77);
        run_now(scheme.write(&memory.verbs(), line, &[9; LINE_BYTES]));
        run_now(scheme.flush(&memory.verbs()));
        let slot = scheme.fixed().unwrap().tag_slot(line).unwrap_or(scheme.layout().data_slot(line).slot());
        let stored = memory.media.borrow().read(slot);
        let places = scheme.layout().tag_bytes();
        // The tag of a group is in the entry with the index of the group.
        let start = (line.0 / scheme.layout().lines_per_tag()) as usize * places % LINE_BYTES;
        for bit in 0..8 * places {
            let mut bytes = stored.examine();
            let spare_bits = if scheme.layout().tags_with_data() { 1 << bit } else { 0 };
            if spare_bits == 0 {
                bytes[start + bit / 8] ^= 1 << (bit % 8);
            }
            put(&memory, slot, Untrusted::with(bytes, stored.spare_bits() ^ spare_bits));
            run_now(scheme.read(&memory.verbs(), line));
            assert!(memory.take_fault().is_some(), "bit {bit} under {parts:?}");
            assert_eq!(memory.take_released(), None, "bit {bit} under {parts:?}");
            run_now(scheme.flush(&memory.verbs()));
        }
        put(&memory, slot, stored);
        run_now(scheme.read(&memory.verbs(), line));
        assert_eq!(memory.take_fault(), None::<Fault>, "{parts:?}");
    }
}

fn put(memory: &Functional, slot: Slot, content: Untrusted) {
    memory.media.borrow_mut().store(slot, content);
}
