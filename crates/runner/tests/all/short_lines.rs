//! Memory lines of 32 bytes: does a whole run transfer, check and return these lines correctly?

use crate::common::kernel;
use casemate_runner::explain::{Lines, OnChipMetadata, Scenario, explain};
use casemate_runner::{Record, RunControl, RunOptions, run};
use catalogue::Machine;
use protection::design::{CipherChoice, MacChoice, Parts, TagLocation};
use protection::slot::Kind;
use units::Bytes;

fn cryptopage() -> Machine {
    catalogue::machine("cryptopage-2006").unwrap()
}

fn options(design: &str, instructions: u64) -> RunOptions {
    let design = catalogue::design(design).unwrap();
    RunOptions { seed: 7, ledger: true, ..RunOptions::new(cryptopage(), design, instructions) }
}

fn ran(options: &RunOptions, workload: &str, settings: &[(&str, &str)]) -> Record {
    run(options, kernel(workload, settings, 1), |_| RunControl::GoOn).unwrap()
}

/// Bytes of all fetches and stores: 32 for a line of data, 16 more if its tag follows it, and 64 for any other line.
fn bytes_of(record: &Record) -> u64 {
    let parts = &record.configuration.design.parts;
    let data = if parts.permutation.is_some() && parts.has_tags() { 32 + 16 } else { 32 };
    let lines = |kind: fn(&Record, Kind) -> u64| -> u64 {
        let all = [Kind::Data, Kind::Counters, Kind::Tags, Kind::Nodes, Kind::Records];
        all.into_iter().map(|of| kind(record, of) * if of == Kind::Data { data } else { 64 }).sum()
    };
    lines(|record, kind| record.protection.fetched[kind]) + lines(|record, kind| record.protection.stored[kind])
}

#[test]
fn every_design_that_supports_32_byte_lines_reads_the_written_values() {
    let mut able = Vec::new();
    for design in catalogue::designs() {
        let options = options(&design.name, 60_000);
        match options.check_design() {
            Ok(()) => able.push(design.name.clone()),
            Err(refused) => {
                let refused = refused.to_string();
                let of_units = refused.contains("engines") || refused.contains("machine") || refused.contains("at_l2");
                assert!(of_units || refused.contains("lines of 64 bytes"), "{}: {refused}", design.name);
                continue;
            }
        }
        let record = ran(&options, "gups", &[("footprint", "8MB"), ("load_values", "yes")]);
        let checks = &record.checks;
        assert!(checks.passed && checks.lines.lines_checked > 2_000, "{}: {checks:?}", design.name);
        assert_eq!((record.feed.load_values_wrong, record.feed.load_values_checked > 1_000), (0, true));
        assert_eq!(record.dram_bytes, bytes_of(&record), "{}", design.name);
    }
    assert!(
        ["none", "ctr-only", "cryptopage-fixed", "sc64-bmt", "cryptopage", "hide"]
            .iter()
            .all(|name| able.iter().any(|able| able == name)),
        "{able:?}"
    );
}

/// 95 cycles to the last word of a line, as in the paper, and 107 to the end of its code, for each word that the core may request.
#[test]
fn a_32_byte_line_arrives_whole_for_any_requested_word() {
    for (name, cycles) in [("none", 95), ("cryptopage-fixed", 107)] {
        for word in 0..4 {
            let design = catalogue::design(name).unwrap();
            let scenario = Scenario { on_chip: OnChipMetadata::All, ..Scenario::default() };
            let read = explain(&cryptopage(), &design, scenario, Lines::At(4096 + 8 * word)).unwrap();
            assert_eq!((read.latency_fs, read.rest_fs), (cycles * 1_000_000, None), "{name}, word {word}");
        }
    }
}

#[test]
fn all_kinds_of_kernels_read_right_with_32_byte_lines_and_larger_pages() {
    // Sums along rows, pointers, a tree with inserts, and stores that bypass the caches.
    for workload in ["stream", "chase", "btree", "bfs"] {
        let record = ran(&options("cryptopage-fixed", 80_000), workload, &[]);
        assert!(record.checks.passed, "{workload}: {:?}", record.checks);
        assert!(record.checks.lines.lines_checked > 500, "{workload}");
    }
}

#[test]
fn the_stream_kernel_has_twice_as_many_misses_with_32_byte_lines() {
    let misses = |line: u64| {
        let mut options = options("none", 150_000);
        let machine = &mut options.machine;
        (machine.memory.line, machine.node.memory_line) = (Bytes(line), units::LineLength::of(Bytes(line)).unwrap());
        for cache in [&mut machine.node.l1i, &mut machine.node.l1d, &mut machine.node.l2] {
            cache.line = Bytes(line);
        }
        machine.node.l2.size = Bytes(line);
        let record = ran(&options, "stream", &[]);
        (record.protection.fetched[Kind::Data] as f64, record.dram_bytes as f64)
    };
    let (short, whole) = (misses(32), misses(64));
    assert!((1.9..2.1).contains(&(short.0 / whole.0)), "{short:?} {whole:?}");
    assert!((0.95..1.05).contains(&(short.1 / whole.1)), "{short:?} {whole:?}");
}

#[test]
fn parts_that_need_64_byte_lines_are_refused_on_a_machine_with_32_byte_lines() {
    let refused = |change: fn(&mut Parts)| {
        let mut options = options("sc64-bmt", 1_000);
        change(&mut options.design.parts);
        options.check_design().unwrap_err().to_string()
    };
    assert!(refused(|parts| parts.mac.code = MacChoice::SgxCw).contains("mac.code needs lines of 64 bytes"));
    assert!(
        refused(|parts| parts.cipher = CipherChoice::Aes128Cbc).contains("since it chains the blocks of a line, needs")
    );
    assert!(refused(|parts| parts.mac.place = TagLocation::Ecc).contains("with the spare bits of whole lines, needs"));
    let watched = RunOptions { tables: vec![128], ..options("none", 1_000) };
    assert!(
        watched
            .check_design()
            .unwrap_err()
            .to_string()
            .contains("the table of frequent values needs lines of 64 bytes")
    );
}
