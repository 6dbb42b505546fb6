//! Walks for TLB misses that meet permutations, in timed runs. A record that leaves the tree's lock is decrypted before
//! the chip keeps it; meanwhile a permutation of the page chunk must not replace the record in memory. A permutation of
//! another page chunk changes nodes that the walk of an operating system has loaded.

use super::moving_in_time::{ReleasedLines, layout};
use super::record_walks::{cryptopage_engines, cryptopage_memory, two_writes_at_once};
use super::{Checked, hold};
use crate::execution::{AtOnce, Engine, Timed, TimedMemory, Untimed, run_now};
use crate::moving::{MovingLines, MovingPolicy, PageChunkLines, SmallCache};
use crate::planted::PlantedBug;
use crate::record::{MerkleCacheDesign, Records, SLOTS, WalkDesign};
use crypto::Key;
use machine::channel::Channel;
use machine::memory::{MemorySystem, WordOrder};
use sim::Executor;
use std::cell::Cell;
use std::rc::Rc;
use units::random::Random;
use units::{Duration, LineAddr};

/// Permutations of a run; several of them meet a walk at the moment that the check needs.
const PERMUTATIONS: usize = 48;
/// Latency of an AES unit that is slower than the write of a record with its path, in nanoseconds.
const SLOW_NS: u64 = 20_000;

/// A chip with a TLB, on a clock.
struct TlbMachine {
    executor: Executor,
    memory: Rc<TimedMemory>,
    seen: Rc<ReleasedLines>,
    lines: Rc<MovingLines>,
}

impl TlbMachine {
    /// Creates a machine with AES units of this latency. The operating system walks if `by_system` is set.
    fn new(aes_ns: u64, by_system: bool, planted: PlantedBug) -> TlbMachine {
        let (executor, layout, seen) = (Executor::new(), layout(1), Rc::new(ReleasedLines::default()));
        let channels: MemorySystem = Channel::start(executor.clock(), cryptopage_memory()).into();
        let channels = channels.handing_on(WordOrder::FromFirst);
        let mut engines = cryptopage_engines();
        engines.aes = Engine { units: 1, latency_ns: aes_ns as f64, interval_ns: 1.0 }.into();
        let memory = TimedMemory::new(executor.clock(), channels, layout.shape(), &engines, true, seen.clone());
        let walks = WalkDesign {
            merkle_cache: MerkleCacheDesign { entries: 8, in_pairs: true },
            verification_buffer: if by_system { 4 } else { 0 },
            ..WalkDesign::default()
        };
        let records = Records::new(&layout, &Key([1; 16]), Random::new(9), walks, planted);
        let sealed = PageChunkLines::sealed(&Key([2; 16]), &Key([3; 16]), 1, planted);
        let cache = Rc::new(SmallCache::new(64, 8));
        let lines = MovingLines::new(records, sealed, (cache, 3), MovingPolicy::default(), planted);
        let machine = TlbMachine { executor, memory: Rc::new(memory), seen, lines: Rc::new(lines) };
        // The records of the page chunks are in memory, and not on the chip.
        for chunk in 0..2 {
            run_now(
                machine.lines.permute_chunk_of(&AtOnce::new(&machine.memory).verbs(), LineAddr(chunk * SLOTS as u64)),
            );
        }
        machine.lines.forget_records();
        machine
    }

    /// Permutes page chunk 0 several times, and reads one of its lines `pause_ns` after each permutation. Meanwhile a
    /// TLB requests the page of `missed` again and again, and holds it for `held_ns` or up to twice as long, so that
    /// walks meet permutations at different moments. Returns the number of requests.
    fn run(&mut self, missed: LineAddr, (pause_ns, held_ns): (u64, u64)) -> Result<u64, String> {
        let over = Rc::new(Cell::new(false));
        let (memory, lines, clock, ends) =
            (self.memory.clone(), self.lines.clone(), self.executor.clock().clone(), over.clone());
        self.executor.clock().spawn(async move {
            let verbs = Timed::new(&memory);
            for line in (0..PERMUTATIONS as u64).map(LineAddr) {
                lines.permute_chunk_of(&verbs, line).await;
                clock.sleep(Duration::from_ns(pause_ns)).await;
                lines.read(&verbs, line).await;
            }
            ends.set(true);
        });
        let requests = Rc::new(Cell::new(0));
        let (memory, lines, clock) = (self.memory.clone(), self.lines.clone(), self.executor.clock().clone());
        let (ends, counted) = (over.clone(), requests.clone());
        self.executor.clock().spawn(async move {
            while !ends.get() {
                if lines.acquire_record(&Timed::new(&memory), missed).await {
                    clock.sleep(Duration::from_ns(held_ns + counted.get() % 7 * held_ns / 6)).await;
                    lines.release_record(missed);
                    // The next request walks again.
                    lines.forget_records();
                }
                counted.set(counted.get() + 1);
            }
        });
        hold(self.executor.run_until(|| over.get()), || "a permutation waits for a walk for ever".into())?;
        Ok(requests.get())
    }
}

/// Checks walks for TLB misses against permutations of the same page chunk, and of its neighbour, and writes of records
/// against each other.
pub fn check(planted: PlantedBug) -> Checked {
    [true, false].into_iter().try_for_each(|by_system| meets_permutations(by_system, planted))?;
    two_writes_at_once(planted)
}

/// Checks the walks of an operating system by LoadNode and HashCheck, or those of the hardware.
fn meets_permutations(by_system: bool, planted: PlantedBug) -> Checked {
    let mut machine = TlbMachine::new(SLOW_NS, by_system, planted);
    let requests = machine.run(LineAddr(200), (SLOW_NS, SLOW_NS + SLOW_NS / 4))?;
    let fault = machine.seen.refused.take();
    hold(fault.is_none(), || format!("a TLB keeps a record from before a permutation: {fault:?}"))?;
    hold(requests >= PERMUTATIONS as u64 / 2, || format!("only {requests} walks"))?;

    let mut machine = TlbMachine::new(11, by_system, planted);
    let requests = machine.run(LineAddr(SLOTS as u64), (0, 1))?;
    let fault = machine.seen.refused.take();
    hold(fault.is_none(), || format!("an honest walk is refused while a record is written: {fault:?}"))?;
    hold(requests >= 4 * PERMUTATIONS as u64, || format!("only {requests} walks"))
}

#[test]
fn walks_for_tlb_misses_that_meet_permutations_bring_the_present_record() {
    assert_eq!(check(PlantedBug::NONE), Ok(()));
}

/// The results of an interval are the difference between two counts, so no count may ever decrease.
#[test]
fn the_number_of_record_walks_never_decreases_while_a_hit_in_the_merkle_cache_waits_for_a_commit() {
    for by_system in [true, false] {
        let TlbMachine { mut executor, memory, lines, .. } = TlbMachine::new(11, by_system, PlantedBug::NONE);
        let (over, decreases) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(0)));
        let (timed, permuted, ends) = (Timed::new(&memory), lines.clone(), over.clone());
        executor.clock().spawn(async move {
            for line in (0..4).map(LineAddr) {
                permuted.permute_chunk_of(&timed, line).await;
            }
            ends.set(true);
        });
        let (timed, acquired, ends) = (Timed::new(&memory), lines.clone(), over.clone());
        executor.clock().spawn(async move {
            // The first walk fetches the record; then the Merkle cache has it.
            while !ends.get() && acquired.acquire_record(&timed, LineAddr(SLOTS as u64)).await {
                acquired.release_record(LineAddr(SLOTS as u64));
            }
        });
        let (clock, watched, ends, decreased) =
            (executor.clock().clone(), lines.clone(), over.clone(), decreases.clone());
        executor.clock().spawn(async move {
            let mut before = 0;
            while !ends.get() {
                let now = watched.counted().walks.records;
                decreased.set(decreased.get() + u32::from(now < before));
                before = now;
                clock.sleep(Duration::from_ns(1)).await;
            }
        });
        assert!(executor.run_until(|| over.get()), "a permutation waits for ever");
        let walks = lines.counted().walks;
        assert!(walks.hits.records > 100 && walks.records < 10, "{walks:?}");
        assert_eq!(decreases.get(), 0, "by the operating system: {by_system}");
    }
}

#[cfg(feature = "planted-bugs")]
#[test]
fn the_walks_of_hardware_and_of_an_operating_system_both_need_the_lock_of_the_page_chunk() {
    let planted = PlantedBug::new(crate::planted::PageChunkBug::TlbWalkUnlocked.into());
    for by_system in [true, false] {
        let found = meets_permutations(by_system, planted);
        assert!(found.is_err_and(|found| found.contains("a record from before a permutation")), "{by_system}");
    }
}
