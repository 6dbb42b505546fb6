//! How many requests per second of host time the DRAM model serves, for each reference stream.
//!
//! `cargo run --release -p casemate-machine --example dram_speed [requests]`

use casemate_machine::dram::stream::{Pattern, Stream, measure};
use casemate_machine::dram::{AddressMap, DramConfig};
use std::time::Instant;

fn main() {
    let requests = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let plain = DramConfig::ddr4_3200();
    let bank_group_low = DramConfig { address_map: AddressMap::BankGroupLow, ..plain.clone() };
    println!("{:<28} {:>4} {:>10} {:>8} {:>8}", "stream", "G", "requests/s", "ns", "GB/s");
    for (name, pattern, config) in [
        ("random reads", Pattern::RandomReads, &plain),
        ("sequential reads", Pattern::SequentialReads, &plain),
        ("sequential, bank group low", Pattern::SequentialReads, &bank_group_low),
        ("random, 2 reads : 1 write", Pattern::RandomReadsAndWrites, &plain),
        ("row conflicts, one bank", Pattern::RowConflicts, &plain),
    ] {
        for gap in [0, 8, 20, 100] {
            let start = Instant::now();
            let measured = measure(config, Stream::new(pattern, gap), requests);
            let rate = requests as f64 / start.elapsed().as_secs_f64();
            let ns = measured.mean * 1000.0 / config.clock_mhz as f64;
            println!("{name:<28} {gap:>4} {rate:>10.0} {ns:>8.1} {:>8.3}", measured.bandwidth);
        }
    }
}
