//! Lookups and inserts in a B+-tree, the index of a database in memory.
//!
//! A node has four lines: a header, up to 15 keys and 16 slots (children, or the values of a leaf). An insert splits
//! each full node on the way down, before it enters the node, so it never returns to a parent (Guibas and Sedgewick,
//! 1978). A key is the mixed number of its insertion: keys are unique and random, and the kernel recomputes them
//! without a list.
//!
//! A persistent tree survives a loss of power: its inserts copy the nodes that they change (`btree/path.rs`).

mod code;
mod layout;
mod path;
mod recovery;
mod tree;

use super::KernelInfo;
use super::durable::Recovery;
use super::emitter::{ClosedStream, Emitter};
use super::parameters::{LOAD_VALUES, Parameter, ParameterKind, SKIP, Settings};
use super::program::Program;
use code::BtreeCode;
use layout::{MAX_KEYS, NODE_BYTES, NODES_OFFSET};
use path::SPARE_NODES;
use recovery::TreeRecovery;
use tree::{ArenaTree, UPPER_HALF};
use units::random::{Random, mix, scale_below};

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "btree",
    summary: "B+-tree lookups and inserts: dependent accesses from a hot root to cold leaves",
    parameters: &[
        Parameter {
            name: "preload",
            kind: ParameterKind::Count { unit: "keys", min: 1, max: 100_000_000 },
            default: "1_000_000",
            summary: "keys in the tree when the recording begins; a million takes about 25 MB",
        },
        Parameter {
            name: "operations",
            kind: ParameterKind::Count { unit: "operations", min: 1, max: 1_000_000_000 },
            default: "20_000_000",
            summary: "lookups and inserts together",
        },
        Parameter {
            name: "inserts",
            kind: ParameterKind::Count { unit: "percent", min: 0, max: 100 },
            default: "20",
            summary: "share of the operations that insert a new key; the remaining ones look up an existing key",
        },
        Parameter {
            name: "persistent",
            kind: ParameterKind::Choice(&["no", "yes"]),
            default: "no",
            summary: "whether the tree survives a loss of power: inserts copy, flush and fence the nodes that they \
                      change",
        },
        SKIP,
        LOAD_VALUES,
    ],
    prepare: |settings| Box::new(BTree::new(settings)),
};

struct BTree {
    preload: u64,
    operations: u64,
    insert_percent: u64,
    persistent: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BtreeOperation {
    Insert { number: u64 },
    LookUp { number: u64 },
}

impl BTree {
    fn new(settings: &Settings) -> BTree {
        BTree {
            preload: settings.number("preload"),
            operations: settings.number("operations"),
            insert_percent: settings.number("inserts"),
            persistent: settings.word("persistent") == "yes",
        }
    }

    /// Returns the next operation on a tree with `keys` keys.
    fn choose(&self, keys: u64, random: &mut Random) -> BtreeOperation {
        let word = random.word();
        if scale_below(word, 100) < self.insert_percent {
            BtreeOperation::Insert { number: keys }
        } else {
            BtreeOperation::LookUp { number: scale_below(mix(word), keys) }
        }
    }
}

impl Program for BTree {
    fn arena_bytes(&self) -> u64 {
        let inserts = if self.insert_percent == 0 { 0 } else { self.operations };
        let leaves = (self.preload + inserts) / (MAX_KEYS - UPPER_HALF) + 1;
        // Every inner node except the root has at least eight children. Globals and the stack need two more lines.
        let nodes = leaves + leaves / (UPPER_HALF - 1) + 2;
        if self.persistent { NODES_OFFSET + NODE_BYTES * (nodes + SPARE_NODES) } else { NODE_BYTES * nodes + 2 * 64 }
    }

    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, ClosedStream> {
        let code = BtreeCode::declare(emit, self.persistent);
        let mut tree = ArenaTree::plant(emit, &code);
        let salt = random.word();
        let key = |number| mix(salt ^ number);
        emit.silently(|emit| (0..self.preload).try_for_each(|number| tree.insert(emit, key(number), number)))?;

        let (mut keys, mut sum) = (self.preload, 0u64);
        for _ in 0..self.operations {
            emit.block(code.choose)?;
            match self.choose(keys, random) {
                BtreeOperation::Insert { number } => {
                    tree.insert(emit, key(number), number)?;
                    keys += 1;
                }
                BtreeOperation::LookUp { number } => {
                    sum = sum.wrapping_add(tree.look_up(emit, key(number))?.unwrap_or(u64::MAX));
                }
            }
            emit.block(code.next)?;
        }
        Ok(sum)
    }

    fn recovery(&self, base: u64, random: &mut Random) -> Option<Box<dyn Recovery>> {
        let (bytes, preload, salt) = (self.arena_bytes(), self.preload, random.word());
        self.persistent.then(|| Box::new(TreeRecovery { base, bytes, preload, salt }) as Box<dyn Recovery>)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use super::*;
    use std::collections::BTreeMap;

    fn plain(tree: &BTree, seed: u64) -> u64 {
        let mut random = Random::new(seed);
        let salt = random.word();
        let mut map: BTreeMap<u64, u64> = (0..tree.preload).map(|number| (mix(salt ^ number), number)).collect();
        let mut sum = 0;
        for _ in 0..tree.operations {
            match tree.choose(map.len() as u64, &mut random) {
                BtreeOperation::Insert { number } => drop(map.insert(mix(salt ^ number), number)),
                BtreeOperation::LookUp { number } => sum += map[&mix(salt ^ number)],
            }
        }
        sum
    }

    #[test]
    fn b_tree_look_ups_find_the_values_of_an_ordered_map() {
        for (preload, operations, insert_percent) in [(1, 3000, 60), (5000, 3000, 10), (300, 500, 0), (1, 500, 100)] {
            for (persistent, said) in [(false, "no"), (true, "yes")] {
                let tree = BTree { preload, operations, insert_percent, persistent };
                let texts = [preload, operations, insert_percent].map(|number| number.to_string());
                let given = [("preload", &*texts[0]), ("operations", &*texts[1]), ("inserts", &*texts[2])];
                let given = [&given[..], &[("persistent", said)]].concat();
                assert_eq!(run(&INFO, &given, 17).answer, plain(&tree, 17), "{given:?}");
            }
        }
    }

    #[test]
    fn a_persistent_b_tree_insert_has_two_fences_and_flushes_nodes_and_root() {
        let given = [("preload", "1"), ("operations", "200"), ("inserts", "100"), ("persistent", "yes")];
        let seen = run(&INFO, &given, 3);
        assert_eq!(seen.fences, 2 * 200);
        assert!(seen.flushes > 200 * (NODE_BYTES / 64 + 1) && (seen.flushes - 200).is_multiple_of(NODE_BYTES / 64));
        let volatile = run(&INFO, &given[..3], 3);
        assert_eq!((volatile.fences, volatile.flushes), (0, 0));
    }
}
