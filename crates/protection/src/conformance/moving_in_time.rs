//! Permuted lines in timed runs: accesses that block each other end, and all runners leave the same memory.

use super::record_walks::{cryptopage_engines, cryptopage_memory};
use crate::execution::{AtOnce, Functional, OverflowLimits, Receiver, Timed, TimedMemory, Untimed, run_now};
use crate::layout::{Layout, Needs, with_records};
use crate::mac::{TagLayout, TagLocation};
use crate::media::Media;
use crate::moving::PermutationTime::{self, Charged, Free, IdleBus};
use crate::moving::{MovingLines, MovingPolicy, PageChunkLines, SmallCache};
use crate::planted::PlantedBug;
use crate::record::{LEAF_LINES, Records, SLOTS, WalkDesign};
use crate::scheme::Release;
use crate::slot::{Role, Slot, Untrusted};
use crate::verbs::{Fault, MemoryVerbs, Plaintext, Verbs};
use crypto::{Key, PAGE_CHUNK_LINE_BYTES};
use machine::channel::Channel;
use machine::memory::{MemorySystem, WordOrder};
use sim::Executor;
use sim::resource::WorkQueue;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use units::random::Random;
use units::{Duration, Line, LineAddr, LineLength, Time, ZERO_LINE};

const CHUNKS: u64 = 4;
const LINES: u64 = CHUNKS * SLOTS as u64;
/// Seed of the start-up content of functional machines.
const SEED: u64 = 5;

fn text(random: &mut Random) -> Line {
    let mut line = random.line();
    line[PAGE_CHUNK_LINE_BYTES..].fill(0);
    line
}

/// Released texts by line, and the last fault.
#[derive(Default)]
pub(super) struct ReleasedLines {
    released: RefCell<BTreeMap<LineAddr, Line>>,
    pub refused: Cell<Option<Fault>>,
    /// Queue of permutations for separate tasks, if the machine has these tasks.
    passed_on: OnceCell<WorkQueue<u64>>,
}

impl Receiver for ReleasedLines {
    fn released(&self, line: LineAddr, plaintext: &Plaintext) {
        self.released.borrow_mut().insert(line, plaintext.bytes);
    }

    fn fault(&self, fault: Fault) {
        self.refused.set(Some(fault));
    }

    fn takes_permutation(&self, chunk: u64) -> bool {
        self.passed_on.get().is_some_and(|queue| {
            queue.push(Time::ZERO, chunk);
            true
        })
    }

    fn start_up_content(&self, line: LineAddr) -> Line {
        Functional::booting(1, SEED).start_up_content(line).unwrap_or(ZERO_LINE)
    }
}

pub(super) fn layout(slots_per_tag: usize) -> Layout {
    let tags = Some(TagLayout::of(128, TagLocation::Inline, slots_per_tag as u64));
    let needs = Needs { lines_per_counter_line: None, tags, tree: None };
    let data = crate::layout::DataLines { count: LINES, length: LineLength::HALF };
    with_records(Layout::new(data, needs).unwrap(), SLOTS as u64, LEAF_LINES as u64)
}

/// Release policy, timing of permutations, and slots under one tag.
pub(super) type Handling = (Release, PermutationTime, usize);

/// Conditions of a machine with permuted lines.
#[derive(Clone, Copy)]
pub(super) struct Conditions {
    /// Maximum number of permutations under way at which another one begins in the background.
    pub at_once: usize,
    /// Limits on concurrent permutations, if there are any.
    pub limits: Option<OverflowLimits>,
    pub planted: PlantedBug,
}

impl Default for Conditions {
    fn default() -> Conditions {
        Conditions { at_once: MovingPolicy::AT_ONCE, limits: None, planted: PlantedBug::NONE }
    }
}

fn lines(
    layout: &Layout,
    cache: SmallCache,
    (release, time, slots_per_tag): Handling,
    Conditions { at_once, planted, .. }: Conditions,
) -> MovingLines {
    let records = Records::new(layout, &Key([1; 16]), Random::new(9), WalkDesign::default(), PlantedBug::NONE);
    let lines = PageChunkLines::sealed(&Key([2; 16]), &Key([3; 16]), slots_per_tag, PlantedBug::NONE);
    let policy = MovingPolicy { release, time, at_once, ..MovingPolicy::default() };
    MovingLines::new(records, lines, (Rc::new(cache), 3), policy, planted)
}

/// CryptoPage's machine on a clock.
pub(super) struct MovingMachine {
    pub executor: Executor,
    pub memory: Rc<TimedMemory>,
    pub seen: Rc<ReleasedLines>,
    pub lines: Rc<MovingLines>,
    pub channels: MemorySystem,
}

impl MovingMachine {
    pub fn new(cache: SmallCache, handling: Handling) -> MovingMachine {
        MovingMachine::under(cache, handling, Conditions::default())
    }

    /// Returns a machine under these conditions.
    pub fn under(cache: SmallCache, handling: Handling, conditions: Conditions) -> MovingMachine {
        let (executor, layout, seen) = (Executor::new(), layout(handling.2), Rc::new(ReleasedLines::default()));
        let channels: MemorySystem = Channel::start(executor.clock(), cryptopage_memory()).into();
        let channels = channels.handing_on(WordOrder::FromFirst);
        let memory = TimedMemory::new(
            executor.clock(),
            channels.clone(),
            layout.shape(),
            &cryptopage_engines(),
            true,
            seen.clone(),
        );
        memory.expect_power_loss();
        let memory = match conditions.limits {
            Some(limits) => memory.with_overflows(limits),
            None => memory,
        };
        let (memory, lines) = (Rc::new(memory), Rc::new(lines(&layout, cache, handling, conditions)));
        // The other lines boot at their first read.
        lines.boot(&AtOnce::new(&memory).verbs(), CHUNKS / 2);
        MovingMachine { executor, memory, seen, lines, channels }
    }

    /// Starts tasks that execute the permutations in the background.
    fn with_permuters(self) -> MovingMachine {
        let _ = self.seen.passed_on.set(WorkQueue::new(self.executor.clock()));
        for _ in 0..MovingPolicy::AT_ONCE {
            let (memory, seen, lines) = (self.memory.clone(), self.seen.clone(), self.lines.clone());
            self.executor.clock().spawn(async move {
                while let Some(queue) = seen.passed_on.get() {
                    let chunk = queue.next().await;
                    lines.permutation_requests().permute_passed_on(&Timed::new(&memory), chunk).await;
                }
            });
        }
        self
    }
}

/// Runs as many readers as CryptoPage's load and store queue has entries. Page chunks block each other in the cache
/// sets.
#[test]
fn concurrent_accesses_to_full_cache_sets_of_locked_lines_end_and_read_right() {
    const TASKS: u64 = 64;
    let shapes = [
        (16, 2, (Release::Verified, Charged, 1)),
        (4, 8, (Release::Speculative, Charged, 2)),
        (64, 3, (Release::Speculative, Charged, 1)),
        (16, 3, (Release::Speculative, Free, 1)),
        (16, 2, (Release::Verified, Charged, 4)),
        (16, 3, (Release::Verified, Free, 4)),
        (16, 2, (Release::Verified, IdleBus, 1)),
        (4, 8, (Release::Speculative, IdleBus, 2)),
        (64, 3, (Release::Verified, IdleBus, 4)),
    ];
    for ((sets, ways, handling), has_permuters) in shapes.iter().flat_map(|shape| [(*shape, false), (*shape, true)]) {
        let machine = MovingMachine::new(SmallCache::new(sets, ways), handling);
        let machine = if has_permuters { machine.with_permuters() } else { machine };
        let MovingMachine { mut executor, memory, seen, lines, .. } = machine;
        let (left, wrong) = (Rc::new(Cell::new(TASKS)), Rc::new(RefCell::new(Vec::new())));
        for task in 0..TASKS {
            let (memory, seen, lines) = (memory.clone(), seen.clone(), lines.clone());
            let (left, wrong, clock) = (left.clone(), wrong.clone(), executor.clock().clone());
            executor.clock().spawn(async move {
                let (mut random, mut stored) = (Random::new(task), BTreeMap::new());
                for _ in 0..18 {
                    let own = LineAddr(random.below(LINES / TASKS) * TASKS + task);
                    clock.sleep(Duration::from_ns(random.below(50))).await;
                    match random.below(4) {
                        3 => {
                            let verbs = Timed::new(&memory);
                            assert!(lines.acquire_record(&verbs, own).await);
                            clock.sleep(Duration::from_ns(random.below(9_000))).await;
                            lines.release_record(own);
                        }
                        0 => {
                            let line = text(&mut random);
                            lines.write(&Timed::new(&memory), own, &line).await;
                            stored.insert(own, line);
                        }
                        1 => lines.read(&Timed::new(&memory), LineAddr(random.below(LINES))).await,
                        _ => {
                            lines.read(&Timed::new(&memory), own).await;
                            let found = seen.released.borrow().get(&own).copied();
                            if stored.get(&own).is_some_and(|stored| found != Some(*stored)) {
                                wrong.borrow_mut().push(own);
                            }
                        }
                    }
                }
                left.set(left.get() - 1);
            });
        }
        assert!(executor.run_until(|| left.get() == 0), "{} tasks wait for ever", left.get());
        executor.run();
        assert_eq!(lines.permutation_requests().under_way(), 0, "no permutation is left under way");
        assert_eq!((seen.refused.get(), wrong.take()), (None, Vec::new()));
        let counted = lines.counted();
        assert!(counted.permutations > 30, "{counted:?}");
        assert_eq!((counted.twice, counted.incomplete), (0, 0), "{counted:?}");
        assert_eq!(memory.ledger().and_then(|ledger| ledger.reuse()), None, "{sets} sets of {ways} ways, {handling:?}");
    }
}

/// A fixed sequence of accesses, one after the other.
async fn accesses<V: Verbs>(lines: &MovingLines, verbs: &V) {
    let mut random = Random::new(8);
    for _ in 0..300 {
        let line = LineAddr(random.below(LINES));
        match random.below(3) {
            0 => lines.write(verbs, line, &text(&mut random)).await,
            _ => lines.read(verbs, line).await,
        }
    }
    lines.flush(verbs).await;
}

#[test]
fn functional_and_timed_runs_of_permuted_lines_leave_equal_memory() {
    [1, 2, 4].into_iter().for_each(leave_the_same_memory);
}

/// Compares the runners, with `slots_per_tag` slots under one tag.
fn leave_the_same_memory(slots_per_tag: usize) {
    let layout = layout(slots_per_tag);
    let content = |media: &Media| (0..layout.total_lines()).map(|slot| media.read(Slot(slot))).collect::<Vec<_>>();
    let cache = || SmallCache::new(32, 3);
    let functional = Functional::booting(layout.total_lines(), SEED);
    let without_time = lines(&layout, cache(), (Release::Verified, Charged, slots_per_tag), Conditions::default());
    without_time.boot(&functional.verbs(), CHUNKS / 2);
    run_now(accesses(&without_time, &functional.verbs()));
    let expected = content(&functional.media.borrow());

    let at_once = MovingMachine::new(cache(), (Release::Verified, Charged, slots_per_tag));
    run_now(accesses(&at_once.lines, &AtOnce::new(&at_once.memory).verbs()));
    assert!(content(&at_once.memory.after_power_loss().0) == expected, "at once");

    for time in [Charged, IdleBus, Free] {
        let MovingMachine { mut executor, memory, lines, seen, .. } =
            MovingMachine::new(cache(), (Release::Speculative, time, slots_per_tag));
        let (over, ended) = (Rc::new(Cell::new(false)), memory.clone());
        let ends = over.clone();
        executor.clock().spawn(async move {
            accesses(&lines, &Timed::new(&ended)).await;
            ends.set(true);
        });
        assert!(executor.run_until(|| over.get()) && seen.refused.get().is_none());
        assert!(content(&memory.after_power_loss().0) == expected, "on the clock, {time:?}");
    }
}

/// Lines boot under one tag while reads of other lines under the tag are in flight.
#[test]
fn first_reads_of_lines_under_a_shared_tag_succeed_during_reads_of_its_other_lines() {
    const READS: u64 = 64;
    for slots_per_tag in [1, 2, 4] {
        for apart in [0, 3, 7, 40] {
            let handling = (Release::Verified, Charged, slots_per_tag);
            let MovingMachine { mut executor, memory, seen, lines, .. } =
                MovingMachine::new(SmallCache::new(64, 8), handling);
            let first = LINES - SLOTS as u64;
            run_now(lines.acquire_record(&AtOnce::new(&memory).verbs(), LineAddr(first)));
            let left = Rc::new(Cell::new(READS));
            for read in 0..READS {
                let (memory, lines, left, clock) =
                    (memory.clone(), lines.clone(), left.clone(), executor.clock().clone());
                executor.clock().spawn(async move {
                    clock.sleep(Duration::from_ns(read * apart)).await;
                    lines.read(&Timed::new(&memory), LineAddr(first + read)).await;
                    left.set(left.get() - 1);
                });
            }
            assert!(executor.run_until(|| left.get() == 0), "{slots_per_tag} slots, {apart} ns apart");
            assert_eq!(seen.refused.get(), None, "{slots_per_tag} slots, {apart} ns apart");
        }
    }
}

/// A line is released before its verdict, and the verdict is bad. A permutation that begins before the verdict writes
/// no line.
#[test]
fn a_permutation_writes_no_line_before_the_verdict_of_a_speculatively_released_line() {
    for time in [Charged, Free] {
        let handling = (Release::Speculative, time, 1);
        let MovingMachine { mut executor, memory, seen, lines, .. } =
            MovingMachine::new(SmallCache::new(64, 8), handling);
        let at_once = AtOnce::new(&memory);
        // All of page chunk 0 is in the cache, so its permutation reads no slot. The record of page chunk 1 is on the
        // chip.
        (0..SLOTS as u64).for_each(|line| run_now(lines.read(&at_once.verbs(), LineAddr(line))));
        let forged = LineAddr(SLOTS as u64);
        assert!(run_now(lines.acquire_record(&at_once.verbs(), forged)));
        let slot = run_now(lines.slot_of(&at_once.verbs(), forged)).unwrap();
        at_once.verbs().boot(slot, Role::Data, |_| Untrusted::from([7; 64]));
        let content = || (0..SLOTS as u64).map(|slot| memory.after_power_loss().0.read(Slot(slot))).collect::<Vec<_>>();
        let (before, over) = (content(), Rc::new(Cell::new(false)));
        let (clock, ends) = (executor.clock().clone(), over.clone());
        let (reading, permuting) = ((memory.clone(), lines.clone()), (memory.clone(), lines.clone()));
        executor.clock().spawn(async move { reading.1.read(&Timed::new(&reading.0), forged).await });
        executor.clock().spawn(async move {
            // The line is decrypted at 96 ns and refused at 107 ns.
            clock.sleep(Duration::from_ns(100)).await;
            permuting.1.permute_chunk_of(&Timed::new(&permuting.0), LineAddr(0)).await;
            ends.set(true);
        });
        assert!(executor.run_until(|| over.get()), "{time:?}");
        assert!(
            matches!(seen.refused.get(), Some(Fault::Tainted(_) | Fault::Tag(_))),
            "{time:?}: {:?}",
            seen.refused.get()
        );
        assert!(content() == before, "{time:?}: a permutation writes before a bad verdict");
    }
}
