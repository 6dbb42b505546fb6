//! Compares the cores with a flat memory, for random accesses to a few lines and random interleavings of their
//! requests. A line has one writer or many readers, every read returns the latest write, and no write is lost.

mod below;

use self::below::LastLevel;
use super::*;
use crate::node::{CacheConfig, Feed, NodeStep, PageKey, Pause, Touch};
use isa::{Class, Flow, Instruction};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::convert::Infallible;
use units::{Bytes, Duration, VirtAddr};

/// Lines of data: more than L1D holds, but few enough that accesses collide.
const LINES: u64 = 12;
const CODE: LineAddr = LineAddr(LINES);

/// Planted bugs of the coherence protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Planted {
    Nothing,
    /// One of the cores that must drop a line keeps it.
    SkippedInvalidation,
    /// The data that a core had written is dropped when another core reads it.
    LostDowngrade,
    /// A line that an L2 verifies enters the last-level cache unmarked.
    MarkForgotten,
    /// The last-level cache ignores clean copies from cores.
    MarkKept,
    /// An L2 forgets that it has the only decrypted copy of a line.
    CleanVictimForgotten,
    /// An L2 still believes that it has the only decrypted copy of a line, after another core has read that copy.
    CleanVictimRemembered,
}

/// A feed of one load or store.
struct Once {
    instruction: Instruction,
    touch: Touch,
    due: bool,
}

impl Once {
    fn new(line: LineAddr, upper: bool, store: bool) -> Once {
        let instruction = Instruction {
            pc: VirtAddr(0x1000),
            bytes: 4,
            class: Class::IntAlu,
            flow: Flow::Next,
            persist: Default::default(),
            address_sources: Default::default(),
            sources: Default::default(),
            destinations: Default::default(),
        };
        let offset = if upper { 32 } else { 0 };
        Once { instruction, touch: Touch { offset, ..touch(line, store) }, due: true }
    }
}

fn touch(line: LineAddr, store: bool) -> Touch {
    Touch { page: PageKey(0), line, offset: 0, bytes: 8, store, persistent: true, past_caches: false }
}

impl Feed for Once {
    type Error = Infallible;

    fn next(&mut self) -> Result<Option<NodeStep<'_>>, Infallible> {
        let step = NodeStep {
            instruction: &self.instruction,
            code: touch(CODE, false),
            touches: std::slice::from_ref(&self.touch),
            orders: None,
            tables: &[],
            next: None,
            switches_to: None,
        };
        Ok(std::mem::take(&mut self.due).then_some(step))
    }

    fn has_ended(&self) -> bool {
        false
    }
}

/// Event of a random program of several cores.
#[derive(Clone, Copy, Debug)]
enum Action {
    /// An idle core begins an access.
    Access { core: usize, line: u64, upper: bool, store: bool },
    /// One of the outstanding requests arrives at the last-level cache.
    Handle(usize),
    /// One of the lines on their way to a core arrives; if it is from memory, it is verified in the controller or in an
    /// L2.
    Answer { which: usize, in_l2: bool },
    /// The last-level cache makes room, and recalls the line from all cores.
    Recall(u64),
}

/// Content of each copy of a line: the number of the latest write that the copy contains.
#[derive(Default)]
struct Values {
    /// Content of each line after all writes in coherence order, which every read must return.
    flat: BTreeMap<LineAddr, u64>,
    /// Content in the last-level cache or in memory.
    below: BTreeMap<LineAddr, u64>,
    /// Content of each core's private caches.
    copies: Vec<BTreeMap<LineAddr, u64>>,
    writes: u64,
}

fn at(values: &BTreeMap<LineAddr, u64>, line: LineAddr) -> u64 {
    values.get(&line).copied().unwrap_or(0)
}

/// A line on its way to a core.
struct Granted {
    core: usize,
    line: LineAddr,
    permission: Permission,
    from_memory: bool,
}

struct Harness {
    domain: CoherenceDomain,
    planted: Planted,
    now: Time,
    /// The current access of each core: its line, whether it is in the upper half, and whether it is a store.
    doing: Vec<Option<(LineAddr, bool, bool)>>,
    requests: Vec<(usize, Request)>,
    granted: Vec<Granted>,
    values: Values,
    last_level: Option<LastLevel>,
}

type Verdict = Result<(), String>;

impl Harness {
    fn new(cores: usize, short_lines: bool, planted: Planted) -> Harness {
        let mut config = NodeConfig::modern();
        let cache = |lines: u64, ways| CacheConfig { size: Bytes(lines * 64), ways, ..NodeConfig::modern().l1d };
        (config.l1d, config.l2, config.l1i) = (cache(4, 2), cache(8, 2), cache(4, 2));
        if short_lines {
            (config.l1d.line, config.l1i.line) = (Bytes(32), Bytes(32));
        }
        Harness {
            domain: CoherenceDomain::new(&config, cores, LINES + 1),
            planted,
            now: Time::ZERO,
            doing: vec![None; cores],
            requests: Vec::new(),
            granted: Vec::new(),
            values: Values { copies: vec![BTreeMap::new(); cores], ..Values::default() },
            last_level: None,
        }
    }

    fn act(&mut self, action: Action) -> Verdict {
        self.now += Duration::from_ns(100);
        match action {
            Action::Access { core, line, upper, store } if self.doing[core].is_none() => {
                self.begin(core, LineAddr(line), upper, store)?
            }
            Action::Handle(which) if !self.requests.is_empty() => self.handle(which % self.requests.len())?,
            Action::Answer { which, in_l2 } if !self.granted.is_empty() => {
                self.answer(which % self.granted.len(), in_l2)?
            }
            Action::Recall(line) => self.recall(LineAddr(line)),
            _ => {}
        }
        self.check_single_writer()
    }

    fn begin(&mut self, core: usize, line: LineAddr, upper: bool, store: bool) -> Verdict {
        self.doing[core] = Some((line, upper, store));
        let mut out = Vec::new();
        let mut node = self.domain.nodes()[core].borrow_mut();
        node.resume(self.now);
        let mut feed = Once::new(line, upper, store);
        let mut pause = node.run(&mut feed, Time::NEVER, &mut out).unwrap_or_else(|never| match never {});
        if pause == Pause::Blocked {
            assert!(node.outstanding() > 0, "it waits for its code");
            pause = Pause::Idle;
        }
        assert_eq!(pause, Pause::Idle);
        drop(node);
        self.send(core, out)?;
        self.perform(core)
    }

    /// Sends requests. Evicted lines arrive below L2 at once, as no request may overtake them.
    fn send(&mut self, core: usize, out: Vec<Request>) -> Verdict {
        for request in out {
            match request.kind {
                RequestKind::WriteBack => {
                    let written = at(&self.values.copies[core], request.line);
                    self.values.below.insert(request.line, written);
                    self.comes_down(request.line, true);
                }
                RequestKind::CleanVictim => self.comes_down_clean(request.line)?,
                _ => self.requests.push((core, request)),
            }
        }
        Ok(())
    }

    fn handle(&mut self, which: usize) -> Verdict {
        let (core, Request { line, kind, .. }) = self.requests[which];
        if self.granted.iter().any(|granted| granted.line == line) {
            return Ok(());
        }
        self.requests.swap_remove(which);
        let spared = self.spared(core);
        let claim = self.domain.claim(core, line, kind);
        match (self.planted, claim.supplier) {
            (Planted::SkippedInvalidation, _) if kind != RequestKind::Read => {
                if let Some((spared, before)) = spared.filter(|(spared, _)| claim.probed.contains(*spared)) {
                    *self.domain.nodes()[spared].borrow_mut() = before;
                }
            }
            (Planted::LostDowngrade, _) => {}
            (_, LineSupplier::Core { core: holder, dirty: true }) => {
                let written = at(&self.values.copies[holder], line);
                self.values.below.insert(line, written);
            }
            _ => {}
        }
        let from_memory = self.comes_from_memory(line, claim.supplier)?;
        self.granted.push(Granted { core, line, permission: claim.permission, from_memory });
        Ok(())
    }

    /// Copies another core in its state before the claim, so that a planted bug can restore the core afterwards.
    fn spared(&self, core: usize) -> Option<(usize, Node)> {
        let spared = (core + 1) % self.doing.len();
        (self.planted == Planted::SkippedInvalidation).then(|| (spared, self.domain.nodes()[spared].borrow().clone()))
    }

    fn answer(&mut self, which: usize, in_l2: bool) -> Verdict {
        let Granted { core, line, permission, from_memory } = self.granted.swap_remove(which);
        self.comes_by(core, line, from_memory, in_l2);
        let has_it = self.domain.nodes()[core].borrow().caches().permission(line).is_some();
        // A core may request the missing part of a line after it changed another part.
        if !has_it {
            let found = at(&self.values.below, line);
            self.values.copies[core].insert(line, found);
        }
        // Lines that are evicted to make room are written back with their current value.
        let mut out = Vec::new();
        self.domain.answer(core, line, self.now, permission, &mut out);
        self.perform(core)?;
        self.send(core, out)
    }

    fn recall(&mut self, line: LineAddr) {
        if self.granted.iter().all(|granted| granted.line != line) {
            self.is_dropped(line);
            self.recalled(line);
        }
    }

    /// Recalls a line from all cores, and writes dirty data below.
    fn recalled(&mut self, line: LineAddr) {
        if let Some(core) = self.domain.recall(line) {
            let written = at(&self.values.copies[core], line);
            self.values.below.insert(line, written);
        }
    }

    /// Completes the access of a core with no outstanding request.
    fn perform(&mut self, core: usize) -> Verdict {
        let Some((line, upper, store)) = self.doing[core] else { return Ok(()) };
        let quiet = {
            let mut node = self.domain.nodes()[core].borrow_mut();
            let mut out = Vec::new();
            if node.outstanding() == 0 {
                // The core may have waited for the code of the instruction.
                let mut feed = Once { due: false, ..Once::new(line, upper, store) };
                let _ = node.run(&mut feed, Time::NEVER, &mut out).unwrap_or_else(|never| match never {});
            }
            let quiet = node.outstanding() == 0;
            drop(node);
            self.send(core, out)?;
            quiet
        };
        if !quiet {
            return Ok(());
        }
        self.doing[core] = None;
        if store {
            self.values.writes += 1;
            self.values.copies[core].insert(line, self.values.writes);
            self.values.flat.insert(line, self.values.writes);
        } else {
            let (seen, written) = (at(&self.values.copies[core], line), at(&self.values.flat, line));
            if seen != written {
                return Err(format!("core {core} read {line} as of write {seen}, and the latest is {written}"));
            }
        }
        Ok(())
    }

    fn check_single_writer(&self) -> Verdict {
        for line in (0..=LINES).map(LineAddr) {
            let held = self.domain.nodes().iter().filter_map(|node| node.borrow().caches().permission(line));
            let held: Vec<Permission> = held.collect();
            if held.len() > 1 && held.contains(&Permission::Exclusive) {
                return Err(format!("{line} has a writer and {} others", held.len() - 1));
            }
        }
        Ok(())
    }

    /// Performs all actions, then drains all requests.
    fn run(mut self, actions: &[Action]) -> Verdict {
        actions.iter().try_for_each(|action| self.act(*action))?;
        self.finish()
    }

    /// Delivers all outstanding lines and writes back all dirty lines. The memory must then equal the flat memory.
    fn finish(&mut self) -> Verdict {
        for _ in 0..10_000 {
            if self.doing.iter().all(Option::is_none) {
                break;
            }
            self.act(Action::Handle(0))?;
            self.act(Action::Answer { which: 0, in_l2: true })?;
            let next = self.requests.len().min(1);
            self.requests.rotate_left(next);
        }
        assert!(self.doing.iter().all(Option::is_none), "the cores wait for ever");
        for core in 0..self.doing.len() {
            for line in self.domain.nodes()[core].borrow().caches().dirty_lines() {
                self.values.below.insert(line, at(&self.values.copies[core], line));
            }
        }
        let lost = self.values.flat.iter().find(|(line, written)| at(&self.values.below, **line) != **written);
        lost.map_or(Ok(()), |(line, written)| Err(format!("write {written} to {line} was lost")))
    }
}

fn some_actions(cores: usize) -> impl Strategy<Value = Vec<Action>> {
    let access = (0..cores, 0..LINES, any::<bool>(), any::<bool>())
        .prop_map(|(core, line, upper, store)| Action::Access { core, line, upper, store });
    let action = prop_oneof![
        8 => access,
        8 => (0..64usize).prop_map(Action::Handle),
        8 => (0..64usize, any::<bool>()).prop_map(|(which, in_l2)| Action::Answer { which, in_l2 }),
        1 => (0..LINES).prop_map(Action::Recall),
    ];
    prop::collection::vec(action, 1..400)
}

fn run(cores: usize, short_lines: bool, planted: Planted, actions: &[Action]) -> Verdict {
    Harness::new(cores, short_lines, planted).run(actions)
}

proptest! {
    #[test]
    fn coherent_caches_of_two_cores_read_as_a_flat_memory(actions in some_actions(2)) {
        prop_assert_eq!(run(2, false, Planted::Nothing, &actions), Ok(()));
    }

    #[test]
    fn coherent_caches_of_four_cores_read_as_a_flat_memory(actions in some_actions(4)) {
        prop_assert_eq!(run(4, false, Planted::Nothing, &actions), Ok(()));
    }

    #[test]
    fn coherent_caches_with_32_byte_l1d_lines_read_as_a_flat_memory(actions in some_actions(2)) {
        prop_assert_eq!(run(2, true, Planted::Nothing, &actions), Ok(()));
    }
}

/// Returns true if random programs find a planted bug.
fn is_found(planted: Planted) -> bool {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let found = runner.run(&some_actions(2), |actions| run(2, false, planted, &actions).map_err(TestCaseError::fail));
    found.is_err()
}

#[test]
fn the_coherence_test_finds_a_planted_skipped_invalidation() {
    assert!(is_found(Planted::SkippedInvalidation));
}

#[test]
fn the_coherence_test_finds_a_planted_write_lost_in_a_downgrade() {
    assert!(is_found(Planted::LostDowngrade));
}
