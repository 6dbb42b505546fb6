//! Tests the chip without a run: states that no run should reach, and flushes. The tests carry the writes to memory.

use super::*;
use crate::testing::nop;
use isa::Instruction;
use machine::node::{Feed, NodeStep, Orders, PageKey, Request, RequestKind, Touch};
use std::collections::VecDeque;
use std::convert::Infallible;
use units::{Duration, Time};

const LINE: LineAddr = LineAddr(3);
const CODE: LineAddr = LineAddr(64);

/// Returns a chip with four cores on a mesh, which execute the flushes of their programs.
fn chip(executor: &sim::Executor, inclusion: Inclusion) -> Rc<Chip> {
    let mut machine = catalogue::machine("emcc-4core").unwrap();
    (machine.llc.inclusion, machine.node.flushes) = (inclusion, true);
    let shadow = Rc::new(RefCell::new(Shadow::new(machine.memory.size.0 / units::LINE_BYTES as u64)));
    Chip::new(executor.clock(), &machine, shadow)
}

#[test]
fn an_unverified_llc_line_without_a_decrypted_copy_in_an_l2_is_fetched_again() {
    let executor = sim::Executor::new();
    let chip = chip(&executor, Inclusion::Inclusive);
    chip.llc.fetched_unverified(LINE);
    assert!(!chip.look_up(LINE));
    chip.pass_by(LINE);
    assert!(chip.look_up(LINE), "memory gave it again, and the controller decrypted it");
    let LlcCounts { hits, misses, stranded, .. } = chip.llc.counts();
    assert_eq!((hits, misses, stranded), (1, 1, 1));
}

/// Instructions of one core, each with its touches and its persist ordering.
struct Script {
    instruction: Instruction,
    due: VecDeque<(Vec<Touch>, Option<Orders>)>,
    now: (Vec<Touch>, Option<Orders>),
}

fn touch(line: LineAddr, store: bool) -> Touch {
    Touch { page: PageKey(0), line, offset: 0, bytes: 8, store, persistent: true, past_caches: false }
}

impl Feed for Script {
    type Error = Infallible;

    fn next(&mut self) -> Result<Option<NodeStep<'_>>, Infallible> {
        let Some(now) = self.due.pop_front() else { return Ok(None) };
        self.now = now;
        Ok(Some(NodeStep {
            instruction: &self.instruction,
            code: touch(CODE, false),
            touches: &self.now.0,
            orders: self.now.1.as_ref(),
            tables: &[],
            next: None,
            switches_to: None,
        }))
    }
}

/// Executes the instructions on a core. Each requested line arrives immediately, and flushes go to the chip.
fn execute(executor: &mut sim::Executor, chip: &Rc<Chip>, core: usize, due: Vec<(Vec<Touch>, Option<Orders>)>) {
    let mut script = Script { instruction: nop(0x1000), due: due.into(), now: (Vec::new(), None) };
    loop {
        let mut out = chip.ports.take_outbox(core);
        let Ok(_) = chip.cores.nodes()[core].borrow_mut().run(&mut script, Time::NEVER, &mut out);
        if out.is_empty() {
            return;
        }
        for Request { at, line, word, kind } in out {
            if kind.is_flush() {
                chip.flush(at, core, line, kind == RequestKind::FlushAndEvict);
            } else if kind == RequestKind::PastCaches {
                chip.store_past_caches(at, core, line);
            } else {
                let clock = chip.clock.clone();
                chip.clock.spawn(async move { clock.sleep_until(at).await });
                executor.run();
                assert!(chip.claim(Miss { core, line, word, kind, left: at, in_l2: false }).is_some());
                chip.deliver(line, Duration::ZERO);
            }
        }
        executor.run();
    }
}

fn store(executor: &mut sim::Executor, chip: &Rc<Chip>, core: usize) {
    execute(executor, chip, core, vec![(vec![touch(LINE, true)], None)]);
    assert_eq!(chip.cores.nodes()[core].borrow().caches().dirty_lines(), [LINE]);
}

/// Returns a chip with the line in its last-level cache; its second core has stored to the line.
fn with_line_in_caches(executor: &mut sim::Executor) -> Rc<Chip> {
    let chip = chip(executor, Inclusion::Inclusive);
    store(executor, &chip, 1);
    chip.pass_by(LINE);
    chip
}

/// Flushes the line on a core, and then fences.
fn flush(executor: &mut sim::Executor, chip: &Rc<Chip>, core: usize) {
    let flush = Orders { flushes: vec![LINE], ..Orders::default() };
    let fence = Orders { fence: true, ..Orders::default() };
    execute(executor, chip, core, vec![(Vec::new(), Some(flush)), (Vec::new(), Some(fence))]);
}

/// Time of the core's last retirement; `Time::NEVER` while the core waits for its flush.
fn ends(chip: &Chip, core: usize) -> Time {
    chip.cores.nodes()[core].borrow().retired_at()
}

/// Carries the oldest waiting line to memory, as a writer does.
fn carry(chip: &Chip) {
    let line = chip.next_victim().unwrap();
    chip.put(line);
    chip.written(line);
}

#[test]
fn a_flush_writes_back_the_dirty_line_of_any_core_and_keeps_it_cached() {
    for (writer, flusher) in [(0, 0), (1, 0), (0, 3)] {
        let mut executor = sim::Executor::new();
        let chip = chip(&executor, Inclusion::Victim);
        store(&mut executor, &chip, writer);
        flush(&mut executor, &chip, flusher);
        assert_eq!((chip.llc.counts().writebacks, ends(&chip, flusher)), (1, Time::NEVER), "{flusher} of {writer}");
        let nodes = chip.cores.nodes();
        assert!(
            nodes[writer].borrow().caches().dirty_lines().is_empty() && nodes[writer].borrow().caches().holds(LINE)
        );
        carry(&chip);
        assert_ne!(ends(&chip, flusher), Time::NEVER);
    }
}

#[test]
fn an_evicting_flush_removes_the_line_from_every_cache() {
    for evicts in [false, true] {
        let mut executor = sim::Executor::new();
        let chip = with_line_in_caches(&mut executor);
        let flush = Orders { flushes: vec![LINE], evicts, ..Orders::default() };
        execute(&mut executor, &chip, 0, vec![(Vec::new(), Some(flush))]);
        assert_eq!(chip.llc.counts().writebacks, 1);
        let is_kept = chip.cores.nodes()[1].borrow().caches().holds(LINE) && chip.llc.holds(LINE);
        assert_eq!(is_kept, !evicts);
    }
}

#[test]
fn a_non_temporal_store_invalidates_the_line_in_every_cache_and_writes_it_once() {
    for on_its_way in [false, true] {
        let mut executor = sim::Executor::new();
        let chip = with_line_in_caches(&mut executor);
        let requested = on_its_way.then(|| {
            let mut load = Script {
                instruction: nop(0x1000),
                due: [(vec![touch(LINE, false)], None)].into(),
                now: (Vec::new(), None),
            };
            chip.pass_by(CODE);
            let mut out = Vec::new();
            let mut answers =
                |out: &mut Vec<Request>| chip.cores.nodes()[2].borrow_mut().run(&mut load, Time::NEVER, out);
            let Ok(_) = answers(&mut out);
            while let Some(Request { at, line, word, kind }) = out.pop() {
                chip.claim(Miss { core: 2, line, word, kind, left: at, in_l2: false });
                if line == CODE {
                    chip.deliver(line, Duration::ZERO);
                    executor.run();
                    out.append(&mut chip.ports.take_outbox(2));
                    let Ok(_) = answers(&mut out);
                }
            }
        });
        let halves = [0, 32].map(|offset| Touch { offset, bytes: 32, past_caches: true, ..touch(LINE, true) });
        execute(&mut executor, &chip, 0, vec![(halves.to_vec(), None)]);
        if requested.is_some() {
            assert_eq!(chip.llc.counts().past_caches, 0, "a line on its way arrives first");
            chip.deliver(LINE, Duration::ZERO);
            executor.run();
        }
        assert!(!chip.llc.holds(LINE) && chip.cores.nodes().iter().all(|node| !node.borrow().caches().holds(LINE)));
        assert_eq!((chip.llc.counts().past_caches, chip.llc.counts().writebacks), (1, 1));
        assert_eq!(chip.cores.nodes()[0].borrow().outstanding(), 1, "its buffer is taken until a writer has the line");
        carry(&chip);
        assert_eq!(chip.cores.nodes()[0].borrow().outstanding(), 0);
    }
}

#[test]
fn a_flush_completes_when_every_earlier_write_of_its_line_has_arrived() {
    for writes in 1..=3 {
        let mut executor = sim::Executor::new();
        let chip = chip(&executor, Inclusion::Victim);
        (0..writes).for_each(|_| chip.write_back(LINE));
        flush(&mut executor, &chip, 0);
        for arrived in 0..writes {
            assert_eq!(ends(&chip, 0), Time::NEVER, "{arrived} of {writes} have arrived");
            carry(&chip);
        }
        assert_ne!(ends(&chip, 0), Time::NEVER);
    }
}

#[test]
fn the_acknowledgement_of_a_flush_travels_from_memory_or_from_the_last_level_cache() {
    for from_memory in [false, true] {
        let mut executor = sim::Executor::new();
        let chip = chip(&executor, Inclusion::Victim);
        if from_memory {
            chip.write_back(LINE);
        }
        flush(&mut executor, &chip, 0);
        if from_memory {
            carry(&chip);
        }
        let behind = if from_memory { chip.latencies.distances.path } else { Duration::ZERO };
        let comes = chip.clock.now() + behind + chip.latencies.network.way(0, LINE);
        // Cycles from the end of the fence, which is the cycle of the answer, to the retirement of the fence.
        let cycles = chip.cores.nodes()[0].borrow().start_of(2).since(Time::ZERO);
        assert!((comes..=comes + cycles).contains(&ends(&chip, 0)), "{from_memory}: {comes:?}, {:?}", ends(&chip, 0));
    }
}

#[test]
fn a_line_that_leaves_before_its_store_has_left_the_store_queue_lacks_the_store() {
    for hits in [false, true] {
        let mut executor = sim::Executor::new();
        let mut machine = catalogue::machine("emcc-4core").unwrap();
        (machine.llc.inclusion, machine.node.reports_stores) = (Inclusion::Victim, true);
        let shadow = Rc::new(RefCell::new(Shadow::new(machine.memory.size.0 / units::LINE_BYTES as u64)));
        let chip = Chip::new(executor.clock(), &machine, shadow);
        let (missed, stored) = (LineAddr(9), if hits { LINE } else { LineAddr(10) });
        execute(&mut executor, &chip, 0, vec![(vec![touch(LINE, false)], None)]);
        let due = [missed, stored].map(|line| (vec![touch(line, true)], None));
        let mut stores = Script { instruction: nop(0x1000), due: due.into(), now: (Vec::new(), None) };
        let Ok(_) = chip.ports.collect(0, |out| chip.cores.nodes()[0].borrow_mut().run(&mut stores, Time::NEVER, out));
        chip.give_up(LINE);
        chip.send_out(LINE);
        carry(&chip);
        for Request { at, line, word, kind } in chip.ports.take_outbox(0) {
            let clock = chip.clock.clone();
            chip.clock.spawn(async move { clock.sleep_until(at).await });
            executor.run();
            chip.claim(Miss { core: 0, line, word, kind, left: at, in_l2: false });
            chip.deliver(line, Duration::ZERO);
        }
        executor.run();
        assert!(!chip.power.has_left_behind(LINE), "no store was taken up");
        [missed, stored].into_iter().for_each(|line| chip.power.taken_up(line));
        assert_eq!(chip.power.has_left_behind(LINE), hits);
    }
}
