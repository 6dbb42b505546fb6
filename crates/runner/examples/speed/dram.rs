//! Speed of the DRAM model without a machine, on the streams on which two public DRAM simulators were measured.

use crate::timed;
use machine::dram::stream::{Pattern, Stream, measure};
use machine::dram::{AddressMap, DramConfig};
use serde_json::{Value, json};

/// Mean gaps between requests, in memory clocks.
const GAPS: [u64; 4] = [0, 10, 20, 100];

/// Offers `requests` requests of each stream to a channel; calls `found` with the speed of each stream.
pub fn measure_all(requests: usize, mut found: impl FnMut(Value)) {
    let plain = DramConfig::ddr4_3200();
    let bank_group_low = DramConfig { address_map: AddressMap::BankGroupLow, ..plain.clone() };
    for (name, pattern, config) in [
        ("random reads", Pattern::RandomReads, &plain),
        ("sequential reads", Pattern::SequentialReads, &plain),
        ("sequential reads, bank group low", Pattern::SequentialReads, &bank_group_low),
        ("random, 2 reads : 1 write", Pattern::RandomReadsAndWrites, &plain),
        ("row conflicts", Pattern::RowConflicts, &plain),
    ] {
        for gap in GAPS {
            let (seconds, measured) = timed(|| measure(config, Stream::new(pattern, gap), requests));
            found(json!({
                "stream": name,
                "mean_gap_clocks": gap,
                "requests": requests,
                "per_second": requests as f64 / seconds,
                "bandwidth_gbps": measured.bandwidth,
            }));
        }
    }
}
