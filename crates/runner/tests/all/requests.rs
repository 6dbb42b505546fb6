//! Traces of requests below the caches, on machines and under designs.

use casemate_runner::{Record, RunControl, RunError, RunOptions, run};
use std::path::PathBuf;
use workload::{Persistent, RequestPace, WorkloadError, stored};

/// Runs a trace with these lines on the machine `modern`.
fn result(name: &str, lines: &str, design: &str) -> Result<Record, RunError> {
    let path: PathBuf = std::env::temp_dir().join(format!("casemate-requests-{}-{name}", std::process::id()));
    std::fs::write(&path, lines).unwrap();
    let source = stored::open(&path, 1, Persistent::All).unwrap();
    let machine = catalogue::machine("modern").unwrap();
    let options = RunOptions::new(machine, catalogue::design(design).unwrap(), u64::MAX);
    let record = run(&options, source, |_| RunControl::GoOn);
    std::fs::remove_file(&path).unwrap();
    record
}

fn record(name: &str, lines: &str, design: &str) -> Record {
    let record = result(name, lines, design).unwrap();
    assert_eq!((record.checks.lines.lines_wrong, record.checks.lines_lost), (0, 0), "{name} under {design}");
    assert!(record.checks.false_alarm.is_none(), "{name} under {design}");
    record
}

fn lines(count: u64, line: impl Fn(u64) -> String) -> String {
    (0..count).map(|number| line(number) + "\n").collect()
}

/// Address of a line in another row each time, far from all earlier lines.
fn scattered(number: u64) -> u64 {
    0x1000_0000 + number * 7919 % 65_536 * 64
}

#[test]
fn each_line_of_a_trace_is_one_request_at_memory_under_any_design() {
    let traces = [
        (
            "memory",
            lines(600, |n| format!("{:#x} {}", scattered(n), if n % 3 == 0 { "W" } else { "R" })),
            RequestPace::AtOnce,
        ),
        (
            "load-store",
            lines(600, |n| format!("{} {}", if n % 3 == 0 { "ST" } else { "LD" }, scattered(n))),
            RequestPace::AtOnce,
        ),
        (
            "dramsim3",
            lines(600, |n| format!("{:#X} {} {}", scattered(n), if n % 3 == 0 { "WRITE" } else { "READ" }, 40 * n)),
            RequestPace::AtClocks,
        ),
    ];
    for (name, text, pace) in traces {
        let plain = record(name, &text, "none");
        assert_eq!(plain.configuration.workload.requests, Some(pace), "{name}");
        assert_eq!((plain.instructions, plain.dram_bytes), (600, 600 * 64), "{name}");
        assert_eq!((plain.protection.fetched.total(), plain.protection.stored.total()), (400, 200), "{name}");
        assert_eq!((plain.checks.lines.lines_checked, plain.llc.misses, plain.llc.hits), (400, 400, 0), "{name}");
        assert!(plain.read_latency_ns > 20.0, "{name}: {}", plain.read_latency_ns);
        assert_eq!(plain.event_hash, record(name, &text, "none").event_hash, "{name}");
        let protected = record(name, &text, "sc64-bmt");
        assert_eq!(protected.checks.lines.lines_checked, 400, "{name}");
        assert!(protected.dram_bytes > plain.dram_bytes, "{name}");
        assert!(protected.read_latency_ns > plain.read_latency_ns, "{name}");
    }
}

#[test]
fn requests_of_a_dramsim3_trace_arrive_at_the_clocks_in_the_trace() {
    // DDR4-3200: a clock of the memory is 0.625 ns.
    for apart in [100, 1_000] {
        let text = lines(50, |n| format!("{:#x} READ {}", scattered(n), 500 + n * apart));
        let record = record("clocks", &text, "none");
        let last = (500 + 49 * apart) as f64 * 0.625;
        let after = record.time_fs as f64 / 1e6 - last;
        assert!((20.0..200.0).contains(&after), "{apart}: {after} ns after the last request");
    }
    let at_once = record("at-once", &lines(50, |n| format!("{:#x} READ 0", scattered(n))), "none");
    assert!((at_once.time_fs as f64) < 50.0 * 60.0 * 1e6, "they overlap: {} fs", at_once.time_fs);
}

#[test]
fn a_ramulator_cpu_trace_is_limited_by_its_instructions_and_the_reorder_buffer() {
    let trace = |between: u64| record("cpu", &lines(200, |n| format!("{between} {}", scattered(n))), "none");
    let (dense, sparse) = (trace(0), trace(4_000));
    let node = catalogue::machine("modern").unwrap().node;
    assert!(node.rob < 4_000, "two reads are in one window");
    let dispatch_ns = 200.0 * 4_001.0 / f64::from(node.dispatch_width) * 1e3 / node.clock_mhz.as_mhz_f64();
    let sparse_ns = sparse.time_fs as f64 / 1e6;
    assert!(sparse_ns > dispatch_ns, "{sparse_ns} ns, of which {dispatch_ns} to dispatch");
    // So each read is done before the next is dispatched.
    let alone = sparse.read_latency_ns;
    assert!(sparse_ns > 199.0 * (alone - 20.0), "{sparse_ns} ns, {alone} for each");
    assert!((dense.time_fs as f64) < 0.25 * sparse.time_fs as f64);
    let write_backs =
        record("write-backs", &lines(200, |n| format!("9 {} {}", scattered(n), scattered(n + 500))), "none");
    assert_eq!((write_backs.protection.fetched.total(), write_backs.protection.stored.total()), (200, 200));
}

#[test]
fn requests_to_one_line_of_a_request_trace_keep_their_order() {
    for design in ["none", "sc64-bmt"] {
        let line = |n: u64| 0x4000 + n / 2 % 7 * 64;
        let then_read = lines(2_000, |n| format!("{:#x} {}", line(n), if n % 2 == 0 { "W" } else { "R" }));
        let then_written = lines(2_000, |n| format!("{:#x} {}", line(n), if n % 2 == 1 { "W" } else { "R" }));
        let read_back = record("read-back", &then_read, design);
        assert!(read_back.llc.hits_on_the_way_out > 0, "{design}");
        assert_eq!(read_back.llc.hits_on_the_way_out + read_back.checks.lines.lines_checked, 1_000, "{design}");
        assert!(record("written", &then_written, design).checks.lines.lines_checked > 100, "{design}");
    }
}

#[test]
fn an_invalid_line_of_a_request_trace_ends_the_run_with_its_number() {
    let text =
        lines(
            20_000,
            |n| if n == 15_000 { "0x40 READ now".to_owned() } else { format!("{:#x} READ {n}", scattered(n)) },
        );
    let error = result("damaged", &text, "none").unwrap_err().to_string();
    assert!(error.contains("line 15001") && error.contains("ADDRESS READ|WRITE CLOCK"), "{error}");
}

#[test]
fn a_request_trace_is_refused_beyond_memory_and_with_durable_designs() {
    let beyond = result("beyond", "0x40 R\n0x700000000 R\n", "none").unwrap_err().to_string();
    assert!(
        beyond.contains("0x700000000") && beyond.contains("4 GB") && beyond.contains("machine.memory.size"),
        "{beyond}"
    );
    let durable = result("durable", "0x40 W\n0x40 R\n", "plp-sp").unwrap_err().to_string();
    assert!(durable.contains("plp-sp") && durable.contains("without persistence"), "{durable}");
    assert!(matches!(stored::open("/nonexistent/x.trace".as_ref(), 1, Persistent::All), Err(WorkloadError::Io { .. })));
}
