//! Counts of renewals: they equal the transfers between chip and memory that overflows cause.

use casemate_protection::design::{
    CacheDesign, CipherChoice, CounterChoice, MacChoice, MacDesign, Parts, Persistence, SpeculationDesign, TagLocation,
    TreeDesign, TreeKind,
};
use casemate_protection::execution::{Functional, Operation, RecordedMemory, run_now};
use casemate_protection::ownership::Ownership;
use casemate_protection::scheme::{Release, Renewals, Scheme};
use casemate_protection::verbs::Role;
use units::{Bytes, LineAddr};

const LINES: u64 = 1 << 16;

/// A scheme with `lines_per_tag` lines under a tag, and with these counters and this tree.
fn scheme(lines_per_tag: u64, counters: CounterChoice, tree: impl Into<TreeDesign>) -> Scheme {
    let mac =
        MacDesign { code: MacChoice::Gmac, place: TagLocation::Region, lines: lines_per_tag, ..MacDesign::default() };
    let parts = Parts {
        cipher: CipherChoice::Aes128Counter,
        counters,
        mac,
        tree: tree.into(),
        ownership: Ownership::None,
        caches: CacheDesign::default().resized(Bytes(256), 2),
        persistence: Persistence::default(),
        release: Release::Verified,
        speculation: SpeculationDesign::default(),
        permutation: None,
    };
    parts.build(LINES, 1).unwrap()
}

/// A memory under a scheme, with a log of all transfers.
struct Bench {
    scheme: Scheme,
    recorded: RecordedMemory,
}

impl Bench {
    fn new(scheme: Scheme) -> Bench {
        let recorded = RecordedMemory::new(Functional::new(scheme.layout().total_lines()));
        Bench { scheme, recorded }
    }

    fn write(&self, line: u64) {
        run_now(self.scheme.write(&self.recorded.verbs(), LineAddr(line), &[7; 64]));
        assert_eq!(self.recorded.memory().take_fault(), None);
    }

    /// Lines of these roles that `work` fetched and stored.
    fn moved(&self, of: fn(Role) -> bool, work: impl FnOnce()) -> (u64, u64) {
        self.recorded.take_operations();
        work();
        let (mut fetched, mut stored) = (0, 0);
        for operation in self.recorded.take_operations() {
            match operation {
                Operation::Fetch(role, _) => fetched += u64::from(of(role)),
                Operation::Store(role, ..) => stored += u64::from(of(role)),
                _ => {}
            }
        }
        (fetched, stored)
    }

    fn renewals(&self) -> Renewals {
        self.scheme.counted().renewals
    }
}

#[test]
fn a_minor_counter_overflow_re_encrypts_and_counts_the_other_lines_of_its_group() {
    for (lines_per_tag, together) in [(1, 63), (4, 64)] {
        let bench = Bench::new(scheme(lines_per_tag, CounterChoice::Sc64, TreeKind::Bonsai));
        (0..127).for_each(|_| bench.write(5));
        assert_eq!(bench.renewals(), Renewals::default());
        let (_, stored) = bench.moved(|role| role == Role::Data, || bench.write(5));
        assert_eq!(bench.renewals(), Renewals { groups: 1, lines: together, ..Renewals::default() });
        assert_eq!(stored, together + 1, "what is written has a store of its own");
    }
}

#[test]
fn a_version_overflow_in_a_tree_node_renews_and_counts_its_children_in_memory() {
    let tree = TreeDesign { levels: vec![CounterChoice::Sc128], ..TreeKind::Counters.into() };
    let bench = Bench::new(scheme(1, CounterChoice::Mono56, tree));
    // Eight lines to a counter line, 128 counter lines to a node, and 64 nodes to the root. A version has 3
    // bits.
    for line in [0, 8, 16] {
        bench.write(line);
    }
    run_now(bench.scheme.flush(&bench.recorded.verbs()));
    let of_the_tree = |role| matches!(role, Role::Counter | Role::Node(_));
    let mut renewed = Vec::new();
    for journey in 2..=20 {
        let before = bench.renewals();
        let (fetched, stored) = bench.moved(of_the_tree, || {
            bench.write(8);
            run_now(bench.scheme.flush(&bench.recorded.verbs()));
        });
        let Renewals { nodes, children, groups, lines } = bench.renewals() - before;
        // Each journey fetches and stores the counter line and its node.
        assert_eq!((fetched, stored, groups, lines), (2 + children, 2 + children, 0, 0), "journey {journey}");
        if nodes > 0 {
            renewed.push((journey, nodes, children));
        }
    }
    // The root's version of the node is as short, and overflows on the same journey.
    assert_eq!(renewed, [(8, 2, 127 + 63), (15, 2, 127 + 63)]);
}
