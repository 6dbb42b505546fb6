//! Programs and machines for the tests.

#[path = "../../../../campaign/tests/all/common/swept.rs"]
pub mod swept;

use casemate_runner::{Record, RunControl, RunOptions, run};
use catalogue::Machine;
use std::collections::BTreeMap;
use workload::{Source, kernels};

/// Parameters for the smallest data of a kernel that still reads its lines from memory: a short run spends most of its
/// time building the data.
fn small(workload: &str) -> &'static [(&'static str, &'static str)] {
    match workload {
        "btree" => &[("preload", "300000")],
        "gups" => &[("footprint", "64MB")],
        "stream" => &[("footprint", "48MB")],
        "bfs" => &[("scale", "16")],
        "hashjoin" => &[("build", "16MB"), ("probe", "16MB")],
        _ => &[],
    }
}

/// A built-in kernel with these parameters; the defaults keep it small.
pub fn kernel(name: &str, settings: &[(&str, &str)], seed: u64) -> Box<dyn Source> {
    let settings: BTreeMap<String, String> =
        small(name).iter().chain(settings).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    kernels::open(name, &settings, seed).unwrap()
}

/// A machine with the units that a design needs.
pub fn machine_for(design: &str) -> Machine {
    let parts = catalogue::design(design).unwrap().parts;
    let name = match (parts.cipher.is_tdes(), parts.persistence.has_buffer()) {
        _ if design == "emcc" => "emcc-4core",
        _ if parts.permutation.is_some() => "cryptopage-2006",
        (true, _) => "simplescalar-2005",
        (false, true) => "secpb-pcm",
        (false, false) => "modern",
    };
    catalogue::machine(name).unwrap()
}

/// A run of a built-in kernel under a design, on its machine with this change. A chase has one chain.
pub fn record(workload: &str, design: &str, instructions: u64, change: impl Fn(&mut Machine)) -> Record {
    let mut machine = machine_for(design);
    change(&mut machine);
    record_on(machine, workload, design, instructions)
}

/// A run of a built-in kernel under a design, on this machine.
pub fn record_on(machine: Machine, workload: &str, design: &str, instructions: u64) -> Record {
    let options = RunOptions::new(machine, catalogue::design(design).unwrap(), instructions);
    let one_chain: &[_] = if workload == "chase" { &[("chains", "1")] } else { &[] };
    run(&options, kernel(workload, one_chain, 1), |_| RunControl::GoOn).unwrap()
}
