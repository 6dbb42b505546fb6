//! What an event costs the host: tasks that sleep, near by in the timing wheel and beyond its horizon, and a lock.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sim::Executor;
use sim::lock::{LockTable, Mode};
use std::rc::Rc;
use units::Duration;

/// Tasks at work at once: about as many as a busy machine has.
const TASKS: u64 = 64;
/// Times that each sleeps, or takes the lock.
const ROUNDS: u64 = 100;

/// Tasks that sleep for `ns` and a little more, each by another amount.
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

/// Tasks that want one lock, for a nanosecond each time.
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
