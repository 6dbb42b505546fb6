//! Cores of the built-in machines, and their latency to the last-level cache.

use units::LineAddr;

#[test]
fn llc_hits_of_the_emcc_machine_take_23_ns_on_average_with_over_10_ns_spread() {
    let machine = casemate_catalogue::machine("emcc-4core").unwrap();
    let clock = machine.node.clock_mhz.as_mhz_f64() / 1000.0;
    let above = (machine.node.l1d.latency_cycles + machine.node.l2.latency_cycles) as f64 / clock;
    let network = machine.network();
    let hit = |core, line| {
        let beyond = network.request(core, line) + network.way(core, line);
        above + beyond.as_fs() as f64 / 1e6
    };
    let hits: Vec<f64> = (0..40_000).map(|n| hit(n % 4, LineAddr(n as u64 / 4))).collect();
    let mean = hits.iter().sum::<f64>() / hits.len() as f64;
    let spread = hits.iter().copied().fold(0.0, f64::max) - hits.iter().copied().fold(f64::MAX, f64::min);
    assert!((mean - 23.0).abs() < 0.2, "the mean is {mean} ns");
    assert!((10.0..12.0).contains(&spread), "the spread is {spread} ns");
}

#[test]
fn an_invalid_number_of_cores_is_refused() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/emcc-4core.toml")).unwrap();
    for (cores, rule) in [("0", "cores is 0: expected 1 to 8"), ("9", "cores is 9"), ("2", "names 4 tiles")] {
        let changed = text.replace("cores = 4 # EMCC", &format!("cores = {cores}"));
        let error = casemate_catalogue::Machine::parse("mine.toml", &changed).unwrap_err().to_string();
        assert!(error.contains(rule) && error.contains("mine.toml"), "{error}");
    }
}
