//! Records of pages: an access to a page that no TLB holds waits for its record after the walk. The last TLB that evicts the
//! page gives its record up.

use super::*;
use ::units::random::Random;
use std::collections::BTreeSet;

/// Cycles of a walk before the request for its record.
const WALK: u64 = 30;

fn config(walk: u64) -> NodeConfig {
    NodeConfig { walk_latency_cycles: walk, ..small() }
}

/// Observed behaviour of a core.
#[derive(Default)]
struct Seen {
    cycles: u64,
    /// Cycles in which retirement waited for a record.
    lost: u64,
    /// Cycles and lines of the requested records, and of those given up, in order of time.
    brought: Vec<(u64, LineAddr)>,
    given_up: Vec<(u64, LineAddr)>,
}

impl Seen {
    fn lines(of: &[(u64, LineAddr)]) -> Vec<u64> {
        of.iter().map(|(_, line)| line.0).collect()
    }

    /// Returns the pages with records on the chip.
    fn on_chip(&self) -> BTreeSet<u64> {
        let mut pages = BTreeSet::new();
        let given_up = self.given_up.iter().map(|(at, line)| (*at, line.0 / 64, false));
        let mut all: Vec<_> = self.brought.iter().map(|(at, line)| (*at, line.0 / 64, true)).chain(given_up).collect();
        all.sort();
        for (_, page, comes) in all {
            assert!(if comes { pages.insert(page) } else { pages.remove(&page) }, "page {page} came or left twice");
        }
        pages
    }
}

/// A core with records and its memory. Each record arrives `latency` cycles after its request.
struct Recorded {
    bench: Bench,
    latency: u64,
}

impl Recorded {
    fn new(config: &NodeConfig, latency: u64) -> Recorded {
        let mut bench = Bench::new(config);
        bench.node.tlbs_mut().keep_records();
        Recorded { bench, latency }
    }

    /// Creates a core that has fetched its code.
    fn with_code(config: &NodeConfig, latency: u64) -> Recorded {
        let mut recorded = Recorded::new(config, latency);
        recorded.run(&[op(Class::Serial, &[], &[])]);
        recorded
    }

    fn run(&mut self, ops: &[Op]) -> Seen {
        let Recorded { bench, latency } = self;
        let (start, clock) = (bench.clock(), bench.node.clock);
        let (mut feed, mut out, mut seen) = (Script { ops: ops.iter() }, Vec::new(), Seen::default());
        let (mut lines, mut records) = (Vec::new(), Vec::new());
        loop {
            let Ok(pause) = bench.node.run(&mut feed, Time::NEVER, &mut out);
            let requested = out.drain(..).filter(|request| request.kind.is_answered());
            lines.extend(requested.map(|Request { at, line, .. }| (at + clock.span(Cycles(MEMORY)), line)));
            for request in bench.node.tlbs_mut().take_record_requests() {
                let cycle = |at| clock.cycle_at_or_after(at).0;
                match request {
                    RecordRequest::Bring { at, page, line } => {
                        seen.brought.push((cycle(at), line));
                        records.push((at + clock.span(Cycles(*latency)), page));
                    }
                    RecordRequest::GiveUp { at, line } => seen.given_up.push((cycle(at), line)),
                }
            }
            lines.sort();
            records.sort();
            match (lines.first().copied(), records.first().copied()) {
                (None, None) => {
                    assert_eq!((pause, bench.node.outstanding()), (Pause::Finished, 0));
                    return Seen { cycles: bench.clock() - start, ..seen };
                }
                (line, Some((at, page))) if line.is_none_or(|(first, _)| at <= first) => {
                    records.remove(0);
                    let lost = bench.node.record_arrived(page, at, &mut out);
                    seen.lost += clock.cycle_at_or_after(Time::ZERO + lost).0;
                }
                _ => {
                    let (at, line) = lines.remove(0);
                    bench.node.filled(line, at, &mut out);
                }
            }
        }
    }
}

fn cycles_without_records(config: &NodeConfig, ops: &[Op]) -> u64 {
    Bench::new(config).cycles(ops)
}

/// A chain of accesses to a few pages.
fn chain(pages: &[u64]) -> Vec<Op> {
    pages.iter().map(|page| load(1, &[1], page * 64, 0)).collect()
}

#[test]
fn an_access_waits_for_the_page_walk_and_then_for_the_page_chunk_record() {
    for ops in [chain(&[4]), chain(&[4, 5, 4, 6]), vec![store(1, 4 * 64, 0), load(2, &[2], 5 * 64, 0)]] {
        for latency in [0, 1, 500] {
            let seen = Recorded::with_code(&config(WALK), latency).run(&ops);
            assert_eq!(seen.cycles, cycles_without_records(&config(WALK + latency), &ops), "{latency}: {ops:?}");
        }
    }
}

#[test]
fn a_page_chunk_record_is_requested_once_after_the_page_walk_for_all_waiting_accesses() {
    let ops = [load(1, &[], 4 * 64, 0), load(2, &[], 4 * 64 + 3, 0), store(3, 4 * 64 + 1, 0)];
    let seen = Recorded::new(&config(WALK), 200).run(&ops);
    assert_eq!(Seen::lines(&seen.brought), [CODE_LINE, 4 * 64]);
    let code = seen.brought[0].0;
    assert!(seen.brought[1].0 > code + 200 + WALK, "the load came behind its code, and its record behind its walk");
}

/// The second TLB has one entry, which page 4 takes from the page of the code. The TLB of code still has the page.
#[test]
fn data_in_a_page_of_code_uses_the_page_chunk_record_that_the_chip_keeps_for_the_code() {
    let mut config = config(WALK);
    (config.stlb.entries, config.stlb.ways) = (1, 1);
    let ops = chain(&[4, CODE_LINE / 64]);
    let cycles = [0, 500].map(|latency| {
        let mut recorded = Recorded::with_code(&config, latency);
        let seen = recorded.run(&ops);
        assert_eq!(Seen::lines(&seen.brought), [4 * 64]);
        seen.cycles
    });
    assert_eq!(cycles[1] - cycles[0], 500, "only page 4 waits for its record");
    assert_eq!(cycles[0], cycles_without_records(&config, &ops));
}

#[test]
fn a_store_waits_for_the_page_chunk_record_of_its_page_before_it_retires() {
    let mut recorded = Recorded::with_code(&config(WALK), 300);
    let seen = recorded.run(&[store(1, 4 * 64, 0), alu(&[2], &[])]);
    assert!(seen.cycles >= 300 + WALK, "{} cycles", seen.cycles);
}

#[test]
fn stall_cycles_of_a_slower_page_chunk_record_are_charged_to_records() {
    let lost = |latency| {
        let mut recorded = Recorded::with_code(&config(WALK), latency);
        let seen = recorded.run(&chain(&[4, 5]));
        (seen.lost, seen.cycles)
    };
    let ((short, short_cycles), (long, long_cycles)) = (lost(100), lost(150));
    assert_eq!((long - short, long_cycles - short_cycles), (100, 100));
}

/// TLBs as lists in order of use, the most recent last.
#[derive(Default)]
struct NaiveTlbs {
    data: Vec<u64>,
    second: Vec<u64>,
}

impl NaiveTlbs {
    fn enter(tlb: &mut Vec<u64>, page: u64, most: usize) {
        tlb.retain(|other| *other != page);
        tlb.push(page);
        if tlb.len() > most {
            tlb.remove(0);
        }
    }

    /// Accesses a page, with this number of entries in each TLB.
    fn access(&mut self, page: u64, [data, second]: [usize; 2]) {
        if !self.data.contains(&page) {
            // The page enters the second TLB or hits in it, which is also a use.
            NaiveTlbs::enter(&mut self.second, page, second);
        }
        NaiveTlbs::enter(&mut self.data, page, data);
    }

    fn pages(&self) -> BTreeSet<u64> {
        self.data.iter().chain(&self.second).copied().collect()
    }
}

#[test]
fn page_chunk_records_are_on_chip_exactly_for_pages_in_a_tlb() {
    let mut random = Random::new(3);
    for (data, second) in [(2, 1), (4, 1), (2, 4), (4, 2)] {
        let mut config = config(WALK);
        (config.dtlb.entries, config.dtlb.ways) = (data, data);
        (config.stlb.entries, config.stlb.ways) = (second, second);
        let mut recorded = Recorded::with_code(&config, 50);
        let (mut naive, mut pages) = (NaiveTlbs::default(), Vec::new());
        for _ in 0..300 {
            pages.push(4 + random.below(7));
        }
        // The page of the code is in the second TLB and in the first TLB of code.
        naive.second.push(CODE_LINE / 64);
        pages.iter().for_each(|page| naive.access(*page, [data, second]));
        let mut seen = recorded.run(&chain(&pages));
        seen.brought.retain(|(_, line)| line.0 != CODE_LINE);
        assert_eq!(seen.on_chip(), &naive.pages() - &BTreeSet::from([CODE_LINE / 64]), "{data} and {second} entries");
        assert!(seen.given_up.len() > 20);
    }
}

#[test]
fn functional_warming_requests_and_gives_up_the_page_chunk_records_of_detailed_simulation() {
    let mut random = Random::new(4);
    for (data, second) in [(2, 1), (4, 1), (2, 4), (4, 2)] {
        let mut config = config(WALK);
        (config.dtlb.entries, config.dtlb.ways) = (data, data);
        (config.stlb.entries, config.stlb.ways) = (second, second);
        let pages: Vec<u64> = (0..300).map(|_| 4 + random.below(7)).collect();
        let detailed = Recorded::with_code(&config, 50).run(&chain(&pages));
        let mut node = Node::new(&config);
        node.tlbs_mut().keep_records();
        let (mut brought, mut given_up) = (Vec::new(), Vec::new());
        let touched = std::iter::once((Side::Code, CODE_LINE)).chain(pages.iter().map(|page| (Side::Data, page * 64)));
        for (side, line) in touched {
            let has_requests = node.warm_page(side, PageKey(line / 64), LineAddr(line));
            let requests: Vec<RecordRequest> = node.tlbs_mut().take_record_requests().collect();
            assert_eq!(has_requests, !requests.is_empty());
            for request in requests {
                match request {
                    RecordRequest::Bring { line, .. } => brought.push(line.0),
                    RecordRequest::GiveUp { line, .. } => given_up.push(line.0),
                }
            }
        }
        assert_eq!(brought.remove(0), CODE_LINE);
        assert_eq!((brought, given_up), (Seen::lines(&detailed.brought), Seen::lines(&detailed.given_up)));
    }
}
