//! The planted bug of redundant fetches: no attack finds it, but the breakdown of read latency shows its cause.

use crate::common::{DATA_LINES, Machine};
use catalogue::Design;
use protection::execution::{ReadPart, Receiver, Timed};
use protection::planted::{Bug, PlantedBug};
use protection::verbs::{Fault, Plaintext};
use std::cell::Cell;
use std::rc::Rc;
use units::{Duration, Line, LineAddr, Word};

/// Bugs that are caught here.
pub const BUGS: [Bug; 1] = [Bug::NodesFetchedTwice];

/// Number of reads, each of a line with separate counters and tags.
const READS: u64 = 24;

struct Core;

impl Receiver for Core {
    fn released(&self, _: LineAddr, _: &Plaintext) {}

    fn fault(&self, fault: Fault) {
        panic!("nothing was tampered with, and yet: {fault}");
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        [7; 64]
    }
}

/// Mean time of a read in nanoseconds, by part. The reads run one after the other, each with an idle memory.
fn parts(planted: PlantedBug) -> Vec<(ReadPart, f64)> {
    parts_of(&catalogue::design("sc64-bmt").unwrap(), planted)
}

fn parts_of(design: &Design, planted: PlantedBug) -> Vec<(ReadPart, f64)> {
    let scheme = design.parts.build_with(DATA_LINES, 1, planted).unwrap();
    let mut machine = Machine::in_beats(scheme, Core);
    let (scheme, memory, done) = (machine.scheme.clone(), machine.memory.clone(), Rc::new(Cell::new(false)));
    let (finished, clock) = (done.clone(), machine.executor.clock().clone());
    machine.executor.clock().spawn(async move {
        let verbs = Timed::new(&memory);
        for number in 0..READS {
            scheme.read_at_controller(&verbs, LineAddr(number * DATA_LINES / READS), Word::FIRST).await;
            clock.sleep(Duration::from_ns(5_000)).await;
        }
        finished.set(true);
    });
    assert!(machine.run(Duration::from_ns(1_000_000), || done.get()), "the reads end");
    let reads = machine.memory.counts().reads;
    assert_eq!(reads.lines, READS);
    let parts = [
        ReadPart::Admission,
        ReadPart::MemoryQueue,
        ReadPart::Data,
        ReadPart::Counter,
        ReadPart::Tree,
        ReadPart::Tag,
        ReadPart::EngineQueue,
        ReadPart::Engine,
    ];
    parts.map(|part| (part, reads.parts_fs.of(part) as f64 / 1e6 / READS as f64)).to_vec()
}

#[test]
fn fetching_tree_nodes_twice_lengthens_only_the_tree_share_of_the_read_time() {
    let [once, twice] = [PlantedBug::default(), PlantedBug::new(Bug::NodesFetchedTwice)].map(parts);
    let longer: Vec<_> = once.iter().zip(&twice).map(|((part, once), (_, twice))| (*part, twice - once)).collect();
    for (part, ns) in &longer {
        match part {
            ReadPart::Tree => assert!(*ns > 10.0, "{longer:?}"),
            // A longer wait hides other waits, and refreshes coincide with other reads.
            _ => assert!(*ns < 1.0, "{longer:?}"),
        }
    }
}

#[test]
fn the_wait_of_a_second_fetched_line_for_the_first_counts_as_data_time() {
    let parts = parts_of(&catalogue::design("sc64-bmt-beside").unwrap(), PlantedBug::NONE);
    let of = |part| parts.iter().find(|(of, _)| *of == part).map(|(_, ns)| *ns).unwrap();
    // A single line arrives 30 ns after its row was closed, and another burst takes 2.5 ns.
    assert!(of(ReadPart::MemoryQueue) < 1.5 && of(ReadPart::Data) > 32.5, "{parts:?}");
}
