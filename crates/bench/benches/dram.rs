//! Host time of a request to one DRAM channel, on the streams of the reference at full load.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use machine::dram::DramConfig;
use machine::dram::stream::{Pattern, Stream, measure};

/// Requests of one measurement.
const REQUESTS: usize = 20_000;

fn channel(criterion: &mut Criterion) {
    let config = DramConfig::ddr4_3200();
    let mut group = criterion.benchmark_group("DRAM channel");
    group.throughput(Throughput::Elements(REQUESTS as u64));
    for pattern in
        [Pattern::RandomReads, Pattern::SequentialReads, Pattern::RandomReadsAndWrites, Pattern::RowConflicts]
    {
        let name = pattern.to_string();
        group.bench_function(name, |bench| bench.iter(|| measure(&config, Stream::new(pattern, 0), REQUESTS)));
    }
    group.finish();
}

criterion_group!(benches, channel);
criterion_main!(benches);
