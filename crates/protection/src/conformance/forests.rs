//! Contract of every forest in which a root is folded while writes continue below it. The fold notifies every node
//! above of all updates that the root has counted, and loses no update.

use super::design::{DATA_LINES, SchemeMemory};
use super::paused::{Booted, PausedText};
use super::{Checked, hold};
use crate::design::{CacheDesign, Parts};
use crate::execution::{Untimed, run_now};
use crate::planted::PlantedBug;
use crate::tree::ForestDesign;
use units::LineAddr;

/// Lines below different nodes of each level.
const LINES: [LineAddr; 4] = [LineAddr(5), LineAddr(5 + 1024), LineAddr(5 + 8192), LineAddr(DATA_LINES - 1)];

/// Checks a composition with an eager tree of tags against the contract of forests.
pub fn check(parts: &Parts, planted: PlantedBug) -> Checked {
    let mut parts = Parts { caches: CacheDesign::default(), ..parts.clone() };
    parts.tree.forest = None;
    let plain = SchemeMemory::new(&parts, PlantedBug::NONE)?;
    LINES.iter().chain(&LINES).enumerate().try_for_each(|(byte, line)| plain.write(*line, &[byte as u8; 64]))?;
    parts.tree.forest = Some(ForestDesign::Static { level: 0, entries: 64 });
    let mut pauses = 0;
    while folded_meanwhile(&SchemeMemory::new(&parts, planted)?, &plain, pauses)? {
        pauses += 1;
    }
    hold(pauses > LINES.len(), || "the scene is not set: nothing happens while roots are folded".into())
}

/// Folds all roots, and writes all lines after `pauses` pauses of the fold. Returns whether the fold took that long.
fn folded_meanwhile(memory: &SchemeMemory, plain: &SchemeMemory, pauses: usize) -> Result<bool, String> {
    let write = |round: usize| {
        let lines = LINES.iter().enumerate();
        lines.map(|(index, line)| (*line, [(round * LINES.len() + index) as u8; 64])).collect::<Vec<_>>()
    };
    write(0).iter().try_for_each(|(line, content)| memory.write(*line, content))?;
    let booted = Booted { memory: &memory.functional, pauses: true };
    let verbs = booted.verbs();
    let mut folding = PausedText::new(memory.fixed().fold_forest(&verbs));
    let over = (0..pauses).any(|_| folding.ends());
    write(1).iter().try_for_each(|(line, content)| memory.write(*line, content))?;
    // The flush evicts the counters, so that only the roots reflect the new writes.
    run_now(memory.scheme.flush(&memory.functional.verbs()));
    while !over && !folding.ends() {}
    drop(folding);
    let equal = memory.fixed().on_chip(|chip| chip.root.clone()) == plain.fixed().on_chip(|chip| chip.root.clone());
    run_now(memory.scheme.flush(&memory.functional.verbs()));
    for (line, content) in write(1) {
        hold(memory.read(line) == Some(content), || "a fold lost what its root had heard".into())?;
    }
    hold(equal, || "a root was folded before everybody above knew what it had heard".into())?;
    Ok(!over)
}

#[test]
fn folding_a_forest_root_updates_all_nodes_above_with_its_content() {
    assert_eq!(check(&super::forest(), PlantedBug::NONE), Ok(()));
}
