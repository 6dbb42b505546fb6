//! Every latency between L2 and memory, and those of the protection's engines: set a little longer, a read that waits for
//! it is longer by just that.

use casemate_lab::explain::{OnChip, Row, Scenario, explain};
use casemate_lab::sampling::Detail;
use casemate_lab::{Control, Record, RunOptions, run};
use protection::ways::{Engine, Engines};
use std::collections::BTreeMap;
use systems::Machine;

/// The latency of an explained read in picoseconds, with engines that never wait but for what `change` does to them.
fn read(design: &str, on_chip: OnChip, change: impl Fn(&mut Engines)) -> u64 {
    let mut machine = systems::machine("modern").unwrap();
    let engine = Engine { units: 1, latency_ns: 1.0, interval_ns: 0.0 };
    machine.engines = Engines { aes: engine, mac: engine, hash: engine, metadata_cache: engine };
    change(&mut machine.engines);
    let scenario = Scenario { on_chip, row: Row::Closed };
    explain(&machine, &systems::design(design).unwrap(), scenario).unwrap().latency_fs / 1000
}

#[test]
fn an_engine_that_takes_a_nanosecond_longer_delays_what_waits_for_it_by_one() {
    type Latency = fn(&mut Engines) -> &mut f64;
    // So long that the read waits for nothing else.
    let cases: [(&str, Latency, &str, OnChip); 4] = [
        ("AES", |engines| &mut engines.aes.latency_ns, "xts", OnChip::All),
        ("MAC", |engines| &mut engines.mac.latency_ns, "ctr-mac", OnChip::All),
        ("hash", |engines| &mut engines.hash.latency_ns, "sc64-bmt", OnChip::Tree),
        ("metadata cache", |engines| &mut engines.metadata_cache.latency_ns, "ctr-only", OnChip::Counter),
    ];
    for (name, latency, design, on_chip) in cases {
        let with = |ns: f64| read(design, on_chip, |engines| *latency(engines) = ns);
        assert_eq!([101.0, 102.0].map(with), [1, 2].map(|more| with(100.0) + 1_000 * more), "{name}");
    }
}

#[test]
fn the_blocks_of_a_line_share_the_aes_units_at_their_interval() {
    // XTS: four blocks of text, and one for the tweak.
    for units in 1..=6usize {
        let turns = 5usize.div_ceil(units) as u64 - 1;
        let with = |interval_ns| {
            read("xts", OnChip::All, |engines| engines.aes = Engine { units, latency_ns: 10.0, interval_ns })
        };
        assert_eq!([3.0, 4.0].map(with), [3, 4].map(|ns| with(0.0) + 1_000 * ns * turns), "{units} units");
    }
}

/// So many instructions of pointer chases through far more memory than there is cache.
fn chase(chains: usize, instructions: u64, change: impl Fn(&mut Machine)) -> Record {
    let mut machine = systems::machine("modern").unwrap();
    change(&mut machine);
    let parameters =
        [("footprint", "64 MB".to_owned()), ("chains", chains.to_string())].map(|(key, value)| (key.to_owned(), value));
    let source = workload::kernels::open("chase", &BTreeMap::from(parameters), 1).unwrap();
    let design = systems::design("none").unwrap();
    let options = RunOptions { machine, design, seed: 1, budget: instructions, ledger: false, detail: Detail::All };
    run(&options, source, |_| Control::GoOn).unwrap()
}

#[test]
fn every_miss_pays_the_latencies_of_the_last_level_cache_and_of_the_path_once() {
    // Both clocks, of 0.25 and 0.625 ns, tick in steps of 1.25 ns: all that follows is shifted as a whole. Both runs end
    // before the first refresh, and what they have in common cancels.
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
fn four_chains_need_five_registers_of_the_last_level_cache() {
    // The fifth is for a line of code, while the chains begin.
    let time = |mshrs| chase(4, 20_000, |machine| machine.llc.mshrs = mshrs).time_fs;
    let [three, four, five, many] = [3, 4, 5, 64].map(time);
    assert_eq!(five, many);
    assert!(four > five && three > four, "{three} {four} {five}");
}
