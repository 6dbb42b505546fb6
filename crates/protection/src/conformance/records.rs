//! Contract of page chunk records and of the tree over them: a walk returns the last drawn record, and refuses old,
//! moved and changed records.

use super::{Checked, LINE_BITS, flipped, hold};
use crate::execution::{Functional, RecordedMemory, Untimed, run_now};
use crate::layout::{Layout, Needs, with_records};
use crate::planted::PlantedBug;
use crate::record::{LEAF_LINES, MerkleCacheDesign, Record, Records, SLOTS, WalkDesign};
use crate::slot::{Kind, Slot, Untrusted};
use crypto::Key;
use std::collections::{BTreeMap, HashSet};
use units::random::Random;
use units::{Line, ZERO_LINE};

/// Renewals of each page chunk in `fresh`.
const LIVES: usize = 4;

/// A memory of records.
pub(super) struct RecordMemory {
    pub functional: Functional,
    pub records: Records,
    pub layout: Layout,
    /// Present records of the page chunks that were written.
    pub current: BTreeMap<u64, Record>,
}

impl RecordMemory {
    pub fn of_chunks(chunks: u64, walks: WalkDesign, planted: PlantedBug) -> Result<RecordMemory, String> {
        let none = Needs { lines_per_counter_line: None, tags: None, tree: None };
        let layout = Layout::new(chunks * SLOTS as u64, none)?;
        let layout = with_records(layout, SLOTS as u64, LEAF_LINES as u64);
        let functional = Functional::new(layout.total_lines());
        let records = Records::new(&layout, &Key([5; 16]), Random::new(9), walks, planted);
        Ok(RecordMemory { functional, records, layout, current: BTreeMap::new() })
    }

    pub fn chunks(&self) -> u64 {
        self.layout.data_lines() / SLOTS as u64
    }

    pub fn renew(&mut self, chunk: u64) -> Result<Record, String> {
        let renewed = run_now(self.records.renew(&self.functional.verbs(), chunk, self.current.get(&chunk)));
        let record = renewed.map_err(|fault| format!("page chunk {chunk} is not renewed: {fault}"))?;
        self.current.insert(chunk, record.clone());
        Ok(record)
    }

    /// Returns true if a walk refuses the record of a page chunk.
    pub fn is_refused(&self, chunk: u64) -> bool {
        run_now(self.records.bring(&self.functional.verbs(), chunk)).is_err()
    }

    fn all_read_right(&self) -> Checked {
        (0..self.chunks()).try_for_each(|chunk| {
            let brought = run_now(self.records.bring(&self.functional.verbs(), chunk));
            hold(brought.as_ref() == Ok(&self.current.get(&chunk).cloned()), || {
                format!("the record of page chunk {chunk} is not the one that was drawn last")
            })
        })
    }

    fn leaf(&self, chunk: u64) -> Vec<Slot> {
        let base = self.layout.region(Kind::Records).map_or(0, |region| region.base) + chunk * LEAF_LINES as u64;
        (base..base + LEAF_LINES as u64).map(Slot).collect()
    }

    /// The lines with the pairs of nodes above a record, computed as in a binary tree: one node for two of the level
    /// below.
    fn above(&self, chunk: u64) -> Vec<Slot> {
        let mut node = chunk / 2;
        let mut slots = Vec::new();
        for level in self.layout.levels() {
            slots.push(level.slot(node / 2));
            node /= 2;
        }
        slots
    }

    pub fn content(&self, slots: &[Slot]) -> Vec<(Slot, Line)> {
        let media = self.functional.media.borrow();
        slots.iter().map(|slot| (*slot, media.read(*slot).examine())).collect()
    }

    pub fn put(&self, content: &[(Slot, Line)]) {
        let mut media = self.functional.media.borrow_mut();
        content.iter().for_each(|(slot, line)| media.store(*slot, Untrusted::from(*line)));
    }

    /// Checks that a walk refuses the record while `forged` is in memory, and accepts it afterwards.
    fn refuses(&self, chunk: u64, forged: &[(Slot, Line)], broken: impl FnOnce() -> String) -> Checked {
        let slots: Vec<Slot> = forged.iter().map(|(slot, _)| *slot).collect();
        let honest = self.content(&slots);
        // Without this, the walk could stop at nodes on the chip and not read the forged slots.
        self.records.forget_nodes();
        self.put(forged);
        let is_refused = self.is_refused(chunk);
        self.put(&honest);
        hold(is_refused, broken)?;
        let again = run_now(self.records.bring(&self.functional.verbs(), chunk));
        hold(again.is_ok(), || format!("page chunk {chunk} is refused though nothing is forged"))?;
        hold(again == Ok(self.current.get(&chunk).cloned()), || {
            format!("the record of page chunk {chunk} is read wrong after a forgery")
        })
    }
}

/// Checks records, their encryption and their tree against the contract.
pub fn check(planted: PlantedBug) -> Checked {
    for (chunks, entries, in_pairs) in [(2, 0, false), (3, 4, false), (8, 0, false), (8, 4, true), (8, 16, false)] {
        let walks = WalkDesign { merkle_cache: MerkleCacheDesign { entries, in_pairs }, ..WalkDesign::default() };
        let mut memory = RecordMemory::of_chunks(chunks, walks, planted)?;
        memory.all_read_right()?;
        fresh(&mut memory)?;
        let chunk = chunks - 1;
        replayed(&mut memory, chunk)?;
        elsewhere(&memory, chunk)?;
        changed(&memory, chunk)?;
    }
    Ok(())
}

/// Each renewal draws a new table and new numbers, and writes the record under a new initial vector.
fn fresh(memory: &mut RecordMemory) -> Checked {
    let (mut numbers, mut vectors) = (HashSet::new(), HashSet::new());
    for _ in 0..LIVES {
        for chunk in 0..memory.chunks() {
            let before = memory.current.get(&chunk).map(Record::lines_by_slot);
            let record = memory.renew(chunk)?;
            hold(before != Some(record.lines_by_slot()), || format!("page chunk {chunk} keeps its table"))?;
            hold(numbers.insert((0, record.pad_number())), || "a number for pads serves twice".into())?;
            hold(numbers.insert((1, record.tag_number())), || "a number for tags serves twice".into())?;
            let first = memory.content(&memory.leaf(chunk)[..1])[0].1;
            hold(vectors.insert(first[..16].to_vec()), || "an initial vector serves twice".into())?;
            memory.all_read_right()?;
        }
    }
    Ok(())
}

/// An old record is refused, and so are old nodes above the present record, both with the old sibling, and blank ones.
fn replayed(memory: &mut RecordMemory, chunk: u64) -> Checked {
    let (leaf, above, sibling) = (memory.leaf(chunk), memory.above(chunk), memory.leaf(chunk ^ 1));
    let whole = [leaf.clone(), above.clone(), sibling].concat();
    let old = [&leaf, &above, &whole].map(|slots| memory.content(slots));
    memory.renew(chunk)?;
    let [old_leaf, old_path, all_old] = old;
    memory.refuses(chunk, &old_leaf, || "an old record is accepted".into())?;
    if !old_path.is_empty() {
        memory.refuses(chunk, &old_path, || "old nodes are accepted".into())?;
    }
    memory.refuses(chunk, &all_old, || "an old record is accepted with the nodes of its time".into())?;
    let blank = |slots: &[Slot]| slots.iter().map(|slot| (*slot, ZERO_LINE)).collect::<Vec<_>>();
    memory.refuses(chunk, &blank(&leaf), || "a record that was written passes for a blank one".into())?;
    memory.refuses(chunk, &blank(&whole), || "a path that was written passes for a blank one".into())
}

/// A record is refused in the lines of every other page chunk, and so are two siblings that are swapped.
fn elsewhere(memory: &RecordMemory, chunk: u64) -> Checked {
    let moved = |from: u64, to: u64| -> Vec<(Slot, Line)> {
        memory
            .leaf(to)
            .into_iter()
            .zip(memory.content(&memory.leaf(from)))
            .map(|(slot, (_, line))| (slot, line))
            .collect()
    };
    for other in (0..memory.chunks()).filter(|other| *other != chunk) {
        memory.refuses(chunk, &moved(other, chunk), || {
            format!("the record of page chunk {other} is accepted for {chunk}")
        })?;
    }
    let swapped = [moved(chunk, chunk ^ 1), moved(chunk ^ 1, chunk)].concat();
    memory.refuses(chunk, &swapped, || "two siblings are accepted when swapped".into())
}

/// Every bit of the record, of its sibling and of the pairs above them is covered, also spare bits.
fn changed(memory: &RecordMemory, chunk: u64) -> Checked {
    let slots = [memory.leaf(chunk), memory.leaf(chunk ^ 1), memory.above(chunk)].concat();
    for (slot, line) in memory.content(&slots) {
        for bit in 0..LINE_BITS {
            memory.refuses(chunk, &[(slot, flipped(&line, bit))], || {
                format!("bit {bit} of {} is not covered", memory.layout.role_and_index(slot).0)
            })?;
        }
    }
    Ok(())
}

#[test]
fn page_chunk_records_pass_their_conformance_check() {
    assert_eq!(check(PlantedBug::NONE), Ok(()));
}

/// A naive tree: recomputes all nodes from all records with the `sha1` crate.
#[test]
fn the_record_tree_in_memory_equals_a_naive_sha_1_tree_over_all_records() {
    use sha1::{Digest, Sha1};
    let mut memory = RecordMemory::of_chunks(16, WalkDesign::default(), PlantedBug::NONE).unwrap();
    for chunk in [3, 0, 9, 3, 15, 8, 12, 9] {
        memory.renew(chunk).unwrap();
        let mut below: Vec<Vec<u8>> = (0..16)
            .map(|chunk| memory.content(&memory.leaf(chunk)).into_iter().flat_map(|(_, line)| line).take(304).collect())
            .collect();
        for level in memory.layout.levels() {
            let nodes: Vec<Vec<u8>> = below
                .chunks(2)
                .map(|pair| match pair.concat() {
                    blank if blank.iter().all(|byte| *byte == 0) => vec![0; 20],
                    pair => Sha1::digest(&pair).to_vec(),
                })
                .collect();
            for (line, pair) in (0..).zip(nodes.chunks(2)) {
                let mut expected = pair.concat();
                expected.resize(64, 0);
                assert_eq!(memory.content(&[level.slot(line)])[0].1[..], expected, "{} line {line}", level.role);
            }
            below = nodes;
        }
        assert_eq!(below.len(), 2, "the root on the chip is above the last pair");
    }
}

/// A Merkle cache, as a list in order of last use. Records are at level 0, and nodes above.
struct NaiveCache {
    entries: usize,
    in_pairs: bool,
    names: Vec<(usize, u64)>,
}

impl NaiveCache {
    fn name(&self, level: usize, position: u64) -> (usize, u64) {
        (level, if self.in_pairs { position / 2 } else { position })
    }

    fn use_now(&mut self, name: (usize, u64)) {
        self.names.retain(|other| *other != name);
        self.names.push(name);
    }

    /// Returns the hashes of a walk to a record below `levels` levels of nodes: those of the pairs below the first node,
    /// or the record itself, that the cache has.
    fn walk(&mut self, record: u64, levels: usize) -> usize {
        let known = (0..=levels).find(|level| self.names.contains(&self.name(*level, record >> level)));
        if let Some(level) = known {
            self.use_now(self.name(level, record >> level));
        }
        let fetched = known.unwrap_or(levels + 1);
        for level in (0..fetched).rev() {
            let position = record >> level;
            self.use_now(self.name(level, position ^ 1));
            self.use_now(self.name(level, position));
            self.names.drain(..self.names.len().saturating_sub(self.entries));
        }
        fetched
    }
}

#[test]
fn rule_6_record_tree_walks_take_the_hashes_of_a_naive_merkle_cache() {
    use crate::execution::Operation;
    for (entries, in_pairs, seed) in [(0, false, 1), (2, false, 2), (7, false, 3), (16, true, 4), (64, false, 5)] {
        let walks = WalkDesign { merkle_cache: MerkleCacheDesign { entries, in_pairs }, ..WalkDesign::default() };
        let RecordMemory { functional, records, layout, .. } =
            RecordMemory::of_chunks(256, walks, PlantedBug::NONE).unwrap();
        let recorded = RecordedMemory::new(functional);
        let mut naive = NaiveCache { entries, in_pairs, names: Vec::new() };
        let mut random = Random::new(seed);
        for walk in 0..500 {
            // Two thirds of the walks are to the first 16 records.
            let record = if random.below(3) > 0 { random.below(16) } else { random.below(256) };
            assert_eq!(run_now(records.bring(&recorded.verbs(), record)), Ok(None));
            let hashes = recorded.take_operations().into_iter().filter(|done| *done == Operation::Hash).count();
            assert_eq!(hashes, naive.walk(record, layout.levels().len()), "walk {walk} of {entries} entries");
        }
    }
}
