//! Two addresses, one cell: modules that report a false size, and interposers that switch address lines.
//!
//! Neither attack needs further access to the bus: ordinary reads and writes, by software that the design does not
//! protect, copy ciphertext away and back. A check at power-on writes to each address and compares another one. It finds
//! the static alias; the dynamic one does not exist yet. The scene counts both facts. If a design's firmware makes the
//! check (`alias_check`), the machine never uses memory with an alias that the check finds.

use super::{Ended, SceneInput, Scenes};
use crate::bus::Recording;
use crate::oracle::Wish;
use crate::tap::Alias;
use catalogue::{Attack, Verdict};
use protection::verbs::{Slot, Untrusted};
use units::LineAddr;

/// Scenes of this file.
pub(super) const SCENES: Scenes = &[(Attack::Badram, badram), (Attack::BatteringRam, battering_ram)];

const FOUND: &str = "found by a check at power-on";

/// The module reports twice its size: the upper half are ghosts of the lower.
fn badram(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = line_in_memory(&mut stage);
    stage.victim.memory().tap().connect(Alias::Ghost);
    let found = check_at_power_on(&stage, target);
    if found && stage.alias_check {
        return Some(Ended::new(Verdict::Detected, target).counting(FOUND, 1));
    }
    let recorded = stage.victim.attacked(|bus| bus.record());
    let ghosts: Vec<(Slot, Untrusted)> = recorded
        .slots()
        .map(|(slot, _)| stage.victim.memory().tap().ghost(slot))
        .map(|ghost| (ghost, stage.victim.memory().get(ghost)))
        .collect();
    let quiet = stage.writes_through(target);
    ghosts.iter().for_each(|(ghost, content)| stage.victim.memory().put(*ghost, *content));
    Some(judged(&stage, target, quiet, found))
}

/// The interposer diverts every address to other cells while the victim writes, and stops afterwards.
fn battering_ram(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = line_in_memory(&mut stage);
    let found = check_at_power_on(&stage, target);
    if found && stage.alias_check {
        return Some(Ended::new(Verdict::Detected, target).counting(FOUND, 1));
    }
    let recorded: Recording = stage.victim.attacked(|bus| bus.record());
    // The other cells begin as copies, so that the victim observes no change when it is diverted.
    recorded.slots().for_each(|(slot, content)| {
        stage.victim.memory().put(stage.victim.memory().tap().ghost(slot), content);
    });
    stage.victim.memory().tap().connect(Alias::Diverted);
    let quiet = stage.writes_through(target);
    stage.victim.memory().tap().connect(Alias::None);
    Some(judged(&stage, target, quiet, found))
}

/// Picks a line and lets the machine put it into memory.
fn line_in_memory(stage: &mut SceneInput<'_>) -> LineAddr {
    let line = stage.any_line();
    stage.victim.read(line);
    line
}

/// Returns true if a write to an address appears at its ghost. Firmware would try this before memory is in use. The old
/// content is restored.
fn check_at_power_on(stage: &SceneInput<'_>, line: LineAddr) -> bool {
    let slot = stage.victim.map().data_slot(line);
    let ghost = stage.victim.memory().tap().ghost(slot);
    let before = stage.victim.memory().get(slot);
    let pattern = Untrusted::with(before.examine().map(|byte| !byte), before.spare_bits());
    stage.victim.memory().put(slot, pattern);
    let found = stage.victim.memory().get(ghost) == pattern;
    stage.victim.memory().put(slot, before);
    found
}

fn judged(stage: &SceneInput<'_>, target: LineAddr, quiet: bool, found: bool) -> Ended {
    let end = if quiet { stage.worst_read(target, Wish::None) } else { stage.reported() };
    Ended::new(end, target).counting(FOUND, u64::from(found))
}
