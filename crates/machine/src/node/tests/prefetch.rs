//! Prefetchers: their predictions against a naive model, and their effects to the exact cycle.

use super::*;
use crate::node::caches::prefetch::{Prefetcher, Seen};
use crate::node::lines::LineSize;
use ::units::{Bytes, LineLength};
use proptest::prelude::*;
use std::collections::BTreeMap;

const MISS: u64 = 5 + 10 + MEMORY;
const NEXT: Option<PrefetcherConfig> = Some(PrefetcherConfig::NextLine { degree: 1 });
const STREAM: Option<PrefetcherConfig> = Some(PrefetcherConfig::Stream { degree: 2, distance: 20, pages: 32 });
const STRIDE: Option<PrefetcherConfig> = Some(PrefetcherConfig::Stride { degree: 2, entries: 64 });

fn expected(config: PrefetcherConfig, line: u64, seen: &[(u64, u64)]) -> Vec<Vec<u64>> {
    let mut prefetcher = Prefetcher::new(config, LineSize::new(Bytes(line), LineLength::WHOLE));
    seen.iter().map(|&(origin, address)| prefetcher.expect(Seen { origin, address }).collect()).collect()
}

fn stride(degree: u32, addresses: &[u64]) -> Vec<Vec<u64>> {
    let seen: Vec<(u64, u64)> = addresses.iter().map(|&address| (7, address)).collect();
    expected(PrefetcherConfig::Stride { degree, entries: 4 }, 64, &seen)
}

#[test]
fn a_next_line_prefetcher_fetches_the_next_lines_but_no_line_beyond_the_frame() {
    let next = |line, address| expected(PrefetcherConfig::NextLine { degree: 2 }, line, &[(0, address)]).remove(0);
    assert_eq!(next(64, 0x1010), [0x1050, 0x1090]);
    assert_eq!(next(32, 0x1010), [0x1030, 0x1050]);
    assert_eq!(next(64, 0x1f7f), [0x1fbf, 0x1fff]);
    assert_eq!(next(64, 0x1f80), [0x1fc0]);
    assert!(next(64, 0x1fc0).is_empty());
}

#[test]
fn the_stride_prefetcher_drops_a_stride_after_two_wrong_predictions() {
    let nothing = Vec::<u64>::new();
    assert_eq!(stride(1, &[0, 100, 200]), [nothing.clone(), vec![200], vec![300]]);
    assert_eq!(stride(1, &[0, 100, 700, 710]), [nothing.clone(), vec![200], nothing.clone(), nothing.clone()]);
    assert_eq!(stride(1, &[0, 100, 700, 1300, 1900])[3..], [vec![1900], vec![2500]]);
    assert_eq!(stride(1, &[0, 100, 200, 1000, 1100])[3..], [vec![1100], vec![1200]], "one exception to a steady one");
    assert_eq!(stride(2, &[1000, 900, 800])[2], [700, 600]);
    assert_eq!(stride(2, &[0, 8, 16])[2], [16 + 64, 16 + 128], "a whole line at least");
    assert_eq!(stride(2, &[640, 632, 624])[2], [624 - 64, 624 - 128]);
    assert_eq!(stride(3, &[0, 1500])[1], [3000], "4500 is beyond the frame");
    assert!(stride(3, &[1500, 0])[1].is_empty());
    assert!(stride(3, &[64, 64, 64])[2].is_empty());
}

/// The table as its paper defines it, without a limit to its entries.
fn naive(accesses: &[(u64, u64)], degree: u32) -> Vec<Vec<u64>> {
    // By state: initial, transient, steady, no prediction.
    const RIGHT: [usize; 4] = [2, 2, 2, 1];
    const WRONG: [usize; 4] = [1, 3, 0, 3];
    let mut table: BTreeMap<u64, (i128, i128, usize)> = BTreeMap::new();
    let mut expect = |&(origin, address): &(u64, u64)| {
        let address = i128::from(address);
        let Some((previous, stride, state)) = table.get_mut(&origin) else {
            table.insert(origin, (address, 0, 0));
            return Vec::new();
        };
        if *previous + *stride == address {
            *state = RIGHT[*state];
        } else {
            if *state != 2 {
                *stride = address - *previous;
            }
            *state = WRONG[*state];
        }
        *previous = address;
        let step = if stride.abs() < 64 { 64 * stride.signum() } else { *stride };
        let predicted = (1..=i128::from(degree)).map(|n| address + n * step);
        let same_frame = predicted.take_while(|predicted| predicted.div_euclid(4096) == address / 4096);
        if *state == 3 || *stride == 0 { Vec::new() } else { same_frame.map(|predicted| predicted as u64).collect() }
    };
    accesses.iter().map(&mut expect).collect()
}

fn stream(pages: usize, addresses: &[u64]) -> Vec<Vec<u64>> {
    // The source instruction of an access does not matter.
    let seen: Vec<(u64, u64)> = (0..).zip(addresses.iter().copied()).collect();
    let config = PrefetcherConfig::Stream { degree: 2, distance: 4, pages };
    let lines = |expected: Vec<u64>| expected.into_iter().map(|address| address / 64).collect();
    expected(config, 64, &seen).into_iter().map(lines).collect()
}

#[test]
fn the_stream_prefetcher_starts_after_two_steps_in_one_direction() {
    let lines = |lines: &[u64]| stream(2, &lines.iter().map(|line| line * 64 + 8).collect::<Vec<_>>());
    let nothing = Vec::<u64>::new();
    assert_eq!(lines(&[0, 1, 2, 3, 4]), [nothing.clone(), nothing.clone(), vec![3, 4], vec![5, 6], vec![7, 8]]);
    assert_eq!(lines(&[0, 1, 2, 3, 4, 5])[5], [9], "four ahead and no more");
    assert_eq!(lines(&[40, 38, 35, 34])[2..], [vec![34, 33], vec![32, 31]], "down, by any steps");
    assert_eq!(lines(&[0, 1, 2, 20])[3], [21, 22], "what was passed is not fetched any more");
    assert_eq!(lines(&[0, 0, 1, 1, 2])[4], [3, 4], "the same line is no step");
    assert_eq!(lines(&[9, 8, 9, 8, 9, 8]).concat(), nothing, "to and fro is no stream");
    assert_eq!(lines(&[5, 6, 7, 6, 5])[3..], [nothing.clone(), vec![4, 3]], "it turns round after two steps back");
}

#[test]
fn the_stream_prefetcher_has_a_separate_stream_per_page_that_ends_with_it() {
    let lines = |lines: &[u64]| stream(2, &lines.iter().map(|line| line * 64).collect::<Vec<_>>());
    assert_eq!(lines(&[60, 61, 62, 63])[2..], [vec![63], vec![]]);
    assert_eq!(lines(&[64 + 2, 64 + 1, 64]).concat(), Vec::<u64>::new(), "nothing is below the page's first line");
    let nothing = Vec::<u64>::new();
    assert_eq!(lines(&[0, 64, 1, 65, 2, 66])[4..], [vec![3, 4], vec![67, 68]]);
    assert_eq!(
        lines(&[0, 64, 128, 1, 65, 129, 2]).concat(),
        nothing,
        "of three pages in turn none stays in two places"
    );
}

/// Predictions of streams as documented: the steps of each page since its last change of direction, with the set of
/// requested lines.
fn naive_streams(lines: &[u64], degree: i64, distance: i64) -> Vec<Vec<u64>> {
    let mut pages: BTreeMap<i64, (Vec<i64>, Vec<i64>)> = BTreeMap::new();
    let mut expect = |line: i64| {
        let (steps, requested) = pages.entry(line / 64).or_default();
        if steps.last() == Some(&line) {
            // This is no step, but a stream may still advance up to its distance.
        } else {
            steps.push(line);
        }
        let ways: Vec<i64> = steps.windows(2).map(|pair| (pair[1] - pair[0]).signum()).collect();
        let [.., before, way] = ways[..] else { return Vec::new() };
        if before != way {
            requested.clear();
            return Vec::new();
        }
        let furthest = requested.iter().map(|predicted| (predicted - line) * way).fold(0, i64::max);
        let new = (furthest + 1..=distance).take(degree as usize).map(|predicted| line + predicted * way);
        let new: Vec<i64> = new.filter(|predicted| predicted.div_euclid(64) == line / 64).collect();
        requested.extend(&new);
        new.into_iter().map(|line| line as u64).collect()
    };
    lines.iter().map(|line| expect(*line as i64)).collect()
}

proptest! {
    #[test]
    fn a_stream_prefetcher_fetches_the_lines_of_a_naive_model(
        lines in proptest::collection::vec((0..192u64, -3..4i64, 1..9usize), 1..20), degree in 1..4u32, distance in 1..9u32,
    ) {
        let run = |(start, step, length): (u64, i64, usize)| {
            (0..length as i64).map(move |n| start.saturating_add_signed(step * n).min(191))
        };
        let lines: Vec<u64> = lines.into_iter().flat_map(run).collect();
        let seen: Vec<(u64, u64)> = lines.iter().map(|line| (0, line * 64)).collect();
        let config = PrefetcherConfig::Stream { degree, distance, pages: 3 };
        let found: Vec<Vec<u64>> = expected(config, 64, &seen);
        let found: Vec<Vec<u64>> = found.into_iter().map(|predicted| predicted.into_iter().map(|a| a / 64).collect()).collect();
        prop_assert_eq!(found, naive_streams(&lines, degree.into(), distance.into()));
    }
}

fn some_accesses() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let run = (0..4u64, 0..20_000u64, -300..300i64, 1..8u64).prop_map(|(origin, start, stride, length)| {
        (0..length).map(|n| (origin, (start + 4096).wrapping_add_signed(stride * n as i64))).collect::<Vec<_>>()
    });
    proptest::collection::vec(run, 1..30).prop_map(|runs| runs.concat())
}

proptest! {
    #[test]
    fn a_stride_prefetcher_fetches_the_lines_of_a_naive_model(accesses in some_accesses(), degree in 1..5u32) {
        let config = PrefetcherConfig::Stride { degree, entries: 4 };
        prop_assert_eq!(expected(config, 64, &accesses), naive(&accesses, degree));
    }
}

fn with(l1d: Option<PrefetcherConfig>, l2: Option<PrefetcherConfig>) -> NodeConfig {
    let mut config = small();
    (config.l1d.prefetcher, config.l2.prefetcher) = (l1d, l2);
    config
}

fn kinds(bench: &Bench) -> Vec<(u64, RequestKind)> {
    bench.requests.iter().map(|request| (request.line.0, request.kind)).collect()
}

#[test]
fn a_hit_on_a_prefetched_line_takes_the_latency_of_its_cache_level() {
    for (config, cycles) in [(with(NEXT, None), 5), (with(None, NEXT), 5 + 10)] {
        let mut bench = Bench::warm(&config, &[]);
        assert_eq!(bench.cycles(&[load(1, &[], 64, 0)]), MISS);
        assert_eq!(kinds(&bench), [(64, RequestKind::Read), (65, RequestKind::Prefetch)]);
        assert_eq!(bench.requests[0].at, bench.requests[1].at);
        assert_eq!(bench.cycles(&[load(1, &[], 65, 0)]), cycles);
    }
}

#[test]
fn a_store_trains_the_prefetcher_and_dirties_a_prefetched_line() {
    let mut bench = Bench::warm(&with(NEXT, None), &[]);
    bench.cycles(&[store(1, 64, 0), op(Class::Serial, &[], &[])]);
    assert_eq!(bench.sent(65, RequestKind::Prefetch), 1);
    bench.cycles(&[store(1, 65, 0), op(Class::Serial, &[], &[])]);
    assert_eq!(bench.node.caches().dirty_lines(), [64, 65].map(LineAddr));
    assert_eq!(bench.sent(65, RequestKind::ReadForOwnership), 0);
}

#[test]
fn an_l1d_prefetch_from_l2_counts_as_late_within_15_cycles() {
    for distance in 8..13u64 {
        // The last two displace line 65 from L1D, not from L2.
        let mut bench = Bench::warm(&with(NEXT, None), &[64, 65, 69, 73]);
        let before = bench.node.counts().l1d.prefetches;
        let mut ops = vec![load(1, &[], 64, 0)];
        ops.resize(1 + distance as usize, alu(&[2], &[2]));
        ops.push(load(3, &[2], 65, 0));
        assert_eq!(bench.cycles(&ops), 15.max(distance + 5), "{distance}");
        let after = bench.node.counts().l1d.prefetches;
        assert_eq!(after.useful - before.useful, 1);
        assert_eq!(after.late - before.late, u64::from(distance + 5 < 15), "{distance}");
    }
}

#[test]
fn a_demand_miss_merges_with_the_prefetch_of_its_line() {
    for config in [with(NEXT, None), with(None, NEXT)] {
        let mut bench = Bench::warm(&config, &[]);
        assert_eq!(bench.cycles(&[load(1, &[], 64, 0), load(2, &[], 65, 0)]), MISS);
        assert_eq!(bench.sent(65, RequestKind::Prefetch) + bench.sent(65, RequestKind::Read), 1);
        let counts = bench.node.counts();
        let prefetches = [counts.l1d.prefetches, counts.l2.prefetches];
        assert_eq!(prefetches.iter().map(|counts| (counts.useful, counts.late)).max(), Some((1, 1)));
    }
}

#[test]
fn a_prefetch_leaves_one_mshr_free() {
    let issued = |mshrs: fn(&mut NodeConfig, usize), count, config: NodeConfig| {
        let mut config = config;
        mshrs(&mut config, count);
        let mut bench = Bench::warm(&config, &[]);
        bench.cycles(&[load(1, &[], 64, 0)]);
        bench.requests.iter().filter(|request| request.kind == RequestKind::Prefetch).count()
    };
    let l1d = |count| issued(|config, count| config.l1d.mshrs = count, count, with(NEXT, None));
    let l2 = |count| issued(|config, count| config.l2.mshrs = count, count, with(None, NEXT));
    assert_eq!((l1d(2), l1d(3)), (0, 1), "the miss has one, and one stays free");
    assert_eq!((l2(2), l2(3)), (0, 1));
}

#[test]
fn prefetched_lines_evicted_before_use_count_as_useless() {
    let mut bench = Bench::warm(&with(NEXT, None), &[]);
    let stride: Vec<Op> = (0..20).map(|n| load(1, &[1], 64 + 2 * n, 0)).collect();
    bench.cycles(&stride);
    let counts = bench.node.counts().l1d.prefetches;
    // All of them are in two of the four sets, which hold four lines at the end.
    assert_eq!((counts.issued, counts.useful, counts.late, counts.useless), (20, 0, 0, 16));
}

#[test]
fn a_stride_prefetcher_hides_the_latency_of_regular_and_not_of_irregular_strides() {
    // Each load waits for the one before: without prefetching, they miss one after another.
    let walk = |config: &NodeConfig, lines: &dyn Fn(u64) -> u64| {
        let mut bench = Bench::warm(config, &[]);
        bench.cycles(&(0..20).map(|n| load(1, &[1], lines(n), 0)).collect::<Vec<_>>())
    };
    let regular = |n| 64 + 3 * n;
    let irregular = |n| 64 + n * n % 61;
    assert_eq!(walk(&small(), &regular), 20 * MISS);
    for config in [with(STRIDE, None), with(None, STRIDE), with(STRIDE, STRIDE), with(STRIDE, STREAM)] {
        assert!(walk(&config, &regular) < 12 * MISS, "{}", walk(&config, &regular));
        assert!(walk(&config, &irregular) >= 18 * MISS);
    }
}

#[test]
fn an_access_across_two_lines_keeps_its_stride() {
    let mut bench = Bench::warm(&with(STRIDE, None), &[]);
    let across = |n: u64| {
        let mut op = load(1, &[1], 64 + n, 48);
        op.touches[0].bytes = 16;
        op.touches.push(touch(64 + n + 1, 0, 16, false));
        op
    };
    bench.cycles(&(0..10).map(across).collect::<Vec<_>>());
    assert!(bench.node.counts().l1d.prefetches.useful >= 7);
}
