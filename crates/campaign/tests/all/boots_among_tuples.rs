//! The first read of a line, while tuples become durable, puts the line into memory together with its tag. At the same
//! time, a tuple may persist the tag line that contains this tag. Does the line survive a loss of power?

use crate::common::Machine;
use crate::common::crowd::{Core, Scene, comes_back};
use protection::execution::Timed;
#[cfg(feature = "planted-bugs")]
use protection::planted::Bug;
use protection::planted::PlantedBug;
use std::cell::Cell;
use std::rc::Rc;
use units::{Duration, Line, LineAddr};

/// A first write that runs separately, and two that wait for it and run together. Their tags are in two lines of one bank of
/// memory, so that the write of the third tag takes longer.
const WRITTEN: [LineAddr; 3] = [LineAddr(64 * 8), LineAddr(0), LineAddr(64 * 512)];
/// Line that boots; its tag shares a line with that of the second write.
const BOOTED: LineAddr = LineAddr(1);
/// Time in nanoseconds by which all three writes are durable.
const LATEST_NS: u64 = 800;

/// Runs three writes, a first read after `delay`, and a loss of power when all have ended.
fn comes_back_after(design: &str, delay: Duration, planted: PlantedBug) -> Result<(), String> {
    let parts = catalogue::design(design).unwrap().parts;
    let mut machine = Machine::new(&parts, 1, Core::default());
    machine.scheme = Rc::new(parts.build_with(crate::common::DATA_LINES, 1, planted).unwrap());
    let ended = Rc::new(Cell::new(0));
    for (number, line) in WRITTEN.into_iter().enumerate() {
        let (core, verbs) = (machine.core.clone(), Timed::new(&machine.memory));
        let (scheme, ended) = (machine.scheme.clone(), ended.clone());
        machine.executor.clock().spawn(async move {
            let content: Line = [number as u8 + 1; 64];
            core.writes(line, &content);
            scheme.write(&verbs, line, &content).await;
            ended.set(ended.get() + 1);
        });
    }
    let (core, verbs) = (machine.core.clone(), Timed::new(&machine.memory));
    let (scheme, read) = (machine.scheme.clone(), ended.clone());
    let clock = machine.executor.clock().clone();
    machine.executor.clock().spawn(async move {
        clock.sleep(delay).await;
        core.reads(BOOTED);
        scheme.read(&verbs, BOOTED).await;
        read.set(read.get() + 1);
    });
    assert!(machine.run(Duration::from_ns(1_000_000), || ended.get() == WRITTEN.len() + 1), "an access never ends");
    let current = machine.core.current.borrow().clone();
    comes_back(&machine, Scene { seed: 1, planted, ..Scene::default() }, &parts, |line, text| {
        current.get(&line) == Some(&text)
    })
}

/// Counts the delays at which the line is lost.
fn lost(design: &str, planted: PlantedBug) -> usize {
    (0..LATEST_NS).filter(|ns| comes_back_after(design, Duration::from_ns(*ns), planted).is_err()).count()
}

#[test]
fn a_line_first_read_between_persist_tuples_survives_a_loss() {
    for design in ["plp-sp", "plp-pipelined", "plp-coalesced"] {
        assert_eq!(lost(design, PlantedBug::NONE), 0, "{design}");
    }
}

#[cfg(feature = "planted-bugs")]
#[test]
fn copying_a_tag_line_early_loses_the_tag_of_a_line_first_read_concurrently() {
    assert!(lost("plp-coalesced", PlantedBug::new(Bug::TagsCopiedEarly)) > 0);
    assert_eq!(lost("plp-sp", PlantedBug::new(Bug::TagsCopiedEarly)), 0, "a tuple of one line copies one tag line");
}
