//! Stores into a persist buffer: each rule to the cycle, through the interface of a whole core.

use super::*;
use crate::persist::PersistBufferConfig;
use ::units::random::Random;

/// A core with a persist buffer. Its store queue and window are small enough that the buffer can hold it up.
pub(super) fn with_buffer(entries: u32, drain_from: u32, drain_to: u32, waits: StoreHold) -> NodeConfig {
    let mut config = small();
    let buffer = PersistBufferConfig { entries, drain_from, drain_to };
    config.persist_buffer = Some(PersistConfig { buffer, latency_cycles: 2, waits });
    config
}

pub(super) fn roomy(waits: StoreHold) -> NodeConfig {
    with_buffer(8, 8, 0, waits)
}

fn serial() -> Op {
    op(Class::Serial, &[], &[])
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Drained(LineAddr),
    Persisted,
    Filled(LineAddr),
}

/// Owner of a core: it answers each request after a fixed latency per kind, in order of time.
struct Owner {
    bench: Bench,
    waits: StoreHold,
    answer: u64,
    drain: u64,
    /// Difference between the drain latencies of neighbouring lines, in cycles.
    spread: u64,
    events: Vec<(Time, Event)>,
    /// Requests of the persist buffer so far.
    requests: Vec<PersistRequest>,
    /// Cycle of each answer, cycles lost to it, and whether it was for the persist buffer.
    lost: Vec<(u64, u64, bool)>,
}

impl Owner {
    /// Creates an owner with `lines` in L1D.
    fn warm(config: &NodeConfig, lines: &[u64]) -> Owner {
        let bench = Bench::warm(config, lines);
        let waits = config.persist_buffer.map_or(StoreHold::Never, |persist| persist.waits);
        Owner {
            bench,
            waits,
            answer: 40,
            drain: 200,
            spread: 0,
            events: Vec::new(),
            requests: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// Returns the cycles of a program, until all its stores have left their queue.
    fn cycles(&mut self, ops: &[Op]) -> u64 {
        self.run(&[serial()]);
        let start = self.bench.clock();
        self.lost.clear();
        self.run(ops);
        self.bench.clock() - start
    }

    fn run(&mut self, ops: &[Op]) {
        let (mut feed, mut out) = (Script { ops: ops.iter() }, Vec::new());
        loop {
            let Ok(pause) = self.bench.node.run(&mut feed, Time::NEVER, &mut out);
            self.take(&mut out);
            self.events.sort();
            if self.events.is_empty() {
                assert_eq!(pause, Pause::Finished);
                return;
            }
            let (at, event) = self.events.remove(0);
            let node = &mut self.bench.node;
            let lost = match event {
                Event::Filled(line) => node.filled(line, at, &mut out),
                Event::Persisted => node.persisted(at),
                Event::Drained(line) => node.drained(line, at),
            };
            let [cycle, lost] = [at.as_fs(), lost.as_fs()].map(|fs| fs / node.clock.period().as_fs());
            self.lost.push((cycle, lost, !matches!(event, Event::Filled(_))));
            self.take(&mut out);
        }
    }

    fn take(&mut self, out: &mut Vec<Request>) {
        let clock = self.bench.node.clock;
        let after = |at, cycles| at + clock.span(Cycles(cycles));
        let requested = out.drain(..).filter(|request| request.kind.is_answered());
        self.events
            .extend(requested.map(|request| (after(request.at, self.bench.memory), Event::Filled(request.line))));
        for request in self.bench.node.persist_buffer_mut().into_iter().flat_map(PersistPath::take_requests) {
            match request {
                PersistRequest::Persist { at, allocates, .. } if self.waits.hold(allocates) => {
                    self.events.push((after(at, self.answer), Event::Persisted));
                }
                PersistRequest::Persist { .. } => {}
                PersistRequest::Drain { at, line } => {
                    self.events.push((after(at, self.drain + self.spread * (line.0 % 64)), Event::Drained(line)));
                }
            }
            self.requests.push(request);
        }
    }

    /// Returns the cycles lost to lines, and to the persist buffer.
    fn lost(&self) -> (u64, u64) {
        let of = |persist| self.lost.iter().filter(|lost| lost.2 == persist).map(|lost| lost.1).sum();
        (of(false), of(true))
    }

    /// Returns the lines of the stores, and of the drains, in the order of the requests.
    fn lines(&self) -> (Vec<u64>, Vec<u64>) {
        let (mut stores, mut drains) = (Vec::new(), Vec::new());
        for request in &self.requests {
            match request {
                PersistRequest::Persist { line, .. } => stores.push(line.0),
                PersistRequest::Drain { line, .. } => drains.push(line.0),
            }
        }
        (stores, drains)
    }
}

fn counted(owner: &Owner) -> PersistCounts {
    owner.bench.node.persist_buffer().unwrap().counts()
}

pub(super) fn stores(lines: &[u64]) -> Vec<Op> {
    lines.iter().map(|&line| store(1, line, 0)).chain([serial()]).collect()
}

/// Returns the cycles until these stores have entered; all lines are in L1D.
fn cycles_of(config: &NodeConfig, lines: &[u64], answer: u64) -> u64 {
    let mut owner = Owner::warm(config, &[64, 65, 66, 67]);
    owner.answer = answer;
    owner.cycles(&stores(lines))
}

#[test]
fn stores_enter_the_persist_buffer_serially_each_with_the_buffer_latency() {
    let of = |latency, lines: &[u64]| {
        let mut config = roomy(StoreHold::Never);
        config.persist_buffer.as_mut().unwrap().latency_cycles = latency;
        cycles_of(&config, lines, 0)
    };
    for n in 1..6 {
        assert_eq!(of(n, &[64]), of(n - 1, &[64]) + 1);
        assert_eq!(of(n, &[64, 65, 64, 65]), of(0, &[64]) + 4 * n, "none begins before the one before was accepted");
    }
    assert_eq!(of(0, &[64]), cycles_of(&small(), &[64], 0), "without a latency it costs nothing");
}

#[test]
fn a_store_waits_for_the_persist_answers_that_its_scheme_requires() {
    let of = |waits, answer| cycles_of(&roomy(waits), &[64, 65, 64], answer);
    let plain = of(StoreHold::Never, 0);
    for answer in [39, 40] {
        assert_eq!(of(StoreHold::Never, answer), plain);
        assert_eq!(of(StoreHold::NewEntries, answer), plain + 2 * answer, "two of three allocate");
        assert_eq!(of(StoreHold::EveryStore, answer), plain + 3 * answer);
    }
}

#[test]
fn a_store_to_a_full_persist_buffer_waits_until_an_entry_has_drained() {
    let of = |entries, drain| {
        let mut owner = Owner::warm(&with_buffer(entries, 2, 1, StoreHold::Never), &[64, 65, 66]);
        owner.drain = drain;
        (owner.cycles(&stores(&[64, 65, 66])), counted(&owner))
    };
    let (free, counts) = of(3, 200);
    assert_eq!((counts.full_cycles, counts.drains), (0, 2));
    let (cycles, counts) = of(2, 200);
    assert_eq!((cycles, counts.full_cycles), (free + 198, 198), "the third comes two cycles after the drain began");
    assert_eq!(of(2, 201).0, cycles + 1);
    assert_eq!([of(2, 2).0, of(2, 3).0], [free, free + 1], "a drain that ends when it comes holds up nothing");
}

#[test]
fn a_store_to_a_draining_persist_buffer_entry_waits_and_allocates_a_new_entry() {
    let of = |line, drain| {
        let mut owner = Owner::warm(&with_buffer(8, 2, 1, StoreHold::Never), &[64, 65, 66]);
        owner.drain = drain;
        (owner.cycles(&stores(&[64, 65, line])), counted(&owner))
    };
    let (resident, counts) = of(65, 200);
    assert_eq!((counts.allocations, counts.leaving_cycles), (2, 0));
    let (leaving, counts) = of(64, 200);
    assert_eq!((leaving, counts.leaving_cycles), (resident + 198, 198));
    assert_eq!((counts.stores, counts.allocations, counts.full_cycles), (3, 3, 0));
    assert_eq!(of(64, 199).0 + 1, leaving);
}

#[test]
fn a_younger_store_that_hits_l1d_enters_the_persist_buffer_after_an_older_miss() {
    let mut owner = Owner::warm(&roomy(StoreHold::Never), &[64]);
    owner.cycles(&stores(&[200, 64, 201]));
    assert_eq!(owner.lines().0, [200, 64, 201]);
    let (PersistRequest::Persist { at: first, .. }, PersistRequest::Persist { at: second, .. }) =
        (owner.requests[0], owner.requests[1])
    else {
        panic!("{:?}", owner.requests)
    };
    assert_eq!(second, first + owner.bench.node.clock.span(Cycles(2)));
}

#[test]
fn persist_buffer_drains_begin_once_the_store_that_reaches_the_watermark_is_answered() {
    let mut owner = Owner::warm(&with_buffer(4, 3, 1, StoreHold::NewEntries), &[64, 65, 66]);
    owner.cycles(&stores(&[66, 64, 66, 65]));
    assert_eq!(owner.lines(), (vec![66, 64, 66, 65], vec![66, 64]));
    let [.., PersistRequest::Persist { at: entered, .. }, PersistRequest::Drain { at: drained, .. }, _] =
        owner.requests[..]
    else {
        panic!("{:?}", owner.requests)
    };
    assert_eq!(drained, entered + owner.bench.node.clock.span(Cycles(40)));
}

#[test]
fn stall_cycles_of_a_slower_persist_answer_are_charged_only_to_the_persist_buffer() {
    let at_work = |answer| {
        let mut owner = Owner::warm(&roomy(StoreHold::NewEntries), &[64, 65, 66, 67]);
        owner.answer = answer;
        let ops: Vec<Op> = [64, 65, 66, 67, 64].map(|line| store(1, line, 0)).into();
        (owner.cycles(&ops), owner.lost())
    };
    let (cycles, (to_lines, to_persist)) = at_work(100);
    assert_eq!(to_lines, 0);
    // The fifth enters the window when the first has left its queue.
    assert_eq!(at_work(150), (cycles + 50, (0, to_persist + 50)));
}

#[test]
fn stall_cycles_are_charged_for_a_full_persist_buffer_and_not_for_background_drains() {
    let at_work = |entries, drain| {
        let mut owner = Owner::warm(&with_buffer(entries, 2, 1, StoreHold::Never), &[64, 65, 66, 67]);
        owner.drain = drain;
        let cycles = owner.cycles(&stores(&[64, 65, 66]));
        (cycles, owner.lost())
    };
    let (cycles, (to_lines, to_persist)) = at_work(2, 200);
    assert_eq!(at_work(2, 250), (cycles + 50, (to_lines, to_persist + 50)));
    assert_eq!(at_work(8, 200).1, (to_lines, 0));
}

#[test]
fn only_the_drain_that_unblocks_a_store_is_charged_with_stall_cycles() {
    let mut owner = Owner::warm(&with_buffer(4, 3, 0, StoreHold::Never), &[64, 65, 66, 67]);
    owner.spread = 50;
    owner.cycles(&stores(&[64, 65, 66, 66]));
    let of: Vec<_> = owner.lost.iter().map(|(_, lost, _)| *lost).collect();
    assert_eq!(of[..2], [0, 0]);
    assert!(of[2] > 200, "{of:?}: all three left at once, and the store waited for the entry of its line");
}

#[test]
fn a_drain_that_ends_before_a_store_needs_its_entry_is_charged_no_stall_cycles() {
    let lost = |latency, drain| {
        let mut config = with_buffer(2, 2, 1, StoreHold::Never);
        config.persist_buffer.as_mut().unwrap().latency_cycles = latency;
        let mut owner = Owner::warm(&config, &[64, 65, 66]);
        owner.drain = drain;
        owner.cycles(&stores(&[64, 65, 66]));
        (owner.lost().1, counted(&owner).full_cycles)
    };
    assert_eq!(lost(50, 49), (0, 0));
    assert_eq!(lost(50, 50), (0, 0));
    let (lost, full) = lost(50, 51);
    assert!(lost > 0 && full == 1);
}

#[test]
fn a_fill_that_arrives_while_a_store_awaits_the_persist_buffer_is_charged_no_stall() {
    let mut owner = Owner::warm(&roomy(StoreHold::NewEntries), &[64]);
    owner.answer = 400;
    owner.cycles(&stores(&[64, 200]));
    let of: Vec<_> = owner.lost.iter().map(|(_, lost, persist)| (*persist, *lost > 0)).collect();
    assert_eq!(of, [(false, false), (true, true), (true, true)]);
}

#[test]
fn a_store_across_two_32_byte_lines_enters_the_persist_buffer_once() {
    let mut config = roomy(StoreHold::EveryStore);
    config.l1d.line = ::units::Bytes(32);
    let mut owner = Owner::warm(&config, &[64, 65]);
    let across = |line| Op { touches: vec![touch(line, 28, 8, true)], ..store(1, line, 0) };
    let halves = Op { touches: vec![touch(65, 24, 8, true), touch(65, 32, 8, true)], ..store(1, 65, 0) };
    owner.cycles(&[across(64), store(1, 65, 0), halves, across(200), serial()]);
    assert_eq!(owner.lines().0, [64, 65, 65, 65, 200], "two touches are two, though they meet where lines are cut");
    assert_eq!(counted(&owner).stores, 5);
    let of = |op: Op| Owner::warm(&config, &[66]).cycles(&[op, serial()]);
    assert_eq!(of(across(66)), of(store(1, 66, 0)) + 14, "its upper half comes from L2, and is not written at once");
}

#[test]
fn a_store_waits_in_the_write_buffer_for_its_line_before_the_persist_buffer() {
    let mut config = roomy(StoreHold::Never);
    config.write_buffer = Some(4);
    let mut owner = Owner::warm(&config, &[64]);
    let cycles = owner.cycles(&stores(&[200]));
    config.persist_buffer = None;
    let without = Owner::warm(&config, &[64]).cycles(&stores(&[200]));
    assert!(cycles >= without + MEMORY, "{cycles} and {without}: L1D must have the line, not only accept the store");
}

#[test]
fn a_core_without_a_persist_buffer_sends_no_persist_request_and_has_no_such_statistics() {
    let mut owner = Owner::warm(&small(), &[64]);
    owner.cycles(&stores(&[64, 200]));
    assert!(owner.requests.is_empty());
    assert!(owner.bench.node.persist_buffer().is_none());
}

#[test]
fn functional_warming_leaves_the_persist_buffer_entries_of_detailed_simulation() {
    let mut random = Random::new(5);
    let lines: Vec<u64> = (0..300).map(|_| 64 + random.below(9)).collect();
    for (entries, from, to) in [(8, 6, 4), (2, 1, 0), (5, 5, 1)] {
        let config = with_buffer(entries, from, to, StoreHold::Never);
        let mut owner = Owner::warm(&config, &[]);
        lines.iter().for_each(|&line| owner.run(&stores(&[line])));
        let mut node = Node::new(&config);
        lines.iter().for_each(|&line| node.warm_data(&touch(line, 0, 8, true)));
        let described = |request: &PersistRequest| match *request {
            PersistRequest::Persist { line, allocates, .. } => (line, Some(allocates)),
            PersistRequest::Drain { line, .. } => (line, None),
        };
        let warmed: Vec<_> = node.persist_buffer_mut().unwrap().take_requests().collect();
        assert_eq!(
            warmed.iter().map(described).collect::<Vec<_>>(),
            owner.requests.iter().map(described).collect::<Vec<_>>()
        );
        assert_eq!(node.persist_buffer().unwrap().counts(), PersistCounts::default(), "what is skimmed is not counted");
    }
}

#[test]
fn random_programs_with_a_persist_buffer_keep_store_order_and_count_no_stall_twice() {
    let mut random = Random::new(77);
    for _ in 0..300 {
        let ops: Vec<Op> = (0..60)
            .map(|_| {
                let (register, other, line) = (random.below(6) as u8, random.below(6) as u8, 64 * random.below(9));
                match random.below(6) {
                    0 | 1 => store(register, line, 8 * random.below(7) as u8),
                    2 => alu(&[register], &[other]),
                    3 if random.below(6) == 0 => serial(),
                    3 => Op { code: CODE_LINE + random.below(3), ..alu(&[register], &[other]) },
                    _ => load(register, &[other], line, 0),
                }
            })
            .collect();
        let waits = [StoreHold::Never, StoreHold::NewEntries, StoreHold::EveryStore][random.below(3) as usize];
        let entries = 1 + random.below(5) as u32;
        let drain_from = 1 + random.below(entries.into()) as u32;
        let config = with_buffer(entries, drain_from, random.below(drain_from.into()) as u32, waits);
        let mut owner = Owner::warm(&config, &[]);
        (owner.answer, owner.drain) = (random.below(90), random.below(300));
        let start = owner.bench.clock();
        let cycles = owner.cycles(&ops);
        let mut reached = 0;
        for (cycle, lost, _) in owner.lost.iter().filter(|lost| lost.1 > 0) {
            assert!(cycle - lost >= reached, "at {cycle}: {lost} lost, counted to {reached}");
            reached = *cycle;
        }
        let (to_lines, to_persist) = owner.lost();
        assert!(to_lines + to_persist <= start + cycles);
        let written: Vec<u64> =
            ops.iter().flat_map(|op| &op.touches).filter(|touch| touch.store).map(|t| t.line.0).collect();
        assert_eq!(owner.lines().0, written);
    }
}
