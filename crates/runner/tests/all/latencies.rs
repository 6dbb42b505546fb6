//! Every latency between L2 and memory, and of the protection's engines: if it is increased, a dependent read takes
//! longer by exactly the increase.

use casemate_runner::explain::{Lines, OnChipMetadata, RowState, Scenario, explain};
use casemate_runner::{Record, RunControl, RunOptions, run};
use catalogue::Machine;
use protection::execution::{CounterTags, Engine, Engines};
use sim::span::Verb;
use std::collections::BTreeMap;

/// A line whose metadata is in other banks than the line, each kind in a different one.
const ONE_LINE: Lines = Lines::At(0x1234_5640);

/// The latency of an explained read in picoseconds, on engines without contention except for the change.
fn read(design: &str, on_chip: OnChipMetadata, change: impl Fn(&mut Engines)) -> u64 {
    read_on(design, on_chip, |machine| change(&mut machine.engines)) / 1000
}

/// The same latency in femtoseconds, with any change of the machine.
fn read_on(design: &str, on_chip: OnChipMetadata, change: impl Fn(&mut Machine)) -> u64 {
    let mut machine = catalogue::machine("modern").unwrap();
    let engine = Engine { units: 1, latency_ns: 1.0, interval_ns: 0.0 };
    machine.engines = Engines {
        aes: engine.into(),
        tdes: None,
        mac: engine,
        hash: engine,
        metadata_cache: engine,
        counter_tags: CounterTags::Hash,
        counter_decode_ns: Some(1.0),
        candidates_ns: None,
        xor_ns: None,
    };
    change(&mut machine);
    let scenario = Scenario { on_chip, row: RowState::Closed, ..Scenario::default() };
    explain(&machine, &catalogue::design(design).unwrap(), scenario, ONE_LINE).unwrap().latency_fs
}

#[test]
fn each_ns_of_engine_latency_delays_a_read_bound_by_that_engine_by_one_ns() {
    type Latency = fn(&mut Engines) -> &mut f64;
    // Each latency is so large that the read waits only for this engine.
    let cases: [(&str, Latency, &str, OnChipMetadata); 5] = [
        ("AES", |engines| &mut engines.aes.latency_ns, "ecb", OnChipMetadata::All),
        ("MAC", |engines| &mut engines.mac.latency_ns, "sc64-bmt", OnChipMetadata::All),
        ("hash", |engines| &mut engines.hash.latency_ns, "sc64-bmt", OnChipMetadata::Tree),
        ("metadata cache", |engines| &mut engines.metadata_cache.latency_ns, "ctr-only", OnChipMetadata::Counter),
        ("decoding", |engines| engines.counter_decode_ns.as_mut().unwrap(), "morphable", OnChipMetadata::Counter),
    ];
    for (name, latency, design, on_chip) in cases {
        let with = |ns: f64| read(design, on_chip, |engines| *latency(engines) = ns);
        assert_eq!([101.0, 102.0].map(with), [1, 2].map(|more| with(100.0) + 1_000 * more), "{name}");
    }
}

#[test]
fn an_xts_tweak_is_encrypted_during_the_fetch_and_the_blocks_wait_for_both() {
    let xts = |ns: f64| read("xts", OnChipMetadata::All, |engines| engines.aes.latency_ns = ns);
    // A closed row takes 30 ns. A shorter tweak adds no time; a longer one delays the blocks.
    assert_eq!([11.0, 29.0, 30.0].map(xts), [1, 19, 20].map(|more| xts(10.0) + 1_000 * more));
    assert_eq!([31.0, 40.0].map(xts), [2, 20].map(|more| xts(30.0) + 1_000 * more));
}

#[test]
fn decryption_takes_the_latency_of_the_inverse_cipher() {
    let slower = |design, ns| {
        let with = |inverse| read(design, OnChipMetadata::All, |engines| engines.aes.decrypt_latency_ns = inverse);
        with(Some(ns)) - with(None)
    };
    // The default of the key is the latency of encryption, here 1 ns. A pad is always an encryption.
    assert_eq!(["ecb", "xts", "ctr-only"].map(|design| slower(design, 1.0)), [0; 3]);
    assert_eq!(["ecb", "xts", "ctr-only"].map(|design| slower(design, 8.0)), [7_000, 7_000, 0]);
}

#[test]
fn the_blocks_of_a_line_share_the_aes_units_at_their_interval() {
    // XTS has four blocks of text, which wait for the tweak.
    for units in 1..=6usize {
        let turns = 4usize.div_ceil(units) as u64 - 1;
        let with = |interval_ns| {
            read("xts", OnChipMetadata::All, |engines| {
                engines.aes = Engine { units, latency_ns: 10.0, interval_ns }.into()
            })
        };
        assert_eq!([3.0, 4.0].map(with), [3, 4].map(|ns| with(0.0) + 1_000 * ns * turns), "{units} units");
    }
}

#[test]
fn a_pad_begun_during_verification_of_its_counter_takes_only_the_aes_latency() {
    let machine = catalogue::machine("modern").unwrap();
    let pad = |on_chip| {
        let scenario = Scenario { on_chip, row: RowState::Closed, ..Scenario::default() };
        let explanation = explain(&machine, &catalogue::design("sc64-bmt").unwrap(), scenario, ONE_LINE).unwrap();
        let pad = explanation.spans.iter().find(|span| span.verb == Verb::Pad).unwrap();
        (pad.end.since(pad.start), explanation.latency_fs)
    };
    let ((begun_early, latency), (begun_late, shorter)) = (pad(OnChipMetadata::Nothing), pad(OnChipMetadata::All));
    assert!(latency > shorter);
    assert_eq!(begun_early, begun_late);
}

#[test]
fn the_critical_word_is_released_first_unless_a_check_needs_the_whole_line() {
    // Eight words arrive evenly over a burst of four clocks of 0.625 ns; the pad is complete long before.
    let saved = |design| {
        let with = |critical_word_first| {
            read_on(design, OnChipMetadata::All, |machine| {
                machine.memory.critical_word_first = bool::into(critical_word_first)
            })
        };
        with(false) - with(true)
    };
    assert_eq!(["none", "ctr-only"].map(saved), [2_187_500, 2_187_500]);
    // A block consists of two words.
    assert_eq!(["xts", "ecb"].map(saved), [1_875_000, 1_875_000]);
    assert_eq!(saved("sc64-bmt"), 0);
}

/// Pointer chases through far more memory than the caches hold.
fn chase(chains: usize, instructions: u64, change: impl Fn(&mut Machine)) -> Record {
    chase_through("64 MB", chains, instructions, change)
}

fn chase_through(footprint: &str, chains: usize, instructions: u64, change: impl Fn(&mut Machine)) -> Record {
    kernel("chase", &[("footprint", footprint), ("chains", &chains.to_string())], instructions, change)
}

/// Stores all over a memory that the last-level cache cannot hold: every fill evicts a dirty line.
fn stores(change: impl Fn(&mut Machine)) -> Record {
    kernel("gups", &[("footprint", "16 MB")], 200_000, |machine| {
        machine.llc.size = units::Bytes(1 << 20);
        change(machine);
    })
}

fn kernel(name: &str, parameters: &[(&str, &str)], instructions: u64, change: impl Fn(&mut Machine)) -> Record {
    let mut machine = catalogue::machine("modern").unwrap();
    // A prefetch would hide a part of the latency.
    (machine.node.l1d.prefetcher, machine.node.l2.prefetcher) = (None, None);
    change(&mut machine);
    let parameters: BTreeMap<String, String> =
        parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let source = workload::kernels::open(name, &parameters, 1).unwrap();
    let design = catalogue::design("none").unwrap();
    let options = RunOptions::new(machine, design, instructions);
    run(&options, source, |_| RunControl::GoOn).unwrap()
}

#[test]
fn every_llc_miss_includes_the_llc_and_path_latencies_exactly_once() {
    // Both clocks, of 0.25 and 0.625 ns, tick in steps of 1.25 ns, so a change shifts all later events together. Both runs end before the
    // first refresh, and the difference cancels their common part.
    let later = |change: fn(&mut Machine)| {
        let [short, long] = [400, 1_200].map(|instructions| {
            let (plain, changed) = (chase(1, instructions, |_| {}), chase(1, instructions, change));
            assert_eq!(plain.llc.misses, changed.llc.misses);
            (changed.time_fs - plain.time_fs, plain.llc.misses)
        });
        ((long.0 - short.0) / 1000, long.1 - short.1)
    };
    for (change, picoseconds) in [
        ((|machine| machine.llc.latency_ns += 1.25) as fn(&mut Machine), 1_250),
        (|machine| machine.llc.latency_ns += 2.5, 2_500),
        (|machine| machine.memory.path_ns += 2.5, 2_500),
        (|machine| machine.memory.path_ns += 5.0, 5_000),
    ] {
        let (time, misses) = later(change);
        assert!(misses >= 30, "{misses} misses");
        assert_eq!(time, picoseconds * misses);
    }
}

#[test]
fn every_llc_hit_includes_the_llc_latency_exactly_once() {
    // The chase walks through data that fits in the last-level cache but not in L2.
    let around = |instructions, latency_ns: f64| {
        chase_through("2 MB", 1, instructions, |machine| machine.llc.latency_ns += latency_ns)
    };
    for (latency_ns, picoseconds) in [(1.25, 1_250), (2.5, 2_500)] {
        // The first pass fetches the lines, and the second finds them.
        let [once, twice] = [700_000, 900_000].map(|instructions| {
            let (plain, changed) = (around(instructions, 0.0), around(instructions, latency_ns));
            (changed.time_fs - plain.time_fs, plain.llc.hits + plain.llc.misses, plain.llc.misses)
        });
        assert_eq!(once.2, twice.2, "no line is brought twice");
        assert_eq!((twice.0 - once.0) / 1000, picoseconds * (twice.1 - once.1));
    }
}

#[test]
fn fewer_llc_write_back_buffers_delay_fills_and_enough_buffers_do_not() {
    let run = |buffers| stores(|machine| machine.llc.writeback_buffers = buffers);
    let records = [1, 2, 3, 256, 512].map(run);
    let [one, two, three, many, more] = records.each_ref().map(|record| record.time_fs);
    assert!(records[0].llc.writebacks > 1_000, "{} write-backs", records[0].llc.writebacks);
    assert!(one > two && two > three, "{one} {two} {three}");
    assert_eq!(many, more, "more buffers than lines under way make no difference");
}

#[test]
fn four_pointer_chains_need_five_llc_mshrs() {
    // The fifth MSHR is for a line of code at the start of the chains.
    let time = |mshrs| chase(4, 20_000, |machine| machine.llc.mshrs = mshrs).time_fs;
    let [three, four, five, many] = [3, 4, 5, 64].map(time);
    assert_eq!(five, many);
    assert!(four > five && three > four, "{three} {four} {five}");
}
