//! Contract of LoadNode and HashCheck: with these instructions, an operating system loads the last drawn record, or the
//! chip refuses.

use super::records::RecordMemory;
use super::{Checked, hold};
use crate::execution::{Untimed, run_now};
use crate::planted::PlantedBug;
use crate::record::{HashCheck, LEAF_LINES, LoadNode, MerkleCacheDesign, NodeName, Record, WalkDesign};
use crate::slot::Slot;
use crate::verbs::Fault;
use units::Line;
use units::random::Random;

/// Records of the memory, under a tree of this depth.
const CHUNKS: u64 = 16;
const DEPTH: usize = 4;

fn walks(entries: usize, in_pairs: bool) -> WalkDesign {
    let merkle_cache = MerkleCacheDesign { entries, in_pairs };
    WalkDesign { merkle_cache, verification_buffer: DEPTH, ..WalkDesign::default() }
}

/// A memory with records that are all written. An operating system loads them.
fn memory(entries: usize, in_pairs: bool, planted: PlantedBug) -> Result<RecordMemory, String> {
    let mut memory = RecordMemory::of_chunks(CHUNKS, walks(entries, in_pairs), planted)?;
    (0..CHUNKS).try_for_each(|chunk| memory.renew(chunk).map(|_| ()))?;
    Ok(memory)
}

impl RecordMemory {
    fn load(&self, address: Slot, name: NodeName) -> LoadNode {
        run_now(self.records.load_node(&self.functional.verbs(), address, name))
    }

    /// Executes LoadNode with the right address, as an honest operating system does.
    fn load_right(&self, name: NodeName) -> LoadNode {
        self.load(self.records.address_of(name), name)
    }

    fn check(&self, depth: usize) -> Result<HashCheck<Record>, Fault> {
        run_now(self.records.hash_check(&self.functional.verbs(), depth))
    }

    fn path(&self, chunk: u64) -> impl Iterator<Item = NodeName> {
        self.records.name_of(chunk).path()
    }

    /// Loads the path of a record from the bottom up. At this depth, it loads the address and name in `lie` instead.
    fn lie(&self, chunk: u64, depth: usize, lie: (Slot, NodeName)) -> Result<Option<Record>, Fault> {
        self.records.forget_nodes();
        for name in self.path(chunk) {
            if name.depth == depth {
                self.load(lie.0, lie.1)
            } else {
                self.load_right(name)
            };
        }
        let mut brought = None;
        for depth in 1..=DEPTH {
            if let HashCheck::Record(of, record) = self.check(depth)? {
                brought = (of == chunk).then_some(record);
            }
        }
        Ok(brought)
    }

    fn is_current(&self, chunk: u64, record: &Record) -> bool {
        self.current.get(&chunk) == Some(record)
    }
}

/// Checks the instructions against their contract.
pub fn check(planted: PlantedBug) -> Checked {
    for (entries, in_pairs) in [(2, true), (8, true), (4, false), (64, false)] {
        let mut memory = memory(entries, in_pairs, planted)?;
        over_a_switch(&memory)?;
        honest(&mut memory)?;
        false_nodes(&mut memory)?;
        interrupted(&mut memory, 200)?;
        random(&mut memory, &mut Random::new(entries as u64), 2_000)?;
    }
    Ok(())
}

/// An honest operating system obtains each record, with permutations in between.
fn honest(memory: &mut RecordMemory) -> Checked {
    for chunk in (0..CHUNKS).chain([3, 3, 2, 9]) {
        let brought = run_now(memory.records.load_page_info(&memory.functional.verbs(), chunk));
        hold(brought.as_ref().is_ok_and(|record| memory.is_current(chunk, record)), || {
            format!("an honest operating system gets {:?} for page chunk {chunk}", brought.as_ref().err())
        })?;
        memory.renew(chunk * 7 % CHUNKS)?;
    }
    Ok(())
}

/// Each false LoadNode ends in the security exception, or without a record.
fn false_nodes(memory: &mut RecordMemory) -> Checked {
    let chunk = 9;
    let names: Vec<NodeName> = memory.path(chunk).collect();
    for &name in &names {
        let right = memory.records.address_of(name);
        let slots: Vec<Slot> =
            (right.0..right.0 + if name.depth == DEPTH { 2 * LEAF_LINES as u64 } else { 1 }).map(Slot).collect();
        let before = memory.content(&slots);
        memory.renew(chunk)?;
        let now = memory.content(&slots);
        let refused = |what: &str, outcome: Result<Option<Record>, Fault>| {
            hold(!matches!(outcome, Ok(Some(_))), || format!("{what} at depth {} passes", name.depth))
        };
        let lie = |address, name: NodeName| memory.lie(chunk, name.depth, (address, name));
        let others = slots.iter().map(|slot| (*slot, [9; 64])).collect();
        for (what, lines) in [("a stale pair", before), ("swapped siblings", swapped(&now)), ("another node", others)] {
            memory.put(&lines);
            let outcome = memory.lie(chunk, name.depth, (right, name));
            memory.put(&now);
            refused(what, outcome)?;
        }
        // Loads the right bytes under another name, and other bytes under the right name.
        let elsewhere = NodeName { position: name.position ^ 2, ..name };
        if name.depth > 1 {
            refused("the address of another node", lie(memory.records.address_of(elsewhere), name))?;
            refused("another position", lie(right, elsewhere))?;
            refused(
                "another depth",
                memory.lie(chunk, name.depth, (right, NodeName { depth: name.depth - 1, ..name.parent() })),
            )?;
        }
        refused("data", lie(Slot(0), name))?;
        refused("an address behind memory", lie(Slot(u64::MAX - 1), name))?;
        refused("nothing", lie(Slot(memory.layout.data_lines() / 2), name))?;
    }
    in_buffer_only(memory, chunk)?;
    at_another_depth(memory, chunk)
}

/// The same lines with two siblings exchanged.
fn swapped(lines: &[(Slot, Line)]) -> Vec<(Slot, Line)> {
    match lines {
        [(slot, line)] => {
            let mut swapped = *line;
            swapped[..20].copy_from_slice(&line[20..40]);
            swapped[20..40].copy_from_slice(&line[..20]);
            vec![(*slot, swapped)]
        }
        records => {
            let (left, right) = records.split_at(LEAF_LINES);
            let lines = right.iter().chain(left).map(|(_, line)| *line);
            records.iter().zip(lines).map(|((slot, _), line)| (*slot, line)).collect()
        }
    }
}

/// A parent that is only in the buffer vouches for no child.
fn in_buffer_only(memory: &RecordMemory, chunk: u64) -> Checked {
    memory.records.forget_nodes();
    memory.path(chunk).for_each(|name| {
        memory.load_right(name);
    });
    hold(memory.check(DEPTH).is_err(), || "a parent in the buffer vouches for a record".into())
}

/// A node on the chip vouches only for the pair that hashes to it, at the pair's own place.
fn at_another_depth(memory: &RecordMemory, chunk: u64) -> Checked {
    memory.records.forget_nodes();
    let [_, below @ .., top] = &memory.path(chunk).collect::<Vec<_>>()[..] else { return Ok(()) };
    memory.load_right(*top);
    hold(memory.check(1) == Ok(HashCheck::Nodes), || "the topmost pair is refused".into())?;
    // Loads the pair below the topmost under a name one level deeper. Its parent is on the chip, but not as the parent
    // of this name.
    let Some(right_below) = below.last() else { return Ok(()) };
    let deeper = NodeName { depth: right_below.depth + 1, position: right_below.position * 2 };
    if deeper.depth < DEPTH {
        memory.load(memory.records.address_of(*right_below), deeper);
        hold(memory.check(deeper.depth).is_err(), || "a pair passes at another depth".into())?;
    }
    Ok(())
}

/// After a switch of processes, the chip has no nodes of the process before.
fn over_a_switch(memory: &RecordMemory) -> Checked {
    memory.records.forget_nodes();
    let top = NodeName { depth: 1, position: 0 };
    hold(memory.load_right(top) == LoadNode::Loaded, || "the Merkle cache outlives a switch".into())?;
    memory.records.forget_nodes();
    let outcome = memory.check(1);
    hold(outcome.is_ok(), || "an empty line raises the exception".into())?;
    hold(outcome == Ok(HashCheck::Empty), || "a line of the buffer outlives a switch".into())?;
    memory.load_right(top);
    hold(memory.check(1) == Ok(HashCheck::Nodes), || "the topmost pair is refused".into())?;
    memory.records.forget_nodes();
    hold(memory.load_right(top) == LoadNode::Loaded, || "the Merkle cache outlives a switch".into())
}

/// Honest walks that may be interrupted after each instruction by a permutation, a hardware walk or a switch of
/// processes. They never raise the exception, and each ends. The handler resumes at the same instruction, like the
/// algorithm of figure 5.
fn interrupted(memory: &mut RecordMemory, walks: u64) -> Checked {
    let mut random = Random::new(walks);
    for _ in 0..walks {
        let chunk = random.below(CHUNKS);
        let mut exceptions = 0;
        loop {
            exceptions += 1;
            hold(exceptions < 64, || format!("the walk to page chunk {chunk} does not end"))?;
            let mut name = memory.records.name_of(chunk);
            while name.depth > 0 && memory.load_right(name) != LoadNode::OnChip {
                name = name.parent();
                interrupt(memory, &mut random)?;
            }
            let mut is_brought = false;
            for depth in name.depth + 1..=DEPTH {
                match memory.check(depth) {
                    Ok(HashCheck::Record(..)) => is_brought = true,
                    Ok(HashCheck::Nodes | HashCheck::Empty) => {}
                    Err(fault) => {
                        return Err(format!("an honest walk to page chunk {chunk} meets the exception: {fault}"));
                    }
                }
                interrupt(memory, &mut random)?;
            }
            // The processor takes the record from HashCheck, or from the Merkle cache. If it has left, the exception
            // repeats.
            let cached = memory.records.merkle_cache().peek(chunk);
            hold(cached.as_ref().is_none_or(|record| memory.is_current(chunk, record)), || {
                format!("the Merkle cache has an old record of page chunk {chunk}")
            })?;
            if is_brought || cached.is_some() {
                break;
            }
        }
    }
    Ok(())
}

/// Interrupts a walk in 3 of 16 cases, so that it ends.
fn interrupt(memory: &mut RecordMemory, random: &mut Random) -> Checked {
    match random.below(16) {
        0 => memory.renew(random.below(CHUNKS)).map(|_| ()),
        1 => {
            memory.records.forget_nodes();
            Ok(())
        }
        // Hardware walks for a permutation of a page that is in no TLB.
        2 => hold(!memory.is_refused(random.below(CHUNKS)), || "a hardware walk is refused".into()),
        _ => Ok(()),
    }
}

/// Random instructions in random order, over memory in which bits flip. Each accepted record must be the last drawn
/// one.
fn random(memory: &mut RecordMemory, random: &mut Random, steps: u64) -> Checked {
    let mut honest: Vec<(Slot, Line)> = Vec::new();
    let first = memory.layout.data_lines();
    let slots = memory.layout.total_lines() - first;
    let mut aim = memory.records.name_of(0);
    for _ in 0..steps {
        match random.below(32) {
            0..12 => {
                // Mostly moves up a path.
                if aim.depth <= 1 || random.below(8) == 0 {
                    aim = memory.records.name_of(random.below(CHUNKS));
                } else if random.below(8) > 0 {
                    aim = aim.parent();
                }
                let address = match random.below(8) {
                    0 => Slot(first + random.below(slots)),
                    1 => memory.records.address_of(NodeName { position: random.below(1 << aim.depth), ..aim }),
                    _ => memory.records.address_of(aim),
                };
                let depth = if random.below(8) == 0 { random.below(6) as usize } else { aim.depth };
                memory.load(address, NodeName { depth, ..aim });
            }
            12..28 => {
                let depth = 1 + random.below(DEPTH as u64) as usize;
                match memory.check(depth) {
                    Ok(HashCheck::Record(of, record)) => {
                        hold(memory.is_current(of, &record), || {
                            format!("a record of page chunk {of} comes that is not the last")
                        })?;
                    }
                    Ok(_) => {}
                    // The process is aborted, and another one continues.
                    Err(_) => memory.records.forget_nodes(),
                }
            }
            28 => {
                let slot = Slot(first + random.below(slots));
                let now = memory.content(&[slot]);
                let mut line = now[0].1;
                line[random.below(64) as usize] ^= 1 << random.below(8);
                memory.put(&[(slot, line)]);
                honest.extend(now);
            }
            29 => memory.records.forget_nodes(),
            30 => {
                let chunk = random.below(CHUNKS);
                let cached = memory.records.merkle_cache().peek(chunk);
                hold(cached.is_none_or(|record| memory.is_current(chunk, &record)), || {
                    format!("the Merkle cache has a record of page chunk {chunk} that is not the last")
                })?;
            }
            _ => {
                // Undoes the flips, last one first, because hardware verifies the path that it renews.
                honest.drain(..).rev().for_each(|line| memory.put(&[line]));
                memory.renew(random.below(CHUNKS))?;
            }
        }
    }
    honest.drain(..).rev().for_each(|line| memory.put(&[line]));
    Ok(())
}

#[test]
fn record_loads_by_an_operating_system_pass_their_conformance_check() {
    assert_eq!(check(PlantedBug::NONE), Ok(()));
}

/// The tags of the Merkle cache combine a level and an index, so that a number beyond the tree could name another entry.
#[test]
fn load_node_of_a_name_that_the_tree_does_not_have_finds_no_node_on_the_chip() {
    for in_pairs in [true, false] {
        let memory = memory(64, in_pairs, PlantedBug::NONE).unwrap();
        (0..CHUNKS).for_each(|chunk| {
            assert!(run_now(memory.records.load_page_info(&memory.functional.verbs(), chunk)).is_ok());
        });
        let as_above = if in_pairs { 1 << 58 } else { 2 << 56 };
        for (depth, position) in [(DEPTH + 1, 0), (DEPTH - 1, as_above), (DEPTH, u64::MAX), (0, 1), (64, 0)] {
            let name = NodeName { depth, position };
            assert_eq!(memory.load(memory.records.address_of(memory.records.name_of(0)), name), LoadNode::Nowhere);
        }
        assert_eq!(memory.load_right(NodeName { depth: 1, position: 1 }), LoadNode::OnChip);
    }
}

/// Part of the long run that is done: all of it with CASEMATE_SWEEPS=all, otherwise 5 %.
fn share(of: u64) -> u64 {
    let all = std::env::var("CASEMATE_SWEEPS").is_ok_and(|value| value == "all");
    if all { of } else { of / 20 }
}

/// With CASEMATE_SWEEPS=all, 100,000 sequences of 32 steps: instructions, bit flips, permutations and switches.
#[test]
fn random_operating_system_instruction_sequences_load_only_the_last_drawn_record() {
    for (seed, (entries, in_pairs)) in [(2, true), (8, true), (4, false), (64, false)].into_iter().enumerate() {
        let mut memory = memory(entries, in_pairs, PlantedBug::NONE).unwrap();
        let mut draws = Random::new(seed as u64);
        for _ in 0..share(25_000) {
            assert_eq!(random(&mut memory, &mut draws, 32), Ok(()));
        }
    }
}

/// With CASEMATE_SWEEPS=all, a million honest walks with interrupts between their instructions.
#[test]
fn interrupted_record_walks_of_an_honest_operating_system_raise_no_security_exception() {
    for (entries, in_pairs) in [(2, true), (4, false)] {
        let mut memory = memory(entries, in_pairs, PlantedBug::NONE).unwrap();
        assert_eq!(interrupted(&mut memory, share(500_000)), Ok(()));
    }
}

#[test]
fn rule_7_a_record_walk_executes_one_instruction_pair_per_depth_below_an_on_chip_node() {
    let memory =
        RecordMemory::of_chunks(1 << 19, WalkDesign { verification_buffer: 19, ..walks(512, true) }, PlantedBug::NONE)
            .unwrap();
    let executed = |chunk: u64| {
        let (loads, checks) = memory.records.executed();
        run_now(memory.records.load_page_info(&memory.functional.verbs(), chunk)).unwrap();
        let (loads_after, checks_after) = memory.records.executed();
        (loads_after - loads, checks_after - checks)
    };
    assert_eq!(executed(77_777), (19, 19), "nothing but the root is on the chip");
    for depth in 1..19 {
        // The paths of the two records separate at this depth, into siblings. The chip has both.
        assert_eq!(executed(77_777 ^ 1 << (19 - depth)), (20 - depth, 19 - depth), "a node at depth {depth}");
        memory.records.forget_nodes();
        executed(77_777);
    }
}
