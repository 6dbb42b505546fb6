//! A line in beats: on the machine of 2005 the first word of a row hit arrives after 100 ns, and one further word
//! arrives every 5 ns. The core gets the requested word or chunk as soon as it is decrypted, and verified if it has a
//! separate tag. The remaining words follow.

use casemate_runner::explain::{Explanation, Lines, Of, OnChipMetadata, RowState, Scenario, explain};
use catalogue::{Design, Machine};
use machine::memory::WordOrder;
use protection::design::{CipherChoice, MacChoice, MacDesign, Over};
use protection::execution::CipherEngine;
use sim::span::Verb;

/// A line whose metadata is in other banks than the line.
const ONE_LINE: Lines = Lines::At(0x123_5640);
/// Nanoseconds from the start of a read to its counter, which is on the chip.
const LOOK_UP: u64 = 1;

/// A read with its metadata on the chip and its row open, under a cipher with chunks and, for some designs, a tag for
/// each chunk.
fn read(cipher: CipherChoice, tags: Option<Over>, change: impl Fn(&mut Machine)) -> Explanation {
    let mut machine = catalogue::machine("simplescalar-2005").unwrap();
    change(&mut machine);
    let scenario = Scenario { on_chip: OnChipMetadata::All, row: RowState::Hit, ..Scenario::default() };
    explain(&machine, &design(cipher, tags), scenario, ONE_LINE).unwrap()
}

fn design(cipher: CipherChoice, tags: Option<Over>) -> Design {
    let mut design = catalogue::design(if tags.is_some() { "sc64-bmt" } else { "ctr-only" }).unwrap();
    design.parts.cipher = cipher;
    let of_chunks = |over| MacDesign { code: MacChoice::OcbChunks, over, ..MacDesign::default() }.with_chunk_bits(64);
    design.parts.mac = tags.map_or_else(MacDesign::default, of_chunks);
    design
}

/// Latency of the requested chunk and of the whole line, in picoseconds.
fn exact_steps(explanation: &Explanation) -> (u64, u64) {
    (explanation.latency_fs / 1_000, explanation.rest_fs.unwrap_or(explanation.latency_fs) / 1_000)
}

/// The same latencies in nanoseconds; both must be whole numbers.
fn steps(explanation: &Explanation) -> (u64, u64) {
    let (first, line) = exact_steps(explanation);
    assert_eq!((first % 1_000, line % 1_000), (0, 0));
    (first / 1_000, line / 1_000)
}

fn as_it_is(_: &mut Machine) {}

#[test]
fn an_unprotected_read_is_released_at_its_first_word() {
    let machine = catalogue::machine("simplescalar-2005").unwrap();
    let none = catalogue::design("none").unwrap();
    let times = [(RowState::Hit, (100, 135)), (RowState::Closed, (135, 170)), (RowState::Conflict, (170, 205))];
    for (row, expected) in times {
        let scenario = Scenario { on_chip: OnChipMetadata::All, row, ..Scenario::default() };
        assert_eq!(steps(&explain(&machine, &none, scenario, ONE_LINE).unwrap()), expected, "{row:?}");
    }
}

#[test]
fn critical_word_first_decrypts_the_requested_ocb_chunk_in_the_papers_time() {
    assert_eq!(steps(&read(CipherChoice::TdesOcbChunks, None, as_it_is)), (100 + 96, 135 + 96));
    assert_eq!(steps(&read(CipherChoice::Aes256OcbChunks, None, as_it_is)), (105 + 65, 135 + 65));
}

#[test]
fn a_plaintext_chunk_tag_adds_a_block_and_a_ciphertext_tag_at_most_an_interval() {
    let (tdes, aes) = (CipherChoice::TdesOcbChunks, CipherChoice::Aes256OcbChunks);
    // The tag's block enters a unit after the decryption of its chunk; this holds for the last chunk as well.
    assert_eq!(steps(&read(tdes, Some(Over::Plaintext), as_it_is)), (196 + 96, 231 + 96));
    assert_eq!(steps(&read(aes, Some(Over::Plaintext), as_it_is)), (170 + 65, 200 + 65));
    // The tag's block enters another unit together with the chunk, or the only unit after it.
    let one_unit = |machine: &mut Machine| {
        machine.engines.aes.units = 1;
        machine.engines.tdes.as_mut().unwrap().units = 1;
    };
    assert_eq!(steps(&read(tdes, Some(Over::Ciphertext), as_it_is)), (196, 231));
    assert_eq!(steps(&read(tdes, Some(Over::Ciphertext), one_unit)), (196 + 2, 231 + 2));
    // Two blocks for each chunk take 12.8 ns, and a chunk arrives every 10 ns: the last block is the eighth from 105 ns
    // on.
    let aes_behind = exact_steps(&read(aes, Some(Over::Ciphertext), one_unit));
    assert_eq!(aes_behind, (170_000 + 6_400, 105_000 + 7 * 6_400 + 65_000));
}

#[test]
fn the_cbc_mac_of_cryptopage_processes_blocks_as_they_arrive() {
    let machine = catalogue::machine("cryptopage-2006").unwrap();
    let cryptopage = catalogue::design("cryptopage-fixed").unwrap();
    let scenario = Scenario { on_chip: OnChipMetadata::All, ..Scenario::default() };
    let verified = |change: fn(&mut Machine)| {
        let mut machine = machine.clone();
        change(&mut machine);
        steps(&explain(&machine, &cryptopage, scenario, ONE_LINE).unwrap())
    };
    // The paper's equations on a line of two blocks (its Fig. 6): its words arrive at 80, 85, 90 and 95 ns, and H(0) is
    // computed with the pads.
    assert_eq!(verified(as_it_is), (107, 107));
    assert_eq!(107, 85 + 2 * 11, "the second block is there when the link of the first is done");
    // If a link takes less time than a block, it waits for the last block.
    assert_eq!(verified(|machine| machine.engines.aes.latency_ns = 9.0), (95 + 9, 95 + 9));
    // H(0) depends only on the counter, and the only AES unit computes H(0) after two pads. If H(0) is complete after
    // the words have arrived, the links of the chain wait for H(0).
    let (known, pads, block) = (1, 2, 200);
    let late = known + pads + block + 2 * block;
    assert_eq!(verified(|machine| machine.engines.aes.latency_ns = 200.0), (late, late));
}

/// CMAC over `lines` lines, whose chain begins with the nonce's block, in an engine that takes `block_ns` for each
/// block.
fn chained(base: &str, lines: u64, of: Of, block_ns: f64) -> Explanation {
    let mut machine = catalogue::machine("simplescalar-2005").unwrap();
    (machine.engines.aes.latency_ns, machine.engines.aes.units) = (block_ns, 64);
    let mut design = catalogue::design(base).unwrap();
    design.parts.mac = MacDesign { code: MacChoice::Cmac, lines, ..design.parts.mac.clone() };
    let scenario = Scenario { of, on_chip: OnChipMetadata::All, row: RowState::Hit, ..Scenario::default() };
    explain(&machine, &design, scenario, ONE_LINE).unwrap()
}

/// Length of a chain in blocks: the additional latency if each block takes 1000 ns more, divided by 1000 ns.
fn blocks(of: impl Fn(f64) -> u64) -> u64 {
    let [short, long] = [1_000.0, 2_000.0].map(of);
    (long - short + 500_000_000) / 1_000_000_000
}

fn last(explanation: &Explanation, verb: Verb) -> u64 {
    let spans = explanation.spans.iter().filter(|span| span.verb == verb);
    spans.map(|span| span.end.as_fs()).max().unwrap_or_else(|| panic!("no {verb:?}"))
}

#[test]
fn a_read_under_a_chained_mac_takes_five_block_latencies_per_line_of_the_tag() {
    let read = |lines| blocks(|ns| chained("sc64-bmt-mac4", lines, Of::Read, ns).latency_fs);
    // The nonce's block and four blocks of the line; the next line under the same tag has as many.
    assert_eq!([1, 4].map(read), [5, 2 * 5]);
}

#[test]
fn a_write_under_a_chained_mac_over_several_lines_takes_the_computed_latency() {
    let written = blocks(|ns| chained("sc64-bmt-mac4", 4, Of::Write, ns).latency_fs);
    // One other line is in memory and must be verified: its nonce's block and its four blocks. Then follow the new nonce's block, in
    // parallel with the pad, and the blocks of both lines with the other line's nonce between them.
    assert_eq!(written, (1 + 4) + 1 + (4 + 1 + 4));
}

#[test]
fn a_chained_mac_encrypts_its_nonce_block_in_parallel_with_the_pad() {
    let window = blocks(|ns| {
        let read = chained("sc64-bmt-speculative", 1, Of::Read, ns);
        last(&read, Verb::Settle) - last(&read, Verb::Release)
    });
    assert_eq!(window, 4, "the nonce's block is made with the pad");
}

#[test]
fn an_aes_chained_mac_with_triple_des_pads_waits_only_for_its_own_nonce_block() {
    let access = |of: Of, tdes: f64, aes: f64| {
        let mut machine = catalogue::machine("simplescalar-2005").unwrap();
        machine.engines.aes.latency_ns = aes;
        machine.engines.tdes.as_mut().unwrap().latency_ns = tdes;
        let mut tagged = design(CipherChoice::TdesCounter, Some(Over::Ciphertext));
        tagged.parts.mac = MacDesign { code: MacChoice::Cmac, ..MacDesign::default() };
        let scenario = Scenario { of, on_chip: OnChipMetadata::All, row: RowState::Hit, ..Scenario::default() };
        explain(&machine, &tagged, scenario, ONE_LINE).unwrap()
    };
    // A nonce's block and four links of AES; two encryptions by Triple-DES in a chain.
    let chain = LOOK_UP + 5 * 300;
    assert_eq!(steps(&access(Of::Read, 96.0, 300.0)), (chain, chain));
    assert_eq!(last(&access(Of::Write, 96.0, 300.0), Verb::Mac), chain * 1_000_000);
    let pad = LOOK_UP + 2 * 900;
    assert_eq!(steps(&access(Of::Read, 900.0, 10.0)), (pad, pad));
}

#[test]
fn a_gmac_mask_is_encrypted_by_aes_and_delays_no_triple_des_block() {
    let mut machine = catalogue::machine("simplescalar-2005").unwrap();
    machine.engines.aes.latency_ns = 300.0;
    let mut masked = design(CipherChoice::TdesOcbChunks, Some(Over::Ciphertext));
    masked.parts.mac = MacDesign { code: MacChoice::Gmac, ..MacDesign::default() };
    let scenario = Scenario { on_chip: OnChipMetadata::All, row: RowState::Hit, ..Scenario::default() };
    let late = LOOK_UP + 300;
    for in_beats in [true, false] {
        machine.memory.critical_word_first = in_beats.into();
        let read = explain(&machine, &masked, scenario, ONE_LINE).unwrap();
        assert_eq!(steps(&read), (late, late), "{in_beats}");
        assert!(last(&read, Verb::Decrypt) < late * 1_000_000, "{in_beats}");
    }
    // A chain of two encryptions for the offsets, then the blocks, while another unit computes the mask.
    let write = explain(&machine, &masked, Scenario { of: Of::Write, ..scenario }, ONE_LINE).unwrap();
    assert_eq!(last(&write, Verb::Encrypt), (LOOK_UP + 96 + 96) * 1_000_000);
    assert!(last(&write, Verb::Pad) > last(&write, Verb::Encrypt));
}

#[test]
fn a_verified_chunk_is_released_before_the_rest_of_its_line_only_with_critical_word_first() {
    let mut machine = catalogue::machine("simplescalar-2005").unwrap();
    let tdes = machine.engines.tdes.as_mut().unwrap();
    (tdes.units, tdes.interval_ns) = (1, 12.0);
    let chunks = design(CipherChoice::TdesOcbChunks, Some(Over::Ciphertext));
    let scenario = Scenario { on_chip: OnChipMetadata::All, row: RowState::Hit, ..Scenario::default() };
    let mut read = |words| {
        machine.memory.critical_word_first = words;
        steps(&explain(&machine, &chunks, scenario, ONE_LINE).unwrap())
    };
    let (first, whole) = read(WordOrder::Whole);
    assert!(first < whole, "its unit opens one chunk after the other: {first} and {whole}");
    let (first, whole) = read(WordOrder::FromFirst);
    assert_eq!(first, whole);
}

#[test]
fn a_cipher_without_a_nonce_does_not_wait_for_the_mask_of_its_tag() {
    let mut machine = catalogue::machine("simplescalar-2005").unwrap();
    machine.engines.aes.latency_ns = 300.0;
    let mut masked = design(CipherChoice::TdesEcb, Some(Over::Ciphertext));
    masked.parts.mac = MacDesign { code: MacChoice::Gmac, ..MacDesign::default() };
    for in_beats in [true, false] {
        machine.memory.critical_word_first = in_beats.into();
        let scenario = Scenario { on_chip: OnChipMetadata::All, row: RowState::Hit, ..Scenario::default() };
        let read = explain(&machine, &masked, scenario, ONE_LINE).unwrap();
        assert_eq!(last(&read, Verb::Decrypt), (135 + 96) * 1_000_000, "{in_beats}");
    }
}

#[test]
fn only_cipher_steps_that_need_the_encrypted_nonce_wait_for_it() {
    // The initial vector takes two encryptions in a chain, and is available when the first block leaves the unit.
    assert_eq!(steps(&read(CipherChoice::TdesCbc, None, as_it_is)), (100 + 96, 135 + 96));
    let longer = |machine: &mut Machine| machine.engines.tdes.as_mut().unwrap().latency_ns = 110.0;
    assert_eq!(steps(&read(CipherChoice::TdesCbc, None, longer)), (LOOK_UP + 2 * 110, 135 + 110));
    // The pad takes as long as a decryption, and all words arrive before the pad is complete. A tag over ciphertext
    // waits for neither.
    assert_eq!(steps(&read(CipherChoice::TdesCounter, None, as_it_is)), (LOOK_UP + 2 * 96, LOOK_UP + 2 * 96));
    let mut tagged = design(CipherChoice::TdesCounter, Some(Over::Ciphertext));
    tagged.parts.mac = MacDesign { code: MacChoice::Gmac, ..MacDesign::default() };
    let machine = catalogue::machine("simplescalar-2005").unwrap();
    let scenario = Scenario { on_chip: OnChipMetadata::All, row: RowState::Hit, ..Scenario::default() };
    assert_eq!(steps(&explain(&machine, &tagged, scenario, ONE_LINE).unwrap()), (135 + 65, 135 + 65));
}

#[test]
fn engine_latencies_intervals_and_clocks_shift_the_release_by_computed_times() {
    let tdes = |change: fn(&mut CipherEngine)| {
        steps(&read(CipherChoice::TdesOcbChunks, None, |machine| change(machine.engines.tdes.as_mut().unwrap())))
    };
    assert_eq!(tdes(|engine| engine.decrypt_latency_ns = Some(97.0)), (197, 232));
    // R is the sum of two encryptions, which begin with the counter: no block can be decrypted before R is available.
    assert_eq!(tdes(|engine| engine.latency_ns = 99.0 - LOOK_UP as f64), (100 + 98, 135 + 98));
    let late = |ns: f64| (LOOK_UP + 2 * ns as u64, 135 + ns as u64);
    assert_eq!(tdes(|engine| engine.latency_ns = 110.0), late(110.0));
    // One unit that accepts a block every ten nanoseconds; beats arrive every five.
    let slow = |engine: &mut CipherEngine| (engine.units, engine.interval_ns) = (1, 10.0);
    assert_eq!(tdes(slow), (1 + 10 + 96 + 96, 1 + 10 + 96 + 7 * 10 + 96));
}
