//! Checks that a forest is equivalent to a plain tree. After a fold of all its roots, root and memory equal those of a
//! plain tree after the same writes. No read accepts a node that a root does not vouch for.

use casemate_protection::design::{
    CacheDesign, CipherChoice, CounterChoice, MacChoice, MacDesign, Over, Parts, Persistence, SpeculationDesign,
    TreeDesign, TreeKind,
};
use casemate_protection::execution::{Functional, Operation, RecordedMemory, Untimed, run_now};
use casemate_protection::ownership::Ownership;
use casemate_protection::scheme::{FixedScheme, Release, Scheme};
use casemate_protection::tree::{ForestDesign, Update};
use casemate_protection::verbs::{Role, Slot};
use proptest::prelude::*;
use std::collections::BTreeMap;
use units::{Bytes, Line, LineAddr, ZERO_LINE};

/// Caches so small that every access evicts metadata.
fn tiny() -> CacheDesign {
    CacheDesign::default().resized(Bytes(256), 2)
}
/// 1024 counter lines, with 128, 16 and 2 stored nodes below a root.
const LINES: u64 = 1 << 16;

fn parts(forest: Option<ForestDesign>) -> Parts {
    Parts {
        cipher: CipherChoice::Aes128Counter,
        counters: CounterChoice::Sc64,
        mac: MacDesign { code: MacChoice::Gmac, over: Over::Ciphertext, ..MacDesign::default() },
        tree: TreeDesign { update: Update::Eager, forest, ..TreeKind::Bonsai.into() },
        ownership: Ownership::None,
        release: Release::Verified,
        speculation: SpeculationDesign::default(),
        permutation: None,
        caches: tiny(),
        persistence: Persistence::default(),
    }
}

fn forests() -> impl Strategy<Value = ForestDesign> {
    prop_oneof![
        (0usize..4, 1u64..140).prop_map(|(level, entries)| ForestDesign::Static { level, entries }),
        // Periods and thresholds so small that the forest changes its roots all the time.
        (1u64..5, 1u32..8, 0u32..4).prop_map(|(entries, period, threshold)| ForestDesign::Dynamic {
            entries,
            period,
            threshold
        }),
    ]
}

/// A memory under some parts, and its written lines.
struct Memory {
    scheme: Scheme,
    functional: Functional,
    written: BTreeMap<u64, Line>,
}

impl Memory {
    fn new(forest: Option<ForestDesign>, seed: u64) -> Memory {
        let scheme = parts(forest).build(LINES, seed).unwrap();
        let functional = Functional::new(scheme.layout().total_lines());
        Memory { scheme, functional, written: BTreeMap::new() }
    }

    /// The scheme, whose lines have fixed slots.
    fn fixed(&self) -> &FixedScheme {
        self.scheme.fixed().unwrap()
    }

    fn write(&mut self, line: u64, content: Line) {
        run_now(self.scheme.write(&self.functional.verbs(), LineAddr(line), &content));
        assert_eq!(self.functional.take_fault(), None, "a false alarm");
        self.written.insert(line, content);
    }

    fn flush(&self) {
        run_now(self.scheme.flush(&self.functional.verbs()));
    }

    /// Returns true if a line reads as written, and false if the chip reports tampering. Panics if another text is
    /// released.
    fn reads_right(&self, line: u64) -> bool {
        run_now(self.scheme.read(&self.functional.verbs(), LineAddr(line)));
        let released = self.functional.take_released().map(|(_, plaintext)| plaintext.bytes);
        let reported = self.functional.take_fault().is_some();
        assert!(released.is_none_or(|bytes| bytes == self.written[&line]), "line {line} was forged");
        assert!(released.is_some() != reported);
        !reported
    }

    fn all_read_right(&self) -> bool {
        self.written.keys().all(|line| self.reads_right(*line))
    }

    fn image(&self) -> Vec<(Slot, Line)> {
        let media = self.functional.media.borrow();
        media.written_slots().filter(|(_, line)| *line != ZERO_LINE).collect()
    }

    fn flip(&self, slot: Slot, bit: usize) {
        let mut content = self.functional.media.borrow().read(slot).examine();
        content[bit / 8] ^= 1 << (bit % 8);
        self.functional.media.borrow_mut().write(slot, &content);
    }
}

/// An action on memory: near and far part of the line number, content, and kind of action.
type Step = (u64, u64, u8, u8);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((0u64..24, 0u64..7, any::<u8>(), 0u8..10), 1..400)
}

/// Executes the steps and compares the text of each read.
fn run(memory: &mut Memory, steps: &[Step]) -> Result<(), TestCaseError> {
    for (near, far, fill, action) in steps {
        let line = far * 9_001 + near % 3;
        match action {
            0..6 => memory.write(line, [*fill; 64]),
            9 => memory.flush(),
            _ if memory.written.contains_key(&line) => prop_assert!(memory.reads_right(line)),
            _ => {}
        }
    }
    memory.flush();
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn folding_all_forest_roots_gives_the_root_and_memory_of_a_tree_without_forest(
        forest in forests(), seed in any::<u64>(), steps in steps(),
    ) {
        let mut memory = Memory::new(Some(forest), seed);
        let mut plain = Memory::new(None, seed);
        run(&mut memory, &steps)?;
        run(&mut plain, &steps)?;
        prop_assert!(memory.all_read_right());
        run_now(memory.fixed().fold_forest(&memory.functional.verbs()));
        prop_assert_eq!(memory.functional.take_fault(), None);
        prop_assert_eq!(memory.fixed().on_chip(|chip| chip.forest.roots()), vec![]);
        prop_assert_eq!(memory.fixed().on_chip(|chip| chip.root.clone()), plain.fixed().on_chip(|chip| chip.root.clone()));
        memory.flush();
        prop_assert_eq!(memory.image(), plain.image());
        prop_assert!(memory.all_read_right());
    }

    #[test]
    fn a_flipped_metadata_bit_under_a_forest_is_reported_when_the_line_is_used(
        forest in forests(), seed in any::<u64>(), steps in steps(), bit in 0usize..512,
    ) {
        let mut memory = Memory::new(Some(forest), seed);
        run(&mut memory, &steps)?;
        let layout = memory.scheme.layout().clone();
        let covered = |slot: &Slot| !matches!(layout.role_and_index(*slot).0, Role::Data | Role::Tag);
        let slots: Vec<Slot> = memory.image().into_iter().map(|(slot, _)| slot).filter(covered).collect();
        for slot in slots {
            memory.flip(slot, bit);
            let believed = memory.all_read_right();
            if memory.fixed().on_chip(|chip| chip.forest.roots()).contains(&slot) {
                prop_assert!(believed, "memory's copy of a root serves nobody");
            } else if believed {
                // All paths up from lines in use end below the node. A fold of the roots below the node reads it.
                memory.flush();
                run_now(memory.fixed().fold_forest(&memory.functional.verbs()));
                prop_assert!(memory.functional.take_fault().is_some(), "{slot} was believed");
            }
            memory.flush();
            memory.flip(slot, bit);
            prop_assert!(memory.all_read_right(), "{slot} was put back");
            memory.flush();
        }
    }
}

/// Hashes of a second write of a line, if all its metadata is on the chip.
fn hashes_of_a_write(forest: Option<ForestDesign>, line: u64) -> usize {
    let large = CacheDesign::default().resized(Bytes(4096), 4);
    let scheme = Parts { caches: large, ..parts(forest) }.build(LINES, 1).unwrap();
    let recorded = RecordedMemory::new(Functional::new(scheme.layout().total_lines()));
    run_now(scheme.write(&recorded.verbs(), LineAddr(line), &[1; 64]));
    recorded.take_operations();
    run_now(scheme.write(&recorded.verbs(), LineAddr(line), &[2; 64]));
    recorded.take_operations().iter().filter(|operation| **operation == Operation::Hash).count()
}

#[test]
fn a_tree_update_ends_at_the_nearest_forest_root() {
    let at = |level| Some(ForestDesign::Static { level, entries: 128 });
    assert_eq!(hashes_of_a_write(None, 0), 4, "the counter and three nodes");
    assert_eq!(hashes_of_a_write(at(2), 0), 3);
    assert_eq!(hashes_of_a_write(at(1), 0), 2);
    assert_eq!(hashes_of_a_write(at(0), 0), 1);
    // With half the room, the last ten families of eight are folded, so that the first 48 nodes stay roots.
    let folded = Some(ForestDesign::Static { level: 0, entries: 64 });
    let below = |node: u64| node * 8 * 64;
    assert_eq!([hashes_of_a_write(folded, below(47)), hashes_of_a_write(folded, below(48))], [1, 2]);
}

#[test]
fn a_dynamic_forest_promotes_the_tree_nodes_above_frequently_written_lines() {
    let mut memory = Memory::new(Some(ForestDesign::Dynamic { entries: 3, period: 32, threshold: 16 }), 1);
    let path = |memory: &Memory, line: u64| {
        let levels = memory.scheme.layout().levels().to_vec();
        let above = (0..levels.len()).map(|level| levels[level].slot(line / 64 / 8u64.pow(level as u32 + 1)));
        above.collect::<Vec<Slot>>()
    };
    let far = LINES - 1;
    for write in 0..32 * 8 {
        memory.write(0, [write as u8; 64]);
    }
    assert_eq!(memory.fixed().on_chip(|chip| chip.forest.roots()), path(&memory, 0));
    for write in 0..32 * 32 {
        memory.write(far, [write as u8; 64]);
    }
    assert_eq!(memory.fixed().on_chip(|chip| chip.forest.roots()), path(&memory, far));
    assert!(memory.all_read_right());
}

#[test]
fn invalid_forests_are_refused_with_a_remedy() {
    let dynamic = |entries, period| Some(ForestDesign::Dynamic { entries, period, threshold: 16 });
    assert!(parts(dynamic(0, 32)).check().unwrap_err().contains("between 1 and 32768"));
    assert!(parts(dynamic(1, 0)).check().unwrap_err().contains("1 or more"));
    let mut lazy = parts(dynamic(1, 1));
    assert_eq!(lazy.check(), Ok(()));
    lazy.tree.update = Update::Lazy;
    assert!(lazy.check().unwrap_err().contains("tree.update = \"eager\""));
}
