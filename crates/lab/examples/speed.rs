//! Whole-run speed: `speed KERNEL DESIGN MILLIONS [parameter=value ...]`.

use casemate_lab as lab;
use lab::{Control, RunOptions};
use std::collections::BTreeMap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kernel, design, millions, parameters @ ..] = &arguments[..] else {
        return Err("usage: speed KERNEL DESIGN MILLIONS [parameter=value ...]".into());
    };
    let parameters: BTreeMap<String, String> =
        parameters.iter().filter_map(|text| text.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    let source = workload::kernels::open(kernel, &parameters, 1)?;
    let options = RunOptions {
        machine: systems::machine("modern")?,
        design: systems::design(design)?,
        seed: 1,
        budget: millions.parse::<u64>()? * 1_000_000,
        ledger: false,
    };
    let record = lab::run(&options, source, |_| Control::GoOn)?;
    println!(
        "{kernel:9} {design:9} {:6.2} M instr/s  IPC {:.3}  events/instr {:.3}  checks {} ({} lines)  read {:.1} ns",
        record.host.instructions_per_second / 1e6,
        record.ipc,
        record.events as f64 / record.instructions as f64,
        if record.checks.passed { "passed" } else { "FAILED" },
        record.checks.lines.lines_checked,
        record.read_latency_ns,
    );
    Ok(())
}
