//! The tag of OCB3 is one more block, made of the sum of all plaintext. It passes the units of the block cipher in the
//! forward direction. A read computes it after the decryption of the last block, a write in parallel with its blocks.

use casemate_runner::explain::{Explanation, Lines, Of, OnChipMetadata, RowState, Scenario, explain};
use catalogue::{Design, Machine};
use protection::design::CipherChoice;
use sim::span::Verb;

/// A line whose metadata is in other banks than the line.
const ONE_LINE: Lines = Lines::At(0x123_5640);

/// An access with its metadata on the chip and its row open, by OCB3 with its tag. The first word of a row hit arrives after 100 ns, one
/// more every 5 ns, and the counter is known after 1 ns.
fn access(of: Of, change: impl Fn(&mut Machine)) -> Explanation {
    let mut machine = catalogue::machine("simplescalar-2005").unwrap();
    change(&mut machine);
    explain(&machine, &ocb3(), scenario(of), ONE_LINE).unwrap()
}

fn scenario(of: Of) -> Scenario {
    Scenario { of, on_chip: OnChipMetadata::All, row: RowState::Hit, ..Scenario::default() }
}

fn ocb3() -> Design {
    catalogue::design("ocb-bmt").unwrap()
}

/// The latency of a read in picoseconds; its line must be released as a whole.
fn read(change: impl Fn(&mut Machine)) -> u64 {
    let read = access(Of::Read, change);
    assert_eq!(read.rest_fs.unwrap_or(read.latency_fs), read.latency_fs);
    read.latency_fs / 1_000
}

/// End of the last span of a verb, in picoseconds.
fn last(access: &Explanation, verb: Verb) -> u64 {
    let spans = access.spans.iter().filter(|span| span.verb == verb);
    spans.map(|span| span.end.as_fs() / 1_000).max().unwrap_or_else(|| panic!("no {verb:?}"))
}

/// End of the last block of a write, in picoseconds.
fn sealed(change: impl Fn(&mut Machine)) -> u64 {
    let write = access(Of::Write, change);
    assert!(!write.spans.iter().any(|span| span.verb == Verb::Mac));
    last(&write, Verb::Encrypt)
}

fn as_it_is(_: &mut Machine) {}

fn with_aes(encrypt: f64, decrypt: f64) -> impl Fn(&mut Machine) {
    move |machine| {
        let aes = &mut machine.engines.aes;
        (aes.latency_ns, aes.decrypt_latency_ns) = (encrypt, Some(decrypt));
    }
}

/// A very slow engine for tags, which must have no effect.
fn slow_mac(machine: &mut Machine) {
    (machine.engines.mac.latency_ns, machine.engines.mac.interval_ns) = (999.0, 999.0);
}

#[test]
fn reading_an_ocb3_line_encrypts_its_tag_after_the_last_block_is_decrypted() {
    assert_eq!(read(as_it_is), 135_000 + 65_000 + 65_000);
    assert_eq!(read(with_aes(65.0, 90.0)), 135_000 + 90_000 + 65_000);
    assert_eq!(read(with_aes(90.0, 65.0)), 135_000 + 65_000 + 90_000);
    // The offset is an encryption as well, and is available before the last words, with them or after them.
    for spacing in [133, 134, 135] {
        let last = 135.max(1 + spacing);
        assert_eq!(read(with_aes(spacing as f64, 65.0)), (last + 65 + spacing) * 1_000, "{spacing}");
    }
    // A unit that accepts a block every 20 ns, while blocks arrive every 10 ns: it accepts the last after 105 + 3 * 20
    // ns.
    let slow = |machine: &mut Machine| (machine.engines.aes.units, machine.engines.aes.interval_ns) = (1, 20.0);
    assert_eq!(read(slow), 165_000 + 65_000 + 65_000);
}

#[test]
fn writing_an_ocb3_line_encrypts_its_tag_in_parallel_with_its_blocks() {
    // Five blocks after the offset: in parallel through five units, or one after another through four or one.
    let units = |units: usize| move |machine: &mut Machine| machine.engines.aes.units = units;
    let (offset, block, interval) = (1_000 + 65_000, 65_000, 6_400);
    assert_eq!(sealed(units(5)), offset + block);
    assert_eq!(sealed(units(4)), offset + interval + block);
    assert_eq!(sealed(units(1)), offset + 4 * interval + block);
    // All five blocks are encryptions.
    assert_eq!(sealed(with_aes(65.0, 90.0)), offset + interval + block);
}

#[test]
fn ocb3_does_not_use_the_engine_for_tags() {
    assert_eq!(read(slow_mac), read(as_it_is));
    let write = |change: fn(&mut Machine)| access(Of::Write, change).latency_fs;
    assert_eq!(write(slow_mac), write(as_it_is));
}

/// OCB3 without a tag.
fn untagged() -> Design {
    let mut design = catalogue::design("ctr-only").unwrap();
    design.parts.cipher = CipherChoice::Aes128Ocb;
    design
}

#[test]
fn ocb3_without_a_tag_encrypts_no_block_for_it() {
    let machine = catalogue::machine("simplescalar-2005").unwrap();
    let read = explain(&machine, &untagged(), scenario(Of::Read), ONE_LINE).unwrap();
    // Latencies of the requested block and of the last one.
    assert_eq!((read.latency_fs, read.rest_fs), ((105 + 65) * 1_000_000, Some((135 + 65) * 1_000_000)));
    let written = explain(&machine, &untagged(), scenario(Of::Write), ONE_LINE).unwrap();
    assert_eq!(last(&written, Verb::Encrypt), 66_000 + 65_000);
}

#[test]
fn an_ocb3_line_released_as_a_whole_waits_one_encryption_for_its_tag() {
    let mut machine = catalogue::machine("modern").unwrap();
    let latency = (machine.engines.aes.latency_ns * 1e6) as u64;
    machine.engines.aes.decrypt_latency_ns = Some(2.0 * machine.engines.aes.latency_ns);
    slow_mac(&mut machine);
    let [tagged, untagged] = [ocb3(), untagged()].map(|design| {
        let read = explain(&machine, &design, scenario(Of::Read), ONE_LINE).unwrap();
        assert_eq!(read.rest_fs, None, "it comes as a whole");
        read.latency_fs
    });
    assert_eq!(tagged, untagged + latency);
}

#[test]
fn a_speculatively_released_ocb3_line_is_verified_one_encryption_later() {
    let mut design = ocb3();
    design.parts.release = catalogue::design("sc64-bmt-speculative").unwrap().parts.release;
    let mut machine = catalogue::machine("simplescalar-2005").unwrap();
    with_aes(70.0, 90.0)(&mut machine);
    slow_mac(&mut machine);
    let read = explain(&machine, &design, scenario(Of::Read), ONE_LINE).unwrap();
    let when = |verb| last(&read, verb);
    assert_eq!(when(Verb::Settle), when(Verb::Release) + 70_000);
}
