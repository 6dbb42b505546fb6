//! Contract of processes that share a memory with permuted lines. Each process reads its lines as it stored them, and
//! the chip keeps no state of a process with its context in memory.

use super::moving_memory::{CHUNKS, CONTEXTS, Moving, text};
use super::{Checked, hold};
use crate::execution::{Untimed, run_now};
use crate::moving::{
    ContextError, ContextsDesign, LockingCache, ProcessId, ProcessPageChunks, ProcessPort, SmallCache,
};
use crate::planted::PlantedBug;
use crate::record::SLOTS;
use crate::release::Release;
use crate::slot::{Kind, Slot, Untrusted};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use units::random::Random;
use units::{Line, LineAddr};

/// One page chunk belongs to each process, and the last page chunk to all of them.
struct Owners;

const PROCESSES: u32 = CHUNKS as u32 - 1;
const SHARED: u64 = CHUNKS - 1;

impl ProcessPageChunks for Owners {
    fn chunks_of(&self, ProcessId(process): ProcessId) -> BTreeSet<u64> {
        [process.into(), SHARED].into()
    }

    fn mapped(&self) -> BTreeSet<u64> {
        (0..CHUNKS).collect()
    }
}

/// A memory with contexts, and the cache that its lines are locked in.
struct SharedMemory {
    memory: Moving,
    cache: Rc<SmallCache>,
}

impl SharedMemory {
    fn new(buffers: usize, planted: PlantedBug) -> SharedMemory {
        let cache = Rc::new(SmallCache::new(64, 3));
        let mut memory = Moving::behind(cache.clone(), Release::Verified, 1, planted);
        let design = ContextsDesign { buffers, outside: CONTEXTS as usize };
        let first = memory.layout.region(Kind::Contexts).map_or(0, |region| region.base);
        memory.lines = memory.lines.with_contexts(design, (Random::new(11), 12), Slot(first));
        SharedMemory { memory, cache }
    }

    fn processes(&self) -> ProcessPort<'_> {
        self.memory.lines.processes().unwrap_or_else(|| panic!("the memory has contexts"))
    }

    fn switch(&self, process: u32) -> Result<(), ContextError> {
        run_now(self.processes().switch(&self.memory.functional.verbs(), ProcessId(process), &Owners))
    }

    /// The slots of the context in an entry of memory.
    fn context_slots(&self, entry: u64) -> Vec<Slot> {
        let lines = ContextsDesign::LINES_PER_CONTEXT;
        let first = self.memory.layout.region(Kind::Contexts).map_or(0, |region| region.base) + entry * lines;
        (first..first + lines).map(Slot).collect()
    }

    /// Draws a line of the process's page chunk, or of the page chunk that all processes share.
    fn line_of(random: &mut Random, process: u32) -> u64 {
        let chunk = if random.below(4) == 0 { SHARED } else { process.into() };
        chunk * SLOTS as u64 + random.below(SLOTS as u64)
    }

    fn has_lines_of(&self, process: u32) -> bool {
        let first = u64::from(process) * SLOTS as u64;
        (first..first + SLOTS as u64).any(|line| self.cache.look_up(LineAddr(line)).is_some())
    }
}

/// Checks switches of processes against their contract.
pub fn check(planted: PlantedBug) -> Checked {
    (1..=PROCESSES as usize).try_for_each(|buffers| in_turns(buffers, planted))?;
    forced_while_outside(planted)?;
    unmapped(planted)?;
    first_interrupted_leaves(planted)?;
    walks_again(planted)?;
    tampered(planted)?;
    swapped(planted)?;
    refusals(planted)
}

/// Processes run in random order.
fn in_turns(buffers: usize, planted: PlantedBug) -> Checked {
    let shared = SharedMemory::new(buffers, planted);
    let (mut expected, mut random) = (BTreeMap::<u64, Line>::new(), Random::new(buffers as u64));
    for _ in 0..200 {
        let process = random.below(PROCESSES.into()) as u32;
        let before = shared.memory.lines.counted().contexts.out;
        shared.switch(process).map_err(|refused| format!("a switch is refused: {refused}"))?;
        let others = (0..PROCESSES).filter(|other| *other != process);
        if shared.memory.lines.counted().contexts.out > before && buffers == 1 {
            for other in others {
                let is_locked = shared.cache.chunks_with_locks().contains(&other.into());
                hold(!is_locked, || format!("a locked line stays when its context leaves: process {other}"))?;
                hold(!shared.has_lines_of(other), || format!("lines of process {other} stay when its context leaves"))?;
            }
        }
        for _ in 0..20 {
            let line = SharedMemory::line_of(&mut random, process);
            if random.below(2) == 0 {
                let stored = text(&mut random);
                hold(shared.memory.write(line, &stored).is_none(), || format!("line {line} is not stored"))?;
                expected.insert(line, stored);
            } else if let Some(known) = expected.get(&line) {
                let found = shared.memory.read(line);
                hold(found == Ok(*known), || {
                    format!("line {line} of process {process} does not read as it was stored")
                })?;
            }
        }
    }
    let counted = shared.memory.lines.counted();
    hold((counted.contexts.out > 0) == (buffers < PROCESSES as usize), || {
        format!("{} contexts left a chip with {buffers} buffers", counted.contexts.out)
    })?;
    hold(counted.twice + counted.incomplete == 0, || "a slot crosses the bus twice".into())
}

/// A process reads every line right after its context was outside while another process forced 1,000 permutations.
fn forced_while_outside(planted: PlantedBug) -> Checked {
    let shared = SharedMemory::new(1, planted);
    let mut random = Random::new(5);
    let refused = |refused: ContextError| format!("a switch is refused: {refused}");
    shared.switch(0).map_err(refused)?;
    let lines: Vec<(u64, Line)> = (0..SLOTS as u64).map(|line| (line, text(&mut random))).collect();
    lines.iter().try_for_each(|(line, text)| match shared.memory.write(*line, text) {
        None => Ok(()),
        Some(fault) => Err(format!("line {line} is not stored: {fault}")),
    })?;
    shared.switch(1).map_err(refused)?;
    let before = shared.memory.lines.counted().permutations;
    while shared.memory.lines.counted().permutations < before + 1_000 {
        let line = SharedMemory::line_of(&mut random, 1);
        hold(shared.memory.write(line, &text(&mut random)).is_none(), || format!("line {line} is not stored"))?;
        if random.below(8) == 0 {
            shared.memory.permute_chunk_of(line);
        }
    }
    shared.switch(0).map_err(refused)?;
    lines.iter().try_for_each(|(line, text)| {
        hold(shared.memory.read(*line) == Ok(*text), || format!("line {line} is lost while its process was outside"))
    })
}

/// A page that its process has unmapped keeps no locked line when the context leaves.
fn unmapped(planted: PlantedBug) -> Checked {
    struct NoPages;
    impl ProcessPageChunks for NoPages {
        fn chunks_of(&self, _: ProcessId) -> BTreeSet<u64> {
            BTreeSet::new()
        }

        fn mapped(&self) -> BTreeSet<u64> {
            BTreeSet::new()
        }
    }
    let shared = SharedMemory::new(1, planted);
    let refused = |refused: ContextError| format!("a switch is refused: {refused}");
    shared.switch(0).map_err(refused)?;
    hold(shared.memory.write(3, &text(&mut Random::new(8))).is_none(), || "line 3 is not stored".into())?;
    let switched = run_now(shared.processes().switch(&shared.memory.functional.verbs(), ProcessId(1), &NoPages));
    switched.map_err(refused)?;
    let locked = shared.cache.chunks_with_locks();
    hold(locked.is_empty(), || format!("a locked line stays when its context leaves: page chunks {locked:?}"))
}

/// If no buffer is free, the process that was interrupted first leaves the chip.
fn first_interrupted_leaves(planted: PlantedBug) -> Checked {
    let shared = SharedMemory::new(2, planted);
    let mut switch = |process: u32| {
        let before = shared.memory.lines.counted();
        shared.switch(process).map_err(|refused| format!("a switch is refused: {refused}"))?;
        Ok::<_, String>(shared.memory.lines.counted().contexts.back - before.contexts.back)
    };
    // 0 and 1 are in the buffers when 2 runs, and 0 leaves for 3.
    let back: Vec<u64> = [0, 1, 2, 3, 2, 0].into_iter().map(&mut switch).collect::<Result<_, _>>()?;
    hold(back == [0, 0, 0, 0, 0, 1], || format!("contexts that came back at each switch: {back:?}"))
}

/// The record of one process does not serve the next process.
fn walks_again(planted: PlantedBug) -> Checked {
    let shared = SharedMemory::new(2, planted);
    for process in [0, 1, 0] {
        shared.switch(process).map_err(|refused| format!("a switch is refused: {refused}"))?;
        let before = shared.memory.walks();
        shared.memory.slot_of(SHARED * SLOTS as u64)?;
        hold(shared.memory.walks() == before + 1, || "a record outlives a switch".into())?;
    }
    let before = shared.memory.walks();
    shared.processes().interrupt().map_err(|refused| format!("an interrupt is refused: {refused}"))?;
    shared.memory.slot_of(SHARED * SLOTS as u64)?;
    hold(shared.memory.walks() == before + 1, || "a record outlives a switch".into())
}

/// A switch refuses a context that was changed in memory, or is an old one, and later accepts the right one.
fn tampered(planted: PlantedBug) -> Checked {
    let shared = SharedMemory::new(1, planted);
    let mut random = Random::new(6);
    let switch = |process| shared.switch(process).map_err(|refused| format!("a switch is refused: {refused}"));
    (0..2).try_for_each(switch)?;
    let slots = shared.context_slots(0);
    let old = shared.memory.content(&slots);
    (0..2).try_for_each(switch)?;
    for _ in 0..50 {
        let honest = shared.memory.content(&slots);
        let mut forged = honest.clone();
        let (slot, bit) = (random.below(slots.len() as u64 - 1) as usize, random.below(512) as usize);
        let mut line = forged[slot].1.examine();
        line[bit / 8] ^= 1 << (bit % 8);
        forged[slot].1 = Untrusted::from(line);
        for (what, content) in [("a changed", &forged), ("an old", &old)] {
            shared.memory.put(content);
            let refused = shared.switch(0);
            hold(refused.is_err(), || format!("{what} context is taken"))?;
            shared.memory.put(&honest);
        }
        (0..2).rev().chain(0..2).try_for_each(switch)?;
    }
    Ok(())
}

/// Two contexts are outside, each in the entry of the other.
fn swapped(planted: PlantedBug) -> Checked {
    let shared = SharedMemory::new(1, planted);
    (0..3)
        .try_for_each(|process| shared.switch(process).map_err(|refused| format!("a switch is refused: {refused}")))?;
    let [first, second] = [0, 1].map(|entry| shared.memory.content(&shared.context_slots(entry)));
    let exchanged = |to: &[(Slot, Untrusted)], from: &[(Slot, Untrusted)]| -> Vec<_> {
        to.iter().zip(from).map(|((slot, _), (_, content))| (*slot, *content)).collect()
    };
    shared.memory.put(&exchanged(&first, &second));
    shared.memory.put(&exchanged(&second, &first));
    hold(shared.switch(0).is_err(), || "the context of another process is taken".into())?;
    shared.memory.put(&first);
    shared.memory.put(&second);
    shared.switch(0).map_err(|refused| format!("the right context is refused afterwards: {refused}"))
}

/// A switch that finds no free buffer and no free entry outside is refused until another process ends. The interrupted
/// process can continue.
fn refusals(planted: PlantedBug) -> Checked {
    let shared = SharedMemory::new(1, planted);
    let refused = |refused: ContextError| format!("a switch is refused: {refused}");
    (0..=PROCESSES).try_for_each(|process| shared.switch(process)).map_err(refused)?;
    let full = shared.switch(0);
    hold(full == Err(ContextError::TableFull { entries: CONTEXTS as usize }), || {
        format!("a context leaves a chip whose table is full: {full:?}")
    })?;
    shared.switch(PROCESSES).map_err(|refused| format!("the interrupted process does not continue: {refused}"))?;
    shared.processes().end(ProcessId(1)).map_err(refused)?;
    shared.switch(0).map_err(|refused| format!("a context stays outside though another process has ended: {refused}"))
}

#[test]
fn processes_with_separate_keys_read_their_lines_after_switches_and_leave_none_on_chip() {
    check(PlantedBug::NONE).unwrap_or_else(|broken| panic!("{broken}"));
}
