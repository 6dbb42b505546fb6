//! The latency of reads: its parts add up to the whole latency, and a slower unit lengthens only the part of this unit.

use crate::common::record;
use casemate_runner::{ReadTimes, Record};
use catalogue::Machine;
use protection::execution::ReadPart;

fn reads(record: &Record) -> &ReadTimes {
    record.reads.as_ref().unwrap()
}

/// Checks that the parts of reads add up to their latency.
pub fn check_parts(name: &str, machine: &Machine, record: &Record) {
    let ReadTimes { lines, mean_ns, median_ns, p99_ns, parts_ns, .. } = reads(record);
    let sum: f64 = parts_ns.values().sum();
    assert!((sum / mean_ns - 1.0).abs() < 1e-9, "{name}: {sum} of {mean_ns}");
    assert!(median_ns <= p99_ns && *mean_ns < 1.04 * p99_ns, "{name}");
    // The time from the last-level cache's miss also includes the way to the controller, and waits for a write-back
    // buffer.
    let way_ns = machine.memory.path_ns / 2.0;
    let since_miss_ns = record.read_latency_ns + 1e-6;
    assert!(since_miss_ns >= *mean_ns + way_ns, "{name}: {since_miss_ns} ns, {mean_ns}");
    assert!(lines.abs_diff(record.llc.misses) <= 64, "{name}: {lines} of {}", record.llc.misses);
}

/// Growth of each part of the mean read on a changed machine, in nanoseconds. Only changes of more than one are listed, because refreshes
/// and rows differ in a longer run.
fn longer(design: &str, change: impl Fn(&mut Machine)) -> Vec<(ReadPart, i64)> {
    // A chain of reads, so that no read waits for another.
    let [plain, changed] = [record("chase", design, 40_000, |_| ()), record("chase", design, 40_000, change)];
    let (plain, changed) = (reads(&plain).parts_ns, reads(&changed).parts_ns);
    let by = plain.iter().map(|(part, plain)| (part, (changed[part] - plain).round() as i64));
    by.filter(|(_, ns)| ns.abs() > 1).collect()
}

#[test]
fn a_slower_unit_lengthens_only_its_part_of_the_mean_read_time() {
    assert_eq!(longer("ecb", |machine| machine.engines.aes.latency_ns += 25.0), [(ReadPart::Engine, 25)]);
    assert_eq!(longer("sc64-bmt", |machine| machine.engines.mac.latency_ns += 25.0), [(ReadPart::Engine, 25)]);
    let hashed = longer("sc64-bmt", |machine| machine.engines.hash.latency_ns += 25.0);
    assert!(matches!(hashed[..], [(ReadPart::Tree, 1..)]), "{hashed:?}");
    let looked_up = longer("sc64-bmt", |machine| machine.engines.metadata_cache.latency_ns += 25.0);
    let of_metadata = |part: &ReadPart| [ReadPart::Counter, ReadPart::Tree, ReadPart::Tag].contains(part);
    assert!(looked_up.len() > 1 && looked_up.iter().all(|(part, _)| of_metadata(part)), "{looked_up:?}");
    let slow = longer("ecb", |machine| {
        machine.engines.aes.units = 1;
        machine.engines.aes.interval_ns = 10.0;
    });
    // Four blocks of a line pass one unit: the wait of the last counts as work, because the unit has no earlier work.
    assert!(matches!(slow[..], [(ReadPart::Engine, 25..)]), "{slow:?}");
    // A unit that takes one tag at a time delays lines that arrive close together, but no other lines.
    let busy = |design, interval_ns| {
        let record = record("gups", design, 40_000, |machine| machine.engines.mac.interval_ns = interval_ns);
        [ReadPart::EngineQueue, ReadPart::Engine].map(|part| reads(&record).parts_ns[part])
    };
    let ([queued, worked], [short, before]) = (busy("sc64-bmt", 50.0), busy("sc64-bmt", 1.0));
    assert!(queued > 10.0 + short);
    assert!(before > 4.0 && (worked - before).abs() < 1.0, "its own work is as long: {worked} ns of {before}");
    assert_eq!(busy("none", 50.0), [0.0, 0.0]);
    assert_eq!(longer("none", |machine| machine.engines.aes.latency_ns += 25.0), []);
}

#[test]
fn longer_counter_decoding_does_not_lengthen_the_engine_queue_part_of_reads() {
    let longer = longer("morphable", |machine| machine.engines.counter_decode_ns = Some(13.0));
    let parts: Vec<_> = longer.iter().map(|(part, _)| *part).collect();
    assert!(!parts.is_empty() && !parts.contains(&ReadPart::EngineQueue), "{longer:?}");
}

#[test]
fn waits_for_a_full_dram_queue_count_as_memory_queue_and_not_as_data_time() {
    let with = |entries: usize| {
        let record = record("gups", "none", 40_000, |machine| machine.dram.as_mut().unwrap().read_queue = entries);
        [ReadPart::MemoryQueue, ReadPart::Data].map(|part| reads(&record).parts_ns[part])
    };
    let ([long, data], [short, same]) = (with(1), with(32));
    assert!(long > short + 50.0, "{long} ns and {short}");
    assert!((data - same).abs() < 5.0, "{data} ns and {same}");
}
