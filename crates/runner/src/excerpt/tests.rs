//! Compares the file of a window with the file of the whole run, and with the number and latencies of the machine's
//! units.

use super::*;
use crate::run::{RunControl, RunError, RunOptions, run};
use crate::sampling::SamplingOptions;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use workload::Source;

/// A temporary folder of one test, deleted when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("casemate-excerpt-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const US: u64 = 1_000_000_000;

/// Options of a run in which the last-level cache writes lines back to memory.
fn options(design: &str, path: &Path, from_fs: u64, length_fs: u64) -> RunOptions {
    let mut machine = catalogue::machine("modern").unwrap();
    machine.llc.size = units::Bytes(512 << 10);
    let mut options = RunOptions::new(machine, catalogue::design(design).unwrap(), 100_000);
    let (from, length) = (Time::from_fs(from_fs), Duration::from_fs(length_fs));
    options.excerpt = Some(ExcerptOptions { path: path.to_owned(), from, length });
    options
}

fn gups() -> Box<dyn Source> {
    let settings = [("footprint".to_owned(), "64 MB".to_owned())].into();
    workload::kernels::open("gups", &settings, 1).unwrap()
}

/// A span as read from a file: unit (all its lanes together), name, start, length and access.
type Found = (String, String, u64, u64, u64);

/// The parts of a trace-event file that the tests read.
#[derive(Deserialize)]
struct File {
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    ph: String,
    name: String,
    #[serde(default)]
    tid: u64,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    args: Arguments,
}

#[derive(Default, Deserialize)]
struct Arguments {
    #[serde(default)]
    name: String,
    #[serde(default)]
    access: u64,
}

/// Converts a length in microseconds to whole femtoseconds.
fn length(micros: f64) -> u64 {
    (micros * US as f64).round() as u64
}

/// Converts a start in microseconds to whole femtoseconds, without the half femtosecond that the file adds.
fn beginning(micros: f64) -> u64 {
    (micros * US as f64).floor() as u64
}

fn found(path: &Path) -> Vec<Found> {
    let File { events } = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let unit = |event: &Event| event.args.name.split(" (lane").next().unwrap().to_owned();
    let threads: BTreeMap<u64, String> = events
        .iter()
        .filter(|event| event.ph == "M" && event.name == "thread_name")
        .map(|event| (event.tid, unit(event)))
        .collect();
    let spans = events.into_iter().filter(|event| event.ph == "X" || event.ph == "i");
    spans
        .map(|event| {
            let unit = threads[&event.tid].clone();
            (unit, event.name, beginning(event.ts), length(event.dur), event.args.access)
        })
        .collect()
}

fn of<'a>(found: &'a [Found], unit: &'a str) -> impl Iterator<Item = &'a Found> {
    found.iter().filter(move |(of, ..)| of == unit)
}

#[test]
fn a_trace_window_has_exactly_the_spans_of_the_run_that_overlap_it() {
    let folder = Folder::new("window");
    let (whole, part) = (folder.0.join("whole"), folder.0.join("part"));
    let all = options("sc64-bmt", &whole, 0, 1000 * US);
    run(&all, gups(), |_| RunControl::GoOn).unwrap();
    let all: Vec<Found> = found(&whole).into_iter().filter(|(unit, ..)| unit != "window").collect();
    assert!(all.len() > 10_000, "{}", all.len());
    // A window that begins where one piece of work ends, and ends where another begins.
    let work = |from: u64| all.iter().find(|(unit, _, start, length, _)| unit == "MAC" && *length > 0 && *start > from);
    let (_, _, start, length, _) = work(10 * US).unwrap();
    let (from, (_, _, to, ..)) = (start + length, work(12 * US).unwrap());
    for (from, to) in [(from, *to), (from - 1, to + 1)] {
        run(&options("sc64-bmt", &part, from, to - from), gups(), |_| RunControl::GoOn).unwrap();
        let in_part: BTreeSet<Found> = found(&part).into_iter().filter(|(unit, ..)| unit != "window").collect();
        let expected: BTreeSet<Found> = all
            .iter()
            .filter(|(_, _, start, length, _)| match *length {
                0 => from <= *start && *start < to,
                length => start + length > from && *start < to,
            })
            .cloned()
            .collect();
        assert!(expected.len() > 100);
        assert_eq!(in_part, expected);
    }
    let ends_there =
        |found: &[Found]| of(found, "MAC").filter(|(_, _, start, length, _)| start + length == from).count();
    assert!(
        ends_there(&all) > 0 && ends_there(&found(&part)) == ends_there(&all),
        "one femtosecond makes the difference"
    );
}

#[test]
fn no_engine_unit_in_an_excerpt_exceeds_its_number_of_concurrent_operations() {
    let folder = Folder::new("capacity");
    let path = folder.0.join("file");
    let mut all = options("sc64-bmt", &path, 0, 1000 * US);
    let units = |units| protection::execution::Engine { units, latency_ns: 10.0, interval_ns: 4.0 };
    (all.machine.engines.mac, all.machine.engines.hash) = (units(1), units(2));
    run(&all, gups(), |_| RunControl::GoOn).unwrap();
    let found = found(&path);
    // Within one interval, as many operations start as there are units, and each finishes after the latency.
    for (unit, units) in [("MAC", 1), ("hash", 2)] {
        let mut starts: Vec<u64> = of(&found, unit).map(|(_, _, start, ..)| *start).collect();
        starts.sort_unstable();
        assert!(starts.len() > 1000, "{unit}");
        assert!(starts.windows(units + 1).all(|next| next[units] - next[0] >= 4_000_000), "{unit}");
        assert!(of(&found, unit).all(|(_, _, _, length, _)| *length == 10_000_000), "{unit}");
    }
    let waits = of(&found, "for MAC").filter(|(_, _, _, length, _)| *length > 0).count();
    assert!(waits > 10, "what waits for a unit is said: {waits}");
}

#[test]
fn a_bus_carries_one_line_at_a_time() {
    let folder = Folder::new("bus");
    let path = folder.0.join("file");
    for (machine, design, channels) in [("modern", "sc64-bmt", 1), ("modern-ddr5", "sc64-bmt-beside", 2)] {
        let machine = catalogue::machine(machine).unwrap();
        let options = RunOptions { machine, ..options(design, &path, 0, 1000 * US) };
        run(&options, gups(), |_| RunControl::GoOn).unwrap();
        let found = found(&path);
        for channel in 0..channels {
            let mut bursts: Vec<(u64, u64)> = of(&found, &format!("channel {channel} data bus: reads"))
                .map(|(_, _, start, length, _)| (*start, start + length))
                .collect();
            bursts.sort_unstable();
            assert!(bursts.len() > 1000, "{design}: {}", bursts.len());
            assert!(bursts.windows(2).all(|next| next[0].1 <= next[1].0), "{design}");
            assert!(bursts.iter().all(|(start, end)| end - start == bursts[0].1 - bursts[0].0), "{design}");
        }
    }
}

#[test]
fn an_excerpt_shows_each_refresh_and_what_waits_for_it() {
    let folder = Folder::new("refresh");
    let path = folder.0.join("file");
    let options = options("sc64-bmt", &path, 0, 1000 * US);
    let record = run(&options, gups(), |_| RunControl::GoOn).unwrap();
    let found = found(&path);
    let mut refreshes: Vec<(u64, u64)> =
        of(&found, "channel 0 refresh of rank 0").map(|(_, _, start, length, _)| (*start, start + length)).collect();
    refreshes.sort_unstable();
    // 12,480 clocks of 625 ps apart, and 560 clocks long.
    assert!(refreshes.len() > 10 && refreshes.len() as u64 == record.dram.refreshes, "{}", refreshes.len());
    for (number, (start, end)) in refreshes.iter().enumerate() {
        let due = (number as u64 + 1) * 12_480 * 625_000;
        assert!((due..due + US).contains(start) && end - start == 560 * 625_000, "{number}: {start} {end}");
        let transfers = of(&found, "channel 0 data bus: reads");
        let during = transfers.filter(|(_, _, from, ..)| (start + 30_000_000..*end).contains(from)).count();
        assert_eq!(during, 0, "a rank answers no read while it is refreshed");
        let waits = of(&found, "for a refresh").filter(|(_, _, from, length, _)| from < end && from + length > *start);
        assert!(waits.count() > 0, "{number}");
    }
}

#[test]
fn a_burst_released_at_its_first_word_is_in_every_trace_window_that_it_overlaps() {
    let folder = Folder::new("rest");
    let (whole, part) = (folder.0.join("whole"), folder.0.join("part"));
    let from = |path: &Path, from: u64, length: u64| {
        let mut options = options("none", path, from, length);
        options.machine.memory.critical_word_first = true.into();
        run(&options, gups(), |_| RunControl::GoOn).unwrap();
        let found = found(path);
        of(&found, "channel 0 data bus: reads").map(|(_, _, start, length, _)| (*start, start + length)).collect()
    };
    let bursts: Vec<(u64, u64)> = from(&whole, 0, 1000 * US);
    // A burst without an adjacent successor, so that a window can begin in its last moment and end before the next
    // burst.
    let [burst, next] = *bursts.windows(2).skip(100).find(|pair| pair[1].0 > pair[0].1 + 1_000).unwrap() else {
        panic!("two")
    };
    assert_eq!(from(&part, burst.1 - 1, 500), [burst]);
    assert_eq!(from(&part, burst.1, 500), [], "before {next:?}");
}

#[test]
fn excerpt_spans_of_a_read_begin_after_its_request_and_release_precedes_arrival() {
    let folder = Folder::new("trips");
    let path = folder.0.join("file");
    run(&options("sc64-bmt", &path, 0, 1000 * US), gups(), |_| RunControl::GoOn).unwrap();
    let found = found(&path);
    let trips: BTreeMap<u64, (u64, u64)> =
        of(&found, "core 0 reads").map(|(_, _, start, length, access)| (*access, (*start, start + length))).collect();
    assert!(trips.len() > 1000);
    let mut releases = 0;
    for (unit, name, start, length, access) in &found {
        let Some((requested, arrived)) = trips.get(access) else { continue };
        assert!(start >= requested, "{unit}: {name}");
        if name == "release verified" {
            releases += 1;
            assert!(start + length <= *arrived);
        }
    }
    assert!(releases > 1000, "{releases}");
    assert!(of(&found, "write-backs").count() > 500);
}

#[test]
fn excerpt_spans_of_a_read_between_core_and_llc_leave_no_gap_at_its_ends() {
    let folder = Folder::new("stops");
    let path = folder.0.join("file");
    let mut options = options("sc64-bmt", &path, 0, 1000 * US);
    // The machine has too few write-back buffers, so reads wait for them.
    options.machine.llc.writeback_buffers = 2;
    run(&options, gups(), |_| RunControl::GoOn).unwrap();
    let found = found(&path);
    let by_access = |unit: &str| -> BTreeMap<u64, (u64, u64)> {
        of(&found, unit).map(|(_, _, start, length, access)| (*access, (*start, start + length))).collect()
    };
    let [reads, there, waits, back] =
        ["core 0 reads", "way to last-level cache", "for a write-back buffer", "way to L2"].map(by_access);
    assert!(waits.len() > 10, "{}", waits.len());
    for (access, (start, end)) in reads {
        let (Some(there), Some(back)) = (there.get(&access), back.get(&access)) else { continue };
        assert_eq!((there.0, back.1), (start, end));
        if let Some(wait) = waits.get(&access) {
            assert_eq!(wait.0, there.1);
            assert!(wait.1 <= back.0);
        }
    }
}

#[test]
fn an_excerpt_changes_no_event_and_is_the_same_each_time() {
    let folder = Folder::new("again");
    for design in ["none", "sc64-bmt", "emcc", "sc64-bmt-speculative", "plp-pipelined"] {
        let files = ["first", "second"].map(|name| folder.0.join(name));
        let with: Vec<RunOptions> = files.iter().map(|path| options(design, path, 5 * US, 2 * US)).collect();
        if with[0].machine.admits(&with[0].design.parts).is_err() {
            continue;
        }
        let without = RunOptions { excerpt: None, ..with[0].clone() };
        let hash = |options: &RunOptions| run(options, gups(), |_| RunControl::GoOn).unwrap().event_hash;
        assert_eq!(hash(&with[0]), hash(&without), "{design}");
        hash(&with[1]);
        let [first, second] = files.map(|path| std::fs::read(path).unwrap());
        assert!(first == second, "{design}: the same run gave another file");
    }
    assert_eq!(folder.names().len(), 2);
}

#[test]
fn each_core_has_a_separate_track_in_an_excerpt() {
    let folder = Folder::new("cores");
    let path = folder.0.join("file");
    let machine = catalogue::machine("emcc-4core").unwrap();
    let options = RunOptions { machine, ..options("emcc", &path, 5 * US, 50 * US) };
    crate::run::run_together(&options, (0..4).map(|_| gups()).collect(), |_| RunControl::GoOn).unwrap();
    let found = found(&path);
    for core in 0..4 {
        assert!(of(&found, &format!("core {core} reads")).count() > 10, "{core}");
    }
    assert!(of(&found, "AES in L2 of core 1").count() > 0);
}

#[test]
fn a_trace_window_past_the_end_of_the_run_is_refused_and_keeps_the_other_outputs() {
    let folder = Folder::new("past");
    let path = folder.0.join("file");
    let requested = options("none", &path, 900 * US, US);
    let refused = run(&requested, gups(), |_| RunControl::GoOn).unwrap_err();
    assert!(refused.to_string().contains("begins at 900us"), "{refused}");
    assert!(folder.names().is_empty(), "{:?}", folder.names());
    let bus = crate::bus::BusOptions { path: folder.0.join("bus"), bytes: false };
    let Err(RunError::Unfinished(found)) =
        run(&RunOptions { bus: Some(bus), ..requested.clone() }, gups(), |_| RunControl::GoOn)
    else {
        panic!("expected the record and why there is no excerpt")
    };
    assert!(matches!(found.excerpt, Err(ExcerptError::PastTheEnd(..))) && found.bus.is_ok());
    assert_eq!(folder.names(), ["bus"]);
    let whole = run(&RunOptions { excerpt: None, ..requested }, gups(), |_| RunControl::GoOn).unwrap();
    assert_eq!(found.record.event_hash, whole.event_hash);
}

#[test]
fn an_impossible_excerpt_is_refused_before_the_run() {
    let folder = Folder::new("refused");
    let path = folder.0.join("file");
    let check = |from, length, detail| {
        let options =
            ExcerptOptions { path: path.clone(), from: Time::from_fs(from), length: Duration::from_fs(length) };
        check_excerpt(&options, detail)
    };
    assert!(check(5, 1, Detail::All).is_ok());
    assert!(matches!(check(5, 0, Detail::All), Err(ExcerptError::Empty)));
    assert!(matches!(check(u64::MAX, 1, Detail::All), Err(ExcerptError::TooLong)));
    let sampled = Detail::Sampled(SamplingOptions::default());
    assert!(matches!(check(5, 1, sampled), Err(ExcerptError::Sampled)));
    assert!(folder.names().is_empty());
}
