//! Host time of a look-up in a tag array, with mostly repeated keys and with only new keys.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use machine::cache::{Replacement, TagArray};
use units::random::Random;

const SETS: usize = 1024;
const WAYS: usize = 16;
/// Look-ups of one measurement.
const LOOK_UPS: u64 = 4096;

/// Looks up keys below `limit`; inserts a key that misses.
fn look_up(tags: &mut TagArray, random: &mut Random, limit: u64) -> u64 {
    let mut hits = 0;
    for _ in 0..LOOK_UPS {
        let key = random.below(limit);
        if tags.lookup(key).is_some() {
            hits += 1;
        } else {
            tags.insert(key, false);
        }
    }
    hits
}

fn tag_array(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tag array");
    group.throughput(Throughput::Elements(LOOK_UPS));
    let entries = (SETS * WAYS) as u64;
    for (name, replacement, limit) in [
        ("hits, LRU", Replacement::Lru, entries / 4),
        ("misses, LRU", Replacement::Lru, 1 << 40),
        ("misses, SRRIP", Replacement::Srrip, 1 << 40),
    ] {
        let (mut tags, mut random) = (TagArray::with_replacement(SETS, WAYS, replacement), Random::new(1));
        group.bench_function(name, |bench| bench.iter(|| look_up(&mut tags, &mut random, limit)));
    }
    group.finish();
}

criterion_group!(benches, tag_array);
criterion_main!(benches);
