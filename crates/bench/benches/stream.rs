//! Host time of an instruction before it reaches a core: walking it, storing it in a trace, and reading it from a
//! trace.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use workload::kernels;
use workload::stream::Batch;
use workload::trace::{TraceReader, TraceWriter};
use workload::walker::Walker;
use workload::{Finish, Origin, Source, WorkloadError};

/// Batches of one measurement.
const BATCHES: usize = 32;

/// A source of prepared batches.
#[derive(Clone)]
struct Listed(VecDeque<Arc<Batch>>, Origin);

impl Source for Listed {
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        Ok(self.0.pop_front())
    }

    fn origin(&self) -> &Origin {
        &self.1
    }
}

/// The first batches of a kernel.
fn kernel() -> Result<Listed, WorkloadError> {
    let mut source = kernels::open("btree", &BTreeMap::new(), 1)?;
    let mut batches = VecDeque::new();
    while let Some(batch) = source.next_batch()?.filter(|_| batches.len() < BATCHES) {
        batches.push_back(batch);
    }
    Ok(Listed(batches, source.origin().clone()))
}

fn walk(source: impl Source) -> Result<u64, WorkloadError> {
    let mut walker = Walker::new(source);
    let mut instructions = 0;
    while walker.next_step(|_| {})?.is_some() {
        instructions += 1;
    }
    Ok(instructions)
}

fn write(batches: &Listed, path: &Path) -> Result<(), WorkloadError> {
    let mut writer = TraceWriter::create(path, &batches.1)?;
    batches.0.iter().try_for_each(|batch| writer.write(batch))?;
    writer.finish(Finish::LimitReached)?;
    Ok(())
}

fn read(path: &Path) -> Result<u64, WorkloadError> {
    let mut reader = TraceReader::open(path)?;
    while reader.next_batch()?.is_some() {}
    Ok(reader.totals().instructions)
}

fn stream(criterion: &mut Criterion) {
    let batches = kernel().expect("the kernel and its defaults are built in");
    let instructions = walk(batches.clone()).expect("what a kernel gives is whole");
    let path = std::env::temp_dir().join(format!("casemate-bench-{}.trace", std::process::id()));
    let mut group = criterion.benchmark_group("stream");
    group.throughput(Throughput::Elements(instructions));
    group.bench_function("walk", |bench| bench.iter(|| walk(batches.clone())));
    group.bench_function("write a trace", |bench| bench.iter(|| write(&batches, &path)));
    group.bench_function("read a trace", |bench| bench.iter(|| read(&path)));
    group.finish();
    // The figures are still valid if the scratch file cannot be removed.
    let _ = std::fs::remove_file(&path);
}

criterion_group!(benches, stream);
criterion_main!(benches);
