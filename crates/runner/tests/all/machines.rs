//! Every built-in machine runs a program, unprotected and protected, and every line that is read has the right content.
//! `--nocapture` shows the cost.

use casemate_runner::explain::{Lines, OnChipMetadata, RowState, Scenario, explain};
use casemate_runner::{Record, RunControl, RunOptions, run};
use catalogue::Machine;
use std::collections::BTreeMap;

fn kernel(name: &str, machine: &Machine, design: &str) -> Record {
    let parameters = BTreeMap::from([("footprint".to_owned(), "64 MB".to_owned())]);
    let source = workload::kernels::open(name, &parameters, 1).unwrap();
    let (machine, design) = (machine.clone(), catalogue::design(design).unwrap());
    run(&RunOptions { ledger: true, ..RunOptions::new(machine, design, 80_000) }, source, |_| RunControl::GoOn).unwrap()
}

#[test]
fn every_machine_runs_gups_and_protection_costs_time() {
    for machine in catalogue::machines() {
        let [plain, protected] = ["none", "sc64-bmt"].map(|design| kernel("gups", &machine, design));
        for record in [&plain, &protected] {
            assert!(record.checks.passed, "{}: {:?}", machine.name, record.checks);
        }
        println!(
            "{:<18} none: IPC {:.4}, read {:>6.1} ns   sc64-bmt: IPC {:.4}, read {:>6.1} ns",
            machine.name, plain.ipc, plain.read_latency_ns, protected.ipc, protected.read_latency_ns
        );
        assert!(protected.cycles > plain.cycles, "{}: protection costs nothing", machine.name);
        assert!(protected.dram.reads > plain.dram.reads, "{}: no metadata was read", machine.name);
    }
}

#[test]
fn prefetchers_speed_up_the_stream_kernel_and_all_lines_read_right() {
    for (machine, design) in
        [("emcc-4core", "none"), ("emcc-4core", "sc64-bmt"), ("modern", "none"), ("modern", "sc64-bmt")]
    {
        let with = catalogue::machine(machine).unwrap();
        let mut without = with.clone();
        (without.node.l1d.prefetcher, without.node.l2.prefetcher) = (None, None);
        let [slow, fast] = [&without, &with].map(|machine| kernel("stream", machine, design));
        assert!(slow.checks.passed && fast.checks.passed);
        assert!(fast.cycles < slow.cycles, "{machine}, {design}: {} cycles, {} without", fast.cycles, slow.cycles);
        assert_eq!(fast.llc.foreign_writes, 0, "a line that was fetched before its first sight did not change");
        let [l1d, l2] = [fast.node.l1d.prefetches, fast.node.l2.prefetches];
        assert!(l1d.useful + l2.useful > 10 * (l1d.useless + l2.useless), "{machine}, {design}: {l1d:?} {l2:?}");
        assert_eq!(slow.node.l1d.prefetches.issued + slow.node.l2.prefetches.issued, 0);
        println!("stream {machine} {design}: {} cycles, {} without; L1D {l1d:?}, L2 {l2:?}", fast.cycles, slow.cycles);
    }
}

/// The latency of an explained unprotected read, in picoseconds.
fn explained(machine: &str, row: RowState) -> u64 {
    let scenario = Scenario { on_chip: OnChipMetadata::Nothing, row, ..Scenario::default() };
    let machine = catalogue::machine(machine).unwrap();
    explain(&machine, &catalogue::design("none").unwrap(), scenario, Lines::default()).unwrap().latency_fs / 1000
}

#[test]
fn an_explained_read_finds_the_requested_row_state_on_every_memory() {
    for (machine, hit, closed, conflict) in [
        ("modern", 16_250, 30_000, 43_750),
        ("emcc-4core", 16_250, 30_000, 43_750),
        // Latency until the requested word: the whole line takes 35 ns more. CryptoPage's core gets its line of 32
        // bytes whole.
        ("simplescalar-2005", 100_000, 135_000, 170_000),
        // 48, 87 and 126 clocks of 416 ps.
        ("modern-ddr5", 19_968, 36_192, 52_416),
        ("cryptopage-2006", 95_000, 95_000, 95_000),
        ("secpb-pcm", 58_332, 58_332, 58_332),
    ] {
        let seen = [RowState::Hit, RowState::Closed, RowState::Conflict].map(|row| explained(machine, row));
        assert_eq!(seen, [hit, closed, conflict], "{machine}");
    }
}
