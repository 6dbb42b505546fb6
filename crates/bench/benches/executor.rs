//! Host time of an event: sleeps within the timing wheel and beyond its horizon, and a contended lock.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sim::Executor;
use sim::lock::{LockTable, Mode};
use std::rc::Rc;
use units::Duration;

/// Number of tasks: about as many as a busy machine has.
const TASKS: u64 = 64;
/// Number of sleeps, or of uses of the lock, of each task.
const ROUNDS: u64 = 100;

/// Runs tasks that sleep for slightly more than `ns` nanoseconds, each for a different time.
fn sleepers(ns: u64) -> u64 {
    let mut executor = Executor::new();
    for task in 0..TASKS {
        let clock = executor.clock().clone();
        executor.clock().spawn(async move {
            for _ in 0..ROUNDS {
                clock.sleep(Duration::from_ns(ns + task)).await;
            }
        });
    }
    executor.run();
    executor.clock().event_count()
}

/// Runs tasks that take one lock, for a nanosecond each time.
fn contenders() -> u64 {
    let mut executor = Executor::new();
    let locks = Rc::new(LockTable::new(executor.clock()));
    for _ in 0..TASKS {
        let (clock, locks) = (executor.clock().clone(), locks.clone());
        executor.clock().spawn(async move {
            for _ in 0..ROUNDS {
                let guard = locks.lock(0u64, Mode::Exclusive).await;
                clock.sleep(Duration::from_ns(1)).await;
                drop(guard);
            }
        });
    }
    executor.run();
    executor.clock().event_count()
}

fn executor(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sim");
    group.throughput(Throughput::Elements(TASKS * ROUNDS));
    group.bench_function("sleep within the wheel", |bench| bench.iter(|| sleepers(10)));
    group.bench_function("sleep beyond the wheel", |bench| bench.iter(|| sleepers(5_000)));
    group.bench_function("contended lock", |bench| bench.iter(contenders));
    group.finish();
}

criterion_group!(benches, executor);
criterion_main!(benches);
